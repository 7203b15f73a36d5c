"""Gradients of the kernels as bprop functions of MindSpore: another kernel where there is one, else MindSpore's operators.

A bprop takes the inputs, the output and the gradient of the output, and returns the gradients of the inputs. The same
function serves PyNative and graph mode: it is parsed, so it is written in the part of Python that MindSpore compiles.
"""
from __future__ import annotations

import mindspore as ms
from mindspore import ops

from .ops import Op


def of(op: Op, attrs: dict, make):
    """The bprop of an operator, or None. make("rms_norm_grad", eps=…) gives another operator of kernels/."""
    builder = _BUILDERS.get(op.name)
    return builder(make, **attrs) if builder else None


def _rms_norm(make, eps):
    grad = make("rms_norm_grad", eps=eps)

    def bprop(x, gamma, out, dout):
        dx, dgamma = grad(dout, x, gamma)
        return dx, dgamma.astype(gamma.dtype)
    return bprop


def _add_rms_norm(make, eps):
    grad = make("rms_norm_grad", eps=eps)

    def bprop(x, residual, gamma, out, dout):
        dx, dgamma = grad(dout[0], out[1], gamma)
        dx = dx + dout[1]
        return dx, dx, dgamma.astype(gamma.dtype)
    return bprop


def _layer_norm(make, eps):
    def bprop(x, gamma, beta, out, dout):
        wide, dy = x.astype(ms.float32), dout.astype(ms.float32)
        centred = wide - wide.mean(-1, True)
        scale = ops.rsqrt((centred * centred).mean(-1, True) + eps)
        normed, grown = centred * scale, dy * gamma.astype(ms.float32)
        dx = scale * (grown - grown.mean(-1, True) - normed * (grown * normed).mean(-1, True))
        width = x.shape[-1]
        dgamma, dbeta = (dy * normed).reshape((-1, width)).sum(0), dy.reshape((-1, width)).sum(0)
        return dx.astype(x.dtype), dgamma.astype(gamma.dtype), dbeta.astype(beta.dtype)
    return bprop


def _softmax(make):
    def bprop(x, out, dout):
        y, dy = out.astype(ms.float32), dout.astype(ms.float32)
        return ((dy - (dy * y).sum(-1, keepdims=True)) * y).astype(x.dtype),
    return bprop


def _masked_softmax(make):
    def bprop(x, mask, out, dout):
        y, dy = out.astype(ms.float32), dout.astype(ms.float32)
        return ((dy - (dy * y).sum(-1, keepdims=True)) * y).astype(x.dtype), ops.zeros_like(mask)
    return bprop


def _rope(make):
    turn = make("rope")

    def bprop(x, cos, sin, out, dout):
        return turn(dout, cos, -sin), ops.zeros_like(cos), ops.zeros_like(sin)      # turned back; the tables are constants
    return bprop


def _swiglu(make):
    def bprop(gate, up, out, dout):
        g, u, dy = gate.astype(ms.float32), up.astype(ms.float32), dout.astype(ms.float32)
        s = ops.sigmoid(g)
        return (dy * u * s * (1 + g * (1 - s))).astype(gate.dtype), (dy * g * s).astype(up.dtype)
    return bprop


def _silu(make):
    def bprop(x, out, dout):
        wide = x.astype(ms.float32)
        s = ops.sigmoid(wide)
        return (dout.astype(ms.float32) * s * (1 + wide * (1 - s))).astype(x.dtype),
    return bprop


def _gelu(make):
    def bprop(x, out, dout):
        wide = x.astype(ms.float32)
        inner = 0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)
        t = ops.tanh(inner)
        slope = 0.5 * (1 + t) + 0.5 * wide * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * wide * wide)
        return (dout.astype(ms.float32) * slope).astype(x.dtype),
    return bprop


def _sinh(make):
    def bprop(x, out, dout):
        return (dout.astype(ms.float32) * ops.cosh(x.astype(ms.float32))).astype(x.dtype),
    return bprop


def _add(make):
    def bprop(x, y, out, dout):
        return dout, dout
    return bprop


def _mul(make):
    def bprop(a, b, out, dout):
        return dout * b, dout * a
    return bprop


def _copy(make):
    def bprop(x, out, dout):
        return dout,
    return bprop


_BUILDERS = {"rms_norm": _rms_norm, "add_rms_norm": _add_rms_norm, "layer_norm": _layer_norm, "softmax": _softmax,
             "masked_softmax": _masked_softmax, "rope": _rope, "swiglu": _swiglu, "silu": _silu, "gelu": _gelu, "sinh": _sinh,
             "add": _add, "mul": _mul, "copy": _copy}
