// Matmul objects of a launch: handles, what the kernel sets, and what is wrong with it.
#include "mm_object.h"

#include <algorithm>

#include "queues.h"
#include "state.h"
#include "twin/abi_matmul_tiling.h"
#include "twin/enums.h"

namespace twin {

using AscendC::TPosition;
using ull = unsigned long long;

struct Registry { std::vector<std::unique_ptr<MmObject>> all; std::map<int, std::vector<MmObject*>> of_core; };
static Registry& registry() { static Registry r; return r; }
std::vector<std::unique_ptr<MmObject>>& mm_objects() { return registry().all; }
std::vector<MmObject*>& mm_objects_of(int core) { return registry().of_core[core]; }
void mm_objects_begin() { registry() = {}; }

uint64_t mm_bytes(DType t, int64_t n) { return t == DType::I4 ? uint64_t(n) / 2 : uint64_t(n) * size_of(t); }
int mm_c0(DType t) { return t == DType::I4 ? 64 : int(kBlock / size_of(t)); }

// Nothing to do here: a vector core that holds an object of the cube core, or the other way round.
bool mm_idle(int32_t handle) { return handle <= 0; }

MmObject& mm_object(int32_t handle, At at, const char* api) {
    if (handle > int32_t(mm_objects().size())) fatal("BAD_PARAMETER", at, fmt("%s: this Matmul object was never registered", api), "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling) comes first");
    MmObject& o = *mm_objects()[size_t(handle - 1)];
    if (!o.ready && !std::strstr(api, "Set"))
        fatal("BAD_PARAMETER", at, fmt("%s: this Matmul object has no tiling yet (registered at %s)", api, where(o.made).c_str()), "give the tiling to REGIST_MATMUL_OBJ, or call mm.Init(&tiling)");
    return o;
}

static const char* operand_name(MatmulOperand w) {
    static const char* names[] = {"SetTensorA", "SetTensorB", "SetBias", "SetWorkspace", "SetQuantVector"};
    return names[int(w)];
}

static MmTensor& operand(MmObject& o, MatmulOperand w) {
    switch (w) {
        case MatmulOperand::A: return o.p.a;
        case MatmulOperand::B: return o.p.b;
        case MatmulOperand::Bias: return o.p.bias;
        case MatmulOperand::Workspace: return o.p.workspace;
        default: return o.p.quant;
    }
}

static void take_tiling(MmObject& o, const TCubeTiling* t, At at) {
    if (t) o.t = *t;
    const MatmulSetup& s = o.setup;
    int32_t* const fields[6] = {&o.t.singleCoreM, &o.t.singleCoreN, &o.t.singleCoreK, &o.t.baseM, &o.t.baseN, &o.t.baseK};
    bool all = true;
    for (int i = 0; i < 6; ++i) {
        if (s.fixed[i] > 0) {
            if (t && *fields[i] && *fields[i] != s.fixed[i] && s.basic_block)
                report(Severity::Error, "BAD_PARAMETER", at, fmt("the config of this Matmul says %d where the tiling of the host says %d: both must be equal", s.fixed[i], *fields[i]), "give the host SetFixSplit with the numbers of the config");
            *fields[i] = s.fixed[i];
        } else all = false;
    }
    if (!t && all) {                                       // everything is known at compile time
        auto put = [](int32_t& f, int32_t v) { if (f <= 0) f = v; };
        put(o.t.M, o.t.singleCoreM);
        put(o.t.N, o.t.singleCoreN);
        put(o.t.Ka, o.t.singleCoreK);
        put(o.t.Kb, o.t.singleCoreK);
        for (int32_t* f : {&o.t.stepM, &o.t.stepN, &o.t.stepKa, &o.t.stepKb, &o.t.dbL0C, &o.t.usedCoreNum}) put(*f, 1);
        put(o.t.dbL0A, mm_bytes(s.a.type, int64_t(o.t.baseM) * o.t.baseK * 2) <= capacity(Mem::L0A) ? 2 : 1);
        put(o.t.dbL0B, mm_bytes(s.b.type, int64_t(o.t.baseN) * o.t.baseK * 2) <= capacity(Mem::L0B) ? 2 : 1);
        put(o.t.depthA1, 2);
        put(o.t.depthB1, 2);
    }
    char why[512];
    tw_matmul_legal(&o.t, s.a.type, s.b.type, s.bias.type, why, sizeof why);
    if (*why) fatal("BAD_PARAMETER", at, fmt("Matmul: %s", why), "take the tiling from GetTiling of MatmulApiTiling or MultiCoreMatmulTiling, and pass it to the kernel unchanged");
    mm_check_config(o.t, s, at);
    if (t && !std::any_of(std::begin(s.fixed), std::end(s.fixed), [](int f) { return f > 0; })) mm_check_shares(*t, s, at);
    MmParams& p = o.p;
    p.M = o.t.M;
    p.N = o.t.N;
    p.Ka = o.t.Ka;
    p.Kb = o.t.Kb;
    p.Kc = 0;
    p.m = o.t.singleCoreM;
    p.n = o.t.singleCoreN;
    p.k = o.t.singleCoreK;
    p.bias_on = false;
    o.restart();
    o.left.cut = o.left.cut && !o.ready;
    o.ready = true;
    charge_ns(float(chip().num(s.constant ? "matmul_init_constant_ns" : "matmul_init_ns", 3500)), at);
}

MmTile mm_tile(const MmObject& o, const MmParams& p, int64_t index) {
    const int64_t mt = (p.m + o.t.baseM - 1) / o.t.baseM, nt = (p.n + o.t.baseN - 1) / o.t.baseN;
    MmTile t{};
    t.mi = o.columns_first() ? index / nt : index % mt;
    t.ni = o.columns_first() ? index % nt : index / mt;
    t.row = t.mi * o.t.baseM;
    t.col = t.ni * o.t.baseN;
    t.m = std::min<int64_t>(o.t.baseM, p.m - t.row);
    t.n = std::min<int64_t>(o.t.baseN, p.n - t.col);
    return t;
}

bool mm_skipped(const MmObject& o, const MmTile& t) {
    return (o.setup.triangle == 1 && t.row > t.col + t.n - 1) || (o.setup.triangle == 2 && t.col > t.row + t.m - 1);
}

int64_t mm_pitch(const MmObject& o, const MmParams& p) {
    const int64_t n = p.Kc > 0 ? p.Kc : p.N;
    return MmFormat(o.setup.c.format) == MmFormat::ND_ALIGN ? mm_up(n, kBlock / size_of(o.setup.c.type)) : n;
}

static void transposed(const MmObject& o, MatmulOperand w, int trans, At at) {
    if (w > MatmulOperand::B) return;
    const MatmulSide& side = w == MatmulOperand::A ? o.setup.a : o.setup.b;
    const char which = w == MatmulOperand::A ? 'A' : 'B';
    if (!trans) {
        if (side.trans && side.type != DType::F16 && side.type != DType::BF16)
            fatal("BAD_PARAMETER", at, fmt("%s: the type of %c has ISTRANS = true and the call says not transposed: only half and bfloat16_t leave the choice to the call", operand_name(w), which),
                  fmt("pass true for a transposed %c, or declare MatmulType<..., false> and SetA/BType(..., false) on the host", which));
        return;
    }
    if (!side.trans)
        fatal("BAD_PARAMETER", at, fmt("It is not allowed to do %c transpose when matmul %c transpose is not defined: %s says transposed, the type of %c does not", which, which, operand_name(w), which),
              fmt("declare MatmulType<..., true> for %c, and SetA/BType(..., true) on the host", which));
}

// A tensor in GM must hold the part of this core with the distances that SetOrgShape gave.
static void enough(const MmObject& o, MatmulOperand w, const MmTensor& x, At at) {
    if (!checks_on() || !x.gm.ptr) return;
    const MmParams& p = o.p;
    const bool a = w == MatmulOperand::A;
    const MatmulSide& side = a ? o.setup.a : o.setup.b;
    if (w > MatmulOperand::B || MmFormat(side.format) != MmFormat::ND || side.layout != 0) return;
    const int64_t rows = a ? (x.trans ? p.k : p.m) : (x.trans ? p.n : p.k), cols = a ? (x.trans ? p.m : p.k) : (x.trans ? p.k : p.n);
    const int64_t pitch = a ? (x.trans ? p.M : p.Ka) : (x.trans ? p.Kb : p.N);
    if (rows < 1 || cols < 1) return;
    const uint64_t need = mm_bytes(side.type, (rows - 1) * pitch + cols);
    const GmBuffer* b = gm_find(x.gm.ptr);
    const uint64_t have = b ? uint64_t(b->base + b->bytes - x.gm.ptr) : x.gm.bytes;
    if (need > have)
        fatal("GM_OUT_OF_BOUNDS", at,
              fmt("%s: the part of this core is %lld x %lld with rows %lld elements apart: it runs past the end of %s by %llu B", operand_name(w), (long long)rows, (long long)cols, (long long)pitch,
                  describe_gm(x.gm.ptr).c_str(), ull(need - have)),
              "the tensor is offset to this core already, and the last core has less: call SetTail(m, n, k) or SetSingleShape there; do not add the offset twice");
}

}  // namespace twin

using namespace twin;

extern "C" {

int32_t tw_matmul_init(int32_t handle, MatmulRole role, const MatmulSetup* setup, const TCubeTiling* tiling, int registered, At at) {
    const bool cube = on(CoreKind::AIC);
    if (!chip_is_a2()) fatal("UNSUPPORTED_API", at, "the Matmul object is modelled for Atlas A2 and A3 only", "choose a chip of the 910B family");
    if (role == MatmulRole::Direct && !cube) return -1;
    if (role == MatmulRole::Kernel && handle == 0 && !registered)
        fatal("BAD_PARAMETER", at, "Init of a Matmul object that is not registered", "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm) comes first; or use MatmulImpl on the cube core");
    if (role == MatmulRole::Kernel && (mm_server() || (!cube && !mm_client()))) return -1;
    if (handle < 0) return handle;
    if (handle == 0) {
        std::vector<MmObject*>& own = mm_objects_of(core().id);
        mm_objects().push_back(std::make_unique<MmObject>());
        handle = int32_t(mm_objects().size());
        mm_objects().back()->id = handle;
        mm_objects().back()->ordinal = uint32_t(own.size());
        own.push_back(mm_objects().back().get());
    }
    MmObject& o = *mm_objects()[size_t(handle - 1)];
    o.owner = core().id;
    o.role = role;
    o.setup = *setup;
    o.made = at;
    bool constant = true;
    for (int f : setup->fixed) constant = constant && f > 0;
    if (tiling || constant) take_tiling(o, tiling, at);
    return handle;
}

void tw_matmul_gm(int32_t handle, MatmulOperand what, const GlobalRef* gm, DType, int trans, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, operand_name(what));
    transposed(o, what, trans, at);
    if (!gm->ptr) fatal("HOST_ARGUMENT", at, fmt("%s: the tensor has no address", operand_name(what)), "call SetGlobalBuffer first");
    if (what == MatmulOperand::Bias) {
        if (!o.setup.set_bias) fatal("BAD_PARAMETER", at, "SetBias: the config of this Matmul has enableSetBias = false", "leave that field true");
        if (!o.t.isBias) fatal("BAD_PARAMETER", at, "SetBias: the tiling says no bias (isBias = 0)", "call EnableBias(true) on the host before GetTiling");
        o.p.bias_on = true;
    }
    if (what == MatmulOperand::Quant && !o.setup.set_quant) fatal("BAD_PARAMETER", at, "SetQuantVector: the config of this Matmul has enableQuantVector = false", "leave that field true");
    MmTensor& x = operand(o, what).renew(MmTensor::Gm, at);
    x.gm = *gm;
    x.trans = trans;
    charge(8, at);
    if (what <= MatmulOperand::Bias) o.renewed();
}

void tw_matmul_number(int32_t handle, MatmulOperand what, uint64_t bits, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, operand_name(what));
    const DType t = what == MatmulOperand::A ? o.setup.a.type : o.setup.b.type;
    if (size_of(t) < 2 || t == DType::I4) fatal("UNSUPPORTED_TYPE", at, fmt("%s of a number takes half and float", operand_name(what)), "put the values into a tensor");
    operand(o, what).renew(MmTensor::Number, at).bits = bits;
    o.renewed();
}

void tw_matmul_shape(int32_t handle, MatmulShape what, int64_t m, int64_t n, int64_t ka, int64_t kb, int64_t kc, At at) {
    if (mm_idle(handle)) return;
    static const char* names[] = {"SetOrgShape", "SetSingleShape", "SetTail"};
    MmObject& o = mm_object(handle, at, names[int(what)]);
    MmParams& p = o.p;
    charge(8, at);
    if (what == MatmulShape::Org) {
        if (!o.setup.set_org) fatal("BAD_PARAMETER", at, "SetOrgShape: the config of this Matmul has enableSetOrgShape = false", "leave that field true");
        if (m < 1 || n < 1 || ka < 1 || kb < 1) fatal("BAD_PARAMETER", at, fmt("SetOrgShape(%lld, %lld, %lld, %lld): sizes are at least 1", (long long)m, (long long)n, (long long)ka, (long long)kb), "give the sizes of the whole matrices");
        o.left.cut = o.left.cut && m == o.t.M && n == o.t.N;
        if (o.left.fresh && checks_on() && (m != p.M || n != p.N || ka != p.Ka || kb != p.Kb || kc != p.Kc))
            report(Severity::Warning, "BAD_PARAMETER", at, fmt("SetOrgShape(%lld, %lld, %lld, %lld) changes the distances of rows behind SetTensorA, SetTensorB or SetBias, which went by those of before", (long long)m, (long long)n, (long long)ka, (long long)kb),
                   "call SetOrgShape first, then SetTensorA, SetTensorB, SetBias and SetSingleShape");
        p.M = m;
        p.N = n;
        p.Ka = ka;
        p.Kb = kb;
        p.Kc = kc;
        return;
    }
    if (what == MatmulShape::Tail && !o.setup.set_tail) fatal("BAD_PARAMETER", at, "SetTail: the config of this Matmul has enableSetTail = false", "leave that field true");
    auto take = [](int64_t& to, int64_t v) { if (v != -1) to = v; };
    take(p.m, m);
    take(p.n, n);
    take(p.k, ka);
    if (p.m < 0 || p.n < 0 || p.k < 0) fatal("BAD_PARAMETER", at, fmt("%s(%lld, %lld, %lld): sizes are not negative", names[int(what)], (long long)m, (long long)n, (long long)ka), "-1 keeps the size, in SetTail only");
    o.restart();
}

void tw_matmul_option(int32_t handle, MatmulOption what, uint64_t value, uint64_t second, At at) {
    if (mm_idle(handle)) return;
    MmObject& o = mm_object(handle, at, "Set");
    charge(4, at);
    switch (what) {
        case MatmulOption::DisableBias: o.p.bias_on = false; o.shown = true; break;     // on purpose
        case MatmulOption::Hf32:
            if (mm_client()) fatal("BAD_PARAMETER", at, "SetHF32 works on the cube core only, and this kernel drives it by messages", "define ASCENDC_CUBE_ONLY before the first include");
            o.p.hf32 = value != 0;
            o.p.hf32_away = second != 0;
            break;
        case MatmulOption::QuantScalar: o.p.quant_scalar = value; o.p.quant_scalar_set = true; o.p.quant.where = MmTensor::None; break;
        case MatmulOption::SelfData:
            if (!o.setup.set_data) fatal("BAD_PARAMETER", at, "SetSelfDefineData: the config of this Matmul has enableSetDefineData = false", "leave that field true");
            o.p.self_data = value;
            break;
        case MatmulOption::UserInfo: o.p.user_info = value; break;
        case MatmulOption::BatchNum:
            if (mm_client()) fatal("BAD_PARAMETER", at, "SetBatchNum works on the cube core only, and this kernel drives it by messages", "define ASCENDC_CUBE_ONLY, or give the numbers to IterateBatch(gm, batchA, batchB, ...)");
            o.p.batch_a = uint32_t(value);
            o.p.batch_b = uint32_t(second);
            break;
        case MatmulOption::SubBlock: break;
        case MatmulOption::AntiQuant: fatal("UNSUPPORTED_API", at, "SetAntiQuant... belongs to the inference chip: A and B have one type on Atlas A2", "dequantise B with AscendAntiQuant first");
        case MatmulOption::Sparse: fatal("UNSUPPORTED_API", at, "4:2 sparse matrices are not modelled", "multiply the full matrix");
    }
}

}

namespace twin {
// Before anything is computed: are the operands there, and do they hold what will be read?
void mm_check(MmObject& o, At at, const char* api) {
    const MmParams& p = o.p;
    for (const MatmulOperand w : {MatmulOperand::A, MatmulOperand::B}) {
        const MmTensor& x = w == MatmulOperand::A ? p.a : p.b;
        if (x.where == MmTensor::None) fatal("BAD_PARAMETER", at, fmt("%s: nothing was set by %s", api, operand_name(w)), "SetTensorA and SetTensorB come before every computation");
        if (x.where == MmTensor::Gm && !x.dense) enough(o, w, x, x.at);
        const int64_t pitch = w == MatmulOperand::A ? (x.trans ? p.M : p.Ka) : (x.trans ? p.Kb : p.N);
        const MatmulSide& side = w == MatmulOperand::A ? o.setup.a : o.setup.b;
        if (pitch > 65535 && !o.setup.long_rows && MmFormat(side.format) == MmFormat::ND && x.where == MmTensor::Gm)
            fatal("BAD_PARAMETER", at, fmt("%s: rows of %c are %lld elements apart; the copy to L1 holds that in 16 bits", api, w == MatmulOperand::A ? 'A' : 'B', (long long)pitch),
                  "use a config with intrinsicsCheck = true: GetNormalConfig(true) or GetMDLConfig(true)");
    }
    if (o.t.isBias && !p.bias_on && o.setup.set_bias && !o.shown) {
        o.shown = true;
        report(Severity::Warning, "BAD_PARAMETER", at, fmt("%s: the tiling has a bias (isBias = 1), and SetBias was not called", api), "call SetBias, or EnableBias(false) on the host");
    }
    if (o.setup.c.type == DType::I8 || o.setup.c.type == DType::U8 || (o.setup.a.type == DType::I8 && o.setup.c.type == DType::F16))
        if (!p.quant_scalar_set && p.quant.where == MmTensor::None)
            fatal("BAD_PARAMETER", at, fmt("%s: a quantised result needs its scale", api), "call SetQuantScalar or SetQuantVector before");
}
}
