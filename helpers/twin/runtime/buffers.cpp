// Who owns which bytes of local memory, and argument buffers in GM.
#include "races.h"

namespace twin {

// ===== Local buffers
const std::vector<BufferInfo>& buffers() { return board().buffers; }
uint32_t buffer_generation(int buf) { return buf < 0 ? 0 : board().buffers.at(size_t(buf)).gen; }

// The map of UB shows the first core of each kind: the others leave no marks.
static bool is_shown() {
    const Core& c = core();
    return c.id == 0 || (c.kind == CoreKind::AIV && c.block == 0);
}

static void mark(Rec kind, int buf, At at) {
    if (!is_shown()) return;
    Record r;
    r.kind = kind;
    r.id = int16_t(buf);
    r.line = at.line;
    r.op = trace_op(kind == Rec::BufAlloc ? "AllocTensor" : "FreeTensor");
    trace_add(r);
}

int buffer_new(Mem m, uint32_t addr, uint32_t bytes, std::string name, int slot, At at) {
    LaunchState& l = launch();
    Scoreboard& b = board();
    BufferInfo i{m, addr, bytes, std::move(name), slot < 0 ? 0 : slot, at, {}, {}, slot >= 0, slot < 0, 0};
    b.buffers.push_back(i);
    const int index = int(b.buffers.size()) - 1;
    if (is_shown())
        l.buffers_out.push_back({l.running->core.id, i.name, i.slot, int(m), addr, bytes, at.line});
    if (slot < 0) mark(Rec::BufAlloc, index, at);          // a TBuf is held from its InitBuffer on
    return index;
}

void buffer_alloc(int buf, At at) {
    Scoreboard& b = board();
    note_scalar(at);
    BufferInfo& i = b.buffers.at(size_t(buf));
    i.live = true;
    ++i.gen;
    i.allocated = at;
    mark_undefined(core(), i.mem, i.addr, uint64_t(i.addr) + i.bytes);
    mark(Rec::BufAlloc, buf, at);
}

void buffer_free(int buf, At at) {
    Scoreboard& b = board();
    note_scalar(at);
    BufferInfo& i = b.buffers.at(size_t(buf));
    i.live = false;
    i.freed = at;
    mark(Rec::BufFree, buf, at);
}

void buffer_forget_all(At at) {
    note_scalar(at);
    for (BufferInfo& i : board().buffers) {
        if (i.live && !i.queue) mark(Rec::BufFree, int(&i - board().buffers.data()), at);
        i.live = false;
        i.freed = at;
    }
}

uint32_t capacity(Mem m) { return launch().capacity[int(m)]; }

// ===== GM
const GmBuffer* gm_find(const void* p) {
    LaunchState& l = launch();
    const uint8_t* a = static_cast<const uint8_t*>(p);
    auto inside = [&](const GmBuffer& b) { return a >= b.base && a < b.base + b.bytes; };
    if (l.gm_last < l.gm.size() && inside(l.gm[l.gm_last])) return &l.gm[l.gm_last];
    const GmBuffer* near = nullptr;                        // behind the end of a buffer: still that buffer, for the message
    for (size_t i = 0; i < l.gm.size(); ++i) {
        if (inside(l.gm[i])) { l.gm_last = i; return &l.gm[i]; }
        if (a >= l.gm[i].base && uint64_t(a - l.gm[i].base) < l.gm[i].bytes + (1ull << 32)) near = &l.gm[i];
    }
    return near;
}

uint64_t gm_device_address(const void* p) {
    const GmBuffer* b = gm_find(p);
    return b ? b->device + uint64_t(static_cast<const uint8_t*>(p) - b->base) : reinterpret_cast<uint64_t>(p);
}

void gm_check(const GlobalRef& g, uint64_t offset, uint64_t bytes, At at, const char* op, const char* name) {
    if (!g.set)
        fatal("GM_OUT_OF_BOUNDS", at, fmt("%s: GlobalTensor %s is used before SetGlobalBuffer gave it an address", op, name), "call SetGlobalBuffer in Init");
    if (!bytes) return;
    if (!g.ptr)
        fatal("GM_OUT_OF_BOUNDS", at, fmt("%s: GlobalTensor %s has a null address: the argument was None", op, name), "pass an array, or skip the access when the pointer is null");
    if (g.set == 2)   // operator[] moved the start to or behind the end that SetGlobalBuffer gave
        fatal("GM_OUT_OF_BOUNDS", at, fmt("%s: %s starts at or behind the end of the GlobalTensor it was taken from (%s)", op, name, describe_gm(g.ptr).c_str()),
              "SetGlobalBuffer gave this length in elements; check the offset of this tile");
    if (g.bytes && offset + bytes > g.bytes)
        fatal("GM_OUT_OF_BOUNDS", at,
              fmt("%s: %s touches bytes [%llu, %llu) of a GlobalTensor of %llu B (%s)", op, name, (unsigned long long)offset, (unsigned long long)(offset + bytes),
                  (unsigned long long)g.bytes, describe_gm(g.ptr).c_str()),
              "SetGlobalBuffer gave this length in elements; check the tail and the offset");
    const GmBuffer* b = gm_find(g.ptr + offset);
    if (!b) fatal("GM_OUT_OF_BOUNDS", at, fmt("%s: %s points to memory that belongs to no argument of this launch", op, name), "GlobalTensor[] counts elements, GM_ADDR + n counts bytes");
    const uint64_t lo = uint64_t(g.ptr + offset - b->base);
    if (lo + bytes > b->bytes) {
        const uint32_t e = size_of(b->dtype) ? size_of(b->dtype) : 1;
        fatal("GM_OUT_OF_BOUNDS", at,
              fmt("%s: %s touches elements up to %llu of %s, which has %llu (bytes [%llu, %llu) of %llu)", op, name, (unsigned long long)((lo + bytes + e - 1) / e),
                  describe_gm(b->base).c_str(), (unsigned long long)(b->bytes / e), (unsigned long long)lo, (unsigned long long)(lo + bytes), (unsigned long long)b->bytes),
              "check the last tile and the split over blocks");
    }
}

}  // namespace twin
