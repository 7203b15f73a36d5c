// Reductions: many elements become one. Sums are trees of neighbours, every step rounded to the element type.
#pragma once
#include "twin/abi_reduce.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- ReduceOrder
// what WholeReduceMax and WholeReduceMin store; an index is raw bits (uint16_t for half, uint32_t for float)
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
// ---- ReduceType
// the newer names ask for the operation by this; REDUCE_ADD is the spelling of the communication interface
enum class ReduceType { NONE = -1, SUM = 0, MAX, MIN };

}  // namespace AscendC

namespace twin {
inline ReduceCall reduce_call(ReduceKind kind, ReduceShape shape, const char* api, DType t, const VecMask& mask, At at) {
    ReduceCall r;
    r.call = vec_call(VecOp::N, api, t, t, 1, mask, at);
    r.kind = kind;
    r.shape = shape;
    return r;
}
inline void reduce_run(ReduceCall r, const LocalRef& dst, const LocalRef& src, int64_t dst_rep, int64_t src_blk, int64_t src_rep,
                       AscendC::ReduceOrder order = AscendC::ReduceOrder::ORDER_VALUE_INDEX) {
    r.call.dst.ref = dst;
    r.call.src[0] = {src, {StrideArg(src_blk), StrideArg(src_rep)}};
    r.dst_rep = dst_rep;
    r.order = static_cast<uint8_t>(order);
    tw_vec_reduce(&r);
}
inline void reduce_all(ReduceCall r, const LocalRef& dst, const LocalRef& src, const LocalRef& tmp, int64_t src_rep, bool index) {
    r.tmp = tmp;
    r.cal_index = index;
    reduce_run(r, dst, src, 1, 1, src_rep);
}
inline VecMask by_int_lanes(int32_t lanes, int64_t repeat, bool set) {
    VecMask m = by_lanes(0, repeat, set);
    m.n = lanes;
    return m;
}
constexpr ReduceKind reduce_kind(AscendC::ReduceType t) {
    return t == AscendC::ReduceType::MAX ? ReduceKind::Max : t == AscendC::ReduceType::MIN ? ReduceKind::Min : ReduceKind::Sum;
}
}  // namespace twin

namespace AscendC {

#define TWIN_REDUCE_CHECK(NAME, T) TWIN_VEC_TYPES(NAME, T, twin::kF16 | twin::kF32, "takes half or float: Cast to float first")

// repeat before mask: the older order
#define TWIN_REDUCE_PART(NAME, KIND, SHAPE)                                                                                                      \
    template <typename T, bool isSetMask = true>                                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int64_t repeat, const int32_t mask, const int64_t dstRepStride, \
                     const int64_t srcBlkStride, const int64_t srcRepStride, twin::At at = twin::At::here()) {                                   \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_run(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::SHAPE, #NAME, twin::dtype_of<T>(),                         \
                                           twin::by_int_lanes(mask, repeat, isSetMask), at), dst.ref(), src.ref(), dstRepStride, srcBlkStride, srcRepStride); \
    }                                                                                                                                            \
    template <typename T, bool isSetMask = true>                                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int64_t repeat, const uint64_t mask[], const int64_t dstRepStride, \
                     const int64_t srcBlkStride, const int64_t srcRepStride, twin::At at = twin::At::here()) {                                   \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_run(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::SHAPE, #NAME, twin::dtype_of<T>(),                         \
                                           twin::by_bits(mask, repeat, isSetMask), at), dst.ref(), src.ref(), dstRepStride, srcBlkStride, srcRepStride); \
    }

// ---- BlockReduceSum
// dst[r*8*dstRepStride + b] = sum over the active lanes of block b of repeat r, as a tree of neighbours
// limits: half, float; dst starts at 16 B (half) or 32 B (float); a block without active lanes leaves its result alone
// pipe: V
TWIN_REDUCE_PART(BlockReduceSum, Sum, Block)
// ---- BlockReduceMax
// as BlockReduceSum, with the largest lane of every block
// limits: half, float; NaN in a block gives NaN
// pipe: V
TWIN_REDUCE_PART(BlockReduceMax, Max, Block)
// ---- BlockReduceMin
// as BlockReduceSum, with the smallest lane of every block
// limits: half, float; NaN in a block gives NaN
// pipe: V
TWIN_REDUCE_PART(BlockReduceMin, Min, Block)
// ---- PairReduceSum
// dst[r*(L/2)*dstRepStride + k] = lane 2k + lane 2k+1 of repeat r
// limits: half, float; dst 32-byte aligned; one inactive lane counts as absent
// pipe: V
TWIN_REDUCE_PART(PairReduceSum, Sum, Pair)

#define TWIN_REDUCE_WHOLE(NAME, KIND, ORDER_PARAMETER, ORDER_ARGUMENT)                                                                           \
    template <typename T, bool isSetMask = true>                                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t mask, const int64_t repeatTimes, const int64_t dstRepStride, \
                     const int64_t srcBlkStride, const int64_t srcRepStride, ORDER_PARAMETER twin::At at = twin::At::here()) {                   \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_run(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::Repeat, #NAME, twin::dtype_of<T>(),                        \
                                           twin::by_int_lanes(mask, repeatTimes, isSetMask), at), dst.ref(), src.ref(), dstRepStride,            \
                         srcBlkStride, srcRepStride, ORDER_ARGUMENT);                                                                            \
    }                                                                                                                                            \
    template <typename T, bool isSetMask = true>                                                                                                 \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], const int64_t repeatTimes, const int64_t dstRepStride, \
                     const int64_t srcBlkStride, const int64_t srcRepStride, ORDER_PARAMETER twin::At at = twin::At::here()) {                   \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_run(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::Repeat, #NAME, twin::dtype_of<T>(),                        \
                                           twin::by_bits(mask, repeatTimes, isSetMask), at), dst.ref(), src.ref(), dstRepStride,                 \
                         srcBlkStride, srcRepStride, ORDER_ARGUMENT);                                                                            \
    }
#define TWIN_COMMA ,
#define TWIN_ORDER ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX TWIN_COMMA

// ---- WholeReduceSum
// dst[r*dstRepStride] = sum over the active lanes of repeat r, as a tree of neighbours; dstRepStride counts elements
// limits: half, float; half rounds at every level of the tree; dst starts at 2 B (half) or 4 B (float)
// pipe: V
TWIN_REDUCE_WHOLE(WholeReduceSum, Sum, , ReduceOrder::ORDER_ONLY_VALUE)
// ---- WholeReduceMax
// largest lane of every repeat and its number 0..L-1, stored in the given order; dstRepStride counts results
// limits: half, float; the index is raw bits (uint16_t for half, uint32_t for float); pairs start at 4 B (half) or 8 B (float)
// pipe: V
TWIN_REDUCE_WHOLE(WholeReduceMax, Max, TWIN_ORDER, order)
// ---- WholeReduceMin
// as WholeReduceMax, with the smallest lane
// limits: as WholeReduceMax
// pipe: V
TWIN_REDUCE_WHOLE(WholeReduceMin, Min, TWIN_ORDER, order)

// ---- RepeatReduceSum
// WholeReduceSum over the first elemsInOneRepeat lanes of every repeat; dstBlkStride has no effect
// limits: half, float
// pipe: V
template <typename T, bool isSetMask = true>
inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int64_t repeat, const int32_t elemsInOneRepeat,
                            const int64_t /*dstBlkStride*/, const int64_t srcBlkStride, const int64_t dstRepStride, const int64_t srcRepStride,
                            twin::At at = twin::At::here()) {
    TWIN_REDUCE_CHECK("RepeatReduceSum", T);
    twin::reduce_run(twin::reduce_call(twin::ReduceKind::Sum, twin::ReduceShape::Repeat, "RepeatReduceSum", twin::dtype_of<T>(),
                                       twin::by_int_lanes(elemsInOneRepeat, repeat, isSetMask), at),
                     dst.ref(), src.ref(), dstRepStride, srcBlkStride, srcRepStride, ReduceOrder::ORDER_ONLY_VALUE);
}

// ---- ReduceSum
// dst[0] = sum of count elements: a tree inside every repeat of 256 B, then repeat by repeat; or of the active lanes of all repeats
// limits: half, float; dst starts at 2 B (half) or 4 B (float); the strided form needs repeatTime elements of sharedTmpBuffer
// pipe: V; the call waits for its result, so that GetValue may follow
template <typename T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int64_t count,
                      twin::At at = twin::At::here()) {
    TWIN_REDUCE_CHECK("ReduceSum", T);
    twin::reduce_all(twin::reduce_call(twin::ReduceKind::Sum, twin::ReduceShape::All, "ReduceSum", twin::dtype_of<T>(), twin::by_count(count, isSetMask), at),
                     dst.ref(), src.ref(), sharedTmpBuffer.ref(), 8, false);
}
#define TWIN_REDUCE_ALL(NAME, KIND, INDEX_PARAMETER, INDEX_ARGUMENT)                                                                             \
    template <typename T>                                                                                                                        \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int32_t mask,            \
                     const int64_t repeatTime, const int64_t srcRepStride, INDEX_PARAMETER twin::At at = twin::At::here()) {                     \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_all(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::All, #NAME, twin::dtype_of<T>(),                           \
                                           twin::by_int_lanes(mask, repeatTime, true), at), dst.ref(), src.ref(), sharedTmpBuffer.ref(),         \
                         srcRepStride, INDEX_ARGUMENT);                                                                                          \
    }                                                                                                                                            \
    template <typename T>                                                                                                                        \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[],         \
                     const int64_t repeatTime, const int64_t srcRepStride, INDEX_PARAMETER twin::At at = twin::At::here()) {                     \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_all(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::All, #NAME, twin::dtype_of<T>(),                           \
                                           twin::by_bits(mask, repeatTime, true), at), dst.ref(), src.ref(), sharedTmpBuffer.ref(),              \
                         srcRepStride, INDEX_ARGUMENT);                                                                                          \
    }
TWIN_REDUCE_ALL(ReduceSum, Sum, , false)

#define TWIN_REDUCE_EXTREME(NAME, KIND)                                                                                                          \
    template <typename T>                                                                                                                        \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer, const int64_t count,           \
                     bool calIndex = false, twin::At at = twin::At::here()) {                                                                    \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        twin::reduce_all(twin::reduce_call(twin::ReduceKind::KIND, twin::ReduceShape::All, #NAME, twin::dtype_of<T>(), twin::by_count(count), at), \
                         dst.ref(), src.ref(), sharedTmpBuffer.ref(), 8, calIndex);                                                              \
    }                                                                                                                                            \
    TWIN_REDUCE_ALL(NAME, KIND, bool calIndex = false TWIN_COMMA, calIndex)

// ---- ReduceMax
// dst[0] = largest element, with calIndex dst[1] = index of its first place as raw bits (uint16_t for half, uint32_t for float)
// limits: half, float; dst starts at 4 B (half) or 8 B (float); sharedTmpBuffer: see the needed bytes in the message
// pipe: V; the call waits for its result, except with calIndex and a single repeat
TWIN_REDUCE_EXTREME(ReduceMax, Max)
// ---- ReduceMin
// as ReduceMax, with the smallest element
// limits: as ReduceMax
// pipe: V; as ReduceMax
TWIN_REDUCE_EXTREME(ReduceMin, Min)

// The newer names: the operation is a template argument and the mask comes first.
#define TWIN_REDUCE_NEW(NAME, SHAPE, MASK, BY, ORDER_PARAMETER, ORDER_ARGUMENT)                                                                  \
    template <ReduceType reduceType, typename T, typename U, bool isSetMask = true>                                                              \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src, MASK, const int64_t repeatTime, const int64_t dstRepStride,           \
                     const int64_t srcBlkStride, const int64_t srcRepStride, ORDER_PARAMETER twin::At at = twin::At::here()) {                   \
        TWIN_REDUCE_CHECK(#NAME, T);                                                                                                             \
        static_assert(std::is_same<PrimT<T>, PrimT<U>>::value, #NAME " takes one element type for dst and src");                                 \
        static_assert(reduceType != ReduceType::NONE, #NAME " needs an operation: use ReduceType::SUM, MAX or MIN");                             \
        static_assert(twin::ReduceShape::SHAPE != twin::ReduceShape::Pair || reduceType == ReduceType::SUM, #NAME " knows ReduceType::SUM only: use ReduceDataBlock or ReduceRepeat"); \
        twin::reduce_run(twin::reduce_call(twin::reduce_kind(reduceType), twin::ReduceShape::SHAPE, #NAME, twin::dtype_of<T>(),                  \
                                           twin::BY(mask, repeatTime, isSetMask), at), dst.ref(), src.ref(), dstRepStride, srcBlkStride,         \
                         srcRepStride, ORDER_ARGUMENT);                                                                                          \
    }
// ---- ReduceDataBlock
// BlockReduceSum, BlockReduceMax or BlockReduceMin, by template argument
// limits: as those; mask before repeatTime
// pipe: V
TWIN_REDUCE_NEW(ReduceDataBlock, Block, const int32_t mask, by_int_lanes, , ReduceOrder::ORDER_ONLY_VALUE)
TWIN_REDUCE_NEW(ReduceDataBlock, Block, const uint64_t mask[], by_bits, , ReduceOrder::ORDER_ONLY_VALUE)
// ---- ReducePairElem
// PairReduceSum, with ReduceType::SUM as template argument
// limits: as PairReduceSum; mask before repeatTime
// pipe: V
TWIN_REDUCE_NEW(ReducePairElem, Pair, const int32_t mask, by_int_lanes, , ReduceOrder::ORDER_ONLY_VALUE)
TWIN_REDUCE_NEW(ReducePairElem, Pair, const uint64_t mask[], by_bits, , ReduceOrder::ORDER_ONLY_VALUE)
// ---- ReduceRepeat
// WholeReduceSum, WholeReduceMax or WholeReduceMin, by template argument
// limits: as those
// pipe: V
TWIN_REDUCE_NEW(ReduceRepeat, Repeat, const int32_t mask, by_int_lanes, TWIN_ORDER, reduceType == ReduceType::SUM ? ReduceOrder::ORDER_ONLY_VALUE : order)
TWIN_REDUCE_NEW(ReduceRepeat, Repeat, const uint64_t mask[], by_bits, TWIN_ORDER, reduceType == ReduceType::SUM ? ReduceOrder::ORDER_ONLY_VALUE : order)

// ---- GetAccVal GetReduceRepeatSumSpr
// result of the last ReduceSum with a count, read from a register
// limits: T is half or float
// pipe: S
template <typename T> inline T GetAccVal(twin::At at = twin::At::here()) {
    const uint64_t bits = tw_vec_reduce_sum(sizeof(T), at);
    T v;
    __builtin_memcpy(&v, &bits, sizeof(T));
    return v;
}
template <typename T> inline T GetReduceRepeatSumSpr(twin::At at = twin::At::here()) { return GetAccVal<T>(at); }

// ---- GetReduceMaxMinCount GetReduceRepeatMaxMinSpr
// value and index over all repeats of the last WholeReduceMax or WholeReduceMin; the index is raw bits in T
// limits: that call used srcBlkStride 1 and srcRepStride 8; after ReduceMax and ReduceMin only the value counts
// pipe: S
template <typename T> inline void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex, twin::At at = twin::At::here()) {
    TWIN_REDUCE_CHECK("GetReduceMaxMinCount", T);
    uint64_t value = 0, index = 0;
    tw_vec_reduce_extreme(&value, &index, at);
    __builtin_memcpy(&maxMinValue, &value, sizeof(T));
    __builtin_memcpy(&maxMinIndex, &index, sizeof(T));
}
template <typename T> inline void GetReduceMaxMinCount(T& maxMinValue, twin::At at = twin::At::here()) {
    static_assert(__NPU_ARCH__ == 2002 || twin::never<T>, "UNSUPPORTED_API: GetReduceMaxMinCount with one argument belongs to the inference chip. Fix: pass a second variable for the index");
    uint64_t value = 0, index = 0;
    tw_vec_reduce_extreme(&value, &index, at);
    __builtin_memcpy(&maxMinValue, &value, sizeof(T));
}
template <typename T> inline void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex, twin::At at = twin::At::here()) { GetReduceMaxMinCount(maxMinValue, maxMinIndex, at); }

}  // namespace AscendC
