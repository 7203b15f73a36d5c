// Copies in numbers: bursts of at most 512 bytes, a fixed number of them in flight, penalties for awkward shapes.
#include "timing_costs.h"

#include <algorithm>
#include <stdexcept>

namespace twin {

static double need(const Chip& chip, const char* key) {
    const double missing = -1e300;
    const double value = chip.num(key, missing);
    if (value == missing) throw std::runtime_error("the profile of " + chip.name + " has no number " + key);
    return value;
}

Costs::Costs(const Chip& chip) {
    auto num = [&](const char* key) { return need(chip, key); };
    cycle = 1.0 / num("clock_ghz");
    hbm = num("hbm_gbps");
    hbm_half = num("hbm_half_bytes");
    hbm_floor = num("hbm_floor");
    l2_read = num("l2_read_gbps");
    l2_write = num("l2_write_gbps");
    l2_capacity = num("l2_bytes") * num("l2_usable");
    launch = num("launch_ns");
    wave = num("wave_ns");
    matmul_message = num("matmul_message_ns");
    flag = num("flag_cycles") * cycle;
    barrier_all = num("barrier_all_ns");
    sync_hard = num("sync_hard_ns");
    sync_mixed = num("sync_mixed_ns");
    sync_soft = num("sync_soft_ns");
    cross_all = num("cross_all_ns");
    cross_near = num("cross_near_ns");
    hop = num("hop_ns");
    queue_depth = int(num("queue_depth"));
    same_line_cores = int(num("same_line_cores"));
    same_line = num("penalty_same_line");
    w_[int(CoreKind::AIV)] = num("w_aiv");
    w_[int(CoreKind::AIC)] = num("w_aic");
    rtt_load_[0] = num("rtt_l2_load_ns");
    rtt_load_[1] = num("rtt_hbm_load_ns");
    rtt_store_[0] = num("rtt_l2_store_ns");
    rtt_store_[1] = num("rtt_hbm_store_ns");
    start_load_[int(CoreKind::AIV)] = num("start_load_aiv_ns");
    start_load_[int(CoreKind::AIC)] = num("start_load_aic_ns");
    start_store_ = num("start_store_ns");
    start_fix_ = num("start_fix_ns");
    start_nd2nz_ = num("start_nd2nz_ns");
    fix_rate_ = num("fix_bytes_per_cycle") / cycle;
    copy_min_ = num("copy_min_cycles") * cycle;
    nd2nz_short_row_ = num("nd2nz_short_row_cycles") * cycle;
    unaligned_ = num("penalty_unaligned");
    unaligned_short_ = num("penalty_unaligned_short");
    ragged_ = num("penalty_ragged");
    ragged_nd2nz_ = num("penalty_ragged_nd2nz");
}

double Costs::start(const CopyCost& c, CoreKind kind, Pipe pipe) const {
    if (pipe == Pipe::FIX) return start_fix_;
    if (c.store) return start_store_;
    return start_load_[int(kind)] + (c.nd2nz ? start_nd2nz_ : 0);
}

double Costs::round_trip(const CopyCost& c, Pipe pipe, bool missed) const {
    if (pipe == Pipe::FIX) return 0;   // its published rate already includes the way to memory
    return (c.store ? rtt_store_ : rtt_load_)[missed];
}

double Costs::occupied(const CopyCost& c, CoreKind kind, Pipe pipe, double hits, double misses) const {
    const double* rtt = c.store ? rtt_store_ : rtt_load_;
    double time = pipe == Pipe::FIX ? double(c.rows) * c.row_bytes / fix_rate_
                                    : (hits * rtt[0] + misses * rtt[1]) / w_[int(kind)] * penalty(c);
    if (c.nd2nz && c.row_bytes <= kBlock) time = std::max(time, c.rows * nd2nz_short_row_);
    return std::max(time, copy_min_);
}

// Where a row starts matters for whole bursts only: rows shorter than a burst are judged by the first one.
double Costs::penalty(const CopyCost& c) const {
    constexpr uint32_t kBurst = 512, kShort = 2048;
    double factor = 1;
    const uint32_t rows = c.row_bytes < kBurst ? 1 : std::min<uint32_t>(c.rows, 16);
    for (uint32_t i = 0; i < rows; ++i) {
        const uint64_t at = c.gm + uint64_t(i) * uint64_t(c.row_pitch);
        double one = 1;
        if (at % kBurst) {
            one = unaligned_;
            if (at % 64 && c.row_bytes < kShort) one += (unaligned_short_ - unaligned_) * (1 - double(c.row_bytes) / kShort);
        }
        factor += (one - 1) / rows;
    }
    if (c.ragged) factor *= c.nd2nz ? ragged_nd2nz_ : ragged_;
    return factor;
}

double Costs::hbm_share(const CopyCost& c) const {
    const bool batched = c.row_bytes >= 128 && std::max<int64_t>(c.row_pitch, -c.row_pitch) >= 512;
    const double bytes = batched || c.rows == 1 ? double(c.rows) * c.row_bytes : double(c.row_bytes);
    return std::max(hbm_floor, bytes / (bytes + hbm_half));
}

}  // namespace twin
