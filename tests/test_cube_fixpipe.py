"""Fixpipe: layouts, types, scales and relu against the formulas, written here as plain NumPy."""

import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from cube_kernels import A_2D, B_T_2D, HEAD
from kernel_text import assert_finds

BF16 = ml_dtypes.bfloat16
CASES = {  # mode: destination, quantPre, layout, vector scales
    "float": ("float", "NoQuant", "CFG_ROW_MAJOR", False), "half": ("half", "F322F16", "CFG_ROW_MAJOR", False), "bf16": ("bfloat16_t", "F322BF16", "CFG_ROW_MAJOR", False),
    "int8": ("int8_t", "QF322B8_PRE", "CFG_ROW_MAJOR", False), "uint8": ("uint8_t", "VQF322B8_PRE", "CFG_ROW_MAJOR", True),
    "float-nz": ("float", "NoQuant", "CFG_NZ", False), "half-nz": ("half", "F322F16", "CFG_NZ", False), "int8-nz": ("int8_t", "QF322B8_PRE", "CFG_NZ", False),
    "float-split": ("float", "NoQuant", "CFG_NZ", False),
    "int32": ("int32_t", "NoQuant", "CFG_ROW_MAJOR", False), "deq": ("half", "DEQF16", "CFG_ROW_MAJOR", False), "vdeq": ("half", "VDEQF16", "CFG_ROW_MAJOR", True),
    "req": ("int8_t", "REQ8", "CFG_ROW_MAJOR", False), "vreq": ("uint8_t", "VREQ8", "CFG_ROW_MAJOR", True), "int32-nz": ("int32_t", "NoQuant", "CFG_NZ", False)}
OF_FLOAT = [c for c in CASES if not c.startswith(("int32", "deq", "vdeq", "req", "vreq"))]
OF_INT = [c for c in CASES if c not in OF_FLOAT]
NUMPY = {"float": np.float32, "half": np.float16, "bfloat16_t": BF16, "int8_t": np.int8, "uint8_t": np.uint8, "int32_t": np.int32}


def kernel_text(t, r, w, names):
    branches = []
    for name in names:
        to, quant, layout, vector = CASES[name]
        split = "f.isChannelSplit = true;" if name == "float-split" else ""
        workspace = "words, " if vector else ""
        branches.append(f"case {list(CASES).index(name)}: {{ GlobalTensor<{to}> out; out.SetGlobalBuffer((__gm__ {to}*)c); f.quantPre = QuantMode_t::{quant}; {split} "
                        f"Fixpipe<{to}, {r}, {layout}>(out, cL0, {workspace}f); break; }}")
    return HEAD + f"""
using T = {t};
constexpr uint32_t W = {w}, F = 16 * W;
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR c, uint32_t M, uint32_t N, uint32_t K, int mode, uint32_t stride, int relu, uint64_t word) {{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<uint64_t> sGm;
    aGm.SetGlobalBuffer((__gm__ T*)a);
    bGm.SetGlobalBuffer((__gm__ T*)b);
    sGm.SetGlobalBuffer((__gm__ uint64_t*)scales);
    LocalTensor<T> aL1(TPosition::A1, 0, 131072 / sizeof(T)), bL1(TPosition::B1, 131072, 131072 / sizeof(T)), aL0(TPosition::A2, 0, 65536 / sizeof(T)), bL0(TPosition::B2, 0, 65536 / sizeof(T));
    LocalTensor<uint64_t> words(TPosition::C1, 262144, 256);
    LocalTensor<{r}> cL0(TPosition::CO1, 0, 32768);
    const uint32_t M1 = Up(M, 16) / 16, N1 = Up(N, 16) / 16, K1 = Up(K, W) / W;
    DataCopy(words, sGm, Up(N, 4));
    {A_2D}
    {B_T_2D}
    All();
    MmadParams p;
    p.m = M, p.n = N, p.k = K;
    Mmad(cL0, aL0, bL0, p);
    All();
    FixpipeParamsV220 f;
    f.nSize = N, f.mSize = M, f.srcStride = Up(M, 16), f.dstStride = stride, f.reluEn = relu, f.deqScalar = word;
    switch (mode) {{
        {chr(10).join(branches)}
    }}
    All();
}}
"""


@pytest.fixture(scope="module")
def kernels():
    return {"float": hp.compile(kernel_text("float", "float", 8, OF_FLOAT)), "int": hp.compile(kernel_text("int8_t", "int32_t", 32, OF_INT))}


def word_of(scale, offset=0, signed=True, shift=None):
    bits = int(np.float32(scale).view(np.uint32)) | (offset & 511) << 37 | int(signed) << 46
    return bits if shift is None else bits | (shift - 1) << 32 | 1 << 36


def converted(x, name, words, relu):
    """The formulas of the conversion, element by element in NumPy."""
    to, quant = CASES[name][:2]
    kept = np.array([w & 0xFFFFE000 for w in words], np.uint32).view(np.float32)
    offset = np.array([(w >> 37 & 511) - (512 if w >> 45 & 1 else 0) for w in words])
    if quant in ("NoQuant", "F322F16", "F322BF16"):
        return (np.maximum(x, 0) if relu else x).astype(NUMPY[to])
    narrow = np.array([w >> 36 & 1 for w in words], bool)
    shift = np.array([(w >> 32 & 15) + 1 for w in words])
    if x.dtype == np.int32:
        x = np.where(narrow, np.clip(x >> shift, -32768, 32767), x)
    f = x.astype(np.float32) * np.where((x >= 0) | (not relu), kept, np.float32(0)).astype(np.float32)
    if quant.endswith("DEQF16"):
        return np.clip(f, -65504, 65504).astype(np.float16)
    y = np.clip(np.rint(f), -256, 255).astype(np.int64) + offset
    low, high = (-128, 127) if to == "int8_t" else (0, 255)
    return np.clip(y, low, high).astype(NUMPY[to])


def laid_out(m, name, stride, filler):
    rows, cols = m.shape
    if "nz" not in name and name != "float-split":
        out = np.full((rows, stride), filler, m.dtype)
        out[:, :cols] = m
        return out.ravel()[:(rows - 1) * stride + cols]
    width = 8 if name == "float-split" else 32 if m.dtype.itemsize == 1 else 16
    pitch = stride * 32 // m.dtype.itemsize
    groups = -(-cols // width)
    out = np.full(groups * pitch, filler, m.dtype)
    for g in range(groups):
        part = m[:, g * width:(g + 1) * width]
        out[g * pitch:g * pitch + part.size] = part.ravel()
    last = m[:, (groups - 1) * width:].size
    return out[:(groups - 1) * pitch + last]


@pytest.mark.parametrize("name", list(CASES))
def test_conversions_and_layouts(kernels, name):
    to, _, layout, vector = CASES[name]
    rng = np.random.default_rng(list(CASES).index(name))
    for m, n, relu, word in ((33, 48, 0, word_of(0.37, 5)), (17, 80, 1, word_of(0.013, -7, shift=3))):
        if to == "uint8_t":
            word &= ~(1 << 46)
        if layout == "CFG_ROW_MAJOR":
            n -= 5
        if name in OF_FLOAT:
            x = (rng.standard_normal((m, n)) * 100).astype(np.float32)
            a, b = x, np.eye(n, dtype=np.float32)
        else:
            a = rng.integers(-128, 128, (m, 2 * n)).astype(np.int8)
            b = np.concatenate([np.eye(n) * 127, np.eye(n)], 1).astype(np.int8)
            x = a.astype(np.int32) @ b.astype(np.int32).T
        words = [word_of(rng.uniform(0.01, 1), int(rng.integers(-20, 20)), to == "int8_t") for _ in range(n)] if vector else [word] * n
        size = np.dtype(NUMPY[to]).itemsize
        width = 8 if name == "float-split" else 32 if size == 1 else 16
        stride = n + 3 if layout == "CFG_ROW_MAJOR" else -(-m * width * size // 32) + 2
        want = laid_out(converted(x, name, words, relu), name, stride, 7)
        c = np.full(len(want) + 40, 7, NUMPY[to])
        scales = np.zeros(-(-n // 4) * 4, np.uint64)
        scales[:n] = words
        run = kernels["float" if name in OF_FLOAT else "int"][1](a, b, scales, c, np.uint32(m), np.uint32(n), np.uint32(a.shape[1]), list(CASES).index(name), np.uint32(stride), relu, np.uint64(word))
        assert [f for f in run.findings if f.severity != "note"] == []
        np.testing.assert_array_equal(c[:len(want)], want)
        assert np.all(c[len(want):] == 7)                  # not a byte more


STEPS = HEAD + """
#ifndef HALF_OUT
#define HALF_OUT 0
#endif
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    GlobalTensor<half> hGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    if (HALF_OUT) hGm.SetGlobalBuffer((__gm__ half*)c);
    else cGm.SetGlobalBuffer((__gm__ float*)c);
    LocalTensor<half> aL1(TPosition::A1, 0, 1024), bL1(TPosition::B1, 2048, 1024), back(TPosition::A1, 8192, 2048), aL0(TPosition::A2, 0, 1024), bL0(TPosition::B2, 0, 1024);
    LocalTensor<uint64_t> scales(TPosition::C2PIPE2GM, 0, 32);
    LocalTensor<float> cL0(TPosition::CO1, 0, 1024), bias(TPosition::C2, 0, 32);
    DataCopy(aL1, aGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
    DataCopy(bL1, bGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
    All();
    for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], aL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});
    for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});
    All();
    MmadParams p;
    p.m = 32, p.n = 32, p.k = 32;
%s
    All();
}
"""


def operands(seed=3):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-8, 9, (32, 32)).astype(np.float16), rng.integers(-8, 9, (32, 32)).astype(np.float16)
    return a, b, np.zeros((32, 32), np.float32), a.astype(np.float32) @ b.astype(np.float32)


def launch(steps, a, b, c):
    run = hp.compile(STEPS % steps, defines={"HALF_OUT": int(c.dtype == np.float16)})[1](a, b, c)
    assert [f for f in run.findings if f.severity != "note"] == [], [f.message for f in run.findings]
    return run


MMAD = "Mmad(cL0, aL0, bL0, p); All();"


def test_data_copy_from_l0c_and_its_registers():
    a, b, c, want = operands()
    launch(MMAD + "SetFixpipeNz2ndFlag(1, 1, 1); DataCopyCO12DstParams d{32, 32, 32, 32, QuantMode_t::NoQuant, 0, false, true}; DataCopy(cGm, cL0, d);", a, b, c)
    np.testing.assert_array_equal(c, want)
    nz = np.zeros(1024, np.float32)
    launch(MMAD + "DataCopyCO12DstParams d{32, 32, 64, 32, QuantMode_t::NoQuant, 1, false, false}; DataCopy(cGm, cL0, d);", a, b, nz)
    np.testing.assert_array_equal(nz.reshape(2, 32, 16).transpose(1, 0, 2).reshape(32, 32), np.maximum(want, 0))
    text = STEPS % (MMAD + "DataCopyCO12DstParams d{32, 32, 32, 32, QuantMode_t::NoQuant, 0, false, true}; DataCopy(cGm, cL0, d);  // HERE")
    assert_finds("BAD_PARAMETER", text, a, b, c, says="SetFixpipeNz2ndFlag")


def test_names_of_other_generations():
    """Older and low-level spellings of the same calls, and registers without effect here."""
    a, b, c, want = operands()
    launch("""SetMMRowMajor(); SetMMColumnMajor(); SetMMLayoutTransform(false); SetFixPipeClipRelu(0); SetFixPipeAddr(cL0, 0); set_fpc(0);
    LoadData2dParams l; l.repeatTimes = 4; l.srcStride = 1; LoadData(bL0, bL1, l); PipeBarrier<PIPE_MTE1>(); LoadData(bL0, bL1, LoadData2dParams{0, 1, 1, 0, 0, true, 0}); All();
    for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2dParams{0, 2, 2, 0, 0, true, 0});
    All();""" + MMAD + """FixpipeParamsM300 f; f.nSize = 16; f.mSize = 32; f.srcStride = 32; f.dstStride = 32; Fixpipe(cGm, cL0, f);
    FixpipeParamsM310 g = f; Fixpipe(cGm[16], cL0[512], g); All();
    set_nd_para(1 | 1ull << 16 | 1ull << 32); set_quant_pre(0); DataCopyCO12DstParams d{32, 32, 32, 32, QuantMode_t::NoQuant, 0, false, true}; DataCopy(cGm, cL0, d);""", a, b, c)
    np.testing.assert_array_equal(c, want)


def test_two_matrices_of_one_tile():
    a, b, c, want = operands()
    launch(MMAD + """FixpipeParamsV220 f; f.nSize = 16; f.mSize = 16; f.srcStride = 32; f.dstStride = 16; f.ndNum = 2; f.srcNdStride = 1; f.dstNdStride = 256;
        Fixpipe(cGm, cL0, f);""", a, b, c)
    np.testing.assert_array_equal(c.ravel()[:512].reshape(2, 16, 16), want[:, :16].reshape(2, 16, 16))


def test_old_parameters():
    a, b, c, want = operands()
    launch(MMAD + "FixpipeParams<float> f{2, 64, 0, 0}; Fixpipe(cGm, cL0, f);", a, b, c)
    np.testing.assert_array_equal(c.reshape(2, 32, 16).transpose(1, 0, 2).reshape(32, 32), want)
    launch(MMAD + "FixpipeParams<float> f(2, 64, 0, 32); f.nz2ndParams = {true, 1, 0, 0, 30}; Fixpipe(cGm, cL0, f);", a, b, c)
    np.testing.assert_array_equal(c[:, :30], want[:, :30])
    half = np.zeros((64, 32), np.float16)
    launch(MMAD + "FixpipeParams<float> f(2, 64, 0, 32); f.quantParams = QuantParams{QuantMode_t::F322F16}; f.nz2ndParams = Nz2NdParams{true, 1, 0, 0, 32}; Fixpipe(hGm, cL0, f);", a, b, half)
    np.testing.assert_array_equal(half[:32], want.astype(np.float16))


def test_results_go_back_to_l1_and_are_multiplied_again():
    a, b, c, want = operands()
    launch(MMAD + """
    FixpipeParamsV220 f; f.nSize = 32; f.mSize = 32; f.srcStride = 32; f.dstStride = 32; f.quantPre = QuantMode_t::F322F16;
    Fixpipe<half, float, CFG_NZ>(back, cL0, f); All();
    for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], back[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});
    All(); Mmad(cL0, aL0, bL0, p); All();
    FixpipeParamsV220 g(32, 32, 32, 32, false); Fixpipe(cGm, cL0, g);""", a, b, c)
    np.testing.assert_array_equal(c, want.astype(np.float16).astype(np.float32) @ b.astype(np.float32))


def test_atomic_add_into_gm():
    a, b, c, want = operands()
    c[:] = 3
    launch(MMAD + "SetAtomicAdd<float>(); FixpipeParamsV220 f(32, 32, 32, 32, false); Fixpipe(cGm, cL0, f); SetAtomicNone();", a, b, c)
    np.testing.assert_array_equal(c, want + 3)


def test_scales_in_the_fixpipe_buffer():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-99, 99, (32, 32)).astype(np.int8), np.eye(32, dtype=np.int8)
    words = np.array([word_of(0.25 * (i % 4 + 1)) for i in range(32)], np.uint64)
    text = kernel_text("int8_t", "int32_t", 32, ["int32"]).replace("switch (mode)", """
    LocalTensor<uint64_t> table(TPosition::C2PIPE2GM, 0, 32);
    DataCopy(table, words, 32); All(); SetFixPipeConfig(table);
    GlobalTensor<half> out; out.SetGlobalBuffer((__gm__ half*)c);
    SetFixpipeNz2ndFlag(1, 1, 1); DataCopyCO12DstParams d{32, 32, 32, 32, QuantMode_t::VDEQF16, 0, false, true}; DataCopy(out, cL0, d); All();
    SetFixpipePreQuantFlag(word); PipeBarrier<PIPE_FIX>(); d.quantPre = QuantMode_t::DEQF16; DataCopy(out[1024], cL0, d); All();
    if (mode < 0) switch (mode)""")
    c = np.zeros((64, 32), np.float16)
    hp.compile(text)[1](a, b, words, c, np.uint32(32), np.uint32(32), np.uint32(32), -1, np.uint32(32), 0, np.uint64(word_of(0.5)))
    np.testing.assert_array_equal(c[:32], (a * (0.25 * (np.arange(32) % 4 + 1))).astype(np.float16))
    np.testing.assert_array_equal(c[32:], (a * 0.5).astype(np.float16))


WRONG = [
    ("UNSUPPORTED_TYPE", "", "hGm", "quantPre must be F322F16"),
    ("UNSUPPORTED_TYPE", "", "back", "F322F16"),
    ("UNSUPPORTED_TYPE", "f.quantPre = QuantMode_t::REQ8;", "hGm", "F322F16"),
    ("BAD_PARAMETER", "f.dstStride = 0;", "cGm", "row pitch"),
    ("OVERLAP", "f.dstStride = 20;", "cGm", "row pitch"),
    ("BAD_PARAMETER", "f.srcStride = 16;", "cGm", "AlignUp(m, 16) = 32"),
    ("BAD_PARAMETER", "f.unitFlag = 1;", "cGm", "2 (keep the flag) or 3"),
    ("BAD_PARAMETER", "f.isChannelSplit = true;", "cGm", "NZ"),
    ("GM_OUT_OF_BOUNDS", "f.dstStride = 40;", "cGm", "dst"),
]


@pytest.fixture(scope="module")
def wrong():
    """One kernel with every mistake, chosen by number."""
    call = "f.nSize = 32; f.mSize = 32; f.srcStride = 32; f.dstStride = 32; {change} Fixpipe({dst}, cL0, f);"
    cases = "\n".join(f"    if (which == {i}) {{ {call.format(change=change, dst=dst)} }}  // CASE {i} ;" for i, (_, change, dst, _) in enumerate(WRONG))
    text = (STEPS % (MMAD + "FixpipeParamsV220 f;\n" + cases)).replace("GM_ADDR c) {", "GM_ADDR c, int which) {")
    return {half: hp.compile(text, defines={"HALF_OUT": int(half)}) for half in (False, True)}, text


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[f"{code}-{says[:24]}" for code, _, _, says in WRONG])
def test_mistakes_in_the_parameters(wrong, number):
    kernels, text = wrong
    code, _, dst, says = WRONG[number]
    a, b, c, _ = operands()
    half = dst == "hGm"
    with pytest.raises(hp.KernelError) as e:
        kernels[half][1](a, b, c.astype(np.float16) if half else c, number)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if f"// CASE {number} ;" in row)
    found = [f for f in e.value.findings if f.code == code and f.line == line]
    assert found and says in found[0].message + " " + found[0].hint, [(f.code, f.line, f.message) for f in e.value.findings]


def test_more_rows_than_there_are():
    a, b, c, _ = operands()
    text = STEPS % ("p.m = 16; p.n = 16; " + MMAD + "\n FixpipeParamsV220 f(16, 32, 32, 16, false); Fixpipe(cGm, cL0, f);  // HERE")
    assert_finds("UNINITIALISED_READ", text, a, b, c, says="256 of the 32 x 16 elements it takes from L0C were never written by an Mmad")


def test_a_missing_scale_and_a_wrong_sign():
    a, b = np.ones((4, 8), np.float32), np.eye(8, dtype=np.float32)
    text = kernel_text("float", "float", 8, ["int8"]).replace("Fixpipe<int8_t", "/* HERE */ Fixpipe<int8_t")
    k = hp.compile(text)

    def run(word):
        return k[1](a, b, np.zeros(8, np.uint64), np.zeros((4, 8), np.int8), np.uint32(4), np.uint32(8), np.uint32(8), list(CASES).index("int8"), np.uint32(8), 0, np.uint64(word))
    with pytest.raises(hp.KernelError, match="deqScalar"):
        run(0)
    with pytest.raises(hp.KernelError, match="normal number"):
        run(1)                                             # an integer where the bits of a float belong
    assert any("bit 46" in f.message for f in run(word_of(1, signed=False)).findings)
    assert run(word_of(1)).findings == []
