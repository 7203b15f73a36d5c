"""The files of an operator for torch_npu: what runs on a machine with an Ascend device and CANN. Text only here.

Three ways exist. `npu_files` writes the first: the kernel and a wrapper in one library that torch.ops.load_library loads.
A pybind11 module has no schema, so no autograd and no torch.compile; EXEC_NPU_CMD calls an operator package by its aclnn name.
"""
from __future__ import annotations

from ..course import load
from . import ops as catalogue
from .ops import Op
from .torch import signature_of

CPP = {float: "double", int: "int64_t", bool: "bool"}       # of a number, as the schema wants it

_WRAPPER = """// {name} for torch_npu: checks, output, launch on the current stream. Built together with the kernel's own text.
#include <torch/library.h>
#include <ATen/ATen.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"
{kernel_include}

{tiling} make_tiling({parameters});   // host code: the numbers that kernels/{folder}/ladder.py computes

namespace {{

at::Tensor empty_{name}({parameters})
{{
    return at::empty_like({first}, at::MemoryFormat::Contiguous);
}}

at::Tensor run_{name}({parameters})
{{
    TORCH_CHECK({devices}, "{name}: every tensor must be on the npu; move it with .npu()");
    TORCH_CHECK({dtypes}, "{name}: {first} is ", {first}.scalar_type());
    at::Tensor y = empty_{name}({arguments});
    if (y.numel() == 0) {{
        return y;
    }}
{contiguous}
    {tiling} tiling = make_tiling({arguments});
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    if ({first}.scalar_type() == at::kHalf) {{
        {stem}_half<<<{blocks}, 0, stream>>>({pointers}, (uint8_t*)y.mutable_data_ptr(), tiling);
    }} else {{
        {stem}_float<<<{blocks}, 0, stream>>>({pointers}, (uint8_t*)y.mutable_data_ptr(), tiling);
    }}
    return y;
}}

}}  // namespace

TORCH_LIBRARY_FRAGMENT(wb, m)
{{
    m.def("{name}{schema}");
}}

TORCH_LIBRARY_IMPL(wb, PrivateUse1, m)                    // PrivateUse1 is the key of the npu
{{
    m.impl("{name}", TORCH_FN(run_{name}));
}}

TORCH_LIBRARY_IMPL(wb, Meta, m)
{{
    m.impl("{name}", TORCH_FN(empty_{name}));
}}
"""

_CALL = """import torch
import torch_npu

torch.ops.load_library("./lib{name}.so")
{tensors}
y = torch.ops.wb.{name}({arguments})
torch.npu.synchronize()                                   # a launch returns before the kernel has finished
print(y.cpu())
"""

_BUILD = """#!/bin/bash
# Builds lib{name}.so where CANN and torch_npu are installed. The flag for std::string must be the one that torch was built with.
set -e
source "${{ASCEND_HOME_PATH:-/usr/local/Ascend/cann}}/set_env.sh"
torch=$(python3 -c "import os, torch; print(os.path.dirname(torch.__file__))")
torch_npu=$(python3 -c "import os, torch, torch_npu; print(os.path.dirname(torch_npu.__file__))")
abi=$(python3 -c "import torch; print(int(torch.compiled_with_cxx11_abi()))")
bisheng -x asc {name}_npu.asc -shared -fPIC -std=c++17 --npu-arch=dav-2201 -D_GLIBCXX_USE_CXX11_ABI=$abi \\
    -I"$torch/include" -I"$torch/include/torch/csrc/api/include" -I"$torch_npu/include" \\
    -L"$torch/lib" -ltorch -ltorch_cpu -lc10 -L"$torch_npu/lib" -ltorch_npu -o lib{name}.so
"""

_ACLNN = """// The same operator as an installed package: its aclnn call, workspace, stream and queue in one line.
#include "op_plugin/utils/op_api_common.h"

at::Tensor run_{name}({parameters})
{{
    at::Tensor y = at::empty_like({first});
    EXEC_NPU_CMD(aclnn{camel}, {arguments}, y);           // names of variables in the order of the prototype, no temporaries
    return y;
}}
"""


def npu_files(name: str) -> dict[str, str]:
    """{file: text}: the wrapper for torch_npu, how it is built, the Python that calls it, and the aclnn form."""
    op: Op = catalogue.find(name)
    if len(op.outputs) != 1:
        raise ValueError(f"{name} has the outputs {', '.join(op.outputs)}; this text is for operators with one output.")
    ladder = load(op.folder, "ladder")
    version = next(v for v in reversed(ladder.VERSIONS) if f" {name}_half(" in v.text)
    first, struct = op.inputs[0], _struct(version.text, name)
    words = dict(
        name=name, first=first, schema=signature_of(op).schema, folder=op.folder, stem=name, blocks=version.blocks, tiling=struct,
        kernel_include=f'#include "{version.path.name}"               // kernels/{op.folder}/{version.path.name}, unchanged',
        parameters=", ".join([f"const at::Tensor& {t}" for t in op.inputs] + [f"{CPP[type(d)]} {n}" for n, d in op.attrs.items()]),
        arguments=", ".join([*op.inputs, *op.attrs]), devices=" && ".join(f"{t}.is_privateuseone()" for t in op.inputs),
        dtypes=f"{first}.scalar_type() == at::kHalf || {first}.scalar_type() == at::kFloat",
        contiguous="\n".join(f"    at::Tensor {t}_c = {t}.contiguous();" for t in op.inputs),
        pointers=", ".join(f"(uint8_t*){t}_c.data_ptr()" for t in op.inputs), camel="".join(p.capitalize() for p in name.split("_")),
        tensors="\n".join(f'{t} = torch.randn(4, 1024, dtype=torch.float16, device="npu")' for t in op.inputs))
    return {f"{name}_npu.asc": _WRAPPER.format(**words), f"build_{name}.sh": _BUILD.format(**words), f"call_{name}.py": _CALL.format(**words),
            f"{name}_aclnn.cpp": _ACLNN.format(**words)}


def _struct(text: str, name: str) -> str:
    """The type of the tiling parameter of a kernel."""
    head = text[text.index(f" {name}_half("):]
    return head[:head.index(")")].rsplit(",", 1)[1].split()[0]
