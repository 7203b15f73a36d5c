// The numbers of the cost model, read once from a chip profile, and what they say about one copy.
#pragma once
#include "engine.h"

namespace twin {

struct Costs {
    explicit Costs(const Chip& chip);   // throws std::runtime_error naming the number a profile lacks

    double cycle;                                  // ns
    double hbm, hbm_half, hbm_floor;               // bytes per ns; see hbm_share
    double l2_read, l2_write, l2_capacity;         // bytes per ns; usable bytes
    double launch, wave, matmul_message;           // ns
    double flag, barrier_all;                      // ns
    double sync_hard, sync_mixed, sync_soft, cross_all, cross_near, hop;   // ns
    int queue_depth, same_line_cores;
    double same_line;                              // factor

    // Time before the first byte of a copy moves when its pipe was idle.
    double start(const CopyCost& c, CoreKind kind, Pipe pipe) const;
    // Time until the answer of a single burst is back.
    double round_trip(const CopyCost& c, Pipe pipe, bool missed) const;
    // Time a copy keeps its pipe when nobody else uses the memory; bursts that hit and that miss the L2.
    double occupied(const CopyCost& c, CoreKind kind, Pipe pipe, double hits, double misses) const;
    // Part of the HBM rate that copies of this size can use: small requests waste the rest.
    double hbm_share(const CopyCost& c) const;
    double vector_busy(double cycles) const { return (cycles < 3 ? 3 : cycles) * cycle; }

private:
    double w_[2], rtt_load_[2], rtt_store_[2], start_load_[2];   // by core kind; L2, HBM
    double start_store_, start_fix_, start_nd2nz_, fix_rate_, copy_min_, nd2nz_short_row_;
    double unaligned_, unaligned_short_, ragged_, ragged_nd2nz_;
    double penalty(const CopyCost& c) const;
};

}  // namespace twin
