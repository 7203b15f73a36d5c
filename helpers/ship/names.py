"""One operator has one name in three spellings; the tools of CANN derive them from each other."""
from __future__ import annotations

import re


def snake_case(op: str) -> str:
    """File, kernel function and aclnn header of an operator type: ShuffleNetUnitCustom -> shuffle_net_unit_custom."""
    out = op[:1].lower()
    for before, letter, after in zip(op, op[1:], op[2:] + " "):
        if letter.isupper() and (before.islower() or before.isdigit() or before.isupper() and after.islower()):
            out += "_"
        out += letter.lower()
    return out


def camel_case(kernel: str) -> str:
    """An operator type for a kernel name: add_custom -> AddCustom."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", kernel) if part)


def compute_unit(soc: str) -> str:
    """What AddConfig and CMakePresets call a SoC."""
    name = soc.lower()
    for prefix, unit in (("ascend910b", "ascend910b"), ("ascend910_9", "ascend910_93"), ("ascend310p", "ascend310p"), ("ascend310b", "ascend310b"),
                         ("ascend910", "ascend910")):
        if name.startswith(prefix):
            return unit
    return name
