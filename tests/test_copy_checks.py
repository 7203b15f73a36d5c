"""What the copy calls say about parameters and operands: each check once where it fires and once where it must not."""

from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from kernel_text import assert_clean, assert_finds, findings_of, kernel

# One buffer, ordered by hand: nothing but the copies can be wrong.
UB = """
    TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, {bytes});
    LocalTensor<T> ub = buf.Get<T>();
"""


def text(*calls: str, t="half", bytes=1024, setup=None, params="GM_ADDR xAddr, GM_ADDR yAddr"):
    body = UB.format(bytes=bytes) + "\n    PipeBarrier<PIPE_ALL>();\n".join("    " + c for c in calls)
    return kernel(body, t=t, params=params, **({"setup": setup} if setup else {}))


def arrays(n=512, dtype=np.float16, m=None):
    return (np.arange(n) % 1000).astype(dtype), np.zeros(m or n, dtype)


def test_the_compile_surface_builds():
    assert hp.compile(Path(__file__).parent / "cpp" / "surface_copy.cpp").signature


@pytest.mark.parametrize("call, says", [
    ("DataCopy(yGm, xGm, 32);", "GM -> UB -> GM"),
    ("DataCopyPad(yGm, xGm, DataCopyExtParams{1, 32, 0, 0, 0});", "GM -> UB -> GM"),
    ("LocalTensor<float> f; DataCopy(f, xGm, 32);", "Cast"),
    ("DataCopyPad(ub, xGm, {1, 8, 0, 0, 0}, DataCopyPadExtParams<float>{});", "DataCopyPadExtParams<T>"),
    ("SetAtomicAdd<uint8_t>();", "int32_t"),
])
def test_what_cannot_work_does_not_compile_and_says_why(call, says):
    with pytest.raises(hp.CompileError) as e:
        hp.compile(text(call))
    assert says in str(e.value)


# ---- count
def test_tail_is_dropped():
    x, y = arrays()
    found = assert_finds("TAIL_DROPPED", text("DataCopy(ub, xGm, 19);  // HERE"), x, y, says=["19 half", "38 B", "last 3 elements", "{1, 38, 0, 0, 0}"])
    assert "DataCopyPad(ub, xGm" in found.hint
    assert_finds("TAIL_DROPPED", text("DataCopy(ub, xGm, 32);", "DataCopy(yGm, ub, 5);  // HERE"), x, y, says=["0 B", "last 5 elements"])
    assert_clean(text("DataCopy(ub, xGm, 32);", "DataCopy(yGm, ub, 32);"), x, y)
    assert_clean(text("DataCopyPad(ub, xGm, {1, 38, 0, 0, 0}, {false, 0, 0, 0});", "DataCopyPad(yGm, ub, {1, 38, 0, 0, 0});"), x, y)


def test_store_without_the_tail_the_load_had():
    x, y = arrays()
    broken = text("DataCopyPad(ub, xGm, {1, 10, 0, 0, 0}, {true, 0, 0, (half)0});", "DataCopy(yGm, ub, 5);  // HERE")
    assert_finds("TAIL_DROPPED", broken, x, y, says="handled the tail with DataCopyPad, this store does not")


def test_negative_count():
    x, y = arrays()
    broken = text("DataCopy(ub, xGm, n);  // HERE", params="GM_ADDR xAddr, GM_ADDR yAddr, int32_t n")
    assert_finds("BAD_PARAMETER", broken, x, y, -16, says="-16")


# ---- addresses
def test_ub_address():
    x, y = arrays()
    assert_finds("MISALIGNED", text("DataCopy(ub[1], xGm, 16);  // HERE"), x, y, says=["ub[1]", "byte 2", "16 (byte 32)"])
    assert_finds("MISALIGNED", text("DataCopy(ub, xGm, 512);", "DataCopy(yGm, ub[24], 16);  // HERE"), x, y, says=["ub[24]", "element 16", "32 (byte 64)"])
    assert_clean(text("DataCopy(ub[16], xGm, 16);", "DataCopy(yGm, ub[16], 16);"), x, y)


def test_rows_of_a_padded_load():
    x, y = arrays()
    load = "DataCopyPad(ub, xGm, {3, 18, 0, 0, 0}, {true, 0, 0, (half)0});"
    assert_finds("MISALIGNED", text(load, "DataCopyPad(yGm, ub[9], {1, 18, 0, 0, 0});  // HERE"), x, y, says=["row 1 is at element 16, not 9", "pitch of 16"])
    assert_clean(text(load, "DataCopyPad(yGm, ub[16], {1, 18, 0, 0, 0});"), x, y)
    np.testing.assert_array_equal(y[:9], x[9:18])


def test_gm_address():
    x, y = arrays(256, np.uint8)
    setup = """    GlobalTensor<half> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ half*)(xAddr + %d));
    yGm.SetGlobalBuffer((__gm__ half*)yAddr);"""
    assert_finds("MISALIGNED", text("DataCopy(ub, xGm, 16);  // HERE", setup=setup % 3), x, y, says=["multiples of 2 B", "sizeof(T)"])
    assert_clean(text("DataCopy(ub, xGm, 16);", "DataCopy(yGm, ub, 16);", setup=setup % 2), x, y)
    assert_clean(text("DataCopyPad(ub, xGm, {1, 32, 0, 0, 0}, {false, 0, 0, 0});", "DataCopy(yGm, ub, 16);", setup=setup % 3), x, y)


# ---- blocks
def test_block_fields():
    x, y = arrays(8192)
    assert_finds("BAD_PARAMETER", text("DataCopy(ub, xGm, {5000, 1, 0, 0});  // HERE"), x, y, says=["blockCount=5000", "0..4095", "2 batches"])
    assert_finds("BAD_PARAMETER", text("DataCopy(ub, xGm, {1, 70000, 0, 0});  // HERE"), x, y, says=["blockLen=70000", "0..65535", "4464", "2187"])
    assert_finds("BAD_PARAMETER", text("DataCopy(ub, xGm, {2, 1, -1, 0});  // HERE"), x, y, says=["srcStride=-1", "negative"])
    assert_finds("BAD_PARAMETER", text("DataCopyPad(ub, xGm, {2, 32, n, 0, 0}, {false, 0, 0, 0});  // HERE", params="GM_ADDR xAddr, GM_ADDR yAddr, uint32_t n"), x, y,
                 2**32 - 96, says=["4294967200", "-96"])
    assert_finds("BAD_PARAMETER", text("DataCopyPad(ub, xGm, {1, 2097152, 0, 0, 0}, {false, 0, 0, 0});  // HERE"), x, y, says=["blockLen=2097152", "2097151"])
    assert_finds("BAD_PARAMETER", text("DataCopyPad(ub, xGm, {1, 65536, 0, 0}, {false, 0, 0, 0});  // HERE"), x, y, says=["blockLen=65536", "DataCopyExtParams"])
    assert_clean(text("DataCopy(ub, xGm, {4, 2, 1, 0});", "DataCopy(yGm, ub, {2, 1, 3, 65535 % 7});"), x, y)
    assert_clean(text("DataCopy(ub, xGm, {0, 2, 0, 0});", "DataCopyPad(yGm, ub, {1, 0, 0, 0, 0});"), x, y)


def test_a_field_that_is_set_again_counts_with_its_new_value():
    x, y = arrays(8192)
    assert_clean(text("DataCopyParams p{1, 70000, 0, 0}; p.blockLen = 2; DataCopy(ub, xGm, p);", "DataCopy(yGm, ub, 32);"), x, y)
    found = assert_finds("BAD_PARAMETER", text("DataCopyParams p{1, 70000, 0, 0};", "DataCopy(ub, xGm, p);  // HERE"), x, y)
    assert "parameters of line" in found.message


def test_bytes_given_as_blocks():
    x, y = arrays(8192)
    assert_finds("OUT_OF_BOUNDS", text("DataCopy(ub, xGm, {1, 1024, 0, 0});  // HERE"), x, y, says=["1024 blocks of 32 B", "32768 B", "1024 bytes are 32 blocks"])
    assert_clean(text("DataCopy(ub, xGm, {1, 32, 0, 0});", "DataCopy(yGm, ub, {1, 32, 0, 0});"), x, y)


def test_elements_given_as_bytes():
    x, y = arrays(8192)
    call = "DataCopyPad(ub, xGm, {1, tile, 0, 0, 0}, {false, 0, 0, 0});%s"
    given = {"params": "GM_ADDR xAddr, GM_ADDR yAddr, uint32_t tile"}
    assert_finds("BAD_PARAMETER", text(call % "  // HERE", **given), x, y, 512, severity="warning", says=["256 of the 512 half", "sizeof(half)"])
    assert_clean(text("uint32_t tileBytes = tile; DataCopyPad(ub, xGm, {1, tileBytes, 0, 0, 0}, {false, 0, 0, 0});", **given), x, y, 512)
    assert_clean(text(call % "", **given), x, y, 1024)
    assert_clean(text(call % "", **given), x, y, 100)


# ---- strides
def test_pitch_given_as_stride_in_gm():
    x, y = arrays(32 * 16, np.float32)
    pad = "DataCopyPad(ub, xGm, {16, 32, %d, 0, 0}, {false, 0, 0, 0});"
    assert_finds("GM_OUT_OF_BOUNDS", text(pad % 128 + "  // HERE", t="float"), x, y, says=["128 - 32 = 96 B", "srcStride = 96"])
    assert_clean(text(pad % 96, "DataCopy(yGm, ub, 128);", t="float"), x, y)
    np.testing.assert_array_equal(y[:128].reshape(16, 8), x.reshape(16, 32)[:, :8])
    blocks = "DataCopy(ub, xGm, {16, 1, %d, 0});"
    assert_finds("GM_OUT_OF_BOUNDS", text(blocks % 4 + "  // HERE", t="float"), x, y, says=["srcStride = 3 (32 B blocks)"])
    assert_clean(text(blocks % 3, t="float"), x, y)


def test_pitch_given_as_stride_that_stays_inside():
    """Half of the rows only: nothing leaves the tensor, the numbers alone give it away."""
    x, y = arrays(32 * 16, np.float32)
    pad = "DataCopyPad(ub, xGm, {8, 32, %d, 0, 0}, {false, 0, 0, 0});"
    assert_finds("BAD_PARAMETER", text(pad % 128 + "  // HERE", t="float"), x, y, severity="warning", says=["row pitch", "160 B apart", "128 - 32 = 96"])
    assert_clean(text(pad % 96, t="float"), x, y)
    assert_clean(text(pad % 32, t="float"), x, y)        # every second block
    assert_clean(text(pad % 0, t="float"), x, y)


def test_stride_larger_than_the_tensor():
    x, y = arrays(1024)
    assert_finds("GM_OUT_OF_BOUNDS", text("DataCopyPad(ub, xGm, {2, 32, 1073741824, 0, 0}, {false, 0, 0, 0});  // HERE"), x, y, says=["larger than the tensor itself"])


def test_ub_stride_in_bytes_or_as_pitch():
    x, y = arrays(1024)
    pad = "DataCopyPad(ub, xGm, {4, 32, 0, %d, 0}, {false, 0, 0, 0});"
    assert_finds("OUT_OF_BOUNDS", text(pad % 96 + "  // HERE"), x, y, says=["dstStride counts 32 B blocks", "3 blocks"])
    assert_finds("OUT_OF_BOUNDS", text(pad % 10 + "  // HERE"), x, y, says=["row pitch of 320 B", "dstStride = 9"])
    assert_clean(text(pad % 9), x, y)


def test_rows_that_only_fit_packed():
    x, y = arrays(1024)
    assert_finds("OUT_OF_BOUNDS", text("DataCopyPad(ub, xGm, {50, 18, 0, 0, 0}, {false, 0, 0, 0});  // HERE"), x, y, says=["row 1 is at element 16, not 9", "1600 B"])
    assert_clean(text("DataCopyPad(ub, xGm, {50, 18, 0, 0, 0}, {false, 0, 0, 0});", bytes=1600), x, y)
    store = "DataCopyPad(yGm, ub, {50, 18, 0, 0, 0});%s"
    assert_finds("OUT_OF_BOUNDS", text("DataCopy(ub, xGm, 512);", store % "  // HERE"), x, y, says="row 1 is at element 16")


# ---- padding
def test_padding_limits():
    x, y = arrays()
    pad = "DataCopyPad(ub, xGm, {1, 32, 0, 0, 0}, {true, %s, (half)0});"
    assert_finds("BAD_PARAMETER", text(pad % "0, 20" + "  // HERE"), x, y, says=["rightPadding=20 half = 40 B", "16 elements"])
    assert_finds("BAD_PARAMETER", text(pad % "300, 0" + "  // HERE"), x, y, says="leftPadding=300 half")
    assert_clean(text(pad % "16, 16"), x, y)


def test_padding_value_of_64_bit_elements():
    x, y = arrays(64, np.int64)
    pad = "DataCopyPad(ub, xGm, {1, 24, 0, 0, 0}, {true, 0, 1, %d});"
    assert_finds("BAD_PARAMETER", text(pad % 5 + "  // HERE", t="int64_t"), x, y, says="can only be 0")
    assert_clean(text(pad % 0, "DataCopy(yGm, ub, 4);", t="int64_t"), x, y)
    np.testing.assert_array_equal(y[:4], [0, 1, 2, 0])


def test_padding_value_of_the_old_struct_is_bits():
    x, y = arrays(64, np.float32)
    pad = "DataCopyPadParams q{true, 0, 1, %s}; DataCopyPad(ub, xGm, {1, 28, 0, 0}, q);"
    assert_finds("BAD_PARAMETER", text(pad % 7 + "  // HERE", t="float"), x, y, severity="warning", says="bits")
    assert_finds("BAD_PARAMETER", text(pad % "1ull << 40" + "  // HERE", t="float"), x, y, says="does not fit")
    assert_clean(text(pad % "0x3f800000", "DataCopy(yGm, ub, 8);", t="float"), x, y)
    assert y[7] == 1


def test_block_len_is_whole_elements():
    x, y = arrays()
    assert_finds("BAD_PARAMETER", text("DataCopyPad(ub, xGm, {1, 33, 0, 0, 0}, {false, 0, 0, 0});  // HERE"), x, y, says=["blockLen=33 B", "elements * 2"])
    assert_clean(text("DataCopyPad(ub, xGm, {1, 34, 0, 0, 0}, {false, 0, 0, 0});"), x, y)


def test_stored_padding_is_a_warning():
    x, y = arrays()
    broken = text("DataCopyPad(ub, xGm, {1, 10, 0, 0, 0}, {false, 0, 0, 0});", "DataCopy(yGm, ub, 16);  // HERE")
    assert_finds("UNINITIALISED_READ", broken, x, y, severity="warning", says="padding")
    np.testing.assert_array_equal(y[:16], [0, 1, 2, 3, 4] + [0] * 11)      # the fill repeats the first element
    assert_clean(text("DataCopyPad(ub, xGm, {1, 10, 0, 0, 0}, {true, 0, 0, (half)9});", "DataCopy(yGm, ub, 16);"), x, y)
    np.testing.assert_array_equal(y[:16], [0, 1, 2, 3, 4] + [9] * 11)


def test_asked_for_padding_without_a_value_is_undefined():
    x, y = arrays()
    load = "DataCopyPad(ub, xGm, {1, 10, 0, 0, 0}, {false, 0, 3, 0});"
    assert_finds("UNINITIALISED_READ", text(load, "DataCopy(yGm, ub, 16);  // HERE"), x, y, severity="warning", says="padding")
    assert_clean(text("SetPadValue((half)4);", load, "DataCopy(yGm, ub, 16);"), x, y)
    np.testing.assert_array_equal(y[:16], [0, 1, 2, 3, 4] + [4] * 11)


# ---- operands
def test_unassigned_and_out_of_range():
    x, y = arrays()
    assert_finds("OUT_OF_BOUNDS", text("LocalTensor<half> none; DataCopy(none, xGm, 16);  // HERE"), x, y, says="never assigned")
    assert_finds("OUT_OF_BOUNDS", text("DataCopy(ub, xGm, 1024);  // HERE"), *arrays(2048), says="1024")
    assert_finds("GM_OUT_OF_BOUNDS", text("DataCopy(ub, xGm[496], 32);  // HERE"), x, y)
    setup = """    GlobalTensor<half> xGm, yGm; xGm.SetGlobalBuffer((__gm__ half*)xAddr, 64); yGm.SetGlobalBuffer((__gm__ half*)yAddr);"""
    assert_finds("GM_OUT_OF_BOUNDS", text("DataCopy(ub, xGm[64], 16);  // HERE", setup=setup), x, y, says="behind the end")
    assert_finds("GM_OUT_OF_BOUNDS", text("DataCopy(ub, xGm[48], 32);  // HERE", setup=setup), x, y, says="of 32 B")
    assert_clean(text("DataCopy(ub, xGm[48], 16);", setup=setup), x, y)


def test_position_of_a_queue():
    x, y = arrays(64)
    queue = """
    TQue<TPosition::%s, 1> q; pipe.InitBuffer(q, 1, 128);
    LocalTensor<T> t = q.AllocTensor<T>();
    DataCopy(t, xGm, 64);%s
    q.EnQue(t);
    t = q.DeQue<T>();
    SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID7); WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID7);
    DataCopy(yGm, t, 64);%s
    q.FreeTensor(t);
"""
    assert_finds("WRONG_POSITION", kernel(queue % ("VECIN", "", "  // HERE"), t="half"), x, y, severity="warning", says=["q is a VECIN queue", "V_MTE3"])
    assert_finds("WRONG_POSITION", kernel(queue % ("VECOUT", "  // HERE", ""), t="half"), x, y, severity="warning", says=["q is a VECOUT queue", "MTE2_V"])
    flags = "SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID7); WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID7);"
    bind = queue.replace(flags, "").replace("TQue<TPosition::%s, 1>", "TQueBind<TPosition::VECIN, TPosition::VECOUT, 1>") % ("", "")
    assert_clean(kernel(bind, t="half"), x, y)
    np.testing.assert_array_equal(x, y)
    assert_clean(text("DataCopy(ub, xGm, 64);", "DataCopy(yGm, ub, 64);"), x, y)      # a TBuf has no queue to disagree with


def test_partial_overlap_inside_ub():
    x, y = arrays()
    assert_finds("OVERLAP", text("DataCopy(ub, xGm, 512);", "DataCopy(ub[16], ub, 64);  // HERE"), x, y, says="overlap in part")
    assert_clean(text("DataCopy(ub, xGm, 512);", "DataCopy(ub[64], ub, 64);", "DataCopy(ub, ub, 64);"), x, y)
    assert_clean(text("DataCopy(ub, xGm, 512);", "DataCopy(ub[16], ub, {4, 1, 1, 1});"), x, y)   # interleaved rows


def test_formats_and_slices():
    x, y = arrays(4096)
    nz = "DataCopy(ub, xGm, Nd2NzParams{1, %s, 1, 0});"
    assert_finds("BAD_PARAMETER", text(nz % "4, 16, 0, 8, 4" + "  // HERE"), x, y, says="srcDValue=8")
    assert_finds("OVERLAP", text(nz % "4, 32, 0, 32, 2" + "  // HERE"), x, y, says="dstNzC0Stride")
    assert_clean(text(nz % "4, 32, 0, 32, 4"), x, y)
    assert_finds("BAD_PARAMETER", text("DataCopy(yGm, ub, Nz2NdParamsFull{1, 4, 24, 1, 4, 24, 1});  // HERE"), x, y, says="multiple of 16")
    cut = "SliceInfo u[] = {{0, 31, 0, 2, 32}}, g[] = {{0, %d, 0, %d, 64}}; DataCopy(ub, xGm, u, g);"
    assert_finds("BAD_PARAMETER", text(cut % (40, 2) + "  // HERE"), x, y, says="41")
    assert_finds("BAD_PARAMETER", text(cut % (31, 1) + "  // HERE"), x, y, says="same burstLen")
    assert_clean(text(cut % (31, 2)), x, y)


# ---- chips
def test_chip_without_datacopypad():
    x, y = arrays()
    broken = text("DataCopyPad(ub, xGm, {1, 32, 0, 0, 0}, {false, 0, 0, 0});  // HERE")
    assert_finds("UNSUPPORTED_API", broken, x, y, chip="Ascend310P3", says="DataCopyPad does not exist on")
    assert_clean(text("DataCopy(ub, xGm, 16);", "DataCopy(yGm, ub, 16);"), x, y, chip="Ascend310P3")
    assert_finds("MISALIGNED", text("DataCopy(ub, xGm, 16);", "DataCopy(yGm[1], ub, 16);  // HERE"), x, y, chip="Ascend310P3", says="32 B boundary")


# ---- performance notes
def notes(code, source, *args, **kw):
    return [f for f in findings_of(source, *args, **kw) if f.code == code]


def test_small_copies_note():
    x, y = arrays(64 * 128)
    loop = "for (int i = 0; i < %d; ++i) { DataCopy(ub, xGm[i * 128], %d); PipeBarrier<PIPE_ALL>(); }"
    found = notes("PERF_SMALL_COPY", text(loop % (64, 128)), x, y)
    assert len(found) == 1 and found[0].severity == "note" and "64 copies of 256 B" in found[0].message
    assert not notes("PERF_SMALL_COPY", text(loop % (8, 128)), x, y)
    assert not notes("PERF_SMALL_COPY", text("for (int i = 0; i < 4; ++i) { DataCopy(ub, xGm[i * 2048], 2048); PipeBarrier<PIPE_ALL>(); }", bytes=4096), x, y)


def test_unaligned_512_note():
    x, y = arrays(65536)
    loop = "for (int i = 0; i < 8; ++i) { DataCopy(ub, xGm[i * 8192 + %d], 8192 - 16); PipeBarrier<PIPE_ALL>(); }"
    assert len(notes("PERF_UNALIGNED_512", text(loop % 16, bytes=16384), x, y)) == 1
    assert not notes("PERF_UNALIGNED_512", text(loop % 0, bytes=16384), x, y)
