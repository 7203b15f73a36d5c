// Sorting pairs (score, index) by score, descending. A pair has 8 bytes: the score first, the index in the upper 4 bytes.
#pragma once
#include "twin/abi_move.h"
#include "twin/vec_call.h"

namespace AscendC {

// ---- MrgSortSrcList
// up to four sorted lists
// limits: unused lists may be any tensor
// used by MrgSort
template <typename T>
struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& a, const LocalTensor<T>& b, const LocalTensor<T>& c, const LocalTensor<T>& d) : src1(a), src2(b), src3(c), src4(d) {}
};
// ---- MrgSort4Info
// {elementLengths[4] in pairs, ifExhaustedSuspension, validBit, repeatTimes}
// limits: lengths 0..4095; validBit 3, 7 or 15 = the first 2, 3 or 4 lists; repeatTimes 0..255
// used by MrgSort
struct MrgSort4Info {
    uint16_t elementLengths[4] = {0, 0, 0, 0};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    int32_t repeatTimes = 1;
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[4], bool suspend = false, uint16_t valid = 0, uint16_t repeat = 1)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeat) {
        for (int i = 0; i < 4; ++i) elementLengths[i] = lengths[i];
    }
};

}  // namespace AscendC

namespace twin {
template <class T>
inline SortCall sort_call(const char* api, int64_t repeats, At at) {
    SortCall c;
    c.api = api;
    c.at = at;
    c.type = dtype_of<T>();
    c.repeats = repeats;
    return c;
}
template <class T>
inline MergeCall merge_call(const AscendC::LocalTensor<T>& dst, const AscendC::MrgSortSrcList<T>& s, const uint16_t lengths[4], At at) {
    MergeCall c;
    c.at = at;
    c.type = dtype_of<T>();
    c.dst = dst.ref();
    c.list[0] = s.src1.ref();
    c.list[1] = s.src2.ref();
    c.list[2] = s.src3.ref();
    c.list[3] = s.src4.ref();
    for (int i = 0; i < 4; ++i) c.length[i] = lengths[i];
    return c;
}
template <class T> struct NoDeduce { using type = T; };
}  // namespace twin

namespace AscendC {

#define TWIN_SORT_CHECK(NAME, T) TWIN_VEC_TYPES(NAME, T, twin::kF16 | twin::kF32, "takes half or float scores: Cast first")
// ---- Sort32
// sorts every group of 32 pairs (score src0, index src1) by score, descending; equal scores keep their order. Pair k of group r: dst bytes 8*(32r+k)
// limits: half, float scores, uint32_t indices; groups stay apart: MrgSort or Sort join them; repeatTime 0..255
// pipe: V
template <typename T>
inline void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<uint32_t>& src1, const int64_t repeatTime, twin::At at = twin::At::here()) {
    TWIN_SORT_CHECK("Sort32", T);
    static_assert(__NPU_ARCH__ == 2201 || twin::never<T>, "UNSUPPORTED_API: Sort32 does not exist on the inference chip. Fix: build for Atlas A2");
    twin::SortCall c = twin::sort_call<T>("Sort32", repeatTime, at);
    c.dst = dst.ref();
    c.src = src0.ref();
    c.index = src1.ref();
    tw_vec_sort32(&c);
}

// ---- MrgSort
// merges 2 to 4 descending lists of pairs into one; equal scores: the lower list first
// limits: lengths in pairs, 0..4095; list starts at 8 B, dst at 32 B; several repeats only for 4 equal lists side by side
// pipe: V
template <typename T>
inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<typename twin::NoDeduce<T>::type>& src, const MrgSort4Info& params, twin::At at = twin::At::here()) {
    TWIN_SORT_CHECK("MrgSort", T);
    twin::MergeCall c = twin::merge_call<T>(dst, src, params.elementLengths, at);
    c.valid = params.validBit;
    c.repeats = params.repeatTimes;
    c.suspend = params.ifExhaustedSuspension;
    tw_vec_merge(&c);
}
template <typename T, bool isExhaustedSuspension = false>
inline void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<typename twin::NoDeduce<T>::type>& sortList, const uint16_t elementCountList[4],
                    uint32_t sortedNum[4], uint16_t validBit, const int64_t repeatTime, twin::At at = twin::At::here()) {
    TWIN_SORT_CHECK("MrgSort", T);
    twin::MergeCall c = twin::merge_call<T>(dst, sortList, elementCountList, at);
    c.valid = validBit;
    c.repeats = repeatTime;
    c.suspend = isExhaustedSuspension;
    tw_vec_merge(&c);
    if constexpr (isExhaustedSuspension) {
        uint16_t taken[4];
        tw_vec_merged(taken, at);
        for (int i = 0; i < 4; ++i) sortedNum[i] = taken[i];
    }
}

// ---- GetMrgSortResult
// pairs that the last MrgSort took from each list before one of them ran out
// limits: after MrgSort with ifExhaustedSuspension
// pipe: S
inline void GetMrgSortResult(uint16_t& mrgSortList1, uint16_t& mrgSortList2, uint16_t& mrgSortList3, uint16_t& mrgSortList4, twin::At at = twin::At::here()) {
    uint16_t n[4];
    tw_vec_merged(n, at);
    mrgSortList1 = n[0];
    mrgSortList2 = n[1];
    mrgSortList3 = n[2];
    mrgSortList4 = n[3];
}

// ---- Concat
// on Atlas A2 the sorting needs no preparation: concat becomes another name of src
// limits: half, float; tmp is not used
// pipe: S
template <typename T>
inline void Concat(LocalTensor<T>& concatLocal, const LocalTensor<T>& srcLocal, const LocalTensor<T>& /*tmpLocal*/, const int64_t /*repeatTime*/) {
    TWIN_SORT_CHECK("Concat", T);
    concatLocal = srcLocal;
}

// ---- Sort
// Sort32 over repeatTime groups; with isFullSort all groups are merged into one descending list
// limits: half, float; dst and tmp need 8 bytes per element (GetSortLen elements); repeatTime = elements / 32
// pipe: V
template <typename T, bool isFullSort>
inline void Sort(const LocalTensor<T>& dstLocal, const LocalTensor<T>& concatLocal, const LocalTensor<uint32_t>& indexLocal, LocalTensor<T>& tmpLocal,
                 const int64_t repeatTime, twin::At at = twin::At::here()) {
    TWIN_SORT_CHECK("Sort", T);
    static_assert(__NPU_ARCH__ == 2201 || twin::never<T>, "UNSUPPORTED_API: Sort is not modelled for the inference chip. Fix: build for Atlas A2");
    twin::SortCall c = twin::sort_call<T>("Sort", repeatTime, at);
    c.full = isFullSort;
    c.dst = dstLocal.ref();
    c.src = concatLocal.ref();
    c.index = indexLocal.ref();
    c.tmp = tmpLocal.ref();
    tw_vec_sort(&c);
}

// ---- Extract
// splits pairs: dstValueLocal[k] = score, dstIndexLocal[k] = index, 32 pairs per repeat
// limits: half, float
// pipe: V
template <typename T>
inline void Extract(const LocalTensor<T>& dstValueLocal, const LocalTensor<uint32_t>& dstIndexLocal, const LocalTensor<T>& sortedLocal, const int64_t repeatTime,
                    twin::At at = twin::At::here()) {
    TWIN_SORT_CHECK("Extract", T);
    twin::SortCall c = twin::sort_call<T>("Extract", repeatTime, at);
    c.dst = dstValueLocal.ref();
    c.index = dstIndexLocal.ref();
    c.src = sortedLocal.ref();
    tw_vec_extract(&c);
}

// ---- GetSortOffset GetSortLen
// elements of T that n pairs take: 2n for float, 4n for half; an index into the sorted tensor
// limits: half, float
// pipe: S
template <typename T> constexpr uint32_t GetSortOffset(const uint32_t elemOffset) { return elemOffset * (8 / sizeof(PrimT<T>)); }
template <typename T> constexpr uint32_t GetSortLen(const uint32_t elemCount) { return elemCount * (8 / sizeof(PrimT<T>)); }

}  // namespace AscendC
