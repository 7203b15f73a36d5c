"""Where the time of one layer goes, at the sizes of a 7 B model in half: by bytes, arithmetic and launches.

    shares.layer(rows=2048, context=2048, fused=False)        # prefill of 2048 tokens, MindSpore's operators
    shares.layer(rows=1, context=2048, fused=True)            # one token of decode, our kernels

Estimates all: what the twin says for our kernels, and for everything else the larger of bytes / HBM and operations /
peak of the cube, plus 1.7 us for each launch. A bound is optimistic: real kernels are slower, so small operators
have a smaller share than here only if they are as good as their bound.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...chips import chip as find_chip
from .. import ops
from .model import Sizes

SEVEN_B = Sizes(layers=32, width=4096, heads=32, kv_heads=32, inner=11_008, vocabulary=32_000)
SMALL = ("RMSNorm", "RoPE", "SwiGLU")
HALF = 2                                # bytes


@dataclass(frozen=True)
class Part:
    """One kind of operator in a layer."""
    name: str
    launches: int
    bytes: float
    us: float
    origin: str                         # "twin" or "bound"


def layer(rows: int, context: int, fused: bool, sizes: Sizes = SEVEN_B, chip: str = "Ascend910B1") -> list[Part]:
    """The parts of one layer for `rows` tokens at once, with `context` keys in the cache at the end."""
    wide, inner = rows * sizes.width * HALF, rows * sizes.inner * HALF            # bytes of one pass over a tensor
    keyed = rows * sizes.kv_heads * sizes.dim * HALF
    if fused:
        small = [_twin("RMSNorm", 2, 2 * 4 * wide, 2 * _us("add_rms_norm", chip, rows, sizes.width)),       # with the residual
                 _twin("RoPE", 2, 2 * (wide + keyed), _us("rope", chip, rows, sizes.heads, sizes.dim) + _us("rope", chip, rows, sizes.kv_heads, sizes.dim)),
                 _twin("SwiGLU", 1, 3 * inner, _us("swiglu", chip, rows, sizes.inner))]
    else:
        # x², mean, + eps, 1 / sqrt, product, product: seven passes, and two residual adds of three passes
        small = [_bound("RMSNorm", 2 * 6, 2 * 7 * wide, 0, chip), _bound("residual adds", 2, 2 * 3 * wide, 0, chip),
                 # for q and k: turn the halves, two products, a sum
                 _bound("RoPE", 2 * 4, 9 * (wide + keyed), 0, chip),
                 # sigmoid, two products
                 _bound("SwiGLU", 3, 8 * inner, 0, chip)]
    return [_products(rows, sizes, chip), _attention(rows, context, fused, sizes, chip), *small]


def share(parts: list[Part], names=SMALL) -> float:
    """Which part of the layer's time these operators take."""
    return sum(p.us for p in parts if p.name in names) / sum(p.us for p in parts)


def table(parts: list[Part]) -> str:
    """Launches, bytes and time of each part, and its share."""
    total = sum(p.us for p in parts)
    lines = [f"{'':16}{'launches':>9}{'GM MB':>9}{'us':>10}{'share':>8}"]
    for p in parts:
        lines.append(f"{p.name:16}{p.launches:>9}{p.bytes / 1e6:>9.1f}{p.us:>10.1f}{p.us / total:>8.0%}  {p.origin}")
    lines.append(f"{'one layer':16}{sum(p.launches for p in parts):>9}{sum(p.bytes for p in parts) / 1e6:>9.1f}{total:>10.1f}")
    return "\n".join(lines)


def _products(rows: int, sizes: Sizes, chip: str) -> Part:
    kv = sizes.kv_heads * sizes.dim
    weights = 2 * sizes.width ** 2 + 2 * sizes.width * kv + 3 * sizes.width * sizes.inner
    moved = HALF * (weights + rows * (5 * sizes.width + 2 * sizes.width + 2 * kv + 3 * sizes.inner))
    return _bound("matrix products", 7, moved, 2 * rows * weights, chip)


def _attention(rows: int, context: int, fused: bool, sizes: Sizes, chip: str) -> Part:
    work = 4 * rows * context * sizes.width / (2 if rows > 1 else 1)              # causal: half of the scores
    moved = HALF * (2 * rows * sizes.width + 2 * context * sizes.kv_heads * sizes.dim)
    if fused:
        return _bound("attention", 1, moved, work, chip)
    scores = HALF * sizes.heads * rows * context
    return _bound("attention", 4, moved + 6 * scores, work * (2 if rows > 1 else 1), chip)      # written and read three times


def _bound(name: str, launches: int, moved: float, operations: float, chip: str) -> Part:
    about = find_chip(chip)
    return Part(name, launches, moved, max(moved / about.hbm_gbps / 1e3, operations / about.fp16_tflops / 1e6) + launches * about.launch_ns / 1e3, "bound")


def _twin(name: str, launches: int, moved: float, us: float) -> Part:
    return Part(name, launches, moved, us, "twin")


@lru_cache(maxsize=None)
def _us(name: str, chip: str, *shape: int) -> float:
    """What the twin says about one of our kernels, in half; a launch is part of it."""
    op = ops.find(name)
    x = np.full(shape, 0.5, np.float16)
    inputs = {"add_rms_norm": lambda: (x, x, np.ones(shape[-1], np.float16)), "swiglu": lambda: (x, x),
              "rope": lambda: (x, *(np.full((shape[0], shape[2] // 2), v, np.float16) for v in (1, 0)))}[name]()
    return op.launch(inputs, op.empty(*inputs), chip=chip, checks="off").time_us
