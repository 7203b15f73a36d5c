// Shapes, types and the platform as host tiling code names them. Not for kernels.
#pragma once
#include <initializer_list>

#include "twin/tiling.h"

// In kernel code these names are numbers for #if; host code wants them inside ge.
#undef DT_FLOAT
#undef DT_FLOAT16
#undef DT_INT8
#undef DT_INT32
#undef DT_UINT8
#undef DT_INT16
#undef DT_UINT16
#undef DT_UINT32
#undef DT_INT64
#undef DT_UINT64
#undef DT_BOOL
#undef DT_DOUBLE
#undef DT_BF16
#undef DT_INT4

namespace ge {

// ---- ge::DataType
enum DataType {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8, DT_INT64 = 9, DT_UINT64 = 10,
    DT_BOOL = 11, DT_DOUBLE = 12, DT_BF16 = 27, DT_INT4 = 29
};

// ---- ge::Shape
// Lengths of the axes, outermost first; up to 8 of them.
// limits: host code only
class Shape {
public:
    constexpr Shape() = default;
    constexpr Shape(std::initializer_list<int64_t> dims) { for (int64_t d : dims) add(d); }
    // From std::vector<int64_t> and the like.
    template <class C, class = decltype(static_cast<const C*>(nullptr)->data() + static_cast<const C*>(nullptr)->size())>
    explicit Shape(const C& dims) { for (int64_t d : dims) add(d); }
    constexpr size_t GetDimNum() const { return n_; }
    constexpr int64_t GetDim(size_t i) const { return i < n_ ? dim_[i] : 0; }
    constexpr bool SetDim(size_t i, int64_t v) { return i < n_ ? (dim_[i] = v, true) : false; }
    constexpr int64_t GetShapeSize() const {
        int64_t all = n_ ? 1 : 0;
        for (size_t i = 0; i < n_; ++i) all *= dim_[i];
        return all;
    }

private:
    constexpr void add(int64_t d) { if (n_ < 8) dim_[n_++] = d; }
    int64_t dim_[8] = {};
    size_t n_ = 0;
};

}  // namespace ge

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, RESERVED_VERSION = 99999 };

// ---- platform_ascendc::PlatformAscendC
// What host tiling asks of the chip: sizes of the on-chip memories.
// limits: host code only; the chip is the one the code is built for
class PlatformAscendC {
public:
    SocVersion GetSocVersion() const { return __NPU_ARCH__ == 2002 ? SocVersion::ASCEND310P : SocVersion::ASCEND910B; }
    void GetCoreMemSize(const CoreMemType& memory, uint64_t& bytes) const {
        switch (memory) {
            case CoreMemType::UB: bytes = AscendC::TOTAL_UB_SIZE; break;
            case CoreMemType::L1: bytes = AscendC::TOTAL_L1_SIZE; break;
            case CoreMemType::L0_A: bytes = AscendC::TOTAL_L0A_SIZE; break;
            case CoreMemType::L0_B: bytes = AscendC::TOTAL_L0B_SIZE; break;
            case CoreMemType::L0_C: bytes = AscendC::TOTAL_L0C_SIZE; break;
            default: bytes = 0;
        }
    }
};

}  // namespace platform_ascendc
