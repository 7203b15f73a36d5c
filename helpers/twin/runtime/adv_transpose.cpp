// ConfusionTranspose: NZ and ND matrices of attention with heads and rows exchanged.
#include <algorithm>

#include "adv_move.h"
#include "twin/abi_adv_transform.h"

namespace twin {
namespace {

struct ShufflePlan { MoveShape m; uint32_t kind, b, n, s, d; };

constexpr uint32_t up16(uint32_t v) { return (v + 15) / 16 * 16; }
// Element (row, col) of a matrix in NZ: columns of 16, each `rows` high.
uint64_t nz(uint64_t rows, uint64_t row, uint64_t col) { return col / 16 * rows * 16 + row * 16 + col % 16; }

// Calls f(dst, src) for every element.
template <class F> void each(const ShufflePlan& p, F f) {
    const uint64_t B = p.b, N = p.n, S = p.s, D = p.d, H = N * D, Dp = up16(p.d), Hp = up16(uint32_t(H)), Np = up16(p.n);
    if (p.kind == 7) {
        for (uint64_t h = 0; h < S; ++h) for (uint64_t w = 0; w < D; ++w) f(w * S + h, h * D + w);
        return;
    }
    for (uint64_t b = 0; b < B; ++b) for (uint64_t n = 0; n < N; ++n) for (uint64_t s = 0; s < S; ++s) for (uint64_t d = 0; d < D; ++d) {
        const uint64_t h = n * D + d, head = (b * N + n) * S * Dp + nz(S, s, d), whole = b * S * Hp + nz(S, s, h);
        switch (p.kind) {
            case 1: f(((b * S + s) * N + n) * D + d, head); break;
            case 2: f((b * S + s) * Np * Dp + nz(Np, n, d), head); break;
            case 3: f(head, whole); break;
            case 4: f(((b * N + n) * S + s) * Dp + d, whole); break;
            case 5: f((b * S + s) * Hp + h, head); break;
            default: f(whole, head); break;
        }
    }
}

void shuffle_run(Core& c, const Instr& in) {
    const ShufflePlan& p = in.get<ShufflePlan>();
    std::vector<int64_t> from(p.m.dst_n, kNothing);
    each(p, [&](uint64_t to, uint64_t at) { from[to] = int64_t(at); });
    move_elements(c, in, p.m, [&](uint64_t i) { return from[i]; });
}

void shuffle(const ShuffleCall& s) {
    if (!vec_unit_here(s.api, s.at)) return;
    if (s.kind < 1 || s.kind > 7)
        fatal("BAD_PARAMETER", s.at, fmt("%s: transposeType %d is not one of 1..7", s.api, s.kind), "on Atlas A2 a tiling goes with TRANSPOSE_NZ2ND_0213 to TRANSPOSE_ND2ND_ONLY");
    const bool plain = s.kind == 7;
    if ((!plain && (!s.b || !s.n)) || !s.s || !s.d)
        fatal("BAD_PARAMETER", s.at, fmt("%s: the tiling says B=%u N=%u S=%u H/N=%u", s.api, s.b, s.n, s.s, s.d), "fill it with GetConfusionTransposeTilingInfo");
    if (s.s % 16 || (plain && s.d % 16))
        fatal("MISALIGNED", s.at, plain ? fmt("%s: [%u, %u] is not made of 16 x 16 blocks", s.api, s.s, s.d) : fmt("%s: S = %u is not a multiple of 16", s.api, s.s), "pad the axis to a multiple of 16");
    const uint32_t z = size_of(s.type);
    const uint64_t B = s.b, N = s.n, S = s.s, D = s.d, Dp = up16(s.d), Hp = up16(s.n * s.d), heads = B * N * S * Dp, whole = B * S * Hp;
    ShufflePlan p{{0, 0, z, 0, 0, 0}, uint32_t(s.kind), s.b, s.n, s.s, s.d};
    p.m.src_n = plain ? S * D : s.kind == 3 || s.kind == 4 ? whole : heads;
    p.m.dst_n = plain ? S * D : s.kind == 1 ? B * S * N * D : s.kind == 2 ? B * S * up16(s.n) * Dp : s.kind == 3 || s.kind == 4 ? heads : whole;
    AdvGroup g(s.api, s.at, Undef::Ignore);
    p.m.src = g.operand("src", s.src, s.type, kRead, p.m.src_n, "the shape of the tiling");
    p.m.dst = g.operand("dst", s.dst, s.type, kWrite, p.m.dst_n, "the shape of the tiling");
    const uint32_t tmp = tw_shuffle_tmp(s.kind, s.s, s.d, z);
    g.scratch(s.tmp, tmp, tmp, "GetConfusionTransposeMaxMinTmpSize", false);
    g.steps("TransDataTo5HD", s.type, p.m.src_n, plain ? 1 : 2);
    if (!plain) g.steps("Copy", s.type, p.m.dst_n);
    g.in.put(p);
    g.issue(shuffle_run);
}

}  // namespace
}  // namespace twin

extern "C" {
void tw_adv_shuffle(const twin::ShuffleCall* call) { twin::shuffle(*call); }
uint32_t tw_shuffle_tmp(int kind, uint32_t s, uint32_t d, uint32_t size) {
    if (kind == 7) return 0;
    if (kind <= 2) return 32 * s * size;
    return 4 * s * std::max(16u, (d + 15) / 16 * 16) * size;
}
}
