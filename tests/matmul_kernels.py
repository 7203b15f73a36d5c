"""Texts of kernels that use the Matmul object, and how they are run: for the tests of the object."""
from __future__ import annotations

import ml_dtypes
import numpy as np

import helpers as hp
from helpers import host

CPP = {"float16": "half", "bfloat16": "bfloat16_t", "float32": "float", "int8": "int8_t", "int32": "int32_t"}
NUMPY = {**{name: np.dtype(name) for name in CPP if name != "bfloat16"}, "bfloat16": np.dtype(ml_dtypes.bfloat16)}

_TEXT = """%(define)s
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
using namespace AscendC;
using namespace matmul;
%(before)s
extern "C" __global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR extra, TCubeTiling tiling)
{
    TPipe pipe;
    Matmul<MatmulType<TPosition::%(pos_a)s, CubeFormat::%(format_a)s, %(A)s, %(ta)s%(layout)s>, MatmulType<TPosition::%(pos_b)s, CubeFormat::%(format_b)s, %(A)s, %(tb)s%(layout)s>,
           MatmulType<TPosition::%(pos_c)s, CubeFormat::%(format_c)s, %(C)s%(layout_c)s>, MatmulType<TPosition::GM, CubeFormat::ND, %(Bias)s>, %(config)s%(more)s> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    int32_t block = GetBlockIdx(), down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    if (block >= tiling.usedCoreNum) return;
    int32_t row = block %% down * tiling.singleCoreM, column = block / down * tiling.singleCoreN;
    int32_t rows = tiling.M - row < tiling.singleCoreM ? tiling.M - row : tiling.singleCoreM;
    int32_t columns = tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN;
    GlobalTensor<%(A)s> aGm, bGm;
    GlobalTensor<%(Bias)s> biasGm;
    GlobalTensor<%(C)s> cGm;
    GlobalTensor<uint64_t> extraGm;
    aGm.SetGlobalBuffer((__gm__ %(A)s*)a + (%(ta)s ? row : row * tiling.Ka));
    bGm.SetGlobalBuffer((__gm__ %(A)s*)b + (%(tb)s ? column * tiling.Kb : column));
    biasGm.SetGlobalBuffer((__gm__ %(Bias)s*)bias + column);
    cGm.SetGlobalBuffer((__gm__ %(C)s*)c + row * tiling.N + column);
    extraGm.SetGlobalBuffer((__gm__ uint64_t*)extra);
    mm.SetTail(rows, columns);
    %(set)s
    %(body)s
    mm.End();
}
"""


def text(a="float16", c="float32", ta=False, tb=False, bias="", config="CFG_NORM", body="mm.IterateAll(cGm);", set_="", cube_only=True, before="", more="",
         formats=("ND", "ND", "ND"), positions=("GM", "GM", "GM"), layout="", layout_c=""):
    """A kernel that multiplies with one object. bias: its type; set_: calls instead of the usual SetTensorA and SetTensorB."""
    usual = f"mm.SetTensorA(aGm, {str(ta).lower()}); mm.SetTensorB(bGm, {str(tb).lower()});" + (" mm.SetBias(biasGm);" if bias else "")
    return _TEXT % {"define": "#define ASCENDC_CUBE_ONLY" if cube_only else "", "A": CPP[a], "C": CPP[c], "Bias": CPP[bias] if bias else "int32_t" if a == "int8" else "float",
                    "ta": str(ta).lower(), "tb": str(tb).lower(), "config": config, "body": body, "set": set_ or usual, "before": before, "more": more and ", " + more,
                    "pos_a": positions[0], "pos_b": positions[1], "pos_c": positions[2], "format_a": formats[0], "format_b": formats[1], "format_c": formats[2],
                    "layout": layout and f", LayoutMode::{layout}", "layout_c": layout_c and f", false, LayoutMode::{layout_c}"}


def matrices(m, n, k, dtype="float16", seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "int8":
        return (rng.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    return (rng.standard_normal(s).astype(NUMPY[dtype]) for s in ((m, k), (k, n)))


def nz(x, c0=None, rows=None):
    """The matrix as fractals, one column of fractals after the other, padded with zeros."""
    c0 = c0 or 32 // x.itemsize
    full = np.zeros((-(-x.shape[0] // 16) * 16, -(-x.shape[1] // c0) * c0), x.dtype)
    full[: x.shape[0], : x.shape[1]] = x
    return np.ascontiguousarray(full.reshape(full.shape[0], -1, c0).transpose(1, 0, 2))


def exact(a, b, bias=None):
    return a.astype(np.float64) @ b.astype(np.float64) + (0 if bias is None else bias.astype(np.float64))


def close(actual, expected, scale=1.0):
    """Sums of float: a few units of the last place of the largest partial sum; half and bfloat16 round once more."""
    actual = np.asarray(actual).astype(np.float64)
    assert np.isfinite(actual).all()
    error = np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-30)
    assert error <= 1e-6 * scale, f"error {error:.1e}"


ROUNDING = {"float32": 1, "int32": 0, "float16": 600, "bfloat16": 4500}


def run(m, n, k, *, a="float16", c="float32", ta=False, tb=False, bias="", cores=1, base=(-1, -1, -1), mdl=False, kernel=None, blocks=None, tiling=None, extra=None, clean=True, seed=0,
        launch=None, **options):
    """Builds, launches, compares with NumPy. Returns the run."""
    A, B = matrices(m, n, k, a, seed)
    row = (np.random.default_rng(seed + 1).standard_normal(n) * 10).astype(NUMPY[bias] if bias else np.float32)
    tiling = tiling or host.matmul_tiling(m, n, k, dtype=a, out=c, trans_a=ta, trans_b=tb, bias=bool(bias), cores=cores, base=base, mdl=mdl)
    kernel = kernel or hp.compile(text(a, c, ta, tb, bias, "CFG_MDL" if mdl else options.pop("config", "CFG_NORM"), **options))
    out = np.full((m, n), 77, NUMPY[c])
    before = A.copy(), B.copy()
    found = kernel.launch(blocks or tiling.usedCoreNum, (np.ascontiguousarray(A.T) if ta else A, np.ascontiguousarray(B.T) if tb else B, row, out, extra if extra is not None else np.zeros(512, np.uint8), tiling),
                          **(launch or {}))
    close(out, exact(*before, row if bias else None), ROUNDING[c] or 1e-6)
    if clean:
        assert [f"{f.code} line {f.line}: {f.message}" for f in found.findings if f.severity != "note"] == []
    return found
