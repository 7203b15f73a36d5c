"""The infer functions of an operator: from shapes and types of its inputs to those of its outputs, with a look at both.

What MindSpore does not understand it hands on, and stumbles over it much later, without a word about the cause.
"""
from __future__ import annotations

from inspect import Parameter, signature

import mindspore as ms
import numpy as np

from .op import Op

_NAMES = {ms.float32: "float32", ms.float16: "float16", ms.bfloat16: "bfloat16", ms.float64: "float64", ms.int32: "int32", ms.int64: "int64",
          ms.int16: "int16", ms.int8: "int8", ms.uint8: "uint8", ms.bool_: "bool"}
TYPES = {name: dtype for dtype, name in _NAMES.items()}


def name_of(dtype) -> str:
    """NumPy's name of a type of MindSpore."""
    return _NAMES.get(dtype, str(dtype))


def inputs(function) -> int:
    """Inputs of an operator: the parameters of its infer_shape."""
    if not callable(function):
        raise TypeError(f"infer_shape={function!r} is no function. It gets the shapes of the inputs and returns that of the output, "
                        "for example lambda x, gamma: x.")
    found = signature(function).parameters.values()
    if any(p.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD) for p in found):
        raise TypeError("infer_shape names its inputs one by one, for example lambda x, gamma: x. Their number is the operator's number of inputs.")
    return len(found)


def outputs(infer_shape) -> int:
    """Outputs of an operator: what infer_shape returns for stand-ins of shapes."""
    out = infer_shape(*(_AnyShape() for _ in range(inputs(infer_shape))))
    return len(out) if isinstance(out, tuple) else 1


class _AnyShape(list):
    """A shape of which nothing is known but that it has enough dimensions."""
    def __init__(self):
        super().__init__([8] * 8)


def checked(infer_shape):
    """infer_shape with a look at what it gets and returns: MindSpore takes 5.0 or -1 for a size and stumbles over it much later."""
    names = list(signature(infer_shape).parameters)

    def shape(*shapes):
        _check_known(names, shapes)
        out = infer_shape(*shapes)
        for one in out if isinstance(out, tuple) else (out,):
            if not isinstance(one, (list, tuple)):
                raise TypeError(f"infer_shape returns a list of sizes for an output, or a tuple of such lists; it returned {one!r}.")
            for size in one:
                if not isinstance(size, (int, np.integer)):
                    raise TypeError(f"infer_shape returned {list(one)}: {size!r} is a {type(size).__name__}, and sizes are whole numbers. Divide with //.")
                if size < 0:
                    raise ValueError(f"infer_shape returned {list(one)}: no size is negative. Shapes are static here; compute each size "
                                     "from those of the inputs.")
        return out
    return shape


def checked_dtype(infer_dtype):
    """infer_dtype with a look at what it returns: MindSpore takes None for a type of two bytes. It may be a type itself."""
    if isinstance(infer_dtype, (ms.Type, tuple, list)):
        return infer_dtype

    def dtype(*types):
        out = infer_dtype(*types)
        for one in out if isinstance(out, (tuple, list)) else (out,):
            if one is None or isinstance(one, (str, type, int, np.dtype)):
                raise TypeError(f"infer_dtype returned {one!r}, which is no type of MindSpore. Return that of an input, or one such as mindspore.float32.")
        return out
    return dtype


def _check_known(names, shapes) -> None:
    """ValueError for a shape with -1 in it, as a graph has it for a tensor whose sizes come later."""
    for name, one in zip(names, shapes):
        if isinstance(one, (list, tuple)) and any(size < 0 for size in one):
            raise ValueError(f"The shape of {name} is {list(one)}, where a negative size is one that is known only at the call. Shapes are static here, "
                             "as each has a tiling of its own: give set_inputs tensors with all their sizes, or leave it out; then a graph is "
                             "compiled for each shape.")


def functions(found: Op):
    """infer_shape and infer_dtype of an operator of the catalogue, with as many parameters as it has inputs."""
    def shape(*shapes):
        found.count(len(shapes))
        for name, one in zip(found.inputs, shapes):
            if not isinstance(one, (list, tuple)):
                raise TypeError(f"{name} of {found.name} is no tensor, it has no shape. Make one: mindspore.Tensor(…)")
        _check_known(found.inputs, shapes)
        out = [list(s) for s in found.shapes(*(tuple(s) for s in shapes))]
        return out[0] if len(out) == 1 else tuple(out)

    def dtype(*types):
        found.count(len(types))
        types = [t.element_type() if hasattr(t, "element_type") else t for t in types]      # a type, or that of a tensor
        for name, type_ in zip(found.inputs, types):
            if type_ not in _NAMES:
                raise TypeError(f"{name} of {found.name} is no tensor of numbers (its type is {type_}). Make one: mindspore.Tensor(…)")
        names = [_NAMES[t] for t in types]
        found.check_dtypes(*names)
        out = [TYPES[n] for n in found.out_dtypes(*names)]
        return out[0] if len(out) == 1 else tuple(out)
    return shape, dtype
