"""The language model of chapter 15 as data: the GGUF file, its words, the small model, and where the time of a layer goes."""
import importlib.util
import os
import struct
from dataclasses import replace

import numpy as np
import pytest

from helpers.frameworks.llama import gguf_file, model as llama, shares
from helpers.frameworks.llama.tokenizer import Bytes, Tokenizer

real = pytest.mark.skipif(llama.find_file() is None, reason=f"the model's package is not installed: {llama.INSTALL}")


# ---- the file
def block_file(tmp_path, kind: int, raw: bytes, rows: int, version: int = 3, magic: bytes = b"GGUF"):
    """A GGUF file with a few values and one tensor of rows of 32."""
    def text(s):
        return struct.pack("<Q", len(s.encode())) + s.encode()
    values = text("general.name") + struct.pack("<I", 8) + text("a model") + text("numbers") + struct.pack("<IIQ3i", 9, 5, 3, 7, -8, 9) + \
        text("words") + struct.pack("<IIQ", 9, 8, 2) + text("ab") + text("ü") + text("yes") + struct.pack("<IB", 7, 1)
    info = text("w") + struct.pack("<I2QIQ", 2, 32, rows, kind, 0)
    head = magic + struct.pack("<IQQ", version, 1, 4) + values + info
    path = tmp_path / "small.gguf"
    path.write_bytes(head + bytes(-len(head) % 32) + raw)
    return path


def test_values_of_a_file(tmp_path):
    found = gguf_file.open_file(block_file(tmp_path, 0, np.arange(64, dtype=np.float32).tobytes(), 2))
    assert found.values == {"general.name": "a model", "numbers": [7, -8, 9], "words": ["ab", "ü"], "yes": True}
    np.testing.assert_array_equal(found.weight("w"), np.arange(64, dtype=np.float32).reshape(2, 32))


def test_quantised_blocks(tmp_path):
    """The formats by hand: x = scale * number + offset, two numbers in a byte, the low halves first."""
    random = np.random.default_rng(0)
    scale, offset = random.standard_normal((2, 3)).astype(np.float16)
    numbers = random.integers(0, 16, (3, 32), dtype=np.uint8)
    packed = b"".join(struct.pack("<ee", s, o) + bytes(int(n[i]) | int(n[i + 16]) << 4 for i in range(16)) for s, o, n in zip(scale, offset, numbers))
    got = gguf_file.open_file(block_file(tmp_path, 3, packed, 3)).weight("w")
    np.testing.assert_allclose(got, numbers * scale[:, None].astype(np.float32) + offset[:, None].astype(np.float32), rtol=1e-6)
    signed = random.integers(-128, 128, (2, 32), dtype=np.int8)
    got = gguf_file.open_file(block_file(tmp_path, 8, b"".join(struct.pack("<e", s) + n.tobytes() for s, n in zip(scale, signed)), 2)).weight("w")
    np.testing.assert_array_equal(got, signed * scale[:2, None].astype(np.float32))
    got = gguf_file.open_file(block_file(tmp_path, 1, scale.tobytes() * 32, 3)).weight("w")
    assert got.dtype == np.float32 and np.array_equal(got.ravel(), np.tile(scale, 32).astype(np.float32))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="small.gguf is not a GGUF file"):
        gguf_file.open_file(block_file(tmp_path, 0, b"", 1, magic=b"GGML"))
    with pytest.raises(ValueError, match="version 9 of the format"):
        gguf_file.open_file(block_file(tmp_path, 0, b"", 1, version=9))
    with pytest.raises(ValueError, match=r"w of small.gguf has the format 12; here are 0 \(F32\)"):
        gguf_file.open_file(block_file(tmp_path, 12, b"", 1))


@real
@pytest.mark.skipif("ASCEND_WORKBOOK_SLOW" not in os.environ, reason="the gguf package takes its time to read the file: set ASCEND_WORKBOOK_SLOW=1")
def test_the_real_file_as_its_own_library_reads_it():
    gguf = pytest.importorskip("gguf", reason="gguf is not installed")
    mine = gguf_file.open_file(llama.find_file())
    theirs = gguf.GGUFReader(llama.find_file())
    assert {t.name for t in theirs.tensors} == set(mine.tensors) and mine.values["llama.block_count"] == 30
    for tensor in theirs.tensors[:8]:
        np.testing.assert_allclose(mine.weight(tensor.name), gguf.quants.dequantize(tensor.data, tensor.tensor_type), rtol=1e-6, atol=1e-7)


# ---- which model
@real
def test_the_real_model():
    model = llama.load(layers=1)
    assert model.sizes == llama.Sizes(layers=1, width=576, heads=9, kv_heads=3, inner=1536, vocabulary=49_152, base=100_000.0, eps=1e-5)
    assert model.weights["embedding"].shape == (49_152, 576) and model.weights["0.k"].shape == (192, 576) and "1.k" not in model.weights


def test_without_the_package_the_model_is_small_and_the_same_every_time(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == llama.PACKAGE else find(name, *rest))
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
def test_words_of_the_real_model():
    words = llama.load(layers=1).tokenizer
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
