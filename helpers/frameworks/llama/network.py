"""A decoder of the LLaMA family in MindSpore: RMSNorm, rotary positions, grouped attention with a KV cache, SwiGLU, residuals.

    net = network.build(model)                                   # MindSpore's operators
    net = network.build(model, kernels=("rms_norm", "rope"))     # some of ours
    network.generate(net, model, tokens, count=8)
"""
from __future__ import annotations

import weakref

import numpy as np
from mindspore import nn, ops

from ..mindspore import ms, op
from .model import Model, Sizes

KERNELS = ("rms_norm", "swiglu", "rope", "attention")
_matmul, _scores, _sums, _softmax = ops.MatMul(), ops.BatchMatMul(transpose_b=True), ops.BatchMatMul(), ops.Softmax(-1)


_tensors: dict[int, tuple] = {}        # networks of the same weights share their tensors


def tensor(weight: np.ndarray):
    """A weight as MindSpore's tensor; matrices as [in, out]."""
    known = _tensors.get(id(weight))
    if known is None or known[0]() is not weight:
        array = weight if weight.ndim == 1 else np.ascontiguousarray(weight.T)
        known = _tensors[id(weight)] = weakref.ref(weight, lambda _, key=id(weight), table=_tensors: table.pop(key, None)), ms.Tensor.from_numpy(array)
    return known[1]


# ---- MindSpore's operators
def rms_norm(x, gamma, eps):
    return x * ops.rsqrt((x * x).mean(-1, True) + eps) * gamma


def rope(x, cos, sin):
    """x: positions, heads, dim; the halves of a head are turned by the angles of the position."""
    half = x.shape[-1] // 2
    a, b, c, s = x[..., :half], x[..., half:], cos[:, None, :], sin[:, None, :]
    return ops.cat((a * c - b * s, b * c + a * s), -1)


def attention(q, k, v):
    """Heads of q share heads of k and v: their queries stand in one long list. A query sees the keys up to its own
    position; it is one of the last."""
    heads, queries, dim = q.shape[1:]
    groups, keys = k.shape[1:3]
    q = q.reshape((groups, heads // groups * queries, dim))
    scores = _scores(q, k[0]) * dim ** -0.5
    if queries > 1:
        late = np.arange(keys) > np.arange(queries)[:, None] + keys - queries
        scores = scores + ms.Tensor(np.tile(np.where(late, np.float32(-1e9), np.float32(0)), (heads // groups, 1)))
    return _sums(_softmax(scores), v[0]).reshape((1, heads, queries, dim))


def swiglu(gate, up):
    return ops.silu(gate) * up


class Operators:
    """What the layers call: our kernels where they are asked for, else MindSpore's."""

    def __init__(self, eps: float, kernels=()):
        unknown = set(kernels) - set(KERNELS)
        if unknown:
            raise ValueError(f"There is no kernel {sorted(unknown)[0]} in this network. It has {', '.join(KERNELS)}.")
        ours = {name: op(name, gradient=False, **attrs) for name, attrs in
                (("rms_norm", {"eps": eps}), ("add_rms_norm", {"eps": eps}), ("rope", {}), ("attention", {"causal": True}), ("swiglu", {}))}
        norm = "rms_norm" in kernels
        self.norm = ours["rms_norm"] if norm else lambda x, gamma: rms_norm(x, gamma, eps)
        self.add_norm = ours["add_rms_norm"] if norm else self._add_norm
        self.rope = ours["rope"] if "rope" in kernels else rope
        self.attention = ours["attention"] if "attention" in kernels else attention
        self.swiglu = ours["swiglu"] if "swiglu" in kernels else swiglu

    def _add_norm(self, x, residual, gamma):
        total = x + residual
        return self.norm(total, gamma), total


class Layer(nn.Cell):
    """One of the layers. It takes what the attention of the layer before has left to be added, and returns its own."""

    def __init__(self, sizes: Sizes, weights: dict, number: int, operators: Operators):
        super().__init__()
        self.sizes, self.ops = sizes, operators
        for name in ("norm_a", "q", "k", "v", "o", "norm_f", "gate", "up", "down"):
            setattr(self, name, tensor(weights[f"{number}.{name}"]))

    def construct(self, stream, more, cos, sin, keys, values):
        """stream + more is the input; keys and values are the cache of this layer, [1, kv heads, positions, dim]."""
        sizes, length = self.sizes, stream.shape[0]
        y, stream = self.ops.add_norm(more, stream, self.norm_a)
        q = self.ops.rope(_matmul(y, self.q).reshape((length, sizes.heads, sizes.dim)), cos, sin)
        k = self.ops.rope(_matmul(y, self.k).reshape((length, sizes.kv_heads, sizes.dim)), cos, sin)
        v = _matmul(y, self.v).reshape((length, sizes.kv_heads, sizes.dim))
        keys, values = _append(keys, k), _append(values, v)
        seen = self.ops.attention(q.swapaxes(0, 1).expand_dims(0).contiguous(), keys, values)
        seen = seen[0].swapaxes(0, 1).reshape((length, sizes.width))
        y, stream = self.ops.add_norm(_matmul(seen, self.o), stream, self.norm_f)
        return stream, _matmul(self.ops.swiglu(_matmul(y, self.gate), _matmul(y, self.up)), self.down), keys, values


def _append(cache, new):
    """The cache with the new positions behind it."""
    new = new.swapaxes(0, 1).expand_dims(0)
    return (new if cache is None else ops.cat((cache, new), 2)).contiguous()


class Llama(nn.Cell):
    """Tokens to the scores of the next one. The cache grows with every call; `forget` empties it."""

    def __init__(self, model: Model, kernels=()):
        super().__init__()
        self.sizes = model.sizes
        operators = Operators(self.sizes.eps, kernels)
        self.layers = nn.CellList([Layer(self.sizes, model.weights, i, operators) for i in range(self.sizes.layers)])
        self.embedding = model.weights["embedding"]
        self.head, self.norm = tensor(model.weights.get("output", self.embedding)), tensor(model.weights["norm"])
        self.ops = operators
        self.shift = 0                        # added to every position after the first call: for the mistake of the chapter
        self.forget()

    def forget(self) -> None:
        self.cache = [(None, None)] * self.sizes.layers
        self.position = 0

    def construct(self, tokens):
        stream = ms.Tensor(self.embedding[tokens])
        cos, sin = angles(self.sizes, self.position + (self.shift if self.position else 0), len(tokens))
        more = ops.zeros_like(stream)
        for number, layer in enumerate(self.layers):
            stream, more, keys, values = layer(stream, more, cos, sin, *self.cache[number])
            self.cache[number] = keys, values
        self.position += len(tokens)
        last, _ = self.ops.add_norm(more[-1:], stream[-1:], self.norm)
        return _matmul(last, self.head)[0]


def angles(sizes: Sizes, first: int, count: int):
    """cos and sin of the rotary angles of these positions."""
    angle = np.arange(first, first + count)[:, None] * sizes.base ** (-2.0 * np.arange(sizes.dim // 2) / sizes.dim)
    return ms.Tensor(np.cos(angle).astype(np.float32)), ms.Tensor(np.sin(angle).astype(np.float32))


def build(model: Model, kernels=()) -> Llama:
    """The network of a model; kernels: which of KERNELS are ours."""
    return Llama(model, kernels)


def generate(net: Llama, model: Model, tokens: list[int], count: int = 8) -> list[int]:
    """The most likely next tokens, one after the other: first the whole question at once (prefill), then one by one (decode)."""
    net.forget()
    out: list[int] = []
    while len(out) < count:
        scores = net(tokens if not out else out[-1:]).asnumpy()
        out.append(int(scores.argmax()))
        if out[-1] == model.tokenizer.end:
            break
    return out
