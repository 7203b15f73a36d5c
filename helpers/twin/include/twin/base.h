// Plain data shared by kernel code, the twin runtime and Python (ctypes): no templates, no std containers.
#pragma once
#include <cstddef>
#include <cstdint>

namespace twin {

// Where a call stands in the learner's text. Travels as a defaulted last parameter: `At at = At::here()`.
struct At {
    const char* file;
    int32_t line;
    static constexpr At here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, N, ALL = N };
enum class Mem : uint8_t { GM, UB, L1, L0A, L0B, L0C, BT, FB, N };
enum class CoreKind : uint8_t { AIV, AIC };
enum class DType : uint8_t { None, F16, BF16, F32, F64, I8, U8, I16, U16, I32, U32, I64, U64, I4, Bool, N };

constexpr uint32_t kBlock = 32;    // bytes of one data block
constexpr uint32_t kRepeat = 256;  // bytes of one vector repeat

constexpr uint32_t size_of(DType t) {
    switch (t) {
        case DType::I8: case DType::U8: case DType::Bool: case DType::I4: return 1;
        case DType::F16: case DType::BF16: case DType::I16: case DType::U16: return 2;
        case DType::F32: case DType::I32: case DType::U32: return 4;
        case DType::F64: case DType::I64: case DType::U64: return 8;
        default: return 0;
    }
}

// The bytes a LocalTensor stands for: an address inside one on-chip memory of the running core.
struct LocalRef {
    uint32_t addr = 0;    // bytes from the start of that memory
    uint32_t bytes = 0;   // length of the view
    int32_t buf = -1;     // owning buffer (queue buffer or TBuf), -1 = none
    uint32_t gen = 0;     // how often that buffer had been allocated when this handle was made
    Mem mem = Mem::N;     // Mem::N = never assigned
    uint8_t pos = 0;      // TPosition, for messages and queue rules
};

// The bytes a GlobalTensor stands for.
struct GlobalRef {
    uint8_t* ptr = nullptr;  // host address of element 0 of this view
    uint64_t bytes = 0;      // length as set by SetGlobalBuffer; 0 = not given (check against the allocation)
    uint8_t cache = 1;       // CacheMode; 0 = CACHE_MODE_DISABLE
    uint8_t set = 0;         // 1 after SetGlobalBuffer; 2: a view that starts behind the end
};

}  // namespace twin
