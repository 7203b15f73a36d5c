"""The notebook cell that is a kernel: %%ascendc."""
from __future__ import annotations

import builtins
import os
import shlex
import sys
import types
from dataclasses import dataclass
from pathlib import Path

from .chips import DEFAULT

_TARGETS = ("auto", "host", "npu")
_USAGE = "%%ascendc [name] [--chip C] [--target auto|host|npu] [--strict-sync] [--expect-error CODE]"


@dataclass(frozen=True)
class Options:
    name: str | None = None
    chip: str = DEFAULT
    target: str = "auto"
    strict_sync: bool = False
    expect_error: str | None = None


def parse(line: str) -> Options:
    """The options of a magic line. Anything unknown is a ValueError: IPython's own parser errors pass unseen in tests."""
    try:
        words = iter(shlex.split(line))
    except ValueError:
        raise ValueError(f"%%ascendc: a quotation mark is not closed. {_USAGE}") from None
    found: dict = {}

    def put(key: str, value) -> None:
        if key in found:
            raise ValueError(f"%%ascendc: {key.replace('_', '-')} is given twice. {_USAGE}")
        found[key] = value

    def value_of(word: str) -> str:
        flag, equals, value = word.partition("=")
        value = value if equals else next(words, None)
        if not value or value.startswith("--"):
            raise ValueError(f"%%ascendc: {flag} needs a value. {_USAGE}")
        return value

    for word in words:
        flag = word.partition("=")[0]
        if flag == "--strict-sync" and word == flag:
            put("strict_sync", True)
        elif flag in ("--chip", "--target", "--expect-error"):
            put(flag[2:].replace("-", "_"), value_of(word))
        elif word.startswith("-"):
            raise ValueError(f"%%ascendc: {word} is not an option. {_USAGE}")
        else:
            while word.count("<") > word.count(">") and (more := next(words, None)) is not None:      # k<half, 1>
                word += " " + more
            put("name", word)
    options = Options(**found)
    if options.target not in _TARGETS:
        raise ValueError(f"%%ascendc: --target is auto, host or npu, not {options.target}.")
    if options.expect_error:
        from .catalogue import page
        try:
            page(options.expect_error)
        except LookupError as error:
            raise ValueError(f"%%ascendc: {error}") from None
    return options


def ascendc(line: str, cell: str | None = None):
    """Compiles the cell as an Ascend C kernel and binds it under the kernel's name.

        %%ascendc [name] [--chip C] [--target auto|host|npu] [--strict-sync] [--expect-error CODE]

    name             which __global__ function, when the cell has several ("k<half>" for an instance of a template)
    --chip           profile for sizes and times, e.g. Ascend910B3 (default Ascend910B1); hp.chips() lists them
    --target         host runs on the twin of the AI core, npu on a device, auto takes what is there
    --strict-sync    reports also those hazards that the device compiler orders by itself
    --expect-error   for cells that show a mistake: the build must fail with this code, and the message is printed

    Then: run = my_kernel[8](x, y, z). Line numbers in messages are those of the cell, the %%ascendc line is line 1.
    A build that fails raises, and the old kernel of that name is gone.
    """
    from IPython import get_ipython
    if cell is None:
        raise ValueError(f"%%ascendc stands in the first line of a cell, and the kernel below it. {_USAGE}")
    namespace = get_ipython().user_ns
    _unbind(namespace, cell)
    options = parse(line)
    if options.expect_error:
        from .expect import expect_error
        with expect_error(options.expect_error):
            _build(options, cell)
        return
    for name, kernel in _build(options, cell).items():
        _say_what_is_hidden(name, namespace)
        namespace[name] = kernel


def _build(options: Options, cell: str) -> dict:
    """The kernels of a cell by the name they are bound to."""
    from . import kernel
    from .build import runtime, source
    _show_first_build(runtime)

    def one(name: str | None):
        label = "%%ascendc" + (f" {options.name}" if options.name else "")
        # the magic line is line 1 of the cell
        return kernel.build(cell, label=label, first_line=2, name=name, chip=options.chip, target=options.target,
                            auto_sync=not options.strict_sync, folder=Path.cwd())

    names = [options.name] if options.name else [e.name for e in source.scan(cell).entries] or [None]
    return {_bound_name(k.name): k for k in map(one, names)}


def _say_what_is_hidden(name: str, namespace: dict) -> None:
    """A kernel called np or abs takes the place of something that later cells may still call."""
    from .kernel import Kernel
    old = namespace.get(name, getattr(builtins, name, None))
    if isinstance(old, types.ModuleType) or callable(old) and not isinstance(old, Kernel):
        print(f"{name} is now the kernel; before, it was {'a module' if isinstance(old, types.ModuleType) else 'a function'}. "
              "Cells that still mean the old one need another name for the kernel.")


def _bound_name(entry: str) -> str:
    return entry.split("<")[0].split("::")[-1].strip()


def _unbind(namespace: dict, cell: str) -> None:
    """Whatever this cell defines must not survive from an earlier version of it."""
    from .build import source
    from .kernel import Kernel
    found = source.scan(cell)
    names = {e.name for e in (*found.entries, *found.templates)}
    for name in map(_bound_name, names):
        if isinstance(namespace.get(name), Kernel):
            del namespace[name]


def _show_first_build(runtime) -> None:
    """`make lab` has built the twin already; a notebook opened in another way builds it now and says so."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        return
    runtime.ensure(runtime.print_progress(sys.stderr))


def register() -> bool:
    """Makes %%ascendc known when IPython runs; says whether it does."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython
    shell = get_ipython()
    if shell is None:
        return False
    shell.register_magic_function(ascendc, "line_cell", "ascendc")   # as %ascendc it explains itself
    return True
