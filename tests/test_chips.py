"""Chip profiles: complete, sourced, and friendly when asked for something else."""
from __future__ import annotations

import copy
import pickle
import re

import pytest

from helpers.chips import Chip, chip, chips, published
from helpers.errors import WorkbookError

NAMES = ["Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910_93", "Ascend310P3"]
# name: cube and vector cores, GHz, UB, L2 MiB, memory GB/s, L2 read and write GB/s as the documents state them
STATED = {
    "Ascend910B1": (24, 48, 1.85, 196608, 192, 1600, 4085, 3197),
    "Ascend910B2": (24, 48, 1.80, 196608, 192, 1600, 3974, 3110),
    "Ascend910B3": (20, 40, 1.80, 196608, 192, 1600, 3312, 2592),
    "Ascend910B4": (20, 40, 1.50, 196608, 96, 800, 2760, 2160),
    "Ascend910_93": (24, 48, 1.85, 196608, 192, 1600, 4085, 3197),
    "Ascend310P3": (8, 8, 1.08, 262144, 16, 180, 788, 442),
}


def test_names_and_order():
    assert [c.name for c in chips()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_stated_numbers(name):
    c = chip(name)
    assert (c.aic_cores, c.aiv_cores, c.clock_ghz, c.ub_bytes, c.l2_bytes // 2**20, c.hbm_gbps,
            round(c.l2_read_gbps), round(c.l2_write_gbps)) == STATED[name]


@pytest.mark.parametrize("c", chips(), ids=NAMES)
def test_every_number_has_a_source(c):
    assert set(c.sources) == set(c.numbers)
    assert all(isinstance(v, (int, float)) for v in c.numbers.values())
    for key, text in c.sources.items():
        assert text
        if "no public number" in text:
            assert key in c.guessed
    for entry in c.guessed:
        assert entry in c.numbers or entry == "vec.*" or entry[4:] in {op for op, _ in c.vector}


def test_all_profiles_have_the_same_numbers():
    assert len({frozenset(c.numbers) for c in chips()}) == 1


def test_what_is_guessed_differs_by_chip():
    assert "hbm_gbps" not in chip("Ascend910B1").guessed and "hbm_gbps" in chip("Ascend910B4").guessed
    assert "vec.ReduceSum" in chip().guessed and "vec.Add" not in chip().guessed
    assert "vec.*" in chip("Ascend310P3").guessed
    assert "for Ascend910B1" in chip("Ascend910B3").source("w_aiv") and "w_aiv" in chip("Ascend910B3").guessed
    assert "ub_bytes" not in chip("Ascend310P3").guessed


def test_flat_is_text_the_runtime_can_read():
    flat = chip().flat()
    assert all(isinstance(k, str) and isinstance(v, str) and "\n" not in k + v and " " not in k for k, v in flat.items())
    assert flat["name"] == "Ascend910B1" and float(flat["clock_ghz"]) == 1.85 and flat["vec.Add.b16"] == "22 1 2"
    assert flat["source.hbm_gbps"] == chip().source("hbm_gbps")
    assert all(re.fullmatch(r"[\d.]+ [\d.]+ [\d.]+", v) for k, v in flat.items() if k.startswith("vec."))


def test_vector_table_is_consistent():
    for (op, cls), (head, s1, conflict) in chip().vector.items():
        assert head >= 0 and 0 <= s1 <= conflict, (op, cls)


def test_vector_peak():
    assert chip().vector_gops(2) == pytest.approx(11366, abs=1)
    assert chip().vector_gops(4) == pytest.approx(5683, abs=1)


@pytest.mark.parametrize("asked, got", [("ascend910b3", "Ascend910B3"), ("910B4", "Ascend910B4"), ("Ascend910_9391", "Ascend910_93"),
                                        (" Ascend310P3 ", "Ascend310P3")])
def test_names_are_taken_kindly(asked, got):
    assert chip(asked).name == got


def test_default_and_profile_itself():
    assert chip().name == "Ascend910B1" and chip(chip("910B2")) is chip("Ascend910B2")


@pytest.mark.parametrize("asked, near", [("Ascend910B5", "Ascend910B2"), ("Ascend301P3", "Ascend310P3"), ("Ascend910_9362", "Ascend910_9391")])
def test_unknown_chip_suggests(asked, near):
    with pytest.raises(WorkbookError) as error:
        chip(asked)
    message = str(error.value)
    assert asked in message and near in message.split("Profiles:")[0] and all(n in message for n in NAMES)


def test_unknown_number_suggests():
    with pytest.raises(AttributeError, match="Ascend910B1 has no number 'ub_byte'. Did you mean ub_bytes"):
        chip().ub_byte
    assert not hasattr(chip(), "nothing_like_it")


def test_profiles_are_values():
    c = chip("Ascend910B2")
    assert copy.deepcopy(c) is c and pickle.loads(pickle.dumps(c)) is c
    with pytest.raises(AttributeError):
        c.name = "other"
    with pytest.raises(TypeError):
        c.numbers["clock_ghz"] = 3
    assert "ub_bytes" in dir(c) and isinstance(c, Chip)
    assert hash(c) == hash(chip("Ascend910B2")) and c == chip("910B2") and len({*chips()}) == 6


def test_published_times_name_their_source():
    rows = published()
    assert len(published("Add")) == 7 and published("Add")[4]["time_us"] == 264.02
    assert all(row["source"] and row["time_us"] > 0 for row in rows)
