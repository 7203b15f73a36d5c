"""The language model of chapter 15 as data: the GGUF file, its words, the small model, and where the time of a layer goes."""
import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from helpers.frameworks.llama import model as llama, shares
from helpers.frameworks.llama.tokenizer import Bytes, Tokenizer

real = pytest.mark.skipif(llama.find_file() is None, reason=f"the model's package is not installed: {llama.INSTALL}")


# ---- the file
ABOUT = {"block_count": 2, "embedding_length": 8, "head_count": 2, "head_count_kv": 1, "feed_forward_length": 12, "vocab_size": 5,
         "rope_freq_base": 500.0, "layer_norm_rms_eps": 1e-5}


def write_file(path, weights, lacking="", name="a model", **about):
    """A GGUF file of a model, written by the library that defines the format."""
    gguf = pytest.importorskip("gguf", reason="gguf is not installed: pip install 'ascend-c-workbook[llama]'")
    writer = gguf.GGUFWriter(path, "llama")
    if name:
        writer.add_name(name)
    for key, value in (ABOUT | about).items():
        if key != lacking:
            getattr(writer, f"add_{key}")(value)
    writer.add_token_list(["a", "b", "ab", "ü", "<|x|>"])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(4)
    for name, weight in weights.items():
        writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def weights():
    random = np.random.default_rng(0)
    found = {"token_embd.weight": random.standard_normal((5, 8)), "output_norm.weight": random.random(8)}
    shapes = {"attn_norm": (8,), "attn_q": (8, 8), "attn_k": (4, 8), "attn_v": (4, 8), "attn_output": (8, 8), "ffn_norm": (8,), "ffn_gate": (12, 8), "ffn_up": (12, 8),
              "ffn_down": (8, 12)}
    found |= {f"blk.{i}.{name}.weight": random.standard_normal(shape) for i in range(2) for name, shape in shapes.items()}
    return {name: w.astype(np.float16 if name.endswith(("gate.weight", "up.weight")) else np.float32) for name, w in found.items()}


@pytest.mark.parametrize("layers", [None, 1])
def test_a_file_as_a_model(tmp_path, weights, layers):
    model = llama.read(write_file(tmp_path / "small.gguf", weights), layers)
    assert model.name == "a model" and model.sizes == llama.Sizes(layers or 2, width=8, heads=2, kv_heads=1, inner=12, vocabulary=5, base=500.0, eps=1e-5)
    assert len(model.weights) == 2 + 9 * (layers or 2) and all(w.dtype == np.float32 for w in model.weights.values())
    for ours, theirs in (("embedding", "token_embd"), ("norm", "output_norm"), ("0.norm_a", "blk.0.attn_norm"), ("0.o", "blk.0.attn_output"), ("0.up", "blk.0.ffn_up"),
                         ("0.down", "blk.0.ffn_down")):
        np.testing.assert_array_equal(model.weights[ours], weights[f"{theirs}.weight"].astype(np.float32))
    turned = [0, 2, 1, 3, 4, 6, 5, 7]                              # neighbours become halves, head by head
    np.testing.assert_array_equal(model.weights["0.q"], weights["blk.0.attn_q.weight"][turned])
    np.testing.assert_array_equal(model.weights["0.k"], weights["blk.0.attn_k.weight"][turned[:4]])
    assert model.tokenizer.encode("ab<|x|>") == [2, 4] and model.tokenizer.end == 4


def test_files_that_cannot_be_read(tmp_path, weights):
    (tmp_path / "short.gguf").write_bytes(b"GGML" + bytes(100))
    with pytest.raises(ValueError, match="short.gguf cannot be read as a GGUF file: .* Fix: install its package again"):
        llama.read(tmp_path / "short.gguf")
    whole = write_file(tmp_path / "whole.gguf", weights).read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:300])
    with pytest.raises(ValueError, match="cut.gguf cannot be read"):
        llama.read(tmp_path / "cut.gguf")
    with pytest.raises(ValueError, match="other.gguf says nothing of llama.block_count"):
        llama.read(write_file(tmp_path / "other.gguf", weights, lacking="block_count"))
    with pytest.raises(ValueError, match="half.gguf has no weights 1.q: 2 layers are announced"):
        llama.read(write_file(tmp_path / "half.gguf", {n: w for n, w in weights.items() if n != "blk.1.attn_q.weight"}))


@pytest.mark.parametrize("more, about, words", [
    ({"blk.0.attn_q.bias": np.ones(8, np.float32)}, {}, "odd.gguf has the weights blk.0.attn_q.bias, and this network has no place for them"),
    ({"rope_freqs.weight": np.ones(2, np.float32)}, {}, "has the weights rope_freqs.weight"),
    ({"blk.1.ffn_up.weight": np.ones((11, 8), np.float32)}, {}, r"odd.gguf: blk.1.ffn_up.weight has the shape \(11, 8\), and by the sizes of the file it is \(12, 8\)"),
    ({"output.weight": np.ones((4, 8), np.float32)}, {}, r"output.weight has the shape \(4, 8\)"),
    ({}, {"head_count": 3}, "8 elements, 3 heads and 1 of keys do not go together"), ({}, {"head_count_kv": 0}, "2 heads and 0 of keys")])
def test_models_that_this_network_is_not(tmp_path, weights, more, about, words):
    with pytest.raises(ValueError, match=words):
        llama.read(write_file(tmp_path / "odd.gguf", weights | more, **about))


def test_a_head_of_its_own_and_no_name(tmp_path, weights):
    head = np.arange(40, dtype=np.float32).reshape(5, 8)
    model = llama.read(write_file(tmp_path / "plain.gguf", weights | {"output.weight": head}, name=""))
    assert model.name == "plain" and np.array_equal(model.weights["output"], head)
    for layers in (0, -1, 1.5):
        with pytest.raises(ValueError, match="say how many are read, 1 to 2"):
            llama.read(tmp_path / "plain.gguf", layers)


# ---- which model
@pytest.fixture(scope="module")
def first_layer():
    return llama.load(layers=1)


@real
def test_the_real_model(first_layer):
    model = first_layer
    assert model.sizes == llama.Sizes(layers=1, width=576, heads=9, kv_heads=3, inner=1536, vocabulary=49_152, base=100_000.0, eps=1e-5)
    assert model.weights["embedding"].shape == (49_152, 576) and model.weights["0.k"].shape == (192, 576) and "1.k" not in model.weights


@pytest.mark.parametrize("lacking", [llama.PACKAGE, llama.READER])
def test_without_the_packages_the_model_is_small_and_the_same_every_time(monkeypatch, lacking):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == lacking else find(name, *rest))
    assert llama.find_file() is None
    first, second = llama.load(), llama.load()
    assert first.name == "two random layers" and first.sizes.layers == 2 and isinstance(first.tokenizer, Bytes)
    assert all(np.array_equal(first.weights[k], second.weights[k]) for k in first.weights)
    assert "--no-deps" in llama.INSTALL


def test_rows_for_the_kernel_that_turns_halves():
    weight = np.arange(8)[:, None] * np.ones((1, 3), np.float32)             # two heads of four rows
    assert llama.halves(weight, 2)[:, 0].tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


# ---- words
def test_pairs_are_joined_in_the_order_of_the_list():
    words = Tokenizer(["a", "b", "c", "ab", "bc", "abc", "Ġ", "<|x|>"], ["b c", "a b", "a bc"], end=7)
    assert words.encode("abc") == [5] and words.encode("ab") == [3] and words.encode("cba") == [2, 1, 0]
    assert words.encode("ab<|x|>c") == [3, 7, 2] and words.decode([5, 6, 3]) == "abc ab"


def test_bytes_are_words_of_the_small_model():
    words = Bytes()
    assert words.decode(words.encode("grün")) == "grün" and max(words.encode("grün")) < 256


@real
def test_words_of_the_real_model(first_layer):
    words = first_layer.tokenizer
    for text in ("What is the capital of France?", "x = 123;  y\n\n", "Schöne Grüße, 你好!", "it's don't  spaces   here"):
        assert words.decode(words.encode(text)) == text
    assert words.encode("123") == [words.numbers[d] for d in "123"]                       # digit by digit
    assert words.chat("Hi")[0] == words.numbers["<|im_start|>"] and words.end == words.numbers["<|im_end|>"]
    assert words.encode(" the") == [words.numbers["Ġthe"]]


# ---- time
def test_floor_of_decode():
    s = shares.SEVEN_B
    weights = 4 * s.width ** 2 + 3 * s.width * s.inner
    part = shares.layer(1, 2048, False)[0]
    assert weights == 202_375_168 and part.us - 7 * 1.7 == pytest.approx(weights * 2 / 1.6e6, rel=0.01)     # activations are nothing
    assert part.bytes == pytest.approx(weights * 2, rel=0.001)


@pytest.mark.parametrize("rows, fused, launches", [(1, False, 36), (1, True, 13), (2048, False, 36), (2048, True, 13)])
def test_launches_of_a_layer(rows, fused, launches):
    if fused and rows > 1:
        rows = 16                                       # the twin need not run the whole prefill here
    parts = shares.layer(rows, 2048, fused)
    assert sum(p.launches for p in parts) == launches
    assert f"{launches:>9}" in shares.table(parts).splitlines()[-1]


def test_bytes_of_a_layer_by_hand():
    """One token: RMSNorm 2 x 4 passes (with its residual) of 8 KB, RoPE 2 x 2, SwiGLU 3 of 22 KB."""
    found = {p.name: p for p in shares.layer(1, 2048, True)}
    assert (found["RMSNorm"].bytes, found["RoPE"].bytes, found["SwiGLU"].bytes) == (8 * 8192, 4 * 8192, 3 * 22_016)
    assert all(found[n].origin == "twin" for n in shares.SMALL) and found["attention"].origin == "bound"
    assert found["attention"].bytes == 2 * (2 * 4096 + 2 * 2048 * 4096)
    grouped = {p.name: p for p in shares.layer(1, 2048, True, sizes=replace(shares.SEVEN_B, kv_heads=8))}
    assert grouped["attention"].bytes == 2 * (2 * 4096 + 2 * 2048 * 1024)


def test_shares():
    apart, together = shares.layer(1, 2048, False), shares.layer(1, 2048, True)
    assert 0.05 < shares.share(together) < shares.share(apart) < 0.2                      # far from 45 %
    assert shares.share(together, [p.name for p in together]) == pytest.approx(1)
    big = shares.layer(2048, 2048, False)
    scores = 32 * 2048 * 2048 * 2
    assert next(p for p in big if p.name == "attention").bytes == 6 * scores + 2 * 2 * 2048 * (4096 + 4096)
