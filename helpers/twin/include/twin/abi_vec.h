// The vector unit as the runtime sees it: one plain description of a call, the same from C++ kernels and from Python.
#pragma once
#include "twin/base.h"

namespace twin {

enum class VecOp : uint16_t {
    Exp, Ln, Abs, Reciprocal, Sqrt, Rsqrt, Relu, Not,                                  // dst = f(src)
    Add, Sub, Mul, Div, Max, Min, And, Or, AddRelu, SubRelu,                           // dst = f(src0, src1)
    MulAddDst, FusedMulAdd, FusedMulAddRelu, AddReluCast, SubReluCast, MulCast, AddDeqRelu,
    Adds, Muls, Maxs, Mins, LeakyRelu, ShiftLeft, ShiftRight, Axpy,                    // dst = f(src, scalar)
    Cast, CastDeq, Duplicate, Copy,
    Compare, CompareScalar, Select,
    N
};

// Which elements take part: a count, a bit per lane, or the first n lanes of every repeat.
struct VecMask {
    uint8_t form = 0;                 // 0 count, 1 bits, 2 first lanes
    uint8_t set = 1;                  // isSetMask: 0 = use the mask register as it is
    int64_t n = 0;                    // count, or number of lanes
    uint64_t bits[2] = {0, 0};        // lanes 0..63, 64..127
    int64_t repeat = 1;               // repeatTime as written, before it is narrowed to 8 bits
};

// Starts-to-starts in blocks of 32 bytes; wider than the hardware fields so that a value too large can be reported.
struct VecStride {
    int32_t blk = 1, rep = 8;
};

struct VecOperand {
    LocalRef ref;
    VecStride stride;
};

struct VecCall {
    VecOp op = VecOp::N;
    DType type = DType::None;         // element type of dst
    DType from = DType::None;         // element type of the sources
    uint8_t sources = 0;
    uint8_t mode = 0;                 // RoundMode of Cast, roundEn of ShiftRight, CMPMODE, SELMODE, halfBlock of CastDeq
    uint8_t flag = 0;                 // CastDeq: isVecDeq
    const char* api = "";             // the name as written
    VecMask mask;
    VecOperand dst, src[2];
    uint64_t scalar = 0;              // bits of the scalar, in its own type
    At at{};
};

// Sets of element types, for the tables that say what exists.
constexpr uint32_t type_bit(DType t) { return 1u << static_cast<int>(t); }
constexpr uint32_t kF16 = type_bit(DType::F16), kBF16 = type_bit(DType::BF16), kF32 = type_bit(DType::F32), kI16 = type_bit(DType::I16),
                   kU16 = type_bit(DType::U16), kI32 = type_bit(DType::I32), kU32 = type_bit(DType::U32), kI8 = type_bit(DType::I8),
                   kU8 = type_bit(DType::U8);
constexpr bool has_type(uint32_t set, DType t) { return t != DType::None && (set >> static_cast<int>(t) & 1u) != 0; }

// Rounding modes (bit = RoundMode) that Cast from `src` to `dst` knows on Atlas A2; 0 = the pair does not exist.
constexpr uint32_t cast_modes(DType src, DType dst) {
    constexpr uint32_t none = 1u << 0, five = 0x3eu, odd = 1u << 6;
    switch (src) {
        case DType::I4: return dst == DType::F16 ? none : 0;
        case DType::I8: case DType::U8: return dst == DType::F16 ? none : 0;
        case DType::I16: return dst == DType::F16 ? five | none : dst == DType::F32 ? none : 0;
        case DType::F16:
            switch (dst) {
                case DType::I4: case DType::I8: case DType::U8: return five | none;
                case DType::I16: case DType::I32: return five;
                case DType::F32: return none;
                default: return 0;
            }
        case DType::BF16: return dst == DType::I32 ? five : dst == DType::F32 ? none : 0;
        case DType::I32:
            switch (dst) {
                case DType::I16: case DType::I64: return none;
                case DType::F16: return five | none | odd;      // scaled by SetDeqScale; the mode has no effect
                case DType::F32: return five | none;
                default: return 0;
            }
        case DType::F32:
            switch (dst) {
                case DType::F16: return five | odd | none;
                case DType::I16: case DType::BF16: case DType::I32: case DType::F32: case DType::I64: return five;
                default: return 0;
            }
        case DType::I64: return dst == DType::I32 ? none : dst == DType::F32 ? five : 0;
        default: return 0;
    }
}

// (source type, dst type) of the instructions that may change the type.
constexpr bool mul_add_types(DType src, DType dst) {
    return (src == DType::F16 && (dst == DType::F16 || dst == DType::F32)) || (src == DType::F32 && dst == DType::F32);
}
constexpr bool relu_cast_types(DType src, DType dst) {
    return ((src == DType::F16 || src == DType::I16) && dst == DType::I8) || (src == DType::F32 && dst == DType::F16);
}
constexpr bool mul_cast_types(DType src, DType dst) { return src == DType::F16 && (dst == DType::I8 || dst == DType::U8); }
constexpr bool deq_types(DType src, DType dst) {
    return (src == DType::I16 && (dst == DType::I8 || dst == DType::U8)) || (src == DType::I32 && dst == DType::F16);
}

}  // namespace twin

extern "C" {
void tw_vec(const twin::VecCall* call);                                  // runs one vector instruction
void tw_vec_compare(const twin::VecCall* call, int to_register);           // Compare, CompareScalar: mode = CMPMODE
void tw_vec_select(const twin::VecCall* call, const twin::LocalRef* bits);   // Select: mode = SELMODE, bits null = CMPMASK
void tw_vec_cmpmask(const twin::LocalRef* tensor, int load, twin::At at);    // SetCmpMask (load) / GetCmpMask
int tw_vec_op(const char* name);                                         // VecOp of an API name, -1 = unknown
void tw_vec_mask_mode(int counter, twin::At at);                         // SetMaskCount / SetMaskNorm
void tw_vec_mask_set(uint64_t high, uint64_t low, int wants_counter, twin::At at);   // SetVectorMask; wants_counter -1 = not said
void tw_vec_mask_len(int64_t len, int bytes, int wants_counter, twin::At at);        // SetVectorMask<T>(len)
void tw_vec_mask_reset(twin::At at);
void tw_vec_deq_scale(float scale, int offset, int sign, int full, twin::At at);      // SetDeqScale; full = the int16 form
void tw_vec_deq_table(const twin::LocalRef* table, const float* scale, const int16_t* offset, const uint8_t* sign, twin::At at);
void tw_vec_saturation(int what, int on, twin::At at);                   // 0 FLOAT, 1 CAST
}
