"""Fusion by a pass of MindSpore's optimiser, written in C++: it sees the compiled graph with all its shapes and types.

    fusion_pass.register()              # from now on every graph that this process compiles: silu(gate) * up -> our kernel

The pass is compiled once, in about ten seconds. It works on graphs only, PyNative has none; and it cannot be taken back.
"""
from __future__ import annotations

import sysconfig
from functools import lru_cache
from pathlib import Path

from ..build.cache import Cache, key
from ..build.compiler import find
from ..errors import SetupError
from . import mindspore as frontend
from .mindspore import ms

NAME = "workbook_swiglu"
SOURCE = Path(__file__).with_name("fusion_pass.cpp")
FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-D_GLIBCXX_USE_CXX11_ABI=0", "-DENABLE_FAST_HASH_TABLE=1")      # as MindSpore was built
LIBRARIES = ("mindspore_core", "mindspore_common", "mindspore_backend_common")


def build() -> Path:
    """The pass as a shared library."""
    kernel, compiler, source = frontend.op("swiglu", gradient=False).func, find(), SOURCE.read_text()
    root = Path(ms.__file__).parent
    include = [*ms.ops.CustomOpBuilder("headers", [str(SOURCE)], backend="CPU").get_include_paths(), sysconfig.get_paths()["include"]]

    def make(scratch: Path) -> None:
        done = compiler.run([*FLAGS, f'-DLIBRARY="{kernel}"', *(f"-I{i}" for i in include), SOURCE, f"-L{root / 'lib'}", *(f"-l{name}" for name in LIBRARIES),
                             f"-Wl,-rpath,{root / 'lib'}", "-o", scratch / f"{NAME}.so"])
        if done.returncode:
            raise SetupError(f"The pass {NAME} did not compile with {compiler}.\n{done.stdout[-2000:]}")
    full = key("mindspore pass", source, kernel, ms.__version__, str(root), "\0".join(FLAGS), compiler.identity)
    return Cache().build(full, "mindspore pass", make, NAME) / f"{NAME}.so"


@lru_cache(maxsize=None)
def register() -> None:
    """Hands the pass to MindSpore, once in a process."""
    if not ms.graph.register_custom_pass(NAME, str(build()), device="cpu"):
        raise SetupError(f"MindSpore {ms.__version__} did not take the pass {NAME}; GLOG_v=1 in the environment makes it say why.")
