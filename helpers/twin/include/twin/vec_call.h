// What the vector headers share: building a VecCall, and the text of "this type does not exist here".
#pragma once
#include "twin/abi_vec.h"
#include "twin/local_tensor.h"
#include "twin/repeat_params.h"

namespace twin {

inline VecMask by_count(int64_t count, bool set = true) {
    VecMask m;
    m.n = count;
    m.set = set;
    return m;
}
inline VecMask by_bits(const uint64_t* mask, int64_t repeat, bool set) {
    VecMask m;
    m.form = 1;
    m.set = set;
    m.repeat = repeat;
    if (set && mask) { m.bits[0] = mask[0]; m.bits[1] = mask[1]; }
    return m;
}
inline VecMask by_lanes(uint64_t lanes, int64_t repeat, bool set) {
    VecMask m;
    m.form = 2;
    m.set = set;
    m.repeat = repeat;
    m.n = static_cast<int64_t>(lanes);
    return m;
}

inline VecCall vec_call(VecOp op, const char* api, DType type, DType from, int sources, const VecMask& mask, At at) {
    VecCall c;
    c.op = op;
    c.api = api;
    c.type = type;
    c.from = from;
    c.sources = static_cast<uint8_t>(sources);
    c.mask = mask;
    c.at = at;
    return c;
}

inline void vec_unary(VecCall c, const LocalRef& dst, const LocalRef& src, const AscendC::UnaryRepeatParams& p = {}) {
    c.dst = {dst, {p.dstBlkStride, p.dstRepStride}};
    c.src[0] = {src, {p.srcBlkStride, p.srcRepStride}};
    tw_vec(&c);
}
inline void vec_binary(VecCall c, const LocalRef& dst, const LocalRef& src0, const LocalRef& src1, const AscendC::BinaryRepeatParams& p = {}) {
    c.dst = {dst, {p.dstBlkStride, p.dstRepStride}};
    c.src[0] = {src0, {p.src0BlkStride, p.src0RepStride}};
    c.src[1] = {src1, {p.src1BlkStride, p.src1RepStride}};
    tw_vec(&c);
}

template <class T> inline uint64_t scalar_bits(const T& v) {
    uint64_t b = 0;
    __builtin_memcpy(&b, &v, sizeof(T));
    return b;
}

}  // namespace twin

#define TWIN_VEC_TYPES(API, T, SET, TEXT) static_assert(twin::has_type(SET, twin::dtype_of<T>()), API " on Atlas A2 " TEXT)
