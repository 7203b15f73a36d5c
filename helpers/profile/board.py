"""A folder of msopprof (msprof op): one kernel on the board, a row per core in each CSV file."""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ..run import EVENT, KINDS, PIPES, Run
from . import tables
from .tables import ProfileError, number, whole

AIV_COLUMNS = {"V": ("aiv_vec_time(us)",), "S": ("aiv_scalar_time(us)",), "MTE2": ("aiv_mte2_time(us)",), "MTE3": ("aiv_mte3_time(us)",)}
AIC_COLUMNS = {"M": ("aic_cube_time(us)", "aic_mac_time(us)"), "S": ("aic_scalar_time(us)",), "MTE1": ("aic_mte1_time(us)",), "MTE2": ("aic_mte2_time(us)",),
        "MTE3": ("aic_mte3_time(us)",), "FIX": ("aic_fixpipe_time(us)",), "V": ("aic_vec_time(us)",)}
_CONFLICTS = {"vec_bank_conflict": "aiv_vec_bank_cflt_ratio", "vec_bankgroup_conflict": "aiv_vec_bankgroup_cflt_ratio", "vec_wait": "aiv_vec_wait_ratio",
              "icache_miss": "aiv_icache_miss_rate"}
ESTIMATED = "estimated"          # Op Type in a file that the twin wrote


def folders(root: Path) -> list[Path]:
    """Every folder below that holds one kernel."""
    return sorted({p.parent for p in root.rglob("PipeUtilization*.csv")})


def read(folder: Path, chip, source: str = "") -> Run:
    files = {name: next(iter(sorted(folder.glob(f"{name}*.csv"))), None) for name in ("OpBasicInfo", "PipeUtilization", "Memory", "L2Cache", "ResourceConflictRatio")}
    memory = [p for p in folder.glob("Memory*.csv") if not p.name.startswith(("MemoryL0", "MemoryUB"))]
    files["Memory"] = memory[0] if memory else None
    rows = tables.read(files["PipeUtilization"])
    if not rows:
        raise ProfileError(f"{files['PipeUtilization'].name} has a head and no row: no core was measured.")
    if not {"aiv_time(us)", "aic_time(us)"} & rows[0].keys():
        raise ProfileError(f"{files['PipeUtilization'].name} has no aiv_time(us) and no aic_time(us): this is no file of msprof op.")
    basic = next(iter(tables.read(files["OpBasicInfo"])), {}) if files["OpBasicInfo"] else {}
    kinds, ends, busy, labels = [], [], [], []
    for row in rows:
        for kind, columns, time in (("AIV", AIV_COLUMNS, "aiv_time(us)"), ("AIC", AIC_COLUMNS, "aic_time(us)")):
            if not math.isnan(number(row, time)):
                kinds.append(KINDS.index(kind))
                ends.append(1e3 * number(row, time))
                busy.append([1e3 * known_or_zero(number(row, *columns[p])) if p in columns else 0.0 for p in PIPES])
                labels.append((whole(row, "block_id") or 0, _sub(row.get("sub_block_id", ""))))
    ends_ns, duration = np.array(ends, float), number(basic, "Task Duration(us)")
    if math.isnan(duration) and not kinds:
        raise ProfileError(f"{files['PipeUtilization'].name} has a time of no core, and there is no Task Duration(us) beside it: nothing was measured.")
    body = float(ends_ns.max()) / 1e3 if len(ends_ns) else 0.0
    estimated = basic.get("Op Type", "") == ESTIMATED
    totals = {"launch_ns": 1e3 * max(0.0, duration - body) if not math.isnan(duration) else 0.0, **_bytes(files["Memory"]), **_cache(files["L2Cache"])}
    for key, column in _CONFLICTS.items():
        source_file = files["PipeUtilization"] if key == "icache_miss" else files["ResourceConflictRatio"]
        value = tables.mean(tables.read(source_file), column) if source_file else None
        if value is not None:
            totals[key] = value
    frequency = number(basic, "Current Freq")
    if not math.isnan(frequency) and frequency > 0:
        totals["clock_mhz"] = frequency
    blocks = whole(basic, "Block Dim", "Block Num")
    origin = f"estimate ({chip.name}), read from files" if estimated else "measured (msprof op)"
    return Run(name=basic.get("Op Name", folder.name), blocks=len({b for b, _ in labels}) if blocks is None else blocks, chip=chip, origin=origin, source=source,
               time_us=duration if not math.isnan(duration) else body, events=core_marks(kinds, labels), ops=["core"], busy=np.array(busy).reshape(-1, len(PIPES)), core_end=ends_ns, totals=totals)


def core_marks(kinds, labels) -> np.ndarray:
    """One event of no length per core: it tells the views the kind and the block, and draws nothing."""
    out = np.zeros(len(kinds), EVENT)
    for core, (kind, (block, sub)) in enumerate(zip(kinds, labels)):
        out[core] = (core, block, kind, 0, 0, 0, 0, sub, 0.0, 0.0, 0, 0)
    return out


def _bytes(path: Path | None) -> dict:
    if path is None:
        return {}
    rows, out = tables.read(path), {}
    for key, columns in (("gm_read_bytes", ("GM_to_UB_datas(KB)", "GM_to_L1_datas(KB)")), ("gm_write_bytes", ("UB_to_GM_datas(KB)", "L0C_to_GM_datas(KB)"))):
        found = [t for t in (tables.total(rows, c) for c in columns) if t is not None]
        if found:
            out[key] = 1024 * sum(found)
    moved = [t for t in (tables.total(rows, c) for c in ("read_main_memory_datas(KB)", "write_main_memory_datas(KB)")) if t is not None]
    if moved:
        out["hbm_bytes"] = 1024 * sum(moved)
    return out


def _cache(path: Path | None) -> dict:
    if path is None:
        return {}
    rows = tables.read(path)
    found = [v for v in (tables.mean(rows, c) for c in ("aiv_total_hit_rate(%)", "aic_total_hit_rate(%)")) if v is not None]
    return {"l2_hit_rate": max(found) / 100} if found else {}


def _sub(text: str) -> int:
    digits = "".join(c for c in text if c in "0123456789")
    return tables.index(digits, text) if digits else 0


def known_or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value


# ---- the same files from an estimate
def write(run: Run, folder: Path) -> None:
    """OpBasicInfo, PipeUtilization and Memory of a run on the twin, with the headers of msprof op; NA where it has no model."""
    folder.mkdir(parents=True, exist_ok=True)
    from ..views import data
    infos, busy = data.cores(run), data.busy(run)
    base = ["aiv_time(us)", "aiv_total_cycles", "aiv_vec_time(us)", "aiv_vec_ratio", "aiv_mte2_time(us)", "aiv_mte2_ratio", "aiv_mte3_time(us)", "aiv_mte3_ratio", "aiv_scalar_time(us)",
            "aiv_scalar_ratio", "aiv_icache_miss_rate"]
    cube = ["aic_time(us)", "aic_total_cycles", "aic_cube_time(us)", "aic_cube_ratio", "aic_mte1_time(us)", "aic_mte1_ratio", "aic_mte2_time(us)", "aic_mte2_ratio", "aic_fixpipe_time(us)",
            "aic_fixpipe_ratio", "aic_scalar_time(us)", "aic_scalar_ratio"]
    pipe_of = {"vec": "V", "mte1": "MTE1", "mte2": "MTE2", "mte3": "MTE3", "scalar": "S", "cube": "M", "fixpipe": "FIX"}
    lines = [",".join(["block_id", "sub_block_id", *cube, *base])]
    for row, info in enumerate(infos):
        values = {}
        prefix = "aiv" if info.kind == "AIV" else "aic"
        end = info.end_ns / 1e3
        values[f"{prefix}_time(us)"], values[f"{prefix}_total_cycles"] = end, round(end * data.cycles_per_us(run))
        for column in (base if info.kind == "AIV" else cube):
            word = column.split("_")[1]
            if word in pipe_of:
                time = busy[row][PIPES.index(pipe_of[word])] / 1e3
                values[column] = time if column.endswith("time(us)") else time / end if end else 0.0
        cells = [f"{values[c]:.6g}" if c in values else "NA" for c in (*cube, *base)]
        lines.append(",".join([str(info.block), f"{'vector' if info.kind == 'AIV' else 'cube'}{info.sub}", *cells]))
    (folder / "PipeUtilization.csv").write_text("\n".join(lines) + "\n")
    (folder / "OpBasicInfo.csv").write_text("Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq\n"
                                            f"{run.name},{ESTIMATED},{run.time_us:.6g},{run.blocks},NA,NA,NA,NA,NA\n")
    known = data.totals(run)
    if "gm_read_bytes" in known:
        (folder / "Memory.csv").write_text("block_id,sub_block_id,read_main_memory_datas(KB),write_main_memory_datas(KB),GM_to_UB_datas(KB),UB_to_GM_datas(KB)\n"
                                           f"0,vector0,{known.get('hbm_bytes', 0) / 1024:.6g},0,{known['gm_read_bytes'] / 1024:.6g},{known.get('gm_write_bytes', 0) / 1024:.6g}\n")
