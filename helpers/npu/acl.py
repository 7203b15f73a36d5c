"""libascendcl.so by ctypes. Every call looks at its return value; a failure carries the runtime's own words."""
from __future__ import annotations

import ctypes as c

H2D, D2H, D2D = 1, 2, 3                       # aclrtMemcpyKind
HUGE_FIRST = 0                                # aclrtMemMallocPolicy
_P, _PP, _SIZE, _INT = c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.c_int32
_PROTOTYPES = {
    "aclInit": [c.c_char_p], "aclFinalize": [],
    "aclrtGetDeviceCount": [c.POINTER(c.c_uint32)], "aclrtSetDevice": [_INT], "aclrtResetDevice": [_INT],
    "aclrtCreateContext": [_PP, _INT], "aclrtDestroyContext": [_P],
    "aclrtCreateStream": [_PP], "aclrtDestroyStream": [_P], "aclrtSynchronizeStream": [_P], "aclrtSynchronizeStreamWithTimeout": [_P, _INT],
    "aclrtCreateEvent": [_PP], "aclrtDestroyEvent": [_P], "aclrtRecordEvent": [_P, _P],
    "aclrtEventElapsedTime": [c.POINTER(c.c_float), _P, _P],
    "aclrtMalloc": [_PP, _SIZE, c.c_int], "aclrtFree": [_P], "aclrtMemcpy": [_P, _SIZE, _P, _SIZE, c.c_int],
}


class AclFailure(Exception):
    """An ACL call returned something else than 0."""

    def __init__(self, call: str, code: int, text: str = ""):
        super().__init__(f"{call} returned {code}" + (f": {text}" if text else ""))
        self.call, self.code, self.text = call, code, text


class Acl:
    """The functions that a launch needs, as methods that raise AclFailure."""

    def __init__(self, library: str):
        self._library = c.CDLL(library, mode=c.RTLD_GLOBAL)      # the kernel's library finds its runtime here
        self._functions = {}
        for name, arguments in _PROTOTYPES.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = arguments, c.c_int
            self._functions[name] = function
        for name in ("aclGetRecentErrMsg", "aclrtGetSocName"):
            getattr(self._library, name).restype = c.c_char_p
            getattr(self._library, name).argtypes = []

    def call(self, name: str, *arguments) -> None:
        code = self._functions[name](*arguments)
        if code:
            raise AclFailure(name, code, self.message())

    def message(self) -> str:
        return (self._library.aclGetRecentErrMsg() or b"").decode(errors="replace")

    def soc_name(self) -> str:
        return (self._library.aclrtGetSocName() or b"").decode(errors="replace")

    def handle(self, name: str, *arguments) -> int:
        """A call whose first parameter receives a handle or an address."""
        out = c.c_void_p()
        self.call(name, c.byref(out), *arguments)
        return out.value or 0

    def device_count(self) -> int:
        count = c.c_uint32()
        self.call("aclrtGetDeviceCount", c.byref(count))
        return count.value

    def elapsed_ms(self, start: int, end: int) -> float:
        ms = c.c_float()
        self.call("aclrtEventElapsedTime", c.byref(ms), start, end)
        return ms.value


class LaunchFunction:
    """The host function of a built kernel: blocks, stream, addresses of the arguments."""

    def __init__(self, library: str, symbol: str):
        self._library = c.CDLL(library)
        self._function = getattr(self._library, symbol)
        self._function.argtypes, self._function.restype = [c.c_uint32, _P, _PP], c.c_uint32
        self.symbol = symbol

    def __call__(self, acl: Acl, blocks: int, stream: int, values: list[bytes]) -> None:
        """values: the bytes of each argument, 8 for a pointer."""
        held = [c.create_string_buffer(v, max(len(v), 8)) for v in values]
        table = (c.c_void_p * max(len(held), 1))(*(c.addressof(h) for h in held))
        code = self._function(blocks, stream, table)
        if code:
            raise AclFailure(self.symbol, code, acl.message())
