"""Host tiling of the high-level API: how much workspace a call needs, and the tiling struct it reads.

    size = hp.host.tmp_size("SoftMax", (16, 256), "float16")        # TmpSize(min=…, max=…) in bytes
    tiling = hp.host.tiling("SoftMax", (16, 256), "float16")        # SoftMaxTiling, for a workspace of size.max
    kernel[8](x, y, tiling)

Shapes are those of the C++ host functions: softmax (…, M, K), RmsNorm (B, S, H), LayerNorm (B, S, H) or (A, R), GroupNorm
(N, C, H, W). Matrix multiplication has classes, as in CANN: hp.host.MultiCoreMatmulTiling (matmul.py). The numbers come from the library that the kernels run on, so both sides agree.
"""
from __future__ import annotations

import difflib

from . import activation, math, norm, softmax
from .common import Api, HostError, TmpSize
from .matmul import BatchMatmulTiling, MatmulApiTiling, MultiCoreMatmulTiling, matmul_tiling

# name of the API -> what is known about it
APIS: dict[str, Api] = {**activation.APIS, **math.APIS, **softmax.APIS, **norm.APIS}

__all__ = ["APIS", "BatchMatmulTiling", "HostError", "MatmulApiTiling", "MultiCoreMatmulTiling", "TmpSize", "matmul_tiling", "tiling", "tmp_size"]


def _find(api: str) -> Api:
    if api in APIS:
        return APIS[api]
    near = difflib.get_close_matches(api, APIS, 1)
    raise HostError(f"There is no host tiling for {api!r}. " + (f"Did you mean {near[0]}?" if near else "Known: " + ", ".join(sorted(APIS)) + "."))


def tmp_size(api: str, shape, dtype, **options) -> TmpSize:
    """Bytes of sharedTmpBuffer: `min` is required, more than `max` does not help.

    Options: stat_dtype= (type of max and sum), update= (SoftmaxFlash*), reuse= (isReuseSource), valid= (valid length of a
    padded last axis), groups= (GroupNorm).
    """
    return _find(api).size(shape, dtype, options)


def tiling(api: str, shape, dtype, tmp_bytes: int | None = None, **options):
    """The tiling struct for a workspace of `tmp_bytes` (default: as much as helps). Options as for tmp_size."""
    return _find(api).tiling(shape, dtype, tmp_bytes, options)
