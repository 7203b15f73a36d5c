"""Patterns of a network become our kernels: same outputs and gradients, fewer operators, and never where they must not fire."""
import os
import subprocess
import sys

import numpy as np
import pytest

import helpers as hp
from helpers.frameworks import launcher
from helpers.views.graph import graphs
from chapters import ROOT

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed: pip install mindspore")
from helpers.frameworks import fusion, fusion_pass  # noqa: E402
from helpers.frameworks.networks import fused, unfused  # noqa: E402

nn = ms.nn                      # mindspore.rewrite knows a base class by this name only


@pytest.fixture(autouse=True)
def pynative():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def some(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def wide(out) -> list[np.ndarray]:
    return [t.asnumpy() for t in (out if isinstance(out, tuple) else (out,))]


BLOCK = [some(5, 64), some(5, 64, seed=1)]
QKV = [some(1, 4, 33, 64, seed=i) for i in range(3)]
CASES = {"block": (unfused.Block, BLOCK, 13, 6), "two norms": (unfused.TwoNorms, BLOCK, 14, 2), "attention": (unfused.Attention, QKV, 4, 1)}


@pytest.mark.parametrize("case", CASES)
def test_a_pattern_becomes_a_kernel(case):
    make, inputs, before, after = CASES[case]
    net = make()
    path = list(sys.path)
    mine, report = fusion.fuse(net)
    assert sys.path == path and report.left == [] and report.fused
    assert len(fusion.operators(net, *inputs)) == before and len(fusion.operators(mine, *inputs)) == after
    assert fusion.operators(mine, *inputs).count("Custom") == len(report.fused)
    expected = wide(net(*inputs))
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        launches, _ = launcher.totals()
        for a, b in zip(wide(mine(*inputs)), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
        assert launcher.totals()[0] - launches == len(report.fused)
    assert "Custom" not in fusion.operators(net, *inputs), "the old network has changed"


def test_gradients_of_inputs_and_weights_stay_the_same():
    net = unfused.Block()
    mine, _ = fusion.fuse(net)
    assert {id(p) for p in mine.trainable_params()} == {id(p) for p in net.trainable_params()}
    found = []
    for one in (net, mine):
        def loss(x, residual):
            return (one(x, residual) ** 2).mean()
        found.append([g.asnumpy() for part in ms.grad(loss, (0, 1), net.trainable_params())(*BLOCK) for g in part])
    assert len(found[0]) == 6
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


class Gated(nn.Cell):
    """SiLU and product, without the layers around them."""

    def __init__(self):
        super().__init__()
        self.silu, self.mul = ms.nn.SiLU(), ms.ops.Mul()

    def construct(self, gate, up):
        s = self.silu(gate)
        return self.mul(s, up)


# network, inputs, launches: of a second norm, whose tensors do fit
UNFIT = {"a residual for all rows": (unfused.TwoNorms, [some(2, 5, 64), some(1, 5, 64, seed=1)], 1),
         "rows that meet one of x": (unfused.TwoNorms, [some(1, 5, 64), some(3, 5, 64, seed=1)], 1),
         "a residual of another type": (unfused.TwoNorms, [some(5, 64), some(5, 64, seed=1).astype(ms.float16)], 1),
         "a row longer than UB": (lambda: unfused.TwoNorms(40_000), [some(1, 40_000), some(1, 40_000, seed=1)], 0),
         "one factor a row": (Gated, [some(8, 64), some(8, 1, seed=1)], 0),
         "heads without a batch": (unfused.Attention, [t[0] for t in QKV], 0),
         "values of another width": (unfused.Attention, [*QKV[:2], some(1, 4, 33, 32)], 0)}


@pytest.mark.parametrize("case", UNFIT)
def test_tensors_that_no_kernel_takes(case):
    """A pattern fires before anybody knows the shapes. Where they do not fit the kernel, the network does what it did before."""
    make, inputs, launches = UNFIT[case]
    net = make()
    mine, report = fusion.fuse(net)
    assert report.fused and report.left == []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        before = launcher.totals()[0]
        found = mine(*inputs)
        assert launcher.totals()[0] - before == launches
        ms.set_context(mode=ms.PYNATIVE_MODE)
        np.testing.assert_allclose(found.asnumpy(), net(*inputs).asnumpy(), rtol=2e-5, atol=2e-5)
        assert found.dtype == net(*inputs).dtype
    a, b = (ms.grad(lambda x: (one(x, *inputs[1:]) ** 3).sum())(inputs[0]).asnumpy() for one in (net, mine))
    np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4 * np.abs(a).max())


def test_sizes_that_come_later():
    """A graph for any number of rows holds no kernel of ours, as each number has a tiling of its own."""
    ms.set_context(mode=ms.GRAPH_MODE)
    net = unfused.TwoNorms()
    mine, _ = fusion.fuse(net)
    mine.set_inputs(*[ms.Tensor(shape=[None, 64], dtype=ms.float32)] * 2)
    before = launcher.totals()[0]
    for rows in (5, 3):
        inputs = [t[:rows] for t in BLOCK]
        np.testing.assert_allclose(mine(*inputs).asnumpy(), net(*inputs).asnumpy(), rtol=2e-5, atol=2e-5)
    assert launcher.totals()[0] == before


def test_a_second_consumer_blocks_the_pattern():
    net = unfused.AttentionWithProbabilities()
    same, report = fusion.fuse(net)
    assert report.fused == [] and report.left == ["scores + scale + softmax + values, as largest needs p too"]
    assert fusion.operators(same, *QKV) == fusion.operators(net, *QKV)
    for a, b in zip(wide(same(*QKV)), wide(net(*QKV)), strict=True):
        np.testing.assert_array_equal(a, b)


WRONG = {
    "axis": (lambda n: setattr(n, "softmax", ms.ops.Softmax(-2)), "the softmax works on axis -2"),
    "transposed": (lambda n: setattr(n, "scores", ms.ops.BatchMatMul()), "the products are transposed in another way"),
    "transposed values": (lambda n: setattr(n, "values", ms.ops.BatchMatMul(transpose_b=True)), "the products are transposed in another way"),
    "a scale per element": (lambda n: setattr(n, "factor", some(33, 33)), "the scale is not a number of the network"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_same_nodes_with_other_numbers_are_left_alone(case):
    change, why = WRONG[case]
    net = unfused.Attention()
    change(net)
    _, report = fusion.fuse(net)
    assert report.fused == [] and report.left == [f"scores + scale + softmax + values, as {why}"]


class Names(nn.Cell):
    """Operators whose results get the same name again, or meet in another order: one network for each method below."""

    def __init__(self):
        super().__init__()
        self.silu, self.mul, self.add, self.norm = ms.nn.SiLU(), ms.ops.Mul(), ms.ops.Add(), unfused.RMSNorm(64)
        self.scores, self.softmax, self.values = ms.ops.BatchMatMul(transpose_b=True), ms.ops.Softmax(-1), ms.ops.BatchMatMul()
        self.factor, self.weight = 0.125, ms.Parameter(some(64), name="weight")


class InputChanges(Names):
    def construct(self, x, y):
        s = self.silu(x)
        x = self.mul(x, y)
        z = self.mul(s, y)
        return self.mul(z, x)


class OneNameForAll(Names):
    def construct(self, x, y):
        x = self.add(x, y)
        x = self.norm(x)
        x = self.add(x, y)
        x = self.norm(x)
        return x


class SumIsNeededEarly(Names):
    def construct(self, x, y):
        h = self.add(x, y)
        w = self.mul(h, x)
        z = self.norm(h)
        return self.add(z, w)


class SumIsReturned(Names):
    def construct(self, x, y):
        h = self.add(x, y)
        z = self.norm(h)
        return z, h


class WeightIsAdded(Names):
    def construct(self, x, y):
        h = self.add(x, self.weight)
        z = self.norm(h)
        return self.mul(z, y)


class WeightIsFactor(Names):
    def construct(self, x, y):
        s = self.silu(x)
        z = self.mul(self.weight, s)
        return self.add(z, y)


class NumberIsFactor(Names):
    def construct(self, x, y):
        s = self.silu(x)
        z = self.mul(s, 2.0)
        return self.add(z, y)


class QueryChanges(Names):
    def construct(self, q, k, v):
        s = self.scores(q, k)
        t = self.mul(s, self.factor)
        q = self.add(q, q)
        p = self.softmax(t)
        o = self.values(p, v)
        return self.add(o, q)


class ProbabilitiesTwice(Names):
    def construct(self, q, k, v):
        s = self.scores(q, k)
        t = self.mul(s, self.factor)
        p = self.softmax(t)
        o = self.values(p, p)
        return o


SQUARE = [some(1, 2, 64, 64, seed=i) for i in range(3)]
NAMES = {InputChanges: (BLOCK, [], "silu + mul_1, as mul gives x another value in between"),
         OneNameForAll: (BLOCK, ["add + norm -> add_rms_norm", "add_1 + norm_1 -> add_rms_norm"], ""),
         SumIsNeededEarly: (BLOCK, [], "add + norm, as mul needs h before norm"),
         SumIsReturned: (BLOCK, ["add + norm -> add_rms_norm"], ""),
         WeightIsAdded: (BLOCK, [], "add + norm, as a weight or a number is added"),
         WeightIsFactor: (BLOCK, [], "silu + mul, as the other factor is a weight or a number"),
         NumberIsFactor: (BLOCK, [], "silu + mul, as the other factor is a weight or a number"),
         QueryChanges: (SQUARE, [], "scores + mul + softmax + values, as add gives q another value in between"),
         ProbabilitiesTwice: (SQUARE, [], "scores + mul + softmax + values, as the probabilities are the right factor of the last product")}


@pytest.mark.parametrize("make", NAMES)
def test_names_mean_the_same_value_in_the_place_of_the_kernel(make):
    inputs, done, left = NAMES[make]
    net = make()
    mine, report = fusion.fuse(net)
    assert report.fused == done and report.left == ([left] if left else [])
    for a, b in zip(wide(mine(*inputs)), wide(net(*inputs)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


class ReadInAnIf(Names):
    def construct(self, x, y):
        s = self.silu(x)
        z = self.mul(s, y)
        if self.factor > 0:
            z = z + s
        return z


class ReadInAComprehension(Names):
    def construct(self, x, y):
        s = self.silu(x)
        z = self.mul(s, y)
        both = [z + s for _ in range(2)]
        return both[1]


class ReadByIndex(Names):
    def construct(self, x, y):
        s = self.silu(x)
        z = self.mul(s, y)
        return z + s[0]


class ChangedInAnIf(Names):
    def construct(self, x, y):
        s = self.silu(x)
        if self.factor > 0:
            s = x
        z = self.mul(s, y)
        return z


class ChangedInPlace(Names):
    def construct(self, x, y):
        h = self.add(x, y)
        h += x
        z = self.norm(h)
        return z


class SumIsReadInAnIf(Names):
    def construct(self, x, y):
        h = self.add(x, y)
        z = self.norm(h)
        if self.factor > 0:
            z = z + h
        return z


class InsideAnIf(Names):
    def construct(self, x, y):
        if self.factor > 0:
            s = self.silu(x)
            x = self.mul(s, y)
        return x


ELSEWHERE = "silu + mul, as they lie in the body of an if or a loop, or in another function than construct"
HIDDEN = {ReadInAnIf: ([], "silu + mul, as if_node needs s too"),
          ReadInAComprehension: ([], "silu + mul, as Assign needs s too"),
          ReadByIndex: ([], "silu + mul, as subscript_var needs s too"),
          ChangedInAnIf: ([], "silu + mul, as if_node gives s another value in between"),
          ChangedInPlace: ([], "add + norm, as AugAssign gives h another value in between"),
          SumIsReadInAnIf: (["add + norm -> add_rms_norm"], ""),
          InsideAnIf: ([], ELSEWHERE)}


@pytest.mark.parametrize("make", HIDDEN)
def test_readers_that_the_tool_does_not_link(make):
    done, left = HIDDEN[make]
    net = make()
    mine, report = fusion.fuse(net)
    assert report.fused == done and report.left == ([left] if left else []) and report.unread == []
    np.testing.assert_allclose(mine(*BLOCK).asnumpy(), net(*BLOCK).asnumpy(), rtol=2e-5, atol=2e-5)


def test_a_cell_that_does_more_than_its_construct_is_not_replaced():
    net = unfused.Block()
    seen = []
    net.norm.register_forward_hook(lambda *_: seen.append(1))
    net.silu.to_float(ms.float16)
    mine, report = fusion.fuse(net)
    assert report.fused == [] and report.left == ["add + norm, as norm has a hook", "silu + mul, as to_float is set for silu"]
    mine(*BLOCK)
    assert seen == [1]


def test_a_network_without_patterns():
    net = unfused.RMSNorm(64)
    _, report = fusion.fuse(net)
    assert str(report) == "no pattern was found"
    assert fusion.fuse(unfused.Block(), [])[1].fused == []


def test_solution_of_the_pattern():
    net = unfused.AttentionScaledFirst()
    assert fusion.fuse(net)[1].fused == []

    def build(parts, nodes):
        q, k, v = nodes[0].get_args()[0], nodes[1].get_args()[1], nodes[3].get_args()[1]
        return fused.Attention(net.factor), [q, k, v]
    chain = (ms.ops.Mul, ms.ops.BatchMatMul, ms.ops.Softmax, ms.ops.BatchMatMul)
    mine, report = fusion.fuse(net, [fusion.Pattern("attention", chain, build)])
    assert report.fused == ["scale + scores + softmax + values -> attention"]
    np.testing.assert_allclose(mine(*QKV).asnumpy(), net(*QKV).asnumpy(), rtol=2e-5, atol=2e-5)


RELOAD = """
import sys
import numpy as np
import mindspore as ms
folder = sys.argv[1]
net = ms.nn.GraphCell(ms.load(folder + "/block.mindir"))
inputs = [ms.Tensor(np.load(f"{folder}/{n}.npy")) for n in "xr"]
assert np.array_equal(net(*inputs).asnumpy(), np.load(folder + "/y.npy"))
try:
    net(*(t[:3] for t in inputs)).asnumpy()
except Exception as error:
    print(type(error).__name__)
assert not any(name.startswith("helpers") for name in sys.modules)
"""


def test_mindir_runs_in_a_process_that_knows_nothing_of_us(tmp_path):
    """The plans for these shapes lie beside the library; no Python of ours is needed."""
    mine, _ = fusion.fuse(unfused.Block())
    y = mine(*BLOCK).asnumpy()
    ms.export(mine, *BLOCK, file_name=str(tmp_path / "block.mindir"), file_format="MINDIR")
    for name, array in (("x", BLOCK[0].asnumpy()), ("r", BLOCK[1].asnumpy()), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    done = subprocess.run([sys.executable, "-c", RELOAD, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**os.environ, "GLOG_v": "4"})
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Error" in done.stdout                              # other shapes than those of the file


def test_onnx_of_the_network_without_our_kernels(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    net = unfused.Block()
    ms.onnx.export(net, *BLOCK, file_name=str(tmp_path / "block.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "block.onnx"), providers=["CPUExecutionProvider"])
    y, = session.run(None, {"x": BLOCK[0].asnumpy(), "residual": BLOCK[1].asnumpy()})
    np.testing.assert_allclose(y, net(*BLOCK).asnumpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError):
        ms.onnx.export(fusion.fuse(unfused.Block())[0], *BLOCK, file_name=str(tmp_path / "fused.onnx"))


def test_a_missing_pass_is_no_exception(monkeypatch):
    """Of MindSpore, but of ours. Chapter 12 registers the real one: where it fires, and where it must not."""
    assert ms.graph.register_custom_pass("none", str(ROOT / "none.so"), device="cpu") is False
    monkeypatch.setattr(fusion_pass, "build", lambda: ROOT / "none.so")
    with pytest.raises(hp.SetupError, match="did not take the pass workbook_swiglu"):
        fusion_pass.register()


def test_picture_of_a_graph():
    nodes = [("add", [], False), ("norm", ["add"], True), ("mul", ["norm", "add"], False)]
    picture = graphs({"before": nodes, "after": nodes[:2]}, title="two graphs")
    assert picture.alt == ("two graphs. before: 3 nodes, add, norm, mul; in colour norm. after: 2 nodes, add, norm; in colour norm.")
    assert [t.get_text() for t in picture.figure.axes[0].texts if t.get_text()] == ["before", "add", "norm", "mul", "after", "add", "norm"]
