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


def misuse(body: str, before: str = "", end: str = "aclrtFree(x); aclrtFree(z); aclrtDestroyStream(stream); aclrtResetDevice(0); aclFinalize();") -> str:
    """A short program around one mistake: x and z of 1024 half on the device, `host` beside them."""
    return KERNEL + INCLUDES + before + textwrap.dedent(r'''
        int main() {
            aclInit(nullptr);
            aclrtSetDevice(0);
            aclrtStream stream;
            aclrtCreateStream(&stream);
            const size_t bytes = 2048;
            static uint8_t host[4096];
            uint8_t *x, *z;
            aclrtMalloc((void**)&x, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtMalloc((void**)&z, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtMemcpy(x, bytes, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
        BODY
        END
            return 0;
        }
        ''').replace("BODY", textwrap.indent(body, "    ")).replace("END", "    " + end)
