// Every spelling of the data movement calls that kernels use. Compiled, not run.
#include "kernel_operator.h"
using namespace AscendC;

template <typename T>
__aicore__ inline void Plain(LocalTensor<T>& x, LocalTensor<T>& z, GlobalTensor<T>& g, uint32_t n, uint64_t wide, int32_t rows, size_t bytes) {
    DataCopy(x, g, n);
    DataCopy(g, x, n);
    DataCopy(z, x, n);
    DataCopy<T>(x, g[n], wide);
    DataCopy<T>(g[rows * n], x, rows);
    DataCopy(x[0], g[wide], static_cast<uint16_t>(n));
    DataCopyParams p;
    p.blockCount = rows;
    p.blockLen = n / 32;
    p.srcStride = 0;
    p.dstStride = 1;
    p.srcGap = 2;
    p.dstGap = p.srcStride;
    DataCopy(x, g, p);
    DataCopy(g, x, p);
    DataCopy(z, x, p);
    DataCopyParams q{static_cast<uint16_t>(rows), n, 0, 0}, r = {1, n, wide, 0}, s(1, bytes, rows, 0);
    DataCopy(x, g, q);
    DataCopy(x, g, r);
    DataCopy(g, x, s);
    DataCopy(x, g, {1, static_cast<uint16_t>(n * sizeof(T) / 32), 0, 0});
    DataCopy(g, x, {static_cast<uint16_t>(rows), n, 0, 0});
    DataCopy(z, x, {1, n, 0, 0});
    DataCopy(x, g, DataCopyParams{1, wide, 0, 0});
    DataCopyEnhancedParams e;
    DataCopy(x, g, q, e);
    DataCopy(g, x, q, e);
    DataCopy(z, x, q, e);
    DataCopyEnhancedParams full{BlockMode::BLOCK_MODE_MATRIX, DeqScale::DEQ_NONE, 0, 0, false, pad_t::PAD_NONE, 0};
    DataCopy(x, g, q, full);
}

template <typename T>
__aicore__ inline void Padded(LocalTensor<T>& x, GlobalTensor<T>& g, uint32_t n, uint64_t wide, int32_t rows) {
    DataCopyExtParams e;
    e.blockCount = rows;
    e.blockLen = n * sizeof(T);
    e.srcStride = 0;
    e.dstStride = 0;
    e.rsv = 0;
    e.srcGap = e.dstGap;
    DataCopyPadExtParams<T> q;
    q.isPad = true;
    q.leftPadding = 0;
    q.rightPadding = n;
    q.paddingValue = static_cast<T>(0);
    DataCopyPad(x, g, e, q);
    DataCopyPad(g, x, e);
    DataCopyPad<T>(x, g, e, q);
    DataCopyPad<T>(g, x, e);
    DataCopyPad<T, PaddingMode::Normal>(x, g, e, q);
    DataCopyPad<T, PaddingMode::Normal>(g, x, e);
    DataCopyExtParams e2{static_cast<uint16_t>(1), static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0}, e3 = {1, wide * sizeof(T), 0, 0, 0}, e4(1, n, rows, 0, 0);
    DataCopyPadExtParams<T> q2{true, 0, static_cast<uint8_t>(n), static_cast<T>(0)}, q3 = {false, 0, 0, 0}, q4(true, 0, n, T(1));
    DataCopyPadExtParams deduced{true, 0, 0, static_cast<T>(0)};
    DataCopyPad(x, g, e2, deduced);
    DataCopyPad(x, g, e3, q2);
    DataCopyPad(x, g, e4, q3);
    DataCopyPad(x, g, e2, q4);
    DataCopyPad(x, g[wide], {1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(x, g, {static_cast<uint16_t>(rows), n, 0, 0, 0}, {true, 0, static_cast<uint8_t>(n), 0});
    DataCopyPad(x, g, {1, n, 0, 0, 0}, {});
    DataCopyPad(x, g, DataCopyExtParams{1, wide, 0, 0, 0}, DataCopyPadExtParams<T>{});
    DataCopyPad(g, x, {1, n, 0, 0, 0});
    DataCopyParams o{1, n, 0, 0};
    DataCopyPadParams oq{true, 0, 1, 0}, oq2;
    oq2.paddingValue = 7;
    DataCopyPad(x, g, o, oq);
    DataCopyPad(x, g, o, oq2);
    DataCopyPad(x, g, {1, n, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(x, g, {1, n, 0, 0}, {});
    DataCopyPad(g, x, o);
    DataCopyPad(g, x, {1, n, 0, 0});
    SetPadValue(static_cast<T>(0));
    SetPadValue<T, TPosition::VECIN>(static_cast<T>(1));
    SetPadValue<T>(2);
}

template <typename T>
__aicore__ inline void Formats(LocalTensor<T>& x, GlobalTensor<T>& g, uint32_t m, uint32_t k) {
    Nd2NzParams p;
    p.ndNum = 1;
    p.nValue = m;
    p.dValue = k;
    p.srcNdMatrixStride = 0;
    p.srcDValue = k;
    p.dstNzC0Stride = m;
    p.dstNzNStride = 1;
    p.dstNzMatrixStride = 0;
    DataCopy(x, g, p);
    DataCopy(x, g, {1, m, k, 0, k, m, 1, 0});
    DataCopy(x, g, Nd2NzParams{1, static_cast<uint16_t>(m), static_cast<uint16_t>(k), 0, static_cast<uint16_t>(k), static_cast<uint16_t>(m), 1, 0});
    Nz2NdParamsFull q{1, m, k, 1, m, k, 1};
    DataCopy(g, x, q);
    DataCopy(g, x, {1, m, k, 1, m, k, 1});
    SliceInfo a[] = {{16, 70, 7, 3, 87}, {0, 2, 1, 1, 3}}, b[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
    DataCopy(x, g, b, a, 2);
    DataCopy(g, x, a, b, 2);
    SliceInfo one[1] = {{0, 31, 0, 1}};
    one[0].shapeValue = 32;
    DataCopy(x, g, one, one);
}

template <typename T>
__aicore__ inline void Atomics() {
    SetAtomicAdd<T>();
    SetAtomicMax<T>();
    SetAtomicMin<T>();
    SetAtomicType<T>();
    SetAtomicNone();
}

__aicore__ inline void Other(GM_ADDR raw) {
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)raw, 64);
    SetStoreAtomicConfig<AtomicDtype::ATOMIC_F16, AtomicOp::ATOMIC_SUM>();
    uint16_t type = 0, op = 0;
    GetStoreAtomicConfig(type, op);
    DisableDmaAtomic();
    InitGlobalMemory(g, 64, static_cast<int32_t>(0));
    InitGlobalMemory<int32_t>(g, 64, 0);
    Fill(g, 64, 3);
    InitOutput<int32_t>(g[8], 8, 0);
    InitOutput<int32_t>(g, 8);
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_ALL>(g[16]);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(g);
    LocalTensor<int32_t> t;
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_UB>(t);
    GlobalTensor<uint64_t> w;
    w.SetGlobalBuffer((__gm__ uint64_t*)raw);
    DataCachePreload(w, static_cast<int64_t>(0));
    dcci((__gm__ int32_t*)raw, cache_line_t::SINGLE_CACHE_LINE);
    dcci((__gm__ void*)raw, cache_line_t::ENTIRE_DATA_CACHE, dcci_dst_t::CACHELINE_OUT);
    int32_t v = ReadGmByPassDCache((__gm__ int32_t*)raw);
    WriteGmByPassDCache((__gm__ int32_t*)raw, v);
    WriteGmByPassDCache<uint64_t>((__gm__ uint64_t*)raw, 1);
    LocalTensor<half> l1(TPosition::A1, 0, 1024);
    Fill(l1, {1, 2, 0, half(0)});
    InitConstValueParams<half> p{2, half(1)};
    InitConstValue(l1, p);
}

extern "C" __global__ __aicore__ void surface_copy(GM_ADDR raw, uint32_t n) {
    GlobalTensor<half> gh;
    GlobalTensor<float> gf;
    GlobalTensor<int64_t> gl;
    GlobalTensor<bfloat16_t> gb;
    GlobalTensor<uint8_t> gu;
    LocalTensor<half> h, h2;
    LocalTensor<float> f, f2;
    LocalTensor<int64_t> l, l2;
    LocalTensor<bfloat16_t> b, b2;
    LocalTensor<uint8_t> u, u2;
    if (n == 0) return;
    Plain(h, h2, gh, n, n, 1, n);
    Plain(f, f2, gf, n, n, 1, n);
    Plain(l, l2, gl, n, n, 1, n);
    Plain(b, b2, gb, n, n, 1, n);
    Plain(u, u2, gu, n, n, 1, n);
    Padded(h, gh, n, n, 1);
    Padded(f, gf, n, n, 1);
    Padded(l, gl, n, n, 1);
    Padded(b, gb, n, n, 1);
    Padded(u, gu, n, n, 1);
    Formats(h, gh, n, n);
    Formats(f, gf, n, n);
    Atomics<half>();
    Atomics<float>();
    Atomics<bfloat16_t>();
    Atomics<int8_t>();
    Atomics<int16_t>();
    Atomics<int32_t>();
    Other(raw);
}
