"""The kernels of the course as operators: which arrays go in, which come out, and how such a kernel is launched.

    rms_norm = ops.find("rms_norm")
    y, = rms_norm(x, gamma, eps=1e-6)            # NumPy arrays
    rms_norm.plan([x, gamma], eps=1e-6)          # the same as a Plan: kernel, blocks, arguments; nothing runs

Frameworks ask an Op for shapes and plans, and know nothing about tiling. The tiling itself stays where the kernel is:
kernels/<name>/ladder.py.
"""
from __future__ import annotations

import numpy as np

from ..course import load
from .op import Op, Plan, Shapes

__all__ = ["CATALOGUE", "Op", "Plan", "find"]


# ---- shapes
def _same(*shapes) -> Shapes:
    if any(s != shapes[0] for s in shapes):
        raise ValueError(f"The tensors have different shapes: {', '.join(map(str, shapes))}.")
    return (tuple(shapes[0]),)


def _last(name: str, rows: tuple, *vectors: tuple) -> tuple[int, ...]:
    if not rows:
        raise ValueError(f"{name} works on rows: its first tensor has at least one dimension.")
    for v in vectors:
        if tuple(v) != (rows[-1],):
            raise ValueError(f"{name}: rows have {rows[-1]} elements, so weights have the shape ({rows[-1]},) and not {tuple(v)}.")
    return tuple(rows)


def _rope_shapes(x, cos, sin) -> Shapes:
    if len(x) != 3 or tuple(cos) != (x[0], x[2] // 2) or tuple(sin) != tuple(cos) or x[2] % 2:
        raise ValueError(f"rope: x has positions, heads and an even dim, cos and sin positions and dim / 2; here {tuple(x)}, {tuple(cos)}, {tuple(sin)}.")
    return (tuple(x),)


def _rows(array: np.ndarray) -> np.ndarray:
    """Rows and columns."""
    return array.reshape(-1, array.shape[-1])


# ---- formulas, in float64
def _rms_norm(x, gamma, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * gamma


def _rms_norm_grad(dy, x, gamma, eps):
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    normed, grown = x * scale, dy * gamma
    return scale * (grown - normed * (grown * normed).mean(-1, keepdims=True)), (dy * normed).reshape(-1, x.shape[-1]).sum(0)


def _layer_norm(x, gamma, beta, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps) * gamma + beta


def _softmax(x):
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


def _masked_softmax(x, mask):
    return _softmax(np.where(mask != 0, -np.inf, x))


def _rope(x, cos, sin):
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[:, None, :], sin[:, None, :]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def _gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def _attention(q, k, v, causal, scale):
    share, queries, keys = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    k, v = (np.repeat(a, share, axis=1) for a in (k, v))
    s = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if causal:
        s = np.where(np.arange(keys) > np.arange(queries)[:, None] + keys - queries, -np.inf, s)
    return _softmax(s) @ v


def _attention_shapes(q, k, v) -> Shapes:
    fits = len(q) == len(k) == 4 and tuple(k) == tuple(v) and q[0] == k[0] and q[3] == k[3]
    none = fits and [name for name, size in zip(("kv heads", "keys"), k[1:3]) if size == 0]
    if not fits or none or q[1] % k[1] != 0:
        why = f"{' and '.join(none)} may not be 0" if none else "heads is a multiple of kv heads"
        raise ValueError(f"attention: q is batch, heads, queries, dim; k and v are batch, kv heads, keys, dim, and {why}; here {tuple(q)}, {tuple(k)}, {tuple(v)}.")
    return (tuple(q),)


def _matmul_shapes(a, b) -> Shapes:
    if len(a) < 2 or len(b) != 2 or a[-1] != b[0]:
        raise ValueError(f"matmul: a ends with rows and K, b has K rows; here {tuple(a)}, {tuple(b)}.")
    if 0 in b:
        raise ValueError(f"matmul: {'K' if b[0] == 0 else 'the number of columns of b'} is 0, and the kernel needs at least 1; here {tuple(a)}, {tuple(b)}.")
    return ((*a[:-1], b[1]),)


def _call_matmul(ladder, kernel, inputs, outputs):
    return ladder.launch(kernel.version, _rows(inputs[0]), inputs[1], _rows(outputs[0]), kernel=kernel)


def _call_attention(ladder, kernel, inputs, outputs, causal, scale):
    return ladder.launch(kernel.version, *inputs, *outputs, causal=causal, scale=scale or None, kernel=kernel)


def _mha(x, wq, wk, wv, wo, heads, causal):
    return load("fused_mha", "ladder").oracle(x, (wq, wk, wv, wo), None, heads, causal=causal)


def _mha_shapes(x, *weights) -> Shapes:
    if len(x) != 3 or any(tuple(w) != (x[2], x[2]) for w in weights):
        raise ValueError(f"fused_mha: x has batch, tokens and hidden, every weight hidden and hidden; here {', '.join(str(tuple(t)) for t in (x, *weights))}.")
    return (tuple(x),)


def _call_mha(ladder, kernel, inputs, outputs, heads, causal):
    return ladder.launch(inputs[0], inputs[1:], None, outputs[0], heads, causal=causal, kernel=kernel)


# ---- the catalogue
def _plain(ladder, kernel, inputs, outputs, **attrs):
    """Every element for itself: the ladder counts elements."""
    return ladder.launch(kernel.version, *inputs, *outputs, kernel=kernel, **attrs)


def _by_rows(ladder, kernel, inputs, outputs, **attrs):
    """Rows of whatever lies in front of the last dimension."""
    arrays = [_rows(a) if a.ndim != 1 or a.shape == inputs[0].shape else a for a in (*inputs, *outputs)]
    return ladder.launch(kernel.version, *arrays, kernel=kernel, **attrs)


def _numbered(number: int):
    return lambda ladder, inputs: ladder.VERSIONS[number]


def _named(name: str):
    return lambda ladder, inputs: getattr(ladder, name)


def _fitting(number_or_name, long: str):
    """The version for rows that fit UB, or the one for long rows."""
    def pick(ladder, inputs):
        version = ladder.VERSIONS[number_or_name] if isinstance(number_or_name, int) else getattr(ladder, number_or_name)
        length, size = inputs[0].shape[-1], inputs[0].itemsize
        fits = ladder.rows_that_fit(version, length, size) if hasattr(ladder, "rows_that_fit") else ladder.tile_rows(version, 1, length, size)
        return version if fits >= 1 else getattr(ladder, long)
    return pick


_EPS = {"eps": 1e-6}
_ROWS_AND_WEIGHT = dict(folder="rms_norm", attrs=_EPS, call=_by_rows)
CATALOGUE = {op.name: op for op in (
    Op("add", "x + y", "add", ("x", "y"), ("z",), _same, _plain, _named("FINISHED"), lambda x, y: x + y),
    Op("attention", "softmax(scale q k^T) v, head by head; scale 0 means 1 / sqrt(dim)", "attention", ("q", "k", "v"), ("o",), _attention_shapes, _call_attention,
       _numbered(1), _attention, attrs={"causal": False, "scale": 0.0}),
    Op("copy", "x", "copy", ("x",), ("y",), _same, _plain, _numbered(-1), lambda x: x),
    Op("fused_mha", "attention with its projections: heads of x wq, x wk and x wv, and then wo", "fused_mha", ("x", "wq", "wk", "wv", "wo"), ("y",), _mha_shapes,
       _call_mha, _named("FUSED"), _mha, attrs={"heads": 8, "causal": False}),
    Op("gelu", "GELU, tanh form", "gelu", ("x",), ("y",), _same, _plain, _numbered(-1), _gelu),
    Op("layer_norm", "layer norm of the last dimension", "layer_norm", ("x", "gamma", "beta"), ("y",),
       lambda x, gamma, beta: (_last("layer_norm", x, gamma, beta),), _by_rows, _fitting(-1, "LONG"), _layer_norm, attrs={"eps": 1e-5}),
    Op("matmul", "a b, added up and returned in float32", "matmul", ("a", "b"), ("c",), _matmul_shapes, _call_matmul, _numbered(-1), lambda a, b: a @ b,
       fixed={"c": "float32"}),
    Op("rms_norm", "RMS norm of the last dimension", inputs=("x", "gamma"), outputs=("y",), version=_fitting(4, "LONG"), reference=_rms_norm,
       shapes=lambda x, gamma: (_last("rms_norm", x, gamma),), **_ROWS_AND_WEIGHT),
    Op("add_rms_norm", "RMS norm of x + residual, and the sum", inputs=("x", "residual", "gamma"), outputs=("y", "sum"), version=_numbered(5),
       shapes=lambda x, residual, gamma: _same(x, residual) + (_last("add_rms_norm", x, gamma),),
       reference=lambda x, residual, gamma, eps: (_rms_norm(x + residual, gamma, eps), x + residual), **_ROWS_AND_WEIGHT),
    Op("rms_norm_grad", "gradients of rms_norm", inputs=("dy", "x", "gamma"), outputs=("dx", "dgamma"), version=_fitting("GRAD", "GRAD_LONG"),
       shapes=lambda dy, x, gamma: _same(_last("rms_norm_grad", x, gamma), dy) + ((x[-1],),), reference=_rms_norm_grad,
       fixed={"dgamma": "float32"}, zeroed=("dgamma",), **_ROWS_AND_WEIGHT),
    Op("rope", "rotary position embedding, halves of a row", "rope", ("x", "cos", "sin"), ("y",), _rope_shapes, _plain, _numbered(0), _rope),
    Op("sinh", "sinh(x)", "sinh", ("x",), ("y",), _same, _plain, _numbered(-1), np.sinh),
    Op("softmax", "softmax of the last dimension", "softmax", ("x",), ("y",), lambda x: (_last("softmax", x),), _by_rows, _fitting(1, "LONG"), _softmax),
    Op("masked_softmax", "softmax where mask is 0", "softmax", ("x", "mask"), ("y",), lambda x, mask: _same(_last("masked_softmax", x), mask), _by_rows,
       _named("MASKED"), _masked_softmax, fixed={"mask": "uint8"}),
    Op("silu", "x / (1 + exp(-x))", "swiglu", ("x",), ("y",), _same, _plain, _named("SILU"), lambda x: x / (1 + np.exp(-x))),
    Op("mul", "a * b", "swiglu", ("a", "b"), ("y",), _same, _plain, _named("MUL"), lambda a, b: a * b),
    Op("swiglu", "silu(gate) * up", "swiglu", ("gate", "up"), ("y",), _same, _plain, _named("FUSED"), lambda gate, up: gate / (1 + np.exp(-gate)) * up),
)}


def find(name: str) -> Op:
    """The operator of that name."""
    if name not in CATALOGUE:
        raise ValueError(f"There is no operator {name}. Here are {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]
