// Arrays of a launch: each in a mapping of its own, with address space on both sides that faults on touch.
#include <sys/mman.h>

#include <algorithm>

#include "runner.h"

#ifndef MAP_POPULATE
#define MAP_POPULATE 0
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

namespace twin {

namespace {
constexpr uint8_t kPattern = 0xC5;

// Puts the file (or fresh zero pages) at m.base.
bool place(Mapping& m, int prot, bool populate) {
    int flags = MAP_FIXED | (m.fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED);
    if (populate) flags |= MAP_POPULATE;
    return mmap(m.base, m.bytes, prot, flags, m.fd, m.fd < 0 ? 0 : static_cast<off_t>(m.file_offset)) != MAP_FAILED;
}
}  // namespace

Arrays& arrays() {
    static Arrays a;
    return a;
}

bool map_array(Mapping& m) {
    void* room = mmap(nullptr, m.bytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    m.base = static_cast<uint8_t*>(room) + kGuard;
    m.locked = m.access != Access::ReadWrite;
    m.written = false;
    if (m.bytes == 0) return true;
    return place(m, m.locked ? PROT_READ : PROT_READ | PROT_WRITE, !m.locked && m.fd >= 0);
}

void unmap_array(Mapping& m) {
    if (m.base) munmap(m.base - kGuard, m.bytes + 2 * kGuard);
    m.base = nullptr;
}

bool unlock_on_write(uint64_t address, bool may_retry) {
    for (Mapping& m : arrays().maps) {
        auto lo = reinterpret_cast<uint64_t>(m.base);
        if (!m.used || m.access != Access::Track || address < lo || address >= lo + m.bytes) continue;
        if (m.written) return may_retry;      // another thread has just unlocked it: try again
        m.locked = false;
        m.written = true;
        // Mapped again instead of mprotect: one populated mapping is far cheaper than one more fault for every page.
        return place(m, PROT_READ | PROT_WRITE, true);
    }
    return false;
}

// Ranges that belong to nobody hold a byte pattern; between views of one large array lies other data of the caller.
void watch_begin() {
    for (Watch& w : arrays().watches) {
        const Mapping& m = arrays().maps[w.mapping];
        uint8_t* p = m.base + w.offset;
        if (m.fd < 0) std::fill(p, p + w.bytes, kPattern);      // workspace: a stray zero must show too
        w.before.assign(p, p + w.bytes);
    }
}

std::vector<Overrun> watch_end() {
    std::vector<Overrun> out;
    for (Watch& w : arrays().watches) {
        uint8_t* p = arrays().maps[w.mapping].base + w.offset;
        if (std::equal(w.before.begin(), w.before.end(), p)) continue;
        uint64_t lo = 0, hi = w.bytes;
        while (p[lo] == w.before[lo]) ++lo;
        while (p[hi - 1] == w.before[hi - 1]) --hi;
        out.push_back({w.mapping, w.offset + lo, hi - lo});
        std::copy(w.before.begin(), w.before.end(), p);
    }
    return out;
}

}  // namespace twin
