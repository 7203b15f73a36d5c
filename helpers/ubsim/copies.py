"""DataCopy and DataCopyPad: which entry point, which parameters follow from the slice."""
from __future__ import annotations

from ctypes import byref

from ..arguments import CPP_NAME
from . import names
from .abi import CopyBlocks, CopyPad, here, lib
from .gm import GlobalTensor
from .local import LocalTensor
from .names import SIZE
from .state import check, refuse

BLOCK = 32                                   # bytes


class DataCopyParams:
    """blockCount pieces of blockLen; strides run from the end of a piece to the start of the next. All in 32 B blocks."""
    _ext = 0

    def __init__(self, blockCount=1, blockLen=0, srcStride=0, dstStride=0):
        try:
            values = [names.whole(v, n) for v, n in zip((blockCount, blockLen, srcStride, dstStride), ("blockCount", "blockLen", "srcStride", "dstStride"))]
        except ValueError as error:
            refuse("BAD_PARAMETER", f"{type(self).__name__}: {error}")
        self.blocks = CopyBlocks(*values, here(), self._ext)

    def __repr__(self) -> str:
        b = self.blocks
        return f"{type(self).__name__}({b.block_count}, {b.block_len}, {b.src_stride}, {b.dst_stride})"


class DataCopyExtParams(DataCopyParams):
    """For DataCopyPad: blockLen and the stride of GM in bytes, the stride of UB in 32 B blocks."""
    _ext = 1


class DataCopyPadExtParams:
    """leftPadding and rightPadding in elements; isPad: they and the fill up to 32 B get paddingValue."""

    def __init__(self, isPad=False, leftPadding=0, rightPadding=0, paddingValue=0):
        self.isPad, self.leftPadding, self.rightPadding, self.paddingValue = isPad, leftPadding, rightPadding, paddingValue

    def of(self, code: int) -> CopyPad:
        try:
            return CopyPad(bool(self.isPad), names.whole(self.leftPadding, "leftPadding"), names.whole(self.rightPadding, "rightPadding"),
                           names.scalar_bits(self.paddingValue, code), 0)
        except ValueError as error:
            refuse("BAD_PARAMETER", f"DataCopyPadExtParams: {error}")


_NO_PAD = CopyPad(0, 0, 0, 0, 0)
_NO_PAD_ADDRESS = byref(_NO_PAD)
_blocks = CopyBlocks(ext=1)                  # of the copy that is being issued
_BLOCKS_ADDRESS = byref(_blocks)


def _direction(api: str, dst, src) -> int:
    """1 load, 2 store, 3 inside UB; refuses what no pipe can do."""
    way = (type(dst) is LocalTensor) + 2 * (type(src) is LocalTensor)
    if way != 3 and type(dst) is not GlobalTensor and type(src) is not GlobalTensor or {type(dst), type(src)} - {LocalTensor, GlobalTensor}:
        wrong = next(v for v in (dst, src) if type(v) not in (LocalTensor, GlobalTensor))
        refuse("WRONG_POSITION", f"{api}: {type(wrong).__name__} is no tensor",
               "Pass a LocalTensor and a slice of an argument; a NumPy array becomes one as an argument of the simulation.")
    if way == 0:
        refuse("UNSUPPORTED_API", f"{api}: both operands lie in GM and there is no path from GM to GM", "Copy GM -> UB -> GM, through a LocalTensor.")
    if dst._code != src._code:
        refuse("UNSUPPORTED_TYPE", f"{api}: dst is {CPP_NAME[dst._code]}, src is {CPP_NAME[src._code]}; a copy moves bytes and does not convert",
               "Copy first, then Cast.")
    if way == 2:
        dst.writable(api)
    return way


def data_copy(dst, src, count) -> None:
    way = _direction("DataCopy", dst, src)
    gm = src if way == 1 else dst if way == 2 else None
    if isinstance(count, DataCopyParams):
        entry = (None, lib.copy_in_blocks, lib.copy_out_blocks, lib.copy_local_blocks)[way]
        state = entry(dst._address, src._address, dst._code, byref(count.blocks), here())
    elif count is None and gm is not None and not gm.contiguous:
        rows, row, pitch = gm.rows("DataCopy")
        if row % BLOCK or (pitch - row) % BLOCK:
            refuse("BAD_PARAMETER", f"DataCopy: rows of {row} B, {pitch} B apart, of {gm.name}; DataCopy counts blocks of 32 B", "Use DataCopyPad: it counts bytes in GM.")
        gap, local = (pitch - row) // BLOCK, _local_gap(src if way == 2 else dst, row)
        blocks = CopyBlocks(rows, row // BLOCK, *((gap, local) if way == 1 else (local, gap)), here(), 0)
        entry = lib.copy_in_blocks if way == 1 else lib.copy_out_blocks
        state = entry(dst._address, src._address, dst._code, byref(blocks), here())
    else:
        entry = (None, lib.copy_in, lib.copy_out, lib.copy_local)[way]
        state = entry(dst._address, src._address, dst._code, _count("DataCopy", count, dst if gm is None else gm), here())
    if state:
        check(state)


def data_copy_pad(dst, src, params, pad) -> None:
    way = _direction("DataCopyPad", dst, src)
    if way == 3:
        refuse("UNSUPPORTED_API", "DataCopyPad: both operands lie in UB", "Use DataCopy inside UB.")
    if params is None:
        address, b = _BLOCKS_ADDRESS, _blocks
        gm, local = (src, dst) if way == 1 else (dst, src)
        if gm._strides == (1,):
            b.block_count, b.block_len, b.src_stride, b.dst_stride = 1, gm.size * SIZE[gm._code], 0, 0
        else:
            rows, row, pitch = gm.rows("DataCopyPad")
            gap, own = pitch - row, _local_gap(local, row)
            if not gap and not own and row % BLOCK == 0:         # whole rows side by side in both places: one piece
                rows, row = 1, rows * row
            b.block_count, b.block_len = rows, row
            b.src_stride, b.dst_stride = (gap, own) if way == 1 else (own, gap)
        b.at = here()
    elif isinstance(params, DataCopyParams):
        address = byref(params.blocks)
    else:
        refuse("BAD_PARAMETER", f"DataCopyPad takes DataCopyExtParams, not {params!r}", "Leave them out to copy the whole slice of GM.")
    if way == 2:
        state = lib.copy_pad_out(dst._address, src._address, dst._code, address, here())
    else:
        state = lib.copy_pad_in(dst._address, src._address, dst._code, address, _NO_PAD_ADDRESS if pad is None else byref(pad.of(dst._code)), here())
    if state:
        check(state)


def _local_gap(local: LocalTensor, row: int) -> int:
    """Blocks between two rows in UB: none, or what a tensor of two dimensions says."""
    if len(local.shape) != 2:
        return 0
    pitch, used = local.shape[1] * SIZE[local._code], -(-row // BLOCK) * BLOCK
    return (pitch - used) // BLOCK if pitch >= used else 0


def _count(api: str, count, gm) -> int:
    if count is None:
        return gm.size
    try:
        return names.whole(count, "count")
    except ValueError as error:
        refuse("BAD_PARAMETER", f"{api}: {error}")
