"""Ascend C in notebooks: build, run, check and time AI-core kernels on any computer.

    import helpers as hp
    kernel = hp.compile(source)          # or a cell that starts with %%ascendc
    run = kernel[8](x, y, z)             # like kernel<<<8, nullptr, stream>>>(x, y, z)
    hp.check(z, x + y)
    run.timeline()
"""
from __future__ import annotations

from . import errors, host, magic
from .arguments import workspace
from .catalogue import page as explain
# Functions that share their name with a module: imported here once, so that the function is what the name means.
from .check import check
from .chips import chip, chips
from .compare import compare
from .doctor import doctor
from .errors import CheckError, CompileError, Finding, KernelError, SetupError, WorkbookError
from .expect import expect_error
from .kernel import Kernel, compile
from .npu.codes import acl_error
from .profile import profile
from .program import run_program
from .run import Run
from .ship import ship
from .tiling import tiling_struct
from .ubsim import ubsim

__version__ = "0.1.0"
__all__ = ["CheckError", "CompileError", "Finding", "Kernel", "KernelError", "Run", "SetupError", "WorkbookError", "acl_error", "check", "chip",
           "chips", "compare", "compile", "doctor", "expect_error", "explain", "host", "profile", "run_program", "ship",
           "tiling_struct", "ubsim", "workspace"]

magic.register()
