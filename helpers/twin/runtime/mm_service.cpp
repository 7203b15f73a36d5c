// Requests between a vector core and its cube core, and the GM through which their data pass: no wire joins UB and L0C.
//
// The cube core of a MIX kernel stands in REGIST_MATMUL_OBJ and serves its vector cores one request after the other until
// all of them have returned. A request and its answer are published and awaited like the flags between blocks.
#include <sys/mman.h>

#include <algorithm>

#include "core_kind.h"
#include "fibers.h"
#include "hooks.h"
#include "mm_object.h"
#include "queues.h"
#include "state.h"

namespace twin {

void mm_objects_begin();
void mm_machines_begin();
uint32_t mm_open_object();                                // whose tile waits in L0C of the running cube core
void mm_close(uint32_t object);

namespace {

enum class Part : uint8_t { None, Cube, Server, Client, Idle };
struct Mailbox { std::deque<MmRequest> requests; };

struct Service {
    std::map<int, Part> part;                             // by core
    std::map<int64_t, Mailbox> box;                       // by AI core
    uint64_t keys = 0;
    int objects = 0;                                      // of each core
    uint8_t* room = nullptr;                              // 1 MB for each core
    uint64_t room_bytes = 0;
} s;

constexpr uint64_t kRoom = 1u << 20;
constexpr uint64_t kOffset[] = {0, 256 << 10, 512 << 10, 576 << 10, kRoom};

// Address space for the rooms of a launch, kept for the next one.
uint8_t* rooms(uint64_t bytes) {
    static uint8_t* area = nullptr;
    static uint64_t have = 0;
    if (have < bytes) {
        if (area) munmap(area, have);
        void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) fatal("OUT_OF_MEMORY", {}, "no memory for the workspace of Matmul messages");
        area = static_cast<uint8_t*>(p);
        have = bytes;
    }
    return area;
}

void open_rooms() {
    if (s.room) return;
    LaunchState& l = launch();
    s.room_bytes = l.instances.size() * kRoom;
    s.room = rooms(s.room_bytes);
    uint64_t device = 0;
    for (const GmBuffer& b : l.gm) device = std::max(device, b.device + b.bytes);
    const GmBuffer mine{s.room, s.room_bytes, "the workspace of Matmul messages", DType::None, -1, true, (device + (4u << 20)) / 512 * 512};
    const auto at = std::lower_bound(l.gm.begin(), l.gm.end(), mine.base, [](const GmBuffer& b, const uint8_t* p) { return b.base < p; });
    const size_t i = size_t(at - l.gm.begin());
    l.gm.insert(at, mine);
    l.gm_shadow.insert(l.gm_shadow.begin() + long(i), std::make_unique<Shadow>(kNeverWritten));
    l.gm_last = 0;
}

Part part_of(int core) {
    const auto f = s.part.find(core);
    return f == s.part.end() ? Part::None : f->second;
}

bool vector_cores_done(int64_t group) {
    for (auto& i : launch().instances)
        if (i->core.kind == CoreKind::AIV && i->core.block_group == group && !i->done) return false;
    return true;
}

}  // namespace

void mm_launch_begin() {
    s = Service{};
    mm_objects_begin();
    mm_machines_begin();
}

bool mm_client() { return part_of(core().id) == Part::Client; }
bool mm_server() { return part_of(core().id) == Part::Server; }
uint64_t mm_new_key() { return 0x4d4d000000000000ull + ++s.keys; }
uint64_t mm_shared_key(const MmObject& o, uint32_t call) { return 0x4d53000000000000ull + (uint64_t(core().block_group) << 32) + (uint64_t(o.ordinal) << 24) + call; }

void mm_check_flag(int flag, At at) {
    const int taken = 2 * s.objects;
    if ((mm_client() || mm_server()) && flag < taken && checks_on())
        report(Severity::Error, "EVENT_ID", at, fmt("cross-core flag %d is used by the messages of the Matmul object: with %d of them ids 0..%d are theirs", flag, s.objects, taken - 1), "take ids 8 to 10");
}

// Everything the core has issued so far belongs to what is published; with a pipe, when that pipe has come so far.
static void publish_here(uint64_t key, Pipe p, At at) {
    drain_all();
    trace_meeting(Rec::Publish, at, "Matmul message", kInsideCore, 0, p, key);
    Clock c = board().K[0];
    for (int i = 0; i < kPipes; ++i) c.own[i] = board().n[i];
    launch().published[key] = to_remote(c, core().id, int(launch().instances.size()));
}

void mm_answer(uint64_t key, At at) { publish_here(key, Pipe::FIX, at); }

void mm_await(uint64_t key, At at, const char* op) {
    LaunchState& l = launch();
    trace_meeting(Rec::Await, at, op, kInsideCore, 0, Pipe::S, key);
    if (!yield_until([&l, key] { return l.published.count(key) > 0; }, op, at, int(key & 0xffff)))
        fatal("DEADLOCK", at, fmt("%s waits for a cube core that never answers", op));
    for (int p = 0; p < kPipes; ++p) join_from(board().K[p], l.published[key], core().id);
}

GlobalRef mm_room(MmRoom purpose, uint64_t bytes, At at) {
    const uint64_t have = kOffset[purpose + 1] - kOffset[purpose];
    if (bytes > have) fatal("OUT_OF_BOUNDS", at, fmt("%llu B do not fit the message workspace of a core (%llu B)", (unsigned long long)bytes, (unsigned long long)have), "pass the operand in global memory");
    GlobalRef g;
    g.ptr = s.room + uint64_t(core().id) * kRoom + kOffset[purpose];
    g.bytes = bytes;
    g.set = 1;
    return g;
}

void mm_submit(MmRequest& r) {
    if (on(CoreKind::AIC)) { mm_run(r); return; }
    charge(40, r.at);
    const uint64_t answer = r.answer = r.answer ? r.answer : mm_new_key();
    const bool wait = r.sync && r.kind != MmRequest::End;
    r.from = core().id;
    if (r.kind != MmRequest::End) {
        r.key = mm_new_key();
        pipe_barrier(Pipe::ALL, r.at);                    // what the vector core wrote is there when the cube core reads it
        publish_here(r.key, Pipe::S, r.at);
    }
    const At at = r.at;
    s.box[core().block_group].requests.push_back(r);
    if (wait) mm_await(answer, at, "Matmul message");
}

}  // namespace twin

using namespace twin;

extern "C" {

int tw_matmul_regist(int cube_only, const void* workspace, int objects, int dual_master, At at) {
    LaunchState& l = launch();
    Core& c = core();
    const bool cube = on(CoreKind::AIC);
    if (cube_only || dual_master) {
        belongs_elsewhere(CoreKind::AIC, "REGIST_MATMUL_OBJ", at);   // where no cube core runs, nobody computes
        s.part[c.id] = cube ? Part::Cube : Part::Idle;
        return !cube && cube_only;
    }
    if (!workspace) fatal("HOST_ARGUMENT", at, "the system workspace is null", "pass GetSysWorkSpacePtr(), and reserve GetLibApiWorkSpaceSize() bytes on the host");
    bool both[2] = {false, false};
    for (auto& i : l.instances)
        if (i->core.block_group == c.block_group) both[int(i->core.kind)] = true;
    if (!both[0] || !both[1])
        fatal("BAD_PARAMETER", at, cube ? "REGIST_MATMUL_OBJ on a cube core that has no vector cores: nobody would ever send it a request" : "REGIST_MATMUL_OBJ on a vector core without a cube core: nobody would ever answer",
              cube ? "define ASCENDC_CUBE_ONLY before the first include" : "declare KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2)");
    if (objects > 4) report(Severity::Warning, "BAD_PARAMETER", at, fmt("%d Matmul objects: at most 4 are documented", objects), "use one object for several products: call Init with another tiling");
    open_rooms();
    s.objects = std::max(s.objects, objects);
    if (!cube) {
        trace_op("REGIST_MATMUL_OBJ");                    // the timing adds what the message system costs once
        const QueueState& q = queue_state();
        if (!q.queues.empty() || !q.plain.empty())
            report(Severity::Error, "BAD_PARAMETER", at, "REGIST_MATMUL_OBJ must precede InitBuffer: the message system takes its bytes of UB first", "move the macro up, right behind TPipe");
    }
    s.part[c.id] = cube ? Part::Server : Part::Client;
    return 0;
}

int tw_matmul_serve(At at) {
    if (!mm_server()) return 0;
    const int64_t group = core().block_group;
    Mailbox& box = s.box[group];
    auto eligible = [&box]() -> size_t {
        const uint32_t open = mm_open_object();
        for (size_t i = 0; i < box.requests.size(); ++i)
            if (!open || uint32_t(box.requests[i].object->id) == open) return i;
        return box.requests.size();
    };
    const int me = core().id;
    for (;;) {
        if (eligible() == box.requests.size()) {
            if (vector_cores_done(group)) {
                if (box.requests.empty()) break;
                mm_close(mm_open_object());                // its vector core has gone without taking the tile
                continue;
            }
            yield_until([&, me] {
                LaunchState& l = launch();
                Instance* before = l.running;
                l.running = l.instances[size_t(me)].get();
                const bool some = eligible() != box.requests.size();
                l.running = before;
                return some || vector_cores_done(group);
            }, "REGIST_MATMUL_OBJ", at, int(group));
            continue;
        }
        const size_t i = eligible();
        MmRequest r = box.requests[i];
        box.requests.erase(box.requests.begin() + long(i));
        if (r.key) mm_await(r.key, r.at, "Matmul message");
        mm_run(r);
        if (r.key) mm_answer(r.answer, r.at);
    }
    for (auto& i : launch().instances)
        if (i->core.kind == CoreKind::AIV && i->core.block_group == group && part_of(i->core.id) != Part::Client)
            report(Severity::Error, "DEADLOCK", at, fmt("vector core %lld returned before REGIST_MATMUL_OBJ: its cube core would wait for it for ever", (long long)i->core.block), "register first, then return");
    return 1;
}

}
