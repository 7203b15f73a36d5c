"""Large arrays that a kernel works on in place: their pages are exchanged for shared ones.

Copying 64 MB to the runner and back costs more than most kernels. So the whole pages inside a large array are copied
once to a memory file, which is then mapped over the very same addresses. The array does not notice; the runner maps
the file too. The partial pages at both ends stay as they are and are copied by hand around each launch. Arrays of a few
MB are exchanged when they are used a second time: for a single launch a copy is cheaper.

What keeps this safe:
- only memory of NumPy's own allocator, and only pages that lie wholly inside the array;
- memory that malloc got by mmap for this array alone (glibc says so in the chunk's header) is unmapped by free(); a
  piece of the heap gets private pages again before it goes back: a weak reference tells when the array ends;
- NumPy refuses to resize an array that is weakly referenced, so addresses stay valid while the array lives;
- before os.fork() (see channel.py) the pages become private again: a child must not write into its parent's arrays.
Set ASCEND_WORKBOOK_ADOPT=0 to copy always.
"""
from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import platform
import sys
import weakref
from dataclasses import dataclass, field

import numpy as np

if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
    from numpy._core.multiarray import get_handler_name as _handler_name
else:
    from numpy.core.multiarray import get_handler_name as _handler_name

from .shared_memory import PAGE, anonymous_file, pages

AT_ONCE = 32 << 20            # from this size on at the first launch, below it at the second
SMALLEST = 512 << 10          # below this a copy is cheap
SWITCH = "ASCEND_WORKBOOK_ADOPT"
PATTERN = 0xC5                # bytes that belong to nobody
_SLACK = 64                   # at least so many of them behind an array

_PIECE = 64 << 20
_MAP_FIXED, _MAP_POPULATE, _MREMAP_MOVE_TO, _PUNCH_HOLE = 0x10, 0x8000, 3, 3
_IS_MMAPPED, _FLAGS = 2, 7
_FAILED = ctypes.c_void_p(-1).value
_ids = itertools.count(1)


@dataclass
class Adopted:
    """One array whose inner pages are shared."""
    owner: weakref.ref
    address: int
    nbytes: int
    fd: int
    file_bytes: int
    heap: bool = False                # a piece of malloc's heap, not a mapping of its own
    id: int = field(default_factory=lambda: next(_ids))

    @property
    def start(self) -> int:
        """Place of the array's first byte in the file, which begins at the page that holds it."""
        return self.address % PAGE

    @property
    def inner(self) -> tuple[int, int]:
        """Addresses of the shared pages."""
        return pages(self.address), (self.address + self.nbytes) // PAGE * PAGE

    def ends(self):
        """(address, place in the file, bytes) of the partial pages at both ends."""
        low, high = self.inner
        for start, stop in ((self.address, low), (high, self.address + self.nbytes)):
            if stop > start:
                yield start, start - self.address + self.start, stop - start

    def push_ends(self) -> None:
        for address, place, count in self.ends():
            os.pwrite(self.fd, ctypes.string_at(address, count), place)

    def pull_ends(self) -> None:
        for address, place, count in self.ends():
            ctypes.memmove(address, os.pread(self.fd, count, place), count)

    def fits(self, owner: np.ndarray) -> bool:
        return owner.flags.owndata and owner.nbytes == self.nbytes and _address(owner) == self.address


_known: dict[int, Adopted] = {}          # id(owner) -> Adopted
_seen: dict[int, tuple[int, int]] = {}   # id(owner) -> (address, bytes) of arrays copied so far, the latest last
on_release = []                          # called with the entry of memory that is no longer in use


def adopt(owner: np.ndarray | None) -> Adopted | None:
    """The array with shared pages, or None when its memory must be copied."""
    if owner is None or owner.nbytes < SMALLEST:
        return None
    entry = _known.get(id(owner))
    if entry is not None:
        if entry.owner() is owner and entry.fits(owner):
            return entry
        _forget(id(owner), entry)
    if owner.nbytes < AT_ONCE and not _used_before(owner):
        return None
    heap = _in_heap(owner)
    return None if heap is None else _share(owner, heap)


def _used_before(owner: np.ndarray) -> bool:
    # No weak reference: one launch must not keep NumPy from resizing. A namesake at the same place does no harm.
    now = (_address(owner), owner.nbytes)
    before = _seen.pop(id(owner), None)
    if before == now:
        return True
    _seen[id(owner)] = now
    while len(_seen) > 64:
        del _seen[next(iter(_seen))]
    return False


def possible() -> bool:
    return _libc() is not None and os.environ.get(SWITCH, "1") != "0"


def _libc():
    global _loaded
    if _loaded is False:
        known = sys.platform == "linux" and platform.libc_ver()[0] == "glibc" and ctypes.sizeof(ctypes.c_void_p) == 8 and sys.byteorder == "little"
        _loaded = ctypes.CDLL(None, use_errno=True) if known and hasattr(os, "memfd_create") else None
        if _loaded is not None:
            _loaded.mmap.restype = _loaded.mremap.restype = ctypes.c_void_p
            _loaded.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
            _loaded.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
            _loaded.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    return _loaded


_loaded = False


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _in_heap(owner: np.ndarray) -> bool | None:
    """Does the array lie in malloc's heap (True) or in a mapping of its own (False)? None: its pages must stay as they are."""
    if not possible() or owner.dtype.hasobject or not owner.flags.owndata or not owner.flags.forc:
        return None
    if _handler_name(owner) != "default_allocator":
        return None
    # malloc's header: size of what lies before, then own size with flags in its low bits.
    address = _address(owner)
    before, size = ctypes.c_size_t.from_address(address - 16).value, ctypes.c_size_t.from_address(address - 8).value
    if not size & _IS_MMAPPED:
        return True if (size & ~_FLAGS) >= owner.nbytes + 8 else None
    block = address - 16 - before
    whole = before + (size & ~_FLAGS)
    return False if block % PAGE == 0 and whole % PAGE == 0 and address + owner.nbytes <= block + whole else None


def _share(owner: np.ndarray, heap: bool) -> Adopted | None:
    address, nbytes = _address(owner), owner.nbytes
    file_bytes = pages(address % PAGE + nbytes + _SLACK)
    try:
        fd = anonymous_file("kernel-array")
    except OSError:
        return None
    entry = Adopted(weakref.ref(owner), address, nbytes, fd, file_bytes, heap)
    try:
        os.ftruncate(fd, file_bytes)
        os.pwrite(fd, bytes([PATTERN]) * entry.start, 0)
        tail = entry.start + nbytes
        os.pwrite(fd, bytes([PATTERN]) * (file_bytes - tail), tail)
        for low, size in _pieces(*entry.inner):
            place = low - address + entry.start
            _copy_to_file(fd, low, size, place)
            got = _libc().mmap(low, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED | _MAP_POPULATE, fd, place)
            if got != low:
                raise OSError("mmap")
    except OSError:                       # no memory: the pages exchanged so far hold the same bytes as before
        os.close(fd)
        return None
    key = id(owner)
    entry.owner = weakref.ref(owner, lambda _: _ended(key, entry))
    _known[key] = entry
    return entry


def _pieces(low: int, high: int):
    """(address, bytes): never are there two copies of more than one piece."""
    for start in range(low, high, _PIECE):
        yield start, min(_PIECE, high - start)


def _copy_to_file(fd: int, address: int, count: int, place: int) -> None:
    source = memoryview((ctypes.c_char * count).from_address(address)).cast("B")
    done = 0
    while done < count:
        done += os.pwrite(fd, source[done:], place + done)


def _ended(key: int, entry: Adopted) -> None:
    """The array is about to be freed. Other objects of the same garbage may still look at it: its bytes stay."""
    if entry.heap:
        _make_private(entry)
    _forget(key, entry)


def _forget(key: int, entry: Adopted) -> None:
    if _known.get(key) is entry:
        del _known[key]
    if entry.fd >= 0:
        os.close(entry.fd)
        entry.fd = -1
    for call in on_release:
        call(entry)


def release_all() -> None:
    """Every adopted array gets private pages again."""
    for key, entry in list(_known.items()):
        owner = entry.owner()
        if owner is not None and entry.fits(owner):
            _make_private(entry)
        _forget(key, entry)


def _make_private(entry: Adopted) -> bool:
    for low, size in _pieces(*entry.inner):
        fresh = _libc().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        if fresh in (None, _FAILED):
            return False
        ctypes.memmove(fresh, low, size)
        if _libc().mremap(fresh, size, size, _MREMAP_MOVE_TO, low) != low:
            return False
        _libc().fallocate(entry.fd, _PUNCH_HOLE, low - entry.address + entry.start, size)
    return True
