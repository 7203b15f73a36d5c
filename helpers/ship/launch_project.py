"""A project that launches the kernel directly: kernel, host, CMake, data, a script that builds, runs and compares."""
from __future__ import annotations

import re

from ..arguments import POINTER, SCALAR, STRUCT
from ..build.scan import blank
from ..errors import WorkbookError
from .example import INPUT, NULL, OUTPUT, WORKSPACE, Example

MARK = "Not run on hardware by the one who wrote this project."     # in every README: this folder is one of ours

CMAKE_8 = '''cmake_minimum_required(VERSION 3.16)
project({name}_launch CXX)

set(SOC_VERSION "{soc}" CACHE STRING "SoC: Ascend and the name that npu-smi info shows")
set(RUN_MODE "npu" CACHE STRING "npu, sim or cpu")
set(ASCEND_CANN_PACKAGE_PATH "$ENV{{ASCEND_HOME_PATH}}" CACHE PATH "folder of CANN")
if(NOT ASCEND_CANN_PACKAGE_PATH)
  message(FATAL_ERROR "source set_env.sh of CANN first, or pass -DASCEND_CANN_PACKAGE_PATH=…")
endif()

foreach(place compiler/tikcpp tools/tikcpp ascendc_devkit)
  if(EXISTS ${{ASCEND_CANN_PACKAGE_PATH}}/${{place}}/ascendc_kernel_cmake/ascendc.cmake)
    set(ascendc_cmake ${{ASCEND_CANN_PACKAGE_PATH}}/${{place}}/ascendc_kernel_cmake/ascendc.cmake)
    break()
  endif()
endforeach()
if(NOT ascendc_cmake)
  message(FATAL_ERROR "no ascendc.cmake below ${{ASCEND_CANN_PACKAGE_PATH}}: install the full toolkit")
endif()
include(${{ascendc_cmake}})

ascendc_library(kernels STATIC {name}.cpp)
add_executable({name}_app main.cpp)
target_compile_features({name}_app PRIVATE cxx_std_17)
target_include_directories({name}_app PRIVATE ${{ASCEND_CANN_PACKAGE_PATH}}/include)
target_link_directories({name}_app PRIVATE ${{ASCEND_CANN_PACKAGE_PATH}}/lib64)
target_link_libraries({name}_app PRIVATE kernels ascendcl)
'''

CMAKE_9 = '''cmake_minimum_required(VERSION 3.16)
set(CMAKE_ASC_ARCHITECTURES {arch})
set(CMAKE_ASC_STANDARD 17)
find_package(ASC REQUIRED)
project({name}_launch LANGUAGES ASC CXX)

add_executable({name}_app main.cpp {name}.asc)
target_compile_features({name}_app PRIVATE cxx_std_17)
target_link_libraries({name}_app PRIVATE ascendcl)
'''

ENTER = '''set -e
cd "$(dirname "$0")"
if [ -z "$ASCEND_HOME_PATH" ]; then
    echo "source set_env.sh of CANN first" >&2
    exit 1
fi
'''      # how the scripts of both layouts begin

RUN = '''#!/bin/bash
# Builds and runs on the device, then compares with golden/. Usage: bash run.sh [SoC]
''' + ENTER + '''cmake -S . -B build {options}
cmake --build build -j
mkdir -p output
./build/{name}_app
python3 scripts/verify.py
'''

VERIFY = '''"""Compares output/ with golden/: every element, none may be missing. Exit code 1 when something differs."""
import sys

import numpy as np

# name, NumPy type (bfloat16 as uint16 bits), relative and absolute tolerance
OUTPUTS = {outputs}


def load(path, dtype):
    data = np.fromfile(path, "uint16" if dtype == "bfloat16" else dtype)
    return (data.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else data


failed = False
for name, dtype, rtol, atol in OUTPUTS:
    actual, golden = load(f"output/{{name}}.bin", dtype), load(f"golden/{{name}}.bin", dtype)
    if actual.size != golden.size:
        print(f"{{name}}: {{actual.size}} elements, expected {{golden.size}}")
        failed = True
        continue
    a, g = actual.astype(np.float64), golden.astype(np.float64)
    good = (a == g) | (np.isnan(a) & np.isnan(g)) | (np.isfinite(a) & np.isfinite(g) & (np.abs(a - g) <= atol + rtol * np.abs(g)))
    wrong = np.flatnonzero(~good)
    if wrong.size:
        i = wrong[0]
        print(f"{{name}}: {{wrong.size}} of {{a.size}} elements differ; the first is {{i}}: {{actual[i]}}, expected {{golden[i]}}")
        failed = True
    else:
        print(f"{{name}}: all {{a.size}} elements agree")
sys.exit(failed)
'''

TOLERANCE = {"float16": (1e-3, 1e-5), "bfloat16": (8e-3, 1e-4), "float32": (1e-4, 1e-6), "float64": (1e-9, 1e-12)}


def _declared(v) -> str:
    return f"uint8_t* {v.name}" if v.kind == POINTER else f"const void* {v.name}" if v.kind == STRUCT else f"{v.type} {v.name}"


def wrapper(e: Example, reserved: str) -> str:
    """The host function beside the kernel; a struct comes as a pointer, so that the host needs no header for it."""
    passed = ", ".join(f"*static_cast<const {v.type.removeprefix('const ')}*>({v.name})" if v.kind == STRUCT else
                       v.name if v.kind == SCALAR or v.type == "uint8_t*" else f"reinterpret_cast<{v.type}>({v.name})" for v in e.values)
    declared = ", ".join(["uint32_t blocks", "void* stream", *map(_declared, e.values)])
    return f"\nvoid {e.name}_do({declared})\n{{\n    {e.kernel.entry.expression}<<<blocks, {reserved}, stream>>>({passed});\n}}\n"


def main_cpp(e: Example) -> str:
    declared = ", ".join(["uint32_t blocks", "void* stream", *map(_declared, e.values)])
    lines = [f"// Host program of {e.name}: reads input/, launches {e.blocks} block{'s' if e.blocks > 1 else ''}, writes output/.", "#include <cstdint>", "#include <cstdio>", "#include <fstream>",
             "#include <vector>", "", '#include "acl/acl.h"', "", f"extern void {e.name}_do({declared});", "", CHECK, READ, "int main()", "{", "    CHECK(aclInit(nullptr));", "    CHECK(aclrtSetDevice(0));",
             "    aclrtStream stream = nullptr;", "    CHECK(aclrtCreateStream(&stream));", ""]
    for v in e.of(INPUT, OUTPUT, WORKSPACE):
        lines += [f"    void* {v.name} = nullptr;", f"    CHECK(aclrtMalloc(&{v.name}, {max(v.nbytes, 32)}, ACL_MEM_MALLOC_HUGE_FIRST));"]
        if v.role != WORKSPACE:
            lines += [f"    const std::vector<uint8_t> {v.name}Data = Read(\"input/{v.name}.bin\", {v.nbytes});", f"    if ({v.name}Data.size() != {v.nbytes}) {{", "        return 1;", "    }"]
            if v.nbytes:
                lines.append(f"    CHECK(aclrtMemcpy({v.name}, {v.nbytes}, {v.name}Data.data(), {v.nbytes}, ACL_MEMCPY_HOST_TO_DEVICE));")
    if e.struct:
        s = e.struct
        lines += [f"    const std::vector<uint8_t> {s.name} = Read(\"input/{s.name}.bin\", {s.nbytes});", f"    if ({s.name}.size() != {s.nbytes}) {{", "        return 1;", "    }"]
    passed = ", ".join("nullptr" if v.role == NULL else f"static_cast<uint8_t*>({v.name})" if v.kind == POINTER else f"{v.name}.data()" if v.kind == STRUCT else v.number for v in e.values)
    lines += ["", f"    {e.name}_do({e.blocks}, stream, {passed});", "    CHECK(aclrtSynchronizeStream(stream));   // the launch only queues the kernel", ""]
    for v in e.of(OUTPUT):
        lines += [f"    std::vector<uint8_t> {v.name}Result({v.nbytes});", f"    CHECK(aclrtMemcpy({v.name}Result.data(), {v.nbytes}, {v.name}, {v.nbytes}, ACL_MEMCPY_DEVICE_TO_HOST));",
                  f"    std::ofstream(\"output/{v.name}.bin\", std::ios::binary).write(reinterpret_cast<const char*>({v.name}Result.data()), {v.nbytes});"]
    lines += ["", *(f"    CHECK(aclrtFree({v.name}));" for v in reversed(e.of(INPUT, OUTPUT, WORKSPACE))), "    CHECK(aclrtDestroyStream(stream));", "    CHECK(aclrtResetDevice(0));",
              "    CHECK(aclFinalize());", "    return 0;", "}", ""]
    return "\n".join(lines)


CHECK = '''#define CHECK(call)                                                                                       \\
    do {                                                                                                  \\
        const aclError code = (call);                                                                     \\
        if (code != ACL_SUCCESS) {                                                                        \\
            const char* text = aclGetRecentErrMsg();                                                      \\
            std::printf("%s:%d: %s returned %d: %s\\n", __FILE__, __LINE__, #call, code, text ? text : ""); \\
            return 1;                                                                                     \\
        }                                                                                                 \\
    } while (0)
'''

READ = '''static std::vector<uint8_t> Read(const char* path, size_t bytes)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<uint8_t> data(file ? static_cast<size_t>(file.tellg()) : 0);
    if (data.size() != bytes) {
        std::printf("%s has %d bytes, expected %d\\n", path, static_cast<int>(data.size()), static_cast<int>(bytes));
        return {};
    }
    file.seekg(0);
    file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(bytes));
    return data;
}
'''


def files(e: Example, soc: str, arch: str, release: int) -> dict[str, bytes]:
    if re.search(r"\b(GET_TILING_DATA\w*|TILING_KEY_IS)\s*\(", blank(e.text)):
        raise WorkbookError(f"{e.name} reads its tiling with GET_TILING_DATA: that exists in operator projects only. Use layout=\"operator\".")
    new = release >= 9
    kernel_file = f"{e.name}.{'asc' if new else 'cpp'}"
    out: dict[str, str | bytes] = {
        kernel_file: e.text + wrapper(e, "0" if new else "nullptr"),
        "main.cpp": main_cpp(e),
        "CMakeLists.txt": (CMAKE_9 if new else CMAKE_8).format(name=e.name, soc=soc, arch=arch),
        "run.sh": RUN.format(name=e.name, options="" if new else '-DSOC_VERSION="${1:-' + soc + '}"'),
        "scripts/verify.py": VERIFY.format(outputs=[(v.name, v.dtype, *TOLERANCE.get(v.dtype, (0.0, 0.0))) for v in e.of(OUTPUT)]),
    }
    for v in e.of(INPUT, OUTPUT):
        out[f"input/{v.name}.bin"] = v.before.tobytes()
    for v in e.of(OUTPUT):
        out[f"golden/{v.name}.bin"] = v.after.tobytes()
    if e.struct:
        out[f"input/{e.struct.name}.bin"] = e.struct.data
    out["README.md"] = readme(e, soc, kernel_file, new)
    return {name: text.encode() if isinstance(text, str) else text for name, text in out.items()}


def readme(e: Example, soc: str, kernel_file: str, new: bool) -> str:
    profile = f"msopprof --output=prof ./build/{e.name}_app" if new else f"msprof op --output=prof ./build/{e.name}_app"
    simulate = (f"msopprof simulator --soc-version={soc} ./build/{e.name}_app" if new else f"msprof op simulator --soc-version={soc} ./build/{e.name}_app")
    return f"""# {e.name}, launched directly

`{kernel_file}` holds the kernel, `main.cpp` the host, `input/` the data of one launch on {e.blocks} blocks, `golden/` what
the host twin computed from it. {MARK}

| what | command |
|---|---|
| tools on the path | `source /usr/local/Ascend/{'cann' if new else 'ascend-toolkit'}/set_env.sh` |
| build, run, compare | `bash run.sh` |
| one kernel profiled | `{profile}` |
| the whole program profiled | `msprof --output=prof ./build/{e.name}_app` |
| in the simulator (build with {'--run-mode=sim' if new else 'RUN_MODE=sim'} and -g) | `{simulate}` |
| memory and race checks (build with -g --sanitizer) | `mssanitizer -t memcheck ./build/{e.name}_app` |
| without a device | `python -m helpers.cc main.cpp {kernel_file} -o {e.name}_app && mkdir -p output && ./{e.name}_app` |
"""
