"""One operator has one name in three spellings; the tools of CANN derive them from each other."""
from __future__ import annotations

import re

from ..chips import ChipError, chip as find_chip
from ..errors import WorkbookError


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


UNITS = {"ascend910b": "ascend910b", "ascend910_9": "ascend910_93", "ascend310p": "ascend310p", "ascend310b": "ascend310b", "ascend910": "ascend910"}   # longest first


def compute_unit(soc: str) -> str:
    """What AddConfig and CMakePresets call a SoC."""
    name = soc.lower()
    return next((unit for prefix, unit in UNITS.items() if name.startswith(prefix)), name)


def official(soc: str | None, chip) -> str:
    """The SoC that a project of a kernel for `chip` is built for: a name that exists, of the same architecture."""
    if soc is None:
        return chip.name
    try:
        there = find_chip(soc)
    except ChipError:
        if compute_unit(str(soc)) in UNITS.values():
            return str(soc)                        # no profile of it: its family is taken to be the kernel's
        families = ", ".join("A" + unit[1:] for unit in UNITS.values())
        raise WorkbookError(f"soc={soc!r} is no SoC of {families}. It is \"Ascend\" and the name that npu-smi info shows; left out, the kernel's {chip.name}.") from None
    if there.npu_arch != chip.npu_arch:
        raise WorkbookError(f"The kernel is compiled for {chip.name}, and {there.name} has another architecture: compile it with chip=\"{there.name}\" first.")
    return there.name if there.name.lower().endswith(str(soc).lower()) else str(soc)      # an alias stays as it is
