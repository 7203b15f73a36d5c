// Results leave L0C: to global memory or back to L1, converted, quantised and laid out on the way.
#pragma once
#include "twin/abi_cube.h"
#include "twin/copy_params.h"
#include "twin/global_tensor.h"
#include "twin/local_tensor.h"

namespace AscendC {
using ::QuantMode_t;

// ---- CO2Layout
enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR, COLUMN_MAJOR };
// ---- FixpipeConfig
struct FixpipeConfig {
    CO2Layout format;
    bool isToUB = false;
};
constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ, false}, CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR, false}, CFG_COLUMN_MAJOR{CO2Layout::COLUMN_MAJOR, false};

// ---- FixpipeParamsV220 FixpipeParamsM300 FixpipeParamsM310
// nSize x mSize elements of L0C; srcStride = rows from one 16-wide column to the next, as a rule AlignUp(mSize, 16).
// dstStride: ND the row pitch in elements, NZ the column pitch in 32 B; ndNum matrices, srcNdStride in 1024 B, dstNdStride in elements.
// Used by Fixpipe.
struct FixpipeParamsV220 {
    uint16_t nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    union { bool isChannelSplit = false; bool channelSplit; };
    constexpr FixpipeParamsV220() {}
    constexpr FixpipeParamsV220(int64_t n, int64_t m, int64_t src, int64_t dst, bool relu)
        : nSize(static_cast<uint16_t>(n)), mSize(static_cast<uint16_t>(m)), srcStride(static_cast<uint16_t>(src)), dstStride(static_cast<uint32_t>(dst)), reluEn(relu),
          written_{{n, m, src, dst, 1, 0, 0}, true} {}
    constexpr FixpipeParamsV220(int64_t n, int64_t m, int64_t src, int64_t dst, bool relu, QuantMode_t quant, int64_t scalar, int64_t nd, int64_t srcNd, int64_t dstNd, uint8_t flag)
        : nSize(static_cast<uint16_t>(n)), mSize(static_cast<uint16_t>(m)), srcStride(static_cast<uint16_t>(src)), dstStride(static_cast<uint32_t>(dst)), quantPre(quant),
          deqScalar(static_cast<uint64_t>(scalar)), ndNum(static_cast<uint16_t>(nd)), srcNdStride(static_cast<uint16_t>(srcNd)), dstNdStride(static_cast<uint16_t>(dstNd)),
          reluEn(relu), unitFlag(flag), written_{{n, m, src, dst, nd, srcNd, dstNd}, true} {}
    constexpr FixpipeParamsV220(int64_t n, int64_t m, int64_t src, int64_t dst, bool relu, QuantMode_t quant, int64_t scalar, int64_t nd, int64_t srcNd, int64_t dstNd, uint8_t flag, bool split)
        : FixpipeParamsV220(n, m, src, dst, relu, quant, scalar, nd, srcNd, dstNd, flag) { isChannelSplit = split; }
    void fill_(::twin::FixpipeCall& c) const {
        c.n = written_.get(0, nSize);
        c.m = written_.get(1, mSize);
        c.src_stride = written_.get(2, srcStride);
        c.dst_stride = written_.get(3, dstStride);
        c.nd_num = written_.get(4, ndNum);
        c.src_nd = written_.get(5, srcNdStride);
        c.dst_nd = written_.get(6, dstNdStride);
        c.quant = quantPre;
        c.scalar = deqScalar;
        c.relu = reluEn;
        c.unit_flag = unitFlag;
        c.split = isChannelSplit;
    }
    ::twin::Written<7> written_;
};
using FixpipeParamsM300 = FixpipeParamsV220;
using FixpipeParamsM310 = FixpipeParamsV220;

// ---- QuantParams
struct QuantParams {
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    constexpr QuantParams() {}
    constexpr QuantParams(QuantMode_t quant) : quantPre(quant) {}
    constexpr QuantParams(QuantMode_t quant, uint64_t scalar) : quantPre(quant), deqScalar(scalar) {}
};
// ---- Nz2NdParams
struct Nz2NdParams {
    bool nz2ndEn = false;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0, originalNSize = 0;
    constexpr Nz2NdParams() {}
    constexpr Nz2NdParams(bool on, uint16_t nd, uint16_t src, uint16_t dst, uint16_t n) : nz2ndEn(on), ndNum(nd), srcNdStride(src), dstNdStride(dst), originalNSize(n) {}
};
// ---- FixpipeParams
// The older form: cburstNum columns of 16 elements, burstLen = rows * 2 blocks of 32 B, srcStride = extra fractals between the columns of L0C.
// NZ: dstStride = blocks from the end of a column to the next. ND (nz2ndParams.nz2ndEn): the row pitch in elements, originalNSize columns.
// Used by Fixpipe.
template <class SrcT = int32_t>
struct FixpipeParams {
    uint16_t cburstNum = 1, burstLen = 1;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    QuantParams quantParams;
    bool reluEn = false;
    Nz2NdParams nz2ndParams;
    uint8_t unitFlag = 0;
    constexpr FixpipeParams() {}
    constexpr FixpipeParams(uint16_t count, uint16_t len, uint16_t src, uint32_t dst) : cburstNum(count), burstLen(len), dstStride(dst), srcStride(src) {}
    void fill_(::twin::FixpipeCall& c) const {
        c.nd = nz2ndParams.nz2ndEn;
        c.n = c.nd ? nz2ndParams.originalNSize : 16 * cburstNum;
        c.m = burstLen / 2;
        c.src_stride = (c.m + 15) / 16 * 16 + 16 * srcStride;
        c.dst_stride = dstStride;
        c.dense = c.nd ? 0 : 1;
        if (c.nd) { c.nd_num = nz2ndParams.ndNum; c.src_nd = nz2ndParams.srcNdStride; c.dst_nd = nz2ndParams.dstNdStride; }
        c.quant = quantParams.quantPre;
        c.scalar = quantParams.deqScalar;
        c.relu = reluEn;
        c.unit_flag = unitFlag;
    }
};
}  // namespace AscendC

namespace twin {
template <class T, class U, class D, class P>
void fixpipe(const D& dst, const AscendC::LocalTensor<U>& src, const LocalRef* workspace, const P& p, AscendC::CO2Layout layout, At at) {
    FixpipeCall c;
    c.at = at;
    c.dst_type = dtype_of<T>();
    c.src_type = dtype_of<U>();
    c.src = src.ref();
    if constexpr (std::is_same<decltype(dst.ref()), LocalRef>::value) { c.to_local = 1; c.local = dst.ref(); }
    else c.gm = dst.ref();
    if (workspace) { c.with_workspace = 1; c.workspace = *workspace; }
    c.nd = layout == AscendC::CO2Layout::ROW_MAJOR;
    p.fill_(c);
    if (layout == AscendC::CO2Layout::COLUMN_MAJOR) { tw_cube_absent("Fixpipe with CFG_COLUMN_MAJOR", "use CFG_ROW_MAJOR or CFG_NZ", at); return; }
    tw_fixpipe(&c);
}
}  // namespace twin

namespace AscendC {

// ---- Fixpipe
// ND: dst[d*dstNdStride + r*dstStride + c] = q(src[d*srcNdStride*256 + (c/16)*srcStride*16 + r*16 + c%16]); NZ: columns of 16 (8 bits: 32) dstStride*32 B apart.
// src in CO1, 64 B aligned; L1 takes NZ with a conversion only; q: NoQuant, F322F16, F322BF16, DEQF16, REQ8, QF322B8_PRE and their vector forms, then relu.
// FIX
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, config.format, at);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, config.format, at);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR, class S = uint64_t>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace, const FixpipeParamsV220& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef w = cbufWorkspace.ref();
    ::twin::fixpipe<T>(dst, src, &w, p, config.format, at);
}
template <class T, class U, const FixpipeConfig& config = CFG_ROW_MAJOR, class S = uint64_t>
inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace, const FixpipeParamsV220& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef w = cbufWorkspace.ref();
    ::twin::fixpipe<T>(dst, src, &w, p, config.format, at);
}
template <class T, class U, class P>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParams<P>& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, CO2Layout::NZ, at);
}
template <class T, class U, class P>
inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParams<P>& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, CO2Layout::NZ, at);
}
template <class T, class U, class S, class P>
inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const LocalTensor<S>& cbufWorkspace, const FixpipeParams<P>& p, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef w = cbufWorkspace.ref();
    ::twin::fixpipe<T>(dst, src, &w, p, CO2Layout::NZ, at);
}

// ---- DataCopy (L0C)
// The same move as Fixpipe with DataCopyCO12DstParams: ND when nz2ndEn, then the matrices of SetFixpipeNz2ndFlag; reluPre = 1 is relu.
// Scale of the scalar modes from SetFixpipePreQuantFlag, of the vector modes from the buffer of SetFixPipeConfig.
// FIX
template <class T, class U>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, CO2Layout::NZ, at);
}
template <class T, class U>
inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyCO12DstParams& p, ::twin::At at = ::twin::At::here()) {
    ::twin::fixpipe<T>(dst, src, nullptr, p, CO2Layout::NZ, at);
}

// ---- SetFixpipeNz2ndFlag
// Matrices and strides of the next DataCopy from L0C with nz2ndEn. limits: srcNdStride in 1024 B, 1..512 when ndNum > 1; stays set. pipe: S
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint32_t dstNdStride, ::twin::At at = ::twin::At::here()) { ::tw_set_nz2nd(ndNum, srcNdStride, dstNdStride, at); }
// ---- SetFixpipePreQuantFlag
// Scale word of the scalar modes of DataCopy from L0C. limits: a float in the low half, 19 bits of it count. pipe: S
inline void SetFixpipePreQuantFlag(uint64_t config, ::twin::At at = ::twin::At::here()) { ::tw_set_pre_quant(config, at); }
// ---- SetFixPipeConfig
// Fixpipe buffer that holds the scales of the vector modes; isUnitFlag = true clears the unit flags of L0C. limits: tensor in C2PIPE2GM. pipe: S
template <class T, bool setRelu = false>
inline void SetFixPipeConfig(const LocalTensor<T>& preTensor, bool isUnitFlag = false, ::twin::At at = ::twin::At::here()) {
    static_assert(!setRelu, "UNSUPPORTED_API: SetFixPipeConfig sets no relu table on this chip. Fix: reluEn of the parameters");
    const ::twin::LocalRef q = preTensor.ref();
    ::tw_set_fix_config(&q, isUnitFlag, at);
}
template <class T>
inline void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre, bool isUnitFlag = false, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef q = quantPre.ref();
    ::tw_set_fix_config(&q, isUnitFlag, at);
}
// ---- SetFixPipeClipRelu SetFixPipeAddr
// No effect on Atlas A2.
inline void SetFixPipeClipRelu(uint64_t) {}
template <class T> inline void SetFixPipeAddr(const LocalTensor<T>&, uint16_t) {}

}  // namespace AscendC

// ---- set_nd_para set_quant_pre set_fpc
// the register writes behind SetFixpipeNz2ndFlag and SetFixpipePreQuantFlag
inline void set_nd_para(uint64_t word, ::twin::At at = ::twin::At::here()) {
    ::tw_set_nz2nd(static_cast<int64_t>(word & 0xffff), static_cast<int64_t>(word >> 16 & 0xffff), static_cast<int64_t>(word >> 32 & 0xffff), at);
}
inline void set_quant_pre(uint64_t word, ::twin::At at = ::twin::At::here()) { ::tw_set_pre_quant(word, at); }
inline void set_fpc(uint64_t) {}
