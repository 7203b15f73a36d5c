// Shadow of a memory: for every byte range the last write, the reads since then, and whether the bytes are defined.
// An interval map, because most instructions touch whole buffers; it is exact to the byte.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "clock.h"

namespace twin {

// One access: who, when on its own pipe, and where in the text.
struct Touch {
    uint32_t k = 0;          // running number on (core, pipe); 0 = none
    int32_t core = 0;
    uint32_t seq = 0;        // program order inside the core
    int32_t line = 0;
    const char* file = nullptr;
    const char* op = "";
    uint8_t pipe = 0;
    uint8_t atomic = 0;
    bool same(const Touch& o) const { return k == o.k && core == o.core && pipe == o.pipe && line == o.line; }
};

enum : uint8_t { kDefined = 0, kNeverWritten = 1, kPadding = 2 };

// A list that mostly has one entry, or none: that one needs no memory of its own.
class Touches {
  public:
    Touch* begin() { return n_ == 1 ? &one_ : many_.data(); }
    Touch* end() { return begin() + n_; }
    const Touch* begin() const { return n_ == 1 ? &one_ : many_.data(); }
    const Touch* end() const { return begin() + n_; }
    bool empty() const { return n_ == 0; }
    size_t size() const { return n_; }
    void clear() { n_ = 0; many_.clear(); }
    void push_back(const Touch& t) {
        if (n_ == 0) one_ = t;
        else if (n_ == 1) many_ = {one_, t};
        else many_.push_back(t);
        ++n_;
    }

  private:
    size_t n_ = 0;
    Touch one_;
    std::vector<Touch> many_;
};

struct Cell {
    Touch write;
    Touches reads;   // reads and DMA atomics since the last plain write, at most one per (core, pipe)
    uint8_t undef = kNeverWritten;
};

class Shadow {
  public:
    explicit Shadow(uint8_t initial = kNeverWritten) : initial_(initial) {}

    // Calls f(lo, hi, cell) for consecutive pieces that cover [lo, hi); cells may be changed.
    template <class F> void visit(uint64_t lo, uint64_t hi, F f) {
        auto it = split(lo);
        split(hi);
        uint64_t at = lo;
        while (at < hi) {
            if (it == map_.end() || it->first > at) {
                uint64_t end = it == map_.end() ? hi : std::min(hi, it->first);
                it = map_.emplace_hint(it, at, Node{end, fresh()});
            }
            f(at, it->second.end, it->second.cell);
            at = it->second.end;
            ++it;
        }
    }
    // The same without creating or splitting anything: f gets the part of each piece inside [lo, hi).
    template <class F> void look(uint64_t lo, uint64_t hi, F f) const {
        auto it = map_.upper_bound(lo);
        if (it != map_.begin() && std::prev(it)->second.end > lo) --it;
        uint64_t at = lo;
        while (at < hi) {
            if (it == map_.end() || it->first >= hi) { f(at, hi, none()); return; }
            if (it->first > at) { f(at, it->first, none()); at = it->first; }
            uint64_t end = std::min(hi, it->second.end);
            f(at, end, it->second.cell);
            at = end;
            ++it;
        }
    }
    // Makes [lo, hi) one piece holding `w` and no reads.
    void overwrite(uint64_t lo, uint64_t hi, const Touch& w, uint8_t undef) {
        auto it = split(lo);
        auto last = split(hi);
        if (it != last && it->first == lo) {               // reuse the first node
            it->second.end = hi;
            it->second.cell.write = w;
            it->second.cell.reads.clear();
            it->second.cell.undef = undef;
            map_.erase(std::next(it), last);
        } else {
            map_.erase(it, last);
            Cell c = fresh();
            c.write = w;
            c.undef = undef;
            it = map_.emplace(lo, Node{hi, c}).first;
        }
        if (it != map_.begin()) {                          // grow the left neighbour when it holds the same
            auto left = std::prev(it);
            if (left->second.end == lo && left->second.cell.write.same(w) && left->second.cell.undef == undef && left->second.cell.reads.empty()) {
                left->second.end = hi;
                map_.erase(it);
            }
        }
    }
    // The bounds of the piece that holds byte `at`; f(cell).
    template <class F> void piece_at(uint64_t at, uint64_t& lo, uint64_t& hi, F f) const {
        auto it = map_.upper_bound(at);
        if (it != map_.begin() && std::prev(it)->second.end > at) {
            --it;
            lo = it->first;
            hi = it->second.end;
            f(it->second.cell);
            return;
        }
        lo = it == map_.begin() ? 0 : std::prev(it)->second.end;
        hi = it == map_.end() ? ~0ull : it->first;
        f(none());
    }
    void define(uint64_t lo, uint64_t hi, uint8_t undef) {
        visit(lo, hi, [&](uint64_t, uint64_t, Cell& c) { c.undef = undef; });
    }
    size_t pieces() const { return map_.size(); }

  private:
    struct Node { uint64_t end; Cell cell; };
    using Map = std::map<uint64_t, Node>;
    Cell fresh() const { Cell c; c.undef = initial_; return c; }
    const Cell& none() const { static const Cell defined = [] { Cell c; c.undef = kDefined; return c; }(); static const Cell never; return initial_ == kDefined ? defined : never; }
    // Iterator to the first piece that starts at or after `at`, splitting a piece that contains it.
    Map::iterator split(uint64_t at) {
        auto it = map_.lower_bound(at);
        if (it != map_.begin()) {
            auto left = std::prev(it);
            if (left->second.end > at) {
                Node right{left->second.end, left->second.cell};
                left->second.end = at;
                return map_.emplace_hint(it, at, std::move(right));
            }
        }
        return it;
    }
    uint8_t initial_;
    Map map_;
};

}  // namespace twin
