"""Cells around our kernels, which take the place of a pattern.

Our kernels take tensors of one type that fit each other without broadcasting. A pattern is found in the text of a network,
where nothing has a shape yet; so each Cell looks at its tensors, and for those that no kernel takes it does what the
network did before. In a graph that is decided while it is compiled: one of the two ways is left.
"""
from __future__ import annotations

from functools import lru_cache
from math import prod

import mindspore as ms
from mindspore import nn, ops

from .. import launcher, mindspore as frontend, ops as catalogue
from ..mindspore_infer import name_of


@ms.constexpr
def takes(name, shapes, dtypes):
    """Is there a kernel for tensors of these shapes and types?"""
    return _takes(name, tuple(map(tuple, shapes)), tuple(map(name_of, dtypes)), ms.get_context("device_target"))


@lru_cache(maxsize=None)
def _takes(name, shapes, dtypes, device) -> bool:
    op = catalogue.find(name)
    try:
        op.check_dtypes(*dtypes)
        outputs = op.shapes(*shapes)
        if device == "CPU" and all(map(prod, outputs)):
            op.plan([launcher.placeholder(*t) for t in zip(dtypes, shapes)])       # and there is a tiling: rows may be too long
    except (TypeError, ValueError):
        return False
    return True


class AddRMSNorm(nn.Cell):
    """x + residual and its RMSNorm, in one kernel: two outputs."""

    def __init__(self, norm):
        super().__init__()
        self.norm = norm
        self.kernel = frontend.op("add_rms_norm", eps=norm.eps)

    def construct(self, x, residual):
        gamma = self.norm.gamma
        if takes("add_rms_norm", (x.shape, residual.shape, gamma.shape), (x.dtype, residual.dtype, gamma.dtype)):
            return self.kernel(x, residual, gamma)
        total = x + residual
        return self.norm(total), total


class SwiGLU(nn.Cell):
    """silu(gate) * up."""

    def __init__(self):
        super().__init__()
        self.kernel = frontend.op("swiglu")

    def construct(self, gate, up):
        if takes("swiglu", (gate.shape, up.shape), (gate.dtype, up.dtype)):
            return self.kernel(gate, up)
        return ops.silu(gate) * up


class Attention(nn.Cell):
    """softmax(scale q k^T) v."""

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale
        self.kernel = frontend.op("attention", scale=scale)
        self.scores, self.softmax, self.values = ops.BatchMatMul(transpose_b=True), ops.Softmax(-1), ops.BatchMatMul()

    def construct(self, q, k, v):
        if takes("attention", (q.shape, k.shape, v.shape), (q.dtype, k.dtype, v.dtype)):
            return self.kernel(q, k, v)
        return self.values(self.softmax(self.scores(q, k) * self.scale), v)
