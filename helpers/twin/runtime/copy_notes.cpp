// What the copies of a core add up to: notes about small and unaligned ones, and the row layout of padded loads.
#include <map>
#include <vector>

#include "copy_core.h"
#include "hooks.h"

namespace twin {

namespace {
struct LineNotes {
    At at;
    const char* api = "";
    bool store = false;
    uint64_t copies = 0, small = 0, small_bytes = 0, bytes = 0, off_line_bytes = 0, off_line = 0;
    uint64_t worst_offset = 0;
};
struct PaddedRows { int32_t buf; uint32_t gen, addr, rows, row_bytes, pitch; At at; };
struct CoreNotes {
    std::vector<LineNotes> lines;
    size_t last = 0;
    std::vector<PaddedRows> padded;   // the latest layout of each place
    At tail{nullptr, 0};
};
std::map<int, CoreNotes> g_notes;     // by core
CoreNotes& notes() { return g_notes[core().id]; }
}  // namespace

void copy_notes_begin() { g_notes.clear(); }

void note_copy(const CopyCall& c, const CopyRows& r) {
    CoreNotes& n = notes();
    auto same = [&](const LineNotes& l) { return l.at.line == c.at.line && l.at.file == c.at.file && l.store == c.store; };
    if (n.last >= n.lines.size() || !same(n.lines[n.last])) {
        for (n.last = 0; n.last < n.lines.size() && !same(n.lines[n.last]); ++n.last) {}
        if (n.last == n.lines.size()) {
            n.lines.emplace_back();
            n.lines.back().at = c.at;
            n.lines.back().api = c.api;
            n.lines.back().store = c.store;
        }
    }
    LineNotes& l = n.lines[n.last];
    const uint64_t bytes = static_cast<uint64_t>(r.rows) * r.len;
    ++l.copies;
    l.bytes += bytes;
    if (bytes < 2048) ++l.small, l.small_bytes += bytes;
    const uint64_t off = gm_device_address(c.global.ptr) % 512;
    if (off) ++l.off_line, l.off_line_bytes += bytes, l.worst_offset = off;
}

void note_padded_rows(const CopyCall& c, uint32_t rows, uint32_t row_bytes, uint32_t pitch) {
    CoreNotes& n = notes();
    if (!c.store && row_bytes % kBlock) n.tail = c.at;
    PaddedRows p{c.local.buf, c.local.gen, c.local.addr, rows, row_bytes, pitch, c.at};
    const bool drift = rows > 1 && row_bytes != pitch;
    for (size_t i = 0; i < n.padded.size(); ++i)
        if (n.padded[i].addr == p.addr && n.padded[i].buf == p.buf) {
            if (drift) n.padded[i] = p; else n.padded.erase(n.padded.begin() + static_cast<long>(i));
            return;
        }
    if (drift && n.padded.size() < 256) n.padded.push_back(p);
}

At tail_load() { return notes().tail; }

std::string row_hint(const LocalRef& t, DType type) {
    const uint32_t size = size_of(type) ? size_of(type) : 1;
    for (const PaddedRows& p : notes().padded) {
        if (p.buf != t.buf || p.gen != t.gen || t.addr <= p.addr) continue;
        const uint32_t off = t.addr - p.addr, row = off / p.row_bytes;
        if (off % p.row_bytes || !row || row >= p.rows) continue;
        return fmt("DataCopyPad (line %d) starts each row on a 32 B boundary of UB: row %u is at element %u, not %u. Index rows with a pitch of %u elements",
                   p.at.line, row, row * p.pitch / size, off / size, p.pitch / size);
    }
    return {};
}

void copy_notes_end(Core& c) {
    const auto found = g_notes.find(c.id);
    if (found == g_notes.end()) return;
    for (const LineNotes& l : found->second.lines) {
        if (l.small >= 16)
            report(Severity::Note, "PERF_SMALL_COPY", l.at,
                   fmt("%llu copies of %llu B on average (%s): below 2 KB the time goes into starting them", static_cast<unsigned long long>(l.small),
                       static_cast<unsigned long long>(l.small_bytes / l.small), l.store ? "UB -> GM" : "GM -> UB"),
                   "move several rows with one 2-D copy (blockCount rows, 16 KB or more)");
        else if (chip_is_a2() && l.off_line_bytes >= 64 * 1024 && l.off_line * 2 > l.copies)
            report(Severity::Note, "PERF_UNALIGNED_512", l.at,
                   fmt("%llu of %llu copies start off a 512 B boundary of GM (by %llu B): about 15 %% slower", static_cast<unsigned long long>(l.off_line),
                       static_cast<unsigned long long>(l.copies), static_cast<unsigned long long>(l.worst_offset)),
                   "make block and tile lengths multiples of 512 B");
    }
    g_notes.erase(found);
}

}  // namespace twin
