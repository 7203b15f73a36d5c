"""The core of the interface at run time: tensors, queues, buffers, order between cores, queries, tiling, debug output."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from helpers.build import runtime, twin, unit
from helpers.build.compiler import find
from kernel_text import assert_clean, assert_finds, kernel, run

HERE = Path(__file__).parent


@pytest.fixture
def xy():
    return np.arange(1024, dtype=np.float32), np.full(1024, -1, np.float32)


def test_every_spelling_compiles(tmp_path):
    compiler = find()
    done = compiler.run([*runtime.kernel_flags(compiler), f"-I{twin.INCLUDE}", "-idirafter", twin.INCLUDE / "cann", *unit.arch_flags(2201),
                         "-Werror", "-c", HERE / "cpp" / "surface_core.cpp", "-o", tmp_path / "surface.o"], timeout=120)
    assert done.returncode == 0, done.stdout[:4000]


@pytest.mark.parametrize("call, says", [
    ("Mutex::Lock<PIPE_V>(1);", ["Mutex", "SetFlag"]),
    ("int id = AllocMutexID();", ["AllocMutexID", "AllocEventID"]),
    ("CrossCoreSetFlag<4, PIPE_MTE3>(1);", ["mode 4", "mode 2"]),
    ("pipe.InitSpmBuffer(xGm, 1024);", ["InitSpmBuffer", "DataCopy"]),
])
def test_names_of_other_chips_are_explained_at_compile_time(call, says):
    with pytest.raises(hp.CompileError) as e:
        hp.compile(kernel(f"    {call}"))
    f = e.value.findings[0]
    assert f.code == "UNSUPPORTED_API"
    assert all(w in f.message + " " + (f.hint or "") for w in says), (f.message, f.hint)


def test_barrier_of_the_scalar_pipe_does_not_compile():
    with pytest.raises(hp.CompileError) as e:
        hp.compile(kernel("    PipeBarrier<PIPE_S>();"))
    assert e.value.findings[0].code == "BAD_PARAMETER"


# ===== tensors
def test_scalar_values_of_a_local_tensor(xy):
    x, y = xy
    assert_clean(kernel("""
    TBuf<> buf; pipe.InitBuffer(buf, 256);
    LocalTensor<T> t = buf.Get<T>();
    for (int i = 0; i < 64; i++) t.SetValue(i, i);
    t(3) = t(2) + 10; t(4) += 0.5f; t(5) = t(6);
    LocalTensor<T> s = t[8];
    s.SetSize(4);
    t(0) = s.GetSize() + 100 * t[60].GetSize();
    t(1) = s.GetValue(1) + (uint64_t)s.GetPhyAddr() * 1000;
    DataCopy(yGm, t, 64);"""), x, y)
    want = np.arange(64, dtype=np.float32)
    want[3], want[4], want[5], want[0], want[1] = 12, 4.5, 6, 404, 9 + 32000
    np.testing.assert_array_equal(y[:64], want)


def test_packed_integers_take_half_a_byte(xy):
    x, y = xy
    r = run(kernel("""
    TBuf<> buf; pipe.InitBuffer(buf, 32);
    LocalTensor<int4b_t> t = buf.Get<int4b_t>();
    for (int i = 0; i < 64; i++) t.SetValue(i, (int4b_t)(i % 16 - 8));
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += t.GetValue(i) * (i + 1);
    printf("%d %d %d", sum, t.GetSize(), t.ReinterpretCast<uint8_t>().GetValue(0));"""), x, y)
    values = np.arange(64) % 16 - 8
    assert r.stdout == f"{(values * np.arange(1, 65)).sum()} 64 {0x98}"


def test_user_tag_stays_with_the_buffer_through_the_queue(xy):
    r = run(kernel("""
    TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 64);
    LocalTensor<T> a = q.AllocTensor<T>(), b = q.AllocTensor<T>();
    printf("%d ", a.GetUserTag());
    a.SetUserTag(7); b.SetUserTag(8);
    q.EnQue(a); q.EnQue(b);
    LocalTensor<T> c = q.DeQue<T>(), d = q.DeQue<T>();
    printf("%d %d", c.GetUserTag(), d.GetUserTag());
    q.FreeTensor(c); q.FreeTensor(d);"""), *xy)
    assert r.stdout == "-1 7 8"


def test_shape_info_is_kept_and_asked_for_too_early(xy):
    r = run(kernel("""
    uint32_t dims[2] = {3, 5};
    xGm.SetShapeInfo(ShapeInfo(2, dims));
    GlobalTensor<T> copy = xGm[4];
    printf("%d %d", copy.GetShapeInfo().shape[1], GetShapeSize(copy.GetShapeInfo()));"""), *xy)
    assert r.stdout == "5 15"
    assert_finds("BAD_PARAMETER", kernel("    auto s = xGm.GetShapeInfo();  // HERE"), *xy, says="SetShapeInfo")


def test_static_tensors_without_a_pipe(xy):
    x, y = xy
    assert_clean(kernel("""
    InitSocState();
    LocalMemAllocator<Hardware::UB> ub;
    LocalTensor<T> a = ub.Alloc<TPosition::VECIN, float, 100>();
    LocalTensor<T> b = ub.Alloc<T>(64);
    LocalTensor<T> c(TPosition::VECOUT, 2048, 64);
    DataCopy(a, xGm, 64);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0); WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(b, a, 1.0f, 64);
    Adds(c, b, (float)(uint64_t)b.GetPhyAddr(), 64);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0); WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(yGm, c, 64);
    PipeBarrier<PIPE_ALL>();""", pipe=False), x, y)
    np.testing.assert_array_equal(y[:64], x[:64] + 1 + 416)       # b lies behind AlignUp(100 * 4, 32)


def test_static_style_starts_with_init_soc_state(xy):
    text = """    %s
    LocalTensor<T> a(TPosition::VECIN, 0, 64);%s
    Duplicate(a, 1.0f, 64);
    PipeBarrier<PIPE_ALL>();"""
    assert_clean(kernel(text % ("InitSocState();", ""), pipe=False), *xy)
    assert_finds("BAD_PARAMETER", kernel(text % ("", "  // HERE"), pipe=False), *xy, severity="warning", says="InitSocState")


def test_static_tensor_beyond_ub_and_off_the_grid(xy):
    assert_finds("UB_OVERFLOW", kernel("    LocalTensor<T> far(TPosition::VECIN, 196576, 64);  // HERE", pipe=False), *xy, says="far")
    assert_finds("MISALIGNED", kernel("    LocalTensor<T> odd(TPosition::VECIN, 40, 64);  // HERE", pipe=False), *xy, says=["odd", "64"])


def test_a_view_behind_the_end_of_its_global_tensor(xy):
    x, y = xy
    text = """
    GlobalTensor<T> part; part.SetGlobalBuffer((__gm__ float*)xAddr, 128);
    TBuf<> buf; pipe.InitBuffer(buf, 256);
    DataCopy(buf.Get<T>(), part[%d], 64);%s
    printf("%%ld", part[16].GetSize());"""
    assert assert_clean(kernel(text % (64, "")), x, y).stdout == "128"
    assert_finds("GM_OUT_OF_BOUNDS", kernel(text % (128, "  // HERE")), x, y)
    assert_finds("GM_OUT_OF_BOUNDS", kernel(text % (72, "  // HERE")), x, y)


def test_a_slice_behind_the_end_of_its_local_tensor(xy):
    assert_finds("OUT_OF_BOUNDS", kernel("""
    TBuf<> buf; pipe.InitBuffer(buf, 1024);
    LocalTensor<T> t = buf.Get<T>(64);
    Duplicate(t[64], 1.0f, 8);  // HERE"""), *xy)


# ===== buffers
def test_the_layout_is_listed_whole_although_the_first_queue_did_not_fit(xy):
    f = assert_finds("UB_OVERFLOW", kernel("""
    TQue<TPosition::VECIN, 1> inX; TBuf<> small; TQue<TPosition::VECOUT, 1> outY;
    pipe.InitBuffer(inX, 2, 128 * 1024);  // HERE
    pipe.InitBuffer(small, 1024);
    pipe.InitBuffer(outY, 2, 64 * 1024);
    auto t = inX.AllocTensor<T>();"""), *xy, says=["inX", "small", "outY", str(2 * 128 * 1024 + 1024 + 2 * 64 * 1024)])
    # what the message calls legal must fit, the next step must not
    longest = int(f.hint.split("longest buffer has ")[1].split(" B")[0])
    def total(n): return 2 * n + 1024 + 2 * (-(-(n // 2) // 32) * 32)
    assert total(longest) <= 196608 < total(longest + 64)


def test_ub_is_filled_to_the_last_byte(xy):
    assert_clean(kernel("""
    TQue<TPosition::VECIN, 1> a; TBuf<> b;
    pipe.InitBuffer(a, 3, 32 * 1024); pipe.InitBuffer(b, 98304);
    auto t = a.AllocTensor<T>(); a.FreeTensor(t);"""), *xy)


def test_pools_take_turns(xy):
    x, y = xy
    text = """
    TBufPool<TPosition::VECCALC> first, second;
    TQue<TPosition::VECIN, 1> in; TQue<TPosition::VECOUT, 1> out; TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> both;
    pipe.InitBufPool(first, 1024);
    pipe.InitBufPool(second, 1024, first);
    first.InitBuffer(in, 1, 256); first.InitBuffer(out, 1, 256);
    LocalTensor<T> a = in.AllocTensor<T>(); DataCopy(a, xGm, 64); in.EnQue(a); a = in.DeQue<T>();
    LocalTensor<T> b = out.AllocTensor<T>(); Adds(b, a, 1.0f, 64); out.EnQue(b); in.FreeTensor(a);
    b = out.DeQue<T>(); DataCopy(yGm, b, 64); out.FreeTensor(b);
    %s
    second.InitBuffer(both, 1, 256);%s
    LocalTensor<T> c = both.AllocTensor<T>(); DataCopy(c, xGm[64], 64); both.EnQue(c); c = both.DeQue<T>();
    DataCopy(yGm[64], c, 64); both.FreeTensor(c);"""
    sync = "auto id = pipe.FetchEventID(HardEvent::MTE3_MTE2); SetFlag<HardEvent::MTE3_MTE2>(id); WaitFlag<HardEvent::MTE3_MTE2>(id);"
    assert_clean(kernel(text % ("first.Reset(); " + sync, "")), x, y)
    np.testing.assert_array_equal(y[:128], np.r_[x[:64] + 1, x[64:128]])
    assert_finds("OVERLAP", kernel(text % (sync, "  // HERE")), x, y, severity="warning", says="Reset")


def test_a_pool_has_its_own_end(xy):
    assert_finds("UB_OVERFLOW", kernel("""
    TBufPool<TPosition::VECCALC> pool; TBuf<> a, b;
    pipe.InitBufPool(pool, 1024);
    pool.InitBuffer(a, 768);
    pool.InitBuffer(b, 512);  // HERE"""), *xy, says=["b", "256"])


def test_reset_starts_again_at_address_0(xy):
    r = assert_clean(kernel("""
    TBuf<> a, b;
    pipe.InitBuffer(a, 1024); pipe.InitBuffer(b, 64);
    printf("%u ", b.Get<T>().GetPhyAddr());
    pipe.Reset();
    TBuf<> c; pipe.InitBuffer(c, 64);
    printf("%u", c.Get<T>().GetPhyAddr());"""), *xy)
    assert r.stdout == "1024 0"


def test_stack_buffer_is_what_is_left(xy):
    r = run(kernel("""
    TBuf<> a; pipe.InitBuffer(a, 1000);
    LocalTensor<T> t;
    bool ok = PopStackBuffer<float, TPosition::LCM>(t);
    printf("%d %u %u", ok, (uint64_t)t.GetPhyAddr(), t.GetSize() * 4);"""), *xy)
    assert r.stdout == f"1 1024 {196608 - 1024 - 64}"


# ===== queues
def test_in_place_queue(xy):
    x, y = xy
    assert_clean(kernel("""
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 0> q; pipe.InitBuffer(q, 1, 256);
    LocalTensor<T> t;
    for (int i = 0; i < 3; i++) {
        q.AllocTensor<T>(t); DataCopy(t, xGm[64 * i], 64); q.EnQue(t); q.DeQue<T>(t);
        DataCopy(yGm[64 * i], t, 64); q.FreeTensor(t);
    }"""), x, y)
    np.testing.assert_array_equal(y[:192], x[:192])


def test_user_positions_choose_the_event_and_must_agree(xy):
    x, y = xy
    text = """
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> q; pipe.InitBuffer(q, 1, 256);
    LocalTensor<T> t = q.AllocTensor<T>();
    DataCopy(t, xGm, 64);
    q.EnQue<TPosition::GM, TPosition::VECIN>(t);
    t = q.DeQue<TPosition::GM, TPosition::VECIN, float>();
    Adds(t, t, 1.0f, 64);
    q.EnQue<TPosition::VECOUT, TPosition::GM>(t);
    t = q.DeQue<TPosition::%s, TPosition::GM, float>();%s
    DataCopy(yGm, t, 64);
    q.FreeTensor(t);"""
    assert_clean(kernel(text % ("VECOUT", "")), x, y)
    np.testing.assert_array_equal(y[:64], x[:64] + 1)
    wrong = text.replace("DeQue<TPosition::%s, TPosition::GM, float>", "DeQue<TPosition::GM, TPosition::%s, float>")
    assert_finds("WRONG_POSITION", kernel(wrong % ("VECIN", "  // HERE")), x, y, says=["MTE2_V", "V_MTE3"])


def test_queue_questions(xy):
    r = run(kernel("""
    TQue<TPosition::VECIN, 2> q; pipe.InitBuffer(q, 2, 64);
    printf("%d%d%d ", q.VacantInQue(), q.HasTensorInQue(), q.HasIdleBuffer());
    LocalTensor<T> a = q.AllocTensor<T>(); q.EnQue(a);
    LocalTensor<T> b = q.AllocTensor<T>(); q.EnQue(b);
    printf("%d%d%d%d%d ", q.VacantInQue(), q.HasTensorInQue(), q.HasIdleBuffer(), q.GetTensorCountInQue(), (int)q.GetState(a));
    a = q.DeQue<T>(); b = q.DeQue<T>(); q.FreeTensor(a); q.FreeTensor(b); q.FreeAllEvent();
    printf("%d%d%d", q.VacantInQue(), q.HasTensorInQue(), q.HasIdleBuffer());"""), *xy)
    assert r.stdout == "101 01022 101"


# ===== order between cores
def test_blocks_in_order_between_wait_and_notify():
    log = np.zeros(64, np.int32)
    ws = np.zeros(64, np.int32)
    text = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR log, GM_ADDR ws) {
    TPipe pipe; TBuf<> b; pipe.InitBuffer(b, 1024);
    GlobalTensor<int32_t> g, l; g.SetGlobalBuffer((__gm__ int32_t*)ws, 64); l.SetGlobalBuffer((__gm__ int32_t*)log, 64);
    LocalTensor<int32_t> u = b.Get<int32_t>(128), v = b.GetWithOffset<int32_t>(8, 512);
    InitDetermineComputeWorkspace(g, u);
    for (int r = 0; r < 2; r++) {
        WaitPreBlock(g, u);
        printf("%d", (int)GetBlockIdx());
        DataCopy(v, l, 8);
        PipeBarrier<PIPE_ALL>();
        v.SetValue(0, v.GetValue(0) * 3 + (int)GetBlockIdx());
        PipeBarrier<PIPE_ALL>();
        DataCopy(l, v, 8);
        NotifyNextBlock(g, u);
    }
}
"""
    r = run(text, log, ws, blocks=4)
    want = 0
    for i in [0, 1, 2, 3] * 2:
        want = want * 3 + i
    assert r.stdout == "01230123" and log[0] == want and not [f for f in r.findings if f.severity != "note"], r.findings


def test_one_block_hands_over_to_another():
    data, ws = np.zeros(64, np.int32), np.zeros(256, np.int32)
    text = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR data, GM_ADDR ws) {
    TPipe pipe; TBuf<> b; pipe.InitBuffer(b, 1024);
    GlobalTensor<int32_t> g, d; g.SetGlobalBuffer((__gm__ int32_t*)ws, 256); d.SetGlobalBuffer((__gm__ int32_t*)data, 64);
    LocalTensor<int32_t> u = b.Get<int32_t>(8), v = b.GetWithOffset<int32_t>(8, 512);
    for (int r = 0; r < 3; r++) {
        if (GetBlockIdx() == 1) {
            Duplicate(v, r + 5, 8);
            PipeBarrier<PIPE_ALL>();
            DataCopy(d[8 * r], v, 8);
            IBSet(g, u, 0, 0);
        } else {
            %s
            DataCopy(v, d[8 * r], 8);
            PipeBarrier<PIPE_ALL>();
            printf("%%d ", v.GetValue(0));
        }
    }
}
"""
    r = run(text % "IBWait(g, u, 0, 0);", data, ws, blocks=2)
    assert r.stdout == "5 6 7 " and not [f for f in r.findings if f.severity != "note"], r.findings
    with pytest.raises(hp.KernelError) as e:
        run(text % "", data, ws, blocks=2)
    assert {f.code for f in e.value.findings} & {"BLOCK_CONFLICT", "DEADLOCK"}


def test_group_barrier_waits_for_all_members():
    ws = np.zeros(4096, np.uint8)
    text = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR ws) {
    TPipe pipe;
    GroupBarrier<PipeMode::MTE3_MODE> group(ws, 3, 1);
    if (GetBlockIdx() == 0) { group.Wait(0); printf("w"); group.Wait(0); printf("W"); }
    else { for (int i = 0; i < 2; i++) { printf("%d", (int)GetBlockIdx()); group.Arrive(GetBlockIdx() - 1); } }
}
"""
    out = run(text, ws, blocks=4).stdout
    assert out.index("w") > max(out.index(c) for c in "123") and out[-1] == "W"


def test_mixed_kernel_runs_on_both_core_kinds(xy):
    x, y = xy
    r = assert_clean(kernel("""
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    TQue<TPosition::VECIN, 1> in; TQue<TPosition::VECOUT, 1> out; TQue<TPosition::A1, 1> a1;
    pipe.InitBuffer(in, 1, 256); pipe.InitBuffer(out, 1, 256); pipe.InitBuffer(a1, 1, 1024);
    if ASCEND_IS_AIC {
        LocalTensor<T> l = a1.AllocTensor<T>(); a1.EnQue(l); l = a1.DeQue<T>(); a1.FreeTensor(l);
        CrossCoreSetFlag<2, PIPE_MTE2>(1);
    } else {
        CrossCoreWaitFlag(1);
    }
    LocalTensor<T> t = in.AllocTensor<T>(); DataCopy(t, xGm[GetBlockIdx() * 64], 64); in.EnQue(t); t = in.DeQue<T>();
    LocalTensor<T> u = out.AllocTensor<T>(); Adds(u, t, 1.0f, 64); out.EnQue(u); in.FreeTensor(t);
    u = out.DeQue<T>(); DataCopy(yGm[GetBlockIdx() * 64], u, 64); out.FreeTensor(u);
    printf("%s%ld ", ASCEND_IS_AIV ? "v" : "c", GetBlockIdx());"""), x, y, blocks=2)
    assert sorted(r.stdout.split()) == ["c0", "c1", "v0", "v1", "v2", "v3"]
    np.testing.assert_array_equal(y[:256], x[:256] + 1)
    assert (y[256:] == -1).all()


# ===== queries, tiling, debug output
def test_where_am_i(xy):
    r = run(kernel("""
    printf("%ld/%ld %ld %ld %ld|", GetBlockIdx(), GetBlockNum(), GetSubBlockIdx(), GetTaskRation(), block_idx + 0);
    if ASCEND_IS_AIC { printf("cube"); }
    if (g_coreType == AscendC::AIV) { printf("v"); }"""), *xy, blocks=3)
    assert r.stdout == "0/3 0 1 0|v1/3 0 1 1|v2/3 0 1 2|v"


def test_scalar_helpers(xy):
    r = run(kernel("""
    printf("%ld %ld %ld %ld %ld ", ScalarGetCountOfValue<1>(7), ScalarGetCountOfValue<0>(7), ScalarCountLeadingZero(1), CountBitsCntSameAsSignBit(1), ScalarGetSFFValue<0>(7));
    printf("%ld %ld ", CountBitsCntSameAsSignBit(INT64_MIN), CountBitsCntSameAsSignBit(-1));
    printf("%d %d %d %d ", ScalarCast<float, int32_t, RoundMode::CAST_RINT>(2.5f), ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(2.5f),
           ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(-2.5f), ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(1e20f));
    half odd = ScalarCast<float, half, RoundMode::CAST_ODD>(1.0001f);
    printf("%f %f", odd, ToBfloat16(1.00390625f));"""), *xy)
    assert r.stdout == f"3 61 63 62 3 0 -1 2 3 -2 2147483647 {float(np.nextafter(np.float16(1), np.float16(2))):.6f} 1.000000"


@pytest.mark.parametrize("bits", range(0, 0x7c00, 997))
def test_float_to_bfloat16_rounds_to_even(bits):
    import ml_dtypes
    f = np.uint32(bits << 16 | (bits * 7 & 0xffff)).view(np.float32)
    r = run(kernel("""    bfloat16_t v = ToBfloat16(xGm.GetValue(0)); uint16_t b; __builtin_memcpy(&b, &v, 2); printf("%u", b);"""), np.array([f] * 16, np.float32), np.zeros(16, np.float32))
    assert int(r.stdout) == int(np.array(f).astype(ml_dtypes.bfloat16).view(np.uint16))


TILED = """#include "kernel_operator.h"
struct T { uint32_t n; uint8_t flag; float scale[3]; int64_t last; };
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR tiling) {
    REGISTER_TILING_DEFAULT(T);
    GET_TILING_DATA(all, tiling);
    GET_TILING_DATA_MEMBER(T, scale, scale, tiling);
    COPY_TILING_WITH_ARRAY(float, 3, all.scale, copy);
    AscendC::printf("%u %u %f %f %ld", all.n, all.flag, scale[2], (*copy)[1], all.last);
}
"""


def test_tiling_data_reaches_the_kernel():
    raw = np.zeros(32, np.uint8)
    raw[:4].view(np.uint32)[:] = 77
    raw[4] = 3
    raw[8:20].view(np.float32)[:] = [1, 2.5, 3.5]
    raw[24:32].view(np.int64)[:] = -9
    assert run(TILED, np.zeros(8, np.float32), raw).stdout == "77 3 3.500000 2.500000 -9"
    for arg, says in [(raw[:16].copy(), "32 B"), (None, "null")]:
        with pytest.raises(hp.KernelError) as e:
            run(TILED, np.zeros(8, np.float32), arg)
        assert e.value.findings[0].code == "HOST_ARGUMENT" and says in e.value.findings[0].message and e.value.findings[0].line == 5


def test_tiling_key_chooses_the_branch(xy):
    text = kernel("""
    if (TILING_KEY_IS(1)) { printf("one"); }
    else if (TILING_KEY_IS(10000000000000000001UL)) { printf("long"); }
    else if (TILING_KEY_LIST(3, 4)) { printf("list"); }  // HERE""")
    assert [run(text, *xy, tiling_key=k).stdout for k in (1, 10000000000000000001, 4)] == ["one", "long", "list"]
    with pytest.raises(hp.KernelError) as e:
        run(text, *xy, tiling_key=2)
    assert e.value.findings[0].code == "HOST_ARGUMENT" and "TILING_KEY_IS(2)" in e.value.findings[0].message


def test_printf_formats(xy):
    r = run(kernel(r"""
    half h = 1.5; bfloat16_t b = 2.5f; int8_t small = -1;
    printf("%d %i %u %x %5.2f %f %s %% %ld %lu\n", -3, small, 7u, small, h, b, "text", (int64_t)-4, (uint64_t)5);
    printf("plain\n");
    PRINTF("%f %d\n", 3, 2.75f);"""), *xy)
    assert r.stdout == "-3 -1 7 ff  1.50 2.500000 text % -4 5\nplain\n3.000000 2\n"


def test_dump_tensor_with_and_without_shape(xy):
    x, y = xy
    r = run(kernel("""
    TQue<TPosition::VECIN, 1> q; pipe.InitBuffer(q, 1, 256);
    LocalTensor<T> t = q.AllocTensor<T>(); DataCopy(t, xGm, 64); q.EnQue(t); t = q.DeQue<T>();
    uint32_t dims[2] = {2, 3};
    DumpTensor(t[8], 5, 4);
    DumpTensor(xGm[1], 6, 5, ShapeInfo(2, dims));
    DumpAccChkPoint(t, 7, 16, 2);
    q.FreeTensor(t);"""), x, y)
    assert "desc=5, addr=0x20, data_type=float32, position=UB, dump_size=4\n[8.000000, 9.000000, 10.000000, 11.000000]" in r.stdout
    assert "shape is [2, 3], dumpSize is 5, data is not enough.\n[[1.000000, 2.000000, 3.000000],\n[4.000000, 5.000000, -]]" in r.stdout
    assert "[16.000000, 17.000000]" in r.stdout


def test_assert_stops_the_kernel_and_tells_the_values(xy):
    f = assert_finds("ASSERT", kernel("""    int n = 3;
    assert(n > 2);
    ASSERT(n == 3 && "text");
    int m = 0 ASSERT(n == 4);
    if (m) ASSERT(m); else ASSERT(n);
    ascendc_assert(n > 3, "n is %d", n);  // HERE"""), *xy, says=["n > 3", "n is 3"])
    assert f.block == 0
    assert_finds("ASSERT", kernel("    Trap();  // HERE"), *xy, says="Trap")


def test_cycle_counter_advances_with_modelled_time(xy):
    r = run(kernel("""
    int64_t a = GetSystemCycle();
    for (int i = 0; i < 1000; i++) { Nop<100>(); }
    int64_t b = GetSystemCycle();
    printf("%ld", b - a);"""), *xy)
    ghz = hp.chip("Ascend910B1").clock_ghz
    assert abs(int(r.stdout) - 100_000 / ghz / 1e3 * 50) <= 60      # 50 ticks per microsecond


def test_list_of_tensors():
    a, b = np.arange(8, dtype=np.float32), np.arange(100, 116, dtype=np.float32)
    text = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR list) {
    uint64_t* w = (uint64_t*)list;              // the host writes this block on the device
    uint64_t words[] = {7 * 8, 2 | (2ull << 32), 2, 4, 2 | (1ull << 32), 4, 4, (uint64_t)a, (uint64_t)b};
    for (int i = 0; i < 9; i++) w[i] = words[i];
    ListTensorDesc l((__gm__ void*)list);
    TensorDesc<float> d; uint64_t shape[4]; d.SetShapeAddr(shape);
    for (uint32_t i = 0; i < l.GetSize(); i++) {
        l.GetDesc(d, i);
        GlobalTensor<float> g = d.GetDataObj();
        printf("%lu x %lu: %f (%lu) ", d.GetShape(0), d.GetShape(1), g.GetValue(2), g.GetSize());
    }
}
"""
    assert run(text, a, b, np.zeros(16, np.uint64)).stdout == "2 x 4: 2.000000 (8) 4 x 4: 102.000000 (16) "


def test_bytes_written_through_a_raw_pointer_count_as_written(xy):
    """The engine does not see such a store; a pointer to const cannot make one."""
    body = """
    TBuf<> b; pipe.InitBuffer(b, 256);
    auto t = b.Get<T>();
    __ubuf__ POINTEE* p = (__ubuf__ POINTEE*)t.GetPhyAddr();
    for (int i = 0; i < 64; i++) STORE;
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0); WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    DataCopy(yGm, t, 64);"""
    assert_clean(kernel(body.replace("POINTEE", "float").replace("STORE", "p[i] = i * i")), *xy)
    np.testing.assert_array_equal(xy[1][:64], np.arange(64, dtype=np.float32) ** 2)
    with pytest.raises(hp.KernelError, match="UNINITIALISED_READ"):
        run(kernel(body.replace("POINTEE", "const float").replace("STORE", "(void)p[i]")), *xy)


@pytest.mark.parametrize("dtype, found", [(np.float64, True), (np.float16, True), (np.int64, True), (np.float32, False), (np.int32, False), (np.uint8, False)])
def test_an_array_of_another_type_behind_a_gm_addr(xy, dtype, found):
    """The default types of NumPy are not those of kernels; bytes and equal sizes may be reinterpreted on purpose."""
    x = np.zeros(2048, dtype) if dtype is np.uint8 else np.zeros(512, dtype)
    done = run(kernel("    TBuf<> b; pipe.InitBuffer(b, 256);"), x, xy[1])
    told = [f for f in done.findings if f.code == "HOST_ARGUMENT"]
    assert bool(told) == found
    if found:
        assert told[0].severity == "warning" and np.dtype(dtype).name in told[0].message and "np.float32" in told[0].hint and told[0].line


def test_layouts_place_elements():
    """Shape, Stride, Layout by MakeShape, MakeStride, MakeLayout: with steps, and side by side without."""
    text = """#include "kernel_operator.h"
using namespace AscendC;
static_assert(MakeLayout(MakeShape(2, 3, 4))(1, 2, 3) == 23);
static_assert(std::is_same<decltype(MakeLayout(MakeShape(2, 3), MakeStride(8, 1))), Layout<Shape<int, int>, Stride<int, int>>>::value);
extern "C" __global__ __aicore__ void k(int32_t rows, int32_t columns, int32_t step) {
    auto dense = MakeLayout(MakeShape(rows, columns), MakeStride());
    auto wide = MakeLayout(MakeShape(rows, columns), MakeStride(step, 1));
    printf("%lu %lu %lu %d %d", dense.Size(), dense(2, 3), wide(2, 3), Std::get<1>(wide.GetShape()), Std::get<0>(wide.GetStride()));
}
"""
    assert hp.compile(text)[1](5, 7, 16).stdout.split() == ["35", "17", "35", "7", "16"]
    with pytest.raises(hp.CompileError) as e:
        hp.compile(text.replace("wide(2, 3)", "wide(2)"))
    assert "one index for each dimension" in e.value.findings[0].message
