"""Kernels as operators of ONNX: export from torch, shapes, ONNX Runtime with our library, and every way to get it wrong."""
import logging
import re

import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from helpers.course import load

for _name in ("torch", "onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(_name, reason=f"{_name} is not installed: pip install 'ascend-c-workbook[torch,onnx]'")

import onnx                                                         # noqa: E402
import onnxruntime                                                  # noqa: E402
import torch                                                        # noqa: E402
from onnx import TensorProto, helper                                # noqa: E402

from helpers.frameworks import launcher                             # noqa: E402
from helpers.frameworks import onnx as workbook                     # noqa: E402
from helpers.frameworks import op as one_op                         # noqa: E402
from helpers.frameworks import ops as catalogue                     # noqa: E402
from helpers.frameworks import torch as torch_ops                   # noqa: E402

KIND = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8, "bfloat16": TensorProto.BFLOAT16}
SHAPES = {"rope": [(5, 3, 16), (5, 8), (5, 8)], "attention": [(1, 4, 9, 32), (1, 2, 13, 32), (1, 2, 13, 32)], "fused_mha": [(1, 17, 128)] + 4 * [(128, 128)]}


class Turned(torch.nn.Module):
    def forward(self, x, cos, sin):
        return torch_ops.op("rope")(x, cos, sin)


class TurnedByHand(torch.nn.Module):
    def forward(self, x, cos, sin):
        (a, b), c, s = x.chunk(2, -1), cos[:, None], sin[:, None]
        return torch.cat([a * c - b * s, b * c + a * s], -1)


def rope_inputs(positions: int, dtype=np.float32):
    rng = np.random.default_rng(positions)
    angle = rng.random((positions, 8))
    return {"x": rng.standard_normal((positions, 3, 16)).astype(dtype), "cos": np.cos(angle).astype(dtype), "sin": np.sin(angle).astype(dtype)}


def turned(x, cos, sin):
    return catalogue.find("rope").reference(*(a.astype(np.float64) for a in (x, cos, sin)))


@pytest.fixture(scope="module")
def models():
    tensors = tuple(torch.from_numpy(a) for a in rope_inputs(5).values())
    positions = {0: torch.export.Dim("positions")}
    return [workbook.export(module, tensors, dynamic_shapes={"x": positions, "cos": positions, "sin": positions}) for module in (Turned(), TurnedByHand())]


def one_node(name: str, dtype: str, shapes, attributes=None, imports=True) -> onnx.ModelProto:
    """A model that is one of our operators."""
    op = catalogue.find(name)
    values = [helper.make_tensor_value_info(t, KIND[op.fixed.get(t, dtype)], s) for t, s in zip(op.inputs, shapes)]
    results = [helper.make_tensor_value_info(f"{t}_out", KIND[dtype], shapes[0]) for t in op.outputs]
    node = helper.make_node(workbook.op_type(name), list(op.inputs), [f"{t}_out" for t in op.outputs], domain=workbook.DOMAIN, **(attributes or {}))
    sets = [helper.make_opsetid("", 20)] + ([helper.make_opsetid(workbook.DOMAIN, workbook.VERSION)] if imports else [])
    return helper.make_model(helper.make_graph([node], "one", values, results), opset_imports=sets, ir_version=10)


# ---- export
def test_one_node_instead_of_ten(models):
    ours, by_hand = models
    assert workbook.nodes(ours) == ["wb::RoPE"] and len(workbook.nodes(by_hand)) == 10
    assert {o.domain: o.version for o in ours.opset_import}["wb"] == 1
    assert [o.domain for o in by_hand.opset_import if o.domain not in ("", "ai.onnx")] == []
    onnx.checker.check_model(ours)


def test_the_model_as_a_tree(models):
    lines = workbook.tree(models[0]).splitlines()
    assert "│  ├─ wb 1" in lines or "│  └─ wb 1" in lines
    assert "│  └─ wb::RoPE(x, cos, sin) -> rope" in lines and lines[-1] == "   └─ rope: float [positions, 3, 16]"


def test_both_models_compute_rope_at_every_length(models):
    sessions = [workbook.session(m) for m in models]
    for positions in (1, 7, 64):
        feed = rope_inputs(positions)
        ours, by_hand = (s.run(None, feed)[0] for s in sessions)
        hp.check(ours, turned(**feed))
        hp.check(by_hand, turned(**feed))
    assert sessions[0].run(None, {k: v[:0] for k, v in feed.items()})[0].shape == (0, 3, 16)


def test_attributes_travel_in_the_model():
    class Net(torch.nn.Module):
        def forward(self, x, gamma):
            return torch_ops.op("rms_norm")(x, gamma, 0.25) + 1

    x, gamma = torch.randn(4, 33), torch.rand(33)
    module, level = Net().train(), logging.getLogger("torch.onnx").level
    model = workbook.export(module, (x, gamma))
    assert module.training and logging.getLogger("torch.onnx").level == level          # as they were
    assert workbook.nodes(model) == ["wb::RMSNorm", "Add"] and helper.get_attribute_value(model.graph.node[0].attribute[0]) == 0.25
    y, = workbook.session(model).run(None, {"x": x.numpy(), "gamma": gamma.numpy()})
    hp.check(y, torch.nn.functional.rms_norm(x.double(), (33,), gamma.double(), 0.25).numpy() + 1)


# ---- every operator of the library
def from_float(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model of bfloat16 behind casts: NumPy has no such type, and so ONNX Runtime takes and gives float32."""
    graph = model.graph
    for value in graph.input:
        if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
            graph.node.insert(0, helper.make_node("Cast", [value.name], [f"{value.name}_bf16"], to=TensorProto.BFLOAT16))
            graph.node[-1].input[:] = [f"{n}_bf16" if n == value.name else n for n in graph.node[-1].input]
    for value in graph.output:
        graph.node.append(helper.make_node("Cast", [value.name], [f"{value.name}_wide"], to=TensorProto.FLOAT))
        value.name, value.type.tensor_type.elem_type = f"{value.name}_wide", TensorProto.FLOAT
    return model


@pytest.mark.parametrize("name, dtype", [(n, d) for n in workbook.NAMES for d in catalogue.find(n).dtypes])
def test_operators(name, dtype):
    op, rng, brief = catalogue.find(name), np.random.default_rng(3), dtype == "bfloat16"
    shapes = SHAPES.get(name) or [(33,) if t in ("gamma", "beta") else (4, 33) for t in op.inputs]
    feed = {t: rng.random(s) > 0.7 if t in op.fixed else rng.standard_normal(s) / (11 if name == "fused_mha" and t != "x" else 1) for t, s in zip(op.inputs, shapes)}
    feed = {t: a.astype(op.fixed.get(t, ml_dtypes.bfloat16 if brief else dtype)) for t, a in feed.items()}
    right = op.reference(*(a if a.dtype == np.uint8 else a.astype(np.float64) for a in feed.values()), **op.attrs)
    model = one_node(name, dtype, shapes)
    found = workbook.session(from_float(model) if brief else model).run(None, {t: a.astype(np.float32) if a.dtype.name == "bfloat16" else a for t, a in feed.items()})
    for a, b in zip(found, right if isinstance(right, tuple) else (right,)):
        assert a.dtype == ("float32" if brief else dtype)
        if name == "fused_mha":                # several products in half, one after the other
            assert np.abs(a - b).max() < (3e-2 if brief else 4e-3) * np.abs(b).max()
        else:
            hp.check(a, b, dtype=dtype)


def test_whole_numbers_as_attributes():
    op, rng = catalogue.find("attention"), np.random.default_rng(5)
    feed = {t: rng.standard_normal(s).astype(np.float32) for t, s in zip(op.inputs, SHAPES["attention"])}
    for causal, scale in ((1, 0.25), (0, 0.5)):
        found, = workbook.session(one_node("attention", "float32", SHAPES["attention"], {"causal": causal, "scale": scale})).run(None, feed)
        hp.check(found, op.reference(*(a.astype(np.float64) for a in feed.values()), bool(causal), scale))

    class Net(torch.nn.Module):
        def forward(self, q, k, v):
            return torch_ops.op("attention")(q, k, v, True)

    model = workbook.export(Net(), tuple(torch.from_numpy(a) for a in feed.values()))
    assert {a.name: helper.get_attribute_value(a) for a in model.graph.node[0].attribute} == {"causal": 1, "scale": 0.0} and "causal=1" in workbook.tree(model)
    hp.check(workbook.session(model).run(None, feed)[0], op.reference(*(a.astype(np.float64) for a in feed.values()), True, 0.0))


def test_the_library_names_every_operator_whose_output_is_like_its_first_tensor():
    assert all(not catalogue.find(n).zeroed for n in workbook.NAMES)
    assert len({workbook.op_type(n) for n in workbook.NAMES}) == len(workbook.NAMES)
    assert workbook.table().count('    {"') == sum(len(catalogue.find(n).dtypes) for n in workbook.NAMES)


# ---- shapes
def test_shapes_are_inferred_behind_our_operators():
    model = one_node("rope", "float32", [(5, 3, 16), (5, 8), (5, 8)])
    model.graph.node.append(helper.make_node("Relu", ["y_out"], ["z"]))
    model.graph.output[0].name = "z"
    model.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = workbook.infer_shapes(model)
    shape = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in [*inferred.graph.value_info, *inferred.graph.output]}
    assert shape == {"y_out": [5, 3, 16], "z": [5, 3, 16]}


def test_wrong_types_are_found_before_anything_runs():
    model = one_node("rope", "float32", [(5, 3, 16), (5, 8), (5, 8)])
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.FLOAT16
    with pytest.raises(onnx.shape_inference.InferenceError, match="RoPE.: cos has inconsistent type"):
        workbook.infer_shapes(model)
    refused(lambda: workbook.session(model), "no kernel def matches node inputs for Op: RoPE")


# ---- getting it wrong
def refused(call, word):
    with pytest.raises(Exception, match=word) as caught:
        call()
    assert type(caught.value).__module__.startswith("onnxruntime")


def test_without_the_library_the_operator_is_unknown(models):
    refused(lambda: onnxruntime.InferenceSession(models[0].SerializeToString(), providers=["CPUExecutionProvider"]), "wb:RoPE.* is not a registered function/op")


def test_without_the_import_the_checker_objects():
    model = one_node("rope", "float32", [(5, 3, 16), (5, 8), (5, 8)], imports=False)
    with pytest.raises(onnx.checker.ValidationError, match="No opset import for domain 'wb'"):
        onnx.checker.check_model(model)
    with pytest.raises(onnx.shape_inference.InferenceError, match="No opset import for domain wb"):
        workbook.infer_shapes(model)


@pytest.mark.parametrize("name, attributes, words", [
    ("rms_norm", {"epsilon": 1e-3}, "rms_norm has no attribute epsilon; it has eps"),
    ("rms_norm", {"eps": 1}, "eps of the node RMSNorm is INT in the model, and rms_norm reads FLOAT. Give make_node a value such as eps=1e-06"),
    ("rms_norm", {"eps": "1"}, "is no number"), ("attention", {"causal": 1.0}, "causal=1.0 of attention is no truth value"),
    ("fused_mha", {"heads": 4.5}, "heads=4.5 of fused_mha is no whole number")])
def test_an_attribute_that_nobody_reads(name, attributes, words, tmp_path):
    model = one_node(name, "float32", SHAPES.get(name, [(2, 8), (8,)]), attributes)
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    for given in (model, model.SerializeToString(), file, str(file)):
        with pytest.raises(TypeError, match=re.escape(words)):
            workbook.session(given)
    inside = helper.make_graph([], "branch", [], [])
    inside.node.extend(model.graph.node)
    model.graph.node[0].CopyFrom(helper.make_node("If", ["x"], ["y_out"], then_branch=inside))
    with pytest.raises(TypeError, match=re.escape(words)):
        workbook.check_attributes(model)


def test_what_is_no_model_is_left_to_onnxruntime(tmp_path):
    for wrong in (b"not a model", tmp_path / "missing.onnx"):
        refused(lambda wrong=wrong: workbook.session(wrong), "InvalidProtobuf|INVALID_PROTOBUF|NO_SUCHFILE|NoSuchFile|INVALID_ARGUMENT|ModelProto")


def test_wrong_inputs(models):
    session, feed = workbook.session(models[0]), rope_inputs(4)
    refused(lambda: session.run(None, {**feed, "cos": feed["cos"].astype(np.float16)}), "Unexpected input data type")
    refused(lambda: session.run(None, {**feed, "cos": feed["cos"][:3]}), "rope: x has positions, heads and an even dim")
    hp.check(session.run(None, feed)[0], turned(**feed))
    doubles = one_node("rope", "float32", [(5, 3, 16), (5, 8), (5, 8)])
    for v in [*doubles.graph.input, *doubles.graph.output]:
        v.type.tensor_type.elem_type = TensorProto.DOUBLE
    refused(lambda: workbook.session(doubles), "tensor.double.")


def test_deleted_kernel(models, monkeypatch):
    """A plan names the kernel's library. Without it a run fails with words; the process and later runs are fine."""
    own = hp.compile(load("rope", "ladder").VERSIONS[0].path, name="rope_float", defines={"ONLY_FOR_THIS_TEST": 1})
    session, feed = workbook.session(models[0]), rope_inputs(13)
    for plan in launcher.folder_of(catalogue.find("rope")).glob("*_13x3x16*"):
        plan.unlink()
    monkeypatch.setattr(one_op, "_kernel", lambda *_: own)
    hp.check(session.run(None, feed)[0], turned(**feed))
    own.built.path.unlink()
    refused(lambda: session.run(None, feed), "compiled library of rope_float is gone")
    monkeypatch.undo()
    hp.check(session.run(None, feed)[0], turned(**feed))


def test_the_launcher_counts_what_ran(models):
    session, before = workbook.session(models[0]), launcher.totals()
    session.run(None, rope_inputs(3))
    after = launcher.totals()
    assert after[0] == before[0] + 1 and after[1] > before[1]
