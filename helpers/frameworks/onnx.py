"""Kernels as operators of an ONNX model: exported from torch in a domain of their own, run by ONNX Runtime on the twin.

    model = export(module, (x, cos, sin))        # nodes wb::RoPE instead of a dozen of small ones
    y, = session(model).run(None, {"x": x, ...}) # a session that has registered library()

A model holds the name of an operator, never its code. The code comes in a library that every session must register; ours
speaks ONNX Runtime's C interface and hands the tensors to the launcher.
"""
from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ..build.cache import Cache, key
from ..build.compiler import find
from ..errors import SetupError
from . import launcher, ops as catalogue
from .op import Op

DOMAIN, VERSION = "wb", 1
HERE = Path(__file__).parent
SOURCE, LIBRARY = HERE / "onnxruntime_ops.cpp", "libworkbook_onnx.so"
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-shared")
# Kernels whose outputs have the shape of their first tensor.
NAMES = ("add", "add_rms_norm", "attention", "copy", "fused_mha", "gelu", "layer_norm", "masked_softmax", "mul", "rms_norm", "rope", "silu", "sinh", "softmax", "swiglu")
_WRITTEN = {"rope": "RoPE", "swiglu": "SwiGLU", "silu": "SiLU", "gelu": "GELU", "rms_norm": "RMSNorm", "add_rms_norm": "AddRMSNorm", "fused_mha": "FusedMHA"}
_ONNX_TYPE = {"float32": "tensor(float)", "float16": "tensor(float16)", "bfloat16": "tensor(bfloat16)", "uint8": "tensor(uint8)", "int32": "tensor(int32)"}
_ORT_TYPE = {"float32": "FLOAT", "float16": "FLOAT16", "bfloat16": "BFLOAT16", "uint8": "UINT8", "int32": "INT32"}


def op_type(name: str) -> str:
    """The name in a model: "rope" is RoPE, "masked_softmax" MaskedSoftmax."""
    return _WRITTEN.get(name) or "".join(part.capitalize() for part in name.split("_"))


def operators() -> dict[str, Op]:
    """{op_type: Op}: what library() holds."""
    return {op_type(name): catalogue.find(name) for name in NAMES}


# ---- ONNX Runtime
def table() -> str:
    """onnxruntime_table.h: one row for each operator and element type."""
    rows = []
    for written, op in operators().items():
        numbers = ", ".join(f'{{"{n}", {str(not isinstance(v, float)).lower()}, {float(v)!r}}}' for n, v in op.attrs.items())
        for dtype in op.dtypes:
            kinds = [", ".join(f"ONNX_TENSOR_ELEMENT_DATA_TYPE_{_ORT_TYPE[op.fixed.get(t, dtype)]}" for t in names) for names in (op.inputs, op.outputs)]
            rows.append(f'    {{"{written}", {{{kinds[0]}}}, {{{kinds[1]}}}, {{{numbers}}}, "{launcher.folder_of(op)}"}},')
    return f'const char* const DOMAIN_NAME = "{DOMAIN}";\nconst std::vector<Row> ROWS = {{\n' + "\n".join(rows) + "\n};\n"


@lru_cache(maxsize=None)
def library() -> Path:
    """The library of custom operators for SessionOptions.register_custom_ops_library."""
    compiler, cache, start, text = find(), Cache(), launcher.library(), table()
    texts = [p.read_text() for p in (SOURCE, HERE / "onnxruntime_abi.h", launcher.HEADER)]
    full = key("onnxruntime", *texts, text, str(start), "\0".join(FLAGS), compiler.identity)

    def make(scratch: Path) -> None:
        (scratch / "onnxruntime_table.h").write_text(text)
        done = compiler.run([*FLAGS, f"-I{HERE}", f"-I{scratch}", SOURCE, start, f"-Wl,-rpath,{start.parent}", "-o", scratch / LIBRARY])
        if done.returncode:
            raise SetupError(f"The operators for ONNX Runtime did not compile with {compiler}.\n{done.stdout[-2000:]}")
    return cache.build(full, "onnxruntime", make, "operators for ONNX Runtime") / LIBRARY


def session(model, options=None):
    """An InferenceSession for a model (ModelProto, bytes or path) with our operators registered."""
    import onnxruntime
    if options is None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4                      # errors come as exceptions; once is enough
    options.register_custom_ops_library(str(library()))
    given = model.SerializeToString() if isinstance(model, onnx.ModelProto) else os.fspath(model) if isinstance(model, os.PathLike) else model
    check_attributes(model)
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def check_attributes(model) -> None:
    """TypeError for an attribute that one of our nodes has and its operator does not read: ONNX Runtime would take the default, and say nothing."""
    if not isinstance(model, onnx.ModelProto):
        try:
            model = onnx.load_model_from_string(model) if isinstance(model, bytes) else onnx.load(model, load_external_data=False)
        except (DecodeError, OSError):
            return                                          # ONNX Runtime says what it thinks of it
    graphs = [model.graph, *model.functions]
    for graph in graphs:                                    # those inside of its nodes come behind it
        for node in graph.node:
            graphs += [g for a in node.attribute for g in (a.g, *a.graphs) if g.node]
            op = operators().get(node.op_type) if node.domain == DOMAIN else None
            for a in node.attribute if op else ():
                if a.ref_attr_name:                         # the attribute of a function
                    continue
                op.values({a.name: onnx.helper.get_attribute_value(a)})
                wanted = onnx.AttributeProto.FLOAT if isinstance(op.attrs[a.name], float) else onnx.AttributeProto.INT
                if a.type != wanted:
                    said, reads = (onnx.AttributeProto.AttributeType.Name(t) for t in (a.type, wanted))
                    raise TypeError(f"{a.name} of the node {node.op_type} is {said} in the model, and {op.name} reads {reads}. "
                                    f"Give make_node a value such as {a.name}={_number(op.attrs[a.name])!r}.")


# ---- export from torch
def translations() -> dict[Callable, Callable]:
    """What the exporter of torch must know: {torch.ops.wb.rope.default: a function that makes the node wb::RoPE}."""
    import torch

    from . import torch as workbook
    register_schemas()
    found = {}
    for written, op in operators().items():
        workbook.op(op.name)
        found[getattr(getattr(torch.ops, workbook.NAMESPACE), op.name).default] = _node_maker(written, op)
    return found


def _node_maker(written: str, op: Op) -> Callable:
    from onnxscript import values
    make = getattr(values.Opset(DOMAIN, VERSION), written)
    return lambda *args: make(*args[:len(op.inputs)], **{n: _number(v) for n, v in zip(op.attrs, args[len(op.inputs):])})


def _number(value):
    """An attribute is a FLOAT or an INT; a bool is an INT."""
    return int(value) if isinstance(value, bool) else value


def export(module, args: tuple, **options) -> onnx.ModelProto:
    """The model of a torch module, for inference. options: of torch.onnx.export (dynamic_shapes, input_names, …)."""
    import torch
    training = module.training
    log = logging.getLogger("torch.onnx")
    level = log.level
    try:
        module.eval()
        log.setLevel(logging.ERROR)                         # what the exporter says of packages that nobody asked for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.filterwarnings("ignore", "# The axis name")      # one name for two axes is what a shared Dim means
            program = torch.onnx.export(module, args, dynamo=True, custom_translation_table=translations(), **{"verbose": False, **options})
    finally:
        log.setLevel(level)
        module.train(training)
    return program.model_proto


# ---- models
@lru_cache(maxsize=None)
def register_schemas() -> None:
    """Tells the onnx package our operators: its checker then knows their inputs, and shape inference goes on behind them."""
    import onnx.reference                  # noqa: F401  its import counts the operators, and expects no name in two domains
    from onnx import defs
    Parameter = defs.OpSchema.FormalParameter
    for written, op in operators().items():
        def formal(names, op=op):
            return [Parameter(n, _ONNX_TYPE[op.fixed[n]] if n in op.fixed else "T") for n in names]
        schema = defs.OpSchema(
            written, DOMAIN, VERSION, op.title, inputs=formal(op.inputs), outputs=formal(op.outputs),
            type_constraints=[("T", [_ONNX_TYPE[d] for d in op.dtypes], "")],
            attributes=[defs.OpSchema.Attribute(n, onnx.helper.make_attribute(n, _number(v)), "") for n, v in op.attrs.items()])
        schema.set_type_and_shape_inference_function(_like_first(op))
        defs.register_schema(schema)


def _like_first(op: Op) -> Callable:
    def infer(context):
        for i in range(len(op.outputs)):
            context.set_output_type(i, context.get_input_type(0))
    return infer


def infer_shapes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Shapes of all values, also behind our operators; an operator that does not fit its inputs is an error."""
    register_schemas()
    return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)


def nodes(model: onnx.ModelProto) -> list[str]:
    """"wb::RoPE", "Add", … in the order of the graph."""
    return [f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in model.graph.node]


def tree(model: onnx.ModelProto) -> str:
    """The model file as an outline: imports, inputs, nodes, outputs."""
    def value(v):
        t = v.type.tensor_type
        dims = ", ".join(d.dim_param or str(d.dim_value) if d.WhichOneof("value") else "?" for d in t.shape.dim)
        return f"{v.name}: {onnx.TensorProto.DataType.Name(t.elem_type).lower()} [{dims}]"

    def node(n):
        numbers = "".join(f", {a.name}={onnx.helper.get_attribute_value(a):.6g}" for a in n.attribute if a.type in (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT))
        return f"{n.domain + '::' if n.domain else ''}{n.op_type}({', '.join(n.input)}{numbers}) -> {', '.join(n.output)}"

    graph = model.graph
    groups = [("opset imports", [f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import]), ("inputs", [value(v) for v in graph.input]),
              ("weights", [f"{t.name}: {list(t.dims)}" for t in graph.initializer]), ("nodes", [node(n) for n in graph.node]), ("outputs", [value(v) for v in graph.output])]
    groups, lines = [g for g in groups if g[1]], ["model"]
    for title, items in groups:
        last = title == groups[-1][0]
        lines.append(f"{'└─' if last else '├─'} {title}")
        lines += [f"{'  ' if last else '│ '} {'└─' if i == len(items) - 1 else '├─'} {item}" for i, item in enumerate(items)]
    return "\n".join(lines)
