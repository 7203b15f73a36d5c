"""Kernels as operators of torch: results and gradients beside torch's own, tracing, training, and every way to get it wrong."""
import re

import numpy as np
import pytest

import helpers as hp
from helpers.course import changed, load
from helpers.course.kernels import KERNELS

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'ascend-c-workbook[torch]'")

from torch.autograd import forward_ad                               # noqa: E402

from helpers.frameworks import ops as catalogue                     # noqa: E402
from helpers.frameworks import torch as workbook                    # noqa: E402
from helpers.frameworks.torch_gradients import BACKWARD             # noqa: E402

F = torch.nn.functional
EPS = 1e-6
LOOSE = {"float32": 3e-5, "float16": 2e-3, "bfloat16": 1.6e-2}       # of gradients


def rms_norm(x, gamma):
    return F.rms_norm(x, (x.shape[-1],), gamma, EPS)


def rope(x, cos, sin):
    (a, b), c, s = x.chunk(2, -1), cos[:, None], sin[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def mha(x, *weights):
    q, k, v = ((x @ w).unflatten(-1, (8, -1)).transpose(1, 2) for w in weights[:3])
    return attention(q, k, v).transpose(1, 2).flatten(2) @ weights[3]


# What torch computes, with its own operators and its own gradients.
TORCH = {
    "attention": attention, "fused_mha": mha, "matmul": lambda a, b: a @ b,
    "add": lambda x, y: x + y, "copy": lambda x: x * 1, "gelu": lambda x: F.gelu(x, approximate="tanh"), "mul": lambda a, b: a * b, "rms_norm": rms_norm,
    "layer_norm": lambda x, gamma, beta: F.layer_norm(x, (x.shape[-1],), gamma, beta, 1e-5), "add_rms_norm": lambda x, r, gamma: (rms_norm(x + r, gamma), x + r),
    "rope": rope, "silu": F.silu, "sinh": torch.sinh, "softmax": lambda x: torch.softmax(x, -1), "swiglu": lambda gate, up: F.silu(gate) * up,
    "masked_softmax": lambda x, mask: torch.softmax(x.masked_fill(mask != 0, -torch.inf), -1),
}
SHAPES = {"attention": lambda n: [(2, 4, 9, n), (2, 2, 13, n), (2, 2, 13, n)], "fused_mha": lambda n: [(1, 17, 128)] + 4 * [(128, 128)],
          "matmul": lambda n: [(2, 3, n), (n, 40)], "rope": lambda n: [(5, 3, n + n % 2), (5, (n + 1) // 2), (5, (n + 1) // 2)]}
for _name in ("rms_norm", "layer_norm", "add_rms_norm"):
    SHAPES[_name] = lambda n, op=catalogue.find(_name): [(2, 3, n) if t in ("x", "residual") else (n,) for t in op.inputs]
CASES = [(name, dtype) for name in TORCH for dtype in catalogue.find(name).dtypes]


def inputs_of(name: str, n: int, dtype, grad: bool = True):
    """Random tensors that an operator takes; only tables and masks need no gradient."""
    made, rng = [], torch.Generator().manual_seed(n)
    op = catalogue.find(name)
    for tensor, shape in zip(op.inputs, SHAPES[name](n) if name in SHAPES else [(2, 3, n)] * len(op.inputs)):
        if op.fixed.get(tensor) == "uint8":
            mask = (torch.rand(shape, generator=rng) > 0.6).to(torch.uint8)
            mask[..., 0] = 0                                     # a row that is masked as a whole has no softmax
            made.append(mask)
        else:
            made.append((torch.randn(shape, generator=rng) / (11 if tensor.startswith("w") else 1)).to(dtype).requires_grad_(grad))
    return made


def wide(tensors):
    return [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in tensors]


def several(found):
    return found if isinstance(found, tuple) else (found,)


def weights_of(outputs):
    return [torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape).to(o.dtype) for o in outputs]


@pytest.mark.parametrize("name, dtype", CASES)
def test_results_and_gradients_are_those_of_torch(name, dtype):
    mine = inputs_of(name, 33, getattr(torch, dtype))
    theirs = wide(mine)
    before = [t.detach().clone() for t in mine]
    ours, right = several(workbook.op(name)(*mine)), several(TORCH[name](*theirs))
    for a, b in zip(ours, right):
        assert str(a.dtype) == f"torch.{catalogue.find(name).out_dtypes(dtype)[0]}" and a.shape == b.shape
        if name not in BACKWARD:              # several operators in one, each rounded: as good as torch's own in this type
            own = TORCH[name](*(t.detach() for t in mine))
            assert (a.double() - b).abs().max() <= 1.5 * (own.double() - b).abs().max()
            return
        hp.check(a, b.detach().numpy(), dtype=str(a.dtype).removeprefix("torch."))
    weights = weights_of(ours)
    torch.autograd.backward(ours, weights)
    torch.autograd.backward(right, [w.double() for w in weights])
    for a, b in zip(mine, theirs):
        if a.requires_grad:
            assert a.grad.dtype == a.dtype
            # a sum over rows, or of two gradients, rounds more than once
            scale = float(b.grad.abs().max())
            np.testing.assert_allclose(a.grad.double(), b.grad, rtol=3 * LOOSE[dtype], atol=LOOSE[dtype] * scale)
    assert all(torch.equal(a.detach(), b) for a, b in zip(mine, before)), "an input was changed"


def test_every_kernel_of_the_catalogue_is_compared():
    assert set(catalogue.CATALOGUE) == {*TORCH, "rms_norm_grad"}
    assert set(TORCH) - set(BACKWARD) == {"fused_mha"}                # for inference only
    folders = {p.name for p in KERNELS.iterdir() if p.is_dir() and not p.name.startswith(("_", "."))}
    assert {op.folder for op in catalogue.CATALOGUE.values()} == folders


@pytest.mark.parametrize("name", ["rms_norm", "add_rms_norm", "masked_softmax", "rope"])
def test_opcheck(name):
    assert set(torch.library.opcheck(workbook.op(name), tuple(inputs_of(name, 16, torch.float32))).values()) == {"SUCCESS"}


def test_gradient_kernel_passes_opcheck_and_has_no_second_gradient():
    dy, x = (t.requires_grad_(False) for t in inputs_of("mul", 16, torch.float32))
    grad, gamma = workbook.op("rms_norm_grad"), torch.ones(16)
    assert set(torch.library.opcheck(grad, (dy, x, gamma)).values()) == {"SUCCESS"}
    with pytest.raises(RuntimeError, match="no autograd formula"):
        grad(dy, x.clone().requires_grad_(), gamma)[0].sum().backward()


def test_one_node_for_one_operator():
    op, (x, gamma) = workbook.op("rms_norm"), inputs_of("rms_norm", 32, torch.float32, grad=False)
    by_hand = lambda x, gamma: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * gamma * 2      # noqa: E731
    assert workbook.nodes(lambda x, gamma: op(x, gamma) * 2, x, gamma) == ["wb::rms_norm", "mul"]
    assert len(workbook.nodes(by_hand, x, gamma)) >= 6


def test_compiled_training_graph_agrees_with_eager():
    torch.compiler.reset()
    op = workbook.op("swiglu")
    gate, up = inputs_of("swiglu", 40, torch.float32)
    found = []
    for function in (lambda a, b: (op(a, b) * b).sum(), torch.compile(lambda a, b: (op(a, b) * b).sum(), backend="aot_eager", fullgraph=True)):
        gate.grad = up.grad = None
        function(gate, up).backward()
        found.append((gate.grad, up.grad))
    assert all(torch.equal(a, b) for a, b in zip(*found))


def test_twenty_steps_of_training_track_the_reference():
    """RMSNorm and a linear layer, trained through our kernels and through torch: the losses agree to 1e-5 in every step."""
    def losses(norm):
        rng = torch.Generator().manual_seed(0)
        gamma, weight = torch.ones(64, requires_grad=True), (torch.randn(64, 16, generator=rng) / 8).requires_grad_()
        x, target = torch.randn(20, 32, 64, generator=rng), torch.randn(20, 32, 16, generator=rng)
        optimizer, found = torch.optim.SGD([gamma, weight], lr=0.2), []
        for a, b in zip(x, target):
            optimizer.zero_grad()
            loss = F.mse_loss(norm(3 * a, gamma) @ weight, b)
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return np.array(found)

    with workbook.record() as runs:
        ours = losses(workbook.op("rms_norm"))
    theirs = losses(rms_norm)
    assert len(runs) == 40 and [r.name for r in runs[:2]] == ["rms_norm_float", "rms_norm_grad_float"]
    assert np.abs(ours - theirs).max() < 1e-5 and np.abs(np.diff(ours)).max() > 1e-2


# ---- vmap
@pytest.mark.parametrize("name, in_dims, launches", [
    ("rms_norm", (0, None), 1), ("rms_norm", (2, None), 1), ("rms_norm", (0, 0), 3), ("rms_norm", (None, 0), 3), ("swiglu", (0, 0), 1), ("swiglu", (0, None), 3),
    ("softmax", (1,), 1), ("add_rms_norm", (0, 0, None), 1)])
def test_vmap_is_a_loop(name, in_dims, launches):
    """One launch where the batch is more rows for the kernel; the result is that of a loop in any case."""
    rng, vectors = torch.Generator().manual_seed(1), {"gamma"}
    shapes = [(8,) if t in vectors else (4, 8) for t in catalogue.find(name).inputs]
    inputs = [torch.randn(s if d is None else (*s[:d], 3, *s[d:]), generator=rng) for s, d in zip(shapes, in_dims)]
    op = workbook.op(name)
    with workbook.record() as runs:
        found = several(torch.vmap(op, in_dims)(*inputs))
    assert len(runs) == launches
    loop = [several(op(*(t if d is None else t.select(d, i) for t, d in zip(inputs, in_dims)))) for i in range(3)]
    for k, a in enumerate(found):
        assert torch.equal(a, torch.stack([one[k] for one in loop]))


def test_several_gradients_at_once():
    """A batch of gradients through a kernel that adds up over rows: over the rows of each, not of the batch."""
    x, gamma = inputs_of("rms_norm", 8, torch.float32)
    slopes, found = torch.randn(3, 2, 3, 8), []
    for norm in (workbook.op("rms_norm"), rms_norm):
        found.append(torch.autograd.grad(norm(x, gamma), (x, gamma), slopes, is_grads_batched=True))
    assert all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(*found))


# ---- tensors as they come
def test_views_empty_tensors_and_no_grad():
    op = workbook.op("swiglu")
    x = torch.randn(6, 40)
    gate, up = x.chunk(2, -1)                                        # views with gaps
    hp.check(op(gate, up), (F.silu(gate.double()) * up.double()).numpy())
    t = torch.randn(7, 5).t()
    y = op(t, t)
    assert y.is_contiguous()
    hp.check(y, (F.silu(t.double()) * t.double()).numpy())
    assert op(torch.empty(0, 8), torch.empty(0, 8)).shape == (0, 8)
    with torch.no_grad():
        assert not op(gate.clone().requires_grad_(), up).requires_grad
    views = torch.randn(4, 12, requires_grad=True)
    op(views[:, ::2], views[:, 1::2]).sum().backward()
    assert views.grad.abs().min() > 0


def test_bfloat16_is_handed_over_as_bits():
    import ml_dtypes
    t = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    array = workbook.to_numpy(t)
    assert array.dtype == ml_dtypes.bfloat16 and array.tolist() == [1.5, -2.0]
    array[0] = 3
    assert t[0] == 3                                                 # the same memory


# ---- an operator of one's own
DOUBLE = """#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t TILE = 4096;
template <typename T>
__aicore__ inline void Twice(GM_ADDR x, GM_ADDR y, uint32_t length)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    GlobalTensor<T> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ T*)x, length);
    yGm.SetGlobalBuffer((__gm__ T*)y, length);
    pipe.InitBuffer(inQueue, 1, TILE * sizeof(T));
    pipe.InitBuffer(outQueue, 1, TILE * sizeof(T));
    for (uint32_t start = 0; start < length; start += TILE) {
        uint32_t count = length - start < TILE ? length - start : TILE;
        LocalTensor<T> a = inQueue.AllocTensor<T>(), b = outQueue.AllocTensor<T>();
        DataCopyPad(a, xGm[start], {1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0}, {false, 0, 0, 0});
        inQueue.EnQue(a);
        a = inQueue.DeQue<T>();
        Add(b, a, a, count);
        outQueue.EnQue(b);
        b = outQueue.DeQue<T>();
        DataCopyPad(yGm[start], b, {1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0});
        inQueue.FreeTensor(a);
        outQueue.FreeTensor(b);
    }
}
extern "C" __global__ __aicore__ void twice_half(GM_ADDR x, GM_ADDR y, uint32_t length) { Twice<half>(x, y, length); }
extern "C" __global__ __aicore__ void twice_float(GM_ADDR x, GM_ADDR y, uint32_t length) { Twice<float>(x, y, length); }
"""


@pytest.fixture(scope="module")
def kernels():
    return {torch.float16: hp.compile(DOUBLE, name="twice_half"), torch.float32: hp.compile(DOUBLE, name="twice_float")}


def twice(kernels, out=torch.empty_like, name="twice", **options):
    return workbook.custom(kernels, out=lambda x: out(x), name=name, tiling=lambda x: x.numel(), **options)


def test_custom_operator(kernels):
    op = twice(kernels, backward=lambda ctx, grad: 2 * grad)
    for dtype in (torch.float16, torch.float32):
        x = torch.randn(3, 1003).to(dtype).requires_grad_()
        y = op(x)
        assert torch.equal(y, 2 * x) and torch.equal(torch.ops.wb.twice(x), y)
        y.sum().backward()
        assert (x.grad == 2).all()
    assert set(torch.library.opcheck(op, (torch.randn(5),)).values()) == {"SUCCESS"}


def test_a_cell_may_be_run_again(kernels):
    assert torch.equal(twice(kernels)(torch.ones(8)), torch.full((8,), 2.0))
    assert torch.equal(twice(kernels, backward=lambda ctx, grad: grad)(torch.ones(8)), torch.full((8,), 2.0))


def test_without_a_fake_kernel_nothing_traces(kernels):
    op = twice(kernels, name="twice_unseen", fake=False)
    assert torch.equal(op(torch.ones(4)), torch.full((4,), 2.0))
    with pytest.raises(Exception, match="no fake impl registered"):
        workbook.nodes(lambda x: op(x), torch.ones(4))
    assert set(torch.library.opcheck(op, (torch.ones(4),), raise_exception=False).values()) != {"SUCCESS"}


def test_without_backward_nothing_trains(kernels):
    with pytest.raises(RuntimeError, match="no autograd formula"):
        twice(kernels, name="twice_untrained")(torch.ones(4, requires_grad=True)).sum().backward()


def test_numbers_and_several_outputs():
    ladder = load("rms_norm", "ladder")
    v6 = ladder.VERSIONS[5]

    def out(x, residual, gamma, eps=1e-6):
        return torch.empty_like(x), torch.empty_like(x)

    op = workbook.custom({torch.float32: ladder.compile(v6, np.float32)}, out, name="add_norm", blocks=48,
                         tiling=lambda x, residual, gamma, eps: ladder.tiling(v6, *x.shape, 4, 48, eps))
    x, residual, gamma = torch.randn(7, 65), torch.randn(7, 65), torch.rand(65)
    for numbers, eps in (((), 1e-6), ((0.5,), 0.5)):
        y, total = op(x, residual, gamma, *numbers)
        assert torch.equal(total, x + residual)
        hp.check(y, F.rms_norm((x + residual).double(), (65,), gamma.double(), eps).numpy())
    assert "float eps=" in str(op._opoverload._schema)


# ---- getting it wrong: a clear error, a living process, untouched neighbours, and the next call works
def assert_still_works():
    """The process lives, and the next launch is right."""
    assert torch.equal(workbook.op("mul")(torch.ones(9) * 3, torch.ones(9) * 5), torch.full((9,), 15.0))


@pytest.mark.parametrize("call, word", [
    (lambda op: op(torch.ones(4, dtype=torch.float64), torch.ones(4)), "gate is float64; swiglu exists for float32, float16 and bfloat16"),
    (lambda op: op(torch.ones(4), torch.ones(4, dtype=torch.float16)), "up is float16 and gate is float32"),
    (lambda op: op(torch.ones(4), torch.ones(5)), "different shapes: .4,., .5,."),
    (lambda op: op(torch.ones(4, dtype=torch.int32), torch.ones(4, dtype=torch.int32)), "gate is int32"),
])
def test_wrong_inputs(call, word):
    op = workbook.op("swiglu")
    with pytest.raises((TypeError, ValueError), match=word):
        call(op)
    assert_still_works()


def test_a_tensor_of_another_backend_is_refused():
    workbook.op("mul")
    with pytest.raises(NotImplementedError, match="wb::mul"):
        torch.ops.wb.mul(torch.ones(3).to_sparse(), torch.ones(3).to_sparse())


@pytest.mark.parametrize("out, error, word", [
    (lambda x: torch.empty(x.shape[0] - 8), hp.KernelError, "GM_OUT_OF_BOUNDS"),
    (lambda x: torch.empty(x.shape[0] + 8), hp.KernelError, "nothing wrote element .1000. of its output .float32 .1008.., the first of 8 elements"),
    (lambda x: torch.empty(x.shape[0], dtype=torch.float16), hp.KernelError, "GM_OUT_OF_BOUNDS"),
    (lambda x: torch.empty(x.shape[0], dtype=torch.float64), hp.KernelError, "nothing wrote element .500. of its output .float64 .1000.., the first of 500 elements"),
    (lambda x: (x.clone(), x.clone()), TypeError, "out returns 2 tensors"),
])
def test_wrong_outputs(kernels, out, error, word):
    memory = torch.full((3000,), 7.0)
    x = memory[1000:2000]
    with pytest.raises(error, match=word):
        twice(kernels, out=out, name="twice_wrong")(x)
    assert (memory == 7).all()
    assert_still_works()


def test_an_output_may_be_filled_in_part(kernels):
    y = twice(kernels, out=lambda x: torch.zeros(x.shape[0] + 8), name="twice_partly", partial=True)(torch.ones(8))
    assert y.tolist() == [2.0] * 8 + [0.0] * 8


def test_stores_by_raw_pointers_are_seen():
    raw = """#include "kernel_operator.h"
    extern "C" __global__ __aicore__ void copied(GM_ADDR x, GM_ADDR y) { for (int i = 0; i < 8; i++) ((__gm__ float*)y)[i] = ((__gm__ float*)x)[i]; }"""
    op = workbook.custom({torch.float32: hp.compile(raw)}, out=lambda x: torch.empty_like(x), name="copied")
    assert op(torch.arange(8.0)).tolist() == list(range(8))


TWICE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void first_half_twice(GM_ADDR x, GM_ADDR y, uint32_t count) {
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float*)x, count);
    yGm.SetGlobalBuffer((__gm__ float*)y, count);
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, count * sizeof(float));
    LocalTensor<float> local = buffer.Get<float>();
    DataCopy(local, xGm, count);
    PipeBarrier<PIPE_ALL>();
    for (int i = 0; i < 2; ++i) {
        DataCopy(yGm, local, count / 2);
        PipeBarrier<PIPE_ALL>();
    }
}
"""


@pytest.mark.parametrize("make, rest, place", [
    (lambda x: torch.empty_like(x), torch.nan, "[32]"), (lambda x: x.new_empty(64), torch.nan, "[32]"), (lambda x: torch.zeros_like(x), 0.0, ""),
    (lambda x: torch.empty(64, dtype=torch.int32), 2**31 - 1, "[32]"), (lambda x: torch.empty_like(x.view(8, 8)), torch.nan, "[4, 0]")])
def test_what_a_kernel_leaves_out_is_seen(make, rest, place):
    """As many bytes as the output has, but some of them twice: the rest is neither what lay in memory nor taken for a result."""
    kernel, x = hp.compile(TWICE, name="first_half_twice"), torch.arange(64.0)
    for partial in (False, True):
        twice = workbook.custom({torch.float32: kernel}, out=make, name="twice", tiling=lambda x: (x.numel(),), partial=partial)
        if place and not partial:
            with pytest.raises(hp.KernelError, match=re.escape(f"nothing wrote element {place} of its output")):
                twice(x)
            continue
        found = twice(x)
        torch.testing.assert_close(found.flatten().view(torch.float32)[:32], torch.arange(32.0))
        torch.testing.assert_close(found.flatten()[32:], torch.full((32,), rest, dtype=found.dtype), equal_nan=True)


ADDS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void adds(GM_ADDR x, GM_ADDR y, uint32_t count) {
    GlobalTensor<TYPE> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ TYPE*)x, count);
    yGm.SetGlobalBuffer((__gm__ TYPE*)y, count);
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, count * sizeof(TYPE));
    LocalTensor<TYPE> local = buffer.Get<TYPE>();
    DataCopy(local, xGm, count);
    PipeBarrier<PIPE_ALL>();
    SetAtomicAdd<TYPE>();
    DataCopy(yGm, local, count);
    SetAtomicNone();
}
"""


@pytest.mark.parametrize("type_, dtype", [("float", torch.float32), ("half", torch.float16), ("int32_t", torch.int32)])
def test_a_kernel_that_adds_to_its_output(type_, dtype):
    kernel, x = hp.compile(ADDS.replace("TYPE", type_)), torch.arange(64).to(dtype).view(8, 8)

    def adds(make):
        return workbook.custom({dtype: kernel}, out=make, name="adds", tiling=lambda x: x.numel())
    assert torch.equal(adds(lambda x: torch.zeros_like(x))(x), x)
    with pytest.raises(hp.KernelError, match=r"element \[0, 1\] of its output .* depends on what lay there before the launch") as caught:
        adds(lambda x: torch.empty_like(x))(x)                       # element [0, 0] stays as it is: 0 is added to it
    assert "torch.zeros" in caught.value.findings[0].hint


def test_results_that_look_unwritten(kernels):
    """NaN and the largest integer may be results: the second launch tells, and is not recorded."""
    x = torch.tensor([1.0, torch.nan, torch.inf, -torch.inf])
    with workbook.record() as runs:
        torch.testing.assert_close(twice(kernels)(x), 2 * x, equal_nan=True)
        assert torch.isnan(workbook.op("softmax")(x.reshape(1, 4))).any()
        copied = workbook.op("copy")(torch.tensor([2**31 - 1, 5], dtype=torch.int32).view(torch.float32))
    assert copied.view(torch.int32).tolist() == [2**31 - 1, 5] and len(runs) == 3


@pytest.mark.parametrize("shapes", [((0, 5), (5, 3)), ((2, 0, 5), (5, 3))])
def test_products_of_no_rows_train(shapes):
    a, b = (torch.ones(s, requires_grad=True) for s in shapes)
    workbook.op("matmul")(a, b).sum().backward()
    assert a.grad.shape == a.shape and torch.equal(b.grad, torch.zeros(5, 3))


def test_forward_mode_is_refused_and_not_zero():
    x, silu = torch.randn(3, 5), workbook.op("silu")
    with pytest.raises(NotImplementedError, match="wb::silu has no derivative in forward mode"):
        torch.func.jvp(silu, (x,), (x,))
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="Use backward mode"):
        silu(forward_ad.make_dual(x, x))
    by_backward = torch.autograd.functional.jvp(silu, x, x)[1]                # what the message says does it
    torch.testing.assert_close(by_backward, torch.func.jvp(F.silu, (x,), (x,))[1])


@pytest.mark.parametrize("name, shapes, words", [("add_rms_norm", [(1, 40000), (1, 40000), (40000,)], "add x and the residual first"),
                                                 ("masked_softmax", [(1, 60000), (1, 60000)], "put -inf where the mask is not 0")])
def test_rows_that_are_too_long_say_what_to_do(name, shapes, words):
    tensors = [torch.ones(s) for s in shapes]
    tensors[-1] = tensors[-1].to(torch.uint8 if name == "masked_softmax" else torch.float32)
    with pytest.raises(ValueError, match=f"does not fit UB: {words}, and then use the kernel for long rows"):
        workbook.op(name)(*tensors)


def test_gradients_of_no_rows():
    x, gamma = torch.empty(0, 8, requires_grad=True), torch.ones(8, requires_grad=True)
    workbook.op("rms_norm")(x, gamma).sum().backward()
    assert x.grad.shape == (0, 8) and gamma.grad.tolist() == [0.0] * 8


def test_an_output_that_is_no_tensor_is_named(kernels):
    with pytest.raises(TypeError, match="out returns a ndarray"):
        twice(kernels, out=lambda x: np.zeros(8), name="no_tensor")(torch.ones(8))


@pytest.mark.parametrize("out", [torch.empty_like, torch.zeros_like, lambda *tensors: torch.empty_like(tensors[0])])
def test_an_output_function_without_names_is_named(kernels, out):
    with pytest.raises(TypeError, match="no parameter names"):
        workbook.custom(kernels, out=out, name="no_names", tiling=lambda x: x.numel())


def test_an_output_that_is_an_input_is_refused(kernels):
    with pytest.raises(RuntimeError, match="must not also be an input|alias"):
        twice(kernels, out=lambda x: x, name="twice_alias")(torch.ones(8))


def test_kernel_that_fails_its_checks():
    broken = changed(DOUBLE, "Add(b, a, a, count);", "Add(b, a, a, count * 4);")
    op = twice({torch.float32: hp.compile(broken, name="twice_float")}, name="twice_broken")
    memory = torch.full((9000,), 7.0)
    with pytest.raises(hp.KernelError, match="OUT_OF_BOUNDS") as caught:
        op(memory[:4096])
    assert caught.value.findings[0].line is not None and (memory == 7).all()
    assert_still_works()


@pytest.mark.parametrize("dtype, size", [(torch.float32, 8), (torch.bfloat16, 8), (torch.float32, 100_000)])
def test_a_kernel_that_writes_to_its_input(dtype, size):
    """Small tensors are copied to the kernel, large ones shared with it: both stay as they are."""
    raw = """#include "kernel_operator.h"
    extern "C" __global__ __aicore__ void in_place(GM_ADDR x, GM_ADDR y, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) ((__gm__ uint8_t*)y)[i] = ((__gm__ uint8_t*)x)[i];
        ((__gm__ uint8_t*)x)[1] = 7;
    }"""
    op = workbook.custom({dtype: hp.compile(raw)}, out=lambda x: torch.empty_like(x), name="in_place", tiling=lambda x: x.nbytes)
    memory = torch.ones(size + 16, dtype=dtype)
    with pytest.raises(hp.KernelError, match="The kernel writes to argument x, which is an input of wb::in_place") as caught:
        op(memory[8:-8])
    assert caught.value.codes == ["HOST_ARGUMENT"] and "Write to an output" in str(caught.value) and bool((memory == 1).all())
    assert workbook.op("silu")(torch.zeros(3)).tolist() == [0, 0, 0]


def test_kernel_that_crashes():
    crash = changed(DOUBLE, "Twice<float>(x, y, length); }", "*(volatile int*)nullptr = 1; Twice<float>(x, y, length); }")
    op = twice({torch.float32: hp.compile(crash, name="twice_float")}, name="twice_crash")
    with pytest.raises(hp.KernelError, match="CRASH"):
        op(torch.ones(8))
    assert_still_works()


def test_deleted_library(kernels):
    kernel = hp.compile(DOUBLE.replace("TILE = 4096", "TILE = 2048"), name="twice_float")
    op = twice({torch.float32: kernel}, name="twice_deleted")
    kernel.built.path.unlink()
    with pytest.raises(hp.WorkbookError, match="could not be loaded|is gone|Build it again"):
        op(torch.full((8,), 3.0))
    assert_still_works()
    assert twice({torch.float32: hp.compile(DOUBLE.replace("TILE = 4096", "TILE = 2048"), name="twice_float")}, name="twice_deleted")(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("options, word", [
    (dict(kernels="first"), "which element type"),
    (dict(out=lambda: None), "out takes 0 tensors"),
    (dict(out=lambda x, y, z: x), "has the pointers x, y"),
])
def test_wrong_use_of_custom(kernels, options, word):
    given = {"kernels": kernels, "out": lambda x: torch.empty_like(x), **options}
    if given["kernels"] == "first":
        given["kernels"] = kernels[torch.float32]
    with pytest.raises(TypeError, match=word):
        workbook.custom(name="twice_misused", **given)


def test_unknown_operators_are_named():
    with pytest.raises(ValueError, match="no operator rmsnorm. Here are add"):
        workbook.op("rmsnorm")
