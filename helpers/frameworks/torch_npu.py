"""The files of an operator for torch_npu: what runs on a machine with an Ascend device and CANN. Text only here.

Three ways exist. `npu_files` writes the first: the kernel and a wrapper in one library that torch.ops.load_library loads.
A pybind11 module has no schema, so no autograd and no torch.compile; EXEC_NPU_CMD calls an operator package by its aclnn name.
"""
from __future__ import annotations

from itertools import product

import numpy as np

from ..course import load
from . import ops as catalogue
from .op import Op
from .torch import signature_of
from .torch_text import arguments, checks_of_others, is_one_of, one_like_first, parameters

_WRAPPER = """// {name} for torch_npu: checks, output, launch on the current stream. Built together with the kernel's own text.
#include <torch/library.h>
#include <ATen/ATen.h>

#include "torch_npu/csrc/core/npu/NPUStream.h"
{kernel_include}

{tiling} make_tiling({parameters});   // host code, yours to write: it checks the shapes, and computes
                                      // the numbers as kernels/{folder}/ladder.py does

namespace {{

at::Tensor empty_{name}({parameters})
{{
    return at::empty_like({first}, at::MemoryFormat::Contiguous);
}}

at::Tensor run_{name}({parameters})
{{
    TORCH_CHECK({devices}, "{name}: every tensor must be on the npu; move it with .npu()");
    TORCH_CHECK({dtypes}, "{name}: {first} is ", {first}.scalar_type());
{others}    at::Tensor out = empty_{name}({arguments});
    if (out.numel() == 0) {{
        return out;
    }}
{contiguous}
    {tiling} tiling = make_tiling({arguments});
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    if ({first}.scalar_type() == at::kHalf) {{
        {name}_half<<<{blocks}, 0, stream>>>({pointers}, tiling);
    }} else if ({first}.scalar_type() == at::kBFloat16) {{
        {name}_bf16<<<{blocks}, 0, stream>>>({pointers}, tiling);
    }} else {{
        {name}_float<<<{blocks}, 0, stream>>>({pointers}, tiling);
    }}
    return out;
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
y = torch.ops.wb.{name}({called})
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
    at::Tensor out = at::empty_like({first});
    EXEC_NPU_CMD(aclnn{camel}Custom, {arguments}, out);         // names of variables in the order of the prototype, no temporaries
    return out;
}}
"""


def npu_files(name: str) -> dict[str, str]:
    """{file: text}: the wrapper for torch_npu, how it is built, the Python that calls it, and the aclnn form.

    For operators with one output like their first tensor, whose kernel takes their tensors and a tiling, and nothing else; else ValueError.
    """
    op: Op = catalogue.find(name)
    one_like_first(op)
    ladder = load(op.folder, "ladder")
    version = op.version(ladder, [np.empty((1, 64), np.float16)])
    first, taken = op.inputs[0], _parameters(version.text, name)
    if len(taken) != len(op.inputs) + 2:
        raise ValueError(f"The kernel of {name} takes more than its tensors and a tiling: {', '.join(p.split()[-1] for p in taken)}. Its wrapper is yours to write.")
    pointers = [f"(uint8_t*){t}_c.data_ptr()" for t in op.inputs] + ["(uint8_t*)out.mutable_data_ptr()"]
    words = dict(
        name=name, first=first, schema=signature_of(op).schema, folder=op.folder, blocks=version.blocks, tiling=taken[-1].split()[0],
        kernel_include=f'#include "{version.path.name}"               // kernels/{op.folder}/{version.path.name}, unchanged',
        parameters=parameters(op), arguments=arguments(op), devices=" && ".join(f"{t}.is_privateuseone()" for t in op.inputs),
        dtypes=is_one_of(first, ("float16", "bfloat16", "float32")),
        contiguous="\n".join(f"    at::Tensor {t}_c = {t}.contiguous();" for t in op.inputs),
        pointers=", ".join(pointers), camel="".join(p.capitalize() for p in name.split("_")),
        others="".join(f"    {check}\n" for check in checks_of_others(op)),
        called=", ".join([*op.inputs, *(f"{n}={d!r}" for n, d in op.attrs.items())]),
        tensors="\n".join(f'{t} = torch.{"zeros" if op.fixed.get(t) == "uint8" else "randn"}({", ".join(map(str, s))}, dtype=torch.{op.fixed.get(t, "float16")}, device="npu")'
                          for t, s in zip(op.inputs, _example(op))))
    return {f"{name}_npu.asc": _WRAPPER.format(**words), f"build_{name}.sh": _BUILD.format(**words), f"call_{name}.py": _CALL.format(**words),
            f"{name}_aclnn.cpp": _ACLNN.format(**words)}


def _example(op: Op) -> tuple:
    """Shapes that an operator takes: the first that fit of those which our operators have."""
    for first in ((4, 1024), (4, 8, 128)):
        for shapes in product([first], *[[first, first[-1:], (first[0], first[-1] // 2)]] * (len(op.inputs) - 1)):
            try:
                op.shapes(*shapes)
                return shapes
            except ValueError:
                pass
    raise ValueError(f"{op.name}: none of the example shapes fits it.")


def _parameters(text: str, name: str) -> list[str]:
    """The parameters of a kernel, as they are written: "GM_ADDR x", …, "SwigluTiling tiling"."""
    head = text.partition(f" {name}_half(")[2]
    return [p.strip() for p in head[:head.index(")")].split(",")] if head else []
