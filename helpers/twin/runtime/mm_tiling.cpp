// Host tiling of matrix multiplication: an own rule, documented here; kernels depend on its consistency only.
//
// 1. Cores: of all mDim x nDim <= dim the pair with the smallest max(cube cycles, load cycles of one core), then the fewest
//    cores. Cube: 4096 products per cycle for 16-bit types. Loads: A is read once per 256 columns, B once per 128 rows.
// 2. Base: 128 x 256, or what a core has. 3. baseK: L0A and L0B hold two steps each. 4. L0C: two tiles when they fit.
// 5. L1: two packages of as many base steps along K as fit. Where one operand serves several tiles and all of its K fits
//    beside the packages of the other, it stays in L1.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "engine.h"
#include "twin/abi_matmul_tiling.h"
#include "twin/adv_matmul_tiling.h"

namespace twin {
namespace {

constexpr int64_t kMessages = 128;        // last bytes of L1: the library's own

int64_t cd(int64_t a, int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
int64_t al(int64_t a, int64_t b) { return cd(a, b) * b; }
int bits(int dtype) { return DType(dtype) == DType::I4 ? 4 : int(size_of(DType(dtype))) * 8; }
int64_t bytes(int64_t n, int dtype) { return n * bits(dtype) / 8; }
int c0(int dtype) { return 256 / bits(dtype); }
long long ll(int64_t v) { return static_cast<long long>(v); }

struct Refused { std::string why; };
[[noreturn]] void refuse(const char* f, ...) __attribute__((format(printf, 1, 2)));
void refuse(const char* f, ...) {
    char text[512];
    va_list args;
    va_start(args, f);
    vsnprintf(text, sizeof text, f, args);
    va_end(args);
    throw Refused{text};
}

class Tiler {
public:
    explicit Tiler(const MatmulAsk& ask) : q(ask) {}

    TCubeTiling run(MatmulSplit& split) {
        shape();
        if (q.kind == 1) cores(split); else one_core();
        bases();
        packages();
        rest(split);
        return t;
    }

private:
    void shape() {
        if (!q.a || !q.b || !q.c) refuse("the types are not complete: SetAType, SetBType and SetCType are all needed");
        m = q.m > 0 ? q.m : q.org_m;
        n = q.n > 0 ? q.n : q.org_n;
        k = q.k > 0 ? q.k : q.org_ka;
        if (m <= 0 || n <= 0 || k <= 0) refuse("the shape is not complete (M=%lld, N=%lld, K=%lld): call SetShape(M, N, K) or SetOrgShape", ll(m), ll(n), ll(k));
        t.M = q.org_m > 0 ? q.org_m : int32_t(m);
        t.N = q.org_n > 0 ? q.org_n : int32_t(n);
        t.Ka = q.org_ka > 0 ? q.org_ka : int32_t(k);
        t.Kb = q.org_kb > 0 ? q.org_kb : t.Ka;
        if (t.M < m || t.N < n || t.Ka < k || t.Kb < k)
            refuse("SetShape(%lld, %lld, %lld) is larger than SetOrgShape(%d, %d, %d, %d), the matrices in memory", ll(m), ll(n), ll(k), t.M, t.N, t.Ka, t.Kb);
        l1 = (q.l1 > 0 ? q.l1 : 512 * 1024) - kMessages;
        l0a = q.l0a > 0 ? q.l0a : 64 * 1024;
        l0b = q.l0b > 0 ? q.l0b : 64 * 1024;
        l0c = q.l0c > 0 ? q.l0c : 128 * 1024;
        table = q.bt > 0 ? q.bt : 1024;
    }

    // Steps of a split along an axis.
    int64_t step_m() const { return q.align_m > 0 ? q.align_m : q.nz_a && q.trans_a ? std::max(16, c0(q.a)) : 16; }
    int64_t step_n() const { return q.align_n > 0 ? q.align_n : q.nz_b && !q.trans_b ? std::max(16, c0(q.b)) : 16; }

    void one_core() {
        const int64_t sm = q.single_m > 0 ? q.single_m : m, sn = q.single_n > 0 ? q.single_n : n, sk = q.single_k > 0 ? q.single_k : k;
        set_single(std::min(sm, m), std::min(sn, n), std::min(sk, k));
        t.usedCoreNum = 1;
    }

    void set_single(int64_t sm, int64_t sn, int64_t sk) {
        t.singleCoreM = int32_t(sm);
        t.singleCoreN = int32_t(sn);
        t.singleCoreK = int32_t(sk);
    }

    static bool inside(int64_t v, int64_t least, int64_t most) { return (least <= 0 || v >= least) && (most <= 0 || v <= most); }

    void cores(MatmulSplit& split) {
        if (q.dim < 1) refuse("SetDim(%d): at least one core is needed", q.dim);
        if (q.split_k && q.bias) refuse("a bias cannot be used with EnableMultiCoreSplitK: every part of K would add it");
        const double rate = DType(q.a) == DType::F32 ? 1024 : bits(q.a) == 8 ? 8192 : bits(q.a) == 4 ? 16384 : 4096;
        double best = -1;
        int64_t best_used = 0;
        for (int64_t kd = 1; kd <= (q.split_k ? q.dim : 1); ++kd)
            for (int64_t md = 1; md * kd <= q.dim; ++md)
                for (int64_t nd = 1; md * nd * kd <= q.dim; ++nd) {
                    const int64_t sm = q.single_m > 0 ? q.single_m : std::min(m, al(cd(m, md), step_m())), sn = q.single_n > 0 ? q.single_n : std::min(n, al(cd(n, nd), step_n()));
                    const int64_t sk = q.single_k > 0 ? q.single_k : kd > 1 ? std::min(k, al(cd(k, kd), std::max(16, q.align_k))) : k;
                    const int64_t pm = cd(m, sm), pn = cd(n, sn), pk = cd(k, sk), used = pm * pn * pk;
                    if (used > q.dim || !inside(sm, q.least_m, q.most_m) || !inside(sn, q.least_n, q.most_n) || !inside(sk, q.least_k, q.most_k)) continue;
                    const double cube = double(al(sm, 16)) * double(al(sn, 16)) * double(sk) / rate;
                    const double load = (double(bytes(al(sm, 16) * sk, q.a)) * double(cd(sn, 256)) + double(bytes(al(sn, 16) * sk, q.b)) * double(cd(sm, 128))) / 80;
                    const double cost = std::max(cube, load);
                    if (best >= 0 && (cost > best || (cost == best && used >= best_used))) continue;
                    best = cost;
                    best_used = used;
                    set_single(sm, sn, sk);
                    split = {int32_t(pm), int32_t(pn), int32_t(pk)};
                }
        if (best < 0)
            refuse("no split of %lld x %lld x %lld over %d cores fits what was asked (SetSingleShape, SetSingleRange): blocks of this size need more cores, see SetDim", ll(m), ll(n), ll(k), q.dim);
        t.usedCoreNum = int32_t(best_used);
    }

    void bases() {
        const int64_t most_n = q.bias ? std::min<int64_t>(256, table / 4 / 16 * 16) : 256;
        // A transposing load of 8-bit elements moves squares of 32, one of 4-bit elements squares of 64.
        const int64_t wide_m = q.trans_a && bits(q.a) < 16 ? c0(q.a) : 16, wide_n = !q.trans_b && bits(q.b) < 16 ? c0(q.b) : 16;
        bm = q.base_m > 0 ? q.base_m : std::min<int64_t>(128, al(t.singleCoreM, wide_m));
        bn = q.base_n > 0 ? q.base_n : std::min<int64_t>(most_n, al(t.singleCoreN, wide_n));
        if (bm % 16 || bn % 16) refuse("baseM=%lld and baseN=%lld must be multiples of 16, the side of a fractal", ll(bm), ll(bn));
        if (q.base_m > 0 && bm > al(t.singleCoreM, wide_m)) refuse("SetFixSplit: baseM=%lld is more than the %d rows of one core (rounded up to 16)", ll(bm), t.singleCoreM);
        if (q.base_n > 0 && bn > al(t.singleCoreN, wide_n)) refuse("SetFixSplit: baseN=%lld is more than the %d columns of one core (rounded up to 16)", ll(bn), t.singleCoreN);
        if (bm * bn * 4 > l0c)
            refuse("a tile of baseM=%lld x baseN=%lld needs %lld B of L0C, which has %lld B: make one of them smaller with SetFixSplit", ll(bm), ll(bn), ll(bm * bn * 4), ll(l0c));
        if (q.bias && bn * 4 > table) refuse("the bias of baseN=%lld columns needs %lld B of the bias table, which has %lld B: at most %lld columns", ll(bn), ll(bn * 4), ll(table), ll(table / 4));
        const int64_t quantum = !q.trans_a && q.trans_b ? c0(q.a) : std::max(16, c0(q.a));
        const int64_t all = al(t.singleCoreK, quantum);
        t.dbL0A = t.dbL0B = 2;
        if (q.base_k > 0) {
            bk = q.base_k;
            if (bk % quantum) refuse("baseK=%lld must be a multiple of %lld here", ll(bk), ll(quantum));
            if (bk > all) refuse("SetFixSplit: baseK=%lld is more than K=%d of one core (rounded up to %lld)", ll(bk), t.singleCoreK, ll(quantum));
            if (bytes(2 * bm * bk, q.a) > l0a) t.dbL0A = 1;
            if (bytes(2 * bn * bk, q.b) > l0b) t.dbL0B = 1;
        } else {
            const int64_t fit = std::min({l0a / 2 * 8 / bits(q.a) / bm, l0b / 2 * 8 / bits(q.b) / bn, int64_t(bits(q.a) < 16 ? 1024 : 256)});
            bk = std::min(std::max(fit / quantum * quantum, quantum), all);
            for (int64_t even = bk; even < all && even * 2 >= bk; even -= quantum)      // steps of equal length where there are some
                if (all % even == 0) { bk = even; break; }
            if (bytes(2 * bm * bk, q.a) > l0a) t.dbL0A = 1;
            if (bytes(2 * bn * bk, q.b) > l0b) t.dbL0B = 1;
        }
        if (bytes(bm * bk, q.a) > l0a) refuse("a step of baseM=%lld x baseK=%lld needs %lld B of L0A, which has %lld B: make one of them smaller", ll(bm), ll(bk), ll(bytes(bm * bk, q.a)), ll(l0a));
        if (bytes(bn * bk, q.b) > l0b) refuse("a step of baseK=%lld x baseN=%lld needs %lld B of L0B, which has %lld B: make one of them smaller", ll(bk), ll(bn), ll(bytes(bn * bk, q.b)), ll(l0b));
        t.dbL0C = bm * bn * 8 <= l0c ? 2 : 1;
    }

    void packages() {
        const int64_t one_a = bytes(bm * bk, q.a), one_b = bytes(bn * bk, q.b), room = l1 - (q.bias ? bn * 4 : 0), steps = cd(t.singleCoreK, bk);
        t.stepM = t.stepN = 1;
        int64_t step = 1, packages = 2;
        if (2 * (one_a + one_b) > room) packages = 1;
        if (packages * (one_a + one_b) > room)
            refuse("one step of A (%lld B) and of B (%lld B) do not fit L1, which has %lld B here: choose a smaller base, or more with SetBufferSpace", ll(one_a), ll(one_b), ll(room));
        while (packages == 2 && step * 2 <= steps && 2 * (2 * step) * (one_a + one_b) <= room) step *= 2;
        t.stepKa = t.stepKb = int32_t(step);
        t.depthA1 = t.depthB1 = int32_t(packages * step);
        t.iterateOrder = q.traverse == 2;
        if (q.mdl && packages == 2) stay(one_a, one_b, room, steps);
    }

    // Keeps all K of one operand in L1 when several tiles use it.
    void stay(int64_t one_a, int64_t one_b, int64_t room, int64_t steps) {
        const int64_t mi = cd(t.singleCoreM, bm), ni = cd(t.singleCoreN, bn), K = t.singleCoreK;
        if (steps <= 2 * t.stepKa && mi * ni > 1 && (mi == 1 || ni == 1)) return;     // both packages hold it all the same
        auto fits = [&](int64_t whole, int64_t other) { return steps * whole + 2 * other <= room; };
        const double a = double(bytes(t.singleCoreM * K, q.a)), b = double(bytes(t.singleCoreN * K, q.b)), plain = a * double(ni) + b * double(mi);
        const bool may_m = q.traverse != 2 || ni == 1, may_n = q.traverse != 1 || mi == 1;
        double least = plain;
        int keep = 0;                                                                 // 1: A stays, columns run; 2: B stays, rows run
        if (may_n && ni > 1 && fits(one_a, one_b) && a + b * double(mi) < least) { keep = 1; least = a + b * double(mi); }
        if (may_m && mi > 1 && fits(one_b, one_a) && b + a * double(ni) < least) keep = 2;
        if (!keep) return;
        const int64_t left = room - steps * (keep == 1 ? one_a : one_b), other = keep == 1 ? one_b : one_a;
        const int64_t half = cd(steps, 2), halves = cd(steps, half);                  // two packages, so that the first steps need not wait for all of it
        int64_t step = 1, whole = halves * half * (keep == 1 ? one_a : one_b) + 2 * other <= room ? half : steps;
        while (step * 2 <= steps && 2 * (2 * step) * other <= left) step *= 2;
        while (step > 1 && whole == half && cd(steps, step) % halves) step /= 2;
        if (cd(steps, step) % cd(steps, whole) && cd(steps, whole) % cd(steps, step)) whole = steps;
        (keep == 1 ? t.stepKa : t.stepKb) = int32_t(whole);
        (keep == 1 ? t.depthA1 : t.depthB1) = int32_t(whole == steps ? steps : 2 * whole);
        (keep == 1 ? t.stepKb : t.stepKa) = int32_t(step);
        (keep == 1 ? t.depthB1 : t.depthA1) = int32_t(2 * step);
        if (q.traverse == 0 && mi > 1 && ni > 1) t.iterateOrder = keep == 1;
    }

    void rest(const MatmulSplit&) {
        t.baseM = int32_t(bm);
        t.baseN = int32_t(bn);
        t.baseK = int32_t(bk);
        t.isBias = q.bias;
        t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
        int32_t* const to[3] = {&t.ALayoutInfoB, &t.BLayoutInfoB, &t.CLayoutInfoB};
        const int32_t* const from[3] = {q.layout_a, q.layout_b, q.layout_c};
        for (int i = 0; i < 3; ++i) std::copy(from[i], from[i] + 5, to[i]);
        t.BatchNum = q.batch;
        t.shareL1Size = int32_t(bytes(bm * bk, q.a) * t.depthA1 + bytes(bn * bk, q.b) * t.depthB1 + (q.bias ? bn * 4 : 0));
        t.shareL0CSize = int32_t(bm * bn * 4 * t.dbL0C);
    }

    const MatmulAsk& q;
    TCubeTiling t{};
    int64_t m = 0, n = 0, k = 0, bm = 0, bn = 0, bk = 0, l1 = 0, l0a = 0, l0b = 0, l0c = 0, table = 0;
};

}  // namespace
}  // namespace twin

using namespace twin;

extern "C" {
int tw_matmul_tiling(const MatmulAsk* ask, TCubeTiling* out, MatmulSplit* split, char* why, size_t room) {
    *split = {};
    try {
        *out = Tiler(*ask).run(*split);
        return 0;
    } catch (const Refused& r) {
        if (room) snprintf(why, room, "%s", r.why.c_str());
        return -1;
    }
}
}
