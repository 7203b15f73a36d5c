"""Where the arrays of one launch lie in the memory that the runner maps."""
from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass, field

from . import adopt
from .arguments import Buffer, argument_error
from .shared_memory import PAGE, Pool, pages

READ_WRITE, READ_ONLY, TRACK = 0, 1, 2       # enum Access of the runner
_SLACK = 64                                  # bytes behind an array that must come back unchanged
_NEIGHBOURS = 64                             # the same between two views of one large array
_temporary = itertools.count(-2, -1)         # ids of mappings that end with the launch


@dataclass
class Map:
    """One piece of shared memory with one or more arguments in it."""
    id: int
    fd: int                                  # -1: fresh memory of the runner (workspace)
    offset: int                              # in the file
    nbytes: int                              # whole pages
    access: int
    start: int = 0                           # the caller's address `low` lies here in the mapping
    low: int = 0
    high: int = 0
    adopted: adopt.Adopted | None = None
    buffers: list[Buffer] = field(default_factory=list)
    watches: list[tuple[int, int]] = field(default_factory=list)    # (place, bytes) that belong to no argument

    @property
    def keep(self) -> bool:
        return self.adopted is not None

    def place(self, buffer: Buffer) -> int:
        return self.start + (buffer.address - self.low if buffer.nbytes else 0)


class Placement:
    """The maps of one launch. `fill` before it, `collect` after it."""

    def __init__(self, buffers: list[Buffer], memory_mb: float, pool: Pool):
        _check_total(buffers, memory_mb)
        self.maps: list[Map] = []
        self._pool = pool
        pool.reset()
        copied = self._adopt([b for b in buffers if not b.workspace])
        for group in _overlapping(copied):
            self._copy_in_pool(group)
        for b in buffers:
            if b.workspace:
                own = Map(next(_temporary), -1, 0, pages(b.nbytes), READ_WRITE, buffers=[b], high=b.nbytes)
                if pages(b.nbytes) > b.nbytes:
                    own.watches.append((b.nbytes, pages(b.nbytes) - b.nbytes))
                self.maps.append(own)

    def _adopt(self, buffers: list[Buffer]) -> list[Buffer]:
        """Maps large arrays in place; returns the buffers that must be copied."""
        shared: dict[int, adopt.Adopted] = {}
        for b in buffers:
            if b.nbytes >= adopt.SMALLEST and (entry := adopt.adopt(b.owner)):
                shared[entry.id] = entry
        for entry in shared.values():
            # By address, not by owner: a view may have lost its owner on the way (memoryview, another library).
            mine = [b for b in buffers if b.nbytes and b.address < entry.address + entry.nbytes and entry.address < b.address + b.nbytes]
            readonly = all(b.readonly for b in mine)
            self.maps.append(Map(2 * entry.id + readonly, entry.fd, 0, entry.file_bytes, READ_ONLY if readonly else READ_WRITE,
                                 entry.start, entry.address, entry.address + entry.nbytes, entry, mine))
            self.maps[-1].watches = _gaps(self.maps[-1])
            buffers = [b for b in buffers if b not in mine]
        return buffers

    def _copy_in_pool(self, group: list[Buffer]) -> None:
        low = min(b.address for b in group)
        high = max(b.address + b.nbytes for b in group)
        size = pages(high - low + _SLACK)
        access = READ_ONLY if all(b.readonly for b in group) else TRACK
        offset = self._pool.take(size)
        self.maps.append(Map(next(_temporary), self._pool.fd, offset, size, access, 0, low, high, None, group,
                             [(high - low, size - (high - low))]))

    def fill(self) -> None:
        """Brings the arrays' bytes to where the runner sees them."""
        for m in self.maps:
            if m.adopted:
                m.adopted.push_ends()
            elif m.fd >= 0:
                address = self._pool.address(m.offset)
                if m.high > m.low:
                    ctypes.memmove(address, m.low, m.high - m.low)
                ctypes.memset(address + m.high - m.low, adopt.PATTERN, m.nbytes - (m.high - m.low))

    def collect(self, written: list[int]) -> None:
        """Brings back what the kernel wrote; `written` numbers the maps."""
        for number, m in enumerate(self.maps):
            if m.access == READ_ONLY:
                continue
            if m.adopted:
                m.adopted.pull_ends()
            elif m.fd >= 0 and number in written and m.high > m.low:
                ctypes.memmove(m.low, self._pool.address(m.offset), m.high - m.low)

    def before(self, number: int, place: int) -> tuple[Buffer, int]:
        """The argument that ends nearest before a place in a map, and how far behind its end the place is (negative:
        the place lies before the first argument)."""
        m = self.maps[number]
        ends = [(m.place(b) + b.nbytes, b) for b in m.buffers]
        behind = [(end, b) for end, b in ends if end <= place]
        if behind:
            end, b = max(behind, key=lambda e: e[0])
            return b, place - end
        first = min(m.buffers, key=m.place)
        return first, place - m.place(first)


def _overlapping(buffers: list[Buffer]) -> list[list[Buffer]]:
    """Groups of buffers that share bytes: the kernel must see one memory, as on the device."""
    groups: list[list[Buffer]] = [[b] for b in buffers if not b.nbytes]
    end = -1
    for b in sorted((b for b in buffers if b.nbytes), key=lambda b: b.address):
        if b.address < end:
            groups[-1].append(b)
            end = max(end, b.address + b.nbytes)
        else:
            groups.append([b])
            end = b.address + b.nbytes
    return groups


def _gaps(m: Map) -> list[tuple[int, int]]:
    """Bytes around the arguments inside a large array."""
    spans = sorted((m.place(b), m.place(b) + b.nbytes) for b in m.buffers)
    out, last = [], max(0, spans[0][0] - _NEIGHBOURS)
    for low, high in spans:
        if low > last:
            out.append((max(last, low - _NEIGHBOURS), min(_NEIGHBOURS, low - last)))
        last = max(last, high)
    # Close behind the last argument lie more bytes of the same array, or the filled rest of the last page.
    data_end = m.start + m.high - m.low
    behind = _NEIGHBOURS if last < data_end else m.nbytes - last
    if last < data_end:
        behind = min(behind, data_end - last)
    out.append((last, min(behind, PAGE)))
    return [(place, count) for place, count in out if count > 0]


def _check_total(buffers: list[Buffer], memory_mb: float) -> None:
    needs = {b.name: b.nbytes for b in buffers}
    spans = _overlapping([b for b in buffers if not b.workspace])
    total = sum(max(b.address + b.nbytes for b in g) - min(b.address for b in g) for g in spans)
    total += sum(b.nbytes for b in buffers if b.workspace)
    limit = int(memory_mb * 2**20)
    if total <= limit:
        return
    largest = sorted(needs.items(), key=lambda item: -item[1])[:4]
    listed = ", ".join(f"{name} {_size(n)}" for name, n in largest)
    raise argument_error("OUT_OF_MEMORY", f"The arguments of this launch take {_size(total)} ({listed}); it may use {_size(limit)}.",
                         f"Use smaller arrays or workspace, or allow more: launch(…, memory_mb={-(-total // 2**20) + 64}).")


def _size(n: int) -> str:
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if n >= unit:
            return f"{n / unit:.1f} {name}"
    return f"{n} B"
