"""Host tiling of matrix multiplication: the classes of CANN's host side, by the same names.

    t = hp.host.MultiCoreMatmulTiling("Ascend910B1")
    t.SetDim(24)
    t.SetAType("GM", "ND", "half"); t.SetBType("GM", "ND", "half"); t.SetCType("GM", "ND", "float")
    t.SetShape(1024, 1024, 1024)
    tiling = t.GetTiling()                      # TCubeTiling; says why when nothing fits
    t.GetCoreNum(), t.GetSingleShape()          # (cores, parts of M, parts of N), (M, N, K of one core)

Or in one line: hp.host.matmul_tiling(1024, 1024, 1024, cores=24).
"""
from __future__ import annotations

import ctypes as c
import operator
from functools import lru_cache

from ..chips import chip as profile
from .common import HostError, library, struct, type_name

_TYPES = {"float16": 1, "bfloat16": 2, "float32": 3, "int8": 5, "uint8": 6, "int32": 9, "int4": 13}    # DType of the twin
_SPELLINGS = {"int8_t": "int8", "uint8_t": "uint8", "int32_t": "int32", "int4b_t": "int4", "int4": "int4"}
POSITIONS = ("GM", "VECIN", "VECOUT", "VECCALC", "TSCM", "CO1")
FORMATS = ("ND", "NZ", "ND_ALIGN", "SCALAR", "VECTOR")
TRAVERSE = {"NOSET": 0, "FIRSTM": 1, "FIRSTN": 2}

_ONE = ("kind", "m", "n", "k", "org_m", "org_n", "org_ka", "org_kb", "a", "b", "c", "bias_type", "trans_a", "trans_b", "nz_a", "nz_b", "nz_c", "vector_a",
        "bias", "dim", "split_k", "single_m", "single_n", "single_k", "most_m", "most_n", "most_k", "least_m", "least_n", "least_k", "align_m", "align_n", "align_k",
        "base_m", "base_n", "base_k", "l1", "l0a", "l0b", "l0c", "bt", "traverse", "mdl")
_ZERO = {"kind", "a", "b", "c", "bias_type", "trans_a", "trans_b", "nz_a", "nz_b", "nz_c", "vector_a", "bias", "split_k", "traverse"}


class _Ask(c.Structure):
    """MatmulAsk of the twin."""
    _fields_ = [(name, c.c_int32) for name in _ONE] + [(f"layout_{x}", c.c_int32 * 5) for x in "abc"] + [("batch", c.c_int32)]


class _Split(c.Structure):
    _fields_ = [(axis, c.c_int32) for axis in "mnk"]


@lru_cache(maxsize=1)
def _function():
    function = library().tw_matmul_tiling
    function.argtypes, function.restype = [c.POINTER(_Ask), c.c_void_p, c.POINTER(_Split), c.c_char_p, c.c_size_t], c.c_int
    return function


def _whole(what: str, value) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise HostError(f"{what} is a whole number, not {value!r}.") from None
    if not -1 <= number < 2**31:
        raise HostError(f"{what}={number} is outside -1..{2**31 - 1}.")
    return number


class _Tiling:
    """What the three classes share. Setters may come in any order before GetTiling."""
    _kind = 0

    def __init__(self, chip="Ascend910B1"):
        self.chip = profile(chip)
        self._ask = _Ask(*((0 if name in _ZERO else 1 if name in ("dim", "mdl") else -1) for name in _ONE))
        self._ask.kind, self._split, self._made = self._kind, _Split(1, 1, 1), None
        for memory in ("l1", "l0a", "l0b", "l0c", "bt"):
            setattr(self._ask, memory, int(getattr(self.chip, f"{memory}_bytes")))

    def _put(self, api: str, **values) -> None:
        for name, value in values.items():
            setattr(self._ask, name, _whole(f"{api}: {name}", value))

    def _operand(self, which: str, pos, format, dtype, trans=False) -> None:
        api = f"Set{which.capitalize() if which == 'bias' else which.upper()}Type"
        name = dtype if isinstance(dtype, str) and dtype in _SPELLINGS else type_name(dtype)
        name = _SPELLINGS.get(name, name)
        if name not in _TYPES:
            raise HostError(f"{api}: {name} is no type of a matrix; use {', '.join(_TYPES)}.")
        if pos not in POSITIONS or format not in FORMATS:
            raise HostError(f"{api}: positions are {', '.join(POSITIONS)}; formats are {', '.join(FORMATS)}; given were {pos!r} and {format!r}.")
        if which == "bias":
            self._ask.bias_type = _TYPES[name]
            return
        setattr(self._ask, which, _TYPES[name])
        setattr(self._ask, f"nz_{which}", int(format == "NZ"))
        if which != "c":
            setattr(self._ask, f"trans_{which}", int(bool(trans)))

    def SetAType(self, pos, format, dtype, isTrans=False) -> None: self._operand("a", pos, format, dtype, isTrans)
    def SetBType(self, pos, format, dtype, isTrans=False) -> None: self._operand("b", pos, format, dtype, isTrans)
    def SetCType(self, pos, format, dtype) -> None: self._operand("c", pos, format, dtype)
    def SetBiasType(self, pos, format, dtype) -> None: self._operand("bias", pos, format, dtype)
    def SetShape(self, m, n, k) -> None: self._put("SetShape", m=m, n=n, k=k)
    def SetOrgShape(self, m, n, ka, kb=None) -> None: self._put("SetOrgShape", org_m=m, org_n=n, org_ka=ka, org_kb=ka if kb is None else kb)
    def SetSingleShape(self, m=-1, n=-1, k=-1) -> None: self._put("SetSingleShape", single_m=m, single_n=n, single_k=k)
    def SetFixSplit(self, baseM=-1, baseN=-1, baseK=-1) -> None: self._put("SetFixSplit", base_m=baseM, base_n=baseN, base_k=baseK)
    def EnableBias(self, on=True) -> None: self._ask.bias = int(bool(on))
    SetBias = EnableBias

    def SetBufferSpace(self, l1=-1, l0c=-1, ub=-1, bt=-1) -> None:
        self._put("SetBufferSpace", **{name: value for name, value in (("l1", l1), ("l0c", l0c), ("bt", bt)) if value > 0})

    def SetTraverse(self, traverse) -> None:
        if traverse not in TRAVERSE:
            raise HostError(f"SetTraverse: {traverse!r} is none of {', '.join(TRAVERSE)}.")
        self._ask.traverse = TRAVERSE[traverse]

    def SetMatmulConfigParams(self, mmConfigType=1, traverse="NOSET") -> None:
        self._ask.mdl = int(mmConfigType == 1)
        if traverse != "NOSET":
            self.SetTraverse(traverse)

    def _layout(self, api: str, which: str, values) -> None:
        setattr(self._ask, f"layout_{which}", (c.c_int32 * 5)(*(_whole(api, v) for v in values)))

    def SetALayout(self, b, s, n, g, d) -> None: self._layout("SetALayout", "a", (b, s, n, g, d))
    def SetBLayout(self, b, s, n, g, d) -> None: self._layout("SetBLayout", "b", (b, s, n, g, d))
    def SetCLayout(self, b, s1, n, g, s2) -> None: self._layout("SetCLayout", "c", (b, s1, n, g, s2))
    def SetBatchNum(self, batch) -> None: self._put("SetBatchNum", batch=batch)

    def SetBatchInfoForNormal(self, batchA, batchB, m, n, k) -> None:
        self.SetALayout(batchA, m, 1, 1, k)
        self.SetBLayout(batchB, n, 1, 1, k)
        self.SetCLayout(max(batchA, batchB), m, 1, 1, n)
        if self._ask.m <= 0:
            self.SetShape(m, n, k)

    def GetTiling(self):
        """TCubeTiling. Raises HostError with the reason when nothing fits."""
        cls, why = struct("TCubeTiling"), c.create_string_buffer(512)
        room = c.create_string_buffer(cls._dtype.itemsize)
        if _function()(c.byref(self._ask), c.cast(room, c.c_void_p), c.byref(self._split), why, len(why)):
            raise HostError(f"GetTiling: {why.value.decode()}.")
        self._made = cls.from_bytes(room.raw)
        return self._made

    def _done(self):
        if self._made is None:
            raise HostError("Nothing is tiled yet: call GetTiling() first.")
        return self._made

    def GetBaseM(self) -> int: return self._done().baseM
    def GetBaseN(self) -> int: return self._done().baseN
    def GetBaseK(self) -> int: return self._done().baseK


class MatmulApiTiling(_Tiling):
    """Tiling of the part of one core."""


class MultiCoreMatmulTiling(_Tiling):
    """Tiling of a product that several cores share. SetDim: cube cores in a cube-only kernel, vector cores in a MIX kernel."""
    _kind = 1

    def SetDim(self, dim) -> None: self._put("SetDim", dim=dim)
    def SetAlignSplit(self, m, n, k) -> None: self._put("SetAlignSplit", align_m=m, align_n=n, align_k=k)
    def EnableMultiCoreSplitK(self, on=True) -> None: self._ask.split_k = int(bool(on))
    SetSplitK = EnableMultiCoreSplitK

    def SetSingleRange(self, maxM=-1, maxN=-1, maxK=-1, minM=-1, minN=-1, minK=-1) -> None:
        self._put("SetSingleRange", most_m=maxM, most_n=maxN, most_k=maxK, least_m=minM, least_n=minN, least_k=minK)

    def GetSingleShape(self) -> tuple[int, int, int]:
        t = self._done()
        return t.singleCoreM, t.singleCoreN, t.singleCoreK

    def GetCoreNum(self) -> tuple[int, int, int]:
        """Cores used, parts of M, parts of N."""
        return self._done().usedCoreNum, self._split.m, self._split.n


class BatchMatmulTiling(_Tiling):
    """Tiling of several products of equal shape on one core."""
    _kind = 2

    def GetCoreNum(self) -> tuple[int, int, int, int, int]:
        return self._done().usedCoreNum, self._split.m, self._split.n, 1, 1


def matmul_tiling(m: int, n: int, k: int, *, dtype="float16", out="float32", trans_a=False, trans_b=False, bias=False, cores: int = 1, base=(-1, -1, -1),
                  single=(-1, -1, -1), traverse="NOSET", mdl=True, chip="Ascend910B1"):
    """TCubeTiling of C = A * B (+ bias) with all matrices in GM as ND."""
    t = MultiCoreMatmulTiling(chip) if cores > 1 else MatmulApiTiling(chip)
    if cores > 1:
        t.SetDim(cores)
    t.SetAType("GM", "ND", dtype, trans_a)
    t.SetBType("GM", "ND", dtype, trans_b)
    t.SetCType("GM", "ND", out)
    t.SetShape(m, n, k)
    t.SetOrgShape(m, n, k)
    t.SetSingleShape(*single)
    t.EnableBias(bias)
    t.SetFixSplit(*base)
    t.SetTraverse(traverse)
    t.SetMatmulConfigParams(1 if mdl else 0)
    return t.GetTiling()
