// The spellings that kernel files use for the core of the interface: compiling this file is the test.
// Types, tensors, TPipe, queues, buffers, synchronisation, queries, tiling, debug output. Old and new names.
#include "kernel_operator.h"
// every header name of the tool chain leads to the same interface
#include "acl/acl.h"
#include "acl/acl_rt.h"
#include "ascendc/host_api/tiling/template_argument.h"
#include "basic_api/kernel_basic_intf.h"
#include "cpu_debug_launch.h"
#include "data_utils.h"
#include "kernel_basic_intf.h"
#include "kernel_common.h"
#include "kernel_cube_intf.h"
#include "kernel_event.h"
#include "kernel_log.h"
#include "kernel_macros.h"
#include "kernel_operator_data_copy_intf.h"
#include "kernel_operator_fixpipe_intf.h"
#include "kernel_operator_intf.h"
#include "kernel_operator_list_tensor_intf.h"
#include "kernel_operator_mm_intf.h"
#include "kernel_operator_vec_binary_intf.h"
#include "kernel_tensor.h"
#include "kernel_tpipe.h"
#include "kernel_type.h"
#include "kernel_tiling/kernel_tiling.h"
#include "kernel_utils.h"
#include "kernel_vec_intf.h"
#include "lib/matmul_intf.h"
#include "lib/matrix/matmul/matmul.h"
#include "platform/platform_ascendc.h"
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "std/algorithm.h"
#include "stub_def.h"
#include "stub_fun.h"
#include "tikicpulib.h"
#include "tiling/platform/platform_ascendc.h"
#include "tiling/tiling_api.h"
#include "utils/debug/asc_printf.h"

#ifdef __CCE_KT_TEST__
#define __aicore__
#else
#define __aicore__ [aicore]
#endif

using namespace AscendC;

// ----- a kernel's own helpers must not collide with the interface
template <typename T>
__aicore__ inline T CeilDiv(T a, T b) { return (a + b - 1) / b; }
template <typename T>
__aicore__ inline T AlignUp(T a, T b) { return CeilDiv(a, b) * b; }
template <typename T>
__aicore__ inline T Min(T a, T b) { return a < b ? a : b; }
template <typename T>
__aicore__ inline T max(T a, T b) { return a < b ? b : a; }

// ----- tiling structs
namespace optiling {
BEGIN_TILING_DATA_DEF(InnerTiling)
TILING_DATA_FIELD_DEF(uint32_t, rows);
TILING_DATA_FIELD_DEF(float, scale);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(InnerTilingOp, InnerTiling)

BEGIN_TILING_DATA_DEF(AddTiling)
TILING_DATA_FIELD_DEF(uint32_t, totalLength);
TILING_DATA_FIELD_DEF(uint8_t, flag);
TILING_DATA_FIELD_DEF_ARR(int64_t, 4, sizes);
TILING_DATA_FIELD_DEF_STRUCT(InnerTiling, inner);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(AddCustom, AddTiling)
}  // namespace optiling
static_assert(offsetof(optiling::AddTiling, sizes) == 8 && sizeof(optiling::AddTiling) == 48, "natural alignment");

struct PlainTiling {
    uint32_t totalLength;
    uint32_t tileNum;
    float coefficients[3];
};

// ----- scalar types
constexpr half kOne = 1.0;
constexpr half kLow = -128;
static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2 && sizeof(int4b_t) == 1, "layouts");
static_assert(std::is_same_v<PrimT<TensorTrait<half>>, half>, "PrimT");
static_assert(static_cast<uint8_t>(TPosition::LCM) == static_cast<uint8_t>(TPosition::VECCALC), "LCM is VECCALC");
static_assert(static_cast<int>(HardEvent::MAX) == 35, "event order");
static_assert(EVENT_ID7 == 7 && event_t::EVENT_ID0 == 0, "event_t is unscoped");
static_assert(KERNEL_TYPE_MIX_AIC_1_2 == 5, "kernel types");
static_assert(static_cast<uint8_t>(RoundMode::CAST_ODD) == 6, "round modes");
static_assert(Std::is_same<Std::tuple_element<1, Std::tuple<int, float>>::type, float>::value, "tuple");
static_assert(Std::get<1>(Std::make_tuple(1, 2.0f)) == 2.0f && Std::tuple_size<Std::tuple<int, float>>::value == 2, "tuple");
static_assert(Std::max(1, 2) == 2 && Std::min(1.0f, 2.0f) == 1.0f && Std::abs(-3) == 3, "Std");
static_assert(GetDataBlockSizeInBytes() == 32 && GetVecLen() == 256 && CeilDivision(5, 2) == 3 && DivCeil(5, 2) == 3, "queries");

__aicore__ inline float Scalars(uint32_t n, int64_t m)
{
    half h = kOne + kLow;
    h = h * n + m;
    h += 1;
    h = h < 2.0f ? h : static_cast<half>(0.5);
    bool b = h == 1;
    bfloat16_t q = ToBfloat16(1.0f);
    q = static_cast<bfloat16_t>(0);
    q = (bfloat16_t)3;
    bfloat16_t big = 3.38e38f;
    float f = ToFloat(q) + ToFloat(big) * h + b;
    f += AscendC::Cast(q) + ToFloat(AscendC::Cast(1.0f));
    int4b_t nibble = 9;
    int8_t wide = nibble;
    float16_t alias = 1;
    float32_t other = alias + wide;
    int64_t k = min(m, static_cast<int64_t>(n)) + max(1, 2) + abs(-1) + Min(1, 2);
    f += abs(-1.5f) + abs(static_cast<half>(-1)) + std::numeric_limits<half>::max() + std::numeric_limits<float>::lowest();
    f += NumericLimits<half>::Max() + NumericLimits<float>::NegativeInfinity();
    f += ScalarCast<float, int32_t, RoundMode::CAST_RINT>(2.5f) + ScalarCast<float, half, RoundMode::CAST_ODD>(2.5f);
    f += AscendC::Cast<float, int32_t, RoundMode::CAST_FLOOR>(2.5f);
    k += ScalarGetCountOfValue<1>(7) + GetBitCount<0>(7) + ScalarCountLeadingZero(1) + CountLeadingZero(1);
    k += CountBitsCntSameAsSignBit(1) + ScalarGetSFFValue<1>(8) + GetSFFValue<0>(8);
    return f + other + k + AlignUp(5u, 4u) + Ceil(5, 4);
}

// ----- the class of the sample projects
constexpr int32_t BUFFER_NUM = 2;
constexpr TQueConfig LOOP_CONFIG{};

class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t totalLength, uint32_t tileNum)
    {
        ASSERT(GetBlockNum() != 0 && "block dim can not be zero!");
        this->blockLength = totalLength / GetBlockNum();
        this->tileNum = tileNum ASSERT(tileNum != 0 && "tile num can not be zero!");
        this->tileLength = this->blockLength / tileNum / BUFFER_NUM;
        xGm.SetGlobalBuffer((__gm__ half*)x + this->blockLength * GetBlockIdx(), this->blockLength);
        yGm.SetGlobalBuffer((__gm__ half*)y + this->blockLength * GetBlockIdx(), this->blockLength);
        zGm.SetGlobalBuffer((__gm__ half*)z + this->blockLength * GetBlockIdx(), this->blockLength);
        pipe.InitBuffer(inQueueX, BUFFER_NUM, this->tileLength * sizeof(half));
        pipe.InitBuffer(inQueueY, BUFFER_NUM, this->tileLength * sizeof(half));
        pipe.InitBuffer(outQueueZ, BUFFER_NUM, this->tileLength * sizeof(half));
    }
    __aicore__ inline void Process()
    {
        int32_t loopCount = this->tileNum * BUFFER_NUM;
        for (int32_t i = 0; i < loopCount; i++) {
            CopyIn(i);
            Compute(i);
            CopyOut(i);
        }
    }

private:
    __aicore__ inline void CopyIn(int32_t progress)
    {
        LocalTensor<half> xLocal = inQueueX.AllocTensor<half>();
        LocalTensor<half> yLocal = inQueueY.AllocTensor<half>();
        DataCopy(xLocal, xGm[progress * this->tileLength], this->tileLength);
        DataCopy(yLocal, yGm[progress * this->tileLength], this->tileLength);
        inQueueX.EnQue(xLocal);
        inQueueY.EnQue(yLocal);
    }
    __aicore__ inline void Compute(int32_t progress)
    {
        (void)progress;
        LocalTensor<half> xLocal = inQueueX.DeQue<half>();
        LocalTensor<half> yLocal = inQueueY.DeQue<half>();
        LocalTensor<half> zLocal = outQueueZ.AllocTensor<half>();
        Add(zLocal, xLocal, yLocal, this->tileLength);
        outQueueZ.EnQue<half>(zLocal);
        inQueueX.FreeTensor(xLocal);
        inQueueY.FreeTensor<half>(yLocal);
    }
    __aicore__ inline void CopyOut(int32_t progress)
    {
        LocalTensor<half> zLocal = outQueueZ.DeQue<half>();
        DataCopy(zGm[progress * this->tileLength], zLocal, this->tileLength);
        outQueueZ.FreeTensor(zLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFER_NUM> inQueueX, inQueueY;
    TQue<TPosition::VECOUT, BUFFER_NUM> outQueueZ;
    GlobalTensor<half> xGm;
    AscendC::GlobalTensor<half> yGm, zGm;
    uint32_t blockLength;
    uint32_t tileNum;
    uint32_t tileLength;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    REGISTER_TILING_DEFAULT(optiling::AddTiling);
    GET_TILING_DATA(tilingData, tiling);
    GET_TILING_DATA_WITH_STRUCT(PlainTiling, plain, tiling);
    GET_TILING_DATA_MEMBER(PlainTiling, tileNum, tileNum, tiling);
    GET_TILING_DATA_MEMBER(PlainTiling, coefficients, coefficients, tiling);
    GET_TILING_DATA_PTR_WITH_STRUCT(PlainTiling, pointer, tiling);
    COPY_TILING_WITH_STRUCT(optiling::InnerTiling, tilingData.inner, inner);
    COPY_TILING_WITH_ARRAY(float, 3, pointer->coefficients, array);
    if (workspace == nullptr) {
        return;
    }
    SetSysWorkspace(workspace);
    GM_ADDR user = GetUserWorkspace(workspace);
    if (user == nullptr || GetSysWorkSpacePtr() == nullptr) {
        return;
    }
    KernelAdd op;
    op.Init(x, y, z, tilingData.totalLength + plain.totalLength, tileNum + inner->rows + static_cast<uint32_t>((*array)[1] + coefficients[0]));
    if (TILING_KEY_IS(1)) {
        op.Process();
    } else if (TILING_KEY_IS(10000000000000000001UL)) {
        KERNEL_TASK_TYPE(10000000000000000001UL, KERNEL_TYPE_MIX_AIV_1_0);
        op.Process();
    } else if (TILING_KEY_LIST(3, 4) && TILING_KEY_VAR != 5) {
        op.Process();
    }
}

// ----- qualifiers
__global__ __vector__ void vector_only(__gm__ half* x, float alpha) { (void)x; (void)alpha; }
__global__ __mix__(1, 2) void mixed(GM_ADDR x, PlainTiling tiling) { (void)x; (void)tiling; }
template <typename T, int N>
__global__ __aicore__ void templated(__gm__ T* __restrict__ x, __gm__ volatile uint8_t* flag) { (void)x; (void)flag; (void)N; }
template __global__ void templated<half, 2>(__gm__ half* __restrict__ x, __gm__ volatile uint8_t* flag);

// ----- tensors
template <typename T>
__aicore__ inline void Tensors(GM_ADDR p, TPipe* pipe)
{
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T*)p, 128);
    gm.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(p));
    gm.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    gm.template SetL2CacheHint<CacheRwMode::READ>(CacheMode::CACHE_MODE_NORMAL);
    T v = gm.GetValue(3);
    gm.SetValue(4, v);
    gm(5) = gm(6);
    gm(7) = static_cast<T>(1);
    uint64_t size = gm.GetSize() + gm[16].GetSize();
    auto words = gm.template ReinterpretCast<uint32_t>();
    __gm__ T* address = (__gm__ T*)gm[8].GetPhyAddr() + 1;
    (void)address;
    (void)gm.GetPhyAddr(2);
    uint32_t dims[2] = {4, 8};
    gm.SetShapeInfo(ShapeInfo(2, dims, DataFormat::ND));
    size += GetShapeSize(gm.GetShapeInfo()) + words.GetSize();

    TBuf<> buf;
    TBuf<TPosition::VECCALC> calc;
    AscendC::TBuf<QuePosition::VECIN> in;
    pipe->InitBuffer(buf, size);
    pipe->InitBuffer(calc, 1024);
    pipe->InitBuffer(in, 32);
    LocalTensor<T> whole = buf.Get<T>();
    LocalTensor<T> part = buf.Get<T>(16);
    LocalTensor<T> later = buf.GetWithOffset<T>(16, 32);
    LocalTensor<T> none;
    none = whole[16];
    none.SetSize(8);
    part.SetValue(0, 1);
    part.SetValue(1, static_cast<T>(v));
    part(2) = part(3);
    part(2) = 2;
    part(2) += 1;
    v = part.GetValue(2);
    float f = static_cast<float>(part(1));
    uint64_t where = later.GetPhyAddr();
    where += (uint64_t)later.GetPhyAddr(2) / 32 + later.GetPhyAddr() / 32;
    __ubuf__ T* raw = (__ubuf__ T*)whole.GetPhyAddr();
    __ubuf__ uint8_t* bytes = (__ubuf__ uint8_t*)whole[16].GetPhyAddr();
    auto other = whole.template ReinterpretCast<int16_t>();
    none.SetAddrWithOffset(other, 16);
    whole.SetUserTag(3);
    int32_t tag = whole.GetUserTag() + whole.GetPosition() + whole.GetLength() + whole.GetSize();
    whole.SetShapeInfo(ShapeInfo(2, dims));
    whole.Print();
    whole.Print(8);
    (void)whole.ToFile("x.bin");
    LocalTensor<T> fixed(TPosition::VECCALC, 0, 128);
    LocalMemAllocator<> allocator;
    auto a = allocator.Alloc<T>(64);
    auto b = allocator.Alloc<TPosition::VECIN, T, 64>();
    auto c = pipe->GetAbsAddr<TPosition::VECIN, T>(0, 64);
    PopStackBuffer<T, TPosition::LCM>(c);
    (void)f; (void)raw; (void)bytes; (void)tag; (void)where; (void)a; (void)b; (void)allocator.GetCurAddr();
}
template void Tensors<half>(GM_ADDR, TPipe*);
template void Tensors<float>(GM_ADDR, TPipe*);
template void Tensors<bfloat16_t>(GM_ADDR, TPipe*);
template void Tensors<int32_t>(GM_ADDR, TPipe*);
template void Tensors<uint8_t>(GM_ADDR, TPipe*);

__aicore__ inline void PackedIntegers(LocalTensor<int4b_t> t, GlobalTensor<int4b_t> g)
{
    t.SetValue(3, static_cast<int4b_t>(-3));
    int8_t v = t.GetValue(3);
    g.SetValue(2, static_cast<int4b_t>(v));
    auto bytes = t.ReinterpretCast<int8_t>();
    (void)bytes.GetSize();
}

// ----- queues and pools
__aicore__ inline void Queues(LocalTensor<half> t)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
    TQue<TPosition::VECIN, 0> inPlace;
    TQue<QuePosition::A1, 1> a1;
    TQue<TPosition::B1, 2, 1> b1;
    TQue<TPosition::CO1, 1, &LOOP_CONFIG> co1;
    TSCM<TPosition::GM> scm;
    pipe.InitBuffer(through, 1, 256);
    pipe.InitBuffer(inPlace, 1, 256);
    pipe.InitBuffer(a1, 1, 512);
    pipe.InitBuffer(b1, 1, 512);
    pipe.InitBuffer(co1, 1, 1024);
    pipe.InitBuffer(scm, 1, 512);
    pipe.InitBuffer(through, Std::make_tuple(0, 256), Std::make_tuple(256, 256));
    through.EnQue<TPosition::GM, TPosition::VECIN>(t);
    through.EnQue<TPosition::GM, TPosition::VECIN, half>(t);
    t = through.DeQue<TPosition::GM, TPosition::VECIN, half>();
    inPlace.AllocTensor(t);
    inPlace.AllocTensor<half>(t);
    inPlace.EnQue(t);
    inPlace.DeQue(t);
    inPlace.DeQue<half>(t);
    inPlace.FreeTensor(t);
    bool any = through.VacantInQue() || through.HasTensorInQue() || through.HasIdleBuffer() || through.GetTensorCountInQue() > 0;
    any = any || through.GetState(t) == TBufState::FREE;
    through.FreeAllEvent();
    TBufPool<TPosition::VECCALC> first;
    TBufPool<TPosition::VECCALC, 8> second;
    pipe.InitBufPool(first, 1024);
    pipe.InitBufPool(second, 1024, first);
    first.InitBuffer(through, 1, 64);
    TBuf<TPosition::VECCALC> buf;
    first.InitBuffer(buf, 64);
    first.Reset();
    TEventID id = pipe.AllocEventID<HardEvent::MTE2_V>();
    pipe.ReleaseEventID<HardEvent::MTE2_V>(id);
    event_t fetched = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    auto again = GetTPipePtr()->FetchEventID<HardEvent::V_S>();
    SetFlag<HardEvent::V_S>(fetched);
    WaitFlag<HardEvent::V_S>(again);
    pipe.Reset();
    pipe.Destroy();
    pipe.Init();
    (void)any;
}

// ----- order
__aicore__ inline void Order(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub, bool odd)
{
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(static_cast<event_t>(0));
    SetFlag<HardEvent::MTE3_MTE2>(odd ? EVENT_ID0 : EVENT_ID1);
    AscendC::WaitFlag<AscendC::HardEvent::MTE3_MTE2>(0);
    PipeBarrier<PIPE_ALL>();
    AscendC::PipeBarrier<PIPE_V>();
    DataSyncBarrier<MemDsbT::ALL>();
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    pipe_barrier(PIPE_ALL);
    dsb(DSB_DDR);
    TQueSync<PIPE_V, PIPE_MTE3> sync;
    sync.SetFlag(0);
    sync.WaitFlag(0);
    CrossCoreSetFlag<0x2, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
    CrossCoreWaitFlag<0x2, PIPE_MTE2>(3);
    NotifyEvent<PIPE_MTE3>(4);
    WaitEvent(4);
    WaitEvent<PIPE_S>(4);
    ffts_cross_core_sync(PIPE_MTE3, GetffstMsg(2, 5));
    wait_flag_dev(5);
    set_ffts_base_addr(0);
    SetSyncBaseAddr(0);
    SyncAll();
    SyncAll<true>();
    SyncAll<false>();
    SyncAll(gm, ub);
    SyncAll<true>(gm, ub, 8);
    IBSet(gm, ub, 0, 0);
    IBWait<true>(gm, ub, 0, 0);
    InitDetermineComputeWorkspace(gm, ub);
    WaitPreBlock(gm, ub);
    NotifyNextBlock(gm, ub);
    GroupBarrier<PipeMode::MTE3_MODE> group((GM_ADDR)gm.GetPhyAddr(0), 3, 3);
    group.Arrive(0);
    group.Wait(0);
    (void)group.GetWorkspaceLen();
    SetNextTaskStart();
    WaitPreTaskEnd();
}

// ----- where and when
__aicore__ inline void OnVector(int n) { (void)n; }
__aicore__ inline int64_t Places()
{
    int64_t n = GetBlockIdx() + GetBlockNum() + GetSubBlockIdx() + GetSubBlockNum() + GetTaskRation() + GetTaskRatio();
    n += block_idx * 2 + block_num + get_block_idx() + get_block_num() + get_subblockid() + get_subblockdim();
    if ASCEND_IS_AIV {
        n += 1;
    } else {
        n += 2;
    }
    if ASCEND_IS_NOT_AIC { n += 1; }
    if (g_coreType == AscendC::AIV) { n += 1; }
    Async<EngineType::AIV, OnVector>(3);
    InitSocState();
    uint32_t version = 0;
    GetArchVersion(version);
    Nop<3>();
    ICachePreLoad(2);
    return n + GetSystemCycle() + GetUBSizeInBytes() + GetRuntimeUBSize() + GetProgramCounter() + ASC_UB_SIZE + TOTAL_L1_SIZE + version + get_imm(0);
}

// ----- dynamic input lists
__aicore__ inline void Lists(GM_ADDR data)
{
    ListTensorDesc list((__gm__ void*)data);
    uint64_t shape[8];
    TensorDesc<half> desc;
    desc.SetShapeAddr(shape);
    for (uint32_t i = 0; i < list.GetSize(); i++) {
        list.GetDesc(desc, i);
        GlobalTensor<half> gm = desc.GetDataObj();
        gm.SetGlobalBuffer(list.GetDataPtr<half>(i), desc.GetShape(0) + desc.GetDim() + desc.GetIndex());
    }
}

// ----- debug output
__aicore__ inline void Debug(LocalTensor<half> t, GlobalTensor<float> g, int n)
{
    printf("block %d of %ld: %f %f %x %s\n", n, GetBlockNum(), t.GetValue(0), ToBfloat16(1.0f), 255, "text");
    AscendC::printf("%f\n", t(1));
    PRINTF("plain\n");
    DumpTensor(t, 5, 16);
    DumpTensor(g, __LINE__, 16);
    uint32_t shape[2] = {2, 8};
    DumpTensor(t, 6, 16, ShapeInfo(2, shape));
    DumpAccChkPoint(t, 7, 16, 16);
    assert(n > 0);
    assert(n > 0, "n is %d", n);
    ascendc_assert(n > 0, "n is %d", n);
    ASSERT(n > 0 && "text");
    if (n) ASSERT(n > 0); else ASSERT(n == 0);
    ASCENDC_ASSERT(n > 0, { n = 1; });
    ASCENDC_DEBUG_ASSERT(n > 0, "n is %d", n);
    KERNEL_LOG(KERNEL_ERROR, "n is %d", n);
    PrintTimeStamp(1);
    TRACE_START(1);
    TRACE_STOP(1);
    MetricsProfStart();
    MetricsProfStop();
    MarkStamp<PIPE_V, 1>();
    if (n < 0) {
        Trap();
        trap();
    }
}

// ----- host half of a CPU-mode file: it compiles, nothing runs it
#ifndef ASCENDC_CPU_DEBUG
void add_custom_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y, uint8_t* z)
{
    add_custom<<<blockDim, nullptr, stream>>>(x, y, z, nullptr, nullptr);
}
#else
int32_t host_main()
{
    size_t size = 64;
    uint8_t* x = (uint8_t*)AscendC::GmAlloc(size);
    ReadFile("input_x.bin", size, x, size);
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_SET_TILING_KEY(1);
    ICPU_RUN_KF(add_custom, 8, x, x, x, nullptr, nullptr);
    WriteFile("output_z.bin", x, size);
    AscendC::GmFree((void*)x);
    CHECK_ACL(aclInit(nullptr));
    return static_cast<int32_t>(Scalars(1, 2)) + static_cast<int32_t>(Places());
}
#endif
