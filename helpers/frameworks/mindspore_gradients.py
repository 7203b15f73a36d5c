"""Gradients of the kernels as bprop functions of MindSpore: another kernel where there is one, else MindSpore's operators.

A bprop takes the inputs, the output and the gradient of the output, and returns the gradients of the inputs. The same
function serves PyNative and graph mode: it is parsed, so it is written in the part of Python that MindSpore compiles.
Formulas compute in float32 and round once. On the CPU MindSpore can do little more with bfloat16 than cast it, add and multiply.
"""
from __future__ import annotations

import mindspore as ms
from mindspore import ops

from .op import Op


def of(op: Op, attrs: dict, make):
    """The bprop of an operator. make("rms_norm_grad", eps=…) gives another operator of kernels/."""
    return _BUILDERS[op.name](make, **attrs)


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
        half = x.shape[-1] // 2
        wide, dy = x.astype(ms.float32), dout.astype(ms.float32)
        a, b, da, db = wide[:, :, :half], wide[:, :, half:], dy[:, :, :half], dy[:, :, half:]
        dcos, dsin = (da * a + db * b).sum(1), (db * a - da * b).sum(1)        # every head reads the same tables
        return turn(dout, cos, -sin), dcos.astype(cos.dtype), dsin.astype(sin.dtype)      # the first is turned back
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
        # (1 + tanh(u)) / 2; ops.tanh on the CPU is wrong by 1e-4
        s = ops.sigmoid(1.5957691216057308 * (wide + 0.044715 * wide * wide * wide))
        slope = s + wide * s * (1 - s) * 1.5957691216057308 * (1 + 3 * 0.044715 * wide * wide)
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


def _matmul(make):
    """Two products of float32, by the same kernel."""
    product = make("matmul")

    def bprop(a, b, out, dout):
        if 0 in a.shape:
            return ops.zeros_like(a), ops.zeros_like(b)    # MindSpore's products over no elements give what lay in memory
        dy, left, right = dout.astype(ms.float32), a.astype(ms.float32), b.astype(ms.float32)
        da = product(dy, right.swapaxes(0, 1))
        db = product(left.reshape((-1, a.shape[-1])).swapaxes(0, 1), dy.reshape((-1, b.shape[1])))
        return da.astype(a.dtype), db.astype(b.dtype)
    return bprop


def _attention(make, causal, scale):
    """From the probabilities, which are computed again. Heads of q that share one of k stand below each other, so they add up."""
    def bprop(q, k, v, out, dout):
        if 0 in q.shape:
            return ops.zeros_like(q), ops.zeros_like(k), ops.zeros_like(v)
        batch, kv_heads, keys, dim = k.shape
        queries, factor = q.shape[2], scale if scale else dim ** -0.5
        rows = q.shape[1] // kv_heads * queries
        query = q.astype(ms.float32).reshape((batch, kv_heads, rows, dim))
        dy = dout.astype(ms.float32).reshape((batch, kv_heads, rows, dim))
        key, value = k.astype(ms.float32), v.astype(ms.float32)
        scores = ops.matmul(query, key.swapaxes(-1, -2)) * factor
        if causal:
            hidden = ops.arange(keys) > (ops.arange(rows) % queries).reshape((-1, 1)) + (keys - queries)
            p = ops.softmax(ops.masked_fill(scores, hidden, -3e38), -1)
            p = ops.masked_fill(p, hidden, 0.0)            # a row that sees no key gives zeros
        else:
            p = ops.softmax(scores, -1)
        slope = ops.matmul(dy, value.swapaxes(-1, -2))
        slope = p * (slope - (slope * p).sum(-1, keepdims=True)) * factor
        dq, dk = ops.matmul(slope, key).reshape(q.shape), ops.matmul(slope.swapaxes(-1, -2), query)
        return dq.astype(q.dtype), dk.astype(k.dtype), ops.matmul(p.swapaxes(-1, -2), dy).astype(v.dtype)
    return bprop


def _fused_mha(make, heads, causal):
    def bprop(x, wq, wk, wv, wo, out, dout):
        raise NotImplementedError("fused_mha has no gradient, it is made for inference. Train through matmul for the projections and attention "
                                  "between them: both have one.")
    return bprop


def _rms_norm_grad(make, eps):
    def bprop(dy, x, gamma, out, dout):
        raise NotImplementedError("rms_norm_grad is a gradient and has none itself. For second derivatives write the norm with MindSpore's "
                                  "own operators.")
    return bprop


_BUILDERS = {"rms_norm": _rms_norm, "rms_norm_grad": _rms_norm_grad, "add_rms_norm": _add_rms_norm, "layer_norm": _layer_norm, "softmax": _softmax,
             "masked_softmax": _masked_softmax, "rope": _rope, "swiglu": _swiglu, "silu": _silu, "gelu": _gelu, "sinh": _sinh,
             "add": _add, "mul": _mul, "copy": _copy, "matmul": _matmul, "attention": _attention, "fused_mha": _fused_mha}
