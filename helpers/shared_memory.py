"""Memory that this process and the runner both see: no names in the file system, nothing left behind."""
from __future__ import annotations

import ctypes
import mmap
import os
import tempfile

PAGE = mmap.PAGESIZE


def pages(nbytes: int) -> int:
    """nbytes rounded up to whole pages."""
    return -(-nbytes // PAGE) * PAGE


def anonymous_file(label: str) -> int:
    """A descriptor of memory without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(label, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile(prefix=label) as file:      # no name once it is open
        return os.dup(file.fileno())


class Pool:
    """One piece of shared memory, kept between launches so that its pages need not be made again."""

    WARM = 256 << 20          # more than this goes back to the system after a launch

    def __init__(self) -> None:
        self.fd = anonymous_file("kernel-arrays")
        self._size = 0
        self._map: mmap.mmap | None = None
        self._anchor = None
        self._next = 0

    def reset(self) -> None:
        self._next = 0

    def take(self, nbytes: int) -> int:
        """Offset of nbytes of whole pages. Addresses from before are void: ask `address` when all is taken."""
        offset = self._next
        self._next += pages(nbytes)
        return offset

    def address(self, offset: int) -> int:
        if self._next > self._size:
            self._unmap()
            size = max(self._next, min(2 * self._size, self.WARM), 1 << 20)
            os.ftruncate(self.fd, size)
            self._map = mmap.mmap(self.fd, size)
            self._anchor = ctypes.c_char.from_buffer(self._map)
            self._size = size
        return ctypes.addressof(self._anchor) + offset

    def trim(self) -> None:
        if self._size > self.WARM:
            self._unmap()
            os.ftruncate(self.fd, 0)

    def _unmap(self) -> None:
        self._anchor = None
        if self._map is not None:
            self._map.close()
        self._map, self._size = None, 0

    def close(self) -> None:
        self._unmap()
        os.close(self.fd)
