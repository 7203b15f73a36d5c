"""TQue and TBuf: who owns which bytes of UB, and the order between the pipes that use them."""
from __future__ import annotations

from ctypes import byref, c_int32

from . import names
from .abi import LocalRef, QueueSpec, here, lib
from .local import LocalTensor
from .state import check, made, refuse


def named(value, known, what: str) -> int:
    try:
        return names.find(value, known, what)
    except ValueError as error:
        refuse("BAD_PARAMETER", *str(error).split(". ", 1))


def type_of(value) -> int:
    try:
        return names.code_of(value)
    except (ValueError, TypeError) as error:
        message, _, hint = str(error).partition(". ")
        refuse("UNSUPPORTED_TYPE", message, hint)


def whole(value, what: str) -> int:
    try:
        return names.whole(value, what)
    except ValueError as error:
        refuse("BAD_PARAMETER", *str(error).split(". ", 1))


class TQue:
    """A queue of buffers that hands tensors from one pipe to the next, with the flag that orders the two."""
    __slots__ = ("_id", "_code")

    def __init__(self, src: str, dst: str, num: int, length: int, depth: int):
        spec = QueueSpec(names.POSITIONS.index(src), names.POSITIONS.index(dst), whole(depth, "depth"))
        number = c_int32()
        state = lib.queue_init(byref(number), byref(spec), whole(num, "num"), whole(length, "length"), here())
        if state:
            check(state)
        self._id, self._code = number.value, names.UINT8
        made.append(self)

    def _expire(self) -> None:
        self._id = 0

    def AllocTensor(self, dtype) -> LocalTensor:
        """An empty buffer. Waits for the FreeTensor that emptied it."""
        ref, code = LocalRef(), type_of(dtype)
        self._code = code
        state = lib.queue_alloc(byref(ref), self._id, code, here())
        if state:
            check(state)
        return LocalTensor(ref, code)

    def EnQue(self, tensor: LocalTensor) -> None:
        """The tensor will be full when everything issued before has finished."""
        state = lib.queue_enque(self._id, _address(tensor, "EnQue"), here())
        if state:
            check(state)

    def DeQue(self, dtype=None) -> LocalTensor:
        """The next full buffer, of the type it was allocated with. What uses it starts after it has been filled."""
        ref, code = LocalRef(), self._code if dtype is None else type_of(dtype)
        state = lib.queue_deque(byref(ref), self._id, code, here())
        if state:
            check(state)
        return LocalTensor(ref, code)

    def FreeTensor(self, tensor: LocalTensor) -> None:
        state = lib.queue_free(self._id, _address(tensor, "FreeTensor"), here())
        if state:
            check(state)

    def _query(self, what: int) -> int:
        out = c_int32()
        state = lib.queue_query(byref(out), self._id, what, here())
        if state:
            check(state)
        return out.value

    def VacantInQue(self) -> bool:
        return bool(self._query(0))

    def GetTensorCountInQue(self) -> int:
        return self._query(1)

    def HasTensorInQue(self) -> bool:
        return self._query(1) > 0

    def HasIdleBuffer(self) -> bool:
        return self._query(2) > 0


class TBuf:
    """A piece of UB without queue and without order: SetFlag and WaitFlag order its accesses."""
    __slots__ = ("_id",)

    def __init__(self, position: str, length: int):
        number = c_int32()
        state = lib.tbuf_init(byref(number), named(position, names.POSITIONS, "the position"), whole(length, "length"), here())
        if state:
            check(state)
        self._id = number.value
        made.append(self)

    def _expire(self) -> None:
        self._id = 0

    def Get(self, dtype, count: int | None = None) -> LocalTensor:
        """The whole buffer, or its first `count` elements."""
        return self._get(dtype, count, 0)

    def GetWithOffset(self, dtype, count: int, offset: int) -> LocalTensor:
        """`count` elements from byte `offset` on."""
        return self._get(dtype, count, offset)

    def _get(self, dtype, count, offset) -> LocalTensor:
        ref, code = LocalRef(), type_of(dtype)
        n = 0 if count is None else whole(count, "count")
        state = lib.tbuf_get(byref(ref), self._id, n, n * names.SIZE[code], whole(offset, "offset"), count is None, code, here())
        if state:
            check(state)
        return LocalTensor(ref, code)


def _address(tensor, api: str):
    if type(tensor) is not LocalTensor:
        refuse("WRONG_POSITION", f"{api} takes a LocalTensor, not {type(tensor).__name__}", "Pass the tensor of AllocTensor or DeQue.")
    return tensor._address
