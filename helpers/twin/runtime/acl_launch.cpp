// Kernels of a host program: queued with their arguments, run on the twin when the stream is waited for.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "acl_state.h"
#include "cann/twin_program.h"

namespace twin {

namespace program {
static Unit*& units() { static Unit* first = nullptr; return first; }
Unit::Unit(const char* l, const char* s, const Entry* e, void* const* f, const char* c) : label(l), source(s), entries(e), functions(f), chip(c), next(units()) { units() = this; }
}  // namespace program

namespace acl {

using program::Unit;

static std::string chip_value(const std::string& key) {
    if (!program::units()) return "";
    std::istringstream in(program::units()->chip);
    for (std::string line; std::getline(in, line);)
        if (line.compare(0, key.size() + 1, key + " ") == 0) return line.substr(key.size() + 1);
    return "";
}
double chip_number(const char* key, double otherwise) {
    const std::string value = chip_value(key);
    return value.empty() ? otherwise : atof(value.c_str());
}
std::string chip_name() { return chip_value("name"); }

static const Entry* entry_of(void* function, const Unit** where) {
    for (Unit* u = program::units(); u; u = u->next)
        for (size_t i = 0; u->entries[i].name; ++i) if (u->functions[i] == function) { *where = u; return &u->entries[i]; }
    return nullptr;
}

static std::vector<std::string> names_of(const Entry& e) {
    std::vector<std::string> out;
    std::istringstream in(e.names);
    for (std::string name; std::getline(in, name, ',');) out.push_back(name);
    out.resize(e.nparams);
    return out;
}

// What the runtime of the device would return for a kernel that stopped.
static aclError code_for(const LaunchResult& r, int kernel_type) {
    const bool mix = kernel_type == 4 || kernel_type == 5, cube = kernel_type == 1 || kernel_type == 3;
    for (const FindingOut& f : r.findings) {
        if (f.severity != 2) continue;
        if (f.code == "DEADLOCK" || f.code == "TIMEOUT") return mix ? 507048 : cube ? 507014 : 507034;
        if (f.code == "ASSERT") return mix ? 507050 : cube ? 507016 : 507036;
    }
    return mix ? 507049 : cube ? 507015 : 507035;
}

// ===== Running one
static std::string line_of(const Unit& u, int line) {
    std::istringstream in(u.source);
    std::string row;
    for (int i = 0; i < line && std::getline(in, row); ++i) {}
    const size_t first = row.find_first_not_of(" \t");
    return first == std::string::npos ? "" : row.substr(first);
}

struct Call1 {                                   // one launch with its arguments by value
    const Unit* unit;
    const Entry* entry;
    int64_t blocks;
    std::vector<std::vector<uint8_t>> values;
    At at;
};

static aclError execute(Call1& c, Stream* stream) {
    const Entry& e = *c.entry;
    LaunchSpec spec;
    LaunchResult result;
    spec.blocks = c.blocks;
    spec.kernel_type = e.kernel_type;
    spec.source = c.unit->source;
    spec.file = c.unit->label;
    spec.chip = c.unit->chip;
    spec.entry = e.call;
    std::vector<std::string> names = names_of(e);
    std::vector<void*> args;
    std::vector<Allocation*> passed;
    for (uint32_t i = 0; i < e.nparams; ++i) {
        args.push_back(c.values[i].data());
        if (e.params[i].kind) continue;
        void* p;
        memcpy(&p, c.values[i].data(), sizeof p);
        Allocation* a = find(p);
        if (!a || std::find(passed.begin(), passed.end(), a) != passed.end()) continue;     // passed twice: its first name
        passed.push_back(a);
    }
    spec.args = args.data();
    for (Allocation* a : living())
        if (a->side != Side::Host) spec.gm.push_back({a->base, a->bytes, DType::None, a->name.empty() ? "device memory" : a->name, !a->written});
    {
        Open open;
        now_running(e.name, c.at);
        run_launch(spec, result);
        launch_forget();
        now_running(nullptr, {});
        for (Allocation* a : passed) a->written = true;
        for (auto& [p, a] : world().memory) {
            if (a->freed || a->side == Side::Host) continue;
            const std::string said = overrun(*a);
            if (!said.empty()) note_finding("GM_OUT_OF_BOUNDS", 2, c.at, text("%s: ", e.name) + said + ".", "Compare the index with the number of elements.");
        }
    }
    fputs(result.text.c_str(), stdout);
    for (const FindingOut& f : result.findings) {
        const bool own = f.file.empty() || f.file == c.unit->label;
        note_finding(f.code.c_str(), f.severity, {own ? c.unit->label : f.file.c_str(), f.line},
                     text("%s%s: ", e.name, f.block >= 0 ? text(", block %lld", (long long)f.block).c_str() : "") + f.message, f.hint, own ? line_of(*c.unit, f.line) : "", f.count);
    }
    const double ns = result.failed ? 0 : result.timing.kernel_ns, start = stream ? stream->clock_ns : 0;
    if (stream) stream->clock_ns += ns;
    world().launches.push_back({e.name, c.at, c.blocks, stream ? stream->number : 0, start, start + ns, result.failed});
    return result.failed ? code_for(result, e.kernel_type) : ACL_SUCCESS;
}

// Looks at the arguments before anything is queued. 0, or the code after the finding was made.
static aclError check_arguments(const Call1& c, const char* what, At at, bool device_only, std::vector<Allocation*>& uses) {
    std::vector<std::string> names = names_of(*c.entry);
    auto refuse = [&](aclError code, const char* finding, std::string message, std::string hint) {
        set_recent(code, message);
        note_finding(finding, 2, at, message, hint);
        return code;
    };
    if (c.blocks < 1 || c.blocks > 65535)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("%s: %lld blocks; a launch has 1 to 65535 (107000)", what, (long long)c.blocks), "The first number between <<< and >>> is the number of blocks.");
    for (uint32_t i = 0; i < c.entry->nparams; ++i) {
        if (c.entry->params[i].kind) continue;
        void* p;
        memcpy(&p, c.values[i].data(), sizeof p);
        if (!p) continue;
        Allocation* a = find(p, true);
        if (a && a->freed) return refuse(ACL_ERROR_RT_PARAM_INVALID, "USE_AFTER_FREE", text("%s: argument %s is memory that was freed at %s: ", what, names[i].c_str(), place(a->freed_at).c_str()) + a->words(), "Free memory after the last kernel that uses it.");
        if (!a || a->side == Side::Host || (device_only && a->side != Side::Device))
            return refuse(ACL_ERROR_RT_PARAM_INVALID, "HOST_ARGUMENT", text("%s: argument %s is a host address; a kernel reads device memory only (107000)", what, names[i].c_str()),
                          device_only ? "Allocate it with aclrtMalloc and copy the data there with aclrtMemcpy." : "Allocate it with AscendC::GmAlloc.");
        if (a->name.empty()) a->name = names[i];
        uses.push_back(a);
    }
    return ACL_SUCCESS;
}

static bool make(Call1& c, void* function, int64_t blocks, const void* const* values, const uint32_t* sizes, uint32_t count, At at) {
    c.entry = entry_of(function, &c.unit);
    c.blocks = blocks;
    c.at = at;
    for (uint32_t i = 0; i < count; ++i) {
        auto* p = static_cast<const uint8_t*>(values[i]);
        c.values.emplace_back(p, p + sizes[i]);
    }
    if (c.entry) return true;
    note_finding("HOST_ARGUMENT", 2, at, "This kernel is not part of the program: its file was not given to the build.", "Name all source files: python -m helpers.cc main.cpp kernel.cpp");
    return false;
}

}  // namespace acl

namespace program {
using namespace acl;

static thread_local At site{};
void launch_site(At at) { site = at; }
At take_launch_site(At otherwise) {
    At at = site.line ? site : otherwise;
    site = {};
    return at;
}

aclError enqueue(void* function, int64_t blocks, void* stream, const void* const* values, const uint32_t* sizes, uint32_t count, At at) {
    Call call("launch", at);
    watch_faults();
    aclError code;
    if (!call.ready(code)) return code;
    auto c = std::make_shared<Call1>();
    if (!make(*c, function, blocks, values, sizes, count, at)) return call.end(107042, "");
    Stream* s = stream_of(stream);
    if (!s) return call.fail(ACL_ERROR_RT_STREAM_CONTEXT, "HOST_ARGUMENT", "the stream does not exist, or belongs to another context", "Use a stream of this context that has not been destroyed.");
    Task t;
    if ((code = check_arguments(*c, c->entry->name, at, true, t.uses))) return call.end(code, c->entry->name, s->number);
    t.what = c->entry->name;
    t.at = at;
    t.launch = true;
    t.run = [c, s] { return execute(*c, s); };
    add_task(*s, std::move(t));
    return call.ok(c->entry->name, s->number);
}

void run_now(void* function, int64_t blocks, const void* const* values, const uint32_t* sizes, uint32_t count, At at) {
    Call call("ICPU_RUN_KF", at);
    watch_faults();
    world().cpu_style = true;
    Call1 c;
    std::vector<Allocation*> uses;
    if (!make(c, function, blocks, values, sizes, count, at) || check_arguments(c, c.entry->name, at, false, uses)) exit(3);
    call.end(execute(c, nullptr), c.entry->name, 0);
    if (world().bad) exit(3);                    // as the CPU mode ends when a core stops
}

void* gm_alloc(size_t bytes, At at) {
    Call call("GmAlloc", at);
    watch_faults();
    world().cpu_style = true;
    Allocation* a = bytes ? allocate(bytes, Side::Gm, at) : nullptr;
    if (!a) { note_finding(bytes ? "OUT_OF_MEMORY" : "HOST_ARGUMENT", 2, at, text("GmAlloc(%zu) has no memory to give.", bytes), "Ask for more than 0 bytes and less than the device has."); return nullptr; }
    a->written = true;                           // the host fills it without a call
    call.ok(size_words(bytes));
    return a->base;
}
void gm_free(void* p, At at) {
    Call call("GmFree", at);
    Allocation* a = find(p, true);
    if (!a || a->freed || a->base != p) {
        call.fail(ACL_ERROR_RT_PARAM_INVALID, a && a->freed ? "USE_AFTER_FREE" : "HOST_ARGUMENT", a && a->freed ? text("it was freed already at %s", place(a->freed_at).c_str()) : "this address does not come from GmAlloc", "Free each allocation once.");
        return;
    }
    release(*a, at);
    call.ok();
}

}  // namespace program
}  // namespace twin
