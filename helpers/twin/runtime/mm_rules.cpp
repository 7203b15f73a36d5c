// A tiling that somebody wrote or changed by hand: every field by itself, then the fields against each other and the memories.
#include <algorithm>

#include "mm_object.h"
#include "twin/abi_matmul_tiling.h"

namespace twin {
namespace {

using T = TCubeTiling;
using ll = long long;

constexpr int64_t kMessages = 128;        // last bytes of L1: the library's own

struct Types { DType a, b, bias; };

int64_t of_a(const T& t, const Types& k, int64_t blocks) { return int64_t(mm_bytes(k.a, int64_t(t.baseM) * t.baseK * blocks)); }
int64_t of_b(const T& t, const Types& k, int64_t blocks) { return int64_t(mm_bytes(k.b, int64_t(t.baseN) * t.baseK * blocks)); }
int64_t in_l1(const T& t, const Types& k) { return of_a(t, k, t.depthA1) + of_b(t, k, t.depthB1) + (t.isBias ? int64_t(mm_bytes(k.bias, t.baseN)) : 0); }
int64_t in_l0c(const T& t, const Types&) { return int64_t(t.baseM) * t.baseN * 4 * t.dbL0C; }

// ===== One field
struct Range { const char* name; int32_t T::*field; int64_t least, most; const char* means; };
constexpr int64_t kAny = INT32_MAX;
const Range kRanges[] = {
    {"M", &T::M, 1, kAny, "rows of C"}, {"N", &T::N, 1, kAny, "columns of C"}, {"Ka", &T::Ka, 1, kAny, "columns of A"}, {"Kb", &T::Kb, 1, kAny, "rows of B"},
    {"singleCoreM", &T::singleCoreM, 1, kAny, "rows of one core"}, {"singleCoreN", &T::singleCoreN, 1, kAny, "columns of one core"}, {"singleCoreK", &T::singleCoreK, 1, kAny, "sum of one core"},
    {"usedCoreNum", &T::usedCoreNum, 1, kAny, "cores that work"},
    {"baseM", &T::baseM, 1, 65536, "rows of a tile"}, {"baseN", &T::baseN, 1, 65536, "columns of a tile"}, {"baseK", &T::baseK, 1, 65536, "one step of the sum"},
    {"stepM", &T::stepM, 1, 65536, "blocks of A that come to L1 at once, along M"}, {"stepN", &T::stepN, 1, 65536, "blocks of B that come to L1 at once, along N"},
    {"stepKa", &T::stepKa, 1, 65536, "blocks of A that come to L1 at once, along K"}, {"stepKb", &T::stepKb, 1, 65536, "blocks of B that come to L1 at once, along K"},
    {"depthA1", &T::depthA1, 1, kAny, "blocks of A in L1"}, {"depthB1", &T::depthB1, 1, kAny, "blocks of B in L1"},
    {"dbL0A", &T::dbL0A, 1, 2, "buffers in L0A"}, {"dbL0B", &T::dbL0B, 1, 2, "buffers in L0B"}, {"dbL0C", &T::dbL0C, 1, 2, "buffers in L0C"},
    {"isBias", &T::isBias, 0, 1, "whether a bias is added"}, {"iterateOrder", &T::iterateOrder, 0, 1, "0: tiles run down M first, 1: along N first"},
    {"transLength", &T::transLength, 0, kAny, "bytes for changes of the format"}, {"shareMode", &T::shareMode, 0, kAny, "reserved"},
    {"shareL1Size", &T::shareL1Size, 0, kAny, "bytes of L1"}, {"shareL0CSize", &T::shareL0CSize, 0, kAny, "bytes of L0C"}, {"shareUbSize", &T::shareUbSize, 0, kAny, "bytes of UB"},
    {"batchM", &T::batchM, 0, kAny, "reserved"}, {"batchN", &T::batchN, 0, kAny, "reserved"}, {"singleBatchM", &T::singleBatchM, 0, kAny, "reserved"}, {"singleBatchN", &T::singleBatchN, 0, kAny, "reserved"},
    {"depthAL1CacheUB", &T::depthAL1CacheUB, 0, kAny, "reserved"}, {"depthBL1CacheUB", &T::depthBL1CacheUB, 0, kAny, "reserved"},
    {"ALayoutInfoB", &T::ALayoutInfoB, 0, kAny, "batches of A"}, {"ALayoutInfoS", &T::ALayoutInfoS, 0, kAny, "rows of A"}, {"ALayoutInfoN", &T::ALayoutInfoN, 0, kAny, "heads of A"},
    {"ALayoutInfoG", &T::ALayoutInfoG, 0, kAny, "groups of A"}, {"ALayoutInfoD", &T::ALayoutInfoD, 0, kAny, "columns of A"},
    {"BLayoutInfoB", &T::BLayoutInfoB, 0, kAny, "batches of B"}, {"BLayoutInfoS", &T::BLayoutInfoS, 0, kAny, "rows of B"}, {"BLayoutInfoN", &T::BLayoutInfoN, 0, kAny, "heads of B"},
    {"BLayoutInfoG", &T::BLayoutInfoG, 0, kAny, "groups of B"}, {"BLayoutInfoD", &T::BLayoutInfoD, 0, kAny, "columns of B"},
    {"CLayoutInfoB", &T::CLayoutInfoB, 0, kAny, "batches of C"}, {"CLayoutInfoS1", &T::CLayoutInfoS1, 0, kAny, "rows of C"}, {"CLayoutInfoN", &T::CLayoutInfoN, 0, kAny, "heads of C"},
    {"CLayoutInfoG", &T::CLayoutInfoG, 0, kAny, "groups of C"}, {"CLayoutInfoS2", &T::CLayoutInfoS2, 0, kAny, "columns of C"},
    {"BatchNum", &T::BatchNum, 0, kAny, "matrices"},
};

std::string outside(const T& t) {
    for (const Range& r : kRanges) {
        const int32_t v = t.*r.field;
        if (v >= r.least && v <= r.most) continue;
        const std::string legal = r.most == kAny ? fmt("at least %lld", ll(r.least)) : fmt("%lld %s %lld", ll(r.least), r.most == r.least + 1 ? "or" : "to", ll(r.most));
        return fmt("%s=%d must be %s (%s)", r.name, v, legal.c_str(), r.means);
    }
    return {};
}

// ===== Multiples
struct Multiple { const char* name; int32_t T::*field; int64_t (*of)(const Types&); };
const Multiple kMultiples[] = {
    {"baseM", &T::baseM, [](const Types&) -> int64_t { return 16; }},
    {"baseN", &T::baseN, [](const Types&) -> int64_t { return 16; }},
    {"baseK", &T::baseK, [](const Types& k) -> int64_t { return mm_c0(k.a); }},
};

// ===== Blocks that L1 holds
struct Depth { const char *name, *step, *step_k; int32_t T::*depth, T::*by, T::*by_k; };
const Depth kDepths[] = {
    {"depthA1", "stepM", "stepKa", &T::depthA1, &T::stepM, &T::stepKa},
    {"depthB1", "stepN", "stepKb", &T::depthB1, &T::stepN, &T::stepKb},
};

// ===== Rooms
struct Room { const char *what, *formula; int64_t (*need)(const T&, const Types&); int64_t (*have)(const T&); const char* unit; };
const Room kRooms[] = {
    {"the chip", "usedCoreNum", [](const T& t, const Types&) -> int64_t { return t.usedCoreNum; },
     [](const T&) { return int64_t(std::max(chip().num("aiv_cores", 1), chip().num("aic_cores", 1))); }, "cores"},
    {"L0A", "baseM * baseK * dbL0A", [](const T& t, const Types& k) { return of_a(t, k, t.dbL0A); }, [](const T&) -> int64_t { return capacity(Mem::L0A); }, "B"},
    {"L0B", "baseK * baseN * dbL0B", [](const T& t, const Types& k) { return of_b(t, k, t.dbL0B); }, [](const T&) -> int64_t { return capacity(Mem::L0B); }, "B"},
    {"L0C", "baseM * baseN * 4 B * dbL0C", in_l0c, [](const T&) -> int64_t { return capacity(Mem::L0C); }, "B"},
    {"the bias table", "isBias * baseN * 4 B", [](const T& t, const Types&) { return int64_t(t.isBias) * t.baseN * 4; }, [](const T&) -> int64_t { return capacity(Mem::BT); }, "B"},
    {"L1", "base blocks of depthA1 and depthB1", in_l1, [](const T&) { return int64_t(capacity(Mem::L1)) - kMessages; }, "B"},
};
// What GetTiling writes for the library's own book-keeping. No result depends on it.
const Room kShares[] = {
    {"shareL1Size", "base blocks of depthA1 and depthB1", in_l1, [](const T& t) -> int64_t { return t.shareL1Size; }, "B"},
    {"shareL0CSize", "baseM * baseN * 4 B * dbL0C", in_l0c, [](const T& t) -> int64_t { return t.shareL0CSize; }, "B"},
};

std::string illegal(const T& t, const Types& k) {
    if (!t.baseM && !t.singleCoreM && !t.M) return "TCubeTiling is empty: was GetTiling checked for -1, and the struct copied?";
    const std::string bad = outside(t);
    if (!bad.empty()) return bad;
    for (const Multiple& m : kMultiples)
        if (t.*m.field % m.of(k)) return fmt("%s=%d: multiples of %lld only, for these types", m.name, t.*m.field, ll(m.of(k)));
    for (const Depth& d : kDepths) {
        const int64_t package = int64_t(t.*d.by) * (t.*d.by_k);
        if (t.*d.depth != package && t.*d.depth != 2 * package)
            return fmt("%s=%d but %s*%s=%lld: must be %lld or %lld", d.name, t.*d.depth, d.step, d.step_k, ll(package), ll(package), ll(2 * package));
    }
    for (const Room& r : kRooms)
        if (r.need(t, k) > r.have(t)) return fmt("%s is %lld %s, and %s has %lld", r.formula, ll(r.need(t, k)), r.unit, r.what, ll(r.have(t)));
    auto packages = [&](int64_t step) { return (t.singleCoreK + t.baseK * step - 1) / (t.baseK * step); };
    const int64_t ka = packages(t.stepKa), kb = packages(t.stepKb);
    if (std::max(ka, kb) % std::min(ka, kb))
        return fmt("K has %lld packages of A (stepKa=%d) and %lld of B (stepKb=%d): one number must divide the other", ll(ka), t.stepKa, ll(kb), t.stepKb);
    return {};
}

}  // namespace

void mm_check_shares(const TCubeTiling& t, const MatmulSetup& s, At at) {
    if (!checks_on()) return;
    const Types k{s.a.type, s.b.type, s.bias.type};
    for (const Room& r : kShares)
        if (r.need(t, k) > r.have(t))
            report(Severity::Warning, "BAD_PARAMETER", at, fmt("Matmul: %s=%lld, and %s is %lld B", r.what, ll(r.have(t)), r.formula, ll(r.need(t, k))),
                   fmt("GetTiling writes %s >= %lld here: write it too where you change the other fields, or build the tiling for the types of this kernel", r.what, ll(r.need(t, k))));
}

void mm_check_config(const TCubeTiling& t, const MatmulSetup& s, At at) {
    if (s.basic_block && (t.singleCoreM % t.baseM || t.singleCoreN % t.baseN))
        report(Severity::Error, "BAD_PARAMETER", at, fmt("a config with doBasicBlock computes whole blocks only: singleCoreM=%d, singleCoreN=%d are no multiples of %d x %d", t.singleCoreM, t.singleCoreN, t.baseM, t.baseN),
               "use CFG_NORM or CFG_MDL for shapes with tails");
    const int quantum = std::max(16, mm_c0(s.a.type));
    if (!s.b.trans && t.baseK % quantum)
        report(Severity::Error, "BAD_PARAMETER", at, fmt("Matmul: baseK=%d, and B is not transposed: the load that turns it moves %d rows at once", t.baseK, quantum), fmt("a multiple of %d", quantum));
    const int64_t steps = (int64_t(t.singleCoreK) + t.baseK - 1) / t.baseK;
    for (const Depth& d : kDepths)
        if (s.packages && t.*d.by > 1 && steps > t.*d.by_k)
            report(Severity::Error, "BAD_PARAMETER", at,
                   fmt("Matmul: %s=%d and %s=%d: the MDL template loads several blocks side by side only where all of K (%lld blocks) comes with them", d.step, t.*d.by, d.step_k, t.*d.by_k, ll(steps)),
                   fmt("%s = 1, or %s = %lld", d.step, d.step_k, ll(steps)));
}

void mm_check_layouts(const TCubeTiling& t, const MatmulSetup& s, At at) {
    struct Side { char name; const MatmulSide* side; const int32_t* info; };
    for (const Side& x : {Side{'A', &s.a, &t.ALayoutInfoB}, Side{'B', &s.b, &t.BLayoutInfoB}, Side{'C', &s.c, &t.CLayoutInfoB}})
        if ((x.side->layout == 1 || x.side->layout == 2) && *std::min_element(x.info, x.info + 5) < 1)
            fatal("BAD_PARAMETER", at,
                  fmt("IterateBatch: %cLayoutInfo of the tiling is (%d, %d, %d, %d, %d), and the type of %c has a layout: its sizes B, S, N, G, D are at least 1",
                      x.name, x.info[0], x.info[1], x.info[2], x.info[3], x.info[4], x.name),
                  fmt("call Set%cLayout(b, s, n, g, d) on the host before GetTiling", x.name));
}

}  // namespace twin

using namespace twin;

extern "C" void tw_matmul_legal(const TCubeTiling* t, DType a, DType b, DType bias, char* why, size_t room) {
    if (room) snprintf(why, room, "%s", illegal(*t, {a, b, bias}).c_str());
}
