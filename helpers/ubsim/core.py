"""Core: what a block sees. Every method carries the name of the Ascend C call it stands for, and issues the same instruction."""
from __future__ import annotations

from ctypes import byref, c_int32
from difflib import get_close_matches

from . import copies, names, reduce, vector
from .abi import here, lib
from .gm import GlobalTensor
from .queues import TBuf, TQue, named, type_of, whole
from .state import check, refuse

_PARTNER = {"VECIN": "GM", "VECOUT": "VECOUT"}               # source of TQue<position>
_TARGET = {"VECIN": "VECIN", "VECOUT": "GM"}


class Core:
    """One vector core, running one block."""

    def __init__(self, block: int, blocks: int):
        self.block, self.blocks = block, blocks

    def GetBlockIdx(self) -> int:
        return self.block

    def GetBlockNum(self) -> int:
        return self.blocks

    def __repr__(self) -> str:
        return f"Core(block {self.block} of {self.blocks})"

    def __getattr__(self, name: str):
        near = get_close_matches(name, dir(type(self)), 1)
        raise AttributeError(f"The tiling simulation has no core.{name}." + (f" Did you mean core.{near[0]}?" if near else
                             " It knows copies, queues, flags, element-wise instructions and reductions. What waits for other cores,"
                             " and everything else, runs in a kernel cell."))

    # ---- buffers
    def TQue(self, position: str, *, num: int, length: int, depth: int = 1) -> TQue:
        """TQue<position, depth> with InitBuffer(queue, num, length): num buffers of length bytes. num=2 is double buffering."""
        named(position, tuple(_TARGET), "the position of a queue")
        position = position.rsplit("::", 1)[-1]
        return TQue(_PARTNER[position], _TARGET[position], num, length, depth)

    def TQueBind(self, src: str, dst: str, *, num: int, length: int, depth: int = 1) -> TQue:
        """TQueBind<src, dst, depth> with InitBuffer(queue, num, length): ("VECIN", "VECOUT") passes loads on to stores."""
        known = names.POSITIONS
        return TQue(known[named(src, known, "the position")], known[named(dst, known, "the position")], num, length, depth)

    def TBuf(self, position: str = "VECCALC", *, length: int) -> TBuf:
        """TBuf<position> with InitBuffer(buffer, length)."""
        return TBuf(position, length)

    # ---- copies
    def DataCopy(self, dst, src, count=None) -> None:
        """Whole 32 B blocks GM -> UB (MTE2), UB -> GM (MTE3), UB -> UB (V).

        count: elements (default: the slice of GM) or DataCopyParams. A 2-D slice of GM becomes rows with a gap.
        """
        copies.data_copy(dst, src, count)

    def DataCopyPad(self, dst, src, params=None, padding=None) -> None:
        """Rows of any length in bytes, GM -> UB (MTE2) or UB -> GM (MTE3).

        params: DataCopyExtParams (default: the slice of GM). padding: DataCopyPadExtParams.
        """
        copies.data_copy_pad(dst, src, params, padding)

    def SetPadValue(self, value, dtype) -> None:
        code = type_of(dtype)
        state = lib.set_pad_value(vector.bits("SetPadValue", value, code), code, here())
        if state:
            check(state)

    def SetAtomicAdd(self, dtype) -> None:
        """Stores add to GM until SetAtomicNone."""
        self._atomic(1, type_of(dtype))

    def SetAtomicMax(self, dtype) -> None:
        self._atomic(2, type_of(dtype))

    def SetAtomicMin(self, dtype) -> None:
        self._atomic(3, type_of(dtype))

    def SetAtomicNone(self) -> None:
        self._atomic(0, 0)

    def _atomic(self, operation: int, code: int) -> None:
        state = lib.set_atomic(operation, code, here())
        if state:
            check(state)

    def DataCacheCleanAndInvalid(self, gm: GlobalTensor, entire: bool = False) -> None:
        """Writes the cache line at the start of gm (or the whole data cache) of this core back to GM."""
        if type(gm) is not GlobalTensor:
            refuse("WRONG_POSITION", f"DataCacheCleanAndInvalid takes a GlobalTensor, not {type(gm).__name__}", "Pass a slice of an argument.")
        state = lib.dcache_clean(gm._ref.ptr, bool(entire), here())
        if state:
            check(state)

    # ---- vector instructions that are not regular
    def Duplicate(self, dst, value, count=None, *, mask=None, repeatTime=1, dstBlockStride=1, dstRepeatStride=8) -> None:
        """dst[i] = value for i < count (default: all of dst)."""
        strides = vector.UnaryRepeatParams(dstBlockStride, 1, dstRepeatStride, 8)
        vector.duplicate(dst, value, count, vector.form_of(mask, repeatTime, strides, True, strides))

    def Cast(self, dst, src, roundMode="CAST_NONE", count=None, *, mask=None, repeatTime=1, repeatParams=None) -> None:
        """dst[i] = src[i] converted to dst's type for i < count (default: all of dst)."""
        vector.cast(dst, src, roundMode, count, vector.form_of(mask, repeatTime, repeatParams, True, vector.UnaryRepeatParams()))

    def Compare(self, dst, src0, src1, cmpMode, count=None) -> None:
        """Bit i of dst = src0[i] cmpMode src1[i] ("LT", "GT", "EQ", "LE", "GE", "NE") for i < count (default: all of src0)."""
        vector.compare(dst, src0, vector.tensor("Compare", src1, "src1"), cmpMode, count)

    def CompareScalar(self, dst, src0, scalar, cmpMode, count=None) -> None:
        """Bit i of dst = src0[i] cmpMode scalar for i < count (default: all of src0)."""
        vector.compare(dst, src0, scalar, cmpMode, count)

    def Select(self, dst, selMask, src0, src1, count=None) -> None:
        """dst[i] = src0[i] where bit i of selMask is 1, else src1[i] (or the number src1)."""
        vector.select(dst, selMask, src0, src1, count)

    # ---- mask registers
    def SetMaskCount(self) -> None:
        self._mask_mode(1)

    def SetMaskNorm(self) -> None:
        self._mask_mode(0)

    def _mask_mode(self, counter: int) -> None:
        state = lib.vec_mask_mode(counter, here())
        if state:
            check(state)

    def SetVectorMask(self, dtype, *mask) -> None:
        """SetVectorMask<dtype>(length) or SetVectorMask<dtype>(high, low); instructions with isSetMask=False use it."""
        code, values = type_of(dtype), [whole(m, "the mask") for m in mask]
        if len(values) == 1:
            state = lib.vec_mask_len(values[0], names.SIZE[code], here())
        else:
            state = lib.vec_mask_set(*(v & (1 << 64) - 1 for v in values[:2]), here())
        if state:
            check(state)

    def ResetMask(self) -> None:
        state = lib.vec_mask_reset(here())
        if state:
            check(state)

    def SetDeqScale(self, scale: float) -> None:
        """Scale of Cast int32_t -> half."""
        state = lib.vec_deq_scale(scale, here())
        if state:
            check(state)

    # ---- order
    def SetFlag(self, event: str, id: int) -> None:
        """SetFlag<HardEvent::event>(id): set when everything issued before on the source pipe has finished."""
        state = lib.set_flag(named(event, names.EVENTS, "the event"), whole(id, "the event id"), here())
        if state:
            check(state)

    def WaitFlag(self, event: str, id: int) -> None:
        """WaitFlag<HardEvent::event>(id): the target pipe goes on after the flag has been set."""
        state = lib.wait_flag(named(event, names.EVENTS, "the event"), whole(id, "the event id"), here())
        if state:
            check(state)

    def PipeBarrier(self, pipe: str) -> None:
        """PipeBarrier<PIPE_…>(): later instructions of the pipe ("ALL": of every pipe) start after its earlier ones have finished."""
        state = lib.pipe_barrier(named(pipe, names.PIPES, "the pipe"), here())
        if state:
            check(state)

    def AllocEventID(self, event: str) -> int:
        return self._event(lib.event_alloc, event)

    def FetchEventID(self, event: str) -> int:
        return self._event(lib.event_fetch, event)

    def _event(self, entry, event: str) -> int:
        out = c_int32()
        state = entry(byref(out), named(event, names.EVENTS, "the event"), here())
        if state:
            check(state)
        return out.value

    def ReleaseEventID(self, event: str, id: int) -> None:
        state = lib.event_release(named(event, names.EVENTS, "the event"), whole(id, "the event id"), here())
        if state:
            check(state)


for _api in (*vector.UNARY, *vector.BINARY, *vector.MIXED, *vector.SCALAR):
    setattr(Core, _api, vector.method(_api))
for _api in reduce.METHODS:
    setattr(Core, _api, reduce.method(_api))
