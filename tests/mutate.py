"""Would the tests notice a wrong operator? Small faults are seeded into the twin's C++, one at a time, and its tests must fail.

    python tests/mutate.py [--count 160] [--seed 1] [--only vec_cast.cpp] [--part 1/2] [--again] [--trust] [--list] [--tried] [--work FOLDER]

The sample is drawn in turn from every family of mutants.toml, which also says which tests belong to which source. A faulty
source is compiled with the flags of the runtime and checks of bounds, and linked with the other units as they are (a faulty
header of the kernels: they alone are compiled again); the tests run in one forked process and stop at the first failure.
Results are kept in a file: an interrupted run goes on where it stopped, --again tries survivors once more after tests were added, and with
--part two processes share the work. Faults
that change nothing anybody can see are listed in mutants.toml with their reason. Not part of `make test`: a fault takes
5 to 60 seconds, so let it run at low priority (`nice`). Run it on an unchanging copy of the sources when somebody is editing them.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
try:
    import tomllib
except ImportError:
    import tomli as tomllib

import mutants  # noqa: E402
from helpers.build import cache, compiler, runtime, twin  # noqa: E402

# A loop one too far shows only when somebody looks: bounds of std::vector and of local arrays are checked in the faulty unit.
HARDENED = ("-w", "-D_GLIBCXX_ASSERTIONS", "-fsanitize=bounds", "-fsanitize-undefined-trap-on-error")
KILLED, SURVIVED, EQUIVALENT, NOT_COMPILING = "killed", "survived", "equivalent", "does not compile"
SECONDS = 420            # a fault that makes the tests hang is caught too


@dataclass(frozen=True)
class Family:
    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    through: dict
    sampled: bool = True     # False: only when asked for
    every: int = 1           # takes part in every n-th turn

    def units(self, file: str) -> list[str]:
        """Sources of the runtime that a faulty file changes; none for a header that only kernels read."""
        return self.through.get(file, [Path(file).name] if file.endswith(".cpp") else [])


def read_map(path: Path = HERE / "mutants.toml") -> tuple[list[Family], dict[str, str]]:
    """The families, and the faults known to change nothing (name: reason)."""
    data = tomllib.loads(path.read_text())
    families = [Family(name, tuple(f["files"]), tuple(f["tests"]), f.get("through", {}), f.get("sampled", True), f.get("every", 1)) for name, f in data["family"].items()]
    return families, {e["fault"]: e["reason"] for e in data.get("equivalent", ())}


def sample(families: list[Family], count: int, seed: int, only: str = "") -> list[tuple[Family, str, mutants.Fault]]:
    """`count` faults, taken from the families in turn, within a family from its files and kinds of fault in turn."""
    rows = []
    for family in families:
        queues = []
        for file in family.files:
            if only not in (file, Path(file).name, family.name) and (only or not family.sampled):
                continue
            found = mutants.faults(Path(file).name, (twin.TWIN / file).read_text())
            order = lambda name: hashlib.sha256(f"{seed} {file} {name}".encode()).digest()     # noqa: B023  does not depend on what else there is
            kinds: dict[str, list] = {}
            for fault in sorted(found, key=lambda f: order(f.name)):
                kinds.setdefault(fault.kind, []).append(fault)
            turns = sorted(kinds, key=order)
            queues.append([(family, file, f) for group in zip_longest(*(kinds[k] for k in turns)) for f in group if f])
        taken = [row for group in zip_longest(*queues) for row in group if row]
        rows.append(taken if only else [r for row in taken for r in (row, *[None] * (family.every - 1))])
    return [row for group in zip_longest(*rows) for row in group if row][:count]


class Bench:
    """A copy of the twin's sources in which one file at a time is faulty, and the runtime built from it."""

    def __init__(self, work: Path):
        self.work, self.sources, self.built = work, work / "twin", work / "built"
        shutil.rmtree(self.sources, ignore_errors=True)
        shutil.copytree(twin.TWIN, self.sources, ignore=shutil.ignore_patterns("__pycache__"))
        self.built.mkdir(exist_ok=True)
        self.compiler = compiler.find()
        self.original = runtime.ensure()
        self.flags, keys, _ = runtime._keys(self.compiler)
        store = cache.Cache()
        self.objects = {source.name: store.get(k) / "unit.o" for source, k in keys.items()}

    def seed(self, file: str, fault: mutants.Fault, units: list[str]) -> bool:
        """Builds the runtime with the fault in it; False: it does not compile."""
        path = self.sources / file
        good = path.read_text()
        path.write_text(fault.apply(good))
        try:
            return self._rebuild(units) if units else self._reads(file)
        finally:
            if units:
                path.write_text(good)

    def restore(self, file: str) -> None:
        shutil.copyfile(twin.TWIN / file, self.sources / file)

    def _rebuild(self, units: list[str]) -> bool:
        objects = dict(self.objects)
        for unit in units:
            objects[unit] = self.built / (unit + ".o")
            done = self.compiler.run([*self.flags, *HARDENED, f"-I{self.sources / 'include'}", f"-I{self.sources / 'runtime'}", "-c", self.sources / "runtime" / unit, "-o", objects[unit]])
            if done.returncode:
                return False
        # the faulty units first: of an inline function that several units hold, the first one counts
        library = [objects[u] for u in units] + [o for u, o in sorted(objects.items()) if u not in units and u != twin.RUNNER]
        link = runtime._link_flags(self.compiler)
        for command in (["-shared", *link, *library, "-o", self.built / runtime.LIBRARY, f"-Wl,-soname,{runtime.LIBRARY}", "-pthread"],
                        [*link, objects[twin.RUNNER], self.built / runtime.LIBRARY, "-o", self.built / runtime.RUNNER, "-Wl,-rpath,$ORIGIN", "-pthread", "-ldl"]):
            if self.compiler.run(command).returncode:
                return False
        return True

    def _reads(self, file: str) -> bool:
        include = self.sources / "include"
        done = self.compiler.run([*runtime.kernel_flags(self.compiler), f"-I{include}", "-fsyntax-only", "-x", "c++", include / runtime.PREFIX, "-D__NPU_ARCH__=2201"])
        return done.returncode == 0


class _First:
    """What failed first."""
    failed = ""

    def pytest_runtest_logreport(self, report):
        if report.failed and not self.failed:
            self.failed = report.nodeid.replace("tests/", "")

    def pytest_collectreport(self, report):
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid} (while reading it)"


def _as_faulty(bench: Bench, in_kernels: bool) -> None:
    """From here on this process uses the faulty twin."""
    if in_kernels:
        twin.INCLUDE = bench.sources / "include"
        runtime.ensure = lambda *_, **__: bench.original
        os.environ[cache.LOCATION] = str(bench.work / "kernels")
    else:
        runtime.Runtime.runner = property(lambda self: bench.built / runtime.RUNNER)
        runtime.Runtime.library = property(lambda self: bench.built / runtime.LIBRARY)


def run_tests(tests: tuple[str, ...], log: Path, prepare=lambda: None) -> str:
    """The test that failed first, "" when all passed. In a fork: what the tests import is loaded once for all faults."""
    result = log.with_suffix(".first")
    result.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        import pytest
        prepare()
        first = _First()
        os.chdir(HERE.parent)
        code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short", *(f"tests/{t}" for t in tests)], plugins=[first])
        result.write_text(first.failed or ("" if code == 0 else f"pytest ended with {code}"))
        os._exit(0)
    end = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"no end within {SECONDS} s"
        time.sleep(0.05)
    return result.read_text() if result.exists() else f"the tests died (status {status})"


def _import_once() -> None:
    import hypothesis
    import ml_dtypes  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401

    import helpers  # noqa: F401
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)           # no shrinking: one failure is enough
    hypothesis.settings.register_profile("faults", phases=phases, derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("faults")


def run(work: Path, rows, known: dict[str, str], again: bool, trust: bool, part: int, parts: int) -> dict[str, dict]:
    folder = work / f"part{part}"
    folder.mkdir(parents=True, exist_ok=True)
    results = load(work)
    _import_once()
    bench, fine = None, set()
    for i, (family, file, fault) in enumerate(rows, 1):
        have = results.get(fault.name)
        if i % parts != part % parts or fault.name in known or have and not (again and have["state"] == SURVIVED):
            continue
        bench = bench or Bench(folder)
        start, units = time.monotonic(), family.units(file)
        state, by = NOT_COMPILING, ""
        try:
            if bench.seed(file, fault, units):
                by = run_tests(family.tests, folder / "fault.log", lambda: _as_faulty(bench, not units))
                state = KILLED if by else SURVIVED
                if not trust and "::" in by and by not in fine:        # a test that kills passes on the twin as it is
                    if run_tests((by,), folder / "sound.log"):
                        raise SystemExit(f"{by} fails without any fault: see {folder / 'sound.log'}")
                    fine.add(by)
        finally:
            bench.restore(file)
            shutil.rmtree(folder / "kernels", ignore_errors=True)
        row = {"fault": fault.name, "family": family.name, "what": str(fault), "text": fault.text.strip(), "state": state, "by": by, "seconds": round(time.monotonic() - start, 1)}
        with open(work / "results.jsonl", "a") as out:
            out.write(json.dumps(row) + "\n")
        results[fault.name] = row
        print(f"{i:4}/{len(rows)}  {state:<16} {row['seconds']:6.1f} s  {row['what']}   {by}", flush=True)
    return results


def load(work: Path) -> dict[str, dict]:
    path = work / "results.jsonl"
    return {row["fault"]: row for row in map(json.loads, path.read_text().splitlines())} if path.exists() else {}


def table(rows, results: dict[str, dict], known: dict[str, str]) -> str:
    def state(fault) -> str:
        return EQUIVALENT if fault.name in known else results[fault.name]["state"] if fault.name in results else "not run"

    def line(title: str, faults: list) -> str:
        c = Counter(map(state, faults))
        rate = f"{c[KILLED] / (c[KILLED] + c[SURVIVED]):.1%}" if c[KILLED] + c[SURVIVED] else "-"
        return f"{title:<16}{len(faults):>7}{c[KILLED]:>8}{c[SURVIVED]:>10}{c[EQUIVALENT]:>12}{c[NOT_COMPILING]:>15}{c['not run']:>9}{rate:>9}"
    out = [f"{'family':<16}{'faults':>7}{KILLED:>8}{SURVIVED:>10}{EQUIVALENT:>12}{'not compiling':>15}{'not run':>9}{'killed':>9}"]
    for name in dict.fromkeys(f.name for f, _, _ in rows):
        out.append(line(name, [m for f, _, m in rows if f.name == name]))
    out.append(line("all", [m for _, _, m in rows]))
    for title, wanted in (("survivors", SURVIVED), ("change nothing that can be seen", EQUIVALENT)):
        found = [m for _, _, m in rows if state(m) == wanted]
        if found:
            out += ["", title + ":"]
            out += [f"  {m.name}  {m}\n              {known.get(m.name) or m.text.strip()}" for m in found]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=160, help="how many faults")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other faults")
    parser.add_argument("--only", default="", help="a file or a family")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="the K-th of N processes that share the sample")
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--trust", action="store_true", help="the tests are known to pass without a fault: do not make sure each time")
    parser.add_argument("--list", action="store_true", help="show the faults and the results so far, run nothing")
    parser.add_argument("--tried", action="store_true", help="the table of everything that was ever tried here, whatever the sample; runs nothing")
    parser.add_argument("--work", type=Path, default=cache.default_root().parent / "ascend-c-workbook-faults", help="folder for builds and results")
    args = parser.parse_args()
    families, known = read_map()
    rows = sample(families, args.count, args.seed, args.only)
    if args.tried:
        results = load(args.work)
        print(table([r for f in families for r in sample([replace(f, sampled=True)], sys.maxsize, args.seed) if r[2].name in results], results, known))
        return
    results = load(args.work) if args.list else run(args.work, rows, known, args.again, args.trust, *map(int, args.part.split("/")))
    if args.list:
        for family, _, fault in rows:
            print(f"{results.get(fault.name, {}).get('state', 'not run'):<17}{family.name:<15}{fault}")
    print(table(rows, results, known))


if __name__ == "__main__":
    main()
