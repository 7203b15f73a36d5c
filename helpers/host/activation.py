"""Workspace of the activations."""
from __future__ import annotations

from math import prod

from .common import Api, TmpSize, call_size

_ORDER = ("Sigmoid", "Silu", "Swish", "Gelu", "FasterGelu", "FasterGeluV2", "SwiGLU", "GeGLU", "ReGlu")   # as enum Activation


class ActivationApi(Api):
    def size(self, shape, dtype, options: dict) -> TmpSize:
        self.check_options(options)
        return call_size("tw_host_activation_size", _ORDER.index(self.name), prod(self.dims(shape)), self.type_size(dtype))


APIS = {name: ActivationApi(name, ("float16", "bfloat16", "float32") if name == "ReGlu" else ("float16", "float32")) for name in _ORDER}
