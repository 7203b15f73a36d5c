// What a vector call may not do: alignment, strides, overlap of its operands, and what bank conflicts cost.
#include <algorithm>
#include <cstring>
#include <vector>

#include "hooks.h"
#include "vec_core.h"

namespace twin {

std::string operand_text(const VecCall& c, int operand) {
    const char* role = operand == 0 ? "dst" : c.sources == 1 ? "src" : operand == 1 ? "src0" : "src1";
    const std::string name = argument_at(c.at, c.api, operand);
    return name.empty() ? role : fmt("%s %s", role, name.c_str());
}

// ===== Position and alignment
void vec_check_start(const VecCall& c, int i, const LocalRef& t, uint32_t z, DType type) {
    if (t.mem == Mem::N) return;                                               // the engine names it
    if (t.mem != Mem::UB)
        fatal("WRONG_POSITION", c.at, fmt("%s: %s is %s; vector instructions read and write the Unified Buffer only", c.api, operand_text(c, i).c_str(),
                                          describe(t).c_str()), "use a tensor of VECIN, VECOUT or VECCALC");
    if (t.addr % kBlock == 0 || !checks_on()) return;
    uint32_t base = 0;
    const auto& all = buffers();
    if (t.buf >= 0 && t.buf < int(all.size())) base = all[size_t(t.buf)].addr;
    const uint32_t into = t.addr - base, next = (into + kBlock - 1) / kBlock * kBlock;
    std::string rows = row_hint(t, type);                                      // the tensor may be rows laid out by DataCopyPad
    if (!rows.empty()) rows = "; " + rows;
    fatal("MISALIGNED", c.at,
          fmt("%s: %s starts at byte %u of its buffer (UB address 0x%x); vector operands start at multiples of 32 B", c.api, operand_text(c, i).c_str(), into, t.addr),
          fmt("%s offsets step by %u elements: the next legal index is %u%s", dtype_name(type), kBlock / z, next / z, rows.c_str()));
}

// ===== Count
static void check_count(const VecCall& c, const VecPlan& p, int i, const LocalRef& t) {
    if (t.mem != Mem::UB || uint64_t(p.total) * p.size[i] <= t.bytes) return;
    const uint32_t in_pair = c.type == DType::I4 || (c.sources && c.from == DType::I4) ? 2 : 1;
    const long long count = (long long)p.total * in_pair, room = (long long)(t.bytes / p.size[i]) * in_pair;
    fatal("OUT_OF_BOUNDS", c.at, fmt("%s: count %lld > %lld elements of %s (%s)", c.api, count, room, operand_text(c, i).c_str(), describe(t).c_str()),
          count == (long long)t.bytes ? fmt("count is in elements, not in bytes: %lld", room)
                                      : fmt("the call may touch at most %lld elements: derive count and buffer length from one constant", room));
}

// ===== Strides
void vec_check_stride(const VecCall& c, int operand, const VecStride& s, int max_blk, int max_rep) {
    if (s.blk < 0 || s.blk > max_blk)
        fatal("BAD_PARAMETER", c.at, fmt("%s: block stride %d of %s does not fit 0..%d", c.api, s.blk, operand_text(c, operand).c_str(), max_blk), "strides count 32-byte blocks");
    if (s.rep < 0 || s.rep > max_rep)
        fatal("BAD_PARAMETER", c.at, fmt("%s: repeat stride %d of %s does not fit 0..%d", c.api, s.rep, operand_text(c, operand).c_str(), max_rep),
              "strides count 32-byte blocks; for longer steps make one call per row");
}

static void check_strides(const VecCall& c, const VecPlan& p, int i, const VecStride& s) {
    if (!p.first) return;
    const int blocks = int((p.first * p.size[i] + kBlock - 1) / kBlock);
    if (i == 0 && s.blk == 0 && blocks > 1)
        fatal("BAD_PARAMETER", c.at, fmt("%s: block stride 0 of dst writes %d blocks to one place, which is undefined", c.api, blocks), "use 1 for contiguous data");
    if (s.blk == 1 && s.rep > 0 && s.rep < blocks && p.repeats > 1 && !p.tail)
        report(Severity::Warning, "BAD_PARAMETER", c.at,
               fmt("%s: repeat stride %d of %s is shorter than the %d blocks of a repeat: %d/%d of every repeat %s again", c.api, s.rep, operand_text(c, i).c_str(),
                   blocks, blocks - s.rep, blocks, i ? "are read" : "are written"),
               fmt("strides count 32-byte blocks: contiguous data needs %d", blocks));
}

// ===== Overlap, on rows of 32 bytes
struct Reach { int64_t lo, hi; };
static Reach reach(const VecPlan& p, int i) {
    if (p.contiguous) return {p.at[i], int64_t(p.at[i]) + p.total * p.size[i]};
    const uint32_t n = p.first ? p.first : p.lanes;
    const int64_t blocks = (int64_t(n) * p.size[i] + kBlock - 1) / kBlock;
    return {p.at[i], int64_t(p.at[i]) + (int64_t(p.repeats - 1) * p.rep[i] + (blocks - 1) * p.blk[i] + 1) * kBlock};
}

static bool accumulates(const VecCall& c, int i) {
    switch (c.op) {
        case VecOp::Add: case VecOp::Sub: case VecOp::Mul: case VecOp::Max: case VecOp::Min: case VecOp::AddRelu: case VecOp::SubRelu: break;
        default: return false;
    }
    const bool type = c.type == DType::F16 || c.type == DType::F32 || c.type == DType::I32;
    return type && (c.src[i - 1].stride.rep == 0 || c.dst.stride.rep == 0);
}

static void overlap_error(const VecCall& c, const VecPlan& p, int i, const char* what, Severity severity, const char* hint) {
    const Reach d = reach(p, 0), s = reach(p, i);
    const int64_t base = std::min(d.lo, s.lo);
    report(severity, "OVERLAP", c.at,
           fmt("%s: dst bytes [%lld..%lld) and %s bytes [%lld..%lld) %s", c.api, (long long)(d.lo - base), (long long)(d.hi - base), operand_text(c, i).c_str(),
               (long long)(s.lo - base), (long long)(s.hi - base), what), hint);
}

static void check_overlap(const VecCall& c, const VecPlan& p, int i) {
    const Reach d = reach(p, 0), s = reach(p, i);
    if (d.hi <= s.lo || s.hi <= d.lo) return;
    if (d.lo == s.lo && p.size[0] < p.size[i] && p.contiguous) return;         // narrowing in place: writes stay behind the reads
    if (p.size[0] > p.size[i]) {
        overlap_error(c, p, i, "overlap: the wider results overwrite source elements that are not read yet", Severity::Error, "give dst its own buffer");
        return;
    }
    const uint32_t n = p.first ? p.first : p.lanes;
    VecPlan q = p;                                                             // contiguous runs are looked at repeat by repeat too
    if (p.contiguous) {
        if (d.lo == s.lo && p.size[0] == p.size[i]) return;
        for (int o = 0; o <= p.sources; ++o) { q.blk[o] = 1; q.rep[o] = int32_t(p.lanes * p.size[o] / kBlock); }
        q.repeats = uint32_t((p.total + p.lanes - 1) / p.lanes);
    } else if (d.lo == s.lo && p.size[0] == p.size[i] && p.blk[0] == p.blk[i] && p.rep[0] == p.rep[i] && p.blk[0] >= 1) {
        const int32_t blocks = int32_t((n * p.size[0] + kBlock - 1) / kBlock);
        if (p.repeats == 1 || p.rep[0] > (blocks - 1) * p.blk[0]) return;      // in place, and no repeat meets another
    }
    std::vector<int32_t> written(capacity(Mem::UB) / kBlock + 1, 0);           // row -> 1 + last repeat that wrote it
    const int64_t rows = int64_t(written.size());
    auto active = [&](int o, uint32_t r, uint32_t b) {                         // does block b hold an element that takes part?
        const uint32_t per = kBlock / q.size[o], l0 = b * per;
        if (p.contiguous) return int64_t(r) * p.lanes + l0 < p.total;
        if (p.first) return l0 < n;
        for (uint32_t l = l0; l < l0 + per && l < 128; ++l) if (p.mask[l / 64] >> (l % 64) & 1) return true;
        return false;
    };
    const uint32_t width = p.contiguous || !p.first ? p.lanes : n;
    const uint32_t db = (width * q.size[0] + kBlock - 1) / kBlock, sb = (width * q.size[i] + kBlock - 1) / kBlock;
    for (uint32_t r = 0; r < q.repeats; ++r) {
        for (uint32_t b = 0; b < sb; ++b) {
            if (!active(i, r, b)) continue;
            const int64_t row = q.at[i] / kBlock + int64_t(r) * q.rep[i] + int64_t(b) * q.blk[i];
            if (row < 0 || row >= rows) return;
            if (written[size_t(row)]) {
                if (accumulates(c, i)) {
                    if (i == 1 && c.sources == 2)
                        overlap_error(c, p, i, "overlap across repeats: accumulation over repeats is documented for src1 only", Severity::Warning, "swap src0 and src1");
                    return;
                }
                overlap_error(c, p, i, fmt("overlap: repeat %u reads what repeat %d writes, and may do so before the write lands", r, written[size_t(row)] - 1).c_str(),
                              Severity::Error, "use identical ranges, or a separate buffer for dst");
                return;
            }
            for (uint32_t e = 0; e < db; ++e)
                if (active(0, r, e) && q.at[0] / kBlock + int64_t(r) * q.rep[0] + int64_t(e) * q.blk[0] == row && (e != b || q.size[0] != q.size[i])) {
                    overlap_error(c, p, i, "overlap partly within a repeat", Severity::Error, "use identical or disjoint ranges");
                    return;
                }
        }
        for (uint32_t e = 0; e < db; ++e) {
            const int64_t row = q.at[0] / kBlock + int64_t(r) * q.rep[0] + int64_t(e) * q.blk[0];
            if (row >= 0 && row < rows && active(0, r, e)) written[size_t(row)] = int32_t(r) + 1;
        }
    }
}

bool vec_check_operands(const VecCall& c, const VecPlan& p, const VecExtent& e) {
    const VecOperand* op[3] = {&c.dst, &c.src[0], &c.src[1]};
    if (c.mask.form == 0) for (int i = 0; i <= c.sources; ++i) check_count(c, p, i, op[i]->ref);
    if (!e.contiguous) for (int i = 0; i <= c.sources; ++i) check_strides(c, p, i, op[i]->stride);
    for (int i = 1; i <= c.sources; ++i) if (op[i]->ref.mem == Mem::UB) check_overlap(c, p, i);
    return true;
}

// ===== Banks: 16 groups of 32-byte rows; blocks of one repeat in one group take one cycle each
namespace {

// What the answer depends on, and nothing else: loops over rows and cores ask the same again and again.
struct BankKey {
    uint32_t at[3] = {}, n = 0, looked = 0;
    int32_t rep[3] = {}, blk[3] = {};
    uint32_t kinds = 0;                                        // element sizes, number of sources, whether dst is read
    bool operator==(const BankKey& o) const { return !std::memcmp(this, &o, sizeof o); }
};
struct BankAnswer { float cycles = 0; int group = -1; };

BankAnswer conflicts(const BankKey& k, const VecPlan& p) {
    BankAnswer a;
    int32_t count[3];
    for (int i = 0; i <= p.sources; ++i) count[i] = int32_t((k.n * p.size[i] + kBlock - 1) / kBlock);
    float sum = 0;
    for (uint32_t r = 0; r < k.looked; ++r) {
        int32_t seen[16][24];
        int reads[16] = {}, writes[16] = {};
        int most = 1;
        for (int i = p.reads_dst ? 0 : 1; i <= p.sources; ++i)
            for (int32_t b = 0; b < count[i]; ++b) {
                const int32_t row = int32_t(k.at[i] / kBlock) + int32_t(r) * k.rep[i] + b * k.blk[i], g = row & 15;
                bool known = false;
                for (int j = 0; j < reads[g]; ++j) known |= seen[g][j] == row;
                if (known) continue;
                seen[g][reads[g]++] = row;
                if (reads[g] > most) { most = reads[g]; a.group = g; }
            }
        for (int32_t b = 0; b < count[0]; ++b) {
            const int32_t g = (int32_t(k.at[0] / kBlock) + int32_t(r) * k.rep[0] + b * k.blk[0]) & 15;
            if (++writes[g] > most) { most = writes[g]; a.group = g; }
        }
        sum += float(most);
    }
    a.cycles = sum / float(k.looked);
    return a;
}

}  // namespace

float vec_slope(const VecPlan& p, float s1, int& worst_group) {
    BankKey k;
    k.n = p.contiguous || !p.first ? p.lanes : std::min(p.first, p.lanes);
    k.kinds = p.sources << 1 | uint32_t(p.reads_dst);
    bool shifts_alike = true;
    for (int i = 0; i <= p.sources; ++i) {
        k.at[i] = p.at[i];
        k.blk[i] = p.contiguous ? 1 : p.blk[i];
        k.rep[i] = p.contiguous ? int32_t(p.lanes * p.size[i] / kBlock) : p.rep[i];
        k.kinds |= uint32_t(p.size[i]) << (8 * (i + 1));
        if ((k.rep[i] - k.rep[0]) % 16) shifts_alike = false;
    }
    k.looked = shifts_alike ? 1 : std::min<uint32_t>(p.repeats ? p.repeats : 1, 16);
    static thread_local struct { BankKey key; BankAnswer answer; } known[512];
    uint64_t hash = k.n;
    for (int i = 0; i < 3; ++i) hash = (hash ^ (uint64_t(k.at[i]) << 20 ^ uint64_t(uint32_t(k.rep[i])) << 8 ^ uint32_t(k.blk[i]))) * 0x9e3779b97f4a7c15ull;
    auto& e = known[hash >> 55];
    if (!(e.key == k)) e = {k, conflicts(k, p)};
    if (e.answer.group >= 0) worst_group = e.answer.group;
    return std::max(s1, e.answer.cycles);
}

// Some calls use the last 8 KB of UB themselves; a tensor that is held there would be overwritten.
void vec_check_reserved(const char* api, At at) {
    if (!checks_on() || !chip_is_a2()) return;
    const uint32_t end = capacity(Mem::UB), lo = end - 8192;
    for (const BufferInfo& b : buffers())
        if (b.live && b.mem == Mem::UB && b.addr + b.bytes > lo) {
            report(Severity::Error, "UB_OVERFLOW", at,
                   fmt("%s uses the top 8 KB of UB (bytes %u to %u) as scratch, which %s (bytes %u to %u) also owns", api, lo, end, b.name.c_str(), b.addr, b.addr + b.bytes),
                   fmt("plan at most %u B (184 KB) of buffers in a kernel that calls it", lo));
            return;
        }
}

}  // namespace twin
