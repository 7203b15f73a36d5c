"""Vector instructions: one prepared call per API name, filled in and handed to the twin."""
from __future__ import annotations

from ctypes import byref
from dataclasses import dataclass

from ..arguments import CODE, CPP_NAME
from . import names
from .abi import VecCall, here, lib
from .state import check, refuse

UNARY = ("Exp", "Ln", "Abs", "Reciprocal", "Sqrt", "Rsqrt", "Relu", "Not")
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "AddRelu", "SubRelu", "FusedMulAdd", "FusedMulAddRelu")
MIXED = ("MulAddDst", "AddReluCast", "SubReluCast", "MulCast")           # dst may have another type than the sources
SCALAR = ("Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "ShiftLeft", "ShiftRight", "Axpy")
_MEANING = {
    "Exp": "e ** src", "Ln": "ln(src)", "Abs": "|src|", "Reciprocal": "1 / src", "Sqrt": "sqrt(src)", "Rsqrt": "1 / sqrt(src)",
    "Relu": "max(0, src)", "Not": "~src", "Add": "src0 + src1", "Sub": "src0 - src1", "Mul": "src0 * src1", "Div": "src0 / src1",
    "Max": "max(src0, src1)", "Min": "min(src0, src1)", "And": "src0 & src1", "Or": "src0 | src1", "AddRelu": "max(0, src0 + src1)",
    "SubRelu": "max(0, src0 - src1)", "FusedMulAdd": "src0 * dst + src1", "FusedMulAddRelu": "max(0, src0 * dst + src1)",
    "MulAddDst": "src0 * src1 + dst", "AddReluCast": "max(0, src0 + src1), converted", "SubReluCast": "max(0, src0 - src1), converted",
    "MulCast": "src0 * src1, converted", "Adds": "src + scalar", "Muls": "src * scalar", "Maxs": "max(src, scalar)",
    "Mins": "min(src, scalar)", "LeakyRelu": "src if src > 0 else src * scalar", "ShiftLeft": "src << scalar", "ShiftRight": "src >> scalar",
    "Axpy": "src * scalar + dst"}


@dataclass(frozen=True)
class UnaryRepeatParams:
    """Strides of the repeat form, in 32 B blocks."""
    dstBlkStride: int = 1
    srcBlkStride: int = 1
    dstRepStride: int = 8
    srcRepStride: int = 8

    def _strides(self):
        return (self.dstBlkStride, self.dstRepStride), (self.srcBlkStride, self.srcRepStride), (1, 8)


@dataclass(frozen=True)
class BinaryRepeatParams:
    """Strides of the repeat form, in 32 B blocks."""
    dstBlkStride: int = 1
    src0BlkStride: int = 1
    src1BlkStride: int = 1
    dstRepStride: int = 8
    src0RepStride: int = 8
    src1RepStride: int = 8

    def _strides(self):
        return (self.dstBlkStride, self.dstRepStride), (self.src0BlkStride, self.src0RepStride), (self.src1BlkStride, self.src1RepStride)


class _Prepared:
    """A VecCall whose constant parts are filled in; its parts are views of the same memory."""
    __slots__ = ("api", "call", "address", "dst", "src0", "src1", "mask")

    def __init__(self, api: str, sources: int):
        self.api = api
        self.call = VecCall(op=lib.op(api.encode()), api=api.encode(), sources=sources)
        self.address = byref(self.call)
        self.mask, self.dst, self.src0, self.src1 = self.call.mask, self.call.dst, self.call.src[0], self.call.src[1]
        self.contiguous()

    def contiguous(self) -> None:
        self.mask.form, self.mask.set, self.mask.repeat = 0, 1, 1
        for operand in (self.dst, self.src0, self.src1):
            operand.stride.blk, operand.stride.rep = 1, 8

    def lanes(self, mask, repeat, params, set_mask: bool) -> None:
        """The repeat form: first lanes or a bit for each lane, repeatTime, strides."""
        m = self.mask
        try:
            m.set, m.repeat = set_mask, names.whole(repeat, "repeatTime")
            if hasattr(mask, "__index__") or mask is None:
                m.form, m.n = 2, names.whole(mask or 0, "mask")
            else:
                bits = [names.whole(b, "mask") & (1 << 64) - 1 for b in mask]
                m.form, m.bits[0], m.bits[1] = 1, bits[0], bits[1] if len(bits) > 1 else 0
        except ValueError as error:
            refuse("BAD_PARAMETER", f"{self.api}: {error}")
        for operand, (block, repeat) in zip((self.dst, self.src0, self.src1), params._strides()):
            operand.stride.blk, operand.stride.rep = block, repeat


_prepared: dict[str, _Prepared] = {}


def prepared(api: str, sources: int) -> _Prepared:
    p = _prepared.get(api)
    if p is None:
        p = _prepared[api] = _Prepared(api, sources)
    return p


def tensor(api: str, value, role: str):
    """The operand, when it is a LocalTensor; vector instructions take nothing else."""
    if not hasattr(value, "_address") or not hasattr(value, "SetValue") or hasattr(value, "SetL2CacheHint"):
        what = f"{value.name}, which lies in GM" if hasattr(value, "SetL2CacheHint") else f"a {type(value).__name__}"
        refuse("WRONG_POSITION", f"{api}: {role} is {what}; vector instructions read and write UB only", "Pass a tensor of AllocTensor, DeQue or TBuf.Get.")
    return value


def _same_type(api: str, dst, src, role: str) -> None:
    if dst._code != src._code:
        refuse("UNSUPPORTED_TYPE", f"{api}: dst is {CPP_NAME[dst._code]}, {role} is {CPP_NAME[src._code]}", "Cast one of them first: vector instructions do not convert.")


def _send(p: _Prepared, dst, src0, src1, count, entry=None) -> None:
    """Fills the operands in and runs the call. entry: another entry point than front_vec."""
    try:
        p.dst.ref = dst._ref
        if src0 is not None:
            p.src0.ref = src0._ref
            if src1 is not None:
                p.src1.ref = src1._ref
        p.mask.n = dst.size if count is None else count
    except (AttributeError, TypeError):
        for role, operand in (("dst", dst), ("src0", src0), ("src1", src1)):
            if operand is not None:
                tensor(p.api, operand, role)
        try:
            p.mask.n = names.whole(count, "count")
        except ValueError as error:
            refuse("BAD_PARAMETER", f"{p.api}: {error}")
    p.call.at = here()
    state = (entry or lib.vec)(p.address)
    if state:
        check(state)


def _finish(p: _Prepared, dst, src0, src1, count, form) -> None:
    if form is None:
        _send(p, dst, src0, src1, count)
        return
    p.lanes(*form)
    try:
        n = p.mask.n                         # number of lanes: not a count of elements
        _send(p, dst, src0, src1, n)
    finally:
        p.contiguous()


def form_of(mask, repeatTime, repeatParams, isSetMask, default):
    """None for the count form, else what _Prepared.lanes takes."""
    if mask is None and isSetMask:
        return None
    return mask, repeatTime, repeatParams or default, isSetMask


def _typed(p: _Prepared, dst, *sources) -> None:
    try:
        p.call.type = dst._code
        p.call.from_type = sources[0]._code
    except AttributeError:
        for role, operand in zip(("dst", "src0", "src1"), (dst, *sources)):
            tensor(p.api, operand, role)


def unary(api: str, dst, src, count, form) -> None:
    p = prepared(api, 1)
    _typed(p, dst, src)
    if p.call.type != p.call.from_type:
        _same_type(api, dst, src, "src")
    _finish(p, dst, src, None, count, form)


def binary(api: str, dst, src0, src1, count, form, mixed: bool = False) -> None:
    p = prepared(api, 2)
    _typed(p, dst, src0, src1)
    if tensor(api, src1, "src1")._code != src0._code:
        _same_type(api, src0, src1, "src1")
    if not mixed and p.call.type != p.call.from_type:
        _same_type(api, dst, src0, "src0")
    _finish(p, dst, src0, src1, count, form)


def with_scalar(api: str, dst, src, scalar, count, form, mode: int = 0) -> None:
    p = prepared(api, 1)
    _typed(p, dst, src)
    if api != "Axpy" and p.call.type != p.call.from_type:
        _same_type(api, dst, src, "src")
    p.call.scalar, p.call.mode = bits(api, scalar, src._code), mode
    _finish(p, dst, src, None, count, form)


def bits(api: str, scalar, code: int) -> int:
    try:
        return names.scalar_bits(scalar, code)
    except ValueError as error:
        refuse("BAD_PARAMETER", f"{api}: {error}")
    except Exception:                        # struct.error, TypeError: no number at all
        refuse("BAD_PARAMETER", f"{api}: the scalar is {scalar!r}, which is no number", "Pass a Python number; it is rounded to the element type once.")


def duplicate(dst, value, count, form=None) -> None:
    p = prepared("Duplicate", 0)
    code = tensor("Duplicate", dst, "dst")._code
    p.call.type = p.call.from_type = code
    p.call.scalar = bits("Duplicate", value, code)
    _finish(p, dst, None, None, count, form)


def cast(dst, src, mode, count, form) -> None:
    p = prepared("Cast", 1)
    _typed(p, dst, src)
    try:
        p.call.mode = names.find(mode, names.ROUND_MODES, "the rounding mode")
    except ValueError as error:
        refuse("BAD_PARAMETER", f"Cast: {error}")
    _finish(p, dst, src, None, count, form)


def compare(dst, src0, src1, mode, count) -> None:
    """src1: a tensor (Compare) or a number (CompareScalar)."""
    scalar = not hasattr(src1, "_ref")
    api = "CompareScalar" if scalar else "Compare"
    p = prepared(api, 1 if scalar else 2)
    _typed(p, dst, src0)
    if dst._code not in (names.UINT8, CODE["int8"]):
        refuse("UNSUPPORTED_TYPE", f"{api}: dst is {CPP_NAME[dst._code]}; 8 results are packed into a byte", "Use a tensor of uint8_t.")
    try:
        p.call.mode = names.find(mode, names.COMPARE_MODES, "the comparison")
    except ValueError as error:
        refuse("BAD_PARAMETER", f"{api}: {error}")
    p.call.type = names.UINT8
    if scalar:
        p.call.scalar = bits(api, src1, src0._code)
    else:
        _same_type(api, src0, src1, "src1")
    _send(p, dst, src0, None if scalar else src1, src0.size if count is None else count, lib.vec_compare)


def select(dst, selection, src0, src1, count) -> None:
    """Bit 1 takes src0, bit 0 takes src1 (a tensor or a number)."""
    scalar = not hasattr(src1, "_ref")
    p = prepared("Select", 1 if scalar else 2)
    p.call.sources = 1 if scalar else 2
    _typed(p, dst, src0)
    _same_type("Select", dst, src0, "src0")
    p.call.mode = 1 if scalar else 2         # VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE
    if scalar:
        p.call.scalar = bits("Select", src1, dst._code)
    else:
        _same_type("Select", dst, src1, "src1")
    chosen = tensor("Select", selection, "selMask")._address
    _send(p, dst, src0, None if scalar else src1, count, lambda call: lib.vec_select(call, chosen))


def assign(dst, expression) -> None:
    """z[:] = x + y"""
    api, operands = expression.api, expression.operands
    if api in SCALAR:
        with_scalar(api, dst, *operands, None, None)
    elif api in ("And", "Or") and dst.itemsize == 4:     # the instruction counts 16-bit halves
        binary(api, dst.view("uint16"), *(t.view("uint16") for t in operands), None, None)
    else:
        binary(api, dst, *operands, None, None)


def method(api: str):
    """The method of Core for a regular instruction."""
    if api in UNARY:
        def run(self, dst, src, count=None, *, mask=None, repeatTime=1, repeatParams=None, isSetMask=True):
            unary(api, dst, src, count, form_of(mask, repeatTime, repeatParams, isSetMask, _UNARY_STRIDES))
    elif api in SCALAR:
        def run(self, dst, src, scalar, count=None, *, mask=None, repeatTime=1, repeatParams=None, isSetMask=True):
            with_scalar(api, dst, src, scalar, count, form_of(mask, repeatTime, repeatParams, isSetMask, _UNARY_STRIDES))
    else:
        mixed = api in MIXED

        def run(self, dst, src0, src1, count=None, *, mask=None, repeatTime=1, repeatParams=None, isSetMask=True):
            binary(api, dst, src0, src1, count, form_of(mask, repeatTime, repeatParams, isSetMask, _BINARY_STRIDES), mixed)
    run.__name__ = run.__qualname__ = api
    run.__doc__ = f"dst[i] = {_MEANING[api]} for i < count (default: all of dst). mask, repeatTime, repeatParams: the repeat form."
    return run


_UNARY_STRIDES, _BINARY_STRIDES = UnaryRepeatParams(), BinaryRepeatParams()
