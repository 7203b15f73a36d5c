// The part of the ACL host interface that the host half of a CPU-mode kernel file mentions. The half compiles; kernels
// are launched from Python, so nothing here touches a device.
#pragma once
#include <cstdlib>
#include <cstring>

#include "../../twin/types.h"

using aclError = int;
using aclrtStream = void*;
using aclrtContext = void*;
using aclFloat16 = uint16_t;
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };
enum aclDataType { ACL_DT_UNDEFINED = -1, ACL_FLOAT = 0, ACL_FLOAT16 = 1, ACL_INT8 = 2, ACL_INT32 = 3, ACL_UINT8 = 4, ACL_INT16 = 6, ACL_UINT16 = 7, ACL_UINT32 = 8, ACL_INT64 = 9, ACL_UINT64 = 10, ACL_DOUBLE = 11, ACL_BOOL = 12, ACL_BF16 = 27 };
constexpr aclError ACL_SUCCESS = 0;
constexpr aclError ACL_ERROR_NONE = 0;
constexpr aclError ACL_ERROR_BAD_ALLOC = 200000;

inline aclError aclInit(const char*) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtCreateContext(aclrtContext* c, int32_t) { *c = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyContext(aclrtContext) { return ACL_SUCCESS; }
inline aclError aclrtCreateStream(aclrtStream* s) { *s = nullptr; return ACL_SUCCESS; }
inline aclError aclrtCreateStreamWithConfig(aclrtStream* s, uint32_t, uint32_t) { *s = nullptr; return ACL_SUCCESS; }
inline aclError aclrtDestroyStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtDestroyStreamForce(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtMalloc(void** p, size_t n, aclrtMemMallocPolicy) { *p = std::malloc(n); return *p ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC; }
inline aclError aclrtMallocHost(void** p, size_t n) { *p = std::malloc(n); return *p ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC; }
inline aclError aclrtFree(void* p) { std::free(p); return ACL_SUCCESS; }
inline aclError aclrtFreeHost(void* p) { std::free(p); return ACL_SUCCESS; }
inline aclError aclrtMemset(void* p, size_t, int32_t v, size_t n) { std::memset(p, v, n); return ACL_SUCCESS; }
inline aclError aclrtMemsetAsync(void* p, size_t, int32_t v, size_t n, aclrtStream) { std::memset(p, v, n); return ACL_SUCCESS; }
inline aclError aclrtMemcpy(void* d, size_t, const void* s, size_t n, aclrtMemcpyKind) { std::memcpy(d, s, n); return ACL_SUCCESS; }
inline aclError aclrtMemcpyAsync(void* d, size_t, const void* s, size_t n, aclrtMemcpyKind, aclrtStream) { std::memcpy(d, s, n); return ACL_SUCCESS; }
inline aclError aclrtGetVersion(int32_t* a, int32_t* b, int32_t* c) { *a = *b = *c = 0; return ACL_SUCCESS; }
inline float aclFloat16ToFloat(aclFloat16 v) { return static_cast<float>(__builtin_bit_cast(half, v)); }
inline aclFloat16 aclFloatToFloat16(float v) { return __builtin_bit_cast(aclFloat16, static_cast<half>(v)); }
inline size_t aclDataTypeSize(aclDataType t) {
    switch (t) {
        case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
        case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
        case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
        case ACL_INT64: case ACL_UINT64: case ACL_DOUBLE: return 8;
        default: return 0;
    }
}
