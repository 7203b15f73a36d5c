"""A custom-operator package as msOpGen lays it out: description, host tiling and registration, kernel, build script."""
from __future__ import annotations

import json
import re

from ..arguments import POINTER, SCALAR, STRUCT
from ..build.scan import blank
from ..errors import WorkbookError
from .example import INPUT, OUTPUT, WORKSPACE, Example, entry_span
from .launch_project import ENTER, MARK, TOLERANCE, VERIFY
from .names import camel_case, compute_unit, snake_case

# NumPy name -> in the JSON, in the OpDef
TYPES = {"float16": ("float16", "DT_FLOAT16"), "float32": ("float", "DT_FLOAT"), "bfloat16": ("bf16", "DT_BF16"), "int8": ("int8", "DT_INT8"), "uint8": ("uint8", "DT_UINT8"),
         "int16": ("int16", "DT_INT16"), "uint16": ("uint16", "DT_UINT16"), "int32": ("int32", "DT_INT32"), "uint32": ("uint32", "DT_UINT32"), "int64": ("int64", "DT_INT64"),
         "uint64": ("uint64", "DT_UINT64"), "bool": ("bool", "DT_BOOL")}


def fields_of(e: Example) -> list[tuple[str, str, tuple[int, ...], str, object]]:
    """Type, name, shape, how the kernel reaches it, value: what travels in the tiling data."""
    out = []
    for v in e.values:
        if v.kind == SCALAR:
            out.append((v.type.removeprefix("const "), v.name, (), v.name, v.number))
        elif v.kind == STRUCT:
            if not v.fields:
                raise WorkbookError(f"The fields of {v.name} are not known: pass a struct made by hp.tiling_struct.")
            for f in v.fields:
                if len(f.shape) > 1 or "." in f.type:
                    raise WorkbookError(f"Field {f.name} of {v.name} cannot travel in tiling data: plain numbers and rows of them can.")
                out.append((f.type, f.name, f.shape, f"{v.name}.{f.name}", f))
    return out


def files(e: Example, op: str, soc: str, tiling: dict[str, str], vendor: str) -> dict[str, bytes]:
    snake = snake_case(op)
    if snake != e.name:
        raise WorkbookError(f"Operator {op} needs a kernel, a file and a header named {snake}; this kernel is {e.name}. Rename it, or pass op=\"{camel_case(e.name)}\".")
    for v in e.of(INPUT, OUTPUT):
        if v.dtype not in TYPES:
            raise WorkbookError(f"{v.name} is {v.dtype}; operator packages know {', '.join(TYPES)}.")
    if e.values and e.values != sorted(e.values, key=_order):
        raise WorkbookError("An operator's kernel takes its inputs first, then its outputs, then numbers: " + ", ".join(v.name for v in sorted(e.values, key=_order)) + ".")
    description = [{"op": op, "input_desc": [_desc(v) for v in e.of(INPUT)], "output_desc": [_desc(v) for v in e.of(OUTPUT)]}]
    text: dict[str, str | bytes] = {
        f"{snake}.json": _description(description[0]),
        f"op_host/{snake}_tiling.h": tiling_header(e, op),
        f"op_host/{snake}.cpp": op_host(e, op, soc, tiling),
        f"op_kernel/{snake}.cpp": op_kernel(e, op),
        "build.sh": BUILD.format(op=op, snake=snake, soc=soc, unit=compute_unit(soc), vendor=vendor),
        "scripts/verify.py": VERIFY.format(outputs=[(v.name, v.dtype, *TOLERANCE.get(v.dtype, (0.0, 0.0))) for v in e.of(OUTPUT)]),
        f"calls/{snake}_mindspore.py": MINDSPORE.format(op=op, snake=snake, inputs=len(e.of(INPUT))),
        f"calls/{snake}_torch.cpp": torch_call(e, op),
        f"calls/{snake}_onnx_plugin.cpp": ONNX_PLUGIN.format(op=op),
        "README.md": readme(op, snake, soc, vendor),
    }
    for v in e.of(INPUT):
        text[f"input/{v.name}.bin"] = v.before.tobytes()
    for v in e.of(OUTPUT):
        text[f"golden/{v.name}.bin"] = v.after.tobytes()
    return {name: t.encode() if isinstance(t, str) else t for name, t in text.items()}


def _order(v) -> int:
    return {INPUT: 0, OUTPUT: 1, WORKSPACE: 2}.get(v.role, 3) if v.kind == POINTER else 4


def _desc(v) -> dict:
    return {"name": v.name, "param_type": "required", "format": ["ND"], "type": [TYPES[v.dtype][0]]}


def _description(op: dict) -> str:
    """One tensor a line, so that the columns can be compared."""
    groups = [f'    "{key}": [\n' + ",\n".join(f"      {json.dumps(entry)}" for entry in op[key]) + "\n    ]" for key in ("input_desc", "output_desc")]
    return f'[\n  {{\n    "op": "{op["op"]}",\n' + ",\n".join(groups) + "\n  }\n]\n"


def tiling_header(e: Example, op: str) -> str:
    rows = [f"    TILING_DATA_FIELD_DEF_ARR({t}, {shape[0]}, {name});" if shape else f"    TILING_DATA_FIELD_DEF({t}, {name});" for t, name, shape, _, _ in fields_of(e)]
    return (f"// What the host computes for one launch of {op} and the kernel reads with GET_TILING_DATA.\n#pragma once\n#include \"register/tilingdata_base.h\"\n\nnamespace optiling {{\n"
            f"BEGIN_TILING_DATA_DEF({op}TilingData)\n" + "\n".join(rows) + f"\nEND_TILING_DATA_DEF;\n\nREGISTER_TILING_DATA_CLASS({op}, {op}TilingData)\n}}  // namespace optiling\n")


def op_host(e: Example, op: str, soc: str, tiling: dict[str, str]) -> str:
    known = {name for _, name, _, _, _ in fields_of(e)}
    unknown = set(tiling) - known
    if unknown:
        raise WorkbookError(f"tiling: there is no field {', '.join(sorted(unknown))}; fields: {', '.join(sorted(known)) or 'none'}.")
    inputs, outputs = e.of(INPUT), e.of(OUTPUT)
    sets = []
    for type_, name, shape, _, value in fields_of(e):
        if shape:
            numbers = ", ".join(map(str, e_field(e, name)))
            sets += [f"    {type_} {name}[{shape[0]}] = {{{numbers}}};   // of the example", f"    tiling.set_{name}({name});"]
        else:
            given = tiling.get(name)
            number = value if isinstance(value, str) else e_field(e, name)
            sets.append(f"    tiling.set_{name}({given if given is not None else number});" + ("" if given is not None else "   // of the example"))
    workspace = sum(v.nbytes for v in e.of(WORKSPACE))
    tensors = "".join(f'        this->{kind}("{v.name}").ParamType(REQUIRED).DataType({{ge::{TYPES[v.dtype][1]}}}).Format({{ge::FORMAT_ND}}).UnknownShapeFormat({{ge::FORMAT_ND}});\n'
                      for kind, group in (("Input", inputs), ("Output", outputs)) for v in group)
    shapes = "".join(f"    *context->GetOutputShape({i}) = *context->GetInputShape(0);\n" for i in range(len(outputs)))
    types = "".join(f"    context->SetOutputDataType({i}, ge::{TYPES[v.dtype][1]});\n" for i, v in enumerate(outputs))
    return HOST.format(op=op, snake=snake_case(op), blocks=e.blocks, sets="\n".join(sets), workspace=workspace, tensors=tensors, shapes=shapes, types=types, unit=compute_unit(soc))


def e_field(e: Example, name: str):
    import numpy as np
    for v in e.values:
        if v.kind == STRUCT:
            for f in v.fields:
                if f.name == name:
                    dtype = {"float": "float32", "double": "float64"}.get(f.type, f.type.removesuffix("_t"))
                    count = int(np.prod(f.shape)) if f.shape else 1
                    data = np.frombuffer(v.data, dtype, count, f.offset).tolist()
                    return data if f.shape else data[0]
    raise KeyError(name)


def op_kernel(e: Example, op: str) -> str:
    """The kernel's text; its entry becomes a function that the entry of the operator calls with what the tiling data hold."""
    text = e.text
    code = blank(text)
    if re.search(r"\bGET_TILING_DATA\s*\(", code):
        return text
    start, open_at, end, body_end = entry_span(text, e.name)
    declared = text[open_at + 1:end]
    inner = text[end + 1:body_end + 1]
    types = re.findall(r"^[ \t]*KERNEL_TASK_TYPE_DEFAULT\([^)]*\);[^\n]*\n", inner, re.M)
    for row in types:
        inner = inner.replace(row, "")
    pointers = [v for v in e.values if v.kind == POINTER and v.role != WORKSPACE]
    passed, structs = [], []
    for v in e.values:
        if v.kind == STRUCT:
            structs.append(f"    {v.type.removeprefix('const ')} {v.name}Data;\n" + "".join(
                f"    for (int i = 0; i < {f.shape[0]}; ++i) {{\n        {v.name}Data.{f.name}[i] = data.{f.name}[i];\n    }}\n" if f.shape else f"    {v.name}Data.{f.name} = data.{f.name};\n" for f in v.fields))
            passed.append(f"{v.name}Data")
        elif v.kind == SCALAR:
            passed.append(f"data.{v.name}")
        elif v.role == WORKSPACE:
            passed.append("AscendC::GetUserWorkspace(workspace)")
        else:
            passed.append(v.name if v.type == "uint8_t*" else f"reinterpret_cast<__gm__ {v.type}>({v.name})")
    entry = (f"\n// The entry of the operator {op}: inputs, outputs, workspace, tiling, in this order.\nextern \"C\" __global__ __aicore__ void {e.name}("
             + ", ".join([*(f"GM_ADDR {v.name}" for v in pointers), "GM_ADDR workspace", "GM_ADDR tiling"])
             + f")\n{{\n{''.join(types)}    GET_TILING_DATA(data, tiling);\n{''.join(structs)}    {e.name}_body({', '.join(passed)});\n}}\n")
    return text[:start] + f"__aicore__ inline void {e.name}_body({declared})" + inner + text[body_end + 1:] + entry


HOST = '''// Host side of {op}: tiling, shapes and types, registration.
#include "{snake}_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {{
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{{
    {op}TilingData tiling;
    const uint32_t count = static_cast<uint32_t>(context->GetInputShape(0)->GetStorageShape().GetShapeSize());
    (void)count;
{sets}
    context->SetBlockDim({blocks});
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    size_t* workspace = context->GetWorkspaceSizes(1);
    workspace[0] = platform.GetLibApiWorkSpaceSize() + {workspace};
    return ge::GRAPH_SUCCESS;
}}
}}  // namespace optiling

namespace ge {{
static ge::graphStatus InferShape(gert::InferShapeContext* context)
{{
{shapes}    return GRAPH_SUCCESS;
}}
static ge::graphStatus InferDataType(gert::InferDataTypeContext* context)
{{
{types}    return GRAPH_SUCCESS;
}}
}}  // namespace ge

namespace ops {{
class {op} : public OpDef {{
public:
    explicit {op}(const char* name) : OpDef(name)
    {{
{tensors}        this->SetInferShape(ge::InferShape).SetInferDataType(ge::InferDataType);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("{unit}");
    }}
}};
OP_ADD({op});
}}  // namespace ops
'''

BUILD = '''#!/bin/bash
# Lets msopgen of the installed CANN make the build files, puts the sources of this folder into them, and builds the package.
# Usage: bash build.sh [SoC]
''' + ENTER + '''msopgen="$(command -v msopgen || echo "$ASCEND_HOME_PATH/python/site-packages/bin/msopgen")"
soc="${{1:-{soc}}}"
rm -rf project
"$msopgen" gen -i {snake}.json -c "ai_core-$soc" -lan cpp -f aclnn -out project || "$msopgen" gen -i {snake}.json -c "ai_core-$soc" -lan cpp -out project
cp op_host/{snake}.cpp op_host/{snake}_tiling.h project/op_host/
cp op_kernel/{snake}.cpp project/op_kernel/
sed -i "s#/usr/local/Ascend/latest#$ASCEND_HOME_PATH#" project/CMakePresets.json
cd project
bash build.sh
echo "install: ./build_out/custom_opp_*.run --install-path=DIR && source DIR/vendors/{vendor}/bin/set_env.bash"
'''

MINDSPORE = '''"""{op} from MindSpore: the operator package must be installed. Not run on hardware by the one who wrote it."""
import mindspore as ms
from mindspore import ops

ms.set_device("Ascend")
{snake} = ops.Custom("{op}", out_shape=lambda *shapes: shapes[0], out_dtype=lambda *types: types[0], func_type="aot")
# z = {snake}(…)   with {inputs} input tensors
'''

ONNX_PLUGIN = '''// Lets ATC map an ONNX node of type {op} onto the operator: goes to framework/onnx_plugin/ of the package.
#include "register/register.h"

namespace domi {{
static Status ParseParams(const ge::Operator& source, ge::Operator& target)
{{
    (void)source;
    (void)target;   // no attributes to carry over
    return SUCCESS;
}}
REGISTER_CUSTOM_OP("{op}")
    .FrameworkType(ONNX)
    .OriginOpType("ai.onnx::11::{op}")
    .ParseParamsByOperatorFn(ParseParams)
    .ImplyType(ImplyType::TVM);
}}  // namespace domi
'''


def torch_call(e: Example, op: str) -> str:
    snake, inputs, outputs = snake_case(op), [v.name for v in e.of(INPUT)], [v.name for v in e.of(OUTPUT)]
    made = "".join(f"    at::Tensor {name} = at::empty_like({inputs[0] if inputs else 'x'});\n" for name in outputs)
    result = outputs[0] if len(outputs) == 1 else "{" + ", ".join(outputs) + "}"
    kind = "at::Tensor" if len(outputs) == 1 else "std::vector<at::Tensor>"
    schema = ", ".join(f"Tensor {n}" for n in inputs) + ") -> " + ("Tensor" if len(outputs) == 1 else "Tensor[]")
    return (f"// {op} from PyTorch on the device: build with torch_npu.utils.cpp_extension.NpuExtension.\n#include <torch/extension.h>\n#include \"op_plugin/utils/op_api_common.h\"\n\n"
            f"{kind} {snake}({', '.join(f'const at::Tensor& {n}' for n in inputs)})\n{{\n{made}    EXEC_NPU_CMD(aclnn{op}, {', '.join(inputs + outputs)});\n    return {result};\n}}\n\n"
            f"TORCH_LIBRARY(wb, m) {{ m.def(\"{snake}({schema}\"); }}\nTORCH_LIBRARY_IMPL(wb, PrivateUse1, m) {{ m.impl(\"{snake}\", TORCH_FN({snake})); }}\n")


def readme(op: str, snake: str, soc: str, vendor: str) -> str:
    return f"""# {op}, a custom-operator package

`{snake}.json` describes the operator, `op_host/` holds tiling and registration, `op_kernel/` the kernel. The build files come
from msopgen of the CANN that is installed. {MARK}

| what | command |
|---|---|
| tools on the path | `source set_env.sh` of CANN |
| package | `bash build.sh {soc}` |
| install | `./project/build_out/custom_opp_*.run --install-path=$HOME/opp && source $HOME/opp/vendors/{vendor}/bin/set_env.bash` |
| from C++ | `aclnn{op}GetWorkspaceSize(…)`, then `aclnn{op}(…)`: header `aclnn_{snake}.h`, library `libcust_opapi.so` |
| from MindSpore | `calls/{snake}_mindspore.py`; the first argument of ops.Custom is the operator type `{op}`, not a file |
| from PyTorch | `calls/{snake}_torch.cpp`, then `torch.ops.wb.{snake}(…)` |
| ONNX model to .om | `calls/{snake}_onnx_plugin.cpp` in the package, then `atc --model=m.onnx --framework=5 --output=m --soc_version={soc}` |
| MindSpore Lite | `converter_lite --fmk=ONNX --modelFile=m.onnx --outputFile=m --optimize=ascend_oriented:{soc}` |

`561003` at run time: no binary for this SoC. AddConfig in `op_host/{snake}.cpp` must name it; build and install again.
"""
