"""The C++ route of PyTorch: an operator as a shared library, for programs with libtorch and for torch.ops.load_library.

    swiglu = build("swiglu")             # torch.ops.wb_cpp.swiglu
    print(source("swiglu"))              # the text that is compiled
    npu_files("swiglu")                  # the same operator for torch_npu, as text

The schema is that of helpers.frameworks.torch, so a model does not change when its operator moves to C++. On the CPU the
library asks the launcher of the twin; on Ascend it launches the kernel on the stream of torch_npu.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from ..build.cache import Cache, key
from ..errors import SetupError, listed
from . import launcher, ops as catalogue
from .torch import autograd, signature_of
from .torch_gradients import BACKWARD
from .torch_npu import npu_files
from .torch_text import AT, arguments, checks_of_others, is_one_of, one_like_first, parameters

__all__ = ["build", "missing", "npu_files", "source"]

NAMESPACE = "wb_cpp"

_TEXT = """// {name}: an operator of libtorch on the CPU. It checks the tensors, makes the output, and asks the launcher to run the kernel.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstdio>
#include <string>
#include <vector>

#include "launcher.h"

namespace {{

const char* name_of(at::ScalarType type)
{{
    switch (type) {{
{names}
        default: return "";
    }}
}}

// Shape and type of the output, no values: with this torch.compile can trace. Registered for tensors on "meta".
at::Tensor empty_{name}({parameters})
{{
{checks}
    return at::empty({first}.sizes(), {first}.options().memory_format(at::MemoryFormat::Contiguous));
}}

at::Tensor run_{name}({parameters})
{{
    at::Tensor out = empty_{name}({arguments});
    std::vector<at::Tensor> kept{{{contiguous}, out}};    // a kernel sees memory as one run of bytes
    std::vector<workbook_tensor> tensors;
    for (const at::Tensor& t : kept) {{
        tensors.push_back({{t.data_ptr(), name_of(t.scalar_type()), static_cast<int32_t>(t.dim()), t.sizes().data()}});
    }}
    std::string plans = "{plans}";
{attributes}    char error[4096] = "";
    int status = out.numel() == 0 ? WORKBOOK_DONE : workbook_launch(plans.c_str(), {count}, 1, tensors.data(), error, sizeof error);
    TORCH_CHECK(status == WORKBOOK_DONE, "{name}: ", error);
    return out;
}}

}}  // namespace

TORCH_LIBRARY_FRAGMENT({namespace}, m)
{{
    m.def("{name}{schema}");
}}

TORCH_LIBRARY_IMPL({namespace}, CPU, m)
{{
    m.impl("{name}", TORCH_FN(run_{name}));
}}

TORCH_LIBRARY_IMPL({namespace}, Meta, m)
{{
    m.impl("{name}", TORCH_FN(empty_{name}));
}}
"""


def source(name: str, plans: Path | str = "<folder of plans>") -> str:
    """The C++ text of an operator of kernels/ with one output, shaped like its first tensor."""
    op = catalogue.find(name)
    one_like_first(op)
    first = op.inputs[0]
    checks = [f'TORCH_CHECK({is_one_of(first, op.dtypes)}, "{name}: {first} is ", {first}.scalar_type(), "; there are kernels for {listed(op.dtypes)}");', *checks_of_others(op)]
    attributes = ""
    if op.attrs:
        form = ",".join(f"{n}=%.9g" for n in op.attrs)
        attributes = f'    char numbers[256];\n    snprintf(numbers, sizeof numbers, "/{form}", {", ".join(f"double({n})" for n in op.attrs)});\n    plans += numbers;\n'
    return _TEXT.format(
        name=name, first=first, namespace=NAMESPACE, schema=signature_of(op).schema, plans=plans, attributes=attributes, count=len(op.inputs),
        names="\n".join(f'        case {at}: return "{dtype}";' for dtype, at in AT.items()),
        parameters=parameters(op), arguments=arguments(op), contiguous=", ".join(f"{t}.contiguous()" for t in op.inputs),
        checks="\n".join(f"    {c}" for c in checks))


def missing() -> str:
    """Why extensions cannot be built here; "" when they can."""
    wanted = {"ninja": "pip install ninja", "g++": "a C++ compiler (Debian, Ubuntu: apt-get install g++)"}
    lacking = [f"{tool} ({how})" for tool, how in wanted.items() if not shutil.which(tool)]
    return f"torch.utils.cpp_extension needs {' and '.join(lacking)}" if lacking else ""


# In a process of its own: cpp_extension loads what it has built, and from a folder that is going to be renamed.
_BUILD = """
import sys
from torch.utils import cpp_extension
name, source, folder, library, include = sys.argv[1:]
cpp_extension.load(name=name, sources=[source], extra_cflags=["-O1", f"-I{include}"], build_directory=folder, is_python_module=False,
                   extra_ldflags=[library, f"-Wl,-rpath,{library.rsplit('/', 1)[0]}"])
"""


@lru_cache(maxsize=None)
def build(name: str):
    """The operator as a compiled extension. The first build takes a while; the library is kept for the next time."""
    import torch
    if why := missing():
        raise SetupError(f"The C++ extension of {name} was not built: {why}.")
    launch, plans = launcher.library(), launcher.folder_of(catalogue.find(name))
    text, stem = source(name, plans), f"workbook_{name}"

    def make(scratch: Path) -> None:
        (scratch / f"{name}.cpp").write_text(text)
        done = subprocess.run([sys.executable, "-c", _BUILD, stem, str(scratch / f"{name}.cpp"), str(scratch), str(launch), str(launcher.HERE)],
                              capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise SetupError(f"The C++ extension of {name} did not compile.\n{(done.stdout + done.stderr)[-2000:]}")

    full = key("torch", text, launcher.HEADER.read_text(), str(launch), torch.__version__, sys.version)
    torch.ops.load_library(str(Cache().build(full, "torch", make, f"{name} for PyTorch") / f"{stem}.so"))
    if name in BACKWARD:                                  # gradients may stay in Python
        gradients, save = autograd(signature_of(catalogue.find(name), NAMESPACE), BACKWARD[name])
        torch.library.register_autograd(f"{NAMESPACE}::{name}", gradients, setup_context=save)
    return getattr(getattr(torch.ops, NAMESPACE), name)
