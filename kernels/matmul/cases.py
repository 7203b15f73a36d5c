"""Published times of Matmul objects (half, Atlas A2) and the same cases on the twin: template, core type, tiling at compile time.

The guide reports "pure-cube mode" and "runtime tiling" of one shape as 11.21 and 10.62 us: to the twin they are the same case.
"""
import re

import numpy as np

import helpers as hp
from helpers.chips import published as table
from helpers.course import changed, load
from helpers.course.published import Step

ladder = load("matmul", "ladder")
V6 = ladder.VERSIONS[5]
# variant of the published table, short title, and what it changes of v6
CASES = [
    ("MIX mode", "MIX, by messages", {"cube_only": False}),
    ("pure-cube mode", "cube only", {}),
    ("constant tiling", "constant tiling", {"constant": True}),
    ("Norm template", "Norm", {"config": "CFG_NORM"}),
    ("MDL template", "MDL", {}),
    ("no MTE2 preload", "MDL", {}),
]


def text(m: int, n: int, k: int, tiling, cube_only=True, constant=False, config="CFG_MDL") -> str:
    """v6 with half results, changed in one respect."""
    code = changed(V6.text, "CFG_MDL> mm;", f"{config}> mm;")
    if not cube_only:
        code = changed(code, "#define ASCENDC_CUBE_ONLY\n", "").replace("KERNEL_TYPE_AIC_ONLY", "KERNEL_TYPE_MIX_AIC_1_2")
    if constant:
        numbers = ", ".join(str(v) for v in (tiling.singleCoreM, tiling.singleCoreN, tiling.singleCoreK, tiling.baseM, tiling.baseN, tiling.baseK))
        code = changed(code, "template <typename T, typename Out>\n__aicore__", f"constexpr MatmulShapeParams SHAPE{{{numbers}}};\n"
                       "constexpr MatmulConfig FIXED = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(SHAPE);\n\ntemplate <typename T, typename Out>\n__aicore__")
        sides = "MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, Out>, MatmulType<TPosition::GM, CubeFormat::ND, float>"
        code = changed(code, "    TPipe pipe;\n", f"    static constexpr auto TILING = GetMatmulApiTiling<{sides}>(FIXED);\n    TPipe pipe;\n")
        code = changed(code, "CFG_MDL> mm;", "TILING> mm;")
    return code


def run(m: int, n: int, k: int, cube_only=True, constant=False, config="CFG_MDL", **options) -> hp.Run:
    cores = 24
    tiling = hp.host.matmul_tiling(m, n, k, out="float16", cores=cores if cube_only else 2 * cores, mdl=config == "CFG_MDL")
    kernel = hp.compile(text(m, n, k, tiling, cube_only, constant, config), name="matmul_half_half")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s, dtype=np.float32).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    return kernel.launch(-(-tiling.usedCoreNum // (1 if cube_only else 2)), (a, b, c, tiling), **options)


def steps(largest: int = 5 * 10**9) -> list[Step]:
    """The published rows that the host computes in seconds: at most `largest` products."""
    found = []
    for row in table("Matmul"):
        shape = re.fullmatch(r"M(\d+) N(\d+) K(\d+)", row["shape"])
        m, n, k = (int(v) for v in shape.groups())
        for variant, title, options in CASES:
            if row["variant"] == variant and m * n * k <= largest:
                found.append(Step(f"m{len(found)}", lambda m=m, n=n, k=k, options=options: run(m, n, k, **options), row["time_us"], title=f"N{n} K{k} {title}"))
    return found
