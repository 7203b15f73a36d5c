"""Gradients of the kernels of the course for torch: by a kernel where there is one, by a formula elsewhere.

A formula computes in float32 and rounds once, as the kernels do. ctx is that of torch_op: saved_tensors holds inputs
and outputs, numbers the attributes.
"""
from __future__ import annotations

import torch

from . import torch as workbook

ROOT_2_OVER_PI = 0.7978845608028654


def _float(*tensors):
    return (t.float() for t in tensors)


def _row_sum(tensor, width: int):
    return tensor.reshape(-1, width).sum(0)


def _add(ctx, grad):
    return grad.clone(), grad.clone()


def _copy(ctx, grad):
    return grad.clone()


def _mul(ctx, grad):
    a, b, _ = ctx.saved_tensors
    mul = workbook.op("mul")
    return mul(grad, b), mul(grad, a)


def _silu_slope(x):
    s = torch.sigmoid(x)
    return s * (1 + x * (1 - s))


def _silu(ctx, grad):
    x, _ = ctx.saved_tensors
    return (grad.float() * _silu_slope(x.float())).to(x.dtype)


def _swiglu(ctx, grad):
    gate, up, _ = ctx.saved_tensors
    g, u, d = _float(gate, up, grad)
    return (d * u * _silu_slope(g)).to(gate.dtype), workbook.op("swiglu")(gate, grad)      # silu(gate) * grad


def _rope(ctx, grad):
    """A turn back is a turn by the negative angle: the same kernel. Of the tables, which every head reads: a sum over heads."""
    x, cos, sin, _ = ctx.saved_tensors
    dx, dcos, dsin = workbook.op("rope")(grad, cos, -sin), None, None
    if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
        (a, b), (da, db) = (t.chunk(2, -1) for t in _float(x, grad))
        dcos, dsin = (da * a + db * b).sum(1).to(cos.dtype), (db * a - da * b).sum(1).to(sin.dtype)
    return dx, dcos, dsin


def _softmax(ctx, grad):
    y, d = _float(ctx.saved_tensors[-1], grad)
    return (y * (d - (d * y).sum(-1, keepdim=True))).to(grad.dtype)


def _sinh(ctx, grad):
    x, _ = ctx.saved_tensors
    return (grad.float() * torch.cosh(x.float())).to(x.dtype)


def _gelu(ctx, grad):
    x, d = _float(ctx.saved_tensors[0], grad)
    t = torch.tanh(ROOT_2_OVER_PI * (x + 0.044715 * x ** 3))
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)
    return (d * slope).to(grad.dtype)


def _layer_norm(ctx, grad):
    x, gamma, beta, _ = ctx.saved_tensors
    wide, weight, d = _float(x, gamma, grad)
    centred = wide - wide.mean(-1, keepdim=True)
    scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + ctx.numbers["eps"])
    normed, grown = centred * scale, d * weight
    dx = scale * (grown - grown.mean(-1, keepdim=True) - normed * (grown * normed).mean(-1, keepdim=True))
    return dx.to(x.dtype), _row_sum(d * normed, x.shape[-1]).to(gamma.dtype), _row_sum(d, x.shape[-1]).to(beta.dtype)


def _rms_norm(ctx, grad):
    x, gamma, _ = ctx.saved_tensors
    dx, dgamma = workbook.op("rms_norm_grad")(grad, x, gamma, ctx.numbers["eps"])
    return dx, dgamma.to(gamma.dtype)


def _add_rms_norm(ctx, grad, grad_sum):
    _, _, gamma, _, total = ctx.saved_tensors
    dx, dgamma = workbook.op("rms_norm_grad")(grad, total, gamma, ctx.numbers["eps"])
    both = dx + grad_sum
    return both, both.clone(), dgamma.to(gamma.dtype)


def _matmul(ctx, grad):
    """Two products of float32, by the same kernel."""
    a, b, _ = ctx.saved_tensors
    if 0 in a.shape:
        return torch.zeros_like(a), torch.zeros_like(b)              # sums over no rows, which the kernel does not take
    matmul, wide = workbook.op("matmul"), grad.float()
    da = matmul(wide, b.float().t().contiguous())
    db = matmul(a.float().reshape(-1, a.shape[-1]).t().contiguous(), wide.reshape(-1, b.shape[1]))
    return da.to(a.dtype), db.to(b.dtype)


def _attention(ctx, grad):
    """From the probabilities, which are computed again; heads of q that share a head of k and v add up."""
    q, k, v, _ = ctx.saved_tensors
    share, scale = q.shape[1] // k.shape[1], ctx.numbers["scale"] or q.shape[-1] ** -0.5
    query, key, value, d = _float(q, k.repeat_interleave(share, 1), v.repeat_interleave(share, 1), grad)
    scores = query @ key.transpose(-1, -2) * scale
    if ctx.numbers["causal"]:
        row, column = (torch.arange(n, device=q.device) for n in scores.shape[-2:])
        scores = scores.masked_fill(column > row[:, None] + scores.shape[-1] - scores.shape[-2], -torch.inf)
    p = torch.nan_to_num(torch.softmax(scores, -1))                  # a row that sees no key gives zeros
    slope = d @ value.transpose(-1, -2)
    slope = p * (slope - (slope * p).sum(-1, keepdim=True)) * scale

    def shared(t):
        return t.reshape(k.shape[0], k.shape[1], share, *k.shape[2:]).sum(2).to(k.dtype)

    return (slope @ key).to(q.dtype), shared(slope.transpose(-1, -2) @ query), shared(p.transpose(-1, -2) @ d)


BACKWARD = {"attention": _attention, "matmul": _matmul, "add": _add, "copy": _copy, "mul": _mul, "silu": _silu, "swiglu": _swiglu, "rope": _rope, "softmax": _softmax, "masked_softmax": _softmax,
            "sinh": _sinh, "gelu": _gelu, "layer_norm": _layer_norm, "rms_norm": _rms_norm, "add_rms_norm": _add_rms_norm}
