"""Reductions: many elements become one."""
from __future__ import annotations

from ctypes import byref

from ..arguments import CPP_NAME
from . import names
from .abi import ReduceCall, here, lib
from .state import check, refuse
from .vector import tensor

KINDS = ("Sum", "Max", "Min")                # ReduceKind
BLOCK, PAIR, REPEAT, ALL = range(4)          # ReduceShape
PARTS = {"BlockReduceSum": (0, BLOCK), "BlockReduceMax": (1, BLOCK), "BlockReduceMin": (2, BLOCK), "PairReduceSum": (0, PAIR),
         "WholeReduceSum": (0, REPEAT), "WholeReduceMax": (1, REPEAT), "WholeReduceMin": (2, REPEAT)}
ORDERS = ("ORDER_VALUE_INDEX", "ORDER_INDEX_VALUE", "ORDER_ONLY_VALUE", "ORDER_ONLY_INDEX")


def _call(api: str, kind: int, shape: int, dst, src) -> ReduceCall:
    for role, operand in (("dst", dst), ("src", src)):
        tensor(api, operand, role)
    if dst._code != src._code or src._code not in (names.F16, names.F32):
        refuse("UNSUPPORTED_TYPE", f"{api}: dst is {CPP_NAME[dst._code]}, src is {CPP_NAME[src._code]}; it takes half or float, the same for both", "Cast to float first.")
    r = ReduceCall(kind=kind, shape=shape, dst_rep=1)
    v = r.call
    v.api, v.op, v.type, v.from_type, v.sources, v.at = _NAMES[api], _NO_OP, dst._code, src._code, 1, here()
    v.mask.set, v.mask.repeat, v.dst.ref, v.src[0].ref = 1, 1, dst._ref, src._ref
    v.src[0].stride.blk, v.src[0].stride.rep = 1, 8
    return r


def _run(r: ReduceCall) -> None:
    state = lib.vec_reduce(byref(r))
    if state:
        check(state)


def everything(api: str, kind: int, dst, src, tmp, count, index: bool) -> None:
    r = _call(api, kind, ALL, dst, src)
    try:
        r.call.mask.n = src.size if count is None else names.whole(count, "count")
    except ValueError as error:
        refuse("BAD_PARAMETER", f"{api}: {error}")
    r.tmp, r.cal_index = tensor(api, tmp, "sharedTmpBuffer")._ref, index
    _run(r)


def parts(api: str, dst, src, mask, repeat, dst_stride, block_stride, repeat_stride, order) -> None:
    r = _call(api, *PARTS[api], dst, src)
    m = r.call.mask
    try:
        m.repeat, r.dst_rep, r.order = names.whole(repeat, "repeatTime"), names.whole(dst_stride, "dstRepStride"), names.find(order, ORDERS, "the order")
        r.call.src[0].stride.blk, r.call.src[0].stride.rep = names.whole(block_stride, "srcBlkStride"), names.whole(repeat_stride, "srcRepStride")
        if hasattr(mask, "__index__"):
            m.form, m.n = 2, names.whole(mask, "mask")
        else:
            bits = [names.whole(b, "mask") & (1 << 64) - 1 for b in mask]
            m.form, m.bits[0], m.bits[1] = 1, bits[0], bits[1] if len(bits) > 1 else 0
    except ValueError as error:
        refuse("BAD_PARAMETER", f"{api}: {error}")
    _run(r)


def method(api: str):
    """The method of Core for a reduction."""
    if api == "ReduceSum":
        def run(self, dst, src, sharedTmpBuffer, count=None):
            everything(api, 0, dst, src, sharedTmpBuffer, count, False)
    elif api in ("ReduceMax", "ReduceMin"):
        def run(self, dst, src, sharedTmpBuffer, count=None, calIndex=False):
            everything(api, KINDS.index(api[6:]), dst, src, sharedTmpBuffer, count, calIndex)
    else:
        shown = "ORDER_VALUE_INDEX" if api in ("WholeReduceMax", "WholeReduceMin") else "ORDER_ONLY_VALUE"

        def run(self, dst, src, mask, repeatTime, dstRepStride=1, srcBlkStride=1, srcRepStride=8, order=shown):
            parts(api, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order)
    run.__name__ = run.__qualname__ = api
    run.__doc__ = {"ReduceSum": "dst[0] = sum of count elements of src (default: all of src).",
                   "ReduceMax": "dst[0] = largest of count elements of src; calIndex: dst[1] = the bits of its index.",
                   "ReduceMin": "dst[0] = smallest of count elements of src; calIndex: dst[1] = the bits of its index.",
                   }.get(api, "One result for each " + ("32 B block", "pair of neighbours", "repeat")[PARTS[api][1]] + " of src." if api in PARTS else "")
    return run


METHODS = ("ReduceSum", "ReduceMax", "ReduceMin", *PARTS)
_NAMES = {api: api.encode() for api in METHODS}              # the library keeps their addresses
_NO_OP = 0xFFFF                              # a reduction is described by kind and shape
