"""How much of the Ascend C that people write does the twin have?

    python -m helpers.twin.coverage api_frequency.tsv [--least 5]

The table has the columns api, files, occurrences, sc_files, sc_occurrences, kind: how many source files use a name, and how
often. A name counts as there when a header of the twin declares it (a function, type, macro, enumerator, or a method of any
class); that says nothing about forms of a call which few people use. Generic names are inflated by code of the kernels' own. Names that Atlas A2 does not have
(elsewhere.py) are counted apart, with whose they are; a kernel that uses one of another chip is told so when it is compiled.
"""
from __future__ import annotations

import argparse
import csv
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from . import elsewhere, rulers

GROUPS = ("movement", "queue", "sync", "system", "memory-based vector", "high-level", "cube", "host", "other", *elsewhere.GROUPS)

# Where a header of the twin belongs.
_BY_HEADER = ((r"twin/(host_|adv_.*(sizes|tiling)\.h)", "host"), (r"twin/adv_", "high-level"), (r"twin/(vec_|mask|repeat_params|operators)", "memory-based vector"),
              (r"twin/(sync|cross_core)", "sync"), (r"twin/(tpipe|tque|tbuf|bufpool|local_tensor|list_tensor)", "queue"),
              (r"twin/(data_copy|copy_|init_global|atomic|data_cache|global_tensor)", "movement"), (r"twin/(cube|mm|matmul|fixpipe|load_data)", "cube"), (r"twin/", "system"))
# Enumerations of the cube unit and of Matmul.
_CUBE_ENUM = re.compile(r"^enumerator:(CubeFormat|LayoutMode|BatchMode|BatchOutMode|IterateOrder|IterateMode|ScheduleType|MatmulConfigMode|MatrixTraverse|FmatrixMode|CO2Layout)$")
_STANDARD = {"UINT32_MAX": "twin/types.h"}       # of C++ itself
# Names the twin lacks, by how they sound. The first that fits.
_BY_NAME = (
    (r"Tmp(Buffer)?(Factor)?Size$|^GetTiling$|^GetCoreNum|^NpuArch$|Tiling(Func|Info)|^(acl|ACL|ICPU|Gm(Alloc|Free)|SetKernelMode|platform|Platform|GE_|ge|gert|Op(Def|AICore)|REGISTER_OP|aclrt)|^Tiling|TilingData$|TILING", "host"),
    (r"Matmul|MATMUL|^Mm|^mad$|^set_padding$|^SetPadding|[fF]matrix|^SetMM|(Batch|BatchOut|Schedule|Iterate|Layout|Relu)Mode$|^ScheduleType$|^MatrixTraverse|^Get(MDL|MM|Normal|IBShareNorm)Config$|^CFG_|^\.?(End|GetTensorC|SetTensor[AB]|SetSubBlockIdx|SetLocalWorkspace|SetWorkspace|"
     r"SetQuant(Scalar|Vector)|SetOrgShape|SetTail|SetSingleShape|IterateAll|IterateBatch|Iterate|WaitIterateAll|SetUserDefInfo|SetSelfDefineData|SetBatchNum)$|CO12Dst|BroadCastVecToMM|LoadData|Fixpipe|FixPipe|Gemm|Conv|^CO\d|^[AB][12]$|^C[12]$|L0[ABC]|Cube|Nd2Nz|^Iterate|BiasTable|^Tscm|^TSCM|QuantPre|Bias|^Set(Tail|Org|Single|Tensor)|UnitFlag|HF32|Img2Col|Nz|NZ", "cube"),
    (r"[Ss]oft[Mm]ax|Norm|Gelu|GLU|Glu|Sigmoid|Silu|Swish|Quant|DropOut|TopK|Welford|Hccl|BroadCast|Broadcast|^(Sin|Cos|Tan|Tanh|Erf|Pow|Log|Clamp|Where|Pad|UnPad|Philox)", "high-level"),
    (r"Flag|Sync|Barrier|HardEvent|_MTE|MTE\d_|^PIPE_|Notify|^Wait|^IB|EVENT_ID|TEventID|Mutex", "sync"),
    (r"DataCopy|Copy|^copy_|atomic|mov_pad|Atomic|GlobalTensor|Cache|Load|Store|^Fill|Dma", "movement"),
    (r"Que|Buf|TPipe|Tensor|TPosition|^VEC", "queue"),
    (r"Reduce|Cast|Select|Compare|Gather|Scatter|Mask|Duplicate|Transpose|Sort|Repeat|^(Add|Sub|Mul|Div|Max|Min|Abs|Exp|Ln|And|Or|Not|Shift|Axpy|Relu|CMP|SEL|CAST|v[a-z]+)", "memory-based vector"),
    (r"^Get|Block|Task|KERNEL|Workspace|printf|assert|Dump|Print|Trap|ASCEND|TILING|^__\w+__$|Type$|Mode$", "system"),
)


@dataclass(frozen=True)
class Use:
    """One row of the table."""
    name: str
    files: int
    kind: str


@dataclass(frozen=True)
class Judged:
    use: Use
    group: str
    state: str               # "there", "approximation", "says what to use", "missing", "no name of the API"
    why: str = ""            # of a name that Atlas A2 does not have

    @property
    def has(self) -> bool:
        return self.state in ("there", "approximation")


def read(path: Path) -> list[Use]:
    with open(path, newline="") as f:
        rows = csv.DictReader((line for line in f if not line.startswith("#")), delimiter="\t")
        lacking = {"api", "files", "kind"} - set(rows.fieldnames or ())
        if lacking:
            raise SystemExit(f"{path} has no column {', '.join(sorted(lacking))}")
        return [Use(r["api"], int(r["files"]), r["kind"]) for r in rows]


def _place(name: str, by_name: dict, known) -> tuple[str | None, str]:
    """Header and state of a name."""
    name = name.lstrip(".")
    if name in _STANDARD:
        return _STANDARD[name], "there"
    if name in by_name:
        api = by_name[name]
        return api.header, "says what to use" if api.instead else "approximation" if api.fidelity == rulers.APPROXIMATION else "missing" if api.fidelity == rulers.NOT_MODELLED else "there"
    for names in (known.functions, known.others):
        if name in names:
            return names[name][0], "there"
    return None, "missing"


def judge(uses: list[Use]) -> list[Judged]:
    by_name = {}
    for api in rulers.apis():
        by_name.setdefault(api.short, api)
    known = rulers.declared()
    out = []
    for use in uses:
        header, state = _place(use.name, by_name, known)
        rules, text = (_BY_HEADER, header) if header and header != "kernel_operator.h" else (_BY_NAME, use.name)
        group = next((g for pattern, g in rules if re.search(pattern, text)), "other")
        if _CUBE_ENUM.match(use.kind) and not header or use.name == "DataCopyCO12DstParams":
            group = "cube"
        if state == "says what to use":                  # the headers tell it themselves
            out.append(Judged(use, elsewhere.OTHER_CHIPS, state, f"is a {group} call that Atlas A2 does not have"))
            continue
        place = None if header else elsewhere.find(use.name, use.kind)
        if place:
            group, state = place.group, "says what to use" if elsewhere.for_message(use.name.lstrip("."), use.kind) else "no name of the API"
        out.append(Judged(use, group, state, place.why if place else ""))
    return out


def share(rows: list[Judged]) -> float:
    """Part of the uses (files that mention a name, summed) that the twin has."""
    total = sum(r.use.files for r in rows)
    return sum(r.use.files for r in rows if r.has) / total if total else 1.0


def table(judged: list[Judged], least: int = 5) -> str:
    kept = [j for j in judged if j.use.files >= least]
    lines = [f"{'group':<22}{'names':>6}{'there':>7}{'approx.':>9}{'told':>6}{'missing':>9}{'of the uses':>13}   names used by {least} files or more"]

    def row(title: str, rows: list[Judged]) -> str:
        count = {s: sum(r.state == s for r in rows) for s in ("there", "approximation", "says what to use", "missing")}
        return (f"{title:<22}{len(rows):>6}{count['there']:>7}{count['approximation']:>9}{count['says what to use']:>6}{count['missing']:>9}{share(rows):>12.1%}")

    def named(title: str, rows: list[Judged]) -> list[str]:
        rows = sorted(rows, key=lambda j: (-j.use.files, j.use.name))
        return ["", f"{title}: " + ", ".join(f"{j.use.name} {j.use.files}" for j in rows)] if rows else []
    here = [j for j in kept if j.group not in elsewhere.GROUPS]
    lines += [row(g, [j for j in here if j.group == g]) for g in GROUPS if g not in elsewhere.GROUPS]
    lines.append(row("all", here))
    lines += [f"{g:<22}{sum(j.group == g for j in kept):>6}   not of Atlas A2, listed below" for g in elsewhere.GROUPS]
    for g in GROUPS:
        lines += named(f"missing, {g}", [j for j in here if j.group == g and j.state == "missing"])
        lines += named(f"told at compile time, {g}", [j for j in here if j.group == g and j.state == "says what to use"])
    for g in elsewhere.GROUPS:
        rows = [j for j in kept if j.group == g]
        for why in dict.fromkeys(j.why for j in rows):
            lines += named(f"{g}, {why}" + ("; told at compile time" if any(j.state == "says what to use" for j in rows if j.why == why) else ""), [j for j in rows if j.why == why])
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.twin.coverage", description="Which names of a use count the twin has.")
    parser.add_argument("table", type=Path)
    parser.add_argument("--least", type=int, default=5, help="leave out names that fewer files use")
    args = parser.parse_args(argv)
    print(table(judge(read(args.table)), args.least), file=sys.stdout)


if __name__ == "__main__":
    main()
