"""Cube and vector cores of one kernel side by side: flags, barriers, what is missing and who waits for whom."""

import numpy as np
import pytest

import helpers as hp
from cube_kernels import HEAD
from kernel_text import assert_clean, assert_finds

# AIC: tile t of C = A*B to a workspace of two slots; each AIV takes half of the rows, adds 1 and stores.
PIPELINE = HEAD + """
constexpr uint32_t TILES = 5, SLOT = 32 * 32;
constexpr uint16_t READY = 3, FREE = 4;
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR ws, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(%(type)s);
    InitSocState();
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> wsGm, cGm;
    const int64_t group = GetBlockIdx() / GetTaskRation();
    aGm.SetGlobalBuffer((__gm__ half*)a + group * TILES * SLOT);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    wsGm.SetGlobalBuffer((__gm__ float*)ws + group * 2 * SLOT);
    cGm.SetGlobalBuffer((__gm__ float*)c + group * TILES * SLOT);
    if ASCEND_IS_AIC {
        LocalTensor<half> aL1(TPosition::A1, 0, SLOT), bL1(TPosition::B1, 2048, SLOT), aL0(TPosition::A2, 0, SLOT), bL0(TPosition::B2, 0, SLOT);
        LocalTensor<float> cL0(TPosition::CO1, 0, SLOT);
        DataCopy(bL1, bGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
        All();
        for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});
        for (uint32_t t = 0; t < TILES; ++t) {
            DataCopy(aL1, aGm[t * SLOT], Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
            All();
            for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], aL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});
            All();
            MmadParams p;
            p.m = 32, p.n = 32, p.k = 32;
            Mmad(cL0, aL0, bL0, p);
            All();
            if (t >= 2) CrossCoreWaitFlag(FREE);
            FixpipeParamsV220 f(32, 32, 32, 32, false);
            Fixpipe(wsGm[t %% 2 * SLOT], cL0, f);
            CrossCoreSetFlag<2, PIPE_FIX>(READY);
            All();
        }
    }
    if ASCEND_IS_AIV {
        const uint32_t part = SLOT / GetTaskRation(), mine = GetSubBlockIdx() * part;
        LocalTensor<float> x(TPosition::VECIN, 0, SLOT);
        for (uint32_t t = 0; t < TILES; ++t) {
            CrossCoreWaitFlag(READY);
            DataCopy(x, wsGm[t %% 2 * SLOT + mine], part);
            if (t + 2 < TILES) CrossCoreSetFlag<2, PIPE_MTE2>(FREE);
            All();
            Adds(x, x, 1.0f, part);
            All();
            DataCopy(cGm[t * SLOT + mine], x, part);
            All();
        }
    }
}
"""


def arrays(groups, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 9, (groups * 160, 32)).astype(np.float16), rng.integers(-9, 9, (32, 32)).astype(np.float16)
    return a, b, hp.workspace(groups * 2 * 4096), np.zeros((groups * 160, 32), np.float32)


def text(kind="KERNEL_TYPE_MIX_AIC_1_2", old="", new=""):
    t = PIPELINE % dict(type=kind)
    assert not old or old in t
    return t.replace(old, new) if old else t


@pytest.mark.parametrize("kind, vectors", [("KERNEL_TYPE_MIX_AIC_1_1", 1), ("KERNEL_TYPE_MIX_AIC_1_2", 2)])
def test_both_kinds_work_on_one_tile_after_the_other(kind, vectors):
    a, b, ws, c = arrays(3)
    for schedule in ("eager", "lazy"):
        c[:] = 0
        run = assert_clean(text(kind), a, b, ws, c, blocks=3, schedule=schedule)
        np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32) + 1)
    kinds = run.events["kind"]
    assert len(np.unique(run.events["core"][kinds == 0])) == 3 * vectors and len(np.unique(run.events["core"][kinds == 1])) == 3
    # side by side in the estimate too: the vector cores take a tile while the cube core makes the next one
    name = {n: i for i, n in enumerate(run.ops)}
    first = run.events[(run.events["op"] == name["Adds"])]["start"].min()
    assert first < run.events[run.events["op"] == name["Mmad"]]["start"].max()
    assert {"AIC", "AIV"} <= set(run.pipes)


def test_a_missing_flag_is_a_conflict_with_both_lines():
    a, b, ws, c = arrays(1)
    found = assert_finds("BLOCK_CONFLICT", text(old="            CrossCoreWaitFlag(READY);\n            DataCopy(x, wsGm[t % 2 * SLOT + mine], part);",
                                                new="            DataCopy(x, wsGm[t % 2 * SLOT + mine], part);  // HERE").replace("CrossCoreSetFlag<2, PIPE_FIX>(READY);", ""), a, b, ws, c,
                         says=["the AIC of block 0", "CrossCoreSetFlag<2, PIPE_FIX>"])
    assert "Fixpipe, line" in found.message


def test_a_flag_behind_the_wrong_pipe_orders_nothing():
    a, b, ws, c = arrays(1)
    assert_finds("BLOCK_CONFLICT", text(old="CrossCoreSetFlag<2, PIPE_FIX>(READY);\n            All();", new="CrossCoreSetFlag<2, PIPE_MTE3>(READY);\n            All();").replace(
        "DataCopy(x, wsGm[t % 2 * SLOT + mine], part);", "DataCopy(x, wsGm[t % 2 * SLOT + mine], part);  // HERE"), a, b, ws, c, says="PIPE_FIX")


def test_a_slot_overwritten_too_early():
    a, b, ws, c = arrays(1)
    found = assert_finds("BLOCK_CONFLICT", text(old="if (t >= 2) CrossCoreWaitFlag(FREE);", new="").replace("if (t + 2 < TILES) CrossCoreSetFlag<2, PIPE_MTE2>(FREE);", "").replace(
        "DataCopy(x, wsGm[t % 2 * SLOT + mine], part);", "DataCopy(x, wsGm[t % 2 * SLOT + mine], part);  // HERE"), a, b, ws, c, says="no order between them")
    assert "Fixpipe, line" in found.message and "AIV 0 of block 0 reads" in found.message


def test_a_wrong_flag_id_is_a_deadlock_that_names_both():
    a, b, ws, c = arrays(1)
    t = text(old="            CrossCoreWaitFlag(READY);", new="            CrossCoreWaitFlag(5);")
    with pytest.raises(hp.KernelError) as e:
        hp.compile(t)[1](a, b, ws, c)
    found, = [f for f in e.value.findings if f.code == "DEADLOCK"]
    lines = {n: i for i, s in enumerate(t.splitlines(), 1) for n in ("CrossCoreWaitFlag(5)", "PIPE_FIX>(READY)", "CrossCoreWaitFlag(FREE)") if n in s}
    assert f"CrossCoreWaitFlag(5) since line {lines['CrossCoreWaitFlag(5)']}" in found.message
    assert f"flag 3 was set at line {lines['PIPE_FIX>(READY)']}" in found.message


def test_who_waits_is_said_as_in_other_findings():
    """One block has three cores: none of them is "block 1"."""
    a, b, ws, c = arrays(1)
    with pytest.raises(hp.KernelError) as e:
        hp.compile(text(old="CrossCoreSetFlag<2, PIPE_FIX>(READY);"))[1](a, b, ws, c)
    message = e.value.findings[0].message
    assert all(f"{core} of block 0 waits" in message for core in ("the AIC", "AIV 0", "AIV 1")) and "block 1" not in message


@pytest.mark.parametrize("mode, says", [(0, "in mode 0, which reaches cores of the same kind only"), (1, "by 1 of 2 cores that have to set it")])
def test_a_mode_that_does_not_reach_the_other_side(mode, says):
    a, b, ws, c = arrays(1)
    with pytest.raises(hp.KernelError) as e:
        hp.compile(text(old="CrossCoreSetFlag<2, PIPE_FIX>(READY)", new=f"CrossCoreSetFlag<{mode}, PIPE_FIX>(READY)"))[1](a, b, ws, c)
    found, = e.value.findings
    assert found.code == "DEADLOCK" and says in found.message and "same id" not in found.hint
    assert mode or "takes mode 2: CrossCoreSetFlag<2, pipe>(3)" in found.hint


@pytest.mark.parametrize("flag, says", [(10, ""), (11, "SyncAll uses 11 to 14"), (15, "Matmul object"), (16, "this is flag 0"), (99, "this is flag 3")])
def test_ids_that_are_not_the_kernels_own(flag, says):
    a, b, ws, c = arrays(1)
    t = text(old="READY = 3", new=f"READY = {flag}").replace("CrossCoreSetFlag<2, PIPE_FIX>(READY);", "CrossCoreSetFlag<2, PIPE_FIX>(READY);  // HERE")
    if says:
        assert_finds("EVENT_ID", t, a, b, ws, c, severity="warning", says=says)
    else:
        assert_clean(t, a, b, ws, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32) + 1)


def test_only_one_of_two_vector_cores_sets():
    """Mode 2 from the vector side needs both of them."""
    a, b, ws, c = arrays(1)
    t = text(old="if (t + 2 < TILES) CrossCoreSetFlag", new="if (t + 2 < TILES && GetSubBlockIdx() == 0) CrossCoreSetFlag")
    with pytest.raises(hp.KernelError) as e:
        hp.compile(t)[1](a, b, ws, c)
    assert e.value.codes == ["DEADLOCK"] and "1 of 2" in e.value.findings[0].message


def test_sixteen_sets_without_a_wait():
    a, b, ws, c = arrays(1)
    t = text(old="            CrossCoreSetFlag<2, PIPE_FIX>(READY);", new="            for (int q = 0; q < 4; ++q) CrossCoreSetFlag<2, PIPE_FIX>(READY);  // HERE").replace("            CrossCoreWaitFlag(READY);", "").replace(
        "if (t >= 2) CrossCoreWaitFlag(FREE);", "").replace("if (t + 2 < TILES) CrossCoreSetFlag<2, PIPE_MTE2>(FREE);", "")
    assert_finds("UNPAIRED_FLAG", t, a, b, ws, c, says="15")


MODES = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {
    KERNEL_TASK_TYPE_DEFAULT(%(type)s);
    InitSocState();
    GlobalTensor<int32_t> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ int32_t*)x);
    yGm.SetGlobalBuffer((__gm__ int32_t*)y);
    if ASCEND_IS_AIV {
        LocalTensor<int32_t> u(TPosition::VECIN, 0, 64);
        const int64_t me = GetBlockIdx(), all = GetBlockNum() * %(ratio)d;
        Duplicate(u, (int32_t)me + 1, 8);
        All();
        DataCopy(xGm[me * 8], u, 8);
        %(meet)s
        DataCopy(u, xGm[%(other)s * 8], 8);
        All();
        DataCopy(yGm[me * 8], u, 8);
        All();
    }
    if ASCEND_IS_AIC { %(cube)s }
}
"""


@pytest.mark.parametrize("meet, other, kind, ratio, blocks, cube", [
    ("CrossCoreSetFlag<1, PIPE_MTE3>(2); CrossCoreWaitFlag(2);", "(me ^ 1)", "KERNEL_TYPE_MIX_AIC_1_2", 2, 3, ""),
    ("CrossCoreSetFlag<0, PIPE_MTE3>(2); CrossCoreWaitFlag(2);", "((me + 1) % all)", "KERNEL_TYPE_MIX_AIC_1_2", 2, 3, ""),
    ("CrossCoreSetFlag<0, PIPE_MTE3>(2); CrossCoreWaitFlag(2);", "((me + 3) % all)", "KERNEL_TYPE_MIX_AIV_1_0", 1, 5, ""),
    ("SyncAll();", "((me + 1) % all)", "KERNEL_TYPE_MIX_AIC_1_1", 1, 4, ""),
    ("SyncAll<false>();", "((me + 1) % all)", "KERNEL_TYPE_MIX_AIC_1_2", 2, 2, "SyncAll<false>();"),
    ("NotifyEvent<PIPE_MTE3>(6); WaitEvent(7);", "(me ^ 1)", "KERNEL_TYPE_MIX_AIC_1_2", 2, 2, "WaitEvent(6); NotifyEvent<PIPE_FIX>(7);"),
    ("ffts_cross_core_sync(PIPE_MTE3, GetffstMsg(1, 9)); wait_flag_dev(9);", "(me ^ 1)", "KERNEL_TYPE_MIX_AIC_1_2", 2, 1, ""),
])
def test_every_way_to_meet(meet, other, kind, ratio, blocks, cube):
    n = blocks * ratio
    x, y = hp.workspace(n * 32), np.zeros((n, 8), np.int32)
    good = MODES % dict(meet=meet, other=other, type=kind, ratio=ratio, cube=cube)
    assert_clean(good, x, y, blocks=blocks)
    partner = [eval(other, {"me": i, "all": n}) + 1 for i in range(n)]
    np.testing.assert_array_equal(y, np.repeat(np.array(partner)[:, None], 8, 1))


FLAGS = """extern "C" __global__ __aicore__ void k(GM_ADDR x) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_%s);
    InitSocState();
    %s
}
"""


@pytest.mark.parametrize("kind, call, says", [
    ("AIV_ONLY", "CrossCoreSetFlag<0, PIPE_MTE3>(3);", "MIX_AIV_1_0"), ("AIC_ONLY", "CrossCoreSetFlag<0, PIPE_FIX>(3);", "MIX_AIC_1_0"), ("AIV_ONLY", "CrossCoreWaitFlag(3);", "does not start the scheduler"),
    ("AIV_ONLY", "CrossCoreSetFlag<1, PIPE_MTE3>(3);", "MIX_AIC_1_2"), ("MIX_AIV_1_0", "CrossCoreSetFlag<1, PIPE_MTE3>(3);", "mode 1 joins the cores of an AI Core"),
    ("MIX_AIC_1_0", "CrossCoreSetFlag<2, PIPE_FIX>(3);", "mode 2 joins the cores of an AI Core"),
])
def test_flags_that_nobody_delivers(kind, call, says):
    """Which kernel types are enough is seen in test_every_way_to_meet."""
    assert_finds("DEADLOCK", HEAD + FLAGS % (kind, call + "  // HERE"), np.zeros(8, np.int32), says=says)


@pytest.mark.parametrize("body, says", [
    ("if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); CrossCoreSetFlag<2, PIPE_FIX>(3);  // HERE\n} else { CrossCoreWaitFlag(3); }", "flag 3 was set 2 times for AIV 0 of block 0, which waited 1 time:"),
    ("if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3);  // HERE\n}", "flag 3 was set 1 time for AIV 0 of block 0, which waited 0 times"),
    ("if ASCEND_IS_AIV { CrossCoreSetFlag<2, PIPE_MTE3>(4);  // HERE\n}", "flag 4 was set 1 time for the AIC of block 0, which waited 0 times"),
    ("if ASCEND_IS_AIV { if (GetBlockIdx() == 1) { CrossCoreSetFlag<1, PIPE_MTE3>(5);  // HERE\n} }", "flag 5 in mode 1 was set once more by 1 of 2 cores"),
])
def test_flags_that_nobody_takes(body, says):
    text = HEAD + FLAGS % ("MIX_AIC_1_2", body)
    found = [f for f in hp.compile(text)[1](np.zeros(8, np.int32)).findings if f.severity != "note"]
    assert [(f.code, f.severity) for f in found] == [("UNPAIRED_FLAG", "warning")] and says.rstrip(":") in found[0].message and "// HERE" in found[0].source
    both = "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(3); CrossCoreWaitFlag(4); } else { CrossCoreWaitFlag(3); CrossCoreSetFlag<2, PIPE_MTE3>(4); CrossCoreSetFlag<1, PIPE_MTE3>(5); CrossCoreWaitFlag(5); }"
    assert_clean(HEAD + FLAGS % ("MIX_AIC_1_2", both), np.zeros(8, np.int32))


def test_nobody_meets():
    bad = MODES % dict(meet="All();", other="(me ^ 1)", type="KERNEL_TYPE_MIX_AIC_1_2", ratio=2, cube="")
    with pytest.raises(hp.KernelError) as e:
        hp.compile(bad)[2](np.zeros((4, 8), np.int32), np.zeros((4, 8), np.int32))
    assert e.value.codes == ["BLOCK_CONFLICT"]


def test_software_flags_between_two_blocks():
    good = MODES % dict(meet="GlobalTensor<int32_t> flags; flags.SetGlobalBuffer((__gm__ int32_t*)x + 1024); IBSet(flags, u[32], (int32_t)me, 0); IBWait(flags, u[32], (int32_t)(me ^ 1), 0);",
                        other="(me ^ 1)", type="KERNEL_TYPE_AIV_ONLY", ratio=1, cube="")
    x, y = np.zeros(4096, np.int32), np.zeros((2, 8), np.int32)
    assert_clean(good, x, y, blocks=2)
    np.testing.assert_array_equal(y[:, 0], [2, 1])
    with pytest.raises(hp.KernelError) as e:
        hp.compile(good.replace("IBWait(flags, u[32], (int32_t)(me ^ 1), 0)", "IBWait(flags, u[32], (int32_t)(me ^ 1), 1)"))[2](x, y)
    assert e.value.codes == ["DEADLOCK"] and "IBWait" in e.value.findings[0].message


def test_sync_all_of_both_kinds_that_one_kind_misses():
    bad = MODES % dict(meet="SyncAll<false>();", other="me", type="KERNEL_TYPE_MIX_AIC_1_2", ratio=2, cube="")
    with pytest.raises(hp.KernelError) as e:
        hp.compile(bad)[2](hp.workspace(256), np.zeros((4, 8), np.int32))
    assert e.value.codes == ["DEADLOCK"] and "SyncAll" in e.value.findings[0].message


BY_MACRO = """#include "kernel_operator.h"
using namespace AscendC;
#if defined(__DAV_C220_CUBE__)
inline __aicore__ int32_t Half() { return 100; }
#elif defined(__DAV_C220_VEC__)
inline __aicore__ int32_t Half() { return 200; }
#endif
template <int kind> struct Named;
template <> struct Named<AIC> { static __aicore__ int32_t Get() { return 1; } };
template <> struct Named<AIV> { static __aicore__ int32_t Get() { return 2; } };
extern "C" __global__ __aicore__ void k(GM_ADDR y) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    if constexpr (g_coreType == AIC) {
        printf("cube %d;", Half() + Named<g_coreType>::Get());
    } else {
        printf("vector %d;", Half() + Named<g_coreType>::Get());
    }
}
"""


def test_a_text_that_asks_for_its_core_at_compile_time():
    k = hp.compile(BY_MACRO)
    for _ in range(2):                                     # the second launch finds the kernel loaded
        assert k[1](np.zeros(8, np.int32)).stdout == "cube 101;vector 202;vector 202;"
    other = hp.compile(BY_MACRO.replace("200", "300"))     # beside it: the cube halves do not mix
    assert other[1](np.zeros(8, np.int32)).stdout == "cube 101;vector 302;vector 302;"
    assert hp.compile(BY_MACRO.replace("MIX_AIC_1_2", "AIC_ONLY"))[1](np.zeros(8, np.int32)).stdout == "cube 101;"
    with pytest.raises(hp.CompileError) as e:
        hp.compile(BY_MACRO.replace("return 100", "return missing"))
    assert e.value.findings[0].line == 4


def test_cube_instructions_on_a_vector_core():
    body = HEAD + """extern "C" __global__ __aicore__ void k(GM_ADDR x) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    InitSocState();
    LocalTensor<float> c(TPosition::CO1, 0, 256);
    LocalTensor<half> a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
    MmadParams p;
    p.m = 0;
    Mmad(c, a, b, p);  // HERE
}
"""
    assert_finds("UNSUPPORTED_API", body, np.zeros(8, np.float16), severity="warning", says="ASCEND_IS_AIC")
    assert_clean(body.replace("Mmad(c", "if ASCEND_IS_AIC Mmad(c"), np.zeros(8, np.float16))


VECTOR_WORK = """extern "C" __global__ __aicore__ void k(GM_ADDR xAddr, GM_ADDR yAddr) {
    KERNEL_TASK_TYPE_DEFAULT(%s);
    InitSocState();
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float*)xAddr, 64);
    yGm.SetGlobalBuffer((__gm__ float*)yAddr, 64);
    LocalTensor<float> x(TPosition::VECCALC, 0, 64), y(TPosition::VECCALC, 256, 64), l1(TPosition::A1, 0, 64);
    %s
}
"""


def test_work_that_no_core_of_the_launch_can_do():
    """A launch of cube cores with vector code, and the other way round: told once a line. Side by side, each kind skips the other's calls in silence."""
    vector = ["DataCopy(x, xGm, 64);", "Adds(y, x, 1.0f, 64);", "ReduceSum(y, y, x, 64);", "Sort<float, true>(y, x, x.ReinterpretCast<uint32_t>(), x, 1);", "DataCopy(y, x, 64);", "DataCopy(yGm, y, 64);"]
    cube = ["DataCopy(l1, xGm, 64);", "Fill(l1, {1, 1, 0, 1.0f});", "SetHF32Mode(true);", "DataCopy(yGm, l1, 64);"]
    for kind, calls, cores in (("KERNEL_TYPE_AIC_ONLY", vector, "cube"), ("KERNEL_TYPE_MIX_AIV_1_0", cube, "vector")):
        y = np.zeros(64, np.float32)
        found = hp.compile(HEAD + VECTOR_WORK % (kind, "\n    All();\n    ".join(calls)))[2](np.ones(64, np.float32), y).findings
        told = {f.source.strip() for f in found if f.code == "UNSUPPORTED_API" and f.severity == "warning" and f"this launch has {cores} cores only" in f.message and "KERNEL_TYPE_MIX_AIC_1_2" in f.hint}
        assert told == set(calls) and not y.any()
    both = [v for v in vector if "Sort" not in v and "Reduce" not in v and v != "DataCopy(y, x, 64);"]
    y = np.zeros(64, np.float32)
    assert_clean(HEAD + VECTOR_WORK % ("KERNEL_TYPE_MIX_AIC_1_1", "\n    All();\n    ".join(both + ["DataCopy(l1, xGm, 64);"]) + "\n    All();"), np.ones(64, np.float32), y)
    assert (y == 2).all()
    # On a vector core a copy from UB to L1 has no way: it is no call of the other kind.
    path = HEAD + VECTOR_WORK % ("KERNEL_TYPE_MIX_AIC_1_1", "DataCopy(x, xGm, 64);\n    All();\n    DataCopy(l1, x, 64);  // HERE")
    assert_finds("UNSUPPORTED_API", path, np.ones(64, np.float32), y, says=["from x (UB) to l1 (L1) is not modelled"])
