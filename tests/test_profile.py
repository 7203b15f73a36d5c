"""Folders as the profilers write them, made here by the documented headers: read into runs, compared, advised."""
import csv
import json

import numpy as np
import pytest

import helpers as hp
from helpers.profile import ProfileError, advise, write_profile
from helpers.run import PIPES, Run
from helpers.views.chrome_trace import chrome_trace
from helpers.views.host_lanes import steps
from helpers.views.profile_table import pipe_shares

PIPE_HEAD = ("block_id,sub_block_id,aic_time(us),aic_total_cycles,aic_cube_time(us),aic_cube_ratio,aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,"
             "aic_fixpipe_time(us),aic_fixpipe_ratio,aic_icache_miss_rate,aic_scalar_time(us),aic_scalar_ratio,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,"
             "aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte2_active_bw(GB/s),aiv_mte3_time(us),aiv_mte3_ratio,aiv_mte3_active_bw(GB/s),aiv_icache_miss_rate,aiv_scalar_time(us),aiv_scalar_ratio")
NA_AIC, NA_AIV = ",".join(["NA"] * 13), ",".join(["NA"] * 13)


def vector_row(block, time=100.0, vec=20.0, mte2=90.0, mte3=40.0, scalar=5.0, miss=0.01):
    return (f"{block},vector0,{NA_AIC},{time},{round(time * 1850)},{vec},{vec / time},{mte2},{mte2 / time},50.0,{mte3},{mte3 / time},30.0,{miss},{scalar},{scalar / time}")


def cube_row(block, time=100.0):
    return f"{block},cube0,{time},{round(time * 1850)},80,0.8,30,0.3,60,0.6,10,0.1,0.0,5,0.05,{NA_AIV}"


def op_folder(root, rows, duration=105.0, name="add_custom", memory=True, conflict=None):
    folder = root / "OPPROF_20250101000000_ABC"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "PipeUtilization.csv").write_text("\n".join([PIPE_HEAD, *rows]) + "\n")
    (folder / "OpBasicInfo.csv").write_text("Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq\n"
                                            f"{name},vector,{duration},{len(rows)},{len(rows)},0,77,1800,1850\n")
    if memory:
        (folder / "Memory.csv").write_text("block_id,sub_block_id,aiv_time(us),read_main_memory_datas(KB),write_main_memory_datas(KB),GM_to_UB_datas(KB),GM_to_UB_bw_usage_rate(%),UB_to_GM_datas(KB)\n"
                                           + "".join(f"{i},vector0,100,1024,512,1024,9.5,512\n" for i in range(len(rows))))
        (folder / "L2Cache.csv").write_text("block_id,sub_block_id,aiv_time(us),aiv_total_hit_rate(%)\n0,vector0,100,40\n1,vector0,100,60\n")
        (folder / "MemoryUB.csv").write_text("block_id,sub_block_id\n0,vector0\n")
    if conflict is not None:
        (folder / "ResourceConflictRatio.csv").write_text(f"block_id,sub_block_id,aiv_vec_bank_cflt_ratio,aiv_vec_bankgroup_cflt_ratio\n0,vector0,{conflict},NA\n")
    return folder


# ---- msprof op
def test_a_folder_of_one_kernel(tmp_path):
    found = hp.profile(op_folder(tmp_path, [vector_row(0), vector_row(1, time=80.0, mte2=70.0)]))
    run = found.run()
    assert found.kind == "msprof op" and repr(found) == "msprof op: 1 launch of add_custom"
    assert (run.name, run.blocks, run.time_us, run.origin) == ("add_custom", 2, 105.0, "measured (msprof op)")
    np.testing.assert_allclose(run.core_end, [100e3, 80e3])
    assert run.busy[0, PIPES.index("MTE2")] == 90e3 and run.busy[1, PIPES.index("V")] == 20e3
    assert run.pipes["AIV"]["MTE2"] == pytest.approx((90 + 70) / 2 / 100) and set(run.pipes) == {"AIV"}
    assert run.totals["launch_ns"] == pytest.approx(5e3) and run.totals["gm_read_bytes"] == 2 << 20 and run.totals["hbm_bytes"] == 3 << 20
    assert run.totals["l2_hit_rate"] == pytest.approx(0.5) and run.totals["clock_mhz"] == 1800
    text = str(run.report())
    assert "measured (msprof op)" in text and "MTE2" in text and "guessed" not in text
    with pytest.raises(hp.WorkbookError, match="no timeline"):
        run.timeline()


def test_cube_and_vector_cores_and_old_files(tmp_path):
    run = hp.profile(op_folder(tmp_path, [cube_row(0), vector_row(0), vector_row(0)], memory=False) / "PipeUtilization.csv").run("add")
    assert set(run.pipes) == {"AIC", "AIV"} and run.pipes["AIC"]["M"] == pytest.approx(0.8)
    assert "hbm_bytes" not in run.totals


def test_the_310p_form_has_cube_columns_only(tmp_path):
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "PipeUtilization_20250101.csv").write_text("aic_time(us),aic_total_cycles,aic_vec_time(us),aic_vec_ratio,aic_mte2_time(us),aic_mte2_ratio\n50,54000,30,0.6,45,0.9\n")
    run = hp.profile(folder, chip="Ascend310P3").run()
    assert run.time_us == 50 and run.pipes["AIC"] == pytest.approx({"V": 0.6, "MTE2": 0.9})


def test_several_kernels_below_one_folder(tmp_path):
    op_folder(tmp_path / "OPPROF/add/0", [vector_row(0)], name="add")
    op_folder(tmp_path / "OPPROF/mul/0", [vector_row(0)], duration=300, name="mul")
    found = hp.profile(tmp_path)
    assert sorted(r.name for r in found.runs) == ["add", "mul"] and found.run().name == "mul"
    with pytest.raises(ProfileError, match="no kernel sub; kernels: add, mul"):
        found.run("sub")


# ---- msprof
SUMMARY = """Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim,Mix Block Dim,Input Shapes,aicore_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate
0,4294967295,2,3,mul_custom,Mul,dynamic,AI_VECTOR_CORE,1000.5,12.0,40.0,8,0,"""
SUMMARY += """"8,2048;8,2048",0,0,10.0,18500,2.0,0.2,0.5,0.05,9.0,0.9,4.0,0.4,0.001
0,4294967295,1,3,add_custom,Add,dynamic,AI_VECTOR_CORE,900.5,6.0,1.0,48,0,"8,2048",N/A,N/A,2.0,3700,1.8,0.9,0.5,0.2,0.4,0.2,0.4,0.2,0.09
"""


def test_a_whole_application(tmp_path):
    folder = tmp_path / "PROF_000001_20250101_X/mindstudio_profiler_output"
    folder.mkdir(parents=True)
    (folder / "op_summary_20250101.csv").write_text(SUMMARY)
    found = hp.profile(tmp_path)
    assert found.kind == "msprof" and [r.name for r in found.runs] == ["add_custom", "mul_custom"]      # by start
    mul = found.run("mul_custom")
    assert (mul.blocks, mul.time_us, mul.totals["wait_us"], mul.origin) == (8, 12.0, 40.0, "measured (msprof)")
    assert mul.pipes["AIV"]["MTE2"] == pytest.approx(0.9)
    assert [a.bound for a in found.advise("mul_custom")] == ["host", "copies"]
    assert [a.bound for a in found.advise("add_custom")] == ["launch", "vector", "icache"]
    table = str(found.table())
    assert "mul_custom" in table and "40.00" in table and "MTE2 90 %" in table
    assert hp.profile(folder / "op_summary_20250101.csv").runs[0].name == "add_custom"
    lesson = hp.profile(tmp_path, origin="made up")
    assert {r.origin for r in lesson.runs} == {"made up"} and "measured" not in str(lesson.table())


# ---- simulator
def simulator_events():
    return [{"ph": "M", "name": "process_sort_index", "pid": "core0.veccore0", "args": {"sort_index": 1}},
            {"ph": "X", "name": "MOV_OUT_TO_UB", "cname": "x", "pid": "core0.veccore0", "tid": "MTE2", "ts": 10.0, "dur": 2.0, "args": {"code": "/home/u/add.cpp:31", "pc": "0x10"}},
            {"ph": "X", "name": "VADD", "pid": "core0.veccore0", "tid": "VECTOR", "ts": 12.0, "dur": 0.5, "args": {"code": "add.cpp:40"}},
            {"ph": "X", "name": "VADD", "pid": "core10.veccore1", "tid": "VECTOR", "ts": 13.0, "dur": 0.5, "args": {}},
            {"ph": "X", "name": "MMAD", "pid": "core2.cubecore0", "tid": "CUBE", "ts": 12.0, "dur": 1.5, "args": {}},
            {"ph": "X", "name": "ICMISS", "pid": "core0.veccore0", "tid": "CACHEMISS", "ts": 10.0, "dur": 9.0},
            {"ph": "s", "id": 1, "name": "flag", "pid": "core0.veccore0", "tid": "MTE2", "ts": 12.0}]


def test_a_trace_of_the_simulator(tmp_path):
    folder = tmp_path / "OPPROF_1/simulator"
    folder.mkdir(parents=True)
    (folder / "trace.json").write_text(json.dumps({"traceEvents": simulator_events()}))
    (folder / "core0.veccore0").mkdir()
    (folder / "core0.veccore0/trace.json").write_text(json.dumps({"traceEvents": []}))
    run = hp.profile(tmp_path).run()
    assert run.origin == "simulated (msprof op simulator)" and run.time_us == pytest.approx(3.5)
    assert [(int(e["core"]), int(e["block"]), int(e["sub"])) for e in run.events[np.argsort(run.events["core"], kind="stable")]] == [(0, 0, 0), (0, 0, 0), (1, 2, 0), (2, 10, 1)]
    first = run.events[0]
    assert (run.ops[first["op"]], PIPES[first["pipe"]], first["line"], first["start"], first["end"]) == ("MOV_OUT_TO_UB", "MTE2", 31, 0.0, 2000.0)
    assert run.busy[0, PIPES.index("V")] == pytest.approx(500) and set(run.pipes) == {"AIV", "AIC"}
    assert "simulated" in str(run.timeline())


def test_a_trace_of_the_twin_comes_back_as_it_was(tmp_path):
    kernel = hp.compile(COPY)
    run = kernel[2](np.arange(512, dtype=np.float16), np.zeros(512, np.float16))
    chrome_trace(run, tmp_path / "trace.json")
    again = hp.profile(tmp_path, kernel=kernel).run()
    assert again.origin == "estimate (Ascend910B1), read from a file" and again.name == run.name
    np.testing.assert_allclose(np.sort(again.events["end"]), np.sort(run.events["end"]), atol=0.2)
    np.testing.assert_allclose(again.busy.sum(axis=0), run.busy.sum(axis=0), rtol=0.02, atol=1)
    assert set(again.events["line"]) == set(run.events["line"])
    assert again.hot_lines()


COPY = r'''#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void copy_twice(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TQueBind<QuePosition::VECIN, QuePosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 2, 512);
    GlobalTensor<half> a, b;
    a.SetGlobalBuffer((__gm__ half*)x + 256 * GetBlockIdx(), 256);
    b.SetGlobalBuffer((__gm__ half*)y + 256 * GetBlockIdx(), 256);
    LocalTensor<half> t = queue.AllocTensor<half>();
    DataCopy(t, a, 256);
    queue.EnQue(t);
    t = queue.DeQue<half>();
    DataCopy(b, t, 256);
    queue.FreeTensor(t);
}
'''


# ---- the twin's own files, and the comparison
def test_an_estimate_in_the_files_of_the_profiler_says_so(tmp_path):
    run = hp.compile(COPY)[2](np.arange(512, dtype=np.float16), np.zeros(512, np.float16))
    again = hp.profile(write_profile(run, tmp_path / "OPPROF_e")).run()
    assert again.origin == "estimate (Ascend910B1), read from files" and again.blocks == 2
    assert again.time_us == pytest.approx(run.time_us, rel=1e-4)
    np.testing.assert_allclose(again.busy, run.busy, rtol=1e-4, atol=0.01)
    assert again.totals["gm_read_bytes"] == pytest.approx(1024) and again.totals["gm_write_bytes"] == pytest.approx(1024)
    measured = Run("copy_twice", 2, run.chip, "measured (msprof op)", "", time_us=1.0)
    with pytest.raises(ProfileError, match="Only an estimate"):
        write_profile(measured, tmp_path / "no")


def test_beside_the_estimate(tmp_path):
    estimate = hp.compile(COPY)[2](np.arange(512, dtype=np.float16), np.zeros(512, np.float16))
    found = hp.profile(op_folder(tmp_path, [vector_row(0), vector_row(1)]))
    page = found.against(estimate)
    rows = {r[0]: r[1:] for r in page.data}
    assert "measured (msprof op)" in str(page) and "estimate (Ascend910B1)" in str(page)
    assert rows["time us"] == ["105.00", f"{estimate.time_us:.2f}", f"{estimate.time_us / 105.0:.2f}"]
    assert rows["AIV MTE2 busy us"][0] == "90.00" and rows["GM read KB"] == ["2,048.00", "1.00", "0.00"]


# ---- advice
def made(time=100.0, launch=5.0, busy=None, ends=(95.0, 95.0), chip="Ascend910B1", **totals):
    table = np.zeros((len(ends), len(PIPES)))
    for pipe, share in (busy or {}).items():
        table[:, PIPES.index(pipe)] = [share * e * 1e3 for e in ends]
    return Run("k", len(ends), hp.chip(chip), "measured (test)", "", time_us=time, busy=table, core_end=np.array(ends) * 1e3, totals={"launch_ns": launch * 1e3, **totals})


@pytest.mark.parametrize("run, bounds", [
    (made(busy={"MTE2": 0.95}, hbm_bytes=150e6), ["bandwidth"]), (made(busy={"MTE2": 0.95}, hbm_bytes=15e6), ["copies"]), (made(busy={"V": 0.9}), ["vector"]), (made(busy={"M": 0.9}), ["cube"]),
    (made(busy={"S": 0.995}), ["scalar"]), (made(busy={"V": 0.4, "MTE2": 0.5}), ["waiting"]), (made(busy={"MTE1": 0.9}), ["copies"]), (made(launch=60, busy={"V": 0.9}), ["launch", "vector"]),
    (made(busy={"V": 0.9}, wait_us=80.0), ["host", "vector"]), (made(busy={"V": 0.9}, vec_bank_conflict=0.3), ["vector", "banks"]), (made(busy={"V": 0.9}, icache_miss=0.2), ["vector", "icache"]),
    (made(busy={"V": 0.9}, ends=(95.0, 30.0, 30.0)), ["waiting", "cores"]), (made(busy={}), [])])
def test_advice_names_the_bound(run, bounds):
    found = advise(run)
    assert [a.bound for a in found] == bounds
    assert all(a.seen and a.change for a in found) and (str(found).startswith("1. ") if bounds else str(found) == "Nothing stands out.")


# ---- pictures
def test_busy_shares_are_the_runs_own():
    runs = {"v1": made(busy={"MTE2": 0.9, "V": 0.1}), "v4": made(busy={"MTE2": 0.95, "V": 0.05})}
    picture = pipe_shares(runs)
    assert picture.data["v1"] == pytest.approx({"MTE2": 0.9, "V": 0.1}) and "measured (test)" in str(picture)


def test_lanes_show_a_launch_running_at_the_sync():
    class Program:
        origin = "estimate (x)"
        calls = [{"call": "aclInit", "code": 0, "line": 1, "stream": -1, "what": ""}, {"call": "launch", "code": 0, "line": 2, "stream": 1, "what": "add"},
                 {"call": "aclrtSynchronizeStream", "code": 0, "line": 3, "stream": 1, "what": ""}]
    found = steps(Program)
    assert [(r["step"], r["lane"], r["name"]) for r in found] == [(0, "host", "aclInit"), (1, "host", "add"), (2, "host", "aclrtSynchronizeStream"), (2, 1, "add")]
    from helpers.views.host_lanes import host_lanes
    assert "add queued at line 2 runs at step 3" in str(host_lanes(Program))


# ---- what is no profile
@pytest.mark.parametrize("name, content, words", [("PipeUtilization.csv", "", "is empty"), ("PipeUtilization.csv", "a,b\n1,2\n", "no file of msprof op"), ("op_summary_1.csv", "a,b\n1,2\n", "no op_summary"),
                                                  ("op_summary_1.csv", 'a,b\n"' + 200_000 * "x", "cannot be read from line"),
                                                  ("trace.json", "[1,", "no trace"), ("trace.json", '{"traceEvents": []}', "no instruction"), ("other.txt", "x", "neither op_summary")])
def test_what_is_no_profile_is_said(tmp_path, name, content, words, request):
    before = csv.field_size_limit(131_072)                      # some packages raise it
    request.addfinalizer(lambda: csv.field_size_limit(before))
    (tmp_path / name).write_text(content)
    with pytest.raises(ProfileError, match=words):
        hp.profile(tmp_path)
    with pytest.raises(ProfileError, match="There is no"):
        hp.profile(tmp_path / "missing")


ROW = "Op Name,Task Duration(us),Task Wait Time(us),Block Dim,aiv_time(us),aiv_vec_time(us)\nrope,{},0.5,8,1.9,0.5\n"
HEAD, LINE = ROW.rstrip().split("\n")
EVENT_ = '[{{"ph": "X", "name": "MOV", "pid": "core0.veccore0", "tid": "MTE2", {}}}]'


@pytest.mark.parametrize("text", ['"4,1"', '"4,100.5"', "fast", "inf"])
def test_text_where_a_number_belongs_is_an_error(tmp_path, text):
    """Of another locale, or of a spreadsheet: it must not become 0 us."""
    (tmp_path / "op_summary_1.csv").write_text(ROW.format(text))
    with pytest.raises(ProfileError, match=r"Task Duration\(us\) holds .* no number"):
        hp.profile(tmp_path)
    (tmp_path / "op_summary_1.csv").write_text(ROW.format("4.1").replace(",0.5,8", ",N/A,8"))
    assert hp.profile(tmp_path).runs[0].time_us == 4.1


def test_a_launch_without_a_time_is_left_out_and_counted(tmp_path):
    file = tmp_path / "op_summary_1.csv"
    file.write_text("\n".join([HEAD, LINE.format("4.1"), LINE.format("N/A").replace("rope", "lost")]))
    found = hp.profile(tmp_path)
    assert [r.name for r in found.runs] == ["rope"] and repr(found) == "msprof: 1 launch of rope; 1 launch without a time left out"
    assert "1 launch without a time left out" in str(found.table()) and "lost" not in str(found.table())
    file.write_text("\n".join([HEAD, LINE.format("4.1")]))
    assert "left out" not in repr(hp.profile(tmp_path)) and "left out" not in str(hp.profile(tmp_path).table())
    file.write_text("\n".join([HEAD, LINE.format("N/A")]))
    with pytest.raises(ProfileError, match=r"only launches without a time \(1\)"):
        hp.profile(tmp_path)


def test_files_with_nothing_but_a_head(tmp_path):
    (tmp_path / "op_summary_1.csv").write_text(HEAD + "\n")
    with pytest.raises(ProfileError, match="a head and no launch"):
        hp.profile(tmp_path)
    folder = op_folder(tmp_path / "op", [])
    with pytest.raises(ProfileError, match="PipeUtilization.csv has a head and no row"):
        hp.profile(folder)
    (folder / "PipeUtilization.csv").write_text(f"{PIPE_HEAD}\n{vector_row(0)}\n")
    (folder / "OpBasicInfo.csv").write_text((folder / "OpBasicInfo.csv").read_text().split("\n")[0] + "\n")
    assert hp.profile(folder).run().time_us == 100 and hp.profile(folder).run().blocks == 1      # of the cores
    (folder / "PipeUtilization.csv").write_text(f"{PIPE_HEAD}\n0,vector0,{NA_AIC},{NA_AIV}\n")
    with pytest.raises(ProfileError, match="nothing was measured"):
        hp.profile(folder)


@pytest.mark.parametrize("change, words", [(("4.1", "-4.1"), r"Task Duration\(us\) holds -4.1 \(op_summary_1.csv, line 2\)"), ((",8,", ",1e12,"), r"Block Dim holds 1e12 .* at most 65,535 blocks"),
                                           ((",8,", ",2.5,"), "Block Dim holds 2.5"), ((",8,", ",-8,"), "negative"), ((",8,1.9", ",8,2048,8,1.9"), "line 2 has 8 cells and the head 6 columns")])
def test_numbers_that_no_launch_has(tmp_path, change, words):
    (tmp_path / "op_summary_1.csv").write_text("\n".join([HEAD, LINE.format("4.1").replace(*change)]))
    with pytest.raises(ProfileError, match=words):
        hp.profile(tmp_path)
    (tmp_path / "op_summary_1.csv").write_text("\n".join([HEAD, LINE.format("4.1").replace("0.5,8", "-0.5,65535") + ",,"]))     # streams overlap; the largest launch
    run = hp.profile(tmp_path).run()
    assert (run.time_us, run.blocks, run.totals["wait_us"]) == (4.1, 65535, 0.0)


@pytest.mark.parametrize("change", [("0,vector0", "70000,vector0"), ("0,vector0", "0,vector70000"), ("0,vector0", "99999999999999999999,vector0")])
def test_cores_that_no_chip_has(tmp_path, change):
    with pytest.raises(ProfileError, match="at most 65,535 blocks"):
        hp.profile(op_folder(tmp_path, [vector_row(0).replace(*change)]))
    (tmp_path / "trace.json").write_text(EVENT_.format('"ts": 1, "dur": 4').replace("core0", "core70000"))
    with pytest.raises(ProfileError, match="at most 65,535 blocks"):
        hp.profile(tmp_path / "trace.json")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_that_a_spreadsheet_saved_are_read(tmp_path, separator, encoding):
    (tmp_path / "op_summary_1.csv").write_bytes("\r\n".join([HEAD, LINE.format("4.1")]).replace(",", separator).encode(encoding))
    run = hp.profile(tmp_path).run()
    assert (run.name, run.time_us, run.blocks) == ("rope", 4.1, 8)
    (tmp_path / "op_summary_1.csv").write_bytes("\n".join([HEAD, LINE.format("4.1")]).encode("utf-16-le"))
    with pytest.raises(ProfileError, match="zero bytes: it is binary, or UTF-16 without its mark"):
        hp.profile(tmp_path)
    (tmp_path / "op_summary_1.csv").write_bytes("\r\n".join([HEAD, LINE.format("4.1")]).encode("utf-16")[:-1])
    with pytest.raises(ProfileError, match="UTF-16 and is damaged"):
        hp.profile(tmp_path)


@pytest.mark.parametrize("content, words", [("null", "no trace"), ('"a"', "no trace"), ("[1, 2]", "no trace"), ("[" * 100_000, "no trace"), ('{"traceEvents": 3}', "no trace"),
                                            (EVENT_.format('"ts": "q", "dur": 1'), "cannot be read"), (EVENT_.format('"dur": 1'), "cannot be read"),
                                            (EVENT_.format('"ts": 1, "dur": -4'), "cannot be read"), (EVENT_.format('"ts": 1, "dur": NaN'), "cannot be read"),
                                            (EVENT_.format('"ts": 1, "dur": 4, "args": {"line": "x"}'), "cannot be read"),
                                            (EVENT_.format('"ts": 1, "dur": 4, "args": {"bytes": -1}'), "cannot be read"), (EVENT_.format('"ts": 1, "dur": 4, "args": {"line": 9e99}'), "cannot be read")])
def test_a_broken_trace_is_named(tmp_path, content, words):
    (tmp_path / "trace.json").write_text(content)
    with pytest.raises(ProfileError, match=words):
        hp.profile(tmp_path)
    (tmp_path / "trace.json").write_text(EVENT_.format('"ts": 1, "dur": 4, "args": null'))
    assert hp.profile(tmp_path).run().time_us == 4
