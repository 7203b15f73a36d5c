"""A CANN tree with nothing in it but what a build and a launch touch: a compiler, cmake files, and a libascendcl.so that logs."""
import stat
import subprocess
from pathlib import Path

# Device memory is malloc; every call is written to STUB_ACL_LOG. STUB_ACL_FAIL=name:nth:code makes one call fail.
RUNTIME = r'''
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
static std::map<std::string, int> calls;
static std::map<void*, size_t> memory;
static int live_streams, live_contexts, live_events, devices, inits, pending;
static float clock_ms, stamp[64];
extern "C" {
void stub_note(const char* text) {
    const char* path = getenv("STUB_ACL_LOG");
    if (!path) return;
    FILE* f = fopen(path, "a");
    fprintf(f, "%s\n", text);
    fclose(f);
}
void stub_reset() { calls.clear(); pending = 0; }
static int step(const char* name) {
    stub_note(name);
    const char* fail = getenv("STUB_ACL_FAIL");
    int nth = ++calls[name], want = 0, code = 0;
    char wanted[64] = "";
    if (fail && sscanf(fail, "%63[^:]:%d:%d", wanted, &want, &code) == 3 && name == std::string(wanted) && nth == want) return code;
    return 0;
}
#define STEP(name) if (int e = step(name)) return e
int stub_launch(const char* name) { STEP(name); pending = 1; clock_ms += 0.0125f; return 0; }
int aclInit(const char*) { STEP("aclInit"); ++inits; return 0; }
int aclFinalize() {
    STEP("aclFinalize");
    --inits;
    char text[160];
    snprintf(text, sizeof text, "left: memory %zu streams %d contexts %d events %d devices %d inits %d", memory.size(), live_streams, live_contexts, live_events, devices, inits);
    stub_note(text);
    return 0;
}
int aclrtGetDeviceCount(unsigned* n) { STEP("aclrtGetDeviceCount"); *n = getenv("STUB_ACL_DEVICES") ? atoi(getenv("STUB_ACL_DEVICES")) : 1; return 0; }
int aclrtSetDevice(int) { STEP("aclrtSetDevice"); ++devices; return 0; }
int aclrtResetDevice(int) { STEP("aclrtResetDevice"); --devices; return 0; }
int aclrtCreateContext(void** c, int) { STEP("aclrtCreateContext"); ++live_contexts; *c = (void*)0x10; return 0; }
int aclrtDestroyContext(void*) { STEP("aclrtDestroyContext"); --live_contexts; return 0; }
int aclrtCreateStream(void** s) { STEP("aclrtCreateStream"); ++live_streams; *s = (void*)0x20; return 0; }
int aclrtDestroyStream(void*) { STEP("aclrtDestroyStream"); --live_streams; return 0; }
int aclrtSynchronizeStream(void*) { STEP("aclrtSynchronizeStream"); pending = 0; return 0; }
int aclrtSynchronizeStreamWithTimeout(void*, int) { STEP("aclrtSynchronizeStreamWithTimeout"); pending = 0; return 0; }
int aclrtCreateEvent(void** e) { STEP("aclrtCreateEvent"); *e = (void*)(size_t)(++live_events); return 0; }
int aclrtDestroyEvent(void*) { STEP("aclrtDestroyEvent"); --live_events; return 0; }
int aclrtRecordEvent(void* e, void*) { STEP("aclrtRecordEvent"); stamp[(size_t)e] = clock_ms; return 0; }
int aclrtEventElapsedTime(float* ms, void* a, void* b) { STEP("aclrtEventElapsedTime"); if (pending) return 507006; *ms = stamp[(size_t)b] - stamp[(size_t)a]; return 0; }
int aclrtMalloc(void** p, size_t n, int) { STEP("aclrtMalloc"); if (!n) return 100000; *p = malloc(n); memset(*p, 0xCC, n); memory[*p] = n; return 0; }
int aclrtFree(void* p) { STEP("aclrtFree"); if (!memory.erase(p)) return 107000; free(p); return 0; }
int aclrtMemcpy(void* d, size_t room, const void* s, size_t n, int kind) {
    STEP(kind == 1 ? "aclrtMemcpy H2D" : kind == 2 ? "aclrtMemcpy D2H" : "aclrtMemcpy");
    if (n > room || pending) return 107000;
    void* device = kind == 1 ? d : (void*)s;
    if (!memory.count(device) || memory[device] < n) return 107000;
    memcpy(d, s, n);
    return 0;
}
const char* aclGetRecentErrMsg() { return "stub: EZ9999 the device said (0,0x800,0)"; }
const char* aclrtGetSocName() { return "Ascend910B3"; }
}
'''

# What the compiler would have made of an add kernel: float z = x + y.
KERNEL = r'''
#include <cstdint>
extern "C" int stub_launch(const char*);
extern "C" __attribute__((visibility("default"))) uint32_t workbook_launch(uint32_t, void*, void** a) {
    if (int e = stub_launch("launch")) return e;
    float *x = *(float**)a[0], *y = *(float**)a[1], *z = *(float**)a[2];
    uint32_t n = *(uint32_t*)a[3];
    for (uint32_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
    return 0;
}
'''

BISHENG = r'''#!/bin/sh
here=$(dirname "$0")
printf '%s\n' "$*" >> "$here/commands.log"
for a in "$@"; do
    case "$a" in *.asc) source=$a;; esac
    [ "$last" = -o ] && out=$a
    last=$a
done
cp "$source" "$here/last.asc"
if grep -q BROKEN "$source"; then
    echo "%%ascendc:$(grep -n BROKEN "$source" | head -1 | cut -d: -f1):5: error: use of undeclared identifier 'BROKEN'"
    exit 1
fi
cp "$here/kernel_stub.so" "$out"
'''

CMAKE = r'''
if(NOT DEFINED SOC_VERSION)
  message(FATAL_ERROR "SOC_VERSION value not set.")
endif()
set(stub_dir ${CMAKE_CURRENT_LIST_DIR})
function(ascendc_library target kind)
  foreach(source ${ARGN})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source} AND NOT EXISTS ${source})
      message(FATAL_ERROR "no source ${source}")
    endif()
  endforeach()
  add_library(${target} ${kind} ${stub_dir}/kernel_stub.cpp)
endfunction()
function(ascendc_compile_definitions)
endfunction()
function(ascendc_compile_options)
endfunction()
function(ascendc_include_directories)
endfunction()
'''


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def compile_shared(source: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", "-x", "c++", "-", "-o", str(path)], input=source, text=True, check=True, timeout=120)


def lay_out(root: Path, version: str = "9.0.0") -> Path:
    """The tree, and device files beside it; returns the folder of the toolkit."""
    home = root / "cann"
    compile_shared(RUNTIME, home / "lib64/libascendcl.so")
    program(home / "bin/bisheng", BISHENG)
    compile_shared(KERNEL, home / "bin/kernel_stub.so")
    cmake = home / "compiler/tikcpp/ascendc_kernel_cmake"
    cmake.mkdir(parents=True)
    (cmake / "ascendc.cmake").write_text(CMAKE)
    (cmake / "kernel_stub.cpp").write_text(KERNEL)
    (home / "version.cfg").write_text(f"# version\nruntime_running_version=[{version}:CANN]\n")
    for name in ("davinci0", "davinci_manager"):
        (root / "dev").mkdir(exist_ok=True)
        (root / "dev" / name).touch()
    return home


def log_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def npu_smi(root: Path, table: str) -> None:
    """An npu-smi that prints this table for `info`, and a count for `info -l`."""
    program(root / "smi/npu-smi", '#!/bin/sh\ncase "$2" in\n  -l) echo "Total Count : 1";;\n  -t) cat "$0.board";;\n  *) cat "$0.table";;\nesac\n')
    (root / "smi/npu-smi.table").write_text(table)
    (root / "smi/npu-smi.board").write_text("NPU ID : 0\nChip Name : Ascend910\nNPU Name : 9391\n")
