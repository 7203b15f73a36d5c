"""What a Matmul object leaves undone without a word of the device: parts of C that no core computes, tiles that nobody fetches,
fields of a tiling that do not fit each other."""
from __future__ import annotations

import numpy as np
import pytest

import helpers as hp
from helpers import host
from matmul_kernels import close, exact, matrices, run, text

FIELDS = ("usedCoreNum M N Ka Kb singleCoreM singleCoreN singleCoreK baseM baseN baseK depthA1 depthB1 stepM stepN isBias transLength iterateOrder shareMode shareL1Size shareL0CSize "
          "shareUbSize batchM batchN singleBatchM singleBatchN stepKa stepKb depthAL1CacheUB depthBL1CacheUB dbL0A dbL0B dbL0C ALayoutInfoB ALayoutInfoS ALayoutInfoN ALayoutInfoG ALayoutInfoD "
          "BLayoutInfoB BLayoutInfoS BLayoutInfoN BLayoutInfoG BLayoutInfoD CLayoutInfoB CLayoutInfoS1 CLayoutInfoN CLayoutInfoG CLayoutInfoS2 BatchNum").split()


def launch(m, n, k, blocks, tiling, kernel=None, dtype="float16", out=None, extra=None, **options):
    """Result and the findings that are no notes."""
    A, B = matrices(m, n, k, dtype)
    out = np.full((m, n), 77, np.float32) if out is None else out
    found = (kernel or hp.compile(text(dtype, **options)))[blocks](A, B, np.zeros(n, np.float32), out, np.zeros(512, np.uint8) if extra is None else extra, tiling)
    return A, B, out, [f for f in found.findings if f.severity != "note"]


# ---- parts of C
@pytest.mark.parametrize("cube_only", [True, False])
def test_a_launch_of_fewer_cores_than_the_tiling_has_parts(cube_only):
    each = 1 if cube_only else 2
    tiling = host.matmul_tiling(200, 300, 64, cores=6)
    used, kernel = tiling.usedCoreNum, hp.compile(text(cube_only=cube_only))
    A, B, out, found = launch(200, 300, 64, used // each, tiling, kernel)
    close(out, exact(A, B))
    assert found == []
    A, B, out, found = launch(200, 300, 64, 1, tiling, kernel)
    (one,) = found
    computed = (out != 77).mean()
    assert 0.05 < computed < 0.7 and one.code == "BAD_PARAMETER" and "REGIST_MATMUL_OBJ" in one.source
    for words in ("C (200 x 300)", f"{used} cores", f"{each} core{'s' * (each > 1)} of 1 block", f"{100 * computed:.0f} %"):
        assert words in one.message, words
    assert f"launch {-(-used // each)} blocks" in one.hint


ALL_PARTS = """for (int32_t part = 0; part < tiling.usedCoreNum; part++) {
        int32_t r = part % down * tiling.singleCoreM, q = part / down * tiling.singleCoreN;
        mm.SetTail(tiling.M - r < tiling.singleCoreM ? tiling.M - r : tiling.singleCoreM, tiling.N - q < tiling.singleCoreN ? tiling.N - q : tiling.singleCoreN);
        mm.SetTensorA(aGm[r * tiling.Ka]);
        mm.SetTensorB(bGm[q]);
        mm.IterateAll(cGm[r * tiling.N + q]);
    }"""


OWN_TILE = """LocalTensor<float> tile(TPosition::CO1, 65536, 4096);
    mm.Iterate(false, tile);
    PipeBarrier<PIPE_ALL>();
    Fixpipe(cGm, tile, FixpipeParamsV220(64, 64, 64, 64, false));
    PipeBarrier<PIPE_ALL>();"""
# What follows SetTensorA and SetTensorB; one kernel for all of them.
BODIES = {"parts": ALL_PARTS, "single": "mm.SetSingleShape(tiling.M, tiling.N, tiling.Ka); mm.IterateAll(cGm);", "org": "mm.SetOrgShape(tiling.M, tiling.N, tiling.Ka); mm.SetTail(tiling.M, tiling.N); mm.IterateAll(cGm);",
          "loop": "while (mm.Iterate()) {}", "both": "mm.Iterate(); mm.IterateAll(cGm);", "last": "mm.Iterate(); mm.GetTensorC(cGm); mm.Iterate(); return;", "nothing": "", "own": OWN_TILE,
          "once": "mm.Iterate(); mm.GetTensorC(cGm);", "again": "mm.Iterate(); mm.GetTensorC(cGm); mm.SetTensorA(aGm); mm.IterateAll(cGm);", "ends early": "int32_t n = 0; while (mm.Iterate()) { mm.GetTensorC(cGm); if (++n == 2) break; }"}


@pytest.fixture(scope="module")
def many():
    cases = "\n".join(f"case {i}: {{ {body} }} break;" for i, body in enumerate(BODIES.values()))
    kernel = hp.compile(text(body=f"switch ((int32_t)extraGm.GetValue(0)) {{\n{cases}\n}}"))
    return lambda name, m, n, k, tiling: launch(m, n, k, 1, tiling, kernel, extra=np.full(64, list(BODIES).index(name), np.uint64))


@pytest.mark.parametrize("body", ["parts", "single", "org"])
def test_one_core_may_compute_all_parts(many, body):
    A, B, out, found = many(body, 200, 300, 64, host.matmul_tiling(200, 300, 64, cores=6))
    close(out, exact(A, B))
    assert found == []


def test_an_object_of_other_matrices_is_not_measured_by_its_tiling():
    """SetOrgShape names a smaller C: the tiling says nothing about its parts any more."""
    tiling = host.matmul_tiling(200, 300, 64, cores=6)
    body = "mm.SetOrgShape(32, 300, 64); mm.SetSingleShape(32, 48, 64); mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.IterateAll(cGm);"
    for twice in (body, body + body.replace("(32, 300", "(48, 300")):     # sizes of the next product, behind the one before
        assert launch(200, 300, 64, 1, tiling, set_=" ", body=twice)[3] == []
    (late,) = launch(200, 300, 64, 1, tiling, body=body)[3]
    assert "SetOrgShape(32, 300, 64, 64)" in late.message and "SetOrgShape first" in late.hint


def test_a_cube_only_object_where_no_cube_core_runs():
    kernel = text().replace("{\n    TPipe", "{\n    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_KIND);\n    TPipe", 1)
    tiling = host.matmul_tiling(32, 48, 64)
    A, B, out, found = launch(32, 48, 64, 1, tiling, hp.compile(kernel.replace("KIND", "AIC_ONLY")))
    close(out, exact(A, B))
    assert found == []
    A, B, out, found = launch(32, 48, 64, 1, tiling, hp.compile(kernel.replace("KIND", "MIX_AIV_1_0")))
    assert (out == 77).all() and [(f.code, f.severity, "REGIST_MATMUL_OBJ" in f.message and "vector cores only" in f.message) for f in found] == [("UNSUPPORTED_API", "warning", True)]


def test_an_object_that_does_nothing_at_all():
    """A kernel may hold an object that this launch has no use for."""
    assert launch(200, 300, 64, 1, host.matmul_tiling(200, 300, 64, cores=6), set_=" ", body="")[3] == []


def test_rows_longer_than_the_sum(many):
    """Ka and Kb are the distances of rows; the products of a core are singleCoreK long."""
    tiling = host.matmul_tiling(64, 48, 128)
    tiling.usedCoreNum, tiling.singleCoreM, tiling.singleCoreK = 2, 32, 64
    A, B, out, found = many("parts", 64, 48, 128, tiling)
    close(out, exact(A[:, :64], B[:64]))
    assert found == []


def test_parts_along_k():
    """Two cores add their halves of the sum; with one of them half of every product is missing."""
    tiling = host.matmul_tiling(32, 48, 128)
    tiling.usedCoreNum, tiling.singleCoreK = 2, 64
    kernel = hp.compile(text(set_="""aGm.SetGlobalBuffer((__gm__ half*)a + block * 64);
    bGm.SetGlobalBuffer((__gm__ half*)b + block * 64 * tiling.N);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    mm.SetTail(tiling.M, tiling.N, 64);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);""", body="mm.IterateAll(cGm, 1);"))
    for blocks in (2, 1):
        A, B, out, found = launch(32, 48, 128, blocks, tiling, kernel, out=np.zeros((32, 48), np.float32))
        close(out, exact(A[:, :64 * blocks], B[:64 * blocks]))
        assert [("50 %" in f.message, f.hint) for f in found] == ([] if blocks == 2 else [(True, "launch 2 blocks, or make the tiling for 1: SetDim(1)")])


def test_all_cores_compute_the_same_part():
    tiling = host.matmul_tiling(64, 64, 64)
    tiling.usedCoreNum, tiling.singleCoreM = 2, 32
    body = "mm.SetTail(32, 64); mm.SetTensorA(aGm); cGm.SetGlobalBuffer((__gm__ float*)c + block * 32 * 64); mm.IterateAll(cGm);"
    found = launch(64, 64, 64, 2, tiling, set_="aGm.SetGlobalBuffer((__gm__ half*)a); mm.SetTensorB(bGm);", body=body)[3]
    assert len(found) == 1 and "2 cores of 2 blocks" in found[0].message and "GetBlockIdx() % mBlocks" in found[0].hint


SLOT = """if (block != 0) return;
    GlobalTensor<half> slot;
    slot.SetGlobalBuffer((__gm__ half*)extra);
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 32 * 64 * sizeof(half));
    LocalTensor<half> rowsOfA = buf.Get<half>();
    for (int32_t part = 0; part < 2; part++) {
        DataCopy(rowsOfA, aGm[part * 32 * 64], 32 * 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(slot, rowsOfA, 32 * 64);
        PipeBarrier<PIPE_ALL>();
        mm.SetTensorA(slot);
        mm.SetTensorB(bGm);
        mm.IterateAll(cGm[part * 32 * 48]);
    }"""


def test_parts_that_pass_through_one_place():
    """A is prepared in a workspace, one part after the other: the same addresses are other parts."""
    tiling = host.matmul_tiling(64, 48, 64)
    tiling.usedCoreNum, tiling.singleCoreM = 2, 32
    A, B, out, found = launch(64, 48, 64, 1, tiling, extra=np.zeros(4096, np.uint8), cube_only=False, set_=" ", body=SLOT)
    close(out, exact(A, B))
    assert found == []


def test_less_data_than_the_tiling_was_made_for():
    """A kernel that reads its number of rows from memory: cores without rows return; a note says so, and nothing where the last part is cut short."""
    tiling = host.matmul_tiling(64, 48, 64)
    tiling.usedCoreNum, tiling.singleCoreM = 4, 16
    kernel = hp.compile(text(set_="""int32_t actual = extraGm.GetValue(0);
    if (row >= actual) return;
    mm.SetTail(actual - row < 16 ? actual - row : 16, columns);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);"""))
    for actual, notes in ((32, 1), (40, 0), (64, 0)):
        A, B = matrices(64, 48, 64)
        out = np.full((64, 48), 77, np.float32)
        found = [f for f in kernel[4](A, B, np.zeros(48, np.float32), out, np.full(64, actual, np.uint64), tiling).findings if f.code == "BAD_PARAMETER"]
        close(out[:actual], exact(A, B)[:actual])
        assert [f.severity for f in found] == ["note"] * notes and all("2 of them computed nothing" in f.hint for f in found)


# ---- tiles
FETCH_ONE = """GlobalTensor<float> workspace;
    workspace.SetGlobalBuffer((__gm__ float*)extra);
    mm.SetWorkspace(workspace);
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, 64 * 64 * sizeof(float));
    LocalTensor<float> tile = queue.AllocTensor<float>();
    mm.template Iterate<false>();
    mm.template GetTensorC<false>(tile);
    queue.FreeTensor(tile);"""


@pytest.mark.parametrize("body, says, count", [
    ("once", "Iterate was called once, and this core's part has 4 tiles", 1), ("again", "Iterate was called once", 1),
    ("loop", "rows 0 to 63 and columns 0 to 63", 4), ("both", "rows 0 to 63 and columns 0 to 63", 1), ("last", "rows 64 to 95 and columns 0 to 63", 1), ("nothing", "given A and B, and nothing was computed", 1),
    (dict(body="mm.template IterateAll<false>(cGm, 0, false, true);"), "promises a wait", 1), (dict(body=FETCH_ONE, positions=("GM", "GM", "VECIN")), "computed 4 tiles, and GetTensorC<false> fetched 1", 1),
])
def test_what_nobody_fetches(many, body, says, count):
    tiling = host.matmul_tiling(96, 112, 64, base=(64, 64, 64))
    found = (many(body, 96, 112, 64, tiling) if isinstance(body, str) else launch(96, 112, 64, 1, tiling, extra=np.zeros(4 * 4096 * 4, np.uint8), cube_only=False, **body))[3]
    (one,) = (f for f in found if f.code == "BAD_PARAMETER")
    assert one.severity == "warning" and one.count == count and one.line and says in one.message, one


def test_one_tile_is_enough_where_there_is_one_or_the_loop_ends_early(many):
    assert many("once", 64, 64, 64, host.matmul_tiling(64, 64, 64))[3] == many("ends early", 96, 112, 64, host.matmul_tiling(96, 112, 64, base=(64, 64, 64)))[3] == []


def test_a_bias_that_is_not_wanted():
    """DisableBias is an answer; a call that is missing is none."""
    tiling = host.matmul_tiling(32, 48, 64, bias=True)
    usual = "mm.SetTensorA(aGm); mm.SetTensorB(bGm);"
    for calls, warned in ((usual + " mm.DisableBias();", False), (usual, True), (usual + " mm.SetBias(biasGm); mm.IterateAll(cGm); mm.DisableBias();", False)):
        A, B, out, found = launch(32, 48, 64, 1, tiling, bias="float32", set_=calls)
        close(out, exact(A, B))
        assert ["SetBias was not called" in f.message for f in found] == [True] * warned


def test_tiles_that_were_not_fetched_before_the_next_operands():
    early = FETCH_ONE + " mm.SetTensorA(aGm); mm.IterateAll(cGm);"
    found = launch(96, 112, 64, 1, host.matmul_tiling(96, 112, 64, base=(64, 64, 64)), extra=np.zeros(4 * 4096 * 4, np.uint8), cube_only=False, body=early, positions=("GM", "GM", "VECIN"))[3]
    assert ["GetTensorC<false> fetched 1 of them" in f.message for f in found if f.code == "BAD_PARAMETER"] == [True]


HALVES = """mm.template IterateAll<false>(cGm, 0, false, true);
    mm.SetTail(32, 48);
    mm.SetTensorA(aGm[32 * tiling.Ka]);
    mm.template IterateAll<false>(cGm[32 * tiling.N], 0, false, true);
    mm.WaitIterateAll();"""


def test_one_wait_for_each_call_beside_the_vector_core():
    """Two products under way, then two waits; one is too few, three are too many."""
    tiling = host.matmul_tiling(64, 48, 64)
    for waits in (2, 1):
        A, B, out, found = launch(64, 48, 64, 1, tiling, cube_only=False, body=HALVES + " mm.WaitIterateAll();" * (waits - 1))
        close(out, exact(A, B))
        assert ["promises a wait" in f.message for f in found] == [True] * (2 - waits)
    with pytest.raises(hp.KernelError, match="DEADLOCK"):
        launch(64, 48, 64, 1, tiling, cube_only=False, body=HALVES + " mm.WaitIterateAll();" * 2)


def test_a_product_beside_the_vector_core_after_tiles_beside_it():
    one = FETCH_ONE + " mm.WaitGetTensorC(); mm.SetTensorA(aGm); mm.template IterateAll<false>(cGm, 0, false, true); mm.WaitIterateAll();"
    A, B, out, found = launch(64, 64, 64, 1, host.matmul_tiling(64, 64, 64), extra=np.zeros(4 * 4096, np.uint8), cube_only=False, body=one, positions=("GM", "GM", "VECIN"))
    close(out, exact(A, B))
    assert found == []


@pytest.mark.parametrize("cube_only", [True, False])
def test_a_sum_in_slices_waits_for_the_slice_before(cube_only):
    """Small tiles follow each other faster than the cube writes L0C: the object puts the barrier between its own instructions."""
    slices = "for (int32_t k = 0; k < 4; k++) { mm.SetTail(32, 48, 32); mm.SetTensorA(aGm[k * 32]); mm.SetTensorB(bGm[k * 32 * tiling.N]); mm.Iterate(k != 0); }\n    mm.GetTensorC(cGm);"
    A, B, out, found = launch(32, 48, 128, 1, host.matmul_tiling(32, 48, 128), cube_only=cube_only, set_=" ", body=slices)
    close(out, exact(A, B))
    assert found == []


def test_a_tile_to_memory_and_to_ub():
    body = """TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 32 * 48 * sizeof(float));
    LocalTensor<float> tile = buf.Get<float>();
    while (mm.Iterate()) { mm.GetTensorC(cGm, tile); }
    Adds(tile, tile, 1.0f, 32 * 48);
    PipeBarrier<PIPE_ALL>();
    DataCopy(cGm[32 * 48], tile, 32 * 48);
    PipeBarrier<PIPE_ALL>();"""
    A, B, out, found = launch(32, 48, 64, 1, host.matmul_tiling(32, 48, 64), cube_only=False, body=body, positions=("GM", "GM", "VECIN"), out=np.zeros((64, 48), np.float32))
    close(out, np.concatenate([exact(A, B), exact(A, B) + 1]))
    assert found == []


def test_a_tile_of_the_kernels_own_is_its_own_to_fetch(many):
    A, B, out, found = many("own", 64, 64, 64, host.matmul_tiling(64, 64, 64))
    close(out, exact(A, B))
    assert found == []


def test_rows_of_a_tile_in_ub():
    """With more columns than a tile has, the distance of rows is an open question unless the tile is written alone."""
    for n, alone, warned in ((112, "false", True), (112, "true", False), (64, "false", False)):
        body = f"""TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 64 * 64 * sizeof(float));
    LocalTensor<float> tile = buf.Get<float>();
    while (mm.Iterate()) {{ mm.GetTensorC(tile, 0, {alone}); }}"""
        found = launch(64, n, 64, 1, host.matmul_tiling(64, n, 64, base=(64, 64, 64)), body=body, cube_only=False, positions=("GM", "GM", "VECIN"))[3]
        assert ["GetTensorC to UB without enSequentialWrite" in f.message for f in found] == [True] * warned


def test_only_16_bit_types_leave_the_transpose_to_the_call():
    call = "mm.SetTensorA(aGm); mm.SetTensorB(bGm, false);"
    run(32, 48, 64, kernel=hp.compile(text(tb=True, set_=call).replace("column * tiling.Kb", "column")))
    with pytest.raises(hp.KernelError, match="only half and bfloat16_t leave the choice to the call"):
        run(32, 48, 64, a="float32", kernel=hp.compile(text("float32", tb=True, set_=call)))


# ---- fields
@pytest.fixture(scope="module")
def plain():
    return hp.compile(text())


def made(**change):
    tiling = host.matmul_tiling(96, 112, 128, base=(64, 64, 32))
    for name, value in change.items():
        setattr(tiling, name, value)
    return tiling


def test_every_field_has_a_range(plain):
    for name in FIELDS:
        assert hasattr(made(), name)
        with pytest.raises(hp.KernelError, match=rf"(?s)REGIST_MATMUL_OBJ.*\b{name}=-1 must be"):
            launch(96, 112, 128, 1, made(**{name: -1}), plain)


@pytest.mark.parametrize("change, says", [
    (dict(iterateOrder=7), "iterateOrder=7 must be 0 or 1"), (dict(isBias=2), "isBias=2 must be 0 or 1"), (dict(dbL0A=3), "dbL0A=3 must be 1 or 2"), (dict(dbL0B=0), "dbL0B=0 must be 1 or 2"),
    (dict(dbL0C=4), "dbL0C=4 must be 1 or 2"), (dict(usedCoreNum=0), "usedCoreNum=0 must be at least 1"), (dict(usedCoreNum=49), "usedCoreNum is 49 cores, and the chip has 48"),
    (dict(depthA1=0), "depthA1=0 must be at least 1"), (dict(depthB1=0), "depthB1=0 must be at least 1"), (dict(stepM=0), "stepM=0 must be"), (dict(stepN=0), "stepN=0 must be"),
    (dict(stepKb=0), "stepKb=0 must be"), (dict(stepKa=65537), "stepKa=65537 must be 1 to 65536"), (dict(depthB1=7), r"depthB1=7 but stepN\*stepKb=\d+: must be"), (dict(baseM=72), "baseM=72: multiples of 16"),
    (dict(baseK=40), "baseK=40: multiples of 16"), (dict(baseM=256, baseN=192), r"baseM \* baseN \* 4 B \* dbL0C is 393216 B, and L0C has 131072"),
    (dict(baseM=2048, baseN=16), r"baseM \* baseK \* dbL0A is 262144 B, and L0A has 65536"), (dict(isBias=1, baseN=272, baseM=16), r"isBias \* baseN \* 4 B is 1088 B, and the bias table has 1024"),
    (dict(isBias=1, baseM=16, baseN=112, baseK=16, stepKa=1009, depthA1=1009, stepKb=1, depthB1=2), "base blocks of depthA1 and depthB1 is 524224 B, and L1 has 524160"),
    (dict(stepKa=64, depthA1=128), "base blocks of depthA1 and depthB1 is 5.* B, and L1 has 524160"), (dict(stepKa=2, stepKb=3, depthA1=2, depthB1=3, singleCoreK=160), "K has 3 packages of A"),
])
def test_a_tiling_changed_by_hand(plain, change, says):
    with pytest.raises(hp.KernelError, match=f"(?s)BAD_PARAMETER.*Matmul: {says}.*GetTiling"):
        launch(96, 112, 128, 1, made(**change), plain)


def test_sizes_that_the_library_keeps_for_itself(plain):
    """No result depends on them, so they are no error; a device may see it otherwise."""
    whole = made()
    for change, words in ((dict(shareL1Size=0), ["shareL1Size=0"]), (dict(shareL0CSize=whole.shareL0CSize - 4), ["shareL0CSize=", f"{whole.shareL0CSize} B"]),
                          (dict(shareL1Size=524288, shareL0CSize=131072), []), ({}, [])):
        A, B, out, found = launch(96, 112, 128, 1, made(**change), plain)
        close(out, exact(A, B))
        assert len(found) == bool(words) and all(w in found[0].message for w in words)


def test_what_the_config_and_the_types_ask_of_a_tiling():
    steps = dict(stepM=2, stepKa=4, depthA1=8)                  # all of K: 4 blocks
    close(*(lambda r: (r[2], exact(r[0], r[1])))(launch(96, 112, 128, 1, made(**steps, shareL1Size=524160), config="CFG_MDL")))
    with pytest.raises(hp.KernelError, match="stepM=2 and stepKa=2.*all of K \\(4 blocks\\)"):
        launch(96, 112, 128, 1, made(stepM=2, stepKa=2, depthA1=4, stepKb=2, depthB1=4), config="CFG_MDL")
    eight = host.matmul_tiling(32, 32, 24, dtype="float32", trans_b=True, base=(32, 32, 8))
    run(32, 32, 24, a="float32", tb=True, tiling=eight)
    with pytest.raises(hp.KernelError, match="baseK=8, and B is not transposed: the load that turns it moves 16 rows"):
        run(32, 32, 24, a="float32", tiling=eight)


def test_a_config_of_whole_blocks():
    kernel = hp.compile(text(config="WHOLE", before="constexpr MatmulConfig WHOLE = GetBasicConfig(32, 32, 32);"))
    run(64, 96, 64, kernel=kernel, base=(32, 32, 32))
    for m, n in ((80, 96), (64, 112)):
        with pytest.raises(hp.KernelError, match=f"doBasicBlock computes whole blocks only: singleCoreM={m}, singleCoreN={n}"):
            run(m, n, 64, kernel=kernel, base=(32, 32, 32))


def test_a_batch_needs_the_sizes_of_its_layout():
    tiling = host.matmul_tiling(16, 16, 16)
    with pytest.raises(hp.KernelError, match=r"ALayoutInfo of the tiling is \(0, 0, 0, 0, 0\)"):
        launch(16, 16, 16, 1, tiling, body="mm.IterateBatch(cGm, 1, 1, false);", layout="BSNGD", layout_c="BSNGD")


# ---- arrays
def test_integer_sums_in_an_array_of_floats():
    A, B = matrices(32, 48, 64, "int8")
    tiling = host.matmul_tiling(32, 48, 64, dtype="int8", out="int32", trans_b=True)
    kernel = hp.compile(text("int8", "int32", tb=True))
    for kind, warned in ((np.float32, True), (np.int32, False), (np.uint32, False)):
        out = np.zeros((32, 48), kind)
        found = [f for f in kernel[1](A, np.ascontiguousarray(B.T), np.zeros(48, np.int32), out, np.zeros(512, np.uint8), tiling).findings if f.severity != "note"]
        assert (out.view(np.int32) == exact(A, B)).all()
        assert [(f.code, f.severity, "int32_t" in f.message and "argument c is an array of float32" in f.message, "IterateAll" in f.source) for f in found] == [("HOST_ARGUMENT", "warning", True, True)] * warned
    A, B = matrices(16, 16, 16)
    found = hp.compile(text())[1](A, B, np.zeros(16, np.float32), np.zeros((16, 16), np.int32), np.zeros(512, np.uint8), host.matmul_tiling(16, 16, 16)).findings
    assert [f.code for f in found if f.severity == "warning"] == ["HOST_ARGUMENT"]
