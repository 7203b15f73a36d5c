"""The kernels that the gate runs, small enough for every commit: fixed data, float64 reference."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

import numpy as np

from ..course.kernels import load
from ..run import Run


@dataclass(frozen=True)
class Case:
    """run(target) -> the run, what came out, the reference, the number of rows."""
    name: str
    run: Callable[[str], tuple[Run, np.ndarray, np.ndarray, int]]


def _random(shape, seed: int):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def _add(target: str):
    ladder = load("add", "ladder")
    version = ladder.VERSIONS[4]
    x, y = _random((512, 1024), 1), _random((512, 1024), 2)
    z = np.zeros_like(x)
    run = ladder.launch(version, x, y, z, kernel=ladder.compile(version, target=target))
    return run, z, x.astype(np.float64) + y.astype(np.float64), x.shape[0]


def _rms_norm(target: str):
    ladder = load("rms_norm", "ladder")
    version = ladder.VERSIONS[4]
    x, gamma = _random((96, 512), 3), _random(512, 4)
    y = np.zeros_like(x)
    run = ladder.launch(version, x, gamma, y, kernel=ladder.compile(version, x.dtype, target=target))
    wide = x.astype(np.float64)
    return run, y, wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6) * gamma.astype(np.float64), x.shape[0]


def _softmax(target: str):
    ladder = load("softmax", "ladder")
    version = ladder.VERSIONS[1]
    x = _random((96, 512), 5)
    y = np.zeros_like(x)
    run = ladder.launch(version, x, y, kernel=ladder.compile(version, x.dtype, target=target))
    e = np.exp(x.astype(np.float64) - x.astype(np.float64).max(1, keepdims=True))
    return run, y, e / e.sum(1, keepdims=True), x.shape[0]


def _swiglu(target: str):
    ladder = load("swiglu", "ladder")
    gate, up = _random((96, 512), 6), _random((96, 512), 7)
    y = np.zeros_like(gate)
    run = ladder.launch(ladder.FUSED, gate, up, y, kernel=ladder.compile(ladder.FUSED, gate.dtype, target=target))
    g = gate.astype(np.float64)
    return run, y, g / (1 + np.exp(-g)) * up.astype(np.float64), gate.shape[0]


CASES = (Case("add", _add), Case("rms_norm", _rms_norm), Case("softmax", _softmax), Case("swiglu", _swiglu))
