"""The same operators on an Ascend device: names of an installed operator package instead of a library.

On the device `func` is the name of an operator, never a .so. MindSpore finds the package through ASCEND_CUSTOM_OPP_PATH or
ASCEND_OPP_PATH/vendors, reads aic-<soc>-ops-info.json and aclnn_<op>.h in it, and calls the two functions of aclnn.
Names of inputs, outputs and attributes must be those of the operator definition, in the same order.
"""
from __future__ import annotations

import re

from mindspore.ops import CustomRegOp, DataType

_TYPES = {"float32": DataType.F32_Default, "float16": DataType.F16_Default, "bfloat16": DataType.BF16_Default, "int32": DataType.I32_Default,
          "uint8": DataType.U8_Default, "int8": DataType.I8_Default, "bool": DataType.BOOL_Default, "int64": DataType.I64_Default}
_ATTRS = {float: "float", int: "int", bool: "bool", str: "str"}

SETUP = ("python $(python -c 'import mindspore, os; print(os.path.dirname(mindspore.__file__))')/lib/plugin/ascend/custom_compiler/setup.py "
         "--op_host_path=op_host --op_kernel_path=op_kernel --vendor_name=workbook --ascend_cann_package_path=$ASCEND_HOME_PATH -i")


def function(name: str, inputs: list[str], outputs: list[str], dtypes: list[str], fixed: dict[str, str] | None = None, attrs: dict | None = None):
    """func and reg_info of ops.Custom for an operator of an installed package."""
    reg = CustomRegOp(name)
    for i, one in enumerate(inputs):
        reg.input(i, one, "required")
    for i, one in enumerate(outputs):
        reg.output(i, one, "required")
    for dtype in [d for d in dtypes if d] or ["float32", "float16"]:
        reg.dtype_format(*(_TYPES[(fixed or {}).get(one, dtype)] for one in [*inputs, *outputs]))
    for key, value in (attrs or {}).items():
        reg.attr(key, "required", _ATTRS[type(value)], value=value)
    return name, reg.target("Ascend").get_op_info()


def entry_name(op_type: str) -> str:
    """RmsNormGrad -> rms_norm_grad: the file and the function of the kernel in an operator project."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op_type).lower()


def steps(op_type: str) -> str:
    """What to do once on a machine with CANN so that the same call finds the operator."""
    file = entry_name(op_type)
    return "\n".join([
        f"op_kernel/{file}.cpp   the kernel, with the entry {file}(…, GM_ADDR workspace, GM_ADDR tiling)",
        f"op_host/{file}.cpp     the operator definition {op_type}: inputs, outputs, types, and the tiling function",
        SETUP,
        "export ASCEND_CUSTOM_OPP_PATH=…/vendors/workbook        # where the step before has installed it",
        "mindspore.set_device(\"Ascend\")                           # from here on the same call resolves to the package",
    ])
