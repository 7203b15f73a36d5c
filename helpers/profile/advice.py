"""What to change next, from the numbers of a profile: the rules of thumb, each with the columns it looks at."""
from __future__ import annotations

from dataclasses import dataclass

from ..views import data
from ..views.text import percent

WAIT, LAUNCH, BUSY, SATURATED, UNEVEN, CONFLICT, MISS = 0.5, 0.5, 0.75, 0.8, 1.2, 0.1, 0.05


@dataclass(frozen=True)
class Advice:
    bound: str        # "host", "launch", "bandwidth", "copies", "vector", "cube", "scalar", "waiting", "cores", "banks", "icache"
    seen: str         # the numbers that say so
    change: str

    def __str__(self) -> str:
        return f"{self.bound}: {self.seen}. {self.change}"


class AdviceList(list):
    """Most important first."""

    def __str__(self) -> str:
        return "\n".join(f"{i + 1}. {a}" for i, a in enumerate(self)) or "Nothing stands out."

    __repr__ = __str__


def advise(run) -> AdviceList:
    """Reads times and ratios of a Run (measured, simulated or estimated) and says what bounds it."""
    from ..views.pipe_table import pipe_rows          # draws nothing, but brings Matplotlib along
    out, known, time = AdviceList(), data.totals(run), float(run.time_us)
    wait = known.get("wait_us", 0.0)
    if time > 0 and wait > WAIT * time:
        out.append(Advice("host", f"Task Wait Time is {wait:,.2f} us beside {time:,.2f} us of work", "The host or the launches limit: fuse small operators, launch ahead, use a graph."))
    launch = data.launch_us(run)
    if time > 0 and launch > LAUNCH * time:
        out.append(Advice("launch", f"{launch:,.2f} of {time:,.2f} us pass before and after the cores work", "Fuse it with its neighbour, or give one launch more work."))
    rows = pipe_rows(run)
    if rows:
        top = max(rows, key=lambda r: r.share)
        out += _pipe(run, top, known, time)
    ends = [c.end_ns for c in data.cores(run)]
    if len(ends) > 1 and sum(ends) > 0 and max(ends) > UNEVEN * sum(ends) / len(ends):
        out.append(Advice("cores", f"the slowest core takes {max(ends) * len(ends) / sum(ends):.2f} times the mean", "Split the work evenly; give the last block no more than the others."))
    conflict = max(known.get("vec_bank_conflict", 0.0), known.get("vec_bankgroup_conflict", 0.0))
    if conflict > CONFLICT:
        out.append(Advice("banks", f"{percent(conflict)} of the vector cycles are bank conflicts", "Move one operand by 256 B in UB."))
    if known.get("icache_miss", 0.0) > MISS:
        out.append(Advice("icache", f"{percent(known['icache_miss'])} of the instruction fetches miss", "Make the loop body shorter; unroll less."))
    return out


def _pipe(run, top, known: dict, time: float) -> list[Advice]:
    share = f"{top.kind} {top.pipe} is busy {percent(top.share)} of the cores' time"
    if top.share < BUSY:
        return [Advice("waiting", f"no pipe is busy {percent(BUSY)} of the time; {top.pipe} comes closest with {percent(top.share)}", "The pipes wait for each other: two buffers per queue, larger tiles.")]
    if top.pipe in ("MTE2", "MTE3"):
        peak, moved = data.chip_number(run, "hbm_gbps"), known.get("hbm_bytes", known.get("gm_read_bytes", 0) + known.get("gm_write_bytes", 0))
        rate = moved / time / 1e3 if time > 0 else 0.0
        if peak and rate > SATURATED * peak:
            return [Advice("bandwidth", f"{share}, and {rate:,.0f} of {peak:,.0f} GB/s flow", "Memory is saturated: write back less, keep intermediates in UB, fuse.")]
        seen = share + (f", at {rate:,.0f} GB/s" if moved else "")
        return [Advice("copies", seen, "Copy in larger pieces (32 KB), aligned to 512 B, and use all cores.")]
    if top.pipe == "V":
        return [Advice("vector", share, "Optimise the kernel: fewer and longer vector instructions, a cheaper formula, no bank conflicts.")]
    if top.pipe == "M":
        return [Advice("cube", share, "The cube sets the pace: larger base tiles, data kept in L1; else this is the limit.")]
    if top.pipe == "S":
        return [Advice("scalar", share, "Replace element-wise loops by vector instructions; take objects and index arithmetic out of the loop.")]
    return [Advice("copies", share, "Load L0 in larger pieces, and overlap it with the cube.")]
