"""Members of the Matmul object that few kernels use: batches into a workspace, copies on the way, waits, what the chip lacks."""
from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from helpers import host
from matmul_kernels import close, exact, matrices, run, text

MIX = dict(cube_only=False, blocks=1)


def batch_tiling(a, b, m, n, k):
    t = host.BatchMatmulTiling()
    for which in (t.SetAType, t.SetBType):
        which("GM", "ND", "half")
    t.SetCType("GM", "ND", "float")
    t.SetBatchInfoForNormal(a, b, m, n, k)
    t.SetBatchNum(max(a, b))
    return t.GetTiling()


def test_the_bias_can_be_left_out():
    A, B = matrices(40, 50, 60)
    row = np.arange(50, dtype=np.float32)
    tiling = host.matmul_tiling(40, 50, 60, bias=True)
    for call, bias in (("", row), ("mm.DisableBias();", None), ("mm.ClearBias(); mm.SetBias(biasGm);", row), ("mm.ClearBias();", None)):
        out = np.zeros((40, 50), np.float32)
        found = hp.compile(text(bias="float32", set_=f"mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.SetBias(biasGm); {call}"))[1](A, B, row, out, np.zeros(64, np.uint8), tiling)
        close(out, exact(A, B, bias))
        assert not any("SetBias was not called" in f.message for f in found.findings)      # it was, or its bias was switched off on purpose


@pytest.mark.parametrize("sync", [True, False])
def test_batches_into_a_workspace(sync):
    """IterateNBatch computes two rounds of three products; GetBatchTensorC hands out a round each time."""
    rng = np.random.default_rng(7)
    A, B = (rng.standard_normal(s).astype(np.float16) for s in ((6, 16, 32), (6, 32, 48)))
    out, room = np.zeros((6, 16, 48), np.float32), np.zeros(6 * 16 * 48 * 4, np.uint8)
    body = """GlobalTensor<float> workspace;
    workspace.SetGlobalBuffer((__gm__ float*)extra, 6 * 16 * 48);
    mm.SetWorkspace(workspace);
    mm.template IterateNBatch<%s>(2, 3, 3, false);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 3 * 16 * 48 * 4);
    for (int32_t i = 0; i < 2; i++) {
        LocalTensor<float> local = queue.AllocTensor<float>();
        if (i == 0) {
            GlobalTensor<float> part = mm.template GetBatchTensorC<false>(3, 3);
            DataCopy(local, part, 3 * 16 * 48);
        } else {
            mm.template GetBatchC<false>(local, 3, 3);
        }
        queue.EnQue(local);
        local = queue.DeQue<float>();
        DataCopy(cGm[i * 3 * 16 * 48], local, 3 * 16 * 48);
        queue.FreeTensor(local);
    }""" % ("true" if sync else "false, true")
    kernel = hp.compile(text(body=body, cube_only=False, positions=("GM", "GM", "VECIN"), layout="NORMAL", layout_c="NORMAL", config="MANY",
                             before="constexpr MatmulConfig MANY = GetNormalConfig(false, true);"))
    found = kernel[1](A, B, np.zeros(48, np.float32), out, room, batch_tiling(3, 3, 16, 48, 32))
    close(out, np.stack([exact(A[i], B[i]) for i in range(6)]))
    assert [f for f in found.findings if f.severity == "error"] == []


def test_a_batch_that_runs_beside():
    rng = np.random.default_rng(8)
    A, B = (rng.standard_normal(s).astype(np.float16) for s in ((4, 16, 32), (4, 32, 48)))
    out = np.zeros((4, 16, 48), np.float32)
    kernel = hp.compile(text(body="mm.template IterateBatch<false, true>(cGm, 4, 4, false); mm.WaitIterateBatch();", cube_only=False, layout="NORMAL", layout_c="NORMAL"))
    kernel[1](A, B, np.zeros(48, np.float32), out, np.zeros(64, np.uint8), batch_tiling(4, 4, 16, 48, 32))
    close(out, np.stack([exact(A[i], B[i]) for i in range(4)]))


def test_operands_that_go_to_gm_on_the_way():
    """SetTensorAWithCopy: A comes from UB and lies in a tensor of the kernel's own afterwards."""
    A, B = matrices(16, 48, 32)
    out, room = np.zeros((16, 48), np.float32), np.zeros(2 * (16 * 32 + 32 * 48) * 2, np.uint8)
    body = """TQue<TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, 32 * 48 * sizeof(half));
    GlobalTensor<half> wayA, wayB;
    wayA.SetGlobalBuffer((__gm__ half*)extra + GetSubBlockIdx() * 2048, 16 * 32);
    wayB.SetGlobalBuffer((__gm__ half*)extra + GetSubBlockIdx() * 2048 + 512, 32 * 48);
    LocalTensor<half> left = queue.AllocTensor<half>();
    Duplicate(left, static_cast<half>(0.5f), 16 * 32);
    queue.EnQue(left);
    left = queue.DeQue<half>();
    mm.SetTensorAWithCopy(wayA, left);
    LocalTensor<half> right = queue.AllocTensor<half>();
    Duplicate(right, static_cast<half>(2.0f), 32 * 48);
    queue.EnQue(right);
    right = queue.DeQue<half>();
    mm.SetTensorBWithCopy(wayB, right);
    mm.IterateAll(cGm);
    queue.FreeTensor(left);
    queue.FreeTensor(right);"""
    hp.compile(text(cube_only=False, positions=("VECOUT", "VECOUT", "GM"), set_=" ", body=body))[1](A, B, np.zeros(48, np.float32), out, room, host.matmul_tiling(16, 48, 32))
    assert (out == 32).all() and (room.view(np.float16)[:512] == 0.5).all() and (room.view(np.float16)[512:2048] == 2).all()


def test_tiles_fetched_beside_the_work():
    room = np.zeros(4 * 64 * 64 * 4, np.uint8)
    body = """GlobalTensor<float> workspace;
    workspace.SetGlobalBuffer((__gm__ float*)extra);
    mm.SetWorkspace(workspace);
    mm.SetLocalWorkspace(LocalTensor<uint8_t>());
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 64 * 64 * sizeof(float));
    mm.template Iterate<false>();
    for (int32_t t = 0; t < 4; t++) {
        LocalTensor<float> tile = queue.AllocTensor<float>();
        mm.AsyncGetTensorC(tile);
        mm.WaitGetTensorC();
        queue.EnQue(tile);
        tile = queue.DeQue<float>();
        DataCopyPad(cGm[t % 2 * 64 * tiling.N + t / 2 * 64], tile, {64, 256, 0, (uint32_t)(tiling.N - 64) * 4, 0});
        queue.FreeTensor(tile);
    }"""
    run(128, 128, 96, base=(64, 64, 64), positions=("GM", "GM", "VECIN"), extra=room, body=body, **MIX)


def test_one_k_slice_a_tile():
    """isPartialOutput: each Iterate gives the product of one baseK, and atomics add them."""
    A, B = matrices(32, 48, 96)
    out = np.zeros((32, 48), np.float32)
    body = "int32_t t = 0; while (mm.Iterate()) { mm.GetTensorC(cGm, t++ == 0 ? 0 : 1, true); } "
    kernel = hp.compile(text(body=body, config="PARTS", before="constexpr MatmulConfig PARTS = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(MatmulFuncParams{false, false, false, false, 0, IterateOrder::UNDEF, ScheduleType::INNER_PRODUCT, true, false, true});"))
    kernel[1](A, B, np.zeros(48, np.float32), out, np.zeros(64, np.uint8), host.matmul_tiling(32, 48, 96, base=(32, 48, 32)))
    close(out, exact(A, B))


def test_an_operand_that_lies_in_l1():
    """On the cube core a tensor of L1 is an operand as it is: NZ, loaded by the kernel itself."""
    A, B = matrices(48, 64, 80)
    set_ = """TQue<TPosition::A1, 1> queue;
    pipe.InitBuffer(queue, 1, 48 * 80 * sizeof(half));
    LocalTensor<half> l1 = queue.AllocTensor<half>();
    DataCopy(l1, aGm, Nd2NzParams{1, 48, 80, 0, 80, 48, 1, 0});
    queue.EnQue(l1);
    l1 = queue.DeQue<half>();
    mm.SetTensorA(l1);
    mm.SetTensorB(bGm);"""
    for base in ((48, 64, 80), (16, 32, 16)):
        out = np.zeros((48, 64), np.float32)
        hp.compile(text(set_=set_, body="mm.IterateAll(cGm); queue.FreeTensor(l1);", positions=("TSCM", "GM", "GM")))[1](A, B, np.zeros(64, np.float32), out, np.zeros(64, np.uint8), host.matmul_tiling(48, 64, 80, base=base))
        close(out, exact(A, B))


def test_dequantised_half():
    A, B = matrices(20, 32, 64, "int8")
    out = np.zeros((20, 32), np.float16)
    word = np.full(64, int(np.float32(0.0009765625).view(np.uint32)), np.uint64)
    hp.compile(text("int8", "float16", tb=True, set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm, true); mm.SetQuantScalar(extraGm.GetValue(0));"))[1](
        A, np.ascontiguousarray(B.T), np.zeros(32, np.int32), out, word, host.matmul_tiling(20, 32, 64, dtype="int8", out="int32", trans_b=True))
    assert (out == (exact(A, B) * 0.0009765625).astype(np.float16)).all()
    with pytest.raises(hp.KernelError, match="needs its scale"):
        run(20, 32, 64, a="int8", c="float16", tb=True, tiling=host.matmul_tiling(20, 32, 64, dtype="int8", out="int32", trans_b=True))


def test_policies_about_speed_and_other_names_of_the_macro():
    for policy in ("MatmulPolicy", "NBuffer33MatmulPolicy"):
        run(48, 48, 48, more=f"MatmulCallBackFunc<nullptr, nullptr, nullptr>, AscendC::Impl::Detail::{policy}")
    for macro in ("REGIST_MATMUL_OBJ_STATIC", "REGIST_CUBE_OBJ"):
        run(48, 48, 48, kernel=hp.compile(text(config="GetMDLConfig_", before="constexpr MatmulConfig GetMDLConfig_ = GetMDLConfig(false, false, 2);").replace("REGIST_MATMUL_OBJ(", f"{macro}(")))


@pytest.mark.parametrize("call, message", [
    ("mm.SetSparseIndex(GlobalTensor<uint8_t>());", "sparse matrices are not modelled"),
    ("mm.SetAntiQuantScalar((half)1, (half)2);", "inference chip"),
    ("mm.SetAntiQuantVector(LocalTensor<half>(), LocalTensor<half>());", "inference chip"),
])
def test_what_this_chip_lacks(call, message):
    with pytest.raises(hp.KernelError, match=f"(?s)UNSUPPORTED_API.*{message}"):
        run(16, 16, 16, set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); " + call)


def test_a_batch_needs_the_cube_or_its_numbers():
    with pytest.raises(hp.KernelError, match="SetBatchNum works on the cube core only"):
        run(16, 16, 16, set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.SetBatchNum(2, 2);", **MIX)
    with pytest.raises(hp.KernelError, match="SetHF32 works on the cube core only"):
        run(16, 16, 16, a="float32", set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.SetHF32(true);", **MIX)


def test_an_unfinished_tile_holds_back_the_other_vector_core():
    """Two vector cores iterate in turn on one cube core: each takes its own tile."""
    found = run(128, 128, 64, cores=2, base=(32, 64, 32), cube_only=False, blocks=1, body="while (mm.Iterate()) { mm.GetTensorC(cGm); }")
    assert len({int(c) for c in found.events["core"]}) == 3


@pytest.mark.parametrize("body", ["mm.IterateAll(cGm);", "mm.template IterateAll<false>(cGm, 0, false, true); mm.WaitIterateAll();"])
def test_one_product_for_both_vector_cores(body):
    """IBSHARE on A and B: both ask, it is computed once, and both may use it."""
    shared = text(config="CFG_IBSHARE_NORM", cube_only=False, body=body).replace("half, false>", "half, false, LayoutMode::NONE, true>")
    shared = shared.replace("int32_t block = GetBlockIdx()", "int32_t block = GetBlockIdx() / 2")
    once = run(64, 64, 64, kernel=hp.compile(shared), blocks=1)
    assert once.totals["gm_write_bytes"] == 64 * 64 * 4


def test_flags_of_the_library_are_its_own():
    both = host.matmul_tiling(32, 32, 32, cores=2, single=(16, 32, 32))
    cube_and_vector = "if ASCEND_IS_AIV { CrossCoreSetFlag<1, PIPE_MTE3>(%d); CrossCoreWaitFlag(%d); } mm.IterateAll(cGm);"
    with pytest.raises(hp.KernelError, match="(?s)EVENT_ID.*take ids 8 to 10"):
        run(32, 32, 32, body=cube_and_vector % (1, 1), tiling=both, **MIX)
    run(32, 32, 32, body=cube_and_vector % (8, 8), tiling=both, **MIX)
