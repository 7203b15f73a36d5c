"""A network and the cells inside it: which ones fusion looks into, where they are, and copies that share parameters.

mindspore.rewrite changes the network that it is given: it adds cells and renames parameters. So it is given a twin.
"""
from __future__ import annotations

import sys
from contextlib import contextmanager

from mindspore import nn

from .networks import fused

CONTAINERS = (nn.SequentialCell, nn.CellList, nn.CellDict)
# What belongs to one object: its compiled graphs, and by which names they are found.
_OWN = ("_create_time", "_compile_cache", "_phase_cache", "_compile_phase", "_compiled", "arguments_key")


def of_mindspore(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "mindspore"


def children(cell: nn.Cell) -> list[tuple[str, nn.Cell]]:
    return [(name, child) for name, child in cell._cells.items() if child is not None]


def looks_into(cell: nn.Cell, closed: tuple[type, ...]) -> bool:
    """Containers and cells of the user's classes; not MindSpore's layers, our fused cells, and what is one node of a pattern."""
    kind = type(cell)
    return kind in CONTAINERS or not (of_mindspore(kind) or kind.__module__ == fused.__name__ or isinstance(cell, closed))


def places(net: nn.Cell, closed: tuple[type, ...]) -> dict[int, str]:
    """The path of each cell, by its id: "blocks.0", or "first, last" for one that is there twice."""
    found: dict[int, list[str]] = {id(net): [""]}

    def walk(cell: nn.Cell, path: str) -> None:
        for name, child in children(cell):
            seen = id(child) in found
            found.setdefault(id(child), []).append(path + name)
            if not seen and looks_into(child, closed):
                walk(child, f"{path}{name}.")
    walk(net, "")
    return {key: ", ".join(paths) for key, paths in found.items()}


def twin(cell: nn.Cell, instead: dict[int, nn.Cell]) -> nn.Cell:
    """A cell of the same class with the same parameters and values, and other children for those in `instead`."""
    def other(value):
        if isinstance(value, nn.Cell):
            return instead.get(id(value), value)
        if type(value) in (list, tuple, set):
            return type(value)(map(other, value))
        if isinstance(value, dict):
            copy = value.copy()
            copy.update((k, other(v)) for k, v in value.items())
            return copy
        return value
    new = type(cell).__new__(type(cell))
    nn.Cell.__init__(new, cell._auto_prefix)
    vars(new).update((key, other(value)) for key, value in vars(cell).items() if key not in _OWN)
    if cell.mixed_precision_type is not None:
        new.set_mixed_precision_type(cell.mixed_precision_type)      # MindSpore keeps it twice
    return new


@contextmanager
def unchanged(net: nn.Cell):
    """Puts back what mindspore.rewrite and MindSpore's containers change while a cell is put into another: the names of the parameters."""
    parameters = [(p, p.name, p.is_init) for p in net.get_parameters()]
    path = list(sys.path)
    try:
        yield
    finally:
        for parameter, name, is_init in parameters:
            parameter.name, parameter.is_init = name, is_init
        sys.path[:] = path                     # mindspore.rewrite leaves the folders of the networks there
