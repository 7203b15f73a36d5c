"""Networks written without our kernels: what a graph looks like before a fusion. They live in a file because
mindspore.rewrite reads their text."""
from __future__ import annotations

import mindspore as ms
from mindspore import nn, ops


class RMSNorm(nn.Cell):
    """RMSNorm from MindSpore's operators: six nodes of the graph."""

    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.gamma = ms.Parameter(ops.ones(width, ms.float32), name="gamma")

    def construct(self, x):
        return x / ops.sqrt((x * x).mean(-1, True) + self.eps) * self.gamma


class Block(nn.Cell):
    """The half of a transformer layer behind its attention: residual, norm, and a gated feed-forward part."""

    def __init__(self, width: int = 64, inner: int = 160):
        super().__init__()
        self.add = ops.Add()
        self.norm = RMSNorm(width)
        self.gate = nn.Dense(width, inner, has_bias=False)
        self.up = nn.Dense(width, inner, has_bias=False)
        self.silu = nn.SiLU()
        self.mul = ops.Mul()
        self.down = nn.Dense(inner, width, has_bias=False)
        self.close = ops.Add()

    def construct(self, x, residual):
        h = self.add(x, residual)
        y = self.norm(h)
        g = self.gate(y)
        s = self.silu(g)
        u = self.up(y)
        m = self.mul(s, u)
        d = self.down(m)
        z = self.close(d, h)
        return z


class Attention(nn.Cell):
    """Attention as an article writes it: two products, a scale, a softmax. q, k, v are batch, heads, rows, dim."""

    def __init__(self, dim: int = 64):
        super().__init__()
        self.scores = ops.BatchMatMul(transpose_b=True)
        self.scale = ops.Mul()
        self.softmax = ops.Softmax(-1)
        self.values = ops.BatchMatMul()
        self.factor = dim ** -0.5

    def construct(self, q, k, v):
        s = self.scores(q, k)
        t = self.scale(s, self.factor)
        p = self.softmax(t)
        o = self.values(p, v)
        return o


class AttentionWithProbabilities(nn.Cell):
    """The same, but somebody wants to see the probabilities as well: they must exist in memory."""

    def __init__(self, dim: int = 64):
        super().__init__()
        self.scores = ops.BatchMatMul(transpose_b=True)
        self.scale = ops.Mul()
        self.softmax = ops.Softmax(-1)
        self.values = ops.BatchMatMul()
        self.largest = ops.ReduceMax()
        self.factor = dim ** -0.5

    def construct(self, q, k, v):
        s = self.scores(q, k)
        t = self.scale(s, self.factor)
        p = self.softmax(t)
        o = self.values(p, v)
        top = self.largest(p)
        return o, top


class AttentionScaledFirst(nn.Cell):
    """The same result, with the scale on q."""

    def __init__(self, dim: int = 64):
        super().__init__()
        self.scale = ops.Mul()
        self.scores = ops.BatchMatMul(transpose_b=True)
        self.softmax = ops.Softmax(-1)
        self.values = ops.BatchMatMul()
        self.factor = dim ** -0.5

    def construct(self, q, k, v):
        t = self.scale(q, self.factor)
        s = self.scores(t, k)
        p = self.softmax(s)
        o = self.values(p, v)
        return o


class TwoNorms(nn.Cell):
    """Two residuals, each with a norm behind it."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.add_a = ops.Add()
        self.norm_a = RMSNorm(width)
        self.add_b = ops.Add()
        self.norm_b = RMSNorm(width)

    def construct(self, x, residual):
        h = self.add_a(x, residual)
        y = self.norm_a(h)
        g = self.add_b(y, h)
        z = self.norm_b(g)
        return z


class Model(nn.Cell):
    """Blocks in a list, as most models hold them, and a norm of its own at the end."""

    def __init__(self, blocks: int = 2, width: int = 64, inner: int = 160):
        super().__init__()
        self.blocks = nn.CellList([Block(width, inner) for _ in range(blocks)])
        self.add = ops.Add()
        self.norm = RMSNorm(width)

    def construct(self, x, residual):
        h = x
        for block in self.blocks:
            h = block(h, residual)
        z = self.add(h, residual)
        return self.norm(z)
