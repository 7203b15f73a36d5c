"""Every API has a ruler, a test and a row; what a chip lacks says so; the coverage of a use count is counted honestly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import helpers as hp
from helpers.twin import api_table, coverage, elsewhere, rulers

CPP = Path(__file__).parent / "cpp"


def test_every_function_stands_under_a_ruler_with_a_contract():
    assert api_table.without_ruler() == []
    assert api_table.without_contract() == []


def test_every_api_has_a_test():
    assert api_table.without_test() == []


def test_every_api_has_a_row():
    rows = api_table.rows()
    assert {r[0] for r in rows} == {a.name for a in rulers.apis()} and len(rows) == len(rulers.apis())
    by_name = {r[0]: r for r in rows}
    assert by_name["Add"][2:4] == ("exact", "A2/A3, 310P") and by_name["Add"][4] == "00_start_here"
    assert by_name["Tanh"][2] == "approximation" and by_name["Sort32"][3] == "A2/A3"
    assert by_name["Clamp"][2].startswith("not modelled: ClampMin") and by_name["Clamp"][3] == "-"
    header, line = by_name["Add"][1].split(":")
    assert "// ---- Add" in (rulers.INCLUDE / header).read_text().splitlines()[int(line) - 1]
    assert api_table.markdown("Sum").count("\n") == 2 + sum("sum" in r[0].lower() for r in rows)


def test_a_header_without_ruler_or_test_is_noticed(monkeypatch, tmp_path):
    include = tmp_path / "include"
    (include / "twin").mkdir(parents=True)
    (include / "kernel_operator.h").write_text("#pragma once\n")
    (include / "twin" / "vec_new.h").write_text("namespace AscendC {\n// ---- Named\n// says something\ninline void Named(int a) {}\ninline int Forgotten(int a) { return a; }\n"
                                                "// ---- Bare\ninline void Bare() {}\n}\n")
    monkeypatch.setattr(rulers, "INCLUDE", include)
    for function in (rulers.apis, rulers.declared):
        function.cache_clear()
    try:
        assert [n.split()[0] for n in api_table.without_ruler()] == ["Forgotten"]
        assert [n.split()[0] for n in api_table.without_contract()] == ["Bare"]
        monkeypatch.setattr(api_table, "tested_words", lambda: frozenset({"Named"}))
        assert [n.split()[0] for n in api_table.without_test()] == ["Bare"]
    finally:
        for function in (rulers.apis, rulers.declared):
            function.cache_clear()


# Calls of names that another chip has; the message comes from the header.
def test_names_of_other_chips_say_what_to_use():
    absent = [a for a in rulers.apis() if a.instead]
    assert len(absent) > 30
    head = '#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {\n    LocalTensor<float> t;\n'
    for at in range(0, len(absent), 15):                   # a compiler stops after some errors
        some = absent[at:at + 15]
        with pytest.raises(hp.CompileError) as e:
            hp.compile(head + "\n".join(f"    {a.name}(t, t, 1);" for a in some) + "\n}\n")
        for api in some:
            assert re.search(rf"UNSUPPORTED_API: {api.name} .*(A2|chip).*Fix: {re.escape(api.instead[:20])}", e.value.log), api.name
        assert some[0].name in e.value.findings[0].message and e.value.findings[0].line == 5


def test_the_surface_of_the_high_level_api():
    k = hp.compile(CPP / "surface_adv.cpp", include=(CPP,))
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    k[1](x, y)
    assert np.all(y[:4] == 0.5)


def test_functions_of_a_kernel_keep_their_names():
    """A kernel's own Clamp, Ceil, Sum … are not touched by those of the library."""
    own = "\n".join(f"template <typename T> T {n}(T a, T b, T c) {{ return a + b + c; }}\ninline int {n}(int a, long b) {{ return a - int(b); }}" for n in ("Clamp", "Fma", "Where", "Sum", "Ceil", "Floor", "Hypot"))
    text = ('#include "kernel_operator.h"\nusing namespace AscendC;\n' + own + '\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {\n    int a = 1; long b = 2;\n    '
            + " ".join(f"a += {n}(a, b) + {n}(1, 2, 3);" for n in ("Clamp", "Fma", "Where", "Sum", "Ceil", "Floor", "Hypot")) + "\n}\n")
    assert hp.compile(text).signature


# ----- coverage
TABLE = """# a comment
api	files	occurrences	sc_files	sc_occurrences	kind
Add	100	200	10	20	function
Tanh	50	60	5	6	function
.EnQue	40	40	4	4	member
RegTensor	30	30	0	0	type
Clamp	20	20	1	1	function
TYPE	9	9	0	0	type
NoSuchName	8	8	0	0	other
Rare	2	2	0	0	other
"""


def test_coverage_of_a_table(tmp_path, capsys):
    path = tmp_path / "uses.tsv"
    path.write_text(TABLE)
    judged = {j.use.name: j for j in coverage.judge(coverage.read(path))}
    assert (judged["Add"].group, judged["Add"].state) == ("memory-based vector", "there")
    assert (judged["Tanh"].group, judged["Tanh"].state) == ("high-level", "approximation")
    assert (judged[".EnQue"].group, judged[".EnQue"].state) == ("queue", "there")
    assert (judged["RegTensor"].group, judged["RegTensor"].state) == ("other chips", "says what to use")
    assert (judged["TYPE"].group, judged["TYPE"].state) == ("kernels' own", "no name of the API")
    assert judged["Clamp"].state == "says what to use" and judged["NoSuchName"].state == "missing"
    assert coverage.share([judged["Add"], judged["NoSuchName"], judged["Clamp"]]) == pytest.approx(100 / 128)
    coverage.main([str(path), "--least", "5"])
    out = capsys.readouterr().out
    assert "NoSuchName 8" in out and "Rare" not in out and "is a high-level call that Atlas A2 does not have; told at compile time: Clamp 20" in out
    assert "other chips, belongs to the register-level API of Ascend 950; told at compile time: RegTensor 30" in out


# A kernel that names another chip's API learns whose it is and what to write, however the name is used.
USES = {"RegTensor": "MicroAPI::RegTensor<float> r;", "MaskReg": "AscendC::MicroAPI::MaskReg m;", "NdDmaParams": "NdDmaParams p;", "GetUintDivMagicAndShift": "uint32_t a, b; GetUintDivMagicAndShift(a, b, 7u);",
        "AtomicAdd": "AtomicAdd((__gm__ int32_t*)x, 1);", "Hccl": "AscendC::Hccl<0> h;", "float8_e4m3_t": "LocalTensor<float8_e4m3_t> t;",
        "SortConfig": "constexpr SortConfig c{};", "MakeFrameLayout": "auto l = MakeFrameLayout<int>(1);", "BroadCastVecToMM": "LocalTensor<half> t; BroadCastVecToMM(t, t, 1, 1, 0, 0);"}


@pytest.mark.parametrize("name", USES)
def test_a_name_of_another_chip_is_told(name):
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {\n    %s\n}\n' % USES[name]
    with pytest.raises(hp.CompileError) as e:
        hp.compile(text)
    first = e.value.findings[0]
    said = elsewhere.find(name)
    assert first.code == "UNSUPPORTED_API" and first.line == 4 and first.hint == said.instead
    assert name in first.message and said.why in first.message


def test_no_name_is_both_here_and_elsewhere():
    known = rulers.declared()
    names = [n for group in elsewhere.GROUPS[:2] for n, e in elsewhere._by_name().items() if e.group == group]
    assert not [n for n in names if n in known.functions or n in {a.short for a in rulers.apis() if not a.instead}]


def test_a_table_without_its_columns_is_named(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("name\tcount\nAdd\t3\n")
    with pytest.raises(SystemExit, match="api"):
        coverage.read(path)
