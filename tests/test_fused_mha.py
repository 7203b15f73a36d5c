"""kernels/fused_mha: attention with its projections in one launch, beside the same in seven."""
import ml_dtypes
import numpy as np
import pytest

import helpers as hp
from attention_cases import LIMITS, head_error, row_error, run_layer
from chapters import assert_comment, kernel_cells, serious
from helpers.course import changed, load

ladder = load("fused_mha", "ladder")


@pytest.fixture(scope="module")
def kernel():
    return ladder.compile()


@pytest.fixture(scope="module", params=LIMITS)
def typed(request):
    return request.param, ladder.compile(dtype=request.param), LIMITS[request.param]


def layer(batch, seq, hidden, bias=True, dtype=np.float16, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((batch, seq, hidden)).astype(dtype)
    weights = [(random.standard_normal((hidden, hidden)) / np.sqrt(hidden)).astype(dtype) for _ in range(4)]
    return x, weights, [(0.1 * random.standard_normal(hidden)).astype(np.float32) for _ in range(4)] if bias else None


def fused(x, weights, biases, heads, kernel, **options):
    y = np.empty_like(x)
    y.view(np.uint8)[:] = 0xA5
    before = [a.tobytes() for a in (x, *weights)]
    run = ladder.launch(x, weights, biases, y, heads, kernel=kernel, **options)
    assert [a.tobytes() for a in (x, *weights)] == before
    return y, run


def test_the_oracle_is_the_formula():
    x, weights, biases = layer(1, 3, 4)
    q, k, v = ([x[0].astype(np.float64) @ w.astype(np.float64) + b for w, b in zip(weights[:3], biases[:3])])
    o = np.zeros((3, 4))
    for i in range(3):
        for h in (0, 2):
            p = np.exp(q[i, h:h + 2] @ k[: i + 1, h:h + 2].T / np.sqrt(2))
            o[i, h:h + 2] = p / p.sum() @ v[: i + 1, h:h + 2]
    assert ladder.oracle(x, weights, biases, 2, causal=True)[0] == pytest.approx(o @ weights[3].astype(np.float64) + biases[3])


@pytest.mark.parametrize("batch, seq, hidden, heads, bias, mask", [
    (1, 128, 512, 8, True, "none"), (1, 129, 520, 8, False, "causal"), (2, 70, 130, 2, True, "random"), (1, 1, 64, 4, True, "none"), (3, 33, 96, 3, True, "both"),
    (1, 300, 256, 1, False, "none"), (2, 17, 15, 5, True, "causal")])
def test_any_shape(typed, batch, seq, hidden, heads, bias, mask):
    dtype, kernel, limit = typed
    x, weights, biases = layer(batch, seq, hidden, bias, dtype, seed=seq)
    causal = mask in ("causal", "both")
    hidden_scores = (np.random.default_rng(1).random((batch, seq, seq)) < 0.4).astype(np.uint8) if mask in ("random", "both") else None
    if hidden_scores is not None:
        hidden_scores[0, -1] = 1                                # this token sees nothing: its y is the bias of the output
    y, run = fused(x, weights, biases, heads, kernel, mask=hidden_scores, causal=causal)
    want = ladder.oracle(x, weights, biases, heads, hidden_scores, causal)
    assert head_error(y, want) <= limit and row_error(y, want) <= 2 * limit and serious(run) == []
    if hidden_scores is not None:
        assert np.abs(y[0, -1] - biases[3]).max() < limit


@pytest.mark.parametrize("seed", range(6))
def test_random_layers(typed, seed):
    dtype, kernel, limit = typed
    errors, _, run = run_layer(seed + 300, kernel, dtype)
    assert errors[0] <= limit and serious(run) == []


def test_bfloat16():
    x, weights, biases = layer(1, 67, 96, dtype=ml_dtypes.bfloat16)
    y, _ = fused(x, weights, biases, 3, ladder.compile(dtype=ml_dtypes.bfloat16), causal=True)
    assert head_error(y, ladder.oracle(x, weights, biases, 3, causal=True)) < 8e-3


def test_one_launch_beside_seven(typed):
    dtype, kernel, limit = typed
    x, weights, biases = layer(1, 128, 512, dtype=dtype)
    y, run = fused(x, weights, biases, 8, kernel)
    z = np.zeros_like(x)
    parts = ladder.unfused(x, weights, biases, z, 8)
    want = ladder.oracle(x, weights, biases, 8)
    assert head_error(z, want) <= 2 * limit and head_error(y, want) <= limit
    assert list(parts) == ["q", "k", "v", "q k^T", "softmax", "p v", "output"]
    total = sum(p.time_us for p in parts.values())
    assert run.time_us < total - 6 * 1.2                        # at least most of six launches
    assert run.totals["gm_read_bytes"] < sum(p.totals["gm_read_bytes"] for p in parts.values())


def test_what_does_not_fit_is_said():
    x = np.zeros((1, 8, 600), np.float16)
    with pytest.raises(ValueError, match="600 elements for 2 heads"):
        ladder.tiling(x, 2)
    with pytest.raises(ValueError, match="600 elements for 7 heads"):
        ladder.tiling(x, 7)
    with pytest.raises(ValueError, match="does not fit.*UB"):
        ladder.tiling(np.zeros((1, 512, 256), np.float16), 2, rows=128, block=512)


def test_a_missing_meeting_is_named(kernel):
    text = changed(ladder.FUSED.text, "Base::projectedGm);\n        SyncAll<false>();   // q, k and v are complete\n", "Base::projectedGm);\n")
    text = changed(text, "        SyncAll<false>();   // q, k and v are complete\n", "")
    x, weights, biases = layer(1, 128, 128)
    with pytest.raises(hp.KernelError, match="BLOCK_CONFLICT"):
        fused(x, weights, biases, 2, hp.compile(text, name="fused_mha_half"))


# ---- the chapter
@pytest.mark.parametrize("version", [ladder.FUSED, ladder.PRODUCT], ids=lambda v: v.name)
def test_every_kernel_says_what_and_why(version):
    assert_comment(version, version.path.stem)


def test_the_kernel_of_the_chapter_is_the_file():
    assert kernel_cells("09_fused_mha")[0] + "\n" == ladder.FUSED.text
