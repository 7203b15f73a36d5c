"""What the twin says about a cube kernel: each missing flag, each wrong size, each wrong layout at its line, and nothing else."""

import numpy as np
import pytest

import helpers as hp
from cube_kernels import HEAD, run_product
from kernel_text import assert_clean, assert_finds

# Two rounds through one set of buffers, every flag by hand; `drop` leaves one event out.
FLAGS = HEAD + """
template <HardEvent e> inline __aicore__ void Pass(int drop) {
    if (drop == static_cast<int>(e)) return;
    SetFlag<e>(EVENT_ID0);
    WaitFlag<e>(EVENT_ID0);
}
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR c, int drop) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    LocalTensor<half> aL1(TPosition::A1, 0, 1024), bL1(TPosition::B1, 2048, 1024), aL0(TPosition::A2, 0, 1024), bL0(TPosition::B2, 0, 1024);
    LocalTensor<float> cL0(TPosition::CO1, 0, 1024);
    MmadParams p;
    p.m = 32, p.n = 32, p.k = 32;
    FixpipeParamsV220 f(32, 32, 32, 32, false);
    for (int t = 0; t < 2; ++t) {
        DataCopy(aL1, aGm[t * 1024], Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});  // COPY
        DataCopy(bL1, bGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
        Pass<HardEvent::MTE2_MTE1>(drop);
        for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], aL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});  // LOAD
        for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});
        Pass<HardEvent::MTE1_MTE2>(drop);
        Pass<HardEvent::MTE1_M>(drop);
        Mmad(cL0, aL0, bL0, p);  // MMAD
        Pass<HardEvent::M_MTE1>(drop);
        Pass<HardEvent::M_FIX>(drop);
        Fixpipe(cGm[t * 1024], cL0, f);  // FIX
        Pass<HardEvent::FIX_M>(drop);
    }
    All();
}
"""
EVENTS = {"MTE2_MTE1": (0, "LOAD", "RAW"), "MTE1_MTE2": (1, "COPY", "WAR"), "MTE1_M": (2, "MMAD", "RAW"), "M_MTE1": (3, "LOAD", "WAR"), "M_FIX": (17, "FIX", "RAW"), "FIX_M": (18, "MMAD", "WAR")}


@pytest.fixture(scope="module")
def flags():
    return hp.compile(FLAGS)


def operands(rows=64):
    rng = np.random.default_rng(5)
    return rng.integers(-8, 9, (rows, 32)).astype(np.float16), rng.integers(-8, 9, (32, 32)).astype(np.float16), np.zeros((rows, 32), np.float32)


def line_of(text, mark):
    return next(i for i, s in enumerate(text.splitlines(), 1) if f"// {mark}" in s)


def test_all_flags_set_is_clean(flags):
    a, b, c = operands()
    assert [f for f in flags[1](a, b, c, -1).findings if f.severity != "note"] == []
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("event", list(EVENTS))
def test_a_missing_flag_is_named(flags, event):
    number, mark, kind = EVENTS[event]
    a, b, c = operands()
    with pytest.raises(hp.KernelError) as e:
        flags[1](a, b, c, number)
    found = [f for f in e.value.findings if f.code == "MISSING_SYNC" and f.line == line_of(FLAGS, mark) and event in f.message]
    assert found and kind in found[0].message and event in found[0].hint, [(f.line, f.message) for f in e.value.findings]


SMALL = HEAD + """
extern "C" __global__ __aicore__ void k(GM_ADDR a, GM_ADDR b, GM_ADDR c) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ half*)a);
    bGm.SetGlobalBuffer((__gm__ half*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    LocalTensor<half> aL1(TPosition::A1, 0, 4096), bL1(TPosition::B1, 8192, 4096), aL0(TPosition::A2, 0, 4096), bL0(TPosition::B2, 0, 4096);
    LocalTensor<float> cL0(TPosition::CO1, 0, 4096), bias(TPosition::C2, 0, 64);
    LocalTensor<half> row(TPosition::C1, 32768, 64);
    MmadParams p;
    p.m = 32, p.n = 32, p.k = 32;
    FixpipeParamsV220 f(32, 32, 32, 32, false);
    DataCopy(aL1, aGm, Nd2NzParams{1, 32, 32, 0, 32, 32, 1, 0});
    DataCopy(bL1, bGm, Nd2NzParams{1, %(rows)d, 32, 0, 32, 32, 1, 0});
    All();
    for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], aL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});
    for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});
    All();
%(body)s
    All();
}
"""


def small(body, rows=32):
    return SMALL % dict(body=body, rows=rows)


def test_a_k_tail_with_holes():
    """B has 30 rows of K; the cube unit is asked for 32."""
    a, b, c = operands(32)
    found = assert_finds("UNINITIALISED_READ", small("Mmad(cL0, aL0, bL0, p);  // HERE", rows=30), a, b, c, says=["B is not loaded at k 30..31", "Fill"])
    assert found.severity == "error"
    assert_clean(small("p.k = 30; Mmad(cL0, aL0, bL0, p);", rows=30), a, b, c)     # the unit masks by k
    zeroed = small("Mmad(cL0, aL0, bL0, p); All(); Fixpipe(cGm, cL0, f);", rows=30).replace("DataCopy(bL1", "Fill(bL1, {1, 128, 0, half(0)}); All(); DataCopy(bL1")
    assert_clean(zeroed, a, b, c)
    np.testing.assert_array_equal(c, a[:, :30].astype(np.float32) @ b[:30].astype(np.float32))


@pytest.mark.parametrize("old, new", [("Mmad(cL0", "p.m = 48; p.k = 30; Mmad(cL0"),                                    # rows that nobody loaded
                                      ("DataCopy(aL1, aGm, Nd2NzParams{1, 32, 32, 0, 32, 32", "DataCopy(aL1, aGm, Nd2NzParams{1, 32, 16, 0, 32, 32"),  # half of K is missing
                                      ("LoadData2DParams{0, 2, 2, 0, 0, true, 0}", "LoadData2DParams{0, 1, 2, 0, 0, true, 0}")])       # fractals of some columns
def test_only_a_rounded_k_is_answered_by_the_real_k(old, new):
    """Fractals in the wrong places leave holes too: another k would hide them, and be wrong."""
    a, b, c = operands(32)
    text = small("Mmad(cL0, aL0, bL0, p);  // HERE").replace(old, new)
    assert "pass the real K" not in assert_finds("UNINITIALISED_READ", text, a, b, c).hint


WRONG = [
    ("UB_OVERFLOW", "LocalTensor<half> big(TPosition::A2, 0, 40000);", "A2"),
    ("OUT_OF_BOUNDS", "LoadData(aL0[3840], aL1, LoadData2DParams{0, 2, 1, 0, 0, false, 0});", "dst"),
    ("OUT_OF_BOUNDS", "LoadData(aL0, aL1, LoadData2DParams{15, 2, 1, 0, 0, false, 0});", "src"),
    ("OUT_OF_BOUNDS", "p.m = 160; Mmad(cL0, aL0, bL0, p);", "A takes 160 x 32 half"),
    ("UB_OVERFLOW", "LocalTensor<float> all(TPosition::CO1, 0, 32768); LocalTensor<half> x(TPosition::A2, 0, 32768); p.m = 256; p.n = 144; p.k = 16; Mmad(all, x, bL0, p);", "147456 B of L0C, only 131072 exist"),
    ("MISALIGNED", "LoadData(aL0[16], aL1, LoadData2DParams{0, 1, 1, 0, 0, false, 0});", "0x20 of L0A, which is not a multiple of 512"),
    ("MISALIGNED", "Mmad(cL0[16], aL0, bL0, p);", "1024"),
    ("WRONG_POSITION", "Mmad(cL0, aL0, aL0, p);", "filter must be in L0B (TPosition::B2), and this tensor is in L0A (TPosition::A2)"),
    ("WRONG_POSITION", "LoadData(aL0, bL0, LoadData2DParams{0, 1, 1, 0, 0, false, 0});", "src must be in L1"),
    ("BAD_PARAMETER", "LoadData(aL0, aL1, LoadData2DParams{0, 300, 1, 0, 0, false, 0});", "repeatTimes=300 is outside 0..255; the device would use 44"),
    ("BAD_PARAMETER", "LoadData(aL0.ReinterpretCast<int8_t>(), aL1.ReinterpretCast<int8_t>(), LoadData2DParams{0, 1, 1, 0, 0, true, 0});", "LoadDataWithTranspose"),
    ("BAD_PARAMETER", "p.m = 5000; Mmad(cL0, aL0, bL0, p);", "m=5000"),
    ("BAD_PARAMETER", "p.unitFlag = 1; Mmad(cL0, aL0, bL0, p);", "unitFlag=1"),
    ("BAD_PARAMETER", "MmadParams q(70000, 32, 32, false, 0, false, false, false); Mmad(cL0, aL0, bL0, q);", "the device would use 4464"),
    ("UNINITIALISED_READ", "p.cmatrixInitVal = false; Mmad(cL0, aL0, bL0, p);", "cmatrixInitVal = true for the first step"),
    ("UNINITIALISED_READ", "Mmad(cL0, aL0[1024], bL0, p);", "A is not loaded"),
    ("UNINITIALISED_READ", "p.cmatrixInitVal = false; p.cmatrixSource = true; Mmad(cL0, aL0, bL0, p);", "bias table"),
    ("OVERLAP", "LoadDataWithTranspose(bL0.ReinterpretCast<int8_t>(), bL1.ReinterpretCast<int8_t>(), LoadData2dTransposeParams{0, 2, 1, 0, 0});", "dstGap is at least 1"),
    ("UB_OVERFLOW", "LocalTensor<float> t(TPosition::C2, 512, 128); DataCopy(t, aL1.ReinterpretCast<float>(), 256);", "bias table"),
    ("BAD_PARAMETER", "SetLoadDataBoundary(100);", "1024"),
    ("BAD_PARAMETER", "LoadData3DParamsV2<half> w; w.l1H = 1; w.l1W = 32; w.channelSize = 30; w.kExtension = 16; w.mExtension = 16; LoadData(aL0, aL1, w);", "channelSize = 32"),
    ("OUT_OF_BOUNDS", "LoadData3DParamsV2<half> w; w.l1H = 1; w.l1W = 32; w.channelSize = 32; w.kExtension = 48; w.mExtension = 16; LoadData(aL0, aL1, w);", "kStartPt + kExtension"),
    ("UNSUPPORTED_API", "LoadData(aL0, aL1, LoadData2DParamsV2{0, 0, 1, 1, 1, 1, false, 0});", "LoadData2DParamsV2"),
]


@pytest.fixture(scope="module")
def wrong():
    """One kernel with every mistake, chosen by number."""
    cases = "\n".join(f"    if (which == {i}) {{ {body} }}  // CASE {i} ;" for i, (_, body, _) in enumerate(WRONG))
    text = small(cases).replace("GM_ADDR c) {", "GM_ADDR c, int which) {")
    return hp.compile(text), text


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[f"{code}-{says[:24]}" for code, _, says in WRONG])
def test_one_wrong_thing(wrong, number):
    kernel, text = wrong
    code, _, says = WRONG[number]
    with pytest.raises(hp.KernelError) as e:
        kernel[1](*operands(32), number)
    found = [f for f in e.value.findings if f.code == code and f.line == line_of(text, f"CASE {number} ;")]
    assert found and says in found[0].message + " " + found[0].hint, [(f.code, f.line, f.message, f.hint) for f in e.value.findings]


@pytest.mark.parametrize("text, says", [
    # B is K x N and goes to L0B as it is
    ("for (int i = 0; i < 2; ++i) LoadData(bL0[i * 512], bL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, false, 0});  // HERE", "B was given as K x N|loaded without transposition|ifTranspose"),
    # the fractals of A in the order of L1
    ("LoadData(aL0, aL1, LoadData2DParams{0, 4, 1, 0, 0, false, 0});  // HERE", "order of L1|L0A is ZZ|one LoadData per 16 rows"),
    # the fractals of B in the order of L1
    ("LoadData(bL0, bL1, LoadData2DParams{0, 4, 1, 0, 0, true, 0});  // HERE", "order of L1|L0B is ZN"),
    # A is M x K and is transposed all the same
    ("for (int i = 0; i < 2; ++i) LoadData(aL0[i * 512], aL1[i * 256], LoadData2DParams{0, 2, 2, 0, 0, true, 0});  // HERE", "A was given as M x K|ifTranspose"),
])
def test_a_wrong_fractal_layout(text, says):
    a, b, c = operands(32)
    found = assert_finds("BAD_PARAMETER", small(text + "\n All(); Mmad(cL0, aL0, bL0, p);"), a, b, c, says=[s.replace("B was", "it was").replace("A was", "it was") for s in says.split("|")])
    assert "Mmad at line" in found.message


def test_sizes_tell_the_layout_where_fractals_do_not():
    """One fractal: only the 16 x 12 of the copy says that B is K x N."""
    a, b, c = np.ones((16, 16), np.float16), np.ones((16, 12), np.float16), np.zeros((16, 12), np.float32)
    body = """
    DataCopy(bL1[2048], bGm, Nd2NzParams{1, 16, 12, 0, 12, 16, 1, 0}); All();
    LoadData(bL0[2048], bL1[2048], LoadData2DParams{0, 1, 1, 0, 0, %s, 0});  // HERE
    All(); p.m = 16; p.n = 12; p.k = 16; Mmad(cL0, aL0, bL0[2048], p);"""
    big = np.ones((32, 32), np.float16)
    assert_finds("BAD_PARAMETER", small(body % "false"), big, big, c, says="K x N (16 x 12")
    assert_clean(small(body % "true"), big, big, np.zeros((16, 12), np.float32))
    assert a.shape and b.shape


def test_steps_over_k_on_a_small_tile_need_a_barrier():
    a, b, c = operands(32)
    steps = "Mmad(cL0, aL0, bL0, p); p.cmatrixInitVal = false; %s Mmad(cL0, aL0, bL0, p);  // HERE"
    found = assert_finds("MISSING_SYNC", small(steps.replace("; p.cm", ";\n p.cm") % ""), a, b, c, severity="warning", says="PipeBarrier<PIPE_M>()")
    assert "= 4 is below 10" in found.message
    assert_clean(small(steps % "PipeBarrier<PIPE_M>();" + "\n All(); Fixpipe(cGm, cL0, f);"), a, b, c)
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)))


UNIT = "p.unitFlag = 2; Mmad(cL0, aL0, bL0, p); PipeBarrier<PIPE_M>(); p.cmatrixInitVal = false; p.unitFlag = 3; Mmad(cL0, aL0, bL0, p);\n f.unitFlag = 3; Fixpipe(cGm, cL0, f);\n"


def test_unit_flags_take_the_place_of_events():
    a, b, c = operands(32)
    want = a.astype(np.float32) @ b.astype(np.float32)
    run = assert_clean(small(UNIT + "p.cmatrixInitVal = true; p.unitFlag = 3; Mmad(cL0, aL0, bL0, p); Fixpipe(cGm, cL0, f);"), a, b, c)
    np.testing.assert_array_equal(c, want)
    name = {n: i for i, n in enumerate(run.ops)}
    mmad, fix = (run.events[run.events["op"] == name[n]] for n in ("Mmad", "Fixpipe"))
    assert fix["start"][0] >= mmad["end"][1] and mmad["start"][2] >= fix["end"][0] and fix["start"][1] >= mmad["end"][2]    # they wait in the estimate too
    c[:] = 0
    assert_clean(small(UNIT), a, b, c, schedule="lazy")
    np.testing.assert_array_equal(c, 2 * want)


@pytest.mark.parametrize("code, body, says", [
    ("DEADLOCK", "p.unitFlag = 2; Mmad(cL0, aL0, bL0, p);\n f.unitFlag = 3; Fixpipe(cGm, cL0, f);  // HERE", "the last Mmad of the loop over K takes unitFlag 3"),
    ("DEADLOCK", "p.unitFlag = 3; Mmad(cL0, aL0, bL0, p); PipeBarrier<PIPE_M>();\n Mmad(cL0, aL0, bL0, p);  // HERE", "no Fixpipe with unitFlag=3 has emptied"),
    ("MISSING_SYNC", "p.unitFlag = 3; Mmad(cL0, aL0, bL0, p);\n Fixpipe(cGm, cL0, f);  // HERE", "M_FIX"),
])
def test_unit_flags_on_one_side_only(code, body, says):
    a, b, c = operands(32)
    assert_finds(code, small(body), a, b, c, says=says)


def test_bias_through_the_table_and_from_l0c():
    a, b, c = operands(32)
    want = a.astype(np.float32) @ b.astype(np.float32)
    body = """DataCopy(row, aGm, 32); All(); DataCopy(bias, row, 32); All();
    p.cmatrixInitVal = false; Mmad(cL0, aL0, bL0, bias, p); All();
    Mmad(cL0, aL0, bL0, cL0, p); All(); Fixpipe(cGm, cL0, f);"""
    assert_clean(small(body), a, b, c)
    np.testing.assert_array_equal(c, 2 * want + a[0].astype(np.float32))
    body = "DataCopy(row, aGm, 32); All(); DataCopy(bias, row, {1, 1, 0, 0}); All(); p.cmatrixInitVal = false; p.cmatrixSource = true; Mmad(cL0, aL0, bL0, p); All(); Fixpipe(cGm, cL0, f);"
    assert_clean(small(body), a, b, c)                     # 64 B of half are 32 values
    np.testing.assert_array_equal(c, want + a[0].astype(np.float32))
    assert_finds("BAD_PARAMETER", small("DataCopy(row, aGm, 32); All(); DataCopy(bias, row, 32); All();\n Mmad(cL0, aL0, bL0, bias, p);  // HERE"), a, b, c, severity="warning", says="cmatrixInitVal = false")


def test_rows_behind_m_are_nobodys():
    a, b, c = operands(32)
    body = "p.m = 20; Mmad(cL0, aL0, bL0, p); All(); FixpipeParamsV220 g(32, %d, 32, 32, false);\n Fixpipe(cGm, cL0, g);  // HERE"
    assert_finds("UNINITIALISED_READ", small(body % 32), a, b, c, severity="warning", says="behind the m rows")
    assert_clean(small((body % 20).replace("// HERE", "")), a, b, c)


def test_integers_that_do_not_fit_and_infinities():
    rng = np.random.default_rng(1)
    got, want = run_product("int8_t", "2d-bt", 20, 20, 60, rng)
    np.testing.assert_array_equal(got, want)
    big = np.full((32, 32), 60000, np.float16)
    big[3, 4] = np.inf
    found = assert_clean(small("Mmad(cL0, aL0, bL0, p);"), big, big, np.zeros((32, 32), np.float32)).findings
    assert any(f.code == "NUMERIC" and "inf or NaN" in f.message for f in found)
    assert not any(f.code == "NUMERIC" for f in assert_clean(small("Mmad(cL0, aL0, bL0, p);"), *operands(32)).findings)


def test_hf32_rounds_its_inputs():
    before = "SetHF32Mode(HF32Mode::ENABLE); SetHF32TransMode(HF32TransMode::%s);"

    def rounded(x, away):
        u = np.ascontiguousarray(x, np.float32).view(np.uint32)
        return ((u + np.uint32(0x800) if away else u + np.uint32(0x7FF) + ((u >> 12) & 1)) & np.uint32(0xFFFFF000)).view(np.float32)
    for mode, away in (("NEAREST_EVEN", False), ("NEAREST_ZERO", True)):
        rng = np.random.default_rng(0)
        got, _ = run_product("float", "2d-bt", 20, 24, 40, rng, before % mode)
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((20, 40)).astype(np.float32), rng.standard_normal((40, 24)).astype(np.float32)
        np.testing.assert_allclose(got, rounded(a, away).astype(float) @ rounded(b, away).astype(float), rtol=1e-6, atol=1e-6)
        assert np.abs(got - a.astype(float) @ b.astype(float)).max() > 1e-4


def test_one_row_is_a_plain_vector():
    """m == 1 reads A without fractals: 40 elements in a row."""
    a, b, c = operands(32)
    body = """LoadData(aL0, aGm, LoadData2DParams{0, 1, 1, 0, 0, false, 0}); All();
    p.m = 1; p.k = 32; Mmad(cL0, aL0, bL0, p); All(); FixpipeParamsV220 g(32, 1, 16, 32, false); Fixpipe(cGm, cL0, g);"""
    assert_clean(small(body), a, b, c)
    np.testing.assert_array_equal(c[0], a[0].astype(np.float32) @ b.astype(np.float32))


def test_one_row_laid_out_in_fractals():
    """The trap of a decoder: m = 1 with A from Nd2NzParams."""
    a, b, c = operands(32)
    body = """DataCopy(aL1[2048], aGm, Nd2NzParams{1, 1, 32, 0, 32, 16, 1, 0}); All();
    LoadData(aL0, aL1[2048], LoadData2DParams{0, 2, 1, 0, 0, false, 0}); All();
    p.m = %s; Mmad(cL0, aL0, bL0, p);  // HERE
    All(); FixpipeParamsV220 g(32, 1, 16, 32, false); Fixpipe(cGm, cL0, g);"""
    assert_finds("BAD_PARAMETER", small(body % "1"), a, b, c, says="pass m=16")
    assert_finds("UNINITIALISED_READ", small(body % "16"), a, b, c, says="rows 1..15")       # the other rows were never loaded, and count
    zeroed = small(body % "16").replace("DataCopy(aL1[2048]", "Fill(aL1[2048], {1, 32, 0, half(0)}); All(); DataCopy(aL1[2048]")
    assert_clean(zeroed, a, b, c)
    np.testing.assert_array_equal(c[0], a[0].astype(np.float32) @ b.astype(np.float32))
