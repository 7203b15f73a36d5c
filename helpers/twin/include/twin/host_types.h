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

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_93, ASCEND910_95, ASCEND950, RESERVED_VERSION = 99999 };
enum class NpuArch : uint32_t { DAV_2002 = 2002, DAV_2201 = 2201 };
enum class ReservedSize { RESERVED_SIZE_8K = 0, RESERVED_SIZE_16K, RESERVED_SIZE_32K };

// What differs between the chips of one architecture: cores, L2 in MiB, memory in GB.
struct Soc { const char* name; uint32_t aic, aiv; uint64_t l2_mib, hbm_gb; };
constexpr Soc kSocs[] = {{"Ascend910B1", 24, 48, 192, 64}, {"Ascend910B2", 24, 48, 192, 64}, {"Ascend910B3", 20, 40, 192, 64}, {"Ascend910B4", 20, 40, 96, 32}, {"Ascend910_93", 24, 48, 192, 64}, {"Ascend310P3", 8, 8, 16, 24}};

// ---- platform_ascendc::PlatformAscendC
// What host tiling asks of the chip: cores, sizes of the on-chip memories, the library's part of a workspace.
// limits: host code only; sizes are those of the architecture the code is built for, counts those of the chip it names
class PlatformAscendC {
public:
    PlatformAscendC() = default;
    template <class Info> explicit PlatformAscendC(Info*) {}
    explicit PlatformAscendC(const Soc& soc) : soc_(&soc) {}
    SocVersion GetSocVersion() const { return __NPU_ARCH__ == 2002 ? SocVersion::ASCEND310P : SocVersion::ASCEND910B; }
    NpuArch GetCurNpuArch() const { return __NPU_ARCH__ == 2002 ? NpuArch::DAV_2002 : NpuArch::DAV_2201; }
    uint32_t GetCoreNumAic() const { return soc_->aic; }
    uint32_t GetCoreNumAiv() const { return soc_->aiv; }
    uint32_t GetCoreNum() const { return soc_->aiv; }
    uint32_t GetCoreNumVector() const { return __NPU_ARCH__ == 2002 ? 7 : 0; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
    uint32_t GetResCubeGroupWorkSpaceSize() const { return 4096; }
    uint32_t GetResGroupBarrierWorkSpaceSize() const { return 4096; }
    uint32_t CalcTschBlockDim(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const {
        return aicCoreNum == 0 || aivCoreNum == 0 || aivCoreNum < aicCoreNum ? sliceNum : (sliceNum + aivCoreNum / aicCoreNum - 1) / (aivCoreNum / aicCoreNum);
    }
    uint32_t CalcTschNumBlocks(uint32_t sliceNum, uint32_t aicCoreNum, uint32_t aivCoreNum) const { return CalcTschBlockDim(sliceNum, aicCoreNum, aivCoreNum); }
    void ReserveLocalMemory(ReservedSize size) { reserved_ = 8192u << static_cast<int>(size); }
    void GetCoreMemSize(const CoreMemType& memory, uint64_t& bytes) const {
        switch (memory) {
            case CoreMemType::UB: bytes = AscendC::TOTAL_UB_SIZE - reserved_; break;
            case CoreMemType::L1: bytes = AscendC::TOTAL_L1_SIZE; break;
            case CoreMemType::L0_A: bytes = AscendC::TOTAL_L0A_SIZE; break;
            case CoreMemType::L0_B: bytes = AscendC::TOTAL_L0B_SIZE; break;
            case CoreMemType::L0_C: bytes = AscendC::TOTAL_L0C_SIZE; break;
            case CoreMemType::BT: bytes = __NPU_ARCH__ == 2002 ? 0 : 1024; break;
            case CoreMemType::FB: bytes = __NPU_ARCH__ == 2002 ? 0 : 2048; break;
            case CoreMemType::L2: bytes = soc_->l2_mib << 20; break;
            case CoreMemType::HBM: bytes = soc_->hbm_gb << 30; break;
            default: bytes = 0;
        }
    }
    void GetCoreMemBw(const CoreMemType& memory, uint64_t& bytesPerCycle) const { bytesPerCycle = memory == CoreMemType::L2 ? 110 : memory == CoreMemType::HBM ? 32 : 0; }

private:
    const Soc* soc_ = &kSocs[__NPU_ARCH__ == 2002 ? 5 : 0];
    uint64_t reserved_ = 0;
};

// ---- platform_ascendc::PlatformAscendCManager
// The one description of the chip; the first name given wins.
// limits: host code only; an unknown name gives the default chip
class PlatformAscendCManager {
public:
    static PlatformAscendC* GetInstance() { return GetInstance(nullptr); }
    static PlatformAscendC* GetInstance(const char* soc) {
        static PlatformAscendC chip = named(soc);
        return &chip;
    }

private:
    static PlatformAscendC named(const char* soc) {
        for (const Soc& s : kSocs)
            if (soc && !__builtin_strcmp(soc, s.name)) return PlatformAscendC(s);
        return PlatformAscendC();
    }
};

}  // namespace platform_ascendc
