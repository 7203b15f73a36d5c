"""Workspace and tiling of the normalisations."""
from __future__ import annotations

from math import prod

from .common import Api, HostError, TmpSize, call_size, fill, library, struct

# API -> enum Norm, its tiling struct, options
_APIS = {"RmsNorm": (0, "RmsNormTiling", ("valid",)), "LayerNorm": (1, "LayerNormTiling", ("valid", "reuse")),
         "LayerNormGrad": (3, "LayerNormGradTiling", ("valid",)), "LayerNormGradBeta": (4, "LayerNormGradBetaTiling", ("valid",)),
         "BatchNorm": (5, "BatchNormTiling", ("valid", "reuse")), "DeepNorm": (6, "DeepNormTiling", ("valid", "reuse")),
         "GroupNorm": (7, "GroupNormTiling", ("groups", "reuse")), "Normalize": (8, "", ()), "WelfordUpdate": (9, "", ()), "WelfordFinalize": (10, "", ())}
_LAYER_AR = 2, "LayerNormSeparateTiling"


class NormApi(Api):
    def _plan(self, shape, dtype, options: dict):
        """enum Norm, the numbers after it, the tiling struct."""
        self.check_options(options)
        kind, tiling, _ = _APIS[self.name]
        z, groups, reuse = self.type_size(dtype), 1, int(bool(options.get("reuse", False)))
        if self.name == "GroupNorm":
            dims = self.dims(shape, 3, 4)
            b, s, h, groups = dims[0], dims[1], prod(dims[2:]), options.get("groups", 1)
            if groups < 1 or s % groups:
                raise HostError(f"GroupNorm: {s} channels cannot be split into {groups} groups.")
            valid, row = h, h
        elif self.name in ("Normalize", "WelfordUpdate", "WelfordFinalize"):
            dims = self.dims(shape, 1, 2)
            b, s, h = 1, prod(dims[:-1]), dims[-1]
            valid = row = h
        else:
            dims = self.dims(shape, *((2, 3) if self.name == "LayerNorm" else (3,)))
            if len(dims) == 2:
                kind, tiling = _LAYER_AR
            b, s, h = (1, *dims) if len(dims) == 2 else dims
            full = b if self.name == "BatchNorm" else h
            valid = options.get("valid", full)
            if not 1 <= valid <= full:
                raise HostError(f"{self.name}: valid={valid} is outside 1..{full}.")
            row = s * h if self.name == "BatchNorm" else h
            if self.name == "DeepNorm" and h > 2040:
                raise HostError(f"DeepNorm: H is {h}, at most 2040 is supported.")
        if row * z % 32:
            raise HostError(f"{self.name}: last dimension {row}*{z} must be a multiple of 32; give the padded length, and the real one as valid=.")
        return kind, (b, s, h, valid, groups, z, reuse), tiling

    def size(self, shape, dtype, options: dict) -> TmpSize:
        kind, numbers, _ = self._plan(shape, dtype, options)
        return call_size("tw_host_norm_size", kind, *numbers)

    def tiling(self, shape, dtype, tmp_bytes, options: dict):
        kind, numbers, name = self._plan(shape, dtype, options)
        if not name:
            return super().tiling(shape, dtype, tmp_bytes, options)
        room = self.workspace(tmp_bytes, call_size("tw_host_norm_size", kind, *numbers))
        made, _ = fill(struct(name), library().tw_host_norm_tiling, kind, *numbers, room)
        return made


APIS = {name: NormApi(name, options=options) for name, (_, _, options) in _APIS.items()}
