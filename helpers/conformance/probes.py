"""Calls that settle what the documents leave open and no other call shows; open_points.toml says which settles what."""
from __future__ import annotations

from .family import VECTOR_FRAME, Call, Family, rows

# z is written by the scalar unit and by nothing else: no copy follows the calls.
_LAST = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    GlobalTensor<DST> zGm;
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    switch (call) {
CASES        default: break;
    }
}
'''

# No TPipe: memory comes from an allocator. What the calls find is stored in z by the scalar unit.
_STATIC = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    InitSocState();
    GlobalTensor<DST> zGm;
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    switch (call) {
CASES        default: break;
    }
    DataCacheCleanAndInvalid<DST, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(zGm);
    PipeBarrier<PIPE_ALL>();
}
'''

# Copies of 32 KB, 16 of them; the last 1 KB goes to z.
_LONG = '''
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t call)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    GlobalTensor<SRC> xGm;
    GlobalTensor<DST> zGm;
    xGm.SetGlobalBuffer((__gm__ SRC*)x);
    zGm.SetGlobalBuffer((__gm__ DST*)z, 256);
    LocalTensor<SRC> u(TPosition::VECIN, 0, 8192);
    uint32_t start = 0;
    switch (call) {
CASES        default: break;
    }
    for (int i = 0; i < 16; ++i) {
        DataCopy(u, xGm[start + i * 8192], 8192);
        PipeBarrier<PIPE_MTE2>();
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(zGm, u[7936], 256);
    PipeBarrier<PIPE_ALL>();
}
'''

_TMP = "LocalTensor<uint8_t> w = tmp.ReinterpretCast<uint8_t>(); "

PROBES = (
    Family("machine", "float", "int32_t", rows(
        "int32_t", "GetUBSizeInBytes | d.SetValue(0, (int32_t)GetUBSizeInBytes());", "GetArchVersion | uint32_t v = 0; GetArchVersion(v); d.SetValue(0, (int32_t)v);",
        "type of half and float | d.SetValue(0, (int32_t)sizeof((half)1 + 1.0f)); d.SetValue(1, (int32_t)sizeof((half)1 + 1));",
        "SetBufferLen | a.SetBufferLen(64); d.SetValue(0, (int32_t)a.GetSize());",
        "kernel type nobody wrote | d.SetValue(0, (int32_t)GetSubBlockNum() + 10); d.SetValue(1, (int32_t)GetTaskRation() + 10); d.SetValue(2, (int32_t)GetBlockNum() + 10);",
        "float scalar to int | for (int i = 0; i < 24; ++i) { d.SetValue(i, ScalarCast<float, int32_t, RoundMode::CAST_RINT>(a.GetValue(i))); }",
        "macros of the vector core\n"
        "| int32_t seen = 10;\n#ifdef __DAV_VEC__\nseen += 1;\n#endif\n#ifdef __DAV_CUBE__\nseen += 2;\n#endif\n#ifdef __DAV_C220_VEC__\nseen += 4;\n#endif\nd.SetValue(0, seen);",
        "GroupBarrier workspace | GroupBarrier<PipeMode::MTE3_MODE> g(z, 3, 6); d.SetValue(0, (int32_t)g.GetWorkspaceLen());"),
        frame=VECTOR_FRAME.replace("    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n", ""), alone=True),
    Family("allocator", "float", "int32_t", rows(
        "int32_t", "LocalMemAllocator of UB | LocalMemAllocator<Hardware::UB> m; m.Alloc<half, 5>(); zGm.SetValue(0, (int32_t)m.GetCurAddr()); "
        "zGm.SetValue(2, (int32_t)m.Alloc<float, 9>().GetPosition() - (int32_t)TPosition::VECCALC + 10); zGm.SetValue(1, (int32_t)m.GetCurAddr());"),
        frame=_STATIC),
    Family("last_store", "float", "int32_t", rows("int32_t", "SetValue to GM without a clean | for (int i = 0; i < 32; ++i) { zGm.SetValue(i, 100 + i); }"), frame=_LAST),
    Family("long_copies", "float", "float", (Call("copies from multiples of 512 B", "start = 0;"), Call("copies from 32 B behind", "start = 8;")), "plain", _LONG, size=16 * 8192 + 128),
    Family("float_probes", "float", "float", rows(
        "float", "DataCopyPad after SetPadValue | SetPadValue(5.0f); DataCopyPad(d, xGm, DataCopyExtParams{3, 20, 12, 0, 0}, DataCopyPadExtParams<float>{false, 0, 0, 0});",
        "Compare to the register, half a repeat | Compare(a, b, CMPMODE::LT, 32, {1, 1, 1, 8, 8, 8}); PipeBarrier<PIPE_V>(); GetCmpMask(d);",
        "GetReduceMaxMinCount | WholeReduceMax(d, a, 64, 4, 1, 1, 8); PipeBarrier<PIPE_ALL>(); float v = 0, at = 0; GetReduceMaxMinCount<float>(v, at); d.SetValue(16, v); d.SetValue(17, at);",
        "GatherMask of 300 repeats | uint64_t n; GatherMask(tmp, a, 1, true, 8, {1, 300, 0, 0}, n); PipeBarrier<PIPE_ALL>(); "
        "DataCopy(d, tmp[960], 240); PipeBarrier<PIPE_ALL>(); d.SetValue(255, (float)n);",
        "ReduceSum of 4100 repeats | Duplicate(a, 1.0f, 64); PipeBarrier<PIPE_V>(); ReduceSum(d, a, tmp, 64, 4100, 0);",
        "ReduceSum read at once | ReduceSum(d, a, tmp, 64); d.SetValue(8, d.GetValue(0));",
        "DataSyncBarrier SEQ | for (int i = 0; i < 8; ++i) { d.SetValue(i, 2.0f); } DataSyncBarrier<MemDsbT::SEQ>(); d.SetValue(8, d.GetValue(0));",
        "Add of one source twice <T> | Add(d, a, a, N);",
        "Sort32 from a start of 32 B | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(d, a[8], i[8], 2);",
        f"Tanh of 5 elements <T> | {_TMP}Tanh(d, a, w, 5);"), "plain"),
    Family("float_special_probes", "float", "float", rows(
        "float", f"ClampMax of NaN <T> | {_TMP}ClampMax(d, a, w, 2.0f, N);", f"ClampMin of NaN <T> | {_TMP}ClampMin(d, a, w, -2.0f, N);", f"Power <T> | {_TMP}Power(d, a, b, w, N);",
        f"Power of a negative base <T> | {_TMP}Power(d, a, 3.0f, w, N);",
        "Sort with NaN | LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); LocalTensor<float> w = tmp[1024]; Sort<float, true>(d, a, i, w, 4);")),
    Family("half_probes", "half", "half", rows(
        "half", f"Tanh of 5 elements <T> | {_TMP}Tanh(d, a, w, 5);", "Muls beyond 65504 <T> | Muls(d, a, (half)1000, N);"), "plain"),
    Family("half_int4", "half", "int8_t", rows("half", "Cast half to int4b_t | LocalTensor<int4b_t> q = d.ReinterpretCast<int4b_t>(); Cast(q, a, RoundMode::CAST_RINT, N);"), "small"),
    Family("int16_deq", "int16_t", "int8_t", rows(
        "int16_t", "CastDeq int16_t to int8_t | SetDeqScale(0.5f, 1, true); CastDeq<int8_t, int16_t, false, false>(d, a, N / 2);")),
    Family("int32_probes", "int32_t", "int32_t", rows(
        "int32_t", f"Power <T> overflows | {_TMP}Power(d, a, 3, w, N);", f"Power <T> of a negative exponent | {_TMP}Power(d, a, -1, w, N);")),
    Family("merge_counts", "float", "int32_t", (Call(
        "MrgSort counts", "LocalTensor<uint32_t> i = b.ReinterpretCast<uint32_t>(); Sort32(tmp, a, i, 2); PipeBarrier<PIPE_ALL>(); uint16_t counts[4] = {32, 32, 0, 0}; "
        "uint32_t taken[4] = {77, 77, 77, 77}; MrgSortSrcList<float> list(tmp, tmp[64], tmp, tmp); MrgSort<float>(tmp[1024], list, counts, taken, 3, 1); "
        "for (int k = 0; k < 4; ++k) { d.SetValue(k, (int32_t)taken[k]); }"),), "ordered"),
    Family("idle_calls", "half", "half", (Call(
        "Mmad on a vector core", "LocalTensor<half> l0a(TPosition::A2, 0, 256), l0b(TPosition::B2, 0, 256); LocalTensor<float> l0c(TPosition::CO1, 0, 256); MmadParams p; p.m = 16; p.n = 16; "
        "p.k = 16; Mmad(l0c, l0a, l0b, p); PipeBarrier<PIPE_ALL>(); DataCopy(d, a, N);"),), "plain"),
)
