"""hp.check must pass what is right, stop what is wrong, and say where and how."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import helpers as hp
from helpers.check import TOLERANCE

RNG = np.random.default_rng(7)
GOLD = RNG.standard_normal(10000)


def wrong(actual, expected, **options) -> str:
    with pytest.raises(hp.CheckError) as caught:
        hp.check(actual, expected, **options)
    return str(caught.value)


# ---- what passes
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_rounding_once_passes(dtype):
    assert hp.check(GOLD.astype(dtype), GOLD).ulp <= 0.5
    assert hp.check(GOLD.astype(dtype).reshape(100, 100), GOLD.reshape(100, 100)).elements == 10000


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_tolerance_is_that_of_the_type(dtype):
    name = np.dtype(dtype).name
    ones = np.ones(4000)
    hp.check((ones * (1 + 1.5 * TOLERANCE[name])).astype(np.float32), ones, dtype=dtype)
    wrong((ones * (1 + 2.5 * TOLERANCE[name])).astype(np.float32), ones, dtype=dtype)


def test_lower_precision_inside_the_kernel_is_noticed():
    assert "wrong" in wrong(GOLD.astype(np.float16).astype(np.float32), GOLD)


def test_integers_are_exact():
    x = np.arange(-5, 5, dtype=np.int32)
    assert repr(hp.check(x, x.astype(np.int64))) == "ok: 10 elements, all equal"
    y = x.copy()
    y[3] += 1
    assert "[3]: -1, expected -2" in wrong(y, x) and "difference there: 1" in wrong(y, x)
    big = np.array([2**63 - 1, -2**63], np.int64)
    assert "difference there: 1" in wrong(big, big - np.array([1, 0]))
    wrong(np.array([2**64 - 1], np.uint64), np.array([-1], np.int64))
    wrong(np.array([2**53 + 1], np.int64), np.array([2**53], np.uint64))


def test_bool_and_bytes():
    hp.check(np.array([True, False]), np.array([1, 0], np.uint8))
    assert "1 of 2" in wrong(np.array([1, 0], np.uint8), np.array([True, True]))


def test_nothing_to_compare():
    assert hp.check(np.zeros(0, np.float32), np.zeros((3, 0))).elements == 0
    assert hp.check(np.float32(2), 2.0).elements == 1


# ---- the traps of home-made verification
def test_m120_unsigned_differences():
    text = wrong(np.array([2, 9], np.uint8), np.array([3, 9], np.uint8))
    assert "difference there: -1" in text
    assert "wrap" in wrong(np.array([255, 0], np.uint8), np.array([-1, 0], np.int32))
    assert "10 of 10" in wrong(np.full(10, 127, np.int8), np.full(10, -1, np.int8))     # as int8 the difference is -128, its size too


def test_m121_infinity_equals_infinity():
    for n in (1, 5):
        x = np.ones(5, np.float32)
        x[:n] = np.inf
        assert f"inf matches inf in {n} place" in repr(hp.check(x, x.astype(np.float64)))
    assert "inf in the result" in wrong(np.array([np.inf, 1], np.float32), np.array([1.0, 1.0]))
    assert "inf missing" in wrong(np.array([5, 1], np.float32), np.array([np.inf, 1.0]))
    wrong(np.array([np.inf], np.float32), np.array([-np.inf]))
    hp.check(np.array([np.inf, -np.inf], np.float16), np.array([70000.0, -70000.0]))    # too large for half
    wrong(np.array([np.inf], np.float32), np.array([70000.0]))


def test_m122_one_expected_value_does_not_stand_for_all():
    text = wrong(np.zeros(10000, np.float16), np.zeros(1, np.float16))
    assert "10000 elements" in text and "1 element" in text and "broadcasting" in text
    assert "shape (3, 4)" in wrong(np.zeros((3, 4), np.float32), np.zeros((4, 3)))


def test_m123_nan():
    assert "10000 NaN" in wrong(np.full(10000, np.nan, np.float16), np.full(10000, np.nan))
    x = np.ones(6, np.float32)
    x[2] = np.nan
    assert "NaN matches NaN in 1 place" in repr(hp.check(x, x.astype(np.float64)))
    assert "NaN in the result" in wrong(x, np.ones(6)) and "first at 2" in wrong(x, np.ones(6))
    assert "NaN missing" in wrong(np.ones(6, np.float32), x.astype(np.float64))
    wrong(np.ones(6, np.int32), x.astype(np.float64))


def test_m124_bytes_read_with_another_type():
    data = GOLD.astype(np.float32)
    assert "read with another dtype (float16 and float32)" in wrong(data.view(np.float16), data)
    assert 'dtype="bfloat16"' in wrong(GOLD.astype(ml_dtypes.bfloat16).view(np.uint16), GOLD)
    hp.check(GOLD.astype(ml_dtypes.bfloat16).view(np.uint16), GOLD, dtype="bfloat16")
    hp.check(GOLD.astype(ml_dtypes.bfloat16).view(np.uint16), GOLD, dtype=ml_dtypes.bfloat16)


def test_m125_expected_computed_in_half():
    half = GOLD.astype(np.float16)
    assert "computed in float16" in wrong(half + np.float16(0.25), half)
    assert "computed in float16" in repr(hp.check(np.sinh(half.astype(np.float64)).astype(np.float32), np.sinh(half), dtype="float16"))
    assert "computed in" not in repr(hp.check(half, GOLD))


def test_small_values_are_not_lost_in_an_absolute_tolerance():
    assert "official" in wrong(np.zeros(1000, np.float32), np.full(1000, 5e-4))
    x = GOLD.copy()
    x[17] = 1e30                          # one huge value must not widen what is allowed near zero
    bad = x.astype(np.float32)
    bad[18] += 0.01
    assert "[18]" in wrong(bad, x)


def test_nine_lost_elements_do_not_pass():
    x = GOLD.astype(np.float16)
    x[-9:] = 0
    text = wrong(x, GOLD)
    assert "9 of 10000" in text and "the last 9 of 10000 elements" in text and "official scripts" in text and "[9991]" in text


# ---- where and how
def test_tile_and_block():
    x = GOLD.astype(np.float32)
    x[5000:5100] = 3
    assert "tile 4, element 904 of the tile" in wrong(x, GOLD, tile=1024)
    assert "block 2, tile 0 of the block, element 904" in wrong(x, GOLD, tile=(1024, 2048))
    assert "[50, 0] (element 5000)" in wrong(x.reshape(100, 100), GOLD.reshape(100, 100))
    with pytest.raises(ValueError):
        wrong(x, GOLD, tile=0)


def spoil(change, shape=(10000,)) -> str:
    x = GOLD.astype(np.float32).reshape(shape)
    change(x)
    return wrong(x, GOLD.reshape(shape), tile=1000 if len(shape) == 1 else None)


@pytest.mark.parametrize("change, says", [
    (lambda x: x[3000:4000].fill(0), "1 whole tile of 10: 3"),
    (lambda x: x[::1].__imul__(2), "2 times the expected"),
    (lambda x: x.__iadd__(np.float32(0.5)), "offset: wrong elements are +0.5"),
    (lambda x: x[200:300].fill(9), "elements 200 to 299"),
    (lambda x: x[200:300].fill(9), "all wrong elements are 9"),
    (lambda x: x.reshape(10, 1000)[:, -8:].fill(9), "the last 8 elements of each tile"),
    (lambda x: x[::4].fill(9), "every fourth element, from element 0"),
    (lambda x: x.__setitem__(slice(None), np.roll(x, 1)), "shifted: element i holds what belongs to element i - 1"),
    (lambda x: x.__setitem__(slice(None), np.roll(x, -8)), "shifted: element i holds what belongs to element i + 8"),
    (lambda x: x.__setitem__(slice(None), x[::-1].copy()), "right values in another order"),
    (lambda x: x[-1:].fill(0), "the tail: the last 1 of 10000"),
])
def test_patterns(change, says):
    assert says in spoil(change)


@pytest.mark.parametrize("change, says", [
    (lambda x: x[1::2].__iadd__(7), "every second row, from row 1"),
    (lambda x: x[[2, 5, 11]].__class__ and x.__setitem__([2, 5, 11], 0), "3 whole rows of 100: 2, 5, 11"),
    (lambda x: x[:, -4:].__iadd__(1), "the last 4 elements of each row (a row has 100)"),
    (lambda x: x[:, 3].__iadd__(1), "1 whole column of 100: 3"),
    (lambda x: x.__imul__(np.arange(1, 101, dtype=np.float32)[:, None]), "factor that differs from row to row"),
])
def test_patterns_of_matrices(change, says):
    assert says in spoil(change, (100, 100))


def test_all_elements_are_covered_by_the_message_of_a_short_last_tile():
    x = GOLD[:2500].astype(np.float32)
    x[2000:] = 0
    assert "the last tile, which has only 500 of 1000 elements" in wrong(x, GOLD[:2500], tile=1000)


def test_things_that_are_no_numbers():
    wrong(np.array(["a"]), np.array(["a"]))
    wrong(np.array([1j]), np.array([1j]))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["float16", "float32", "int8", "uint8", "int32", "int64"]), st.integers(1, 700), st.data())
def test_every_single_change_is_found_at_its_place(name, n, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    expected = rng.integers(0, 100, n) if "int" in name else rng.standard_normal(n) + 3
    actual = expected.astype(name)
    hp.check(actual, expected)
    at = data.draw(st.integers(0, n - 1))
    actual[at] += 1
    assert f"[{at}]" in wrong(actual, expected)


def test_the_message_is_deterministic():
    x = (GOLD * 1.5).astype(np.float32)
    assert wrong(x, GOLD, tile=64) == wrong(x, GOLD, tile=64)


def test_rounding_of_subnormal_numbers_is_no_error():
    """Half has steps of 6e-8 near 0: the nearest half may be far from the expected value in relative terms."""
    expected = np.array([3.1e-8, 7.7e-8, 2.48e-6, 4.742e-6, 1e-9] * 20)
    assert hp.check(expected.astype(np.float16), expected).ulp <= 0.5
    with pytest.raises(hp.CheckError):
        hp.check((expected + 6e-8).astype(np.float16), expected)


def test_a_failed_check_repeats_what_the_run_had_warned_of():
    text = '#include "kernel_operator.h"\nusing namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR x, GM_ADDR y) {\n' \
           "    GlobalTensor<half> a, b; a.SetGlobalBuffer((__gm__ half*)x, 32); b.SetGlobalBuffer((__gm__ half*)y, 32);\n" \
           "    TPipe pipe; TBuf<TPosition::VECCALC> buf; pipe.InitBuffer(buf, 64); LocalTensor<half> t = buf.Get<half>();\n" \
           "    DataCopy(t, a, 32); PipeBarrier<PIPE_ALL>(); DataCopy(b, t, 32);\n}\n"
    kernel = hp.compile(text)
    x, y = np.ones(32, np.float64), np.zeros(32, np.float64)
    kernel[1](x, y)
    with pytest.raises(hp.CheckError) as e:
        hp.check(y[:8], np.full(8, 2.0))
    assert "The run that was given this array had warned:\n  HOST_ARGUMENT" in str(e.value) and "float64" in str(e.value)
    with pytest.raises(hp.CheckError) as e:                 # another array: the run has nothing to do with it
        hp.check(y.copy(), x + 1)
    assert "had warned" not in str(e.value)
    h, z = np.ones(32, np.float16), np.zeros(32, np.float16)
    kernel[1](h, z)
    with pytest.raises(hp.CheckError) as e:                 # a clean run warned of nothing
        hp.check(z, z + 1)
    assert "had warned" not in str(e.value)


def test_pages_read_as_text():
    assert repr(hp.explain("OUT_OF_BOUNDS")) == str(hp.explain("OUT_OF_BOUNDS")) and "\n  Fix: " in repr(hp.explain("OUT_OF_BOUNDS"))


@pytest.mark.parametrize("tile", ["x", 2.5, (8, 16, 32), (8, "b")])
def test_a_tile_is_a_number_of_elements(tile):
    for expected in (np.ones(4), np.zeros(4)):             # even when the result is right
        with pytest.raises(TypeError, match="elements of a tile"):
            hp.check(np.zeros(4), expected, tile=tile)
    assert hp.check(np.zeros(4), np.zeros(4), tile=(2, 4)).abs == 0


@pytest.mark.parametrize("dtype", ["float17", 3, object()])
def test_a_dtype_that_is_none_is_said(dtype):
    with pytest.raises(TypeError, match="is no element type: float16"):
        hp.check(np.ones(4), np.ones(4), dtype=dtype)
    for known in ("half", np.float16, np.dtype(np.float16), ml_dtypes.bfloat16, "bfloat16"):
        assert hp.check(np.ones(4, np.float16), np.ones(4) + 1e-4, dtype=known).elements == 4


@pytest.mark.parametrize("values, words", [([[1.0], [1.0, 2.0]], "rows of different lengths"), (np.array(["2020-01-01"], "M8[D]"), "compares numbers"),
                                           (np.zeros(2, [("a", "i4")]), "compares numbers"), (np.ma.array([1.0, 2.0], mask=[0, 1]), "a masked array hides some")])
def test_what_cannot_be_compared_is_said(values, words):
    with pytest.raises(hp.CheckError, match=words):
        hp.check(values, np.ones(2))


def test_infinity_is_expected_of_integers():
    with pytest.raises(hp.CheckError, match=r"1 of 2 elements is wrong|1 of 2 elements are wrong; the first is \[0\]: 0, expected inf"):
        hp.check(np.array([0, 1], np.int32), np.array([np.inf, 1.0]))


def test_bfloat16_tensors_of_torch_are_judged_as_bfloat16():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'ascend-c-workbook[torch]'")
    x = torch.linspace(1, 2, 40).reshape(5, 8).t().bfloat16().requires_grad_()
    assert hp.check(np.ones(4, np.uint16) * 0x3F80, np.ones(4), dtype=torch.bfloat16).abs == 0
    exact = x.detach().double().numpy()
    assert hp.check(x, exact * 1.003).rel == pytest.approx(0.003, rel=0.01)
    with pytest.raises(hp.CheckError, match=r"allowed: 0.008 relative \(bfloat16\)"):
        hp.check(x, exact * 1.02)
