// Vector instructions inside the runtime: what a call becomes after its checks, and the loops that carry it out.
#pragma once
#include "core_kind.h"
#include "twin/abi_vec.h"

// A loop whose iterations are independent although the pointers may be equal: dst == src is normal practice.
#if defined(__clang__)
#define TW_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TW_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TW_INDEPENDENT
#endif

namespace twin {

// RoundMode of the headers, as numbers of the interface.
enum RoundMode_ : uint8_t { kNone, kRint, kFloor, kCeil, kRound, kTrunc, kOdd };

// The scalar operand and the modes, ready for the loops.
struct VecScalar {
    uint64_t bits = 0;
    float f = 0;              // the scalar as float (half, bfloat16, float)
    float deq = 1;            // DEQSCALE
    int32_t deq_offset = 0;
    uint8_t mode = 0;         // RoundMode, roundEn
    uint8_t saturate = 0;     // half results clamp
    uint8_t wrap = 0;         // conversions to integers keep the low bits
};

// n contiguous elements. dst may equal a or b. What reads dst (multiply-add) finds its old value there.
using VecFn = void (*)(void* dst, const void* a, const void* b, int64_t n, const VecScalar& s);

// Vector instructions are skipped on the cube cores of Atlas A2; the core of the inference chip has both units.
inline bool vec_unit_here() { return on(CoreKind::AIV) || !chip_is_a2(); }
// The same for an instruction: told when the launch has no vector core at all.
inline bool vec_unit_here(const char* api, At at) { return !belongs_elsewhere(CoreKind::AIV, api, at); }

// One row of the dispatch table; fn == nullptr: the combination does not exist.
struct VecKernel {
    VecFn fn = nullptr;
    bool reads_dst = false;
    bool may_overflow = false;    // can turn finite inputs into inf or NaN
};
struct VecKey { VecOp op; DType type, from; uint8_t mode; bool saturate; };
VecKernel vec_unary_kernel(const VecKey& k);
VecKernel vec_binary_kernel(const VecKey& k);
VecKernel vec_fused_kernel(const VecKey& k);
VecKernel vec_scalar_kernel(const VecKey& k);
VecKernel vec_cast_kernel(const VecKey& k);
VecKernel vec_duplicate_kernel(const VecKey& k);

// A checked call: everything its loop needs, by value, since the instruction may run later.
struct VecPlan {
    VecFn fn = nullptr;
    uint32_t at[3] = {};          // UB byte address of dst, src0, src1
    int32_t blk[3] = {1, 1, 1}, rep[3] = {8, 8, 8};   // strides in blocks
    uint8_t size[3] = {};         // bytes of one element (of a pair for int4b_t)
    uint8_t sources = 0;
    bool contiguous = true;       // one run of `total` elements in every operand
    bool reads_dst = false, numeric = false, saturate = false;
    uint8_t op = 0;
    DType type = DType::None, from = DType::None;
    uint32_t lanes = 0;           // per repeat
    uint32_t repeats = 1;
    uint32_t first = 0;           // lanes 0..first-1 take part; 0 = look at `mask`
    uint32_t tail = 0;            // lanes of the last repeat in counter mode; 0 = as the others
    int64_t total = 0;
    uint64_t mask[2] = {0, 0};
    VecScalar s;
};
void vec_run(Core& c, const Instr& in);                      // Body: reads a VecPlan

// Blocks `blk` x 32 B apart, side by side; the pointer itself when they lie so already.
inline const uint8_t* packed_lanes(const uint8_t* first, int32_t blk, uint32_t bytes, uint8_t* buf) {
    if (blk == 1 || bytes <= kBlock) return first;
    for (uint32_t at = 0; at < bytes; at += kBlock, first += int64_t(blk) * kBlock) std::memcpy(buf + at, first, bytes - at < kBlock ? bytes - at : kBlock);
    return buf;
}

// Elements that take part, after the mask state machine.
struct VecExtent {
    bool contiguous = false, counter = false;
    uint32_t repeats = 0, first = 0, tail = 0;
    uint64_t mask[2] = {0, 0};
    int64_t total = 0;                                       // elements of the instruction
};
// Applies the call's mask to the registers of the core; false: nothing to do (reported if it is a mistake).
bool vec_extent(const VecCall& c, uint32_t lanes, VecExtent& e);
void vec_check_count(const VecCall& c, int64_t n);   // ends the launch when no tile can have that many elements

// vec_registers.cpp: registers of a core that only vector instructions know
struct VecRegisters {
    uint64_t compare[2] = {0, 0};      // CMPMASK
    LocalRef deq_table;                // tensor of SetDeqScale(tensor, info); Mem::N = none
    bool deq_vector = false;           // the table form was the last one used
    uint32_t sum = 0;                  // ReduceSum of a count, as bits
    uint32_t extreme = 0, extreme_index = 0;   // largest or smallest element, as bits, and its place
    uint64_t gathered = 0;             // elements GatherMask kept
    uint16_t merged[4] = {0, 0, 0, 0}; // MrgSort: pairs taken from each list
};
VecRegisters& vec_registers(Core& c);
void vec_dequantise(const VecCall& c);             // vec_deq.cpp: CastDeq int16_t -> 8 bits

// vec_support.cpp: ends the launch when the chip has no such instruction
void vec_must_exist(const VecCall& c, bool on_atlas_a2);

// vec_check.cpp
const char* dtype_name(DType t);
const char* vec_op_name(VecOp op);
void vec_check_start(const VecCall& c, int operand, const LocalRef& t, uint32_t element_bytes, DType type);   // position and alignment
void vec_check_stride(const VecCall& c, int operand, const VecStride& s, int max_blk, int max_rep);   // what the fields can hold
bool vec_check_operands(const VecCall& c, const VecPlan& p, const VecExtent& e);   // position, alignment, strides, overlap
float vec_slope(const VecPlan& p, float s1, int& worst_group);                     // cycles per repeat with bank conflicts
std::string operand_text(const VecCall& c, int operand);                           // "src0 xLocal[1]"

// vec_numeric.cpp: inf and NaN that are born here
struct VecOperands { const void *dst, *old, *a, *b; };      // values before (old, a, b) and after (dst)
bool any_nonfinite(DType t, const void* p, int64_t n);
// Index of the first element that is inf or NaN although all its inputs are finite, -1 if none.
int64_t first_born(const VecPlan& p, const VecOperands& v, int64_t n);
void operands_text(const VecPlan& p, const VecOperands& v, int64_t i, char* out, size_t room);
void report_born(const Instr& in, const VecPlan& p, uint64_t address, const char* operands, double result);
void check_shift(const Instr& in, const VecPlan& p, const uint8_t* ub);

void vec_check_reserved(const char* api, At at);   // calls that use the top 8 KB of UB as scratch

}  // namespace twin
