"""The Matmul object: every type and form against NumPy, on the cube core and by messages; what it refuses; what it costs."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import helpers as hp
from helpers import host
from matmul_kernels import ROUNDING, close, exact, matrices, nz, run, text


@pytest.fixture(scope="module")
def built():
    kept = {}

    def of(**options):
        key = repr(sorted(options.items()))
        if key not in kept:
            kept[key] = hp.compile(text(**options))
        return kept[key]
    return of


# ---- values
@pytest.mark.parametrize("a, c", [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), ("int8", "int32")])
@pytest.mark.parametrize("ta, tb", [(False, False), (False, True), (True, False), (True, True)])
def test_types_and_transposes(built, a, c, ta, tb):
    mdl = (a in ("float16", "float32")) == (ta == tb)             # every type and every transpose meets both templates
    kernel = built(a=a, c=c, ta=ta, tb=tb, config="CFG_MDL" if mdl else "CFG_NORM")
    for m, n, k in [(37, 53, 71), (16, 16, 16), (1, 5, 3), (150, 290, 303)]:
        run(m, n, k, a=a, c=c, ta=ta, tb=tb, mdl=mdl, kernel=kernel)


@pytest.mark.parametrize("a, c", [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float16"), ("bfloat16", "float16")])
def test_results_are_rounded_once(a, c):
    run(40, 70, 33, a=a, c=c)


@pytest.mark.parametrize("a, c, bias", [("float16", "float32", "float32"), ("float16", "float32", "float16"), ("float16", "float16", "float16"), ("int8", "int32", "int32"), ("float32", "float32", "float32")])
def test_bias(a, c, bias):
    run(100, 530, 71, a=a, c=c, bias=bias, tb=a == "int8")


def test_split_over_cores(built):
    for mdl, (m, n, k) in itertools.product((False, True), [(300, 520, 777), (33, 1000, 16), (17, 17, 17)]):
        run(m, n, k, cores=24, mdl=mdl, kernel=built(config="CFG_MDL" if mdl else "CFG_NORM"))


@pytest.mark.parametrize("schedule", ["eager", "lazy"])
def test_late_copies_change_nothing(built, schedule):
    run(200, 300, 333, mdl=True, cores=6, kernel=built(config="CFG_MDL"), launch={"schedule": schedule})


def test_any_base_gives_the_same(built):
    for base in [(16, 16, 16), (64, 48, 32), (128, 208, 64), (144, 64, 48), (32, 96, 160)]:
        for mdl in (False, True):
            run(131, 203, 190, base=base, mdl=mdl, kernel=built(config="CFG_MDL" if mdl else "CFG_NORM"))


def test_nz_operands():
    A, B = matrices(48, 64, 80)
    tiling = host.matmul_tiling(48, 64, 80)
    for formats in (("NZ", "ND", "ND"), ("ND", "NZ", "ND"), ("NZ", "NZ", "NZ")):
        out = np.zeros((4, 48, 16), np.float32) if formats[2] == "NZ" else np.zeros((48, 64), np.float32)
        args = (nz(A) if formats[0] == "NZ" else A, nz(B) if formats[1] == "NZ" else B, np.zeros(64, np.float32), out, np.zeros(8, np.uint64), tiling)
        found = hp.compile(text(formats=formats))[1](*args)
        close(out.transpose(1, 0, 2).reshape(48, 64) if formats[2] == "NZ" else out, exact(A, B))
        assert found.findings == [] or all(f.severity == "note" for f in found.findings)


def test_a_vector_and_a_number():
    run(1, 100, 200, formats=("VECTOR", "ND", "ND"))
    A, B = matrices(1, 40, 48)
    out = np.zeros((1, 40), np.float32)
    hp.compile(text(set_="mm.SetTensorA((half)2.0f); mm.SetTensorB(bGm);"))[1](A, B, np.zeros(40, np.float32), out, np.zeros(8, np.uint64), host.matmul_tiling(1, 40, 48))
    close(out, exact(np.full_like(A, 2), B))


def test_quantised_results():
    m, n, k = 33, 48, 64
    A, B = matrices(m, n, k, "int8")
    word = int(np.float32(0.0078125).view(np.uint32)) | 1 << 46
    tiling = host.matmul_tiling(m, n, k, dtype="int8", out="int32", trans_b=True)
    scaled = np.clip(np.rint(exact(A, B) * 0.0078125), -256, 255)
    for call, words in (("mm.SetQuantScalar(extraGm.GetValue(0));", np.full(64, word, np.uint64)), ("mm.SetQuantVector(extraGm);", np.full(64, word, np.uint64))):
        out = np.zeros((m, n), np.int8)
        usual = "mm.SetTensorA(aGm); mm.SetTensorB(bGm, true); "
        hp.compile(text("int8", "int8", tb=True, set_=usual + call))[1](A, np.ascontiguousarray(B.T), np.zeros(n, np.int32), out, words, tiling)
        assert (out == np.clip(scaled, -128, 127)).all()


def test_hf32_is_coarser():
    A, B = matrices(32, 32, 64, "float32")
    errors = []
    for set_ in ("", "mm.SetHF32(true);", "mm.SetHF32(true, 1);"):
        out = np.zeros((32, 32), np.float32)
        hp.compile(text("float32", set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); " + set_))[1](A, B, np.zeros(32, np.float32), out, np.zeros(8, np.uint64), host.matmul_tiling(32, 32, 64, dtype="float32"))
        errors.append(np.abs(out - exact(A, B)).max())
    assert errors[0] < 1e-4 < min(errors[1:]) and max(errors[1:]) < 0.1


# ---- tile by tile
TILES = "int32_t t = 0; while (mm.Iterate()) { mm.GetTensorC(%s); t++; } extraGm.SetValue(0, t); DataCacheCleanAndInvalid<uint64_t, CacheLine::ENTIRE_DATA_CACHE>(extraGm);"


@pytest.mark.parametrize("cube_only", [True, False])
def test_iterate_gives_every_tile(cube_only):
    count = np.zeros(64, np.uint64)
    run(130, 200, 70, base=(64, 64, 32), body=TILES % "cGm", cube_only=cube_only, blocks=1, extra=count)
    assert count[0] == 3 * 4


def test_order_of_the_tiles_and_sequential_writes():
    """Tile t lies at its own place, rows of its own width: M first, or N first when the tiling says so."""
    A, B = matrices(80, 112, 48)
    C = exact(A, B)
    for traverse in ("FIRSTM", "FIRSTN"):
        tiling = host.matmul_tiling(80, 112, 48, base=(32, 48, 48), traverse=traverse)
        out = np.zeros(9 * 32 * 48, np.float32)
        hp.compile(text(body="int32_t t = 0; while (mm.Iterate()) { mm.GetTensorC(cGm[t * 32 * 48], 0, true); t++; }"))[1](A, B, np.zeros(112, np.float32), out, np.zeros(8, np.uint64), tiling)
        for t in range(9):
            mi, ni = (t % 3, t // 3) if traverse == "FIRSTM" else (t // 3, t % 3)
            part = C[mi * 32:mi * 32 + 32, ni * 48:ni * 48 + 48]
            close(out[t * 32 * 48:][: part.size].reshape(part.shape), part)


SLICES = ("for (int32_t k = 0; k < 4; k++) { mm.SetTail(rows, columns, 64); mm.SetTensorA(aGm[k * 64]); mm.SetTensorB(bGm[k * 64 * tiling.N]); %s }")


@pytest.mark.parametrize("cube_only", [True, False])
def test_partial_sums_stay_in_l0c(cube_only):
    run(100, 128, 256, base=(112, 128, 64), body=SLICES % "mm.Iterate(k != 0);" + " mm.GetTensorC(cGm);", cube_only=cube_only, blocks=1)


def test_atomic_sums_in_gm():
    run(100, 128, 256, body=SLICES % "mm.IterateAll(cGm, k != 0 ? 1 : 0);")


TO_UB = """TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, tiling.baseM * tiling.baseN * sizeof(float));
    int32_t t = 0, high = (rows + tiling.baseM - 1) / tiling.baseM;
    %s
    while (mm.template Iterate<%s>()) {
        LocalTensor<float> tile = queue.AllocTensor<float>();
        mm.template GetTensorC<%s>(tile, 0, true);
        queue.EnQue(tile);
        tile = queue.DeQue<float>();
        int32_t mi = t %% high, ni = t / high;
        t++;
        uint16_t r = rows - mi * tiling.baseM < tiling.baseM ? rows - mi * tiling.baseM : tiling.baseM;
        uint32_t w = columns - ni * tiling.baseN < tiling.baseN ? columns - ni * tiling.baseN : tiling.baseN;
        DataCopyPad(cGm[mi * tiling.baseM * tiling.N + ni * tiling.baseN], tile, {r, w * 4, 0, (tiling.N - w) * 4, 0});
        queue.FreeTensor(tile);
    }"""


def test_tiles_come_to_ub():
    run(100, 128, 200, base=(64, 64, 64), cube_only=False, positions=("GM", "GM", "VECIN"), blocks=1, body=TO_UB % ("", "true", "true"))


def test_rows_of_odd_width_need_nd_align():
    with pytest.raises(hp.KernelError, match="(?s)MISALIGNED.*ND_ALIGN"):
        run(30, 35, 64, cube_only=False, positions=("GM", "GM", "VECIN"), blocks=1, body=TO_UB % ("", "true", "true"))


def test_asynchronous_tiles():
    room = np.zeros(4 * (4 * 64 * 64 + 128), np.uint8)
    run(100, 128, 200, base=(64, 64, 64), cube_only=False, positions=("GM", "GM", "VECIN"), blocks=1, extra=room,
        body=TO_UB % ("GlobalTensor<float> workspace; workspace.SetGlobalBuffer((__gm__ float*)extra); mm.SetWorkspace(workspace);", "false", "false"))
    with pytest.raises(hp.KernelError, match="needs|SetWorkspace was not called"):
        run(100, 128, 200, base=(64, 64, 64), cube_only=False, positions=("GM", "GM", "VECIN"), blocks=1, body=TO_UB % ("", "false", "false"))


# ---- a vector core drives its cube core
@pytest.mark.parametrize("body", ["mm.IterateAll(cGm);", "mm.template IterateAll<false>(cGm, 0, false, true); mm.WaitIterateAll();"], ids=["sync", "async"])
def test_messages(body):
    found = run(100, 130, 71, cube_only=False, body=body, blocks=1)
    assert set(found.pipes) == {"AIC", "AIV"} and found.pipes["AIC"]["M"] > 0 and found.pipes["AIV"].get("V", 0) == 0


def test_messages_from_all_vector_cores(built):
    found = run(300, 520, 200, cores=48, cube_only=False, blocks=24)
    assert {int(b) for b in found.events["core"][found.events["pipe"] == 2]} <= set(range(72))


UB_OPERAND = """TQue<TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, tiling.M * tiling.Ka * sizeof(half));
    LocalTensor<half> local = queue.AllocTensor<half>();
    Duplicate(local, static_cast<half>(0.5f), tiling.M * tiling.Ka);
    queue.EnQue(local);
    local = queue.DeQue<half>();
    mm.SetTensorA(local);
    mm.SetTensorB(bGm);
    mm.IterateAll(cGm);
    queue.FreeTensor(local);"""


def test_an_operand_from_ub():
    A, B = matrices(20, 48, 32)
    out = np.zeros((20, 48), np.float32)
    found = hp.compile(text(cube_only=False, positions=("VECOUT", "GM", "GM"), set_=" ", body=UB_OPERAND))[1](A, B, np.zeros(48, np.float32), out, np.zeros(8, np.uint64), host.matmul_tiling(20, 48, 32))
    # the second vector core has the same index range and no work of its own
    close(out, exact(np.full_like(A, 0.5), B))
    assert [f for f in found.findings if f.severity == "error"] == []


def test_a_result_in_ub():
    body = """TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, tiling.M * tiling.N * sizeof(float));
    LocalTensor<float> tile = queue.AllocTensor<float>();
    mm.IterateAll(tile);
    queue.EnQue(tile);
    tile = queue.DeQue<float>();
    DataCopy(cGm, tile, tiling.M * tiling.N);
    queue.FreeTensor(tile);"""
    run(40, 64, 96, cube_only=False, positions=("GM", "GM", "VECIN"), blocks=1, body=body, base=(32, 32, 32))


# ---- several matrices
def test_batches():
    rng = np.random.default_rng(3)
    A, B = (rng.standard_normal(s).astype(np.float16) for s in ((6, 24, 40), (3, 40, 32)))
    t = host.BatchMatmulTiling()
    for which in (t.SetAType, t.SetBType):
        which("GM", "ND", "half")
    t.SetCType("GM", "ND", "float")
    t.SetBatchInfoForNormal(6, 3, 24, 32, 40)
    t.SetBatchNum(6)
    tiling = t.GetTiling()
    expected = np.stack([exact(A[i], B[i // 2]) for i in range(6)])
    for body in ("mm.IterateBatch(cGm, 6, 3, false);", "mm.SetBatchNum(6, 3); mm.IterateBatch(cGm, false, 0, false);"):
        out = np.zeros((6, 24, 32), np.float32)
        hp.compile(text(body=body, layout="NORMAL", layout_c="NORMAL"))[1](A, B, np.zeros(32, np.float32), out, np.zeros(8, np.uint64), tiling)
        close(out, expected)
    with pytest.raises(hp.KernelError, match="one must divide the other"):
        hp.compile(text(body="mm.IterateBatch(cGm, 6, 4, false);", layout="NORMAL", layout_c="NORMAL"))[1](A, B, np.zeros(32, np.float32), out, np.zeros(8, np.uint64), tiling)


def test_heads_side_by_side():
    """BSNGD: the heads of a token lie one behind the other; each product is one head."""
    rng = np.random.default_rng(4)
    S, N, D = 20, 3, 16
    q, k = (rng.standard_normal((2, S, N, D)).astype(np.float16) for _ in range(2))
    t = host.BatchMatmulTiling()
    for which in (t.SetAType, t.SetBType, t.SetCType):
        which("GM", "ND", "half")
    t.SetALayout(2, S, N, 1, D)
    t.SetBLayout(2, S, N, 1, D)
    t.SetCLayout(2, S, N, 1, S)
    t.SetShape(S, S, D)
    t.SetBatchNum(6)
    out = np.zeros((2, S, N, S), np.float32)
    hp.compile(text(tb=True, body="mm.IterateBatch(cGm, 6, 6, false);", layout="BSNGD", layout_c="BSNGD"))[1](q, k, np.zeros(S, np.float32), out, np.zeros(8, np.uint64), t.GetTiling())
    close(out, np.einsum("bsnd,btnd->bsnt", q.astype(np.float64), k.astype(np.float64)))


# ---- callbacks
CALLS = """
__aicore__ inline void OwnA(const LocalTensor<int8_t>& to, const __gm__ void* gm, int row, int col, int rows, int k, const uint64_t info, const uint64_t data)
{
    LocalTensor<half> l1 = to.ReinterpretCast<half>();
    GlobalTensor<half> from;
    from.SetGlobalBuffer((__gm__ half*)gm);
    DataCopy(l1, from[row * 32 * data + col * 32], Nd2NzParams{1, (uint16_t)rows, (uint16_t)k, 0, (uint16_t)data, (uint16_t)((rows + 15) / 16 * 16), 1, 0});
}
__aicore__ inline void OwnOut(const __gm__ void* gm, const LocalTensor<int8_t>& tile, const void* params, const uint64_t info, const uint64_t data)
{
    const auto* p = (const DataCopyOutParams*)params;
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)gm);
    FixpipeParamsV220 f;
    f.nSize = p->oriNSize;
    f.mSize = p->burstLen / 2;
    f.srcStride = f.mSize;
    f.dstStride = info;
    f.reluEn = true;
    Fixpipe(to[p->curM * 32 * info + p->curN * 48], tile.ReinterpretCast<float>(), f);
}
"""


def test_callbacks_copy_instead_of_the_library():
    A, B = matrices(64, 96, 80)
    out = np.full((64, 96), 9, np.float32)
    kernel = hp.compile(text(before=CALLS, more="MatmulCallBackFunc<OwnOut, OwnA, nullptr>", set_="mm.SetSelfDefineData(tiling.Ka); mm.SetUserDefInfo(tiling.N); mm.SetTensorA(aGm); mm.SetTensorB(bGm);"))
    kernel[1](A, B, np.zeros(96, np.float32), out, np.zeros(8, np.uint64), host.matmul_tiling(64, 96, 80, base=(32, 48, 32)))
    close(out, np.maximum(exact(A, B), 0))


def test_triangles():
    A, B = matrices(96, 96, 32)
    C, tile = exact(A, B), np.arange(96) // 32
    for policy, wanted in (("TrianUpperMatmulPolicy", tile[:, None] <= tile[None]), ("TrianLowerMatmulPolicy", tile[:, None] >= tile[None])):
        out = np.full((96, 96), 5, np.float32)
        hp.compile(text(more=f"MatmulCallBackFunc<nullptr, nullptr, nullptr>, AscendC::Impl::Detail::{policy}"))[1](A, B, np.zeros(96, np.float32), out, np.zeros(8, np.uint64), host.matmul_tiling(96, 96, 32, base=(32, 32, 32)))
        close(np.where(wanted, out, 5), np.where(wanted, C, 5))
        assert (out[~wanted] == 5).all()


# ---- what is refused
@pytest.mark.parametrize("options, message", [
    (dict(set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm, true);"), "not allowed to do B transpose when matmul B transpose is not defined"),
    (dict(set_="mm.SetTensorA(aGm);"), "nothing was set by SetTensorB"),
    (dict(set_="mm.SetTensorA(aGm[16 * tiling.Ka]); mm.SetTensorB(bGm);"), r"runs past the end of argument a by 4096 B|runs past the end of .*a.* by \d+ B"),
    (dict(set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.SetBias(biasGm);"), "isBias = 0"),
    (dict(body="mm.Iterate(); mm.GetTensorC(cGm); mm.GetTensorC(cGm);"), "GetTensorC was called more often than Iterate"),
    (dict(body="mm.Iterate(true);"), "no Iterate\\(false\\) has begun"),
    (dict(body="mm.template Iterate<false>();"), "nothing to run beside"),
    (dict(body="mm.IterateAll(cGm, 7);"), "enAtomic=7"),
    (dict(body="mm.WaitIterateAll();"), "would never return"),
    (dict(body="mm.IterateAll(cGm, 0, true);", base=(16, 16, 16)), "writes all .* tiles to the same place"),
    (dict(config="CFG_NO_BIAS", before="constexpr MatmulConfig CFG_NO_BIAS = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(MatmulBiasParams{false});",
          set_="mm.SetTensorA(aGm); mm.SetTensorB(bGm); mm.SetBias(biasGm);"), "enableSetBias = false"),
])
def test_mistakes_are_named(options, message):
    base = options.pop("base", (-1, -1, -1))
    with pytest.raises(hp.KernelError, match=message):
        run(64, 64, 64, base=base, **options)


def test_an_empty_tiling_is_named():
    empty = hp.tiling_struct('#include "kernel_operator.h"\nstruct Holder { TCubeTiling t; };', "Holder")().t
    with pytest.raises(hp.KernelError, match="TCubeTiling is empty"):
        run(64, 64, 64, tiling=empty, blocks=1)
    for change, message in ((dict(depthA1=5), "depthA1=5 but stepM\\*stepKa"), (dict(stepKa=0), "stepKa=0 must be 1 to 65536"),
                            (dict(stepM=65536, stepKa=65536, depthA1=1), "stepKa=4294967296: must be 4294967296 or"), (dict(baseN=40), "multiples of 16 only"), (dict(baseM=512), "L0A|L0C")):
        bad = host.matmul_tiling(64, 64, 64)
        for name, value in change.items():
            setattr(bad, name, value)
        with pytest.raises(hp.KernelError, match=message):
            run(64, 64, 64, tiling=bad, blocks=1)


def test_a_vector_core_that_leaves_early():
    body = text(cube_only=False).replace("    REGIST_MATMUL_OBJ", "    if ASCEND_IS_AIV { if (GetSubBlockIdx() == 1) return; }\n    REGIST_MATMUL_OBJ")
    with pytest.raises(hp.KernelError, match="returned before REGIST_MATMUL_OBJ"):
        run(64, 64, 64, kernel=hp.compile(body), blocks=1)
    body = text(cube_only=False).replace("    REGIST_MATMUL_OBJ", "    TBuf<TPosition::VECCALC> early;\n    pipe.InitBuffer(early, 64);\n    REGIST_MATMUL_OBJ")
    with pytest.raises(hp.KernelError, match="must precede InitBuffer"):
        run(64, 64, 64, kernel=hp.compile(body), blocks=1)
    with pytest.raises(hp.KernelError, match="nobody would ever answer|ASCENDC_CUBE_ONLY"):
        run(64, 64, 64, kernel=hp.compile(text(cube_only=False).replace("    TPipe pipe;", "    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n    TPipe pipe;")))


def test_types_that_do_not_exist_are_told_at_compile_time():
    with pytest.raises(hp.CompileError, match="UNSUPPORTED_TYPE|cast A and B"):
        hp.compile(text().replace("CubeFormat::ND, half, false>", "CubeFormat::ND, float, false>", 1))


# ---- the direct object, several objects, constants
DIRECT = """#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
template <typename T> using Side = MatmulType<TPosition::GM, CubeFormat::ND, T>;
constexpr MatmulShapeParams SHAPE{64, 64, 64, 32, 64, 32};
constexpr MatmulConfig CONSTANT = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(SHAPE, MatmulFuncParams{}, MatmulQuantParams{false, false}, MatmulBatchParams{false, BatchMode::NONE});
constexpr MatmulApiStaticTiling STATIC = GetMatmulApiTiling<Side<half>, Side<half>, Side<float>, Side<float>>(CONSTANT);
extern "C" __global__ __aicore__ void twice(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d, TCubeTiling tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    TPipe pipe;
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm, dGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, 64 * 64);
    bGm.SetGlobalBuffer((__gm__ half*)b, 64 * 64);
    cGm.SetGlobalBuffer((__gm__ float*)c, 64 * 64);
    dGm.SetGlobalBuffer((__gm__ float*)d, 64 * 64);
    MatmulImpl<Side<half>, Side<half>, Side<float>, Side<float>, CFG_MDL> first;
    first.SetSubBlockIdx(0);
    first.Init(&tiling, &pipe);
    first.SetOrgShape(64, 64, 64);
    first.SetSingleShape(64, 64, 64);
    first.SetTensorA(aGm);
    first.SetTensorB(bGm);
    first.IterateAll(cGm);
    END
    MatmulImpl<Side<half>, Side<half>, Side<float>, Side<float>, STATIC> second;
    second.Init((TCubeTiling*)nullptr, &pipe);
    second.SetTensorA(bGm);
    second.SetTensorB(aGm);
    second.IterateAll(dGm);
    second.End();
}
"""


def test_two_direct_objects_and_a_constant_tiling():
    A, B = matrices(64, 64, 64)
    for end in ("first.End();", ""):
        c, d = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
        found = hp.compile(DIRECT.replace("END", end))[1](A, B, c, d, host.matmul_tiling(64, 64, 64))
        close(c, exact(A, B))
        close(d, exact(B, A))
        assert any("has not called End()" in f.message for f in found.findings) == (not end)


def test_configs_are_constants():
    head = '#include "kernel_operator.h"\n#include "lib/matmul_intf.h"\nusing namespace AscendC;\n'
    body = """
constexpr auto BASIC = GetBasicConfig(128, 128, 64);
constexpr auto SPECIAL = GetSpecialBasicConfig(128, 128, 64, 256, 256, 64, 1, 1);
constexpr auto SHARED = GetIBShareNormConfig();
constexpr auto SPECIAL_MDL = GetSpecialMDLConfig();
constexpr MatmulConfig OWN{true, false, false, 128, 128, 64};
constexpr auto ORDERED = GetNormalConfig(false, false, false, BatchMode::BATCH_LESS_THAN_L1, true, IterateOrder::ORDER_N, ScheduleType::INNER_PRODUCT);
static_assert(BASIC.doBasicBlock && BASIC.basicK == 64 && SPECIAL.singleCoreMN == 65536 && SPECIAL.doSpecialBasicBlock && SHARED.doIBShareNorm && SPECIAL_MDL.doSpecialMDL);
static_assert(CFG_NORM.doNorm && !CFG_NORM.doMultiDataLoad && CFG_MDL.doMultiDataLoad && CFG_IBSHARE_NORM.doIBShareNorm && MM_CFG_BB.basicM == 128 && OWN.basicN == 128 && OWN.enUnitFlag);
static_assert(ORDERED.iterateOrder == IterateOrder::ORDER_N && ITERATE_MODE_DEFAULT == 255 && (int)IterateMode::ITERATE_MODE_ALL == 2);
extern "C" __global__ __aicore__ void k(GM_ADDR x) {}
"""
    assert hp.compile(head + body).signature


# ---- time
def test_packages_are_faster_than_single_blocks_and_cores_share():
    tiling = host.matmul_tiling(512, 512, 512)
    slow, fast = (run(512, 512, 512, tiling=tiling, mdl=mdl, blocks=1) for mdl in (False, True))
    assert fast.time_us < slow.time_us
    many = run(512, 512, 512, cores=16, mdl=True)
    assert many.time_us < 0.4 * fast.time_us
    events = many.events
    assert {"MTE2", "MTE1", "M", "FIX"} <= {p for p, share in many.pipes["AIC"].items() if share > 0} and len(set(events["line"][events["pipe"] == 2])) == 1


def test_products_and_bytes_are_those_of_the_tiling():
    """One core, 256 x 256 x 128, base 128 x 128 x 64: 2 x 2 tiles of 2 steps; A is read twice, or once when it stays."""
    found = run(256, 256, 128, base=(128, 128, 64))
    ops = [found.ops[i] if hasattr(found, "ops") else i for i in found.events["op"]]
    assert found.totals["gm_write_bytes"] == 256 * 256 * 4
    assert 2 * 256 * 128 * 2 <= found.totals["gm_read_bytes"] <= 2 * 2 * 256 * 128 * 2 + 1024 and len(ops) > 8
