"""The decoder of chapter 15 in MindSpore: against plain loops, with each of our kernels, with and without the cache."""
import numpy as np
import pytest

from helpers.frameworks import launcher
from helpers.frameworks.llama import model as llama

ms = pytest.importorskip("mindspore", reason="MindSpore is not installed: pip install mindspore")
from helpers.frameworks.llama import network  # noqa: E402

real = pytest.mark.skipif(llama.find_file() is None, reason=f"the model's package is not installed: {llama.INSTALL}")
TOKENS = [5, 17, 200, 3, 64, 64, 9]


@pytest.fixture(scope="module")
def small():
    return llama.small()


def loops(model, tokens) -> np.ndarray:
    """Scores of the next token in float64: one position after the other, one head after the other, no cache."""
    s, w = model.sizes, {k: v.astype(np.float64) for k, v in model.weights.items()}

    def norm(row, gamma):
        return row / np.sqrt(np.mean(row * row) + s.eps) * gamma

    def turn(head, position):
        out, half = np.empty_like(head), s.dim // 2
        for i in range(half):
            angle = position * s.base ** (-2.0 * i / s.dim)
            out[i] = head[i] * np.cos(angle) - head[i + half] * np.sin(angle)
            out[i + half] = head[i + half] * np.cos(angle) + head[i] * np.sin(angle)
        return out
    rows = [w["embedding"][t] for t in tokens]
    for n in range(s.layers):
        normed = [norm(r, w[f"{n}.norm_a"]) for r in rows]
        keys = [[turn(h, p) for h in (w[f"{n}.k"] @ y).reshape(s.kv_heads, s.dim)] for p, y in enumerate(normed)]
        values = [(w[f"{n}.v"] @ y).reshape(s.kv_heads, s.dim) for y in normed]
        for p, y in enumerate(normed):
            seen = []
            for h, q in enumerate((w[f"{n}.q"] @ y).reshape(s.heads, s.dim)):
                group = h // (s.heads // s.kv_heads)
                scores = np.array([turn(q, p) @ keys[j][group] / np.sqrt(s.dim) for j in range(p + 1)])
                chances = np.exp(scores - scores.max())
                seen.append(sum(c * values[j][group] for j, c in enumerate(chances / chances.sum())))
            rows[p] = rows[p] + w[f"{n}.o"] @ np.concatenate(seen)
        for p, row in enumerate(rows):
            y = norm(row, w[f"{n}.norm_f"])
            gate = w[f"{n}.gate"] @ y
            rows[p] = row + w[f"{n}.down"] @ (gate / (1 + np.exp(-gate)) * (w[f"{n}.up"] @ y))
    return w["embedding"] @ norm(rows[-1], w["norm"])


@pytest.mark.parametrize("kernels", [(), *((k,) for k in network.KERNELS), network.KERNELS], ids=lambda k: "+".join(k) or "MindSpore")
def test_scores_are_those_of_the_loops(small, kernels):
    net = network.build(small, kernels)
    expected = loops(small, TOKENS)
    before = launcher.totals()[0]
    np.testing.assert_allclose(net(TOKENS).asnumpy(), expected, rtol=1e-4, atol=2e-3)
    per_layer = {"rms_norm": 2, "swiglu": 1, "rope": 2, "attention": 1}
    assert launcher.totals()[0] - before == sum(per_layer[k] for k in kernels) * 2 + ("rms_norm" in kernels)


@pytest.mark.parametrize("kernels", [(), network.KERNELS], ids=["MindSpore", "ours"])
def test_the_cache_changes_nothing(small, kernels):
    net = network.build(small, kernels)
    expected = loops(small, TOKENS)
    for first in (1, 3, 6):
        net.forget()
        net(TOKENS[:first])
        for t in TOKENS[first:]:
            scores = net([t])
        np.testing.assert_allclose(scores.asnumpy(), expected, rtol=1e-4, atol=2e-3)
    assert net.position == len(TOKENS) and net.cache[0][0].shape == (1, 2, len(TOKENS), 16)


def test_a_position_off_by_one_is_seen_in_the_scores(small):
    net = network.build(small)
    net.shift = 1
    net(TOKENS[:3])
    for t in TOKENS[3:]:
        scores = net([t])
    assert np.abs(scores.asnumpy() - loops(small, TOKENS)).max() > 0.05


def test_the_same_tokens(small):
    answers = [network.generate(network.build(small, kernels), small, TOKENS, count=6) for kernels in ((), network.KERNELS)]
    assert answers[0] == answers[1] and len(answers[0]) == 6
    with pytest.raises(ValueError, match="There is no kernel softmax in this network"):
        network.build(small, ("softmax",))


def test_networks_of_a_model_share_its_weights(small):
    a, b = network.build(small), network.build(small, network.KERNELS)
    assert a.layers[0].q is b.layers[0].q and a.head is b.head
    np.testing.assert_array_equal(a.layers[1].down.asnumpy(), small.weights["1.down"].T)


@real
def test_the_real_model_answers_a_question():
    model = llama.load()
    net = network.build(model)
    question = model.tokenizer.chat("What is the capital of France?")
    tokens = network.generate(net, model, question, count=8)
    assert "Paris" in model.tokenizer.decode(tokens)
    ours = network.build(model, network.KERNELS)
    net.forget()
    a, b = net(question).asnumpy(), ours(question).asnumpy()
    assert a.argmax() == b.argmax() == tokens[0] and np.abs(a - b).max() < 1e-3 * np.ptp(a)
