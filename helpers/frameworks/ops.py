"""The kernels of the course as operators: which arrays go in, which come out, and how such a kernel is launched.

    rms_norm = ops.find("rms_norm")
    y, = rms_norm(x, gamma, eps=1e-6)            # NumPy arrays
    rms_norm.plan([x, gamma], eps=1e-6)          # the same as a Plan: kernel, blocks, arguments; nothing runs

Frameworks ask an Op for shapes and plans, and know nothing about tiling. The tiling itself stays where the kernel is:
kernels/<name>/ladder.py.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from inspect import signature
from numbers import Integral, Real
from typing import Any, Callable

import numpy as np

from ..course import load
from ..errors import counted, listed
from ..kernel import Kernel

FLOATS = ("float32", "float16", "bfloat16")
Shapes = tuple[tuple[int, ...], ...]
_KINDS = {      # of an attribute, by its default: its name, and what may be given
    bool: ("truth value", lambda v: isinstance(v, (bool, np.bool_)) or isinstance(v, Integral) and v in (0, 1)),
    int: ("whole number", lambda v: isinstance(v, Integral) and not isinstance(v, bool)),
    float: ("number", lambda v: isinstance(v, Real) and not isinstance(v, bool)),
}


@dataclass(frozen=True)
class Plan:
    """One launch: what a ladder passes to its kernel."""
    kernel: Kernel
    blocks: int
    args: tuple                    # in the order of the kernel's parameters; tensors are the arrays of the call
    arrays: tuple[np.ndarray, ...]  # inputs, then outputs
    zeroed: tuple[int, ...] = ()   # of the arrays: those that the kernel adds to


@dataclass(frozen=True)
class Op:
    """One operator of the catalogue."""
    name: str
    title: str
    folder: str                                     # kernels/<folder>/ladder.py
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: Callable[..., Shapes]                   # shapes of the inputs -> shapes of the outputs; ValueError when they do not fit
    call: Callable[..., Any]                        # (ladder, kernel, inputs, outputs, **attrs) -> what the ladder's launch returns
    version: Callable[..., Any]                     # (ladder, inputs) -> the version of the ladder for these shapes
    reference: Callable[..., Any]                   # arrays in float64 -> outputs in float64
    dtypes: tuple[str, ...] = FLOATS
    attrs: dict[str, Any] = field(default_factory=dict)         # with their defaults
    fixed: dict[str, str] = field(default_factory=dict)         # tensors whose dtype does not follow the first input
    zeroed: tuple[str, ...] = ()                    # outputs that the kernel adds to

    def __call__(self, *arrays: np.ndarray, **attrs) -> tuple[np.ndarray, ...]:
        """The outputs for these inputs, computed on the twin."""
        self.check(arrays)
        outputs = self.empty(*arrays)
        if any(o.size for o in outputs):
            self.launch(arrays, outputs, **attrs)
        return outputs

    def launch(self, inputs, outputs, **given):
        """Runs the kernel and returns its Run; given: attributes of the operator, and checks=, timeout=, … of a launch."""
        options = {k: given.pop(k) for k in ("checks", "schedule", "seed", "timeout", "memory_mb") if k in given}
        plan = self.plan(inputs, outputs, **given)
        return plan.kernel.launch(plan.blocks, plan.args, **options)

    def plan(self, inputs, outputs=None, *, chip: str | None = None, **attrs) -> Plan:
        """How the kernel is launched for these arrays; their contents do not matter, and outputs may be left out."""
        attrs, inputs = self.values(attrs), tuple(inputs)
        self.check(inputs)
        outputs = self.empty(*inputs) if outputs is None else tuple(outputs)
        if not any(o.size for o in outputs):
            raise ValueError(f"{self.name}: its outputs have no element ({listed(o.shape for o in outputs)}), so there is nothing to launch.")
        ladder = load(self.folder, "ladder")
        recorder = _Recorder(self.version(ladder, inputs), inputs[0].dtype, ladder, chip)
        self.call(ladder, recorder, inputs, outputs, **attrs)
        blocks, args = recorder.seen
        zeroed = tuple(len(inputs) + self.outputs.index(name) for name in self.zeroed)
        return Plan(recorder.kernel, blocks, args, inputs + outputs, zeroed)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """All attributes, the given ones in the type of their default; TypeError when one is unknown or of another kind."""
        for name, value in given.items():
            if name not in self.attrs:
                raise TypeError(f"{self.name} has no attribute {name}; it has {', '.join(self.attrs) or 'none'}.")
            words, fits = _KINDS[type(self.attrs[name])]
            if not fits(value):
                raise TypeError(f"{name}={value!r} of {self.name} is no {words}; its default is {self.attrs[name]!r}.")
        return {name: type(default)(given.get(name, default)) for name, default in self.attrs.items()}

    def count(self, number: int) -> None:
        """TypeError when this is not the number of its inputs."""
        if number != len(self.inputs):
            raise TypeError(f"{self.name} takes {', '.join(self.inputs)}; {counted(number, 'tensor')} {'was' if number == 1 else 'were'} given.")

    def empty(self, *inputs: np.ndarray) -> tuple[np.ndarray, ...]:
        """Outputs of the right shape and type, zero where the kernel adds."""
        shapes = self.shapes(*(a.shape for a in inputs))
        return tuple((np.zeros if name in self.zeroed else np.empty)(shape, self.fixed.get(name, inputs[0].dtype))
                     for name, shape in zip(self.outputs, shapes))

    def out_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """NumPy names of the outputs' types."""
        return tuple(self.fixed.get(name, dtypes[0]) for name in self.outputs)

    def check(self, inputs) -> None:
        """ValueError or TypeError in words when this operator does not take these inputs."""
        self.count(len(inputs))
        for name, array in zip(self.inputs, inputs):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{name} of {self.name} is a {type(array).__name__}, and this reads arrays of NumPy: np.asarray({name}). "
                                "Tensors of a framework have operators of their own, such as helpers.frameworks.torch.op.")
        self.check_dtypes(*(str(a.dtype) for a in inputs))
        self.shapes(*(a.shape for a in inputs))

    def check_dtypes(self, *dtypes: str) -> None:
        """TypeError when a tensor has a type that the kernel does not read."""
        if dtypes[0] not in self.dtypes:
            raise TypeError(f"{self.inputs[0]} is {dtypes[0]}; {self.name} exists for {listed(self.dtypes)}. Cast it first.")
        for name, dtype in zip(self.inputs, dtypes):
            wanted = self.fixed.get(name, dtypes[0])
            if dtype != wanted:
                raise TypeError(f"{name} is {dtype} and {self.inputs[0]} is {dtypes[0]}; {self.name} reads {name} as {wanted}. Cast it first.")


class _Recorder:
    """Stands in for a kernel: notes how a ladder launches it instead of running it."""

    def __init__(self, version, dtype, ladder, chip):
        self.kernel, self.version, self.seen = _kernel(ladder, version, str(dtype), chip), version, None
        self.name = self.kernel.name

    def launch(self, blocks: int, args, **_):
        self.seen = blocks, tuple(args)


@lru_cache(maxsize=None)
def _kernel(ladder, version, dtype: str, chip: str | None) -> Kernel:
    options: dict[str, Any] = {"chip": chip} if chip else {}
    if "dtype" in signature(ladder.compile).parameters:        # some exist for one type only
        options["dtype"] = np.dtype(dtype)
    return ladder.compile(version, **options)


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
