// Duplicate and Copy: bits as they are.
#include "vec_loops.h"

namespace twin {
namespace {

template <class T>
void fill(void* dst, const void*, const void*, int64_t n, const VecScalar& s) {
    const T v = static_cast<T>(s.bits);
    std::fill_n(static_cast<T*>(dst), n, v);
}
template <class T>
void move(void* dst, const void* a, const void*, int64_t n, const VecScalar&) { std::memmove(dst, a, static_cast<size_t>(n) * sizeof(T)); }

}  // namespace

VecKernel vec_duplicate_kernel(const VecKey& k) {
    const uint32_t size = size_of(k.type);
    const bool exists = has_type(kI16 | kU16 | kF16 | kBF16 | kI32 | kU32 | kF32, k.type);
    if (!exists) return {};
    if (k.op == VecOp::Duplicate) return {size == 2 ? fill<uint16_t> : fill<uint32_t>};
    if (k.op == VecOp::Copy) return {size == 2 ? move<uint16_t> : move<uint32_t>};
    return {};
}

}  // namespace twin
