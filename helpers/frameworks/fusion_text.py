"""The text of one cell, as mindspore.rewrite reads it: its calls in order, and the names that each of them reads and writes.

The tool links a call to those that take its result. It does not see readers inside an if, a loop, a comprehension or
a subscript; so who reads a name is looked up in the text.
"""
from __future__ import annotations

import ast
import inspect
import os
import sys
from contextlib import contextmanager

from mindspore import nn
from mindspore.rewrite import Node, NodeType, SymbolTree
from mindspore.rewrite.common import namespace

from .fusion_cells import of_mindspore


class Unread(ValueError):
    """Why mindspore.rewrite cannot read a cell, or write it again: "Block, as ..."."""


@contextmanager
def _one_cell():
    """Children stay calls of this cell. Else each would be read too, and be copied once for each place that it has."""
    namespace._subtree_black_list.append(nn.Cell)
    try:
        yield
    finally:
        namespace._subtree_black_list.remove(nn.Cell)


def read(cell: nn.Cell) -> SymbolTree:
    """A class without a construct of its own is read as an empty one, so it is refused here."""
    kind = type(cell)
    writer = next(k for k in kind.__mro__ if "construct" in vars(k))
    if writer is not kind:
        raise Unread(f"{kind.__name__}, as its construct is in the base class {writer.__name__}: mindspore.rewrite does not look there")
    try:
        with _one_cell():
            return SymbolTree.create(cell)
    except Exception as error:
        raise Unread(f"{kind.__name__}, as {_reason(kind, error)}") from error


def write(tree: SymbolTree, kind: type) -> nn.Cell:
    """The network of a tree. What the file of its class calls by a global name is known in the new file too."""
    try:
        with _one_cell():
            new = tree.get_network()
    except Exception as error:
        raise Unread(f"{kind.__name__}, as {_reason(kind, error)}") from error
    names = vars(sys.modules[type(new).__module__])
    for name, value in vars(sys.modules[kind.__module__]).items():
        names.setdefault(name, value)
    return new


def has_text(cell: nn.Cell) -> bool:
    """Is there a construct that MindSpore has not written?"""
    return not of_mindspore(next(k for k in type(cell).__mro__ if "construct" in vars(k)))


def _reason(kind: type, error: Exception) -> str:
    advice = "put it into a .py file, at the top level, and import it"
    if "<locals>" in kind.__qualname__:
        return f"its class was made inside a function, and mindspore.rewrite does not know the names there: {advice}"
    try:
        file = inspect.getfile(kind)
    except (TypeError, OSError):
        file = ""
    if not os.path.exists(file):
        return f"its class was made in a notebook cell or at a prompt, and mindspore.rewrite reads files: {advice}"
    words = " ".join(str(error).partition("----")[0].split())             # below the line it quotes the class
    return f"mindspore.rewrite says {type(error).__name__}: {words[:300]}"


def inner(tree: SymbolTree) -> list[Node]:
    """Calls that are not statements of construct: those in bodies, methods and functions."""
    outer = {n.get_name() for n in tree.nodes()}
    return [n for n in tree.nodes(all_nodes=True) if n.get_name() not in outer]


def reads(node: Node) -> set[str]:
    found = {n.id for n in _walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found | {n.target.id for n in _walk(node) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


def writes(node: Node) -> set[str]:
    return {n.id for n in _walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def readers(order: list[Node], node: Node) -> list[Node]:
    """Who reads the first result of a call: up to the call that gives its name another value."""
    name, found = str(node.get_targets()[0]), []
    at = [n.get_name() for n in order].index(node.get_name())
    for other in order[at + 1:]:
        if name in reads(other):
            found.append(other)
        if name in writes(other) and other.get_node_type() != NodeType.ControlFlow:      # a body may not run
            break
    return found


def _walk(node: Node):
    text = node.get_handler().get_ast()
    return ast.walk(text) if text is not None else ()
