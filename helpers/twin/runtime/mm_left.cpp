// What a kernel leaves undone with a Matmul object: tiles that nobody fetched, operands that nobody multiplied, parts of C
// that no core computed. The device says nothing about any of them.
#include <map>

#include "hooks.h"
#include "mm_object.h"
#include "state.h"

namespace twin {

using ll = long long;

// ===== Products
static uint64_t identity(const MmObject& o, const MmTensor& x) {
    return x.where == MmTensor::Gm && !x.dense ? reinterpret_cast<uint64_t>(x.gm.ptr) : (uint64_t(o.id) << 32) + x.version;
}

// Sizes of a part as the tiling cuts it: whole, or the rest at the edge. Others come from the kernel's own data.
static bool as_cut(int64_t part, int64_t one, int64_t all) { return part == one || part == all % one || part >= all; }

// The same addresses again on one core are another part: its operands pass through a place in GM, one after the other.
void mm_begin_product(MmObject& o) {
    o.left.fresh = false;
    o.left.cut = o.left.cut && as_cut(o.p.m, o.t.singleCoreM, o.t.M) && as_cut(o.p.n, o.t.singleCoreN, o.t.N);
    if (o.t.usedCoreNum > 1 && o.left.cut)
        o.left.parts[{identity(o, o.p.a), identity(o, o.p.b)}] += double(o.p.m) * double(o.p.n) * double(o.p.k);
}

void mm_beside(MmObject& o, uint64_t answer, bool wait, At at) {
    o.last_key = answer;
    if (wait) o.promised.push_back(answer);
    o.left.asked_at = at;
}

// ===== Tiles
void mm_tile_lost(MmObject& o) {
    const At at = o.left.open;
    o.left.open = {};
    if (!at.line || !checks_on() || said_before(Severity::Warning, "BAD_PARAMETER", at)) return;
    const MmTile& t = o.left.tile;
    report(Severity::Warning, "BAD_PARAMETER", at,
           fmt("Iterate computed rows %lld to %lld and columns %lld to %lld of this core's part, and no GetTensorC fetched them: they are lost",
               ll(t.row), ll(t.row + t.m - 1), ll(t.col), ll(t.col + t.n - 1)),
           "call GetTensorC behind every Iterate() that returned true, or IterateAll(c) for all tiles at once");
}

void mm_tiles_left(const MmObject& o) {
    const int64_t tiles = int64_t(o.tile_keys.size());
    if (!o.async || o.taken >= tiles || !checks_on()) return;
    report(Severity::Warning, "BAD_PARAMETER", o.left.asked_at, fmt("Iterate<false> computed %lld tiles, and GetTensorC<false> fetched %lld of them", ll(tiles), ll(o.taken)),
           fmt("call GetTensorC<false> %lld times, once for each tile, before the next operands are set", ll(tiles)));
}

// One tile of several: mostly an Iterate() without its loop. A loop that ends early has a reason of its own.
static void only_one_tile(const MmObject& o) {
    if (o.async || o.setup.triangle || o.next != 1 || o.left.open.line || !o.left.first.line || !checks_on()) return;
    const int64_t steps = o.setup.partial_output ? o.k_steps() : 1, tiles = o.m_tiles() * o.n_tiles();
    if (tiles * steps < 2) return;
    report(Severity::Warning, "BAD_PARAMETER", o.left.first, fmt("Iterate was called once, and this core's part has %lld%s: the rest of C is as it was", ll(tiles * steps), steps > 1 ? " tiles and slices of K" : " tiles"),
           "while (mm.Iterate()) { mm.GetTensorC(c); }, or IterateAll(c)");
}

void MmObject::renewed() {
    mm_tiles_left(*this);
    only_one_tile(*this);
    left.fresh = true;
    restart();
}

void mm_unfinished(MmObject& o) {
    only_one_tile(o);
    mm_tile_lost(o);
    if (!checks_on()) return;
    mm_tiles_left(o);
    if (!o.promised.empty())
        report(Severity::Warning, "BAD_PARAMETER", o.left.asked_at, "this call promises a wait (waitIterateAll or waitIterateBatch = true), and none followed: its answer stays behind, and the results may come too late", "call WaitIterateAll() or WaitIterateBatch() before the results are used, or pass false");
    if (!o.left.asked && o.p.a.where != MmTensor::None && o.p.b.where != MmTensor::None)
        report(Severity::Warning, "BAD_PARAMETER", o.p.a.at, "this Matmul object was given A and B, and nothing was computed with them", "call IterateAll(c), or Iterate() and GetTensorC(c)");
}

void mm_core_end(Core& c) {
    for (MmObject* o : mm_objects_of(c.id)) mm_unfinished(*o);
}

// ===== Parts of C
void mm_launch_end() {
    if (!checks_on()) return;
    struct Site { const MmObject* first = nullptr; int cores = 0, idle = 0; bool cut = true; std::map<MmLeft::Part, double> parts; };
    std::map<std::pair<int, uint32_t>, Site> sites;          // line of the registration, which object of its core
    for (const auto& o : mm_objects()) {
        Site& s = sites[{o->made.line, o->ordinal}];
        if (!s.first) s.first = o.get();
        ++s.cores;
        s.idle += o->left.parts.empty();
        s.cut = s.cut && o->left.cut && o->t.usedCoreNum == s.first->t.usedCoreNum;
        for (const auto& p : o->left.parts) s.parts[p.first] = std::max(s.parts[p.first], p.second);
    }
    for (const auto& [place, s] : sites) {
        const TCubeTiling& t = s.first->t;
        if (!s.cut || t.usedCoreNum < 2 || s.parts.empty() || (s.cores >= t.usedCoreNum && int(s.parts.size()) >= t.usedCoreNum)) continue;
        auto parts = [](int64_t all, int64_t one) { return (all + one - 1) / one; };
        const int64_t along_k = std::max<int64_t>(1, t.usedCoreNum / (parts(t.M, t.singleCoreM) * parts(t.N, t.singleCoreN)));
        const double all = double(t.M) * t.N * double(std::min<int64_t>(t.Ka, along_k * t.singleCoreK));
        double done = 0;
        for (const auto& p : s.parts) done += p.second;
        if (done >= all) continue;
        const int64_t blocks = block_num(), each = std::max<int64_t>(1, s.cores / blocks);
        const std::string message =
            fmt("the tiling cuts C (%d x %d) into parts for %d cores (usedCoreNum), and %d core%s of %lld block%s hold%s this object: %.0f %% of the products were computed, the rest of C is as it was",
                t.M, t.N, t.usedCoreNum, s.cores, s.cores == 1 ? "" : "s", ll(blocks), blocks == 1 ? "" : "s", s.cores == 1 ? "s" : "", 100 * done / all);
        const bool fewer = s.cores >= t.usedCoreNum && s.cores - s.idle < t.usedCoreNum;      // as many cores as parts: some left by their own choice
        report(fewer ? Severity::Note : Severity::Warning, "BAD_PARAMETER", s.first->made, message,
               s.cores < t.usedCoreNum ? fmt("launch %lld blocks%s, or make the tiling for %d: SetDim(%d)", ll(parts(t.usedCoreNum, each)), each > 1 ? fmt(" of %lld vector cores", ll(each)).c_str() : "", s.cores, s.cores)
               : fewer ? fmt("%d of them computed nothing with it: right if there is less data than the tiling was made for, else every core below usedCoreNum takes its part", s.idle)
                                       : "every core takes its own part: rows of GetBlockIdx() % mBlocks, columns of GetBlockIdx() / mBlocks, with mBlocks = ceil(M / singleCoreM)");
    }
}

}  // namespace twin
