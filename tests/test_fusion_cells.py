"""Blocks inside a network: they are fused where they are, and the old network stays what it was."""
import gc
from collections import OrderedDict

import numpy as np
import pytest

from helpers.frameworks import launcher

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed: pip install mindspore")
from helpers.frameworks import fusion  # noqa: E402
from helpers.frameworks.networks.unfused import Block, Model, RMSNorm  # noqa: E402

nn = ms.nn                      # mindspore.rewrite knows a base class by this name only
HALF = 0.5


@pytest.fixture(autouse=True)
def pynative():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def some(seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal((3, 32)).astype(np.float32))


X, R = some(), some(1)


class Residual(nn.Cell):
    """A block with one input, for a SequentialCell."""

    def __init__(self):
        super().__init__()
        self.block = Block(32, 48)

    def construct(self, x):
        return self.block(x, x)


class Twice(nn.Cell):
    """The first block is there again, under another name; a list of the user's holds it too."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Block(32, 48), Block(32, 48)
        self.again = self.first
        self.order = [self.first, self.second]
        self.silu, self.mul = nn.SiLU(), ms.ops.Mul()

    def construct(self, x, r):
        h = self.first(x, r)
        h = self.order[1](h, r)
        h = self.again(h, r)
        s = self.silu(h)
        return self.mul(s, r) * HALF


class WithClass(nn.Cell):
    """The tool reads no class with another one in it."""

    class Inner:
        pass

    def __init__(self):
        super().__init__()
        self.part = Residual()

    def construct(self, x):
        return self.part(x)


class Heir(Residual):
    pass


def of_a_function():
    class Local(nn.Cell):
        def __init__(self):
            super().__init__()
            self.silu, self.mul, self.part = nn.SiLU(), ms.ops.Mul(), Residual()

        def construct(self, x):
            s = self.silu(x)
            return self.part(self.mul(s, x))
    return Local()


def of_a_notebook():
    """A class as a notebook cell makes it: its module has no file."""
    names = {"nn": nn, "Residual": Residual, "__name__": "a_notebook"}
    exec("class Cell1(nn.Cell):\n    def __init__(self):\n        super().__init__()\n        self.part = Residual()\n\n"
         "    def construct(self, x):\n        return self.part(x)\n", names)
    return names["Cell1"]()


def with_recompute():
    net = nn.SequentialCell([Residual(), Residual()])
    net[1].block.recompute()
    return net


def pair(*where):
    return [f"{w}{what}" for w in where for what in ("add + norm -> add_rms_norm", "silu + mul -> swiglu")]


ADVICE = "put it into a .py file, at the top level, and import it"
GRAPHS = ("twice",)                 # the others in PyNative only, to be quick; a list in a graph: see below
# network, inputs, what is fused, what is not read, launches
CASES = {
    "list": (lambda: Model(2, 32, 48), (X, R), [*pair("blocks.0: ", "blocks.1: "), "add + norm -> add_rms_norm"], [], 5),
    "sequence": (lambda: nn.SequentialCell([Residual(), nn.Dense(32, 32), nn.SequentialCell(Residual())]), (X,),
                 pair("0.block: ", "2.0.block: "), [], 4),
    "names": (lambda: nn.SequentialCell(OrderedDict(head=Residual(), tail=nn.ReLU())), (X,), pair("head.block: "), [], 2),
    "twice": (Twice, (X, R), [*pair("first, again: ", "second: "), "silu + mul -> swiglu"], [], 7),
    "class in a class": (WithClass, (X,), pair("part.block: "),
                         ["WithClass, as mindspore.rewrite says RuntimeError: Unsupported grammar in MindSpore Rewrite, "
                          "multi-class in module is not supported now"], 2),
    "heir": (lambda: nn.SequentialCell([Heir(), Heir()]), (X,), pair("0.block: ", "1.block: "),
             ["0, 1: Heir, as its construct is in the base class Residual: mindspore.rewrite does not look there"], 4),
    "of a function": (of_a_function, (X,), pair("part.block: "),
                      ["Local, as its class was made inside a function, and mindspore.rewrite does not know the names there: "
                       f"{ADVICE}"], 2),
    "of a notebook": (of_a_notebook, (X,), pair("part.block: "),
                      [f"Cell1, as its class was made in a notebook cell or at a prompt, and mindspore.rewrite reads files: {ADVICE}"], 2),
    "recompute": (with_recompute, (X,), pair("0.block: "), ["1.block: Block, as recompute is set for it: set it after the fusion"], 2),
}


def state(net):
    """All that could change: cells, their classes and values, parameters and their names."""
    cells = {name: (id(cell), type(cell), [*cell._cells], {k: id(v) for k, v in vars(cell).items() if not isinstance(v, (int, str))})
             for name, cell in net.cells_and_names()}
    return cells, [(id(p), p.name, p.is_init) for p in net.get_parameters()]


@pytest.mark.parametrize("case", CASES)
def test_blocks_inside_a_network(case):
    make, inputs, done, unread, launches = CASES[case]
    net = make()
    expected, before = net(*inputs).asnumpy(), state(net)
    mine, report = fusion.fuse(net)
    assert state(net) == before and state(mine)[1] == before[1]
    assert report.fused == done and report.left == [] and report.unread == unread
    assert str(report).splitlines() == [*(f"fused: {f}" for f in done), *(f"not read: {u}" for u in unread)]
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE) if case in GRAPHS else (ms.PYNATIVE_MODE,):
        ms.set_context(mode=mode)
        for one, count in ((mine, launches), (net, 0)):
            start = launcher.totals()[0]
            np.testing.assert_allclose(one(*inputs).asnumpy(), expected, rtol=1e-4, atol=1e-5)
            assert launcher.totals()[0] - start == count


def test_what_is_shared_stays_shared():
    net = Twice()
    mine, _ = fusion.fuse(net)
    assert mine.first is mine.again is mine.order[0] is not net.first and mine.order[1] is mine.second
    assert mine.first.gate is net.first.gate and mine.silu is net.silu
    assert fusion.fuse(mine)[1].fused == []


def test_not_into_layers_of_mindspore_and_parts_of_a_pattern():
    dense = nn.Dense(32, 32)
    dense.part = Residual()                                     # hidden in a layer of MindSpore
    net = nn.SequentialCell([dense, RMSNorm(32)])
    mine, report = fusion.fuse(net)
    assert str(report) == "no pattern was found" and mine is not net and mine[0] is dense
    norms = fusion.Pattern("norms", (Residual, nn.ReLU), lambda parts, nodes: "this is a test")
    assert fusion.fuse(nn.SequentialCell([Residual()]), [norms, *fusion.PATTERNS])[1].fused == []


def test_gradients_training_and_checkpoints(tmp_path):
    """Three steps of each; then each takes the file of the other."""
    old, other = Model(2, 32, 48), Model(2, 32, 48)
    file = str(tmp_path / "start.ckpt")
    ms.save_checkpoint(old, file)
    assert ms.load_param_into_net(other, ms.load_checkpoint(file)) == ([], [])
    mine, _ = fusion.fuse(other)
    losses = []
    for net in (old, mine):
        step = ms.value_and_grad(lambda x, r: ((net(x, r) - r) ** 2).mean(), None, net.trainable_params())
        optimizer, seen = nn.Adam(net.trainable_params(), 0.01), []
        for _ in range(3):
            loss, slopes = step(X, R)
            optimizer(slopes)
            seen.append(float(loss.asnumpy()))
        losses.append(seen)
        assert [p.name for p in optimizer.parameters] == [p.name for p in net.trainable_params()]
    assert losses[0][2] < losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    np.testing.assert_allclose(mine(X, R).asnumpy(), other(X, R).asnumpy(), rtol=1e-4, atol=1e-5)       # the same parameters
    ms.save_checkpoint(mine, str(tmp_path / "mine.ckpt"))
    stored = ms.load_checkpoint(str(tmp_path / "mine.ckpt"))
    assert list(stored) == list(ms.load_checkpoint(file)) and stored["blocks.1.norm.gamma"].shape == (32,)
    assert ms.load_param_into_net(old, stored) == ([], [])
    np.testing.assert_allclose(old(X, R).asnumpy(), mine(X, R).asnumpy(), rtol=1e-4, atol=1e-5)
    assert ms.load_param_into_net(mine, ms.load_checkpoint(file)) == ([], [])
    assert np.abs(mine(X, R).asnumpy() - old(X, R).asnumpy()).max() > 1e-3                             # back at the start


def test_graphs_and_files_of_their_own(tmp_path):
    """What is compiled for a network is its own: it stays when the other one, new or old, is gone."""
    ms.set_context(mode=ms.GRAPH_MODE)
    net = Model(1, 32, 48)
    expected = net(X, R).asnumpy()
    fusion.fuse(net)
    gc.collect()
    np.testing.assert_array_equal(net(X, R).asnumpy(), expected)
    mine, _ = fusion.fuse(net)
    assert not mine.compile_cache and net.compile_cache
    start = launcher.totals()[0]
    found = mine(X, R).asnumpy()
    assert launcher.totals()[0] - start == 3
    del net
    gc.collect()
    np.testing.assert_array_equal(mine(X, R).asnumpy(), found)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    ms.export(mine, X, R, file_name=str(tmp_path / "model.mindir"), file_format="MINDIR")
    again = nn.GraphCell(ms.load(str(tmp_path / "model.mindir")))
    start = launcher.totals()[0]
    np.testing.assert_array_equal(again(X, R).asnumpy(), found)
    assert launcher.totals()[0] - start == 3


def test_a_network_that_computes_in_half():
    net = Model(1, 32, 48).to_float(ms.float16)
    mine, report = fusion.fuse(net)
    assert len(report.fused) == 3 and mine.get_mixed_precision_type() == net.get_mixed_precision_type()
    found, expected = mine(X, R), net(X, R)
    assert found.dtype == expected.dtype == ms.float16
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-2, atol=2e-3)
