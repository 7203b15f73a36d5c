#include "held.h"

namespace twin {

thread_local const uint8_t* t_through[4] = {};

bool HeldLoads::span(Core& c, const Region& r, Span& s) {
    uint64_t lo, hi;
    if (!extent(r, lo, hi)) return false;
    const uint64_t base = r.mem == Mem::GM ? 0 : reinterpret_cast<uint64_t>(c.base[int(r.mem)]);
    s = {base + lo, base + hi};
    return true;
}

void HeldLoads::carry_out(size_t i) {
    Held h = std::move(held_[i]);
    held_.erase(held_.begin() + long(i));
    note_written(*h.core, h.in);
    h.in.body(*h.core, h.in);
}

void HeldLoads::flush() {
    while (!held_.empty()) carry_out(0);
}

void HeldLoads::leave(const Core& c) {
    held_.erase(std::remove_if(held_.begin(), held_.end(), [&](const Held& h) { return h.core == &c; }), held_.end());
    for (const Written& w : written_)
        if (w.core == &c) std::memset(reinterpret_cast<void*>(w.bytes.lo), kUnwritten, w.bytes.hi - w.bytes.lo);
    written_.erase(std::remove_if(written_.begin(), written_.end(), [&](const Written& w) { return w.core == &c; }), written_.end());
}

void HeldLoads::forget_written() {
    for (const Written& w : written_) w.core->touched = true;
    written_.clear();
}

void HeldLoads::note_written(Core& c, const Instr& in) {
    constexpr size_t most = 32;
    auto one = [&](const Region& r) {
        Span s;
        if (r.mem == Mem::GM || !(r.rw & kWrite) || !span(c, r, s)) return;
        for (Written& w : written_)
            if (w.core == &c && s.lo <= w.bytes.hi && w.bytes.lo <= s.hi) {
                w.bytes = {std::min(w.bytes.lo, s.lo), std::max(w.bytes.hi, s.hi)};
                return;
            }
        written_.push_back({&c, s});
        if (written_.size() <= most) return;
        for (Written& w : written_) w.core->touched = true;   // too many places: let the next core's start fill everything
        written_.clear();
    };
    for (int i = 0; i < in.nreg; ++i) one(in.reg[i]);
    for (const Region& r : in.more) one(r);
}

void HeldLoads::run(Core& c, const Instr& in) {
    constexpr size_t most = 6;
    // What this instruction writes: a held load from there must be done first; one to there is dead when all of it is
    // overwritten unread.
    for (size_t i = 0; i < held_.size();) {
        bool first = false, covered = false, read = false;
        auto look = [&](const Region& r, int operand) {
            Span s;
            if (!span(c, r, s)) return;
            if (r.rw & kWrite) {
                first |= meets(s, held_[i].from);
                if (meets(s, held_[i].to)) { if (r.rw == kWrite && s.lo <= held_[i].to.lo && s.hi >= held_[i].to.hi) covered = true; else first = true; }
            }
            if ((r.rw & kRead) && meets(s, held_[i].to)) {
                read = true;
                const bool inside = s.lo >= held_[i].to.lo && s.hi <= held_[i].to.hi;
                const bool asks = (in.shape == Instr::ElementWise && operand >= 1 && operand < 4) || ((in.shape == Instr::PlainStore || in.shape == Instr::ReadsFirst) && operand == 0);
                if (asks && inside && r.rw == kRead)
                    t_through[operand] = reinterpret_cast<const uint8_t*>(held_[i].from.lo + (s.lo - held_[i].to.lo));
                else
                    first = true;
            }
        };
        for (int k = 0; k < in.nreg; ++k) look(in.reg[k], k);
        for (const Region& r : in.more) look(r, 9);
        if (covered && read) first = true;                // in place: it needs the bytes where it writes
        if (first) {
            for (auto& t : t_through) t = nullptr;        // found again below: the load is carried out now
            carry_out(i);
            i = 0;
        } else if (covered) {
            held_.erase(held_.begin() + long(i));
        } else {
            ++i;
        }
    }
    if (in.shape == Instr::PlainLoad) {
        Span from, to;
        if (in.nreg == 2 && in.more.empty() && span(c, in.reg[0], from) && span(c, in.reg[1], to)) {
            if (held_.size() >= most) carry_out(0);
            Held& h = held_.emplace_back();
            h.core = &c;
            h.in.keep(in);
            h.from = from;
            h.to = to;
            return;
        }
    }
    note_written(c, in);
    in.body(c, in);
    for (auto& t : t_through) t = nullptr;
}

}  // namespace twin
