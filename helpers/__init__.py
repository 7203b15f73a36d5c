"""Ascend C in notebooks: build, run, check and time AI-core kernels on any computer.

    import helpers as hp
    kernel = hp.compile(source)          # or a cell that starts with %%ascendc
    run = kernel[8](x, y, z)             # like kernel<<<8, nullptr, stream>>>(x, y, z)
    hp.check(z, x + y)
    run.timeline()
"""
from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from . import errors, magic
from .arguments import workspace
from .catalogue import page as explain
from .check import check
from .chips import chip, chips
from .compare import compare
from .errors import CheckError, CompileError, Finding, KernelError, SetupError, WorkbookError
from .expect import expect_error
from .kernel import Kernel, compile
from .run import Run
from .tiling import tiling_struct

if TYPE_CHECKING:                        # loaded at their first use, as `_LATER` says
    from . import host
    from .doctor import doctor
    from .npu.codes import acl_error
    from .profile import profile
    from .program import run_program
    from .ship import ship
    from .ubsim import ubsim

__version__ = "0.1.0"
__all__ = ["CheckError", "CompileError", "Finding", "Kernel", "KernelError", "Run", "SetupError", "WorkbookError", "acl_error", "check", "chip",
           "chips", "compare", "compile", "doctor", "expect_error", "explain", "host", "profile", "run_program", "ship",
           "tiling_struct", "ubsim", "workspace"]

# What few notebooks use, and where it is: "" is the module itself.
_LATER = {"acl_error": ("npu.codes", "acl_error"), "doctor": ("doctor", "doctor"), "host": ("host", ""), "profile": ("profile", "profile"),
          "run_program": ("program", "run_program"), "ship": ("ship", "ship"), "ubsim": ("ubsim", "ubsim")}
_FUNCTIONS = ("check", "compare", "doctor", "profile", "ship", "ubsim")      # share their name with a module


class _Package(ModuleType):
    """The first import of helpers.profile would bind that name to the module: here it goes on to mean the function."""

    def __setattr__(self, name, value):
        super().__setattr__(name, getattr(value, name) if name in _FUNCTIONS and isinstance(value, ModuleType) else value)


def __getattr__(name: str):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inner = _LATER[name]
    found = importlib.import_module(f".{module}", __name__)
    globals()[name] = getattr(found, inner) if inner else found
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
magic.register()
