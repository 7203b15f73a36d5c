"""Fusion by a pass of MindSpore's optimiser, written in C++: it sees the compiled graph with all its shapes and types.

    fusion_pass.register()              # from now on every graph that this process compiles: silu(gate) * up -> our kernel

The factors may stand in either order; both must have one type and one shape, known while the graph is compiled.
The pass is built once, in about ten seconds. It works on graphs only, PyNative has none; and it cannot be taken back.
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

NAMES = ("workbook_swiglu", "workbook_swiglu_swapped")          # one for each order of the factors
FILE = "workbook_swiglu.so"
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
                             f"-Wl,-rpath,{root / 'lib'}", "-o", scratch / FILE])
        if done.returncode:
            raise SetupError(f"The pass {NAMES[0]} did not compile with {compiler}.\n{done.stdout[-2000:]}")
    full = key("mindspore pass", source, kernel, ms.__version__, str(root), "\0".join(FLAGS), compiler.identity)
    return Cache().build(full, "mindspore pass", make, NAMES[0]) / FILE


@lru_cache(maxsize=None)
def register() -> None:
    """Hands both orders of the pass to MindSpore, once in a process."""
    for name in NAMES:
        if not ms.graph.register_custom_pass(name, str(build()), device="cpu"):
            raise SetupError(f"MindSpore {ms.__version__} did not take the pass {name}; GLOG_v=1 in the environment makes it say why.")
