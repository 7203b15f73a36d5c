"""The exercises of chapters 16 to 18 have the answers that the chapters give."""
import json
import re
from pathlib import Path

import numpy as np
import pytest

from helpers.ship import snake_case

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def cells(chapter, kind="code"):
    return ["".join(c["source"]) for c in json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text())["cells"] if c["cell_type"] == kind]


def cell_with(chapter, words, kind="code"):
    found = [c for c in cells(chapter, kind) if words in c]
    assert len(found) == 1, (words, len(found))
    return found[0]


def run(text, **names):
    said = []
    exec(text, {"print": lambda *a: said.append(" ".join(map(str, a))), **names})
    return said


def test_the_order_of_the_calls():
    text = cell_with("16_on_the_npu", "# sort this")
    solution = cell_with("16_on_the_npu", "`aclInit, aclrtSetDevice", "markdown")
    order = re.search(r"`(aclInit[^`]*)`", solution)[1].split(", ")
    assert run(text)[0].startswith("not yet")
    assert run(re.sub(r"order = \[.*?\]", f"order = {order!r}", text, flags=re.S)) == ["right"]


def test_the_labels_of_the_profiles():
    text = cell_with("17_profile", "labels = {")
    solution = cell_with("17_profile", "A copies, B vector", "markdown")
    labels = dict(re.findall(r"([A-E]) (copies|vector|scalar|waiting|launch)", solution))
    assert len(labels) == 5
    assert run(re.sub(r"labels = \{[^}]*\}", f"labels = {labels!r}", text)) == [str(dict.fromkeys("ABCDE", True))]


def test_the_names_of_operators():
    solution = cell_with("18_ship_it", "`layer_norm_v3`", "markdown")
    names = re.findall(r"`([a-z0-9_]+)`", solution.split("Solution")[1])
    assert names == [snake_case(op) for op in ("LayerNormV3", "Conv2DBias", "ABCNorm")]


def test_the_gate_for_measured_times():
    text = cell_with("18_ship_it", "# improve this")
    assert "False" in run(text, np=np)[0]
    solution = re.search(r"`(return [^`]*)`", cell_with("18_ship_it", "A mean follows every outlier", "markdown").split("Solution")[1])[1]
    better = re.sub(r"return after\.mean\(\).*", solution, text)
    assert run(better, np=np) == ["{'same': True, 'one outlier': True, '10 % slower': True}"]


@pytest.mark.parametrize("chapter", ["16_on_the_npu", "17_profile", "18_ship_it"])
def test_nothing_pretends_to_be_measured(chapter):
    """Every number with an origin in the stored outputs is an estimate, is made up, or is published."""
    data = json.loads((NOTEBOOKS / f"{chapter}.ipynb").read_text())
    assert "**Not run on hardware.**" in "".join(data["cells"][0]["source"])
    for cell in data["cells"]:
        for out in cell.get("outputs", ()):
            shown = "".join(out.get("text", "")) + "".join(out.get("data", {}).get("text/plain", ""))
            assert "measured (" not in shown, shown[:300]
