"""Finds patterns in a network and puts our kernels in their place, with mindspore.rewrite.

    fused, report = fusion.fuse(net)
    print(report)                                  # what was replaced, and what was left alone and why
    fusion.operators(fused, *inputs)               # the nodes of the compiled graph

The network is looked into together with the cells inside it, see fuse. A pattern lies in the construct of one cell.
It fires only when nobody else needs what lies inside it: the fused kernel never writes it to memory.
It takes the place of the last node, so what the nodes before it read must still be there under the same names.
Shapes and types come with the tensors: the Cells of networks/fused.py decide then whether their kernel takes them.
A pass of MindSpore's optimiser knows them from the start, see fusion_pass.py.
"""
from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import Callable

from mindspore import nn, ops
from mindspore.rewrite import Node, NodeType, ScopedValue, SymbolTree, ValueType

from . import fusion_cells as cells, fusion_text as text
from .mindspore import ms
from .networks import fused
from .networks.unfused import RMSNorm

# What a graph holds beside operators: values, order, tuples.
_NO_OPERATORS = {"Constant", "Load", "MakeTuple", "TupleGetItem", "UpdateState", "Depend", "Return"}


@dataclass
class Report:
    """Lines like "blocks.0: add + norm -> add_rms_norm": the place of the cell, "" for the network itself, and its calls."""
    fused: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)      # patterns that were seen and must not fire
    unread: list[str] = field(default_factory=list)    # cells that were not looked into, though they are of the user's classes

    def __str__(self) -> str:
        lines = [*(f"fused: {f}" for f in self.fused), *(f"left:  {f}" for f in self.left)] or ["no pattern was found"]
        return "\n".join([*lines, *(f"not read: {f}" for f in self.unread)])


@dataclass(frozen=True)
class Pattern:
    """A chain of nodes, first to last, each the producer of an input of the next."""
    name: str
    chain: tuple[type, ...]
    build: Callable            # (the Cells or Primitives of the chain, its nodes) -> (Cell, its inputs) or a reason why not
    keeps: tuple[int, ...] = ()     # of the chain: results that the kernel writes too, behind its first output


def fuse(net: nn.Cell, patterns=None) -> tuple[nn.Cell, Report]:
    """A network with our kernels, and what was done. The old one is left as it is.

    Both share their parameters, under the same names, and each cell in which nothing was replaced. A cell that is
    there twice is replaced by one cell.

    Looked into: the network, its cells of your own classes, nn.SequentialCell, nn.CellList and nn.CellDict, at any depth.
    Not looked into: layers of mindspore.nn and what lies inside them, the bodies of if, for and while, methods and
    functions that construct calls, a construct of a base class, and classes without a file: those made in a notebook cell.
    A cell that holds others may be one of these: those inside it are looked into all the same.
    """
    patterns = PATTERNS if patterns is None else patterns
    closed = (RMSNorm, *(kind for p in patterns for kind in p.chain))
    report, place, done, unread = Report(), cells.places(net, closed), {}, {}

    def visit(cell: nn.Cell) -> nn.Cell:
        if id(cell) in done:
            return done[id(cell)]
        done[id(cell)] = cell                        # a cell may hold itself
        inner = [child for _, child in cells.children(cell) if cells.looks_into(child, closed)]
        new = None
        try:
            if cell._recompute_cell is not None:
                raise text.Unread(f"{type(cell).__name__}, as recompute is set for it: set it after the fusion")
            changed = [visit(child) is not child for child in inner]
            if any(changed) or cell is net:
                new = cells.twin(cell, done)
            if text.has_text(cell):
                new = _fuse_cell(cells.twin(cell, done), patterns, _at(place[id(cell)]), report) or new
        except text.Unread as why:
            unread.setdefault(str(why), []).append(place[id(cell)])
        done[id(cell)] = new or cell
        return done[id(cell)]
    with cells.unchanged(net):
        fused_net = visit(net)
    report.unread = [_at(", ".join(filter(None, where))) + why for why, where in unread.items()]
    return fused_net, report


def _fuse_cell(cell: nn.Cell, patterns, where: str, report: Report) -> nn.Cell | None:
    """One cell without a look at its children; None when it stays as it is. The tool may change the cell that it is given."""
    tree, own = text.read(cell), Report()
    for pattern in patterns:
        for last in list(tree.nodes()):
            chain = _match(pattern, last)
            if chain:
                _apply(tree, pattern, chain, own)
        for last in text.inner(tree):
            chain = _match(pattern, last)
            if chain:
                own.left.append(f"{_names(chain)}, as they lie in the body of an if or a loop, or in another function than construct")
    new = cells.twin(text.write(tree, type(cell)), {}) if own.fused else None
    report.fused += [where + f for f in own.fused]
    report.left += [where + f for f in own.left]
    return new


def _at(place: str) -> str:
    """How a line of the report begins; the network itself has no place."""
    return f"{place}: " if place else ""


def _names(chain: list[Node]) -> str:
    return " + ".join(n.get_name() for n in chain)


def _match(pattern: Pattern, last: Node) -> list[Node] | None:
    """The nodes of the chain that ends here, first to last."""
    found, node = [], last
    for kind in reversed(pattern.chain):
        if node is None or node.get_instance_type() is not kind:
            return None
        found.insert(0, node)
        wanted = pattern.chain[len(pattern.chain) - len(found) - 1] if len(found) < len(pattern.chain) else None
        node = next((i for i in node.get_inputs() if i.get_instance_type() is wanted), None) if wanted else None
    return found


def _moved(tree: SymbolTree, chain: list[Node], keeps: tuple[int, ...]) -> str:
    """Why the chain cannot run where its last node is: a name it reads has another value there, or one it keeps comes too late."""
    order = list(tree.nodes())
    place, members = {n.get_name(): i for i, n in enumerate(order)}, {n.get_name() for n in chain}
    end = place[chain[-1].get_name()]
    for at, node in enumerate(chain[:-1]):
        names = {str(a) for a in node.get_args()} | {str(node.get_targets()[0])}
        for other in order[place[node.get_name()] + 1:end]:
            changed = names & text.writes(other)
            if changed and other.get_name() not in members:
                return f"{other.get_name()} gives {changed.pop()} another value in between"
        early = [n for n in (r.get_name() for r in text.readers(order, node)) if n not in members and place[n] < end]
        if at in keeps and early:
            return f"{early[0]} needs {node.get_targets()[0]} before {chain[-1].get_name()}"
    return ""


def _special(chain: list[Node]) -> str:
    """What a Cell of the chain does beside its construct, and would not do any more."""
    for node in chain:
        part = node.get_instance()
        if isinstance(part, nn.Cell):
            if any("hook" in name and value for name, value in vars(part).items()):
                return f"{node.get_name()} has a hook"
            if part.mixed_precision_type != _owner(node).mixed_precision_type:
                return f"to_float is set for {node.get_name()}"
            if part._recompute_cell is not None:
                return f"recompute is set for {node.get_name()}"
    return ""


def _plain(args) -> bool:
    """Only results of other nodes: a weight or a number has a shape of its own, and our kernels do not broadcast."""
    return all(a.type == ValueType.NamingValue and not a.scope for a in args)


def _apply(tree: SymbolTree, pattern: Pattern, chain: list[Node], report: Report) -> None:
    names = _names(chain)
    for at, node in enumerate(chain[:-1]):
        others = [n for n in (r.get_name() for r in text.readers(list(tree.nodes()), node)) if n != chain[at + 1].get_name()]
        if others and at not in pattern.keeps:
            report.left.append(f"{names}, as {', '.join(others)} needs {node.get_targets()[0]} too")
            return
    why = _moved(tree, chain, pattern.keeps) or _special(chain)
    made = why or pattern.build([n.get_instance() for n in chain], chain)
    if isinstance(made, str):
        report.left.append(f"{names}, as {made}")
        return
    cell, inputs = made
    targets = [str(chain[-1].get_targets()[0]), *(str(chain[i].get_targets()[0]) for i in pattern.keeps)]
    if len(set(targets)) < len(targets):          # a kept name is written again by the chain: nobody reads it
        targets[1:] = [f"{pattern.name}_{i}" for i in pattern.keeps]
    users = [list(chain[at].get_users()) for at in pattern.keeps]       # now: the last result may have the same name
    new = Node.create_call_cell(cell, targets, [ScopedValue.create_naming_value(str(i)) for i in inputs], name=pattern.name)
    new = tree.replace(chain[-1], [new])
    for out, at in enumerate(pattern.keeps, start=1):
        for user in users[out - 1]:
            if user.get_name() in [n.get_name() for n in chain]:
                continue
            for number, arg in enumerate(user.get_args()):
                if str(arg) == str(chain[at].get_targets()[0]):
                    user.set_arg_by_node(number, new, out)
    for node in reversed(chain[:-1]):
        tree.erase(node)
    report.fused.append(f"{names} -> {pattern.name}")


def operators(net: nn.Cell, *inputs) -> list[str]:
    """Names of the operators in the compiled graph: the network is exported, and the nodes of the file are read."""
    from mindspore.train.mind_ir_pb2 import ModelProto
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "net.mindir")
        ms.export(net, *inputs, file_name=file, file_format="MINDIR")
        model = ModelProto()
        with open(file, "rb") as f:
            model.ParseFromString(f.read())
    nodes = [n for graph in (model.graph, *model.functions) for n in graph.node]
    names = [n.op_type.removeprefix("REF::").split(":")[0] for n in nodes]
    return [n for n in names if n not in _NO_OPERATORS]


def nodes(net: nn.Cell) -> list[tuple[str, list[str], bool]]:
    """Calls in the order of the network's text: name, the calls whose results it takes, and whether it is a kernel of ours."""
    kinds = tuple(vars(fused)[name] for name in ("AddRMSNorm", "SwiGLU", "Attention"))
    inner = (NodeType.Input, NodeType.Output)
    return [(n.get_name(), [i.get_name() for i in n.get_inputs()], isinstance(getattr(net, n.get_name(), None), kinds))
            for n in text.read(net).nodes() if n.get_node_type() not in inner]


def new_code(net: nn.Cell) -> str:
    """The construct function of a network, as mindspore.rewrite has written or read it."""
    code = text.read(net).get_code()
    return code[code.rindex("    def construct("):].split("\n#")[0].rstrip()


# ---- the patterns
def _add_rms_norm(parts, nodes):
    if not _plain(nodes[0].get_args()):
        return "a weight or a number is added"
    return fused.AddRMSNorm(parts[1]), nodes[0].get_args()


def _swiglu(parts, nodes):
    gate = nodes[0].get_args()[0]
    up = [a for a in nodes[1].get_args() if str(a) != str(nodes[0].get_targets()[0])]
    if len(up) != 1:
        return "both factors are the same"
    if not _plain(up):
        return "the other factor is a weight or a number"
    return fused.SwiGLU(), [gate, up[0]]


def _attention(parts, nodes):
    scores, scale, softmax, values = parts
    if not (scores.transpose_b and not scores.transpose_a and not values.transpose_a and not values.transpose_b):
        return "the products are transposed in another way"
    axis = softmax.axis if isinstance(softmax.axis, (tuple, list)) else (softmax.axis,)
    if tuple(axis) != (-1,):
        return f"the softmax works on axis {axis[0]}"
    others = [str(a) for a in nodes[1].get_args() if str(a) != str(nodes[0].get_targets()[0])]
    factor = getattr(_owner(nodes[1]), others[0].removeprefix("self."), None) if others and others[0].startswith("self.") else None
    if not isinstance(factor, float):
        return "the scale is not a number of the network"
    q, k = nodes[0].get_args()
    p, v = nodes[3].get_args()
    if str(v) == str(nodes[2].get_targets()[0]):
        return "the probabilities are the right factor of the last product"
    return fused.Attention(factor), [q, k, v]


def _owner(node: Node):
    return node.get_symbol_tree().get_handler().get_origin_network()


PATTERNS = (
    Pattern("add_rms_norm", (ops.Add, RMSNorm), _add_rms_norm, keeps=(0,)),
    Pattern("swiglu", (nn.SiLU, ops.Mul), _swiglu),
    Pattern("attention", (ops.BatchMatMul, ops.Mul, ops.Softmax, ops.BatchMatMul), _attention),
)
