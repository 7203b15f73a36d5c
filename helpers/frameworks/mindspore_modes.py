"""The ways to define an operator that articles about MindSpore name, each tried on this machine.

    mindspore_modes.table()        # prints a row for each: what was called, what happened, what it is today
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

from .mindspore import ms, op

_WIDTHS = (10, 44, 0)


@dataclass(frozen=True)
class Row:
    mode: str              # the name in the article
    called: str
    happened: str          # "y is right" or the exception
    today: str

    def __str__(self) -> str:
        return f"{self.mode:10} {self.called:52} {self.happened}\n{'':10} {self.today}"


def double(x):
    """The operator of the table: y = 2 x."""
    return x * 2


def _custom(func, func_type: str, **more):
    return ms.ops.Custom(func, lambda x: x, lambda x: x, func_type, **more)


def _tries() -> list[tuple[str, str, Callable, str]]:
    return [
        ("AOT", 'ops.Custom("….so:rms_norm", …, "aot")', lambda x: op("rms_norm")(x, ms.ops.ones_like(x)), "The way for kernels: a library here, the operator's name on Ascend."),
        ("AOT", 'ops.Custom(…, "aot", reg_format="ND")', lambda x: _custom("./k.so:K", "aot", reg_format="ND")(x), "There is no reg_format; layouts are part of reg_info."),
        ("JIT", 'ops.Custom(function, …, "jit")', lambda x: _custom(double, "jit")(x), "No such func_type. ms.jit compiles a network; it defines no operator."),
        ("JIT", 'ops.Custom(function, …, "pyfunc")', lambda x: _custom(double, "pyfunc")(x), "A Python function on NumPy arrays, on the CPU: good for a reference, slow."),
        ("Hybrid", 'ops.Custom("text in C", …, "hybrid")', lambda x: _custom("for (…) y[i] = 2 * x[i];", "hybrid")(x), "Hybrid is a Python DSL (@ops.kernel), never C; no longer documented."),
        ("TBE", 'ops.Custom(function, …, "tbe")', lambda x: _custom(double, "tbe")(x), "The operator DSL before Ascend C; only where CANN is, and not for new operators."),
    ]


def rows() -> list[Row]:
    """Every row, filled by trying it."""
    x = ms.Tensor(np.arange(4, dtype=np.float32))
    wanted = {"pyfunc": x.asnumpy() * 2, "rms_norm": x.asnumpy() / np.sqrt((x.asnumpy() ** 2).mean() + 1e-6)}
    found = []
    for mode, called, run, today in _tries():
        try:
            y = run(x).asnumpy()
            expected = wanted["rms_norm" if "rms_norm" in called else "pyfunc"]
            happened = "y is right" if np.allclose(y, expected, rtol=1e-5) else f"y is wrong: {y}"
        except Exception as error:
            happened = type(error).__name__
        found.append(Row(mode, called, happened, today))
    return found


def table() -> None:
    """Prints the rows."""
    print("\n".join(map(str, rows())))
