"""Random shapes, masks and heads for attention against float64. `python tests/attention_cases.py 200` runs so many and prints each,
`python tests/attention_cases.py 200 fused` does the same with fused_mha, and `200 fused float32` with float.

The error is the largest difference divided by the largest expected element, of the head and of the row. p is rounded to half in
v3 to v5, so a row whose values cancel has a larger error of its own. A row that sees no key must be zeros exactly.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np

from helpers.course import load

ladder, mha = load("attention", "ladder"), load("fused_mha", "ladder")
LIMIT = 1e-3            # for half: one step of half is 4.9e-4 to 9.8e-4
LIMITS = {"float16": LIMIT, "float32": 2e-6}


@dataclass
class Case:
    seed: int
    version: str = "v5"
    shape: tuple = ()               # batch, heads, kv heads, queries, keys, dim
    mask: str = "none"
    options: dict = field(default_factory=dict)


def random_case(seed: int) -> Case:
    rng = np.random.default_rng([4, seed])
    version = str(rng.choice(["v1", "v2", "v3", "v4", "v5", "v5"]))
    kv = int(rng.integers(1, 4))
    heads = kv * int(rng.integers(1, 4))
    size = int(rng.choice([40, 130, 300, 600])) if version > "v2" else int(rng.choice([40, 130, 200]))
    queries, keys = (int(n) for n in rng.integers(1, size + 1, 2))
    batch, dim = int(rng.integers(1, 3)), int(rng.choice([16, 64, 128, *rng.integers(1, 257, 3)]))
    if rng.random() < 0.6:
        keys = queries
    if seed % 20 == 7 and version > "v2":                               # some long ones
        batch, kv, heads, queries, keys, dim = 1, 1, 1, int(rng.integers(1, 4097)), int(rng.integers(2000, 4097)), 128
    mask = str(rng.choice(["none", "causal", "random", "per batch", "both"]))
    options = {"tasks": str(rng.choice(ladder.plans.SCHEDULES))} if version == "v5" else {}
    return Case(seed, version, (batch, heads, kv, queries, keys, dim), mask, options)


def arrays(case: Case, dtype=np.float16):
    batch, heads, kv, queries, keys, dim = case.shape
    rng = np.random.default_rng(case.seed)
    q, k, v = (rng.standard_normal(s).astype(dtype) for s in ((batch, heads, queries, dim), (batch, kv, keys, dim), (batch, kv, keys, dim)))
    mask = None
    if case.mask in ("random", "both"):
        mask = (rng.random((queries, keys)) < rng.random()).astype(np.uint8)
    elif case.mask == "per batch":
        mask = (rng.random((batch, queries, keys)) < rng.random((batch, queries, 1))).astype(np.uint8)
        mask[:, -1] = 1                                                 # this row sees nothing
    return q, k, v, mask, case.mask in ("causal", "both")


def _errors(o, expected):
    """The largest error and the largest expected element of each row; inf for anything but zeros where zeros are expected."""
    o, top = np.asarray(o).astype(np.float64), np.abs(expected).max(axis=-1)
    wrong = np.abs(o - expected).max(axis=-1)
    wrong = np.where(np.isnan(wrong), np.inf, wrong)
    return np.where((top == 0) & (wrong > 0), np.inf, wrong), top


def head_error(o, expected) -> float:
    """The largest error divided by the largest element of its head."""
    wrong, top = _errors(o, expected)
    return float((wrong.max(axis=-1) / np.maximum(top.max(axis=-1), 1e-30)).max())


def row_error(o, expected) -> float:
    """The largest error divided by the largest element of its row: large where the values of a row cancel."""
    wrong, top = _errors(o, expected)
    return float((wrong / np.where(top == 0, 1, top)).max())


def run(case: Case, dtype=np.float16, kernel=None):
    """(error of the head, error of the row), and the Run."""
    q, k, v, mask, causal = arrays(case, dtype)
    o = np.empty_like(q)
    o.view(np.uint8)[:] = 0xA5
    before = [a.tobytes() for a in (q, k, v)]
    version = next(x for x in ladder.VERSIONS if x.name == case.version)
    found = ladder.launch(version, q, k, v, o, mask, causal, kernel=kernel, **case.options)
    assert [a.tobytes() for a in (q, k, v)] == before, "an input has changed"
    want = ladder.oracle(q, k, v, mask, causal)
    return (head_error(o, want), row_error(o, want)), found


def random_layer(seed: int, dtype=np.float16):
    """(x, weights, biases, heads, mask, causal) of a fused layer."""
    rng = np.random.default_rng([9, seed])
    batch, seq = int(rng.integers(1, 4)), int(rng.choice([1, 64, 128, *rng.integers(1, 300, 3)]))
    heads = int(rng.choice([1, 2, 3, 4, 8]))
    hidden = heads * int(rng.choice([16, 64, *rng.integers(1, 129, 2)]))
    if seed % 20 == 7:                                                  # some long ones
        batch, seq, heads, hidden = 1, int(rng.integers(1000, 4097)), 2, 128
    x = rng.standard_normal((batch, seq, hidden)).astype(dtype)
    weights = [(rng.standard_normal((hidden, hidden)) / np.sqrt(hidden)).astype(dtype) for _ in range(4)]
    biases = [(0.1 * rng.standard_normal(hidden)).astype(np.float32) for _ in range(4)] if rng.random() < 0.7 else None
    shape = {"one": (seq, seq), "each": (batch, seq, seq)}.get(str(rng.choice(["none", "none", "one", "each"])))
    mask = None if shape is None else (rng.random(shape) < 0.5).astype(np.uint8)
    return x, weights, biases, heads, mask, bool(rng.random() < 0.5)


def run_layer(seed: int, kernel=None, dtype=np.float16):
    """(error of the batch, error of the token), the shape, and the Run."""
    x, weights, biases, heads, mask, causal = random_layer(seed, dtype)
    y = np.empty_like(x)
    y.view(np.uint8)[:] = 0xA5
    found = mha.launch(x, weights, biases, y, heads, mask, causal, kernel=kernel)
    want = mha.oracle(x, weights, biases, heads, mask, causal)
    return (head_error(y, want), row_error(y, want)), (*x.shape, heads), found


def layers(number: int, dtype: str = "float16") -> int:
    kernel, batches, tokens = mha.compile(dtype=dtype), [], []
    for seed in range(number):
        (batch, token), shape, found = run_layer(seed, kernel, dtype)
        wrong = [f.code for f in found.findings if f.severity != "note" and f.code != "NUMERIC"]
        batches.append(batch if not wrong else np.inf)
        tokens.append(token)
        print(f"{seed:4} {str(shape):24} error {batch:.2e} of the batch, {token:.2e} of the token {' '.join(wrong)}", flush=True)
    print(f"{number} layers, largest error {max(batches):.2e} of the batch (limit {LIMITS[dtype]:g}), {max(tokens):.2e} of the token")
    return int(max(batches) > LIMITS[dtype])


def main(number: int) -> int:
    kernels = {v.name: ladder.compile(v) for v in ladder.VERSIONS}
    heads, rows = [], []
    for seed in range(number):
        case = random_case(seed)
        (head, row), found = run(case, kernel=kernels[case.version])
        wrong = [f.code for f in found.findings if f.severity != "note" and f.code != "NUMERIC"]
        heads.append(head if not wrong else np.inf)
        rows.append(row)
        print(f"{seed:4} {case.version} {str(case.shape):32} {case.mask:10} error {head:.2e} of the head, {row:.2e} of the row {' '.join(wrong)}", flush=True)
    print(f"{number} cases, largest error {max(heads):.2e} of the head (limit {LIMIT:g}), {max(rows):.2e} of the row")
    return int(max(heads) > LIMIT)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    sys.exit(layers(wanted, *sys.argv[3:]) if sys.argv[2:3] == ["fused"] else main(wanted))
