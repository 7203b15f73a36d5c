"""Host programs in the three launch styles, and what they share: a kernel, data, a check macro."""
import textwrap

KERNEL = textwrap.dedent(r'''
    #include "kernel_operator.h"
    using namespace AscendC;

    constexpr uint32_t TILE = 512;

    class KernelAdd {
    public:
        __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
            length = total / GetBlockNum();
            xGm.SetGlobalBuffer((__gm__ half*)x + length * GetBlockIdx(), length);
            yGm.SetGlobalBuffer((__gm__ half*)y + length * GetBlockIdx(), length);
            zGm.SetGlobalBuffer((__gm__ half*)z + length * GetBlockIdx(), length);
            pipe.InitBuffer(inX, 2, TILE * sizeof(half));
            pipe.InitBuffer(inY, 2, TILE * sizeof(half));
            pipe.InitBuffer(outZ, 2, TILE * sizeof(half));
        }
        __aicore__ inline void Process() {
            for (uint32_t i = 0; i < length; i += TILE) {
                LocalTensor<half> x = inX.AllocTensor<half>(), y = inY.AllocTensor<half>();
                DataCopy(x, xGm[i], TILE);
                DataCopy(y, yGm[i], TILE);
                inX.EnQue(x);
                inY.EnQue(y);
                x = inX.DeQue<half>();
                y = inY.DeQue<half>();
                LocalTensor<half> z = outZ.AllocTensor<half>();
                Add(z, x, y, TILE);
                outZ.EnQue(z);
                inX.FreeTensor(x);
                inY.FreeTensor(y);
                z = outZ.DeQue<half>();
                DataCopy(zGm[i], z, TILE);
                outZ.FreeTensor(z);
            }
        }

    private:
        TPipe pipe;
        TQue<QuePosition::VECIN, 1> inX, inY;
        TQue<QuePosition::VECOUT, 1> outZ;
        GlobalTensor<half> xGm, yGm, zGm;
        uint32_t length;
    };

    extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
        KernelAdd op;
        op.Init(x, y, z, total);
        op.Process();
    }
    ''').lstrip()

CHECK = textwrap.dedent(r'''
    #define CHECK(call)                                                                  \
        do {                                                                             \
            aclError code = (call);                                                      \
            if (code != ACL_SUCCESS) {                                                   \
                const char* text = aclGetRecentErrMsg();                                 \
                std::printf("%s:%d code %d %s\n", __FILE__, __LINE__, code, text ? text : ""); \
                return 1;                                                                \
            }                                                                            \
        } while (0)
    ''').lstrip()

# Everything between aclInit and aclFinalize; LAUNCH stands for the one line in which the styles differ.
_HOST = textwrap.dedent(r'''
    int main() {
        constexpr uint32_t total = 8 * 2048;
        constexpr size_t bytes = total * sizeof(uint16_t);
        CHECK(aclInit(nullptr));
        CHECK(aclrtSetDevice(0));
        aclrtStream stream = nullptr;
        CHECK(aclrtCreateStream(&stream));
        uint8_t *xHost, *yHost, *zHost, *x, *y, *z;
        CHECK(aclrtMallocHost((void**)&xHost, bytes));
        CHECK(aclrtMallocHost((void**)&yHost, bytes));
        CHECK(aclrtMallocHost((void**)&zHost, bytes));
        CHECK(aclrtMalloc((void**)&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMalloc((void**)&y, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMalloc((void**)&z, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        size_t size = 0;
        if (!ReadFile("./input/input_x.bin", size, xHost, bytes) || !ReadFile("./input/input_y.bin", size, yHost, bytes)) return 2;
        CHECK(aclrtMemcpy(x, bytes, xHost, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(aclrtMemcpy(y, bytes, yHost, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        LAUNCH
        CHECK(aclrtSynchronizeStream(stream));
        CHECK(aclrtMemcpy(zHost, bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        WriteFile("./output/output_z.bin", zHost, bytes);
        CHECK(aclrtFree(x));
        CHECK(aclrtFree(y));
        CHECK(aclrtFree(z));
        CHECK(aclrtFreeHost(xHost));
        CHECK(aclrtFreeHost(yHost));
        CHECK(aclrtFreeHost(zHost));
        CHECK(aclrtDestroyStream(stream));
        CHECK(aclrtResetDevice(0));
        CHECK(aclFinalize());
        std::printf("done\n");
        return 0;
    }
    ''')


def host(launch: str) -> str:
    return _HOST.replace("LAUNCH", launch)


INCLUDES = '#include <cstdio>\n#include "acl/acl.h"\n#include "data_utils.h"\n'

# <<<>>> in one file
CHEVRON = {"add.asc": KERNEL + INCLUDES + CHECK + host("add_custom<<<8, nullptr, stream>>>(x, y, z, total);")}

# ACLRT_LAUNCH_KERNEL, kernel and host in two files
ACLRT = {"add_custom.cpp": KERNEL,
         "main.cpp": INCLUDES + '#include "aclrtlaunch_add_custom.h"\n' + CHECK + host("CHECK(ACLRT_LAUNCH_KERNEL(add_custom)(8, stream, x, y, z, total));")}

# the sample projects' file for both modes, here with the CPU half only used in CPU mode
ICPU = {"add_custom.cpp": KERNEL, "main.cpp": textwrap.dedent(r'''
    #include <cstdio>
    #include "data_utils.h"
    #include "tikicpulib.h"
    extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total);

    int main() {
        uint32_t total = 8 * 2048;
        size_t bytes = total * sizeof(uint16_t), size = 0;
        uint8_t* x = (uint8_t*)AscendC::GmAlloc(bytes);
        uint8_t* y = (uint8_t*)AscendC::GmAlloc(bytes);
        uint8_t* z = (uint8_t*)AscendC::GmAlloc(bytes);
        if (!ReadFile("./input/input_x.bin", size, x, bytes) || !ReadFile("./input/input_y.bin", size, y, bytes)) return 2;
        AscendC::SetKernelMode(KernelMode::AIV_MODE);
        ICPU_RUN_KF(add_custom, 8, x, y, z, total);
        WriteFile("./output/output_z.bin", z, bytes);
        AscendC::GmFree((void*)x);
        AscendC::GmFree((void*)y);
        AscendC::GmFree((void*)z);
        return 0;
    }
    ''').lstrip()}

# both modes in one main.cpp, as the samples write it
BOTH = {"add_custom.cpp": KERNEL + textwrap.dedent(r'''
    #ifndef ASCENDC_CPU_DEBUG
    void add_custom_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t total) {
        add_custom<<<blocks, nullptr, stream>>>(x, y, z, total);
    }
    #endif
    '''), "main.cpp": "#ifdef ASCENDC_CPU_DEBUG\n" + ICPU["main.cpp"].replace("#include <cstdio>", "#include <cstdio>  // CPU") + "#else\n" + INCLUDES
        + "extern void add_custom_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, uint32_t total);\n" + CHECK
        + host("add_custom_do(8, stream, x, y, z, total);") + "#endif\n"}


# One program, one mistake for each number on its command line: the text is built once.
MISTAKES = {
    "free_twice": "aclrtFree(x);\naclrtFree(x);  // HERE\nx = nullptr;",
    "copy_past_the_end": "aclrtMemcpy(host, 4096, z, 3000, ACL_MEMCPY_DEVICE_TO_HOST);  // HERE",
    "room_too_small": "aclrtMemcpy(x, 100, host, 200, ACL_MEMCPY_HOST_TO_DEVICE);  // HERE",
    "copy_from_freed": "aclrtFree(x);\naclrtMemcpy(host, bytes, x, bytes, ACL_MEMCPY_DEVICE_TO_HOST);  // HERE\nx = nullptr;",
    "launch_on_freed": "aclrtFree(x);\nadd_custom<<<1, nullptr, stream>>>(x, x, z, 1024);  // HERE\nx = nullptr;",
    "read_before_sync": "add_custom<<<1, nullptr, stream>>>(x, x, z, 1024);\naclrtMemcpy(host, bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST);  // HERE\n"
                        "std::printf(\"read %u\\n\", ((uint16_t*)host)[0]);\naclrtSynchronizeStream(stream);\naclrtMemcpy(host, bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST);\n"
                        "std::printf(\"then %u\\n\", ((uint16_t*)host)[0]);",
    "wrong_kind": "aclrtMemcpy(z, bytes, x, bytes, ACL_MEMCPY_HOST_TO_DEVICE);  // HERE",
    "host_freed_as_device": "void* p;\naclrtMallocHost(&p, 64);\naclrtFree(p);  // HERE\naclrtFreeHost(p);",
    "malloc_of_nothing": "void* p;\naclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST);  // HERE",
    "host_reads_device": "std::printf(\"%d\\n\", x[3]);",
    "host_pointer_to_kernel": "add_custom<<<1, nullptr, stream>>>(host, x, z, 1024);  // HERE",
    "no_blocks": "add_custom<<<0, nullptr, stream>>>(x, x, z, 1024);  // HERE",
    "free_while_queued": "add_custom<<<1, nullptr, stream>>>(x, x, z, 1024);\naclrtFree(x);  // HERE\nx = nullptr;\naclrtSynchronizeStream(stream);",
    "init_twice": "aclInit(nullptr);  // HERE",
    "wrong_device": "aclrtSetDevice(7);  // HERE",
    "events_turned_around": "aclrtEvent a, b;\naclrtCreateEvent(&a);\naclrtCreateEvent(&b);\naclrtRecordEvent(a, stream);\nadd_custom<<<1, nullptr, stream>>>(x, x, z, 1024);\n"
                            "aclrtRecordEvent(b, stream);\naclrtSynchronizeStream(stream);\nfloat ms;\naclrtEventElapsedTime(&ms, b, a);  // HERE\naclrtDestroyEvent(a);\naclrtDestroyEvent(b);",
    "event_not_reached": "aclrtEvent a, b;\naclrtCreateEvent(&a);\naclrtCreateEvent(&b);\naclrtRecordEvent(a, stream);\naclrtRecordEvent(b, stream);\nfloat ms;\n"
                         "aclrtEventElapsedTime(&ms, a, b);  // HERE\naclrtSynchronizeStream(stream);\naclrtDestroyEvent(a);\naclrtDestroyEvent(b);",
    "destroyed_stream": "aclrtStream other;\naclrtCreateStream(&other);\naclrtDestroyStream(other);\nadd_custom<<<1, nullptr, other>>>(x, x, z, 1024);  // HERE",
    "too_much_memory": "void* p;\naclrtMalloc(&p, size_t(100) << 30, ACL_MEM_MALLOC_HUGE_FIRST);  // HERE",
    "kernel_out_of_bounds": "add_custom<<<1, nullptr, stream>>>(x, x, z, 2048);  // LAUNCH\nstd::printf(\"sync %d\\n\", aclrtSynchronizeStream(stream));",
    "raw_overrun": "overrun<<<1, nullptr, stream>>>(z);  // HERE\naclrtSynchronizeStream(stream);",
    "raw_far_away": "far_away<<<1, nullptr, stream>>>(z);\naclrtSynchronizeStream(stream);",
    # warnings
    "nobody_wrote": "aclrtMemcpy(host, bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST);  // HERE",
    "leak": "void* p;\naclrtMalloc(&p, 24576, ACL_MEM_MALLOC_HUGE_FIRST);  // HERE",
    "destroy_while_queued": "aclrtStream other;\naclrtCreateStream(&other);\nadd_custom<<<1, nullptr, other>>>(x, x, z, 1024);\naclrtDestroyStream(other);  // HERE",
    "never_synchronised": "add_custom<<<1, nullptr, stream>>>(x, x, z, 1024);  // HERE\nreturn 0;",
    # nothing wrong
    "clean": "aclrtEvent a, b;\naclrtCreateEvent(&a);\naclrtCreateEvent(&b);\naclrtRecordEvent(a, stream);\nadd_custom<<<1, nullptr, stream>>>(x, x, z, 1024);\n"
             "add_custom<<<1, nullptr, stream>>>(z, x, z, 1024);\naclrtRecordEvent(b, stream);\naclrtMemcpyAsync(host, bytes, z, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream);\n"
             "aclrtSynchronizeStream(stream);\nfloat ms;\naclrtEventElapsedTime(&ms, a, b);\nstd::printf(\"ms %.6f first %u\\n\", ms, ((uint16_t*)host)[0]);\n"
             "aclrtDestroyEvent(a);\naclrtDestroyEvent(b);",
}

_RAW = textwrap.dedent(r'''
    extern "C" __global__ __aicore__ void overrun(GM_ADDR z) { z[2048] = 1; }
    extern "C" __global__ __aicore__ void far_away(GM_ADDR z) { z[1 << 16] = 1; }
    ''')


def mistakes() -> str:
    cases = "".join(f"    if (what == \"{name}\") {{\n{textwrap.indent(body, '        ')}\n    }}\n" for name, body in MISTAKES.items())
    return KERNEL + _RAW + "#include <string>\n" + INCLUDES + textwrap.dedent(r'''
        int main(int argc, char** argv) {
            const std::string what = argc > 1 ? argv[1] : "";
            if (what == "no_init") { void* p; aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST); return 0; }
            aclInit(nullptr);
            if (what == "no_device") { void* p; aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST); return 0; }
            aclrtSetDevice(0);
            aclrtStream stream;
            aclrtCreateStream(&stream);
            const size_t bytes = 2048;
            static uint8_t host[4096];
            for (int i = 0; i < 1024; ++i) ((uint16_t*)host)[i] = 0x3C00;  // 1.0
            uint8_t *x, *z;
            aclrtMalloc((void**)&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtMalloc((void**)&z, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtMemcpy(x, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
            if (what == "read_before_sync") aclrtMemset(z, bytes, 0, bytes);
        CASES
            if (x) aclrtFree(x);
            aclrtFree(z);
            aclrtDestroyStream(stream);
            aclrtResetDevice(0);
            aclFinalize();
            return 0;
        }
        ''').replace("CASES\n", cases)
