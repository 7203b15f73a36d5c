"""What vector instructions compute, in NumPy: every step rounded to the element type, special values by the documented rules."""

from __future__ import annotations

import numpy as np

NAN_CLASSES = {np.dtype(np.float16): np.uint16, np.dtype(np.float32): np.uint32}


def same_bits(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Element-wise equality of bits; any NaN equals any NaN."""
    a, e = np.ascontiguousarray(actual), np.ascontiguousarray(expected)
    assert a.dtype == e.dtype, (a.dtype, e.dtype)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    same = a.view(bits) == e.view(bits)
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(e)
    return same


def assert_same(actual, expected, what="", *inputs):
    ok = same_bits(actual, expected)
    if not ok.all():
        i = int(np.flatnonzero(~ok)[0])
        given = ", ".join(repr(v.flat[i]) for v in inputs if np.size(v) == np.size(actual))
        raise AssertionError(f"{what}: {np.count_nonzero(~ok)} of {ok.size} differ; first at {i}: got {actual.flat[i]!r}, expected {expected.flat[i]!r} from ({given})")


def _wide(f):
    """half through float, one rounding at the end; float as it is."""

    def g(*args):
        t = args[0].dtype
        return f(*(np.asarray(a, t).astype(np.float32) for a in args)).astype(t)

    return g


def _double(f):
    def g(x):
        return f(x.astype(np.float64)).astype(x.dtype)

    return g


def _pick(larger: bool):
    def g(a, b):
        b = np.broadcast_to(np.asarray(b, a.dtype), a.shape)
        m = np.where(a > b, a, b) if larger else np.where(a < b, a, b)
        if a.dtype.kind == "f":
            both_zero = (a == 0) & (b == 0)
            negative = np.signbit(a) & np.signbit(b) if larger else np.signbit(a) | np.signbit(b)
            zero = np.where(negative, -np.zeros_like(a), np.zeros_like(a))
            m = np.where(both_zero, zero, m)
            m = np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), m)
        return m.astype(a.dtype)

    return g


def relu(x):
    return np.where(x > 0, x, np.where(np.isnan(x) if x.dtype.kind == "f" else False, x, x.dtype.type(0))).astype(x.dtype)


def leaky(x, s):
    return np.where(np.signbit(x), mul(x, s), x)


def sqrt_or_nan(x):
    return np.sqrt(x)


add, sub, mul, div = (_wide(f) for f in (np.add, np.subtract, np.multiply, np.divide))


def wrapping(f, exact):
    """Integer types wrap, float types round."""

    def g(a, b):
        if a.dtype.kind == "f":
            return f(a, b)
        return exact(a.astype(np.int64), np.asarray(b, a.dtype).astype(np.int64)).astype(a.dtype)

    return g


Add, Sub, Mul = wrapping(add, np.add), wrapping(sub, np.subtract), wrapping(mul, np.multiply)

UNARY = {
    "Exp": _double(np.exp), "Ln": _double(np.log), "Sqrt": _wide(sqrt_or_nan), "Rsqrt": _double(lambda x: 1 / np.sqrt(x)),
    "Reciprocal": _double(lambda x: 1 / x), "Abs": np.abs, "Relu": relu, "Not": np.invert,
}
BINARY = {
    "Add": Add, "Sub": Sub, "Mul": Mul, "Div": div, "Max": _pick(True), "Min": _pick(False), "And": np.bitwise_and, "Or": np.bitwise_or,
    "AddRelu": lambda a, b: relu(Add(a, b)), "SubRelu": lambda a, b: relu(Sub(a, b)),
}
# f(src0, src1, old dst)
TERNARY = {
    "MulAddDst": lambda a, b, d: add(mul(a, b), d),
    "FusedMulAdd": lambda a, b, d: add(mul(a, d), b),
    "FusedMulAddRelu": lambda a, b, d: relu(add(mul(a, d), b)),
}
SCALAR = {"Adds": Add, "Muls": Mul, "Maxs": _pick(True), "Mins": _pick(False), "LeakyRelu": leaky}


def shift_left(x, s):
    bits = 8 * x.dtype.itemsize
    u = x.view(np.dtype(f"u{x.dtype.itemsize}")).astype(np.uint64)
    moved = np.zeros_like(u) if s >= bits else (u << np.uint64(s)) & np.uint64((1 << bits) - 1)
    if x.dtype.kind == "i":
        sign = np.uint64(1 << (bits - 1))
        moved = (moved & ~sign) | (u & sign)
    return moved.astype(np.dtype(f"u{x.dtype.itemsize}")).view(x.dtype)


def shift_right(x, s, round_en=False):
    v = x.astype(np.int64)
    r = v >> s
    if round_en and x.dtype.kind == "i" and s > 0:
        r = r + ((v >> (s - 1)) & 1)
    return r.astype(x.dtype)


# ===== Cast
NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)


def integral(v: np.ndarray, mode: int) -> np.ndarray:
    v = v.astype(np.float64)
    if mode in (NONE, RINT):
        return np.rint(v)
    if mode == FLOOR:
        return np.floor(v)
    if mode == CEIL:
        return np.ceil(v)
    if mode == TRUNC:
        return np.trunc(v)
    return np.trunc(v) + np.where(np.abs(v - np.trunc(v)) >= 0.5, np.copysign(1.0, v), 0.0)


def clamp_to(v: np.ndarray, lo: int, hi: int, dtype) -> np.ndarray:
    out = np.zeros(v.shape, object)
    for i, x in enumerate(v.tolist()):
        out[i] = 0 if x != x else hi if x >= hi else lo if x <= lo else int(x)
    return np.array(out.tolist(), dtype=dtype)


def to_integer(x, dtype, mode):
    info = np.iinfo(dtype)
    return clamp_to(integral(x, mode), info.min, info.max, dtype)


def round_to_grid(v: float, step: float, mode: int) -> float:
    """v to a multiple of step (both exact in double)."""
    q = v / step
    if mode == ODD:
        t = float(np.trunc(q))
        if t != q and int(abs(t)) % 2 == 0:
            t += np.copysign(1.0, q)
        return t * step
    return float(integral(np.array([q]), mode)[0]) * step


def to_small_float(x: np.ndarray, mantissa: int, min_exp: int, max_value: float, mode: int) -> np.ndarray:
    """Exact-by-construction rounding of floats to a type with `mantissa` explicit bits; result in float64, overflow = inf."""
    out = np.empty(x.shape, np.float64)
    for i, v in enumerate(x.astype(np.float64).tolist()):
        if v != v or v in (np.inf, -np.inf):
            out[i] = v
            continue
        if v == 0:
            out[i] = v
            continue
        e = max(int(np.floor(np.log2(abs(v)))), min_exp)
        if 2.0**e > abs(v) and e > min_exp:
            e -= 1
        r = round_to_grid(v, 2.0 ** (e - mantissa), mode)
        out[i] = np.copysign(np.inf, v) if abs(r) > max_value else np.copysign(r, v)
    return out


def to_half(x, mode):
    return to_small_float(x, 10, -14, 65504.0, mode).astype(np.float16)


def to_bf16_bits(x, mode):
    f = to_small_float(x, 7, -126, float(np.array([0x7F7F0000], np.uint32).view(np.float32)[0]), mode).astype(np.float32)
    return (f.view(np.uint32) >> 16).astype(np.uint16)


def int_to_float(x, mode):
    """Integers to float: exact value, rounded to 24 bits."""
    out = np.empty(x.shape, np.float32)
    for i, v in enumerate(int(a) for a in x):
        n = max(abs(v).bit_length() - 24, 0)
        q, rest = divmod(abs(v), 1 << n)
        half = (1 << n) >> 1
        up = {NONE: rest > half or (rest == half and q & 1), RINT: rest > half or (rest == half and q & 1), FLOOR: v < 0 and rest, CEIL: v > 0 and rest,
              ROUND: rest >= half and rest, TRUNC: False}[mode] if n else False
        m = (q + bool(up)) << n
        out[i] = np.float32(float(-m if v < 0 else m))
    return out


# ===== Addresses
def lane_index(repeats: int, lanes: int, per_block: int, blk: int, rep: int) -> np.ndarray:
    """index(r, l) = (r*rep + (l / E)*blk)*E + l % E, shape (repeats, lanes)."""
    r = np.arange(repeats)[:, None]
    lane = np.arange(lanes)[None, :]
    return (r * rep + lane // per_block * blk) * per_block + lane % per_block
