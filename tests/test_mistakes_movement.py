"""Mistakes in data movement and alignment: each is named at its line, each repair is clean."""

import numpy as np
import pytest

import helpers as hp
from kernel_text import assert_clean, assert_finds, kernel, run

TWO = """
    TQue<TPosition::VECIN, 1> inX; TQue<TPosition::VECOUT, 1> outY;
    pipe.InitBuffer(inX, 1, {ib}); pipe.InitBuffer(outY, 1, {ob});
"""


def through(copy_in: str, compute: str, copy_out: str, *, t="float", ib=8192, ob=8192, **kw) -> str:
    """x -> UB -> (compute from x to y) -> y."""
    return kernel(
        TWO.format(ib=ib, ob=ob)
        + f"""
    LocalTensor<T> x = inX.AllocTensor<T>();
    {copy_in}
    inX.EnQue(x);
    x = inX.DeQue<T>();
    LocalTensor<T> y = outY.AllocTensor<T>();
    {compute}
    inX.FreeTensor(x);
    outY.EnQue(y);
    y = outY.DeQue<T>();
    {copy_out}
    outY.FreeTensor(y);
""".replace("AllocTensor<T>", "AllocTensor<T>"),
        t=t,
        **kw,
    )


def pair(n=2048, dtype=np.float32, m=None):
    return np.arange(n).astype(dtype), np.full(m or n, -1, dtype)


def test_start_of_a_slice_must_be_a_multiple_of_32_bytes():
    x, y = pair(256, np.float16)
    broken = through("DataCopy(x, xGm, 128);", "Adds(y, x[1], (half)1, 64);  // HERE", "DataCopy(yGm, y, 64);", t="half")
    assert_finds("MISALIGNED", broken, x, y, says=["byte 2", "16"])
    fixed = through("DataCopy(x, xGm, 128);", "Adds(y, x[16], (half)1, 64);", "DataCopy(yGm, y, 64);", t="half")
    assert_clean(fixed, x, y)
    np.testing.assert_array_equal(y[:64], x[16:80] + 1)


def test_rows_need_an_aligned_pitch_in_ub():
    x, y = pair(1024)
    body = "for (int c = 0; c < 2; c++) Adds(y[c * 328], x[c * %d], 1.0f, 323);%s"
    assert_finds("MISALIGNED", through("DataCopy(x, xGm, 656);", body % (323, "  // HERE"), "DataCopy(yGm, y, 648);"), x, y, says="1292")
    fixed = through("DataCopyPad(x, xGm, {2, 1292, 0, 0, 0}, {true, 0, 5, 0});", body % (328, ""), "DataCopyPad(yGm, y, {2, 1292, 0, 0, 0});")
    assert_clean(fixed, x, y)
    np.testing.assert_array_equal(y[:646], x[:646] + 1)


def test_a_tail_needs_datacopypad_in_both_directions():
    x, y = pair(16)
    load = "DataCopyPad(x, xGm, {1, 20, 0, 0, 0}, {false, 0, 0, 0});"
    assert_finds("TAIL_DROPPED", through(load, "Adds(y, x, 1.0f, 5);", "DataCopy(yGm, y, 5);  // HERE"), x, y, says="DataCopyPad")
    assert_clean(through(load, "Adds(y, x, 1.0f, 5);", "DataCopyPad(yGm, y, {1, 20, 0, 0, 0});"), x, y)
    np.testing.assert_array_equal(y[:6], [1, 2, 3, 4, 5, -1])


def test_stride_is_the_gap_not_the_pitch():
    x, y = pair(32 * 16, m=8 * 16)
    p = "DataCopyPad(x, xGm, DataCopyExtParams{16, 32, %d, 0, 0}, {false, 0, 0, 0});"
    assert_finds("GM_OUT_OF_BOUNDS", through(p % 128 + "  // HERE", "Adds(y, x, 0.0f, 128);", "DataCopy(yGm, y, 128);"), x, y)
    assert_clean(through(p % 96, "Adds(y, x, 0.0f, 128);", "DataCopy(yGm, y, 128);"), x, y)
    np.testing.assert_array_equal(y.reshape(16, 8), x.reshape(16, 32)[:, :8])


def test_padded_rows_start_on_32_bytes_in_ub():
    x, y = pair(18, np.float16, 64)
    load = "DataCopyPad(x, xGm, {2, 18, 0, 0, 0}, {true, 0, 7, (half)0});"
    broken = through(load, "Adds(y, x, (half)1, 9);\n    Adds(y[16], x[9], (half)1, 9);  // HERE", "DataCopyPad(yGm, y, {2, 18, 0, 0, 0});", t="half")
    assert_finds("MISALIGNED", broken, x, y, says="16")
    assert_clean(through(load, "Adds(y, x, (half)1, 9);\n    Adds(y[16], x[16], (half)1, 9);", "DataCopyPad(yGm, y, {2, 18, 0, 0, 0});", t="half"), x, y)
    np.testing.assert_array_equal(y[:18], x + 1)


def test_block_count_has_a_limit_of_4095():
    x, y = pair(8 * 5000)
    p = "DataCopyPad(x, xGm, DataCopyExtParams{%s, 32, 0, 0, 0}, {false, 0, 0, 0});"
    size = {"ib": 4095 * 32, "ob": 32768}
    assert_finds("BAD_PARAMETER", through(p % "5000" + "  // HERE", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);", **size), x, y, says=["5000", "4095"])
    assert_clean(through(p % "4095", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);", **size), x, y)
    wide = through("DataCopy(x, xGm, DataCopyParams{1, (uint32_t)70000, 0, 0});  // HERE", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);")
    assert_finds("BAD_PARAMETER", wide, x, y, says="70000")


def test_a_stride_larger_than_the_tensor():
    x, y = pair(1024)
    p = "DataCopyPad(x, xGm, DataCopyExtParams{4, 64, %s, 0, 0}, {false, 0, 0, 0});"
    assert_finds("GM_OUT_OF_BOUNDS", through(p % "1073741824" + "  // HERE", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);"), x, y)
    assert_clean(through(p % "192", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);"), x, y)


def test_padding_is_not_data():
    x, y = pair(5, m=8)
    load = "DataCopyPad(x, xGm, {1, 20, 0, 0, 0}, {%s});"
    sum8 = "ReduceSum<float>(y, x, y[8], 8);"
    assert_finds("UNINITIALISED_READ", through(load % "false, 0, 3, 0", sum8 + "  // HERE", "DataCopyPad(yGm, y, {1, 4, 0, 0, 0});"), x, y, says="3")
    assert_finds("UNINITIALISED_READ", through(load % "false, 0, 0, 0", sum8 + "  // HERE", "DataCopyPad(yGm, y, {1, 4, 0, 0, 0});"), x, y)
    assert_clean(through(load % "true, 0, 3, 0", sum8, "DataCopyPad(yGm, y, {1, 4, 0, 0, 0});"), x, y)
    assert y[0] == 10
    assert_clean(through(load % "false, 0, 3, 0", "ReduceSum<float>(y, x, y[8], 5);", "DataCopyPad(yGm, y, {1, 4, 0, 0, 0});"), x, y)


def test_padding_is_counted_in_elements_and_limited_to_32_bytes():
    x, y = pair(64, np.float16)
    load = "DataCopyPad(x, xGm, {1, 64, 0, 0, 0}, DataCopyPadExtParams<half>{true, 0, %d, (half)0});"
    assert_finds("BAD_PARAMETER", through(load % 20 + "  // HERE", "Adds(y, x, (half)0, 32);", "DataCopy(yGm, y, 32);", t="half"), x, y, says=["20", "16"])
    assert_clean(through(load % 16, "Adds(y, x, (half)0, 32);", "DataCopy(yGm, y, 32);", t="half"), x, y)


def test_there_is_no_copy_from_gm_to_gm():
    with pytest.raises(hp.CompileError) as e:
        hp.compile(kernel("    DataCopy(yGm, xGm, 128);  // HERE"))
    assert "GlobalTensor" in str(e.value) and "UB" in str(e.value)
    assert e.value.findings[0].line == 8


def test_a_store_rounded_up_tramples_the_next_block():
    x, y = pair(15, m=24)
    body = (
        TWO.format(ib=256, ob=256)
        + """
    uint32_t b = GetBlockIdx();
    LocalTensor<T> x = inX.AllocTensor<T>();
    DataCopyPad(x, xGm[b * 5], {1, 20, 0, 0, 0}, {true, 0, 3, 0});
    inX.EnQue(x); x = inX.DeQue<T>();
    LocalTensor<T> y = outY.AllocTensor<T>();
    Adds(y, x, 1.0f, 8);
    inX.FreeTensor(x); outY.EnQue(y); y = outY.DeQue<T>();
    %s
    outY.FreeTensor(y);
"""
    )
    f = assert_finds("BLOCK_CONFLICT", kernel(body % "DataCopy(yGm[b * 5], y, 8);  // HERE"), x, y, blocks=3)
    assert "block 0" in f.message and "block 1" in f.message and "20..32" in f.message
    assert_clean(kernel(body % "DataCopyPad(yGm[b * 5], y, {1, 20, 0, 0, 0});"), x, y, blocks=3)
    np.testing.assert_array_equal(y[:15], x + 1)


def test_310p_has_no_datacopypad():
    x, y = pair(64)
    text = through("DataCopyPad(x, xGm, {1, 256, 0, 0, 0}, {false, 0, 0, 0});  // HERE", "Adds(y, x, 0.0f, 64);", "DataCopy(yGm, y, 64);")
    assert_finds("UNSUPPORTED_API", text, x, y, chip="Ascend310P3", says="310P")
    assert_clean(text.replace("  // HERE", ""), x, y)


# ===== what must not be flagged
@pytest.mark.parametrize("offset", [1, 3, 7])
def test_unaligned_gm_in_datacopypad_is_fine(offset):
    x, y = pair(64)
    assert_clean(through(f"DataCopyPad(x, xGm[{offset}], {{1, 20, 0, 0, 0}}, {{true, 0, 3, 0}});", "Adds(y, x, 1.0f, 5);", f"DataCopyPad(yGm[{offset}], y, {{1, 20, 0, 0, 0}});"), x, y)
    np.testing.assert_array_equal(y[offset : offset + 5], x[offset : offset + 5] + 1)


def test_in_place_is_fine():
    x, y = pair(64)
    assert_clean(through("DataCopy(x, xGm, 64);", "Adds(x, x, 1.0f, 64);\n    Add(x, x, x, 64);\n    Muls(y, x, 1.0f, 64);", "DataCopy(yGm, y, 64);"), x, y)
    np.testing.assert_array_equal(y, 2 * (x + 1))


@pytest.mark.parametrize("nbytes", [1, 2, 30, 31, 33, 1999, 8190])
def test_datacopypad_of_any_byte_length_is_fine(nbytes):
    x = np.arange(8192).astype(np.int8)
    y = np.full(8192, -1, np.int8)
    text = kernel(
        """
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q;
    pipe.InitBuffer(q, 1, 8192);
    LocalTensor<T> x = q.AllocTensor<T>();
    DataCopyPad(x, xGm, {1, %d, 0, 0, 0}, {false, 0, 0, 0});
    q.EnQue(x); x = q.DeQue<T>();
    DataCopyPad(yGm, x, {1, %d, 0, 0, 0});
    q.FreeTensor(x);
"""
        % (nbytes, nbytes),
        t="int8_t",
    )
    assert_clean(text, x, y)
    np.testing.assert_array_equal(y[:nbytes], x[:nbytes])
    assert (y[nbytes:] == -1).all()


def test_a_long_count_call_is_fine():
    x, y = pair(16384)
    r = run(through("DataCopy(x, xGm, 16384);", "Adds(y, x, 1.0f, 16383);", "DataCopyPad(yGm, y, {1, 65532, 0, 0, 0});", ib=65536, ob=65536), x, y)
    assert not [f for f in r.findings if f.severity != "note"]
    np.testing.assert_array_equal(y[:16383], x[:16383] + 1)
