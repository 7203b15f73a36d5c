"""Arrays that do not belong to a ladder's kernel are refused before the launch: their bytes would be read as something else."""
import ml_dtypes
import numpy as np
import pytest

from helpers.course import load
from helpers.course.fitting import element
from helpers.frameworks import ops as catalogue

attention = load("attention", "ladder")


def zeros(*shape, dtype=np.float16):
    return np.zeros(shape, dtype)


ARRAYS = dict(q=zeros(1, 4, 9, 32), k=zeros(1, 2, 12, 32), v=zeros(1, 2, 12, 32), o=zeros(1, 4, 9, 32))


@pytest.mark.parametrize("name, array, says", [
    ("mask", zeros(12, 9, dtype=np.uint8), r"mask has the shape \(12, 9\).*\(9, 12\) or \(1, 9, 12\)"),
    ("mask", zeros(1, 4, 9, 12, dtype=np.uint8), "mask has the shape"),
    ("mask", zeros(9, 12, dtype=np.float32), "float32; a mask holds one byte per score"),
    ("k", zeros(1, 2, 12, 16), r"k has the shape \(1, 2, 12, 16\)|v has the shape"),
    ("k", zeros(2, 2, 12, 32), r"k has the shape \(2, 2, 12, 32\).*\(1, 2, 12, 32\)"),
    ("v", zeros(1, 2, 6, 32), r"v has the shape"),
    ("o", zeros(1, 2, 9, 32), r"o has the shape"),
    ("p", zeros(1, 4, 12, 9), r"p has the shape"),
    ("q", zeros(1, 4, 9, 32, dtype=np.float64), "float64; this kernel exists for float16, bfloat16 and float32"),
    ("q", zeros(1, 4, 9, 32, dtype=np.float32), "v5: the cube takes half and bfloat16 here; v2 takes float32"),
])
def test_attention_refuses_arrays_that_do_not_belong_together(name, array, says):
    with pytest.raises(ValueError, match=says):
        attention.launch(attention.VERSIONS[4], **{**ARRAYS, name: array})


def test_attention_takes_what_belongs_together():
    for mask in (None, zeros(9, 12, dtype=np.uint8), zeros(1, 9, 12, dtype=bool)):
        attention.agree(**ARRAYS, mask=mask, p=zeros(1, 4, 9, 12))


def test_a_head_without_elements():
    with pytest.raises(ValueError, match="dim must be at least 1"):
        attention.tiling(attention.VERSIONS[1], zeros(1, 1, 4, 0), zeros(1, 1, 4, 0))


@pytest.mark.parametrize("version, sizes, says", [(1, dict(block=12), "v2: block=12 has to be a positive multiple of 8"), (0, dict(rows=-1), "v1: rows=-1 has to be positive"),
                                                  (2, dict(rows=24), "v3: rows=24 has to be a positive multiple of 16"), (4, dict(block=-16), "v5: block=-16")])
def test_tiles_of_whole_steps(version, sizes, says):
    with pytest.raises(ValueError, match=says):
        attention.tiling(attention.VERSIONS[version], ARRAYS["q"], ARRAYS["k"], **sizes)


@pytest.mark.parametrize("version", attention.VERSIONS, ids=lambda v: v.name)
def test_no_query_is_no_work(version):
    none, k = zeros(1, 4, 0, 32), ARRAYS["k"]
    run = attention.launch(version, none, k, k, none.copy())
    assert [f for f in run.findings if f.severity != "note"] == []
    if version.name == "v5":
        for tasks in attention.plans.SCHEDULES:
            attention.launch(version, none, k, k, none.copy(), tasks=tasks)


@pytest.mark.parametrize("name, others", [("rms_norm", 2), ("softmax", 1), ("layer_norm", 3)])
def test_rows_need_a_column(name, others):
    ladder = load(name, "ladder")
    for shape in ((4, 0), (7,)):
        with pytest.raises(ValueError, match=r"x has the shape .*at least one column"):
            ladder.launch(ladder.VERSIONS[-1], np.zeros(shape, np.float32), *[np.zeros(shape, np.float32)] * others)


@pytest.mark.parametrize("name, others", [("rms_norm", 2), ("softmax", 1), ("layer_norm", 3), ("gelu", 1), ("sinh", 1), ("swiglu", 1), ("rope", 3), ("_template", 1), ("copy", 1), ("add", 2)])
def test_other_element_types_are_not_taken_for_float(name, others):
    ladder = load(name, "ladder")
    for dtype in (np.int32, np.float64):
        x = np.ones((4, 16), dtype)
        with pytest.raises(ValueError, match=f"The elements are {np.dtype(dtype).name}; this kernel exists for float16, bfloat16 and float32"):
            ladder.launch(getattr(ladder, "FINISHED", ladder.VERSIONS[-1]), x, *[x] * others)


@pytest.mark.parametrize("name, version, others, dtype", [("add", 6, 2, np.float32), ("copy", 0, 1, np.float16)])
def test_versions_for_one_type(name, version, others, dtype):
    x, ladder = np.ones(64, dtype), load(name, "ladder")
    with pytest.raises(ValueError, match=f"The elements are {np.dtype(dtype).name}; this kernel exists for float"):
        ladder.launch(ladder.VERSIONS[version], x, *[x] * others)


@pytest.mark.parametrize("name, shapes", [("rms_norm", [(3, 0), (0,)]), ("softmax", [(0, 8)]), ("softmax", [(3, 0)]), ("layer_norm", [(2, 0), (0,), (0,)]), ("copy", [(0,)])])
def test_nothing_is_computed_of_nothing(name, shapes):
    op, arrays = catalogue.find(name), [zeros(*s, dtype=np.float32) for s in shapes]
    assert [y.shape for y in op(*arrays)] == [shapes[0]]
    with pytest.raises(ValueError, match=f"{name}: its outputs have no element"):
        op.plan(arrays)


matmul, mha = load("matmul", "ladder"), load("fused_mha", "ladder")
FACTORS = dict(a=zeros(8, 16), b=zeros(16, 24), c=zeros(8, 24, dtype=np.float32))


@pytest.mark.parametrize("changed, says", [
    (dict(b=zeros(24, 24)), r"b has the shape \(24, 24\).*\(16, 24\)"),
    (dict(c=zeros(24, 8, dtype=np.float32)), r"c has the shape \(24, 8\).*\(8, 24\)"),
    (dict(a=zeros(8, 0), b=zeros(0, 24)), "at least one row and one column"),
    (dict(b=zeros(16, 24, dtype=ml_dtypes.bfloat16)), "A is float16 and B is bfloat16"),
    (dict(a=zeros(8, 16, dtype=np.int32), b=zeros(16, 24, dtype=np.int32)), "int32; this kernel exists for float16, bfloat16 and float32"),
    (dict(c=zeros(8, 24, dtype=np.int32)), "int32; this kernel exists for float32 and float16"),
])
@pytest.mark.parametrize("version", [0, 1, 5])
def test_matmul_refuses_factors_that_do_not_fit(version, changed, says):
    with pytest.raises(ValueError, match=says):
        matmul.launch(matmul.VERSIONS[version], **{**FACTORS, **changed})


def layer(**changed):
    x = zeros(1, 9, 32)
    return {**dict(x=x, weights=[zeros(32, 32)] * 4, biases=[zeros(32, dtype=np.float32)] * 4, y=x.copy(), heads=2), **changed}


@pytest.mark.parametrize("changed, says", [
    (dict(mask=zeros(9, 9, dtype=np.float32)), "float32; a mask holds one byte per score"),
    (dict(mask=zeros(12, 12, dtype=np.uint8)), "mask has the shape"),
    (dict(mask=zeros(1, 1, 9, 9, dtype=np.uint8)), "mask has the shape"),
    (dict(weights=[zeros(64, 64)] * 4), r"weights\[0\] has the shape \(64, 64\)"),
    (dict(weights=[zeros(32, 32)] * 3), "Four weights are needed"),
    (dict(weights=[zeros(32, 32, dtype=np.float32)] * 4), r"weights\[0\] is float32; here it has to be float16"),
    (dict(biases=[zeros(32)] * 4), r"biases\[0\] is float16; here it has to be float32"),
    (dict(columns=24), "fused: columns=24 has to be a positive multiple of 16"),
    (dict(rows=8), "fused: rows=8"),
    (dict(heads=0), "32 elements for 0 heads"),
    (dict(x=zeros(1, 0, 32), y=zeros(1, 0, 32)), "at least one token"),
])
def test_fused_mha_refuses_arrays_that_do_not_belong_together(changed, says):
    with pytest.raises(ValueError, match=says):
        mha.launch(**layer(**changed))


def test_fused_mha_of_float64_is_said_before_the_build():
    with pytest.raises(ValueError, match="float64; this kernel exists for float16, bfloat16 and float32"):
        mha.compile(dtype=np.float64)


def test_names_of_element_types():
    assert [element(t) for t in (np.float16, "float32", ml_dtypes.bfloat16, "bfloat16")] == ["half", "float", "bf16", "bf16"]
    assert element(np.float16, float16="custom") == "custom"
