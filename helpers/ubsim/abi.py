"""The twin's library inside this process: its plain structs, its entry points, and the place of a call in the learner's text."""
from __future__ import annotations

import ctypes as c
import sys
from functools import lru_cache
from pathlib import Path

from ..build import runtime

OK, STOPPED, IDLE = 0, 1, 2                  # FrontState


class At(c.Structure):
    _fields_ = [("file", c.c_char_p), ("line", c.c_int32)]


class LocalRef(c.Structure):
    _fields_ = [("addr", c.c_uint32), ("bytes", c.c_uint32), ("buf", c.c_int32), ("gen", c.c_uint32), ("mem", c.c_uint8), ("pos", c.c_uint8)]


class GlobalRef(c.Structure):
    _fields_ = [("ptr", c.c_uint64), ("bytes", c.c_uint64), ("cache", c.c_uint8), ("set", c.c_uint8)]


class QueueSpec(c.Structure):
    _fields_ = [("src", c.c_uint8), ("dst", c.c_uint8), ("depth", c.c_int32), ("config", c.c_uint32), ("buffer_number", c.c_uint32),
                ("buffer_len", c.c_uint32), ("pool", c.c_int32)]


class CopyBlocks(c.Structure):
    _fields_ = [("block_count", c.c_int64), ("block_len", c.c_int64), ("src_stride", c.c_int64), ("dst_stride", c.c_int64), ("at", At),
                ("ext", c.c_uint8)]


class CopyPad(c.Structure):
    _fields_ = [("is_pad", c.c_uint8), ("left", c.c_int64), ("right", c.c_int64), ("value", c.c_uint64), ("raw_value", c.c_uint8)]


class VecMask(c.Structure):
    _fields_ = [("form", c.c_uint8), ("set", c.c_uint8), ("n", c.c_int64), ("bits", c.c_uint64 * 2), ("repeat", c.c_int64)]


class VecStride(c.Structure):
    _fields_ = [("blk", c.c_int32), ("rep", c.c_int32)]


class VecOperand(c.Structure):
    _fields_ = [("ref", LocalRef), ("stride", VecStride)]


class VecCall(c.Structure):
    _fields_ = [("op", c.c_uint16), ("type", c.c_uint8), ("from_type", c.c_uint8), ("sources", c.c_uint8), ("mode", c.c_uint8), ("flag", c.c_uint8),
                ("api", c.c_char_p), ("mask", VecMask), ("dst", VecOperand), ("src", VecOperand * 2), ("scalar", c.c_uint64), ("at", At)]


class ReduceCall(c.Structure):
    _fields_ = [("call", VecCall), ("kind", c.c_uint8), ("shape", c.c_uint8), ("order", c.c_uint8), ("cal_index", c.c_uint8),
                ("dst_rep", c.c_int64), ("to_register", c.c_uint8), ("tmp", LocalRef)]


class FrontArray(c.Structure):
    _fields_ = [("base", c.c_uint64), ("bytes", c.c_uint64), ("dtype", c.c_uint8), ("workspace", c.c_uint8), ("name", c.c_char_p)]


class FrontLaunch(c.Structure):
    _fields_ = [("arrays", c.POINTER(FrontArray)), ("array_count", c.c_uint64), ("blocks", c.c_int64), ("seed", c.c_uint64),
                ("kernel_type", c.c_int32), ("first_line", c.c_int32), ("checks", c.c_uint8), ("lazy", c.c_uint8), ("strict_sync", c.c_uint8),
                ("source", c.c_char_p), ("file", c.c_char_p), ("chip", c.c_char_p)]


class FrontResult(c.Structure):
    _fields_ = [("json", c.c_void_p), ("json_bytes", c.c_uint64), ("events", c.c_void_p), ("event_count", c.c_uint64), ("marks", c.c_void_p),
                ("mark_count", c.c_uint64)]


STRUCTS = (At, LocalRef, GlobalRef, QueueSpec, CopyBlocks, CopyPad, VecMask, VecStride, VecOperand, VecCall, ReduceCall, FrontArray, FrontLaunch, FrontResult)

_I32, _I64, _U8, _U32, _U64, _INT, _PTR, _TEXT = c.c_int32, c.c_int64, c.c_uint8, c.c_uint32, c.c_uint64, c.c_int, c.c_void_p, c.c_char_p
# Structs go by address (void pointers take byref(...) as it is); an At goes by value.
_ENTRIES = {
    "front_begin": [_PTR], "front_core": [_I64, At], "front_core_end": [], "front_end": [_PTR], "front_fatal": [_TEXT, _TEXT, _TEXT, At],
    "front_queue_init": [_PTR, _PTR, _I64, _I64, At], "front_tbuf_init": [_PTR, _U8, _I64, At],
    "front_tbuf_get": [_PTR, _I32, _U64, _U64, _U64, _INT, _U8, At], "front_queue_alloc": [_PTR, _I32, _U8, At],
    "front_queue_enque": [_I32, _PTR, At], "front_queue_deque": [_PTR, _I32, _U8, At], "front_queue_free": [_I32, _PTR, At],
    "front_queue_query": [_PTR, _I32, _INT, At], "front_local_scalar": [_PTR, _U64, _U32, _PTR, _INT, At], "front_local_peek": [_PTR, _PTR],
    "front_event_alloc": [_PTR, _INT, At], "front_event_release": [_INT, _INT, At], "front_event_fetch": [_PTR, _INT, At],
    "front_set_flag": [_INT, _I64, At], "front_wait_flag": [_INT, _I64, At], "front_pipe_barrier": [_U8, At],
    "front_vec": [_PTR], "front_vec_compare": [_PTR], "front_vec_select": [_PTR, _PTR], "front_vec_reduce": [_PTR], "front_vec_mask_mode": [_INT, At],
    "front_vec_mask_set": [_U64, _U64, At], "front_vec_mask_len": [_I64, _INT, At], "front_vec_mask_reset": [At],
    "front_vec_deq_scale": [c.c_float, At],
    "front_copy_in": [_PTR, _PTR, _U8, _I64, At], "front_copy_out": [_PTR, _PTR, _U8, _I64, At], "front_copy_local": [_PTR, _PTR, _U8, _I64, At],
    "front_copy_in_blocks": [_PTR, _PTR, _U8, _PTR, At], "front_copy_out_blocks": [_PTR, _PTR, _U8, _PTR, At],
    "front_copy_local_blocks": [_PTR, _PTR, _U8, _PTR, At], "front_copy_pad_in": [_PTR, _PTR, _U8, _PTR, _PTR, At],
    "front_copy_pad_out": [_PTR, _PTR, _U8, _PTR, At], "front_set_pad_value": [_U64, _U8, At], "front_set_atomic": [_U8, _U8, At],
    "front_gm_scalar": [_PTR, _U64, _U32, _PTR, _INT, At], "front_dcache_clean": [_PTR, _INT, At],
}


class _Library:
    """`lib.queue_enque(...)` calls front_queue_enque. Loaded, and built where needed, at the first use."""

    def __getattr__(self, name: str):
        loaded = _load()
        for entry, types in _ENTRIES.items():
            function = getattr(loaded, entry)
            function.argtypes, function.restype = types, c.c_int
            setattr(self, entry.removeprefix("front_"), function)
        self.forget, self.op = loaded.front_forget, loaded.tw_vec_op
        self.forget.argtypes, self.forget.restype = [], None
        self.op.argtypes, self.op.restype = [_TEXT], c.c_int
        if name not in self.__dict__:
            raise AttributeError(name)
        return self.__dict__[name]


@lru_cache(maxsize=1)
def _load() -> c.PyDLL:
    # PyDLL keeps Python's lock: the calls are short, and the library serves one caller at a time.
    return c.PyDLL(str(runtime.ensure().library))


lib = _Library()

_OWN = frozenset(str(p) for p in Path(__file__).parent.glob("*.py"))
_names: dict[str, bytes] = {}
_places: dict[tuple[str, int], At] = {}      # kept for ever: the library keeps their addresses during a launch


def place(file: str, line: int) -> At:
    at = _places.get((file, line))
    if at is None:
        at = _places[file, line] = At(_names.setdefault(file, file.encode()), line)
    return at


def here() -> At:
    """The innermost line outside of this package: the learner's."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename in _OWN:
        frame = frame.f_back
    key = frame.f_code.co_filename, frame.f_lineno
    return _places.get(key) or place(*key)
