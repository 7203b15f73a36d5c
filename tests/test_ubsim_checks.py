"""Every mistake is a finding at the Python line that makes it; the repaired function runs clean."""
import numpy as np
import pytest

import helpers as hp
from helpers.ubsim import BinaryRepeatParams, DataCopyExtParams, DataCopyParams
from chapters import problems
from ubsim_tools import error_of, function_of, line_of

HALF, FLOAT = np.float16, np.float32
CASES = {}                                   # name: (broken, repaired, code, blocks, words)


def case(code: str, *words: str, blocks: int = 1):
    """The pair of a class: `broken` makes the finding on its line "# here"; `repaired` does not."""
    def add(pair):
        CASES[pair.__name__] = vars(pair)["broken"], vars(pair)["repaired"], code, blocks, words
        return pair
    return add


def arrays():
    return np.arange(4096).astype(HALF), np.zeros(4096, HALF)


@case("OUT_OF_BOUNDS", "queue buffer 0", "1024 elements")
class longer_than_the_buffer:
    def broken(core, x, y):
        queue = core.TQue("VECIN", num=1, length=2048)
        t = queue.AllocTensor(HALF)
        core.DataCopy(t, x[0:4096])          # here
        queue.FreeTensor(t)

    def repaired(core, x, y):
        queue = core.TQue("VECIN", num=1, length=8192)
        t = queue.AllocTensor(HALF)
        core.DataCopy(t, x[0:4096])
        queue.FreeTensor(t)


@case("GM_OUT_OF_BOUNDS", "argument x")
class last_tile_past_the_end:
    def broken(core, x, y):
        t = core.TBuf(length=6000).Get(HALF)
        for start in range(0, x.size, 3000):
            core.DataCopyPad(t, x[start:start + 3000])               # here
            core.PipeBarrier("ALL")

    def repaired(core, x, y):
        t = core.TBuf(length=6000).Get(HALF)
        for start in range(0, x.size, 3000):
            core.DataCopyPad(t, x[start:min(start + 3000, x.size)])
            core.PipeBarrier("ALL")


@case("GM_OUT_OF_BOUNDS", "argument y")
class store_past_the_end:
    def broken(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopy(y[4090:4090 + 32], t)  # here

    def repaired(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopyPad(y[4090:4096], t)


@case("UB_OVERFLOW", "a ", "245760", "32768 B")
class three_double_buffers_of_40_KB:
    def broken(core, x, y):
        a = core.TQue("VECIN", num=2, length=40 * 1024)
        b = core.TQue("VECIN", num=2, length=40 * 1024)
        c = core.TQue("VECOUT", num=2, length=40 * 1024)             # here
        a.AllocTensor(HALF), b.AllocTensor(HALF), c.AllocTensor(HALF)

    def repaired(core, x, y):
        a = core.TQue("VECIN", num=2, length=32 * 1024)
        b = core.TQue("VECIN", num=2, length=32 * 1024)
        c = core.TQue("VECOUT", num=2, length=32 * 1024)
        for queue in (a, b, c):
            queue.FreeTensor(queue.AllocTensor(HALF))


@case("TOO_MANY_BUFFERS")
class more_than_64_buffers:
    def broken(core, x, y):
        core.TQue("VECIN", num=65, length=64)                        # here

    def repaired(core, x, y):
        core.TQue("VECIN", num=64, length=64)


@case("MISALIGNED", "t[5:21]", "16")
class unaligned_operand:
    def broken(core, x, y):
        t = core.TBuf(length=128).Get(HALF)
        t[:] = 1.0
        core.Add(t[32:48], t[5:21], t[:16])  # here

    def repaired(core, x, y):
        t = core.TBuf(length=128).Get(HALF)
        t[:] = 1.0
        core.Add(t[32:48], t[16:32], t[:16])


@case("TAIL_DROPPED", "11 elements", "DataCopyPad(y[:1003], t)")
class tail_of_1003:
    def broken(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopy(y[:1003], t)           # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopyPad(y[:1003], t)


@case("BAD_PARAMETER", "5000")
class too_many_rows:
    def broken(core, x, y):
        t = core.TBuf(length=5000 * 32).Get(HALF)
        core.DataCopyPad(t, x, DataCopyExtParams(5000, 0, 0, 0))     # here

    def repaired(core, x, y):
        t = core.TBuf(length=5000 * 32).Get(HALF)
        core.DataCopyPad(t, x, DataCopyExtParams(4095, 2, 0, 0))


@case("BAD_PARAMETER", "200")
class mask_wider_than_a_repeat:
    def broken(core, x, y):
        t = core.TBuf(length=1024).Get(HALF)
        t[:] = 1.0
        core.Add(t, t, t, mask=200, repeatTime=2)                    # here

    def repaired(core, x, y):
        t = core.TBuf(length=1024).Get(HALF)
        t[:] = 1.0
        core.Add(t, t, t, mask=128, repeatTime=2, repeatParams=BinaryRepeatParams())


@case("OVERLAP")
class partly_overlapping_operands:
    def broken(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 1.0
        core.Adds(t[16:1040], t[:1024], 1.0)                         # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 1.0
        core.Adds(t[1024:2048], t[:1024], 1.0)


@case("UNINITIALISED_READ")
class store_of_what_nobody_wrote:
    def broken(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        core.DataCopy(y, t)                  # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 0.0
        core.PipeBarrier("ALL")
        core.DataCopy(y, t)


@case("USE_AFTER_FREE")
class used_after_free:
    def broken(core, x, y):
        queue = core.TQue("VECIN", num=1, length=8192)
        t = queue.AllocTensor(HALF)
        queue.FreeTensor(t)
        core.Duplicate(t, 0.0)               # here

    def repaired(core, x, y):
        queue = core.TQue("VECIN", num=1, length=8192)
        t = queue.AllocTensor(HALF)
        core.Duplicate(t, 0.0)
        queue.FreeTensor(t)


@case("QUEUE_EMPTY", "q.EnQue")
class deque_without_enque:
    def broken(core, x, y):
        q = core.TQue("VECIN", num=1, length=8192)
        t = q.AllocTensor(HALF)
        core.DataCopy(t, x)
        t = q.DeQue()                        # here

    def repaired(core, x, y):
        q = core.TQue("VECIN", num=1, length=8192)
        t = q.AllocTensor(HALF)
        core.DataCopy(t, x)
        q.EnQue(t)
        q.FreeTensor(q.DeQue())


@case("QUEUE_FULL", "depth 1")
class two_enque_with_depth_one:
    def broken(core, x, y):
        q = core.TQue("VECIN", num=2, length=4096)
        a, b = q.AllocTensor(HALF), q.AllocTensor(HALF)
        q.EnQue(a)
        q.EnQue(b)                           # here

    def repaired(core, x, y):
        q = core.TQue("VECIN", num=2, length=4096, depth=2)
        a, b = q.AllocTensor(HALF), q.AllocTensor(HALF)
        q.EnQue(a)
        q.EnQue(b)
        q.FreeTensor(q.DeQue())
        q.FreeTensor(q.DeQue())


@case("WRONG_POSITION", "belongs to queue first")
class enque_in_another_queue:
    def broken(core, x, y):
        first = core.TQue("VECIN", num=1, length=64)
        second = core.TQue("VECOUT", num=1, length=64)
        t = first.AllocTensor(HALF)
        second.EnQue(t)                      # here

    def repaired(core, x, y):
        first = core.TQue("VECIN", num=1, length=64)
        core.TQue("VECOUT", num=1, length=64)
        t = first.AllocTensor(HALF)
        first.EnQue(t)
        first.FreeTensor(first.DeQue())


@case("LEAK", "q.FreeTensor")
class tensor_never_freed:
    def broken(core, x, y):
        q = core.TQue("VECIN", num=1, length=8192)
        t = q.AllocTensor(HALF)
        q.EnQue(t)
        t = q.DeQue()                        # here

    def repaired(core, x, y):
        q = core.TQue("VECIN", num=1, length=8192)
        t = q.AllocTensor(HALF)
        q.EnQue(t)
        t = q.DeQue()
        q.FreeTensor(t)


@case("DEADLOCK", "q.FreeTensor(t)")
class second_tile_waits_for_ever:
    def broken(core, x, y):
        q = core.TQue("VECIN", num=1, length=64)
        for i in range(2):
            t = q.AllocTensor(HALF)          # here
            q.EnQue(t)
            t = q.DeQue()

    def repaired(core, x, y):
        q = core.TQue("VECIN", num=1, length=64)
        for i in range(2):
            t = q.AllocTensor(HALF)
            q.EnQue(t)
            t = q.DeQue()
            q.FreeTensor(t)


@case("MISSING_SYNC", "MTE2", 'SetFlag("MTE2_V", id)')
class computes_before_the_load_is_done:
    def broken(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        core.DataCopy(t, x)
        core.Adds(t, t, 1.0)                 # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        core.DataCopy(t, x)
        core.SetFlag("MTE2_V", 0)
        core.WaitFlag("MTE2_V", 0)
        core.Adds(t, t, 1.0)


@case("UNPAIRED_FLAG", "MTE2_V id 3")
class set_without_wait:
    def broken(core, x, y):
        core.SetFlag("MTE2_V", 3)            # here

    def repaired(core, x, y):
        core.SetFlag("MTE2_V", 3)
        core.WaitFlag("MTE2_V", 3)


@case("EVENT_ID", 'SetFlag("MTE2_V", 9)')
class event_id_too_large:
    def broken(core, x, y):
        core.SetFlag("MTE2_V", 9)            # here

    def repaired(core, x, y):
        core.SetFlag("MTE2_V", 7)
        core.WaitFlag("MTE2_V", 7)


@case("BLOCK_CONFLICT", "argument y", blocks=3)
class blocks_write_the_same_bytes:
    def broken(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopy(y[core.block * 20:core.block * 20 + 32], t)    # here

    def repaired(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        core.DataCopy(y[core.block * 32:core.block * 32 + 32], t)


@case("UNSUPPORTED_TYPE", "dst is half, src1 is float".replace("src1", "src0"))
class two_element_types:
    def broken(core, x, y):
        buffer = core.TBuf(length=128)
        h, f = buffer.Get(HALF, 32), buffer.Get(FLOAT, 32)
        core.Add(h, f, f)                    # here

    def repaired(core, x, y):
        h = core.TBuf(length=128).Get(HALF, 32)
        core.Duplicate(h, 1.0)
        core.Add(h, h, h)


@case("UNSUPPORTED_TYPE", "does not convert")
class copy_that_should_convert:
    def broken(core, x, y):
        t = core.TBuf(length=16384).Get(FLOAT)
        core.DataCopy(t, x)                  # here

    def repaired(core, x, y):
        h, f = core.TBuf(length=8192).Get(HALF), core.TBuf(length=16384).Get(FLOAT)
        core.DataCopy(h, x)
        core.PipeBarrier("ALL")
        core.Cast(f, h)


@case("UNSUPPORTED_API", "no path from GM to GM")
class from_gm_to_gm:
    def broken(core, x, y):
        core.DataCopy(y, x)                  # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        core.DataCopy(t, x)
        core.PipeBarrier("ALL")
        core.DataCopy(y, t)


@case("WRONG_POSITION", "x, which lies in GM")
class vector_on_gm:
    def broken(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        core.Add(t, t, x)                    # here

    def repaired(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 1.0
        core.Add(t, t, t)


@case("OUT_OF_BOUNDS", "index 32")
class element_past_the_end:
    def broken(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        float(t[32])                         # here

    def repaired(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        assert t[31] == t[-1] == 1.0


@case("OUT_OF_BOUNDS", "dimension 1")
class column_past_the_row:
    def broken(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopyPad(t, x.reshape(64, 64)[0:4, 60:68])           # here

    def repaired(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopyPad(t, x.reshape(64, 64)[0:4, 56:64])


@case("BAD_PARAMETER", "Use // instead of /")
class length_from_a_division:
    def broken(core, x, y):
        core.TQue("VECIN", num=2, length=x.nbytes / 2)               # here

    def repaired(core, x, y):
        core.TQue("VECIN", num=2, length=x.nbytes // 2)


@case("BAD_PARAMETER", "whole number")
class scalar_that_does_not_fit_the_type:
    def broken(core, x, y):
        t = core.TBuf(length=64).Get(np.int16)
        core.Duplicate(t, 0.5)               # here

    def repaired(core, x, y):
        t = core.TBuf(length=64).Get(np.int16)
        core.Duplicate(t, 5.0)


@case("BAD_PARAMETER", "MTE2_X", "MTE2_V")
class unknown_event:
    def broken(core, x, y):
        core.SetFlag("MTE2_X", 0)            # here

    def repaired(core, x, y):
        core.SetFlag("HardEvent::MTE2_V", 0)
        core.WaitFlag("MTE2_V", 0)


@case("UNSUPPORTED_API", "one instruction")
class expression_of_two_instructions:
    def broken(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        t[:] = t + t + t                     # here

    def repaired(core, x, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        t[:] = t + t


@case("BAD_PARAMETER", "32 B")
class data_copy_of_ragged_rows:
    def broken(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopy(t, x.reshape(64, 64)[0:4, 0:10])               # here

    def repaired(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopy(t, x.reshape(64, 64)[0:4, 0:16])
        core.DataCopy(t[2048 - 64:], x, DataCopyParams(2, 1, 3, 0))


@case("UNSUPPORTED_API", "step 2")
class slice_with_a_step:
    def broken(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopy(t, x[0:64:2])          # here

    def repaired(core, x, y):
        t = core.TBuf(length=4096).Get(HALF)
        core.DataCopyPad(t, x[0:64].reshape(32, 2)[:, 0])


@pytest.mark.parametrize("name", CASES)
def test_mistake_is_named_at_its_line(name):
    broken, repaired, code, blocks, words = CASES[name]
    error = error_of(hp.ubsim(broken), *arrays(), blocks=blocks)
    found = [f for f in error.findings if f.code == code and f.severity == "error"]
    assert found, f"{error}"
    line = line_of(broken)
    assert [f.line for f in found] == [line] and found[0].file == ""
    assert found[0].source.strip().endswith("# here")
    said = f"{found[0].message} {found[0].hint}"
    for word in words:
        assert word in said, said
    assert "HardEvent::" not in said and "GetTPipePtr" not in said


@pytest.mark.parametrize("name", CASES)
def test_repaired_function_is_clean(name):
    _, repaired, _, blocks, _ = CASES[name]
    run = hp.ubsim(repaired)[blocks](*arrays())
    assert problems(run) == [], [str(f) for f in run.findings]


@pytest.mark.parametrize("name", ["longer_than_the_buffer", "last_tile_past_the_end", "store_past_the_end", "three_double_buffers_of_40_KB",
                                  "deque_without_enque", "element_past_the_end"])
def test_memory_stays_guarded_without_checks(name):
    broken, _, code, blocks, _ = CASES[name]
    assert code in error_of(hp.ubsim(broken), *arrays(), blocks=blocks, checks="off").codes


def test_the_error_is_raised_at_the_line_itself():
    broken, *_ = CASES["longer_than_the_buffer"]
    error = error_of(hp.ubsim(broken), *arrays())
    lines, frame = [], error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code is broken.__code__:
            lines.append(frame.tb_lineno)
        frame = frame.tb_next
    assert lines == [line_of(broken)]
    assert "called by: core.DataCopy(t, x[0:4096])" in "\n".join(error._render_traceback_())


def test_lines_of_a_notebook_cell():
    cell = "@hp.ubsim\ndef tile(core, x):\n    t = core.TBuf(length=64).Get(np.float16)\n    core.DataCopy(t, x[0:64])\n"
    error = error_of(function_of(cell, "tile", "/tmp/ipykernel_7/11.py"), np.zeros(64, HALF))
    (finding,) = error.findings
    assert (finding.line, finding.file, finding.source.strip()) == (4, "", "core.DataCopy(t, x[0:64])")


def test_a_helper_in_another_cell_says_so():
    helper = function_of("def load(core, t, x):\n    core.DataCopy(t, x[0:64])\n", "load", "/tmp/ipykernel_7/12.py")

    @hp.ubsim
    def tile(core, x):
        helper(core, core.TBuf(length=64).Get(HALF), x)

    (finding,) = error_of(tile, np.zeros(64, HALF)).findings
    assert (finding.file, finding.line, finding.source.strip()) == ("another cell", 2, "core.DataCopy(t, x[0:64])")


def test_strict_order_of_the_scalar_unit():
    def scalar(core, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 1.0
        core.PipeBarrier("ALL")
        t[0] = 5.0
        core.DataCopy(y[:32], t)

    y = np.zeros(32, HALF)
    assert problems(hp.ubsim(scalar)[1](y)) == [] and y[0] == 5
    assert "MISSING_SYNC" in error_of(hp.ubsim(scalar, auto_sync=False), y).codes


def test_warnings_stay_with_the_run():
    @hp.ubsim
    def large(core, y):
        t = core.TBuf(length=64).Get(HALF)
        t[:] = 60000.0
        t[:] = t + t
        core.PipeBarrier("ALL")
        core.DataCopy(y[:32], t)

    run = large[1](np.zeros(32, HALF))
    (warning,) = problems(run)
    assert warning.code == "NUMERIC" and warning.severity == "warning" and warning.line == line_of(large.function, "t + t")


def test_lazy_schedule_shows_the_race():
    def race(core, x, y):
        t = core.TBuf(length=8192).Get(HALF)
        t[:] = 0.0
        core.PipeBarrier("ALL")
        core.DataCopy(t, x)
        core.SetFlag("MTE2_V", 0)
        core.WaitFlag("MTE2_V", 0)
        core.Adds(t, t, 1.0)
        core.DataCopy(y, t)                  # V_MTE3 is missing

    x, y = arrays()
    assert error_of(hp.ubsim(race), x, y).codes == ["MISSING_SYNC"]
    assert error_of(hp.ubsim(race), x, y, schedule="lazy").codes == ["MISSING_SYNC"]


def test_expect_error_works_around_a_simulation(capsys):
    broken, *_ = CASES["deque_without_enque"]
    with hp.expect_error("QUEUE_EMPTY"):
        hp.ubsim(broken)[1](*arrays())
    assert f"QUEUE_EMPTY  line {line_of(broken)}, block 0" in capsys.readouterr().out


def test_a_queue_without_a_name_is_not_called_after_a_keyword():
    @hp.ubsim
    def nameless(core, x):
        core.TQue("VECIN", num=2, length=1 << 20)

    with pytest.raises(hp.KernelError) as caught:
        nameless[1](np.zeros(8, np.float32))
    assert "num " not in str(caught.value) and "queue " in str(caught.value)
