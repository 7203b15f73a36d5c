// The high-level matrix multiplication: C = A * B + bias, by base blocks on the cube core.
//
// In a MIX kernel the vector cores call the object and the cube core does the work behind REGIST_MATMUL_OBJ; with
// ASCENDC_CUBE_ONLY, and for MatmulImpl, the cube core calls it itself.
#pragma once
#include "twin/matmul_callback.h"
#include "twin/tpipe.h"

namespace AscendC {

// ---- MatmulImpl
// The object that computes where it stands: on the cube core. On a vector core its calls do nothing.
// limits: Init before use, and again for another tiling; types as on Atlas A2: half, bfloat16_t, float, int8_t, int4b_t
// pipe: MTE2, MTE1, M, FIX of the cube core
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename...> class MATMUL_POLICY = Impl::Detail::MatmulPolicy>
class MatmulImpl {
public:
    using SrcAT = typename A_TYPE::T;
    using SrcBT = typename B_TYPE::T;
    using DstT = typename C_TYPE::T;
    using BiasT = typename BIAS_TYPE::T;
    using AType = A_TYPE;
    using BType = B_TYPE;
    using CType = C_TYPE;
    using BiasType = BIAS_TYPE;
    static_assert(::twin::matmul_types<SrcAT, SrcBT, DstT, BiasT>(),
                  "UNSUPPORTED_TYPE: Matmul on Atlas A2 multiplies half, bfloat16_t or float into float, half or bfloat16_t; int8_t into int32_t, half or int8_t; int4b_t into int32_t or half. Fix: cast A and B to one of them");

    // ---- Init
    // takes the tiling; may be called again with another one
    void Init(const TCubeTiling* __restrict tiling, TPipe* = nullptr, ::twin::At at = ::twin::At::here()) { init_(tiling, ::twin::MatmulRole::Direct, 0, at); }
    void SetSubBlockIdx(uint8_t subBlockIdx, ::twin::At at = ::twin::At::here()) { sub_ = subBlockIdx; tw_matmul_option(id_, ::twin::MatmulOption::SubBlock, subBlockIdx, 0, at); }
    uint8_t GetSubBlockIdx() const { return static_cast<uint8_t>(tw_sub_block_idx()); }

    // ---- SetTensorA SetTensorB
    // The operands of the next computation, already offset to the block of this core; a number stands for a row of it.
    // limits: isTranspose only where the type has ISTRANS = true
    void SetTensorA(const GlobalTensor<SrcAT>& gm, bool isTransposeA = false, ::twin::At at = ::twin::At::here()) { gm_(::twin::MatmulOperand::A, gm, isTransposeA, at); }
    void SetTensorA(const LocalTensor<SrcAT>& local, bool isTransposeA = false, ::twin::At at = ::twin::At::here()) { local_(::twin::MatmulOperand::A, local, isTransposeA, nullptr, at); }
    void SetTensorA(SrcAT number, ::twin::At at = ::twin::At::here()) { tw_matmul_number(id_, ::twin::MatmulOperand::A, bits_(number), at); }
    void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false, ::twin::At at = ::twin::At::here()) { gm_(::twin::MatmulOperand::B, gm, isTransposeB, at); }
    void SetTensorB(const LocalTensor<SrcBT>& local, bool isTransposeB = false, ::twin::At at = ::twin::At::here()) { local_(::twin::MatmulOperand::B, local, isTransposeB, nullptr, at); }
    void SetTensorB(SrcBT number, ::twin::At at = ::twin::At::here()) { tw_matmul_number(id_, ::twin::MatmulOperand::B, bits_(number), at); }
    // ---- SetTensorAWithCopy SetTensorBWithCopy
    // a local operand that goes to gm first and is used from there
    void SetTensorAWithCopy(const GlobalTensor<SrcAT>& gm, const LocalTensor<SrcAT>& local, bool isTransposeA = false, ::twin::At at = ::twin::At::here()) {
        const ::twin::GlobalRef g = gm.ref();
        local_(::twin::MatmulOperand::A, local, isTransposeA, &g, at);
    }
    void SetTensorBWithCopy(const GlobalTensor<SrcBT>& gm, const LocalTensor<SrcBT>& local, bool isTransposeB = false, ::twin::At at = ::twin::At::here()) {
        const ::twin::GlobalRef g = gm.ref();
        local_(::twin::MatmulOperand::B, local, isTransposeB, &g, at);
    }
    // ---- SetBias
    // the bias row that every row of C gets
    // limits: the tiling has isBias = 1
    void SetBias(const GlobalTensor<BiasT>& bias, ::twin::At at = ::twin::At::here()) { gm_(::twin::MatmulOperand::Bias, bias, false, at); }
    void SetBias(const LocalTensor<BiasT>& bias, ::twin::At at = ::twin::At::here()) { local_(::twin::MatmulOperand::Bias, bias, false, nullptr, at); }
    // ---- DisableBias ClearBias
    // no bias until the next SetBias
    void DisableBias(::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::DisableBias, 0, 0, at); }
    void ClearBias(::twin::At at = ::twin::At::here()) { DisableBias(at); }

    // ---- SetOrgShape
    // the sizes of the whole matrices in memory, hence the distance of their rows
    void SetOrgShape(int orgM, int orgN, int orgK, ::twin::At at = ::twin::At::here()) { tw_matmul_shape(id_, ::twin::MatmulShape::Org, orgM, orgN, orgK, orgK, 0, at); }
    void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0, ::twin::At at = ::twin::At::here()) { tw_matmul_shape(id_, ::twin::MatmulShape::Org, orgM, orgN, orgKa, orgKb, orgKc, at); }
    // ---- SetSingleShape SetTail
    // the part of this core: rows, columns, length of the sum; SetTail keeps what is -1
    void SetSingleShape(int singleM, int singleN, int singleK, ::twin::At at = ::twin::At::here()) { tw_matmul_shape(id_, ::twin::MatmulShape::Single, singleM, singleN, singleK, 0, 0, at); }
    void SetTail(int tailM = -1, int tailN = -1, int tailK = -1, ::twin::At at = ::twin::At::here()) { tw_matmul_shape(id_, ::twin::MatmulShape::Tail, tailM, tailN, tailK, 0, 0, at); }

    // ---- SetHF32
    // float operands lose mantissa bits before they are multiplied; 0 = ties to even, 1 = ties away from zero
    // limits: cube-only
    void SetHF32(bool enableHF32 = false, int32_t transMode = 0, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::Hf32, enableHF32, static_cast<uint64_t>(transMode), at); }
    // ---- SetQuantScalar SetQuantVector
    // the scale of quantised results: one, or one per column
    void SetQuantScalar(const uint64_t quantScalar, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::QuantScalar, quantScalar, 0, at); }
    void SetQuantVector(const GlobalTensor<uint64_t>& quantTensor, ::twin::At at = ::twin::At::here()) {
        const ::twin::GlobalRef g = quantTensor.ref();
        tw_matmul_gm(id_, ::twin::MatmulOperand::Quant, &g, ::twin::DType::U64, 0, at);
    }
    // ---- SetAntiQuantScalar SetAntiQuantVector SetSparseIndex
    // of other chips: said so when it is called
    template <class T> void SetAntiQuantScalar(const T, const T, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::AntiQuant, 0, 0, at); }
    template <class T> void SetAntiQuantVector(const LocalTensor<T>&, const LocalTensor<T>&, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::AntiQuant, 0, 0, at); }
    void SetSparseIndex(const GlobalTensor<uint8_t>&, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::Sparse, 0, 0, at); }
    // ---- SetWorkspace
    // GM for the tiles of an asynchronous Iterate, singleM * singleN elements
    template <class T> void SetWorkspace(const GlobalTensor<T>& workspace, ::twin::At at = ::twin::At::here()) {
        const ::twin::GlobalRef g = workspace.ref();
        tw_matmul_gm(id_, ::twin::MatmulOperand::Workspace, &g, ::twin::dtype_of<DstT>(), 0, at);
    }
    template <class T> void SetWorkspace(__gm__ const T* addr, int size, ::twin::At at = ::twin::At::here()) {
        ::twin::GlobalRef g;
        g.ptr = const_cast<uint8_t*>(static_cast<const uint8_t*>(static_cast<const void*>(addr)));
        g.bytes = static_cast<uint64_t>(size) * sizeof(T);
        g.set = 1;
        tw_matmul_gm(id_, ::twin::MatmulOperand::Workspace, &g, ::twin::dtype_of<DstT>(), 0, at);
    }
    // ---- SetLocalWorkspace
    // no effect on Atlas A2
    void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}
    // ---- SetBatchNum
    // how many matrices of A and B the next IterateBatch takes
    // limits: cube-only
    void SetBatchNum(int32_t batchA, int32_t batchB, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::BatchNum, static_cast<uint64_t>(batchA), static_cast<uint64_t>(batchB), at); }
    void SetNBatchOutNum(uint32_t) {}
    // ---- SetSelfDefineData SetUserDefInfo
    // numbers handed to the callbacks
    void SetSelfDefineData(const uint64_t dataPtr, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::SelfData, dataPtr, 0, at); }
    template <class T> void SetSelfDefineData(T data, ::twin::At at = ::twin::At::here()) {
        static_assert(sizeof(T) <= 8, "BAD_PARAMETER: SetSelfDefineData takes 64 bits: a number or the address of a struct in GM");
        uint64_t v = 0;
        __builtin_memcpy(&v, &data, sizeof(T));
        tw_matmul_option(id_, ::twin::MatmulOption::SelfData, v, 0, at);
    }
    void SetUserDefInfo(const uint64_t tilingPtr, ::twin::At at = ::twin::At::here()) { tw_matmul_option(id_, ::twin::MatmulOption::UserInfo, tilingPtr, 0, at); }
    MatrixOffset GetOffsetC() { return {}; }

    // ---- Iterate
    // Computes the next tile of baseM x baseN; false when there is none left. enPartialSum adds to the tile in L0C.
    // limits: sync = false computes all tiles at once into the workspace of SetWorkspace
    template <bool sync = true> bool Iterate(bool enPartialSum = false, ::twin::At at = ::twin::At::here()) { return tw_matmul_iterate(id_, sync, enPartialSum, nullptr, at) != 0; }
    template <bool sync = true, typename T> bool Iterate(bool enPartialSum, const LocalTensor<T>& localCmatrix, ::twin::At at = ::twin::At::here()) {
        const ::twin::LocalRef r = localCmatrix.ref();
        return tw_matmul_iterate(id_, sync, enPartialSum, &r, at) != 0;
    }
    // ---- GetTensorC
    // Takes the tile of the last Iterate: to its place in C, to a tensor of its own (enSequentialWrite), or to UB.
    // limits: enAtomic 0 none, 1 add, 2 max, 3 min; UB as large as the tile, rows of whole 32 B or ND_ALIGN
    template <bool sync = true> void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(gm, enAtomic, enSequentialWrite);
        tw_matmul_get(id_, sync, &t, nullptr, at);
    }
    template <bool sync = true> void GetTensorC(const LocalTensor<DstT>& ub, uint8_t enAtomic = 0, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(ub, enAtomic, enSequentialWrite);
        tw_matmul_get(id_, sync, &t, nullptr, at);
    }
    template <bool sync = true> void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& ub, uint8_t enAtomic = 0, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        auto t = to_(gm, enAtomic, enSequentialWrite);
        t.local = ub.ref();
        tw_matmul_get(id_, sync, &t, nullptr, at);
    }
    template <bool sync = true> GlobalTensor<DstT> GetTensorC(uint8_t enAtomic = 0, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        ::twin::MatmulTarget t;
        t.atomic = enAtomic;
        t.sequential = enSequentialWrite;
        return cached_([&](::twin::GlobalRef* c) { tw_matmul_get(id_, sync, &t, c, at); });
    }
    // ---- AsyncGetTensorC WaitGetTensorC
    // GetTensorC<false> of a UB tensor; its data may be used after the wait
    void AsyncGetTensorC(const LocalTensor<DstT>& ub, ::twin::At at = ::twin::At::here()) { GetTensorC<false>(ub, 0, false, at); }
    void WaitGetTensorC(::twin::At at = ::twin::At::here()) { tw_matmul_wait(id_, at); }
    // ---- IterateAll
    // All tiles, to their places in C.
    // limits: sync = false: the data may be used after WaitIterateAll (waitIterateAll = true), else the kernel orders it itself
    template <bool sync = true> void IterateAll(const GlobalTensor<DstT>& gm, uint8_t enAtomic = 0, bool enSequentialWrite = false, bool waitIterateAll = false, bool fakeMsg = false,
                                                ::twin::At at = ::twin::At::here()) {
        const auto t = to_(gm, enAtomic, enSequentialWrite);
        tw_matmul_all(id_, sync, &t, waitIterateAll, fakeMsg, at);
    }
    template <bool sync = true> void IterateAll(const LocalTensor<DstT>& ub, uint8_t enAtomic = 0, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(ub, enAtomic, false);
        tw_matmul_all(id_, sync, &t, 0, 0, at);
    }
    // ---- WaitIterateAll WaitIterateBatch
    // waits for what IterateAll<false> or IterateBatch<false> has started
    void WaitIterateAll(::twin::At at = ::twin::At::here()) { tw_matmul_wait(id_, at); }
    void WaitIterateBatch(::twin::At at = ::twin::At::here()) { tw_matmul_wait(id_, at); }
    // ---- IterateBatch
    // Several products of the single-core shape, one behind the other; the operand with fewer matrices is used again.
    // limits: batchA and batchB: one divides the other; the layouts come from the types and the tiling
    template <bool sync = true, bool waitIterateBatch = false>
    void IterateBatch(const GlobalTensor<DstT>& gm, uint32_t batchA, uint32_t batchB, bool enSequentialWrite, const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                      const uint32_t matrixStrideC = 0, const bool enPartialSum = false, const uint8_t enAtomic = 0, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(gm, enAtomic, enSequentialWrite);
        batch_(sync, t, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, 0, enPartialSum}, waitIterateBatch, at);
    }
    template <bool sync = true>
    void IterateBatch(const LocalTensor<DstT>& ub, uint32_t batchA, uint32_t batchB, bool enSequentialWrite, const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                      const uint32_t matrixStrideC = 0, const bool enPartialSum = false, const uint8_t enAtomic = 0, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(ub, enAtomic, enSequentialWrite);
        batch_(sync, t, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, 0, enPartialSum}, false, at);
    }
    // The cube-only form: SetBatchNum says how many. A number in the second place belongs to the forms above.
    template <class Flag, class = std::enable_if_t<std::is_same<Flag, bool>::value>>
    void IterateBatch(const GlobalTensor<DstT>& gm, Flag enPartialSum, uint8_t enAtomic, bool enSequentialWrite, const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                      const uint32_t matrixStrideC = 0, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(gm, enAtomic, enSequentialWrite);
        batch_(true, t, {0, 0, matrixStrideA, matrixStrideB, matrixStrideC, 0, enPartialSum}, false, at);
    }
    // ---- IterateNBatch
    // batchLoop times IterateBatch into the workspace of SetWorkspace
    // limits: isNBatch in the config; GetBatchTensorC takes the results in order
    template <bool sync = true, bool waitIterateBatch = false>
    void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB, bool enSequentialWrite, const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                       const uint32_t matrixStrideC = 0, ::twin::At at = ::twin::At::here()) {
        ::twin::MatmulTarget t;
        t.sequential = enSequentialWrite;
        batch_(sync, t, {batchA, batchB, matrixStrideA, matrixStrideB, matrixStrideC, batchLoop, false}, waitIterateBatch, at);
    }
    // ---- GetBatchTensorC GetBatchC
    // the next results of IterateNBatch
    template <bool sync = true> GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        ::twin::MatmulTarget t;
        t.sequential = enSequentialWrite;
        return cached_([&](::twin::GlobalRef* c) { tw_matmul_get_batch(id_, &t, batchA, batchB, c, at); });
    }
    template <bool sync = true> void GetBatchTensorC(const LocalTensor<DstT>& ub, uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        const auto t = to_(ub, 0, enSequentialWrite);
        tw_matmul_get_batch(id_, &t, batchA, batchB, nullptr, at);
    }
    template <bool sync = true> GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        return GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite, at);
    }
    template <bool sync = true> void GetBatchC(const LocalTensor<DstT>& ub, uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false, ::twin::At at = ::twin::At::here()) {
        GetBatchTensorC<sync>(ub, batchA, batchB, enSequentialWrite, at);
    }
    // ---- End
    // gives the cube back: before another object computes, and at the end
    void End(::twin::At at = ::twin::At::here()) { tw_matmul_end(id_, at); }

    void init_(const TCubeTiling* tiling, ::twin::MatmulRole role, int registered, ::twin::At at) {
        const ::twin::MatmulSetup s = setup_();
        id_ = tw_matmul_init(id_, role, &s, tiling, registered, at);
    }

protected:
    int32_t id_ = 0;
    uint8_t sub_ = 0;

private:
    static ::twin::MatmulSetup setup_() {
        ::twin::MatmulSetup s;
        s.a = ::twin::matmul_side<A_TYPE>();
        s.b = ::twin::matmul_side<B_TYPE>();
        s.c = ::twin::matmul_side<C_TYPE>();
        s.bias = ::twin::matmul_side<BIAS_TYPE>();
        s.hooks = MM_CB::hooks_();
        const MatmulConfig& c = ::twin::matmul_config(MM_CFG);
        ::twin::matmul_constants(MM_CFG, s);
        s.packages = c.doMultiDataLoad || c.doSpecialMDL;
        s.order = static_cast<uint8_t>(c.iterateOrder);
        s.outer_product = c.scheduleType == ScheduleType::OUTER_PRODUCT;
        s.partial_output = c.isPartialOutput;
        s.channel_split = c.isEnableChannelSplit;
        s.bias_per_batch = c.isBiasBatch;
        s.n_batch = c.isNBatch;
        s.part_sum = c.intraBlockPartSum;
        s.share_norm = c.doIBShareNorm;
        s.dual_master = c.enableMixDualMaster;
        s.triangle = MATMUL_POLICY<MM_CFG>::triangle_;
        s.long_rows = c.intrinsicsCheck;
        s.basic_block = c.doBasicBlock;
        s.set_bias = c.enableSetBias;
        s.set_tail = c.enableSetTail;
        s.set_org = c.enableSetOrgShape;
        s.set_quant = c.enableQuantVector;
        s.set_data = c.enableSetDefineData;
        s.get_c = c.enableGetTensorC;
        s.end = c.enableEnd;
        return s;
    }
    template <class T> static uint64_t bits_(T v) {
        uint64_t u = 0;
        __builtin_memcpy(&u, &v, sizeof(T));
        return u;
    }
    template <class T> void gm_(::twin::MatmulOperand what, const GlobalTensor<T>& gm, bool trans, ::twin::At at) {
        const ::twin::GlobalRef g = gm.ref();
        tw_matmul_gm(id_, what, &g, ::twin::dtype_of<T>(), trans, at);
    }
    template <class T> void local_(::twin::MatmulOperand what, const LocalTensor<T>& local, bool trans, const ::twin::GlobalRef* through, ::twin::At at) {
        const ::twin::LocalRef r = local.ref();
        tw_matmul_local(id_, what, &r, ::twin::dtype_of<T>(), trans, through, at);
    }
    static ::twin::MatmulTarget to_(const GlobalTensor<DstT>& gm, uint8_t atomic, bool sequential) {
        ::twin::MatmulTarget t;
        t.gm = gm.ref();
        t.atomic = atomic;
        t.sequential = sequential;
        return t;
    }
    static ::twin::MatmulTarget to_(const LocalTensor<DstT>& local, uint8_t atomic, bool sequential) {
        ::twin::MatmulTarget t;
        t.local = local.ref();
        t.atomic = atomic;
        t.sequential = sequential;
        return t;
    }
    template <class F> static GlobalTensor<DstT> cached_(F fill) {
        ::twin::GlobalRef g;
        fill(&g);
        GlobalTensor<DstT> t;
        t.SetGlobalBuffer(static_cast<DstT*>(static_cast<void*>(g.ptr)), g.bytes / sizeof(DstT));
        return t;
    }
    void batch_(bool sync, const ::twin::MatmulTarget& t, const ::twin::MatmulBatch& b, bool wait, ::twin::At at) { tw_matmul_batch(id_, sync, &t, &b, wait, at); }
};

// ---- Matmul
// The object of kernels: with REGIST_MATMUL_OBJ a vector core of a MIX kernel drives its cube core by messages; with
// ASCENDC_CUBE_ONLY it is MatmulImpl.
// limits: REGIST_MATMUL_OBJ before any other call; at most 4 objects
// pipe: S of the caller; MTE2, MTE1, M, FIX of the cube core
template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<nullptr, nullptr, nullptr>,
          template <const auto&, typename...> class MATMUL_POLICY = Impl::Detail::MatmulPolicy>
class Matmul : public MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB, MATMUL_POLICY> {
public:
    static constexpr bool dual_master_ = ::twin::matmul_config(MM_CFG).enableMixDualMaster;
    void Init(const TCubeTiling* __restrict tiling, TPipe* = nullptr, ::twin::At at = ::twin::At::here()) { this->init_(tiling, ::twin::MatmulRole::Kernel, 0, at); }
};

}  // namespace AscendC
