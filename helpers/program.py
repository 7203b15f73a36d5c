"""Host programs on the twin: main(), aclrt calls and kernels, built and run as a program of their own.

    run = hp.run_program(Path("main.cpp"), files={"input/x.bin": x})
    run.array("output/z.bin", np.float16)
"""
from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path

import numpy as np

from . import program_crash
from .build import program as builder
from .build.cache import Cache, key
from .chips import DEFAULT, chip as find_chip
from .errors import SEVERITIES, Finding, KernelError, counted

_OUTPUT_LIMIT = 1 << 20
_SOURCES = (".asc", ".cpp", ".cc", ".cxx")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl")           # found by #include, not built by themselves
FOUND = 3                # exit status of a program in which the twin found an error


@dataclass(repr=False)
class ProgramRun:
    """What a host program did: its output, its files, its ACL calls and kernel launches."""
    exit_code: int
    stdout: str
    stderr: str
    files: dict[str, bytes]                      # what it wrote, by path below its folder
    chip: object
    findings: list[Finding] = field(default_factory=list)
    calls: list[dict] = field(default_factory=list)          # call, line, file, code, stream, what
    launches: list[dict] = field(default_factory=list)       # kernel, line, blocks, stream, start_us, end_us (estimated)
    peak_bytes: int = 0                          # device memory in use at one time

    @property
    def origin(self) -> str:
        return f"estimate ({self.chip.name})"

    def array(self, name: str, dtype) -> np.ndarray:
        """A file that the program wrote, as numbers."""
        if name not in self.files:
            written = ", ".join(sorted(self.files)) or "none"
            raise FileNotFoundError(f"The program wrote no {name}; files it wrote: {written}")
        data, size = self.files[name], np.dtype(dtype).itemsize
        if len(data) % size:
            raise ValueError(f"{name} has {len(data)} B: these are no whole elements of {np.dtype(dtype)} ({size} B each).")
        return np.frombuffer(data, dtype).copy()

    def __repr__(self) -> str:
        launches = len(self.launches)
        time = sum(r["end_us"] - r["start_us"] for r in self.launches)
        warned = sum(f.severity == "warning" for f in self.findings)
        parts = [f"exit {self.exit_code}", f"{len(self.calls)} ACL calls", f"{launches} launch{'' if launches == 1 else 'es'}"]
        if launches:
            parts.append(f"{time:.2f} us of kernels {self.origin}")
        if warned:
            parts.append(counted(warned, "warning"))
        return ", ".join(parts)

    def lanes(self, **options):
        """What the host called and what ran on each stream, in the order of the calls."""
        from .views.host_lanes import host_lanes
        return host_lanes(self, **options)


def run_program(program, files=None, *, args=(), chip=DEFAULT, style: str = "auto", include=(), defines=None, timeout: float = 60.0,
                check: bool = True) -> ProgramRun:
    """Builds and runs a whole host program on the twin.

    program: a Path, the text itself, a list of Paths, or {file name: text}, headers included; an executable of helpers.cc runs as it is.
    files: what lies in its folder when it starts, {"input/x.bin": array or bytes or Path}.
    style: "npu" (<<<>>> and aclrt calls), "cpu" (ICPU_RUN_KF), "auto" takes what the text uses.
    check: raise KernelError when the twin found an error; False returns the run with its findings.
    """
    profile = find_chip(chip)
    _check_options(files, args, timeout)
    built = isinstance(program, os.PathLike) and Path(program).suffix not in _SOURCES and os.access(program, os.X_OK) and not Path(program).is_dir()
    sources = [] if built else list(_sources(program))
    executable = Path(program).resolve() if built else _build(sources, profile, style, include, defines)
    with tempfile.TemporaryDirectory(prefix="program-") as folder:
        before = _lay_out(Path(folder), files or {})
        report = Path(folder) / ".twin-report.json"
        run = _start(executable, Path(folder), report, [str(a) for a in args], float(timeout))
        found = json.loads(report.read_text()) if report.exists() else {}
        findings = program_crash.explain(run.returncode, Path(f"{report}{program_crash.TRAIL}"), executable, {s.label: s.text for s in sources}, run.stderr, _findings(found))
        written = _collect(Path(folder), before, report)
    result = ProgramRun(run.returncode, run.stdout, run.stderr, written, profile, findings, found.get("calls", []),
                        [_launch(r) for r in found.get("launches", [])], found.get("peak_bytes", 0))
    if check:
        _raise(result)
    return result


def _check_options(files, args, timeout) -> None:
    if files is not None and not isinstance(files, dict):
        raise TypeError(f"files is of type {type(files).__name__}: give {{\"input/x.bin\": array or bytes or Path}}.")
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args={args!r}: give a list of the words behind the program's name, args=[{args!r}].")
    if isinstance(timeout, bool) or not isinstance(timeout, Real) or not timeout > 0:
        raise ValueError(f"timeout={timeout!r} is no positive number of seconds.")


def build_program(program, *, chip=DEFAULT, style: str = "auto", include=(), defines=None) -> Path:
    """The executable of a host program."""
    return _build(list(_sources(program)), find_chip(chip), style, include, defines)


def _build(sources, chip, style: str, include, defines) -> Path:
    if style not in ("auto", builder.DEVICE, builder.CPU):
        raise ValueError(f'style={style!r} is not "auto", "npu" or "cpu".')
    include = (include,) if isinstance(include, (str, os.PathLike)) else include
    return builder.build(sources, chip=chip, style="" if style == "auto" else style, include=include, defines=defines)


def _sources(program):
    if isinstance(program, dict):
        for name, text in program.items():
            if not isinstance(text, str):
                raise TypeError(f"program[{name!r}] is a {type(text).__name__}: a dict holds the text of each file; files on disk go into a list of Paths.")
        folder = _header_folder({str(name): text for name, text in program.items() if str(name).endswith(_HEADERS)})
        yield from (builder.File(str(name), text, folder) for name, text in program.items() if not str(name).endswith(_HEADERS))
        return
    if isinstance(program, str):
        if "\n" not in program and program.endswith((".cpp", ".cc", ".asc")):
            raise ValueError(f"{program!r} is a file name: hp.run_program(Path({program!r})) reads the file")
        yield builder.File("main.asc", program)
        return
    paths = [program] if isinstance(program, os.PathLike) else program
    if not isinstance(paths, (list, tuple)) or not paths or not all(isinstance(p, (str, os.PathLike)) for p in paths):
        what = repr(program) if program is None or isinstance(program, (list, tuple)) else f"of type {type(program).__name__}"
        raise TypeError(f"program is {what}: give a Path, the text of a program, a list of Paths, or {{file name: text}}.")
    for path in map(Path, paths):
        if path.is_dir():
            raise ValueError(f"{path} is a folder: name its source files, such as list(Path({str(path)!r}).glob(\"*.cpp\")).")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is no UTF-8 text (byte {error.start}): a source file was expected.") from None
        if path.suffix not in _HEADERS or len(paths) == 1:
            yield builder.File(path.name, text, path.resolve().parent)


def _header_folder(headers: dict[str, str]) -> Path | None:
    """Where the headers among the texts of a program lie: the same place for the same texts, so that nothing is built twice."""
    if not headers:
        return None
    return Cache().build(key("headers", *(part for pair in headers.items() for part in pair)), "headers", lambda folder: _lay_out(folder, headers) and None, ", ".join(headers)).path


def _lay_out(folder: Path, files: dict) -> dict[str, bytes]:
    for name, content in files.items():
        target = folder / name
        if not target.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name!r} lies outside of the program's folder.")
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, os.PathLike):
            content = Path(content).read_bytes()
        elif isinstance(content, np.ndarray) and content.dtype.hasobject:
            raise TypeError(f"files[{name!r}] is an array of Python objects: give it an element type, such as np.float16.")
        elif isinstance(content, np.ndarray):
            content = np.ascontiguousarray(content).tobytes()
        elif not isinstance(content, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"files[{name!r}] is a {type(content).__name__}: give an array, bytes, text or a Path.")
        target.write_bytes(content.encode() if isinstance(content, str) else bytes(content))
    for name in ("input", "output"):             # the folders of the sample projects
        (folder / name).mkdir(exist_ok=True)
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _start(executable: Path, folder: Path, report: Path, args: list[str], timeout: float) -> subprocess.CompletedProcess:
    env = {**os.environ, "TWIN_REPORT": str(report), "LC_ALL": "C"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([str(executable), *args], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        try:
            code = process.wait(timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            finding = Finding("TIMEOUT", "error", None, f"The program was still running after {timeout:g} s and was stopped.", "Look for a loop without end in host or kernel; timeout=… gives it longer.")
            raise KernelError("The program did not come to its end.", [finding]) from None
        return subprocess.CompletedProcess([str(executable)], code, _text(out), _text(err))


def _text(file) -> str:
    file.seek(0)
    return file.read(_OUTPUT_LIMIT).decode(errors="replace")


def _collect(folder: Path, before: dict[str, bytes], report: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.name.startswith(report.name):
            data = path.read_bytes()
            if before.get(name) != data:
                found[name] = data
    return found


def _findings(report: dict) -> list[Finding]:
    return [Finding(f["code"], SEVERITIES[f["severity"]], f["line"] or None, f["message"], f["hint"], count=f["count"], source=f["source"],
                    file=f["file"].rsplit("/", 1)[-1]) for f in report.get("findings", [])]


def _launch(row: dict) -> dict:
    return {"kernel": row["kernel"], "line": row["line"], "file": row["file"], "blocks": row["blocks"], "stream": row["stream"],
            "start_us": row["start_ns"] / 1e3, "end_us": row["end_ns"] / 1e3, "failed": bool(row["failed"])}


def _raise(run: ProgramRun) -> None:
    errors = [f for f in run.findings if f.severity == "error"]
    if errors:
        error = KernelError(f"The program has {counted(len(errors), 'error')}.", sorted(run.findings, key=lambda f: -SEVERITIES.index(f.severity)))
        error.stdout, error.run = run.stdout, run
        raise error
    if run.exit_code:
        last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:] or [""]
        finding = Finding("HOST_ARGUMENT", "error", None, f"The program ended with status {run.exit_code}." + (f" Its last line: {last[0]}" if last[0] else ""), "Status 0 means success; check=False returns the run as it is.")
        error = KernelError("The program says that it failed.", [finding])
        error.stdout, error.run = run.stdout, run
        raise error
