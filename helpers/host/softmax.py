"""Workspace and tiling of the softmax family."""
from __future__ import annotations

from math import prod

from .common import Api, HostError, TmpSize, call_size, fill, library, struct

# API -> enum SoftmaxKind
_KINDS = {"SoftMax": 0, "SimpleSoftMax": 1, "SoftmaxFlash": 2, "SoftmaxFlashV2": 3, "SoftmaxFlashV3": 4, "SoftmaxGrad": 5, "SoftmaxGradFront": 6,
          "LogSoftMax": 7}


class SoftmaxApi(Api):
    def _args(self, shape, dtype, options: dict) -> tuple:
        self.check_options(options)
        dims = self.dims(shape)
        m, k = prod(dims[:-1]), dims[-1]
        src = self.type_size(dtype)
        stat = self.type_size(options.get("stat_dtype") or dtype, "stat_dtype")
        if k * src % 32:
            raise HostError(f"{self.name}: last dimension {k}*{src} must be a multiple of 32; give the padded length.")
        if self.name in ("SoftMax", "SimpleSoftMax", "SoftmaxFlash"):
            src = stat                                     # these size functions are given the type of max and sum only
        return _KINDS[self.name], m, k, src, stat, int(bool(options.get("update", False)))

    def size(self, shape, dtype, options: dict) -> TmpSize:
        return call_size("tw_host_softmax_size", *self._args(shape, dtype, options))

    def tiling(self, shape, dtype, tmp_bytes, options: dict):
        args = self._args(shape, dtype, options)
        room = self.workspace(tmp_bytes, call_size("tw_host_softmax_size", *args))
        made, _ = fill(struct("LogSoftMaxTiling" if self.name == "LogSoftMax" else "SoftMaxTiling"), library().tw_host_softmax_tiling, *args, room)
        return made


def _options(name: str) -> tuple[str, ...]:
    return ("stat_dtype", "update") if "Flash" in name else () if "Grad" in name or name == "LogSoftMax" else ("stat_dtype",)


APIS = {name: SoftmaxApi(name, options=_options(name)) for name in _KINDS}
