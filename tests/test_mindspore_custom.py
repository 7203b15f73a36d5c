"""Kernels inside MindSpore: every one of kernels/ in both modes with its gradient, training, and what happens when something is wrong."""
import os
import re
import threading

import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from helpers.frameworks import launcher, ops as catalogue

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed: pip install mindspore")
from helpers.frameworks import mindspore as wms, mindspore_ascend, mindspore_modes  # noqa: E402

TOLERANCE = {"float32": dict(rtol=2e-5, atol=2e-5), "float16": dict(rtol=2e-3, atol=2e-3), "bfloat16": dict(rtol=8e-3, atol=8e-3)}
LOOSE = {"float32": 3e-5, "float16": 2e-3, "bfloat16": 1.6e-2}       # of gradients
ladder = load("rms_norm", "ladder")
V5 = ladder.VERSIONS[4]


@pytest.fixture(autouse=True)
def pynative():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def tensors(name: str, dtype: str, seed: int = 0) -> list:
    random = np.random.default_rng(seed)

    def some(*shape):
        values = random.standard_normal(shape) / (11 if shape == (128, 128) else 1)           # weights, and what they make of a row
        return ms.Tensor(values.astype(np.float32)).astype(getattr(ms, dtype))
    shapes = {"rms_norm": [(2, 3, 1023), (1023,)], "add_rms_norm": [(3, 100), (3, 100), (100,)], "layer_norm": [(2, 3, 100), (100,), (100,)],
              "rms_norm_grad": [(3, 100), (3, 100), (100,)], "rope": [(5, 4, 64), (5, 32), (5, 32)], "masked_softmax": [(6, 33)],
              "attention": [(1, 4, 9, 64), (1, 2, 9, 64), (1, 2, 9, 64)], "fused_mha": [(1, 17, 128)] + 4 * [(128, 128)],
              "matmul": [(2, 3, 33), (33, 40)]}
    made = [some(*s) for s in shapes.get(name, [(7, 33)] * len(catalogue.find(name).inputs))]
    return made + [ms.Tensor((random.random((6, 33)) < 0.3).astype(np.uint8))] if name == "masked_softmax" else made


# ---- MindSpore's own operators, for float and its gradients
def own_rms_norm(x, gamma):
    return x * ms.ops.rsqrt((x * x).mean(-1, True) + 1e-6) * gamma


def own_rope(x, cos, sin):
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[:, None, :], sin[:, None, :]
    return ms.ops.cat((a * c - b * s, b * c + a * s), -1)


def own_attention(q, k, v, causal=False, scale=0.0):
    share, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    k, v = (ms.ops.repeat_interleave(t, share, 1) for t in (k, v))
    scores = ms.ops.matmul(q, k.swapaxes(-1, -2)) * (scale or q.shape[-1] ** -0.5)
    if not causal:
        return ms.ops.matmul(ms.ops.softmax(scores, -1), v)
    seen = ms.Tensor(np.arange(keys) <= np.arange(queries)[:, None] + keys - queries)
    return ms.ops.matmul(ms.ops.softmax(ms.ops.where(seen, scores, -1e30), -1) * seen.astype(ms.float32), v)


def own_mha(x, *weights):
    q, k, v = (ms.ops.matmul(x, w).reshape(x.shape[0], x.shape[1], 8, -1).swapaxes(1, 2) for w in weights[:3])
    return ms.ops.matmul(own_attention(q, k, v).swapaxes(1, 2).reshape(x.shape), weights[3])


OWN = {
    "attention": own_attention, "fused_mha": own_mha, "matmul": ms.ops.matmul,
    "add": lambda x, y: x + y, "copy": lambda x: x * 1, "mul": lambda a, b: a * b, "sinh": ms.ops.sinh, "silu": ms.ops.silu,
    "gelu": lambda x: ms.ops.gelu(x, approximate="tanh"), "softmax": lambda x: ms.ops.softmax(x, -1), "swiglu": lambda g, u: ms.ops.silu(g) * u,
    "masked_softmax": lambda x, mask: ms.ops.softmax(ms.ops.masked_fill(x, mask.astype(ms.bool_), -3e4), -1), "rope": own_rope,
    "layer_norm": lambda x, gamma, beta: ms.ops.LayerNorm(-1, -1, 1e-5)(x, gamma, beta)[0], "rms_norm": own_rms_norm,
    "add_rms_norm": lambda x, residual, gamma: (own_rms_norm(x + residual, gamma), x + residual),
    "rms_norm_grad": lambda dy, x, gamma: ms.ops.vjp(own_rms_norm, x, gamma)[1](dy),
}


def wide(found) -> list[np.ndarray]:
    return [t.astype(ms.float32).asnumpy() for t in (found if isinstance(found, (tuple, list)) else (found,))]


@pytest.mark.parametrize("name, dtype", [(op.name, dtype) for op in catalogue.CATALOGUE.values() for dtype in op.dtypes])
def test_every_kernel_is_an_operator(name, dtype):
    """Forward and gradients equal MindSpore's own in both ways to run; own operators compute in float."""
    given = tensors(name, dtype)
    floats = [t.astype(ms.float32) if t.dtype in (ms.float16, ms.bfloat16) else t for t in given]
    mine, own = wms.op(name), OWN[name]

    @ms.jit
    def compiled(*inputs):
        return mine(*inputs)
    expected = wide(own(*floats))
    for run in (mine, compiled):
        for got, right in zip(wide(run(*given)), expected, strict=True):
            np.testing.assert_allclose(got, right, **TOLERANCE[dtype])
    if name in ("rms_norm_grad", "fused_mha"):
        return                                         # a gradient itself; for inference only

    def loss(f):
        def of(*inputs):
            out = f(*inputs)
            out = out if isinstance(out, tuple) else (out,)
            return sum((o.astype(ms.float32) * weight).sum() for o, weight in zip(out, weights))
        return of
    random = np.random.default_rng(1)
    weights = [ms.Tensor(random.standard_normal(e.shape).astype(np.float32)) for e in expected]
    places = tuple(i for i, t in enumerate(catalogue.find(name).inputs) if t != "mask")
    slopes = ms.grad(loss(mine), places)

    @ms.jit
    def compiled_slopes(*inputs):
        return slopes(*inputs)
    right = wide(ms.grad(loss(own), places)(*floats))
    for run in (slopes, compiled_slopes)[:1 + (dtype == "bfloat16")]:          # the type for which a graph has the fewest operators
        found = run(*given)
        for got, expected, place in zip(found if isinstance(found, tuple) else (found,), right, places, strict=True):
            assert got.dtype == given[place].dtype
            loose = LOOSE[dtype]                       # a sum over rows, or of two gradients, rounds more than once
            np.testing.assert_allclose(got.astype(ms.float32).asnumpy(), expected, rtol=3 * loose, atol=loose * np.abs(expected).max())


def test_precision_against_two_references():
    """How users compare an operator: its error against float64 beside the error of the framework's own."""
    for dtype in ("float32", "float16"):
        for rows, width in ((4, 1023), (4, 1024), (1, 1), (3, 7)):
            random = np.random.default_rng(width)
            x, gamma = random.standard_normal((rows, width)).astype(dtype), random.random(width).astype(dtype)
            exact = catalogue.find("rms_norm").reference(x.astype(np.float64), gamma.astype(np.float64), 1e-6)
            errors = []
            for f in (wms.op("rms_norm"), own_rms_norm):
                got = f(ms.Tensor(x), ms.Tensor(gamma)).asnumpy().astype(np.float64)
                errors.append(np.abs(got - exact).max())
            step = np.finfo(dtype).eps * np.abs(exact).max()
            assert errors[0] <= max(2 * errors[1], step), (dtype, rows, width, errors)


@pytest.mark.parametrize("name", ["gelu", "silu", "sinh", "swiglu"])
def test_gradients_where_the_functions_bend(name):
    """Everywhere between -6 and 6, which random numbers rarely reach, against float64."""
    points = np.linspace(-6, 6, 1001)
    x, up = ms.Tensor(points.astype(np.float32)), (ms.Tensor(np.ones(1001, np.float32)),) * (name == "swiglu")
    reference, exact = catalogue.find(name).reference, x.asnumpy().astype(np.float64)
    ones = (np.ones(1001),) * len(up)
    slope = (reference(exact + 1e-5, *ones) - reference(exact - 1e-5, *ones)) / 2e-5
    found = ms.grad(lambda x: wms.op(name)(x, *up).sum())(x).asnumpy()
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-5)


def test_gradients_agree_with_finite_differences():
    random = np.random.default_rng(3)
    x, gamma, dy = random.standard_normal((2, 9)), random.random(9) + 0.5, random.standard_normal((2, 9))
    op, reference = wms.op("rms_norm", eps=1e-6), catalogue.find("rms_norm").reference
    as_tensor = [ms.Tensor(a.astype(np.float32)) for a in (x, gamma, dy)]
    dx, dgamma = ms.grad(lambda x, gamma: (op(x, gamma) * as_tensor[2]).sum(), (0, 1))(*as_tensor[:2])

    def slope(array, at, of):
        step = np.zeros_like(array)
        step[at] = 1e-6
        return ((dy * of(array + step)).sum() - (dy * of(array - step)).sum()) / 2e-6
    by_x = [[slope(x, (r, c), lambda a: reference(a, gamma, 1e-6)) for c in range(9)] for r in range(2)]
    by_gamma = [slope(gamma, c, lambda a: reference(x, a, 1e-6)) for c in range(9)]
    np.testing.assert_allclose(dx.asnumpy(), by_x, atol=1e-5)
    np.testing.assert_allclose(dgamma.asnumpy(), by_gamma, atol=1e-5)


@pytest.mark.parametrize("heads, kv_heads, queries, keys, scale", [(4, 1, 5, 9, 0.3), (4, 2, 9, 5, 0.0)])
def test_gradients_of_causal_attention(heads, kv_heads, queries, keys, scale):
    """With more queries than keys the first queries see no key: their output and their gradient are zero."""
    random = np.random.default_rng(queries)
    q, k, v, dy = (ms.Tensor(random.standard_normal((2, *shape, 16)).astype(np.float32))
                   for shape in ((heads, queries), (kv_heads, keys), (kv_heads, keys), (heads, queries)))
    mine = wms.op("attention", causal=True, scale=scale)
    found, right = (ms.grad(lambda *t: (f(*t) * dy).sum(), (0, 1, 2))(q, k, v) for f in (mine, lambda *t: own_attention(*t, True, scale)))
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    hidden = max(queries - keys, 0)
    assert not found[0].asnumpy()[:, :, :hidden].any() and found[0].asnumpy()[:, :, hidden + 1:].all()


@pytest.mark.parametrize("name, shapes", [("attention", [(1, 2, 3, 4), (1, 1, 5, 4), (1, 1, 5, 4)]), ("matmul", [(2, 3, 5), (5, 4)])])
def test_gradients_of_products_agree_with_finite_differences(name, shapes):
    random = np.random.default_rng(5)
    arrays, numbers = [random.standard_normal(s) for s in shapes], {"causal": True} if name == "attention" else {}
    op, reference = wms.op(name, **numbers), catalogue.find(name).reference
    values = {**catalogue.find(name).attrs, **numbers}
    dy = random.standard_normal(reference(*arrays, **values).shape)
    given = [ms.Tensor(a.astype(np.float32)) for a in arrays]
    found = ms.grad(lambda *t: (op(*t) * ms.Tensor(dy.astype(np.float32))).sum(), tuple(range(len(shapes))))(*given)
    for number, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[number][at] += step
                ends.append((dy * reference(*moved, **values)).sum())
            assert abs(found[number].asnumpy()[at] - (ends[0] - ends[1]) / 2e-6) < 1e-4, (number, at)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def test_kernels_without_a_gradient_say_so(mode):
    """And are not asked for one in a forward pass."""
    ms.set_context(mode=mode)

    class Mean(ms.nn.Cell):
        def __init__(self, name):
            super().__init__()
            self.op = wms.op(name)

        def construct(self, *inputs):
            return self.op(*inputs)[0].mean()
    for name, words in (("fused_mha", "fused_mha has no gradient, it is made for inference"), ("rms_norm_grad", "is a gradient and has none itself")):
        net, given = Mean(name), tensors(name, "float32")
        assert np.isfinite(net(*given).asnumpy())
        with pytest.raises(NotImplementedError, match=words):
            ms.grad(net)(*given)


class Net(ms.nn.Cell):
    """One layer with a norm behind it."""

    def __init__(self, norm, width=48):
        super().__init__()
        random = np.random.default_rng(0)
        self.norm = norm
        self.weight = ms.Parameter(ms.Tensor(random.standard_normal((width, width)).astype(np.float32) / 7), name="weight")
        self.gamma = ms.Parameter(ms.Tensor(np.ones(width, np.float32)), name="gamma")

    def construct(self, x, target):
        y = self.norm(ms.ops.matmul(x, self.weight), self.gamma)
        return ((y - target) ** 2).mean()


def train(norm, mode, steps=20) -> list[float]:
    ms.set_context(mode=mode)
    random = np.random.default_rng(1)
    x, target = (ms.Tensor(random.standard_normal((16, 48)).astype(np.float32)) for _ in range(2))
    net = Net(norm)
    step = ms.value_and_grad(net, None, net.trainable_params())
    optimizer = ms.nn.SGD(net.trainable_params(), 0.2)
    losses = []
    for _ in range(steps):
        loss, grads = step(x, target)
        optimizer(grads)
        losses.append(float(loss.asnumpy()))
    return losses


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def test_training_follows_the_reference(mode):
    ours, reference = train(wms.op("rms_norm", eps=1e-6), mode), train(own_rms_norm, ms.PYNATIVE_MODE)
    assert np.abs(np.subtract(ours, reference)).max() < 1e-5 and reference[-1] < 0.9 * reference[0]


def test_nothing_trains_through_a_kernel_without_bprop():
    f, (x, gamma) = custom(), arguments()
    with pytest.raises(RuntimeError, match="bprop not defined"):
        ms.grad(lambda x: f(x, gamma).sum())(x).asnumpy()
    grad = wms.op("rms_norm_grad")

    def bprop(x, gamma, out, dout):
        return grad(dout, x, gamma)
    mine = custom(bprop=bprop, shape=lambda x, gamma: list(x))
    np.testing.assert_allclose(ms.grad(lambda x: (mine(x, gamma) * x).sum())(x).asnumpy(),
                               ms.grad(lambda x: (own_rms_norm(x, gamma) * x).sum())(x).asnumpy(), rtol=1e-4, atol=1e-4)


BF16 = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void double_bf16(GM_ADDR x, GM_ADDR y, uint32_t length) {
    TPipe pipe; TQue<TPosition::VECIN, 1> in; TQue<TPosition::VECOUT, 1> out; TBuf<TPosition::VECCALC> wide;
    pipe.InitBuffer(in, 1, 4096); pipe.InitBuffer(out, 1, 4096); pipe.InitBuffer(wide, 8192);
    GlobalTensor<bfloat16_t> from, to;
    from.SetGlobalBuffer((__gm__ bfloat16_t*)x, length); to.SetGlobalBuffer((__gm__ bfloat16_t*)y, length);
    LocalTensor<bfloat16_t> a = in.AllocTensor<bfloat16_t>();
    DataCopyPad(a, from, DataCopyExtParams{1, length * 2, 0, 0, 0}, DataCopyPadExtParams<bfloat16_t>{false, 0, 0, 0});
    in.EnQue(a); a = in.DeQue<bfloat16_t>();
    LocalTensor<float> w = wide.Get<float>();
    LocalTensor<bfloat16_t> b = out.AllocTensor<bfloat16_t>();
    Cast(w, a, RoundMode::CAST_NONE, length); Muls(w, w, 2.0f, length); Cast(b, w, RoundMode::CAST_RINT, length);
    in.FreeTensor(a); out.EnQue(b); b = out.DeQue<bfloat16_t>();
    DataCopyPad(to, b, DataCopyExtParams{1, length * 2, 0, 0, 0});
    out.FreeTensor(b);
}
"""


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["pynative", "graph"])
def test_bfloat16(mode):
    ms.set_context(mode=mode)
    op = wms.custom(hp.compile(BF16), lambda x: x, lambda x: x, tiling=lambda x: int(np.prod(x)))
    x = ms.Tensor(np.arange(1003, dtype=np.float32) / 8, ms.bfloat16)
    y = op(x)
    assert y.dtype == ms.bfloat16 and np.array_equal(y.astype(ms.float32).asnumpy(), 2 * x.astype(ms.float32).asnumpy())


# ---- a kernel of one's own, and what can go wrong
def tiling(x, gamma):
    return ladder.tiling(V5, int(np.prod(x[:-1])), x[-1], 4, 48, 1e-6)


def custom(text: str = V5.text, shape=lambda x, gamma: x, dtype=lambda x, gamma: x, **more):
    return wms.custom(hp.compile(text, name="rms_norm_float"), shape, dtype, blocks=48, **{"tiling": tiling, **more})


def arguments(rows=4, width=1024):
    random = np.random.default_rng(rows)
    return ms.Tensor(random.standard_normal((rows, width)).astype(np.float32)), ms.Tensor(random.random(width).astype(np.float32))


def test_a_kernel_of_ones_own_for_any_shape():
    op = custom()
    for rows, width in ((4, 1024), (3, 1023), (1, 1), (4, 1024)):
        x, gamma = arguments(rows, width)
        np.testing.assert_allclose(op(x, gamma).asnumpy(), own_rms_norm(x, gamma).asnumpy(), rtol=1e-5, atol=1e-6)


LEAKING = changed(V5.text, "outQueue.FreeTensor(yLocal);", "")
HANGING = changed(V5.text, "    __aicore__ inline void Process()\n    {", "    __aicore__ inline void Process()\n    {\n        volatile bool ever = true;\n        while (ever) {\n        }")
WRONG = {
    "too small a shape": (dict(shape=lambda x, gamma: [2, x[1]]), "GM_OUT_OF_BOUNDS", "argument y, which has 2048"),
    "a smaller type": (dict(dtype=lambda x, gamma: ms.float16), "GM_OUT_OF_BOUNDS", "argument y, which has 4096"),
    "a leak": (dict(text=LEAKING), "LEAK", "was never freed"),
    "an endless loop": (dict(text=HANGING), "TIMEOUT", "still running after 1 s"),
    "a tiling that fails": (dict(tiling=lambda x, gamma: ladder.tiling(V5, x[0], 40_000, 4, 48, 1e-6)), "HOST_ARGUMENT", "40,000 elements does not fit UB"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_is_said_and_touches_nothing(case, monkeypatch):
    """A clear error; the process lives, tensors around are untouched, and the next operator works."""
    monkeypatch.setattr(launcher, "TIMEOUT", 1.0)
    options, code, words = WRONG[case]
    x, gamma = arguments()
    neighbours = [ms.Tensor(np.full((2, 1024), i, np.float32)) * 1 for i in range(40)]
    bad = custom(**options)
    with pytest.raises(hp.KernelError, match=words) as caught:
        with wms.kernel_errors():
            bad(x, gamma).asnumpy()
    assert caught.value.codes == [code] and launcher.last_error() != ""
    assert all((t.asnumpy() == i).all() for i, t in enumerate(neighbours))
    np.testing.assert_allclose(wms.op("rms_norm")(x, gamma).asnumpy(), own_rms_norm(x, gamma).asnumpy(), rtol=1e-5, atol=1e-6)


PART = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void part(GM_ADDR x, GM_ADDR y, uint32_t from, uint32_t length, uint32_t add) {
    TPipe pipe; TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 4096);
    GlobalTensor<TYPE> source, target;
    source.SetGlobalBuffer((__gm__ TYPE*)x); target.SetGlobalBuffer((__gm__ TYPE*)y);
    LocalTensor<TYPE> t = queue.AllocTensor<TYPE>();
    DataCopyExtParams params{1, uint32_t(length * sizeof(TYPE)), 0, 0, 0};
    DataCopyPad(t, source[from], params, DataCopyPadExtParams<TYPE>{false, 0, 0, 0});
    queue.EnQue(t); t = queue.DeQue<TYPE>();
    if (add) SetAtomicAdd<TYPE>();
    DataCopyPad(target[from], t, params);
    queue.FreeTensor(t);
}
"""


def part(x: np.ndarray, first: int = 0, count: int | None = None, add: bool = False, **more) -> np.ndarray:
    """A copy of `count` elements from `first` on, or a sum with what is there."""
    kernel = hp.compile(PART.replace("TYPE", {"float32": "float", "int8": "int8_t"}[str(x.dtype)]))
    op = wms.custom(kernel, lambda x: x, lambda x: x, tiling=lambda x: (first, int(np.prod(x)) if count is None else count, int(add)), **more)
    with wms.kernel_errors():
        return op(ms.Tensor(x)).asnumpy()


@pytest.mark.parametrize("dtype, first, count, words", [
    ("float32", 0, 57, r"Output y is not complete: nothing wrote element \[2, 17\], the first of 12 B \(of 240\)"), ("float32", 1, 59, r"element \[0, 0\], the first of 4 B"),
    ("int8", 0, 59, r"element \[2, 19\], the first of 1 B"), ("int8", 4, 50, r"element \[0, 0\], the first of 10 B")])
def test_outputs_that_are_not_written(dtype, first, count, words):
    x = np.arange(60).astype(dtype).reshape(3, 20)
    with pytest.raises(hp.KernelError, match=words) as caught:
        part(x, first, count)
    assert caught.value.codes == ["HOST_ARGUMENT"] and "zeroed=" in caught.value.findings[0].hint
    expected = np.zeros_like(x).reshape(-1)
    expected[first:first + count] = x.reshape(-1)[first:first + count]
    assert np.array_equal(part(x, first, count, zeroed=(0,)).reshape(-1), expected)           # on purpose


def test_outputs_that_only_look_unwritten():
    """What lies in an output before a launch may be a value as well; then the kernel runs twice, and counts once."""
    before = launcher.totals()[0]
    for x in (np.full((3, 20), 0xFFFFFFFF, np.uint32).view(np.float32), np.full((3, 20), 0xB3, np.uint8).view(np.int8)):
        assert part(x).tobytes() == x.tobytes()
    assert launcher.totals()[0] - before == 2


def test_a_kernel_that_adds_to_its_output():
    x = np.arange(60, dtype=np.float32).reshape(3, 20)
    assert np.array_equal(part(x, add=True, zeroed=(0,)), x)
    for dtype, place in (("float32", r"\[0, 1\]"), ("int8", r"\[0, 1\]")):            # an integer is a sum like any other; zero is added first
        with pytest.raises(hp.KernelError, match=rf"Element {place} of y depends on what lay there before the launch"):
            part(x.astype(dtype), add=True)
    for zeroed in ((1,), (-1,), ("y",)):
        with pytest.raises(ValueError, match="part has 1 output, counted from 0"):
            part(x, zeroed=zeroed)


def test_half_an_output_of_two_bytes_an_element():
    op = wms.custom(hp.compile(BF16), lambda x: x, lambda x: x, tiling=lambda x: 1000)
    with pytest.raises(hp.KernelError, match=r"element \[1000\], the first of 6 B"), wms.kernel_errors():
        op(ms.Tensor(np.ones(1003, np.float32), ms.bfloat16)).asnumpy()


@pytest.mark.parametrize("rows, width", [(3, 0), (0, 8), (0, 0)])
def test_tensors_without_elements(rows, width):
    """As most of MindSpore's own operators: nothing in, nothing out, and gradients of weights are zero."""
    x, weight = ms.Tensor(np.zeros((rows, width), np.float32)), ms.Tensor(np.ones(width, np.float32))
    before = launcher.totals()[0]
    for name, weights in (("softmax", 0), ("gelu", 0), ("rms_norm", 1), ("layer_norm", 2)):
        assert wms.op(name)(x, *[weight] * weights).shape == (rows, width)
        assert name == "layer_norm" or OWN[name](x, *[weight] * weights).shape == (rows, width)           # MindSpore's takes rows only
    assert launcher.totals()[0] == before
    dx, dgamma = ms.grad(lambda x, gamma: wms.op("rms_norm")(x, gamma).sum(), (0, 1))(x, weight)
    assert dx.shape == (rows, width) and np.array_equal(dgamma.asnumpy(), np.zeros(width))


def test_products_over_nothing():
    """MindSpore's own product with K = 0 gives what lay in memory; here it is refused, with the size that is 0."""
    def zeros(*shape):
        return ms.Tensor(np.zeros(shape, np.float32))
    matmul, attention = wms.op("matmul"), wms.op("attention")
    assert matmul(zeros(0, 8), zeros(8, 4)).shape == (0, 4) and attention(zeros(1, 2, 0, 16), *[zeros(1, 2, 3, 16)] * 2).shape == (1, 2, 0, 16)
    da, db = ms.grad(lambda a, b: matmul(a, b).sum(), (0, 1))(zeros(0, 8), zeros(8, 4))
    assert da.shape == (0, 8) and np.array_equal(db.asnumpy(), np.zeros((8, 4)))
    _, dk, dv = ms.grad(lambda *t: attention(*t).sum(), (0, 1, 2))(zeros(1, 2, 0, 16), *[zeros(1, 2, 3, 16)] * 2)
    assert not dk.asnumpy().any() and not dv.asnumpy().any()
    for f, shapes, words in ((matmul, [(3, 0), (0, 4)], "K is 0"), (matmul, [(3, 8), (8, 0)], "the number of columns of b is 0"),
                             (attention, [(1, 2, 5, 16), (1, 2, 0, 16), (1, 2, 0, 16)], "keys may not be 0")):
        with pytest.raises(ValueError, match=words):
            f(*(zeros(*s) for s in shapes))


def test_shapes_are_known_before_the_call():
    x = ms.Tensor(np.ones((4, 1024), np.float32))
    with pytest.raises(TypeError, match=r"infer_shape=\[-1\] is no function"):
        custom(shape=[-1])
    with pytest.raises(ValueError, match=r"infer_shape returned \[-1, 1024\]: no size is negative. Shapes are static here"):
        custom(shape=lambda x, gamma: [-1, x[1]])(x, x[0])

    for wrong in (None, "float32", np.float32):
        with pytest.raises(TypeError, match="infer_dtype returned .*, which is no type of MindSpore. Return that of an input"):
            custom(dtype=lambda x, gamma, wrong=wrong: wrong)(x, x[0])
    for right in (ms.float32, lambda x, gamma: ms.float32):
        assert custom(dtype=right)(x, x[0]).dtype == ms.float32

    class Norm(ms.nn.Cell):
        def __init__(self, op):
            super().__init__()
            self.op = op
            self.set_inputs(ms.Tensor(shape=[None, 1024], dtype=ms.float32), ms.Tensor(shape=[1024], dtype=ms.float32))

        def construct(self, x, gamma):
            return self.op(x, gamma)
    for op in (wms.op("rms_norm"), custom()):
        assert Norm(op)(x, x[0]).shape == (4, 1024)            # PyNative knows the sizes all the same
        ms.set_context(mode=ms.GRAPH_MODE)
        with pytest.raises(ValueError, match=r"The shape of x is \[-1, 1024\], where a negative size is one that is known only at the call"):
            Norm(op)(x, x[0])
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_graph_mode_says_the_same():
    ms.set_context(mode=ms.GRAPH_MODE)
    bad, good, (x, gamma) = custom(shape=lambda x, gamma: [2, x[1]]), custom(), arguments()

    class Two(ms.nn.Cell):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def construct(self, x, gamma):
            return self.f(x, gamma) + 1
    net = Two(bad)
    with pytest.raises(hp.KernelError, match="argument y, which has 2048"), wms.kernel_errors():
        net(x, gamma).asnumpy()                          # takes MindSpore three seconds
    with pytest.raises(hp.KernelError, match="was stopped in an earlier call") as caught, wms.kernel_errors():
        net(x, gamma).asnumpy()
    assert "argument y, which has 2048" in str(caught.value.__cause__)
    np.testing.assert_allclose(Two(good)(x, gamma).asnumpy(), own_rms_norm(x, gamma).asnumpy() + 1, rtol=1e-5, atol=1e-5)


def test_operators_of_the_catalogue_check_shapes_and_types_first():
    op, (x, gamma) = wms.op("rms_norm"), arguments()
    with pytest.raises(ValueError, match=r"rows have 1024 elements, so weights have the shape \(1024,\)"):
        op(x, gamma[:5])
    with pytest.raises(TypeError, match="x is int32; rms_norm exists for float32, float16 and bfloat16"):
        op(x.astype(ms.int32), gamma.astype(ms.int32))
    with pytest.raises(TypeError, match="rms_norm has no attribute epsilon; it has eps"):
        wms.op("rms_norm", epsilon=1e-6)
    with pytest.raises(ValueError, match="There is no operator rmsnorm"):
        wms.op("rmsnorm")
    with pytest.raises(TypeError, match="rms_norm takes x, gamma; 1 tensor was given"):
        op(x)
    with pytest.raises(TypeError, match="Input 1 of rms_norm is no tensor but an array of NumPy"):
        op(x, gamma.asnumpy())


@pytest.mark.parametrize("name, given, words", [
    ("rms_norm", {"eps": None}, "eps=None of rms_norm is no number; its default is 1e-06"), ("rms_norm", {"eps": "1e-6"}, "is no number"),
    ("fused_mha", {"heads": 8.5}, "heads=8.5 of fused_mha is no whole number; its default is 8"), ("fused_mha", {"heads": True}, "is no whole number"),
    ("attention", {"causal": "no"}, "causal='no' of attention is no truth value"), ("attention", {"causal": 2}, "is no truth value")])
def test_attributes_have_a_kind(name, given, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        wms.op(name, **given)
    with pytest.raises(TypeError, match=re.escape(words)):
        catalogue.find(name).plan([], **given)


def test_attributes_get_the_type_of_their_default():
    values = catalogue.find("attention").values({"causal": np.bool_(True), "scale": 1})
    assert values == {"causal": True, "scale": 1.0} and [type(v) for v in values.values()] == [bool, float]
    assert catalogue.find("fused_mha").values({"heads": np.int64(4), "causal": 0}) == {"heads": 4, "causal": False}
    for wrong in ([[1.0, 2.0]], ms.Tensor([[1.0, 2.0]]), 1.0):
        with pytest.raises(TypeError, match=f"x of softmax is a {type(wrong).__name__}, and this reads arrays of NumPy"):
            catalogue.find("softmax")(wrong)
    with pytest.raises(TypeError, match="rms_norm takes x, gamma; 3 tensors were given"):
        catalogue.find("rms_norm")(*[np.ones(3, np.float32)] * 3)


def test_a_library_checks_what_it_is_handed():
    """An ops.Custom with the right library and wrong infer functions: nothing is written, and both shapes are named."""
    func = wms.op("rms_norm").func
    for rows, shape, dtype, words in ((4, lambda x, g: [4, 512], lambda x, g: x, r"told float32 \[4, 512\]"),
                                      (5, lambda x, g: x, lambda x, g: ms.int32, r"told int32 \[5, 1024\]")):
        x, gamma = arguments(rows)
        with pytest.raises(hp.KernelError, match=words):
            with wms.kernel_errors():
                ms.ops.Custom(func, shape, dtype, "aot")(x, gamma).asnumpy()
    with pytest.raises(hp.KernelError, match="takes 2 inputs and gives 1: 2 tensors were passed"):
        with wms.kernel_errors():
            ms.ops.Custom(func, lambda x: x, lambda x: x, "aot")(x).asnumpy()


def test_a_deleted_library_and_a_changed_kernel():
    x, gamma = arguments()
    first = custom()
    os.remove(first.func.split(":")[0])
    with pytest.raises(hp.KernelError, match="has been deleted"):
        with wms.kernel_errors():
            first(x, gamma).asnumpy()
    np.testing.assert_allclose(custom()(x, gamma).asnumpy(), own_rms_norm(x, gamma).asnumpy(), rtol=1e-5, atol=1e-6)     # made again
    other = custom(text=changed(V5.text, "Adds(sum, sum, eps, count);", "Adds(sum, sum, 3.0f, count);"))
    assert other.func != custom().func                       # new content, new file: MindSpore keeps what it has loaded
    assert not np.allclose(other(x, gamma).asnumpy(), own_rms_norm(x, gamma).asnumpy(), rtol=1e-2)


def test_arguments_of_custom():
    kernel = hp.compile(V5.path, name="rms_norm_float")
    with pytest.raises(hp.KernelError, match="no tiling was given"):
        wms.custom(kernel, lambda x, gamma: x, lambda x, gamma: x)
    with pytest.raises(hp.KernelError, match="takes 3 pointers first"):
        wms.custom(kernel, lambda x, gamma, more: x, lambda x, gamma, more: x, tiling=tiling)
    with pytest.raises(TypeError, match="one by one"):
        wms.custom(kernel, lambda *shapes: shapes[0], lambda x, gamma: x, tiling=tiling)
    with pytest.raises(TypeError, match=r"2.0 is a float, and sizes are whole numbers. Divide with //"):
        custom(shape=lambda x, gamma: [x[0] / 2, x[1]])(*arguments())
    with pytest.raises(TypeError, match="a list of sizes"):
        custom(shape=lambda x, gamma: x[0])(*arguments())
    with pytest.raises(ValueError, match='"Ascend"'):
        wms.op("rms_norm", target="npu")


def test_numpy_2_is_refused_in_words(monkeypatch):
    wms._guard()
    monkeypatch.setattr(np, "__version__", "2.4.6")
    with pytest.raises(hp.SetupError, match="pip install 'numpy<2'"):
        wms._guard()


# ---- the device
def test_the_same_call_on_ascend_names_an_operator(monkeypatch):
    """What ops.Custom would be given there, seen by a stub: this wheel cannot make it without a device."""
    made = []
    monkeypatch.setattr(ms.ops, "Custom", lambda *given: made.append(given) or given)
    wms.op("rms_norm", eps=1e-5, target="Ascend")
    custom(name="RmsNormMine", target="Ascend")
    grad, norm, mine = made
    assert [m[0] for m in made] == ["RmsNormGradCustom", "RmsNormCustom", "RmsNormMine"] and {m[3] for m in made} == {"aot"}
    assert norm[4] is not None                                  # the gradient comes along
    reg = norm[5]
    assert reg["op_name"] == "RmsNormCustom" and reg["target"] == "Ascend"
    assert [i["name"] for i in reg["inputs"]] == ["x", "gamma"] and [o["name"] for o in reg["outputs"]] == ["y"]
    assert reg["attr"] == [{"name": "eps", "paramType": "required", "type": "float", "value": 1e-5}]
    assert grad[5]["dtype_format"][1][-2:] == (("float16", "DefaultFormat"), ("float32", "DefaultFormat"))      # dgamma is float
    assert mine[5]["op_name"] == "RmsNormMine" and norm[1]([4, 8], [8]) == [4, 8]
    steps = mindspore_ascend.steps("RmsNormCustom")
    assert "op_kernel/rms_norm_custom.cpp" in steps and "--op_host_path=op_host" in steps and "ASCEND_CUSTOM_OPP_PATH" in steps


def test_modes_of_the_article():
    found = {(r.mode, r.called.split("…")[-1]): r.happened for r in mindspore_modes.rows()}
    assert sorted(found.values()) == ["RuntimeError", "TypeError", "TypeError", "ValueError", "y is right", "y is right"]
    assert {mode for mode, _ in found} == {"AOT", "JIT", "Hybrid", "TBE"}


@pytest.mark.skipif("ASCEND_WORKBOOK_SLOW" not in os.environ, reason="a C++ extension of MindSpore takes a minute to build: set ASCEND_WORKBOOK_SLOW=1")
def test_extension():
    from helpers.frameworks import mindspore_builder
    extension, (x, gamma) = mindspore_builder.build("rms_norm", eps=1e-6), arguments()
    for given in ((x, gamma), [t.astype(ms.bfloat16) for t in (x, gamma)]):
        assert np.array_equal(*(f(*given).astype(ms.float32).asnumpy() for f in (extension, wms.op("rms_norm"))))
    assert (ms.grad(lambda x: (extension(x, gamma) * x).sum())(x).asnumpy() == extension(x, gamma).asnumpy()).all()   # only the plain x counts


def test_text_of_the_extension():
    from helpers.frameworks import mindspore_builder
    text = mindspore_builder.text("rms_norm", eps=1e-6)
    assert 'workbook_launch("' in text and "const ms::Tensor& t0, const ms::Tensor& t1" in text and 'm.def("rms_norm"' in text


# ---- the chapter
def test_solutions_of_the_exercises():
    def swiglu_bprop(gate, up, out, dout):
        s = ms.ops.sigmoid(gate)
        return dout * up * s * (1 + gate * (1 - s)), dout * gate * s
    mine = ms.ops.Custom(wms.op("swiglu", gradient=False).func, lambda gate, up: gate, lambda gate, up: gate, "aot", swiglu_bprop)
    given = tensors("swiglu", "float32")
    slopes = [ms.grad(lambda gate, up: (f(gate, up) ** 2).sum(), (0, 1))(*given) for f in (mine, wms.op("swiglu"))]
    for a, b in zip(*slopes):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_curves_of_a_training():
    from helpers.views.lines import lines
    picture = lines({"reference": [2.0, 1.5, 1.0], "ours": [2.0, 1.5, 1.25]}, x="step", y="loss", title="3 steps")
    assert picture.alt == "3 steps. x: step, y: loss. reference: from 2.0 to 1.0. ours: from 2.0 to 1.2."
    assert [list(line.get_ydata()) for line in picture.figure.axes[0].lines] == [[2.0, 1.5, 1.0], [2.0, 1.5, 1.25]]


def test_threads_get_their_own_results():
    """MindSpore's Custom mixes the tensors of calls that run at the same time."""
    mul, wrong = wms.op("mul"), []

    def work(number):
        x = ms.Tensor(np.full((4, 64), number, np.float32))
        wrong.extend(found for _ in range(20) if not ((found := mul(x, x).asnumpy()) == number ** 2).all())
    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 5, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, f"{len(wrong)} of 80 results belong to another thread"


@pytest.mark.parametrize("other", [np.ones((3, 4), np.float32), None])
def test_what_is_no_tensor_is_named(other):
    with pytest.raises(TypeError, match="(a|Input 0) of mul is no tensor"):
        wms.op("mul")(other, other)


@pytest.mark.parametrize("blocks, words", [(0, "asks for 0 blocks"), (-1, "asks for -1 blocks"), (10**9, "a launch has 1 to"), (1.5, "number of blocks is 1.5"), (None, "number of blocks is None"),
                                           (True, "number of blocks is True")])
def test_a_number_of_blocks_that_no_launch_has(blocks, words):
    """A launch without blocks would leave the output as it was."""
    def tiling(x, gamma):
        return ladder.tiling(V5, x[0], x[1], 4, 48, 1e-6)
    op = wms.custom(ladder.compile(V5, np.float32), lambda x, gamma: x, lambda x, gamma: x, blocks=blocks, tiling=tiling)
    with pytest.raises(hp.KernelError, match=words), wms.kernel_errors():
        op(ms.Tensor(np.ones((4, 8), np.float32)), ms.Tensor(np.ones(8, np.float32))).asnumpy()
