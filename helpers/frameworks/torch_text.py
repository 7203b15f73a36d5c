"""C++ words for an operator of libtorch: its parameters, its arguments, the types of its tensors."""
from __future__ import annotations

from ..errors import listed
from .op import Op

AT = {"float32": "at::kFloat", "float16": "at::kHalf", "bfloat16": "at::kBFloat16", "uint8": "at::kByte", "int32": "at::kInt"}
_CPP = {float: "double", int: "int64_t", bool: "bool"}       # of a number, as the schema wants it


def one_like_first(op: Op) -> None:
    """ValueError when an operator does not give one tensor of the type and shape of its first."""
    if len(op.outputs) != 1 or op.outputs[0] in op.fixed or op.zeroed:
        raise ValueError(f"{op.name} has the output{'s' * (len(op.outputs) > 1)} {listed(op.outputs)}; the C++ text is for operators with one output like their first tensor.")


def parameters(op: Op) -> str:
    """"const at::Tensor& x, double eps"."""
    return ", ".join([f"const at::Tensor& {t}" for t in op.inputs] + [f"{_CPP[type(d)]} {n}" for n, d in op.attrs.items()])


def arguments(op: Op) -> str:
    """"x, eps"."""
    return ", ".join([*op.inputs, *op.attrs])


def is_one_of(tensor: str, dtypes) -> str:
    """The condition that a tensor has one of these types."""
    return " || ".join(f"{tensor}.scalar_type() == {AT[d]}" for d in dtypes)


def checks_of_others(op: Op) -> list[str]:
    """One TORCH_CHECK for the type of each tensor but the first."""
    first = f"{op.inputs[0]}.scalar_type()"
    return [f'TORCH_CHECK({t}.scalar_type() == {AT[op.fixed[t]] if t in op.fixed else first}, "{op.name}: {t} is ", {t}.scalar_type());' for t in op.inputs[1:]]
