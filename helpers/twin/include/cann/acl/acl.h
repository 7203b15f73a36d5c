// The ACL host interface of the twin: init, device, context, stream, event and memory calls, for whole host programs.
//
// Written from the public description of the interface. Device memory is memory of this process that host code cannot
// touch; streams keep their tasks until somebody synchronises; events carry estimated time. Every call remembers the
// line it stands on, so that misuse is named there. runtime/acl_*.cpp holds the implementation.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../../twin/types.h"

// ===== Types
using aclError = int;
using aclrtStream = void*;
using aclrtContext = void*;
using aclrtEvent = void*;
using aclFloat16 = uint16_t;
struct aclDataBuffer;
struct aclrtMallocConfig;

enum aclrtRunMode { ACL_DEVICE = 0, ACL_HOST = 1 };
enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY, ACL_MEM_MALLOC_HUGE_FIRST_P2P,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P, ACL_MEM_MALLOC_NORMAL_ONLY_P2P, ACL_MEM_MALLOC_HUGE1G_ONLY, ACL_MEM_MALLOC_HUGE1G_ONLY_P2P,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x100, ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
};
enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEFAULT,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE,
};
enum aclrtMemAttr { ACL_DDR_MEM, ACL_HBM_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_HBM_MEM_HUGE, ACL_HBM_MEM_NORMAL };
enum aclrtEventRecordedStatus { ACL_EVENT_RECORDED_STATUS_NOT_READY = 0, ACL_EVENT_RECORDED_STATUS_COMPLETE = 1 };
enum aclrtEventStatus { ACL_EVENT_STATUS_COMPLETE = 0, ACL_EVENT_STATUS_NOT_READY = 1, ACL_EVENT_STATUS_RESERVED = 2 };
enum aclrtStreamStatus { ACL_STREAM_STATUS_COMPLETE = 0, ACL_STREAM_STATUS_NOT_READY = 1, ACL_STREAM_STATUS_RESERVED = 0xFFFF };
enum aclrtLastErrLevel { ACL_RT_THREAD_LEVEL = 0 };
enum aclrtDevAttr {
    ACL_DEV_ATTR_AICPU_CORE_NUM = 1, ACL_DEV_ATTR_AICORE_CORE_NUM = 101, ACL_DEV_ATTR_CUBE_CORE_NUM = 102, ACL_DEV_ATTR_VECTOR_CORE_NUM = 201,
    ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE = 204, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE = 301, ACL_DEV_ATTR_L2_CACHE_SIZE = 302, ACL_DEV_ATTR_NPU_ARCH = 601,
};
enum aclDeviceInfo { ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEVICE_INFO_VECTOR_CORE_NUM, ACL_DEVICE_INFO_L2_SIZE };
enum aclDataType {
    ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6, ACL_UINT16 = 7, ACL_UINT32 = 8,
    ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_STRING = 13, ACL_COMPLEX64 = 16, ACL_COMPLEX128 = 17, ACL_BF16 = 27, ACL_INT4 = 29,
};
enum aclFormat {
    ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW = 0, ACL_FORMAT_NHWC = 1, ACL_FORMAT_ND = 2, ACL_FORMAT_NC1HWC0 = 3, ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_FRACTAL_NZ = 29,
};
constexpr uint32_t ACL_EVENT_SYNC = 1, ACL_EVENT_CAPTURE_STREAM_PROGRESS = 2, ACL_EVENT_TIME_LINE = 8;
constexpr uint32_t ACL_STREAM_FAST_LAUNCH = 1, ACL_STREAM_FAST_SYNC = 2;

constexpr aclError ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, ACL_ERROR_INVALID_PARAM = 100000, ACL_ERROR_UNINITIALIZE = 100001,
                   ACL_ERROR_REPEAT_INITIALIZE = 100002, ACL_ERROR_REPEAT_FINALIZE = 100037, ACL_ERROR_RT_PARAM_INVALID = 107000,
                   ACL_ERROR_RT_INVALID_DEVICEID = 107001, ACL_ERROR_RT_CONTEXT_NULL = 107002, ACL_ERROR_RT_STREAM_CONTEXT = 107003,
                   ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID = 107006, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL = 107007, ACL_ERROR_BAD_ALLOC = 200000,
                   ACL_ERROR_RT_MEMORY_ALLOCATION = 207001, ACL_ERROR_RT_MEMORY_FREE = 207002;

#define TWIN_HERE ::twin::At at = ::twin::At::here()

// ===== Process and device
aclError aclInit(const char* config, TWIN_HERE);
aclError aclFinalize(TWIN_HERE);
aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch);
const char* aclrtGetSocName();
const char* aclGetRecentErrMsg();
aclError aclrtGetLastError(aclrtLastErrLevel level);
aclError aclrtPeekAtLastError(aclrtLastErrLevel level);
aclError aclrtSetDevice(int32_t device, TWIN_HERE);
aclError aclrtGetDevice(int32_t* device, TWIN_HERE);
aclError aclrtResetDevice(int32_t device, TWIN_HERE);
aclError aclrtResetDeviceForce(int32_t device, TWIN_HERE);
aclError aclrtGetDeviceCount(uint32_t* count);
aclError aclrtGetRunMode(aclrtRunMode* mode, TWIN_HERE);
aclError aclrtSynchronizeDevice(TWIN_HERE);
aclError aclrtSynchronizeDeviceWithTimeout(int32_t ms, TWIN_HERE);
aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total, TWIN_HERE);
aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attr, int64_t* value, TWIN_HERE);
aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo info, int64_t* value, TWIN_HERE);

// ===== Context
aclError aclrtCreateContext(aclrtContext* context, int32_t device, TWIN_HERE);
aclError aclrtDestroyContext(aclrtContext context, TWIN_HERE);
aclError aclrtSetCurrentContext(aclrtContext context, TWIN_HERE);
aclError aclrtGetCurrentContext(aclrtContext* context, TWIN_HERE);

// ===== Stream
aclError aclrtCreateStream(aclrtStream* stream, TWIN_HERE);
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag, TWIN_HERE);
aclError aclrtDestroyStream(aclrtStream stream, TWIN_HERE);
aclError aclrtDestroyStreamForce(aclrtStream stream, TWIN_HERE);
aclError aclrtSynchronizeStream(aclrtStream stream, TWIN_HERE);
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t ms, TWIN_HERE);
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status, TWIN_HERE);
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event, TWIN_HERE);
aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode, TWIN_HERE);
aclError aclrtSetOpExecuteTimeOut(uint32_t seconds, TWIN_HERE);

// ===== Event
aclError aclrtCreateEvent(aclrtEvent* event, TWIN_HERE);
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag, TWIN_HERE);
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag, TWIN_HERE);
aclError aclrtDestroyEvent(aclrtEvent event, TWIN_HERE);
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream, TWIN_HERE);
aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream, TWIN_HERE);
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status, TWIN_HERE);
aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status, TWIN_HERE);
aclError aclrtSynchronizeEvent(aclrtEvent event, TWIN_HERE);
aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t ms, TWIN_HERE);
aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end, TWIN_HERE);

// ===== Memory
aclError aclrtMalloc(void** p, size_t bytes, aclrtMemMallocPolicy policy, TWIN_HERE);
template <class T> aclError aclrtMalloc(T** p, size_t bytes, aclrtMemMallocPolicy policy = ACL_MEM_MALLOC_HUGE_FIRST, aclrtMallocConfig* = nullptr, TWIN_HERE) {
    return aclrtMalloc(reinterpret_cast<void**>(p), bytes, policy, at);
}
aclError aclrtMallocAlign32(void** p, size_t bytes, aclrtMemMallocPolicy policy, TWIN_HERE);
aclError aclrtMallocCached(void** p, size_t bytes, aclrtMemMallocPolicy policy, TWIN_HERE);
aclError aclrtMallocWithCfg(void** p, size_t bytes, aclrtMemMallocPolicy policy, aclrtMallocConfig* config, TWIN_HERE);
aclError aclrtFree(void* p, TWIN_HERE);
aclError aclrtMallocHost(void** p, size_t bytes, TWIN_HERE);
aclError aclrtFreeHost(void* p, TWIN_HERE);
aclError aclrtMemcpy(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, TWIN_HERE);
aclError aclrtMemcpyAsync(void* dst, size_t room, const void* src, size_t count, aclrtMemcpyKind kind, aclrtStream stream, TWIN_HERE);
aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind, TWIN_HERE);
aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, aclrtMemcpyKind kind, aclrtStream stream, TWIN_HERE);
aclError aclrtMemset(void* p, size_t room, int32_t value, size_t count, TWIN_HERE);
aclError aclrtMemsetAsync(void* p, size_t room, int32_t value, size_t count, aclrtStream stream, TWIN_HERE);

// ===== Buffers handed to models and operators
aclDataBuffer* aclCreateDataBuffer(void* data, size_t bytes);
aclError aclDestroyDataBuffer(const aclDataBuffer* buffer);
aclError aclUpdateDataBuffer(aclDataBuffer* buffer, void* data, size_t bytes);
void* aclGetDataBufferAddr(const aclDataBuffer* buffer);
size_t aclGetDataBufferSizeV2(const aclDataBuffer* buffer);

#undef TWIN_HERE

// ===== Small helpers
inline float aclFloat16ToFloat(aclFloat16 v) { return static_cast<float>(__builtin_bit_cast(half, v)); }
inline aclFloat16 aclFloatToFloat16(float v) { return __builtin_bit_cast(aclFloat16, static_cast<half>(v)); }
inline size_t aclDataTypeSize(aclDataType t) {
    switch (t) {
        case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
        case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
        case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
        case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: case ACL_COMPLEX64: return 8;
        case ACL_COMPLEX128: return 16;
        default: return 0;
    }
}
