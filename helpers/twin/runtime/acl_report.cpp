// What was found while a host program ran: printed at once, and written as JSON where TWIN_REPORT says.
#include <cstdarg>
#include <cstdlib>
#include <unistd.h>

#include "acl_state.h"

namespace twin {
namespace acl {

constexpr int kNote = 0, kWarning = 1, kError = 2;
constexpr size_t kCallRows = 4000;

World& world() {
    static World* w = new World;                 // outlives every static object of the program
    return *w;
}
Context*& current() {
    thread_local Context* c = nullptr;
    return c;
}

std::string text(const char* format, ...) {
    char buffer[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    return buffer;
}
std::string place(At at) {
    std::string file = at.file ? at.file : "";
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) file = file.substr(slash + 1);
    return at.line > 0 ? text("%s%sline %d", file.c_str(), file.empty() ? "" : ", ", at.line) : file;
}
std::string size_words(size_t bytes) {
    if (bytes < 10240) return text("%zu B", bytes);
    return bytes < (10u << 20) ? text("%zu KB", bytes / 1024) : text("%zu MB", bytes >> 20);
}
std::string Allocation::words() const {
    const char* how = side == Side::Host ? "aclrtMallocHost" : side == Side::Gm ? "GmAlloc" : "aclrtMalloc";
    if (name.empty()) return text("a buffer of %s (%s at %s)", size_words(bytes).c_str(), how, place(at).c_str());
    return text("%s (%s, %s at %s)", name.c_str(), size_words(bytes).c_str(), how, place(at).c_str());
}

static thread_local std::string recent;
static thread_local aclError last = 0;
const char* recent_message() { return recent.empty() ? nullptr : recent.c_str(); }
void set_recent(aclError code, const std::string& message) { last = code; recent = message; }
aclError last_error(bool clear) { aclError code = last; if (clear) last = 0; return code; }

void note_finding(const char* code, int severity, At at, std::string message, std::string hint, std::string source, int count) {
    World& w = world();
    at_exit_once();
    if (severity == kError) w.bad = true;
    if (severity > kNote) {
        fflush(stdout);
        fprintf(stderr, "%s%s  %s\n", code, severity == kWarning ? " (warning)" : "", place(at).c_str());
        if (!source.empty()) fprintf(stderr, "%4d | %s\n", at.line, source.c_str());
        fprintf(stderr, "  %s\n", message.c_str());
        if (!hint.empty()) fprintf(stderr, "  Fix: %s\n", hint.c_str());
    }
    w.found.push_back({code, std::move(message), std::move(hint), std::move(source), severity, at, count});
}

// ===== One call
Call::Call(const char* name, At at) : at(at), name(name), held_(world().lock) { at_exit_once(); }

aclError Call::end(aclError code, std::string what, int stream) {
    World& w = world();
    if (w.calls.size() < kCallRows) w.calls.push_back({name, at, code, stream, std::move(what)});
    if (code) last = code;
    return code;
}
aclError Call::fail(aclError code, const char* finding, std::string message, std::string hint) {
    message = text("%s: ", name) + message + text(" (%d)", code);
    set_recent(code, message);
    note_finding(finding, kError, at, message, std::move(hint));
    return end(code, "", -1);
}
bool Call::ready(aclError& code) {
    World& w = world();
    if (!w.initialised) {
        code = fail(ACL_ERROR_UNINITIALIZE, "HOST_ARGUMENT", w.finalised ? "it is called after aclFinalize" : "aclInit has not been called",
                    w.finalised ? "aclFinalize is the last ACL call of a program." : "Call aclInit(nullptr) first, then aclrtSetDevice(0).");
        return false;
    }
    if (!current()) {
        code = fail(ACL_ERROR_RT_CONTEXT_NULL, "HOST_ARGUMENT", "this thread has no device and no context",
                    "Call aclrtSetDevice(0), or aclrtSetCurrentContext, in the thread that makes the call.");
        return false;
    }
    return true;
}

// ===== Leaks
void report_leaks(At at, const char* when) {
    World& w = world();
    size_t bytes = 0, count = 0, shown = 0;
    std::string where;
    const std::vector<Allocation*> left = living();
    for (Allocation* a : left) {
        ++count;
        bytes += a->bytes;
        if (shown++ < 6) where += (where.empty() ? "" : "; ") + a->words();
    }
    if (count > shown) where += "; …";
    std::string list;
    auto add = [&](size_t n, const char* what) { if (n) list += text("%s%zu %s%s", list.empty() ? "" : ", ", n, what, n == 1 ? "" : "s"); };
    add(count, "buffer");
    add(w.streams.size(), "stream");
    add(w.events.size(), "event");
    size_t own = 0;
    for (auto& [h, c] : w.contexts) own += !c->implicit;
    add(own, "context");
    if (list.empty()) return;
    At first = at;
    if (count) first = left.front()->at;
    if (!count && !w.streams.empty()) first = w.streams.begin()->second->at;
    note_finding("LEAK", kWarning, first,
                 text("%s: %s still alive", when, list.c_str()) + (count ? text(", %s in buffers: ", size_words(bytes).c_str()) + where : std::string()) + ".",
                 "Give back in reverse order: aclrtFree, aclrtDestroyEvent, aclrtDestroyStream, aclrtDestroyContext, aclrtResetDevice, aclFinalize.");
}

// ===== JSON
static void put_text(FILE* f, const std::string& v) {
    fputc('"', f);
    for (unsigned char c : v) {
        if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c < 0x20) fprintf(f, "\\u%04x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}
static void put_at(FILE* f, At at) {
    fprintf(f, "\"line\":%d,\"file\":", at.line);
    put_text(f, at.file ? at.file : "");
}

void write_report() {
    const char* path = getenv(kReport);
    if (!path) return;
    FILE* f = fopen(path, "w");
    if (!f) return;
    World& w = world();
    fprintf(f, "{\"peak_bytes\":%zu,\"findings\":[", w.peak_bytes);
    for (size_t i = 0; i < w.found.size(); ++i) {
        const Found& x = w.found[i];
        fprintf(f, "%s{\"code\":\"%s\",\"severity\":%d,\"count\":%d,", i ? "," : "", x.code.c_str(), x.severity, x.count);
        put_at(f, x.at);
        fputs(",\"message\":", f); put_text(f, x.message);
        fputs(",\"hint\":", f); put_text(f, x.hint);
        fputs(",\"source\":", f); put_text(f, x.source);
        fputc('}', f);
    }
    fputs("],\"calls\":[", f);
    for (size_t i = 0; i < w.calls.size(); ++i) {
        const CallRow& c = w.calls[i];
        fprintf(f, "%s{\"call\":\"%s\",\"code\":%d,\"stream\":%d,", i ? "," : "", c.name, c.code, c.stream);
        put_at(f, c.at);
        fputs(",\"what\":", f); put_text(f, c.what);
        fputc('}', f);
    }
    fputs("],\"launches\":[", f);
    for (size_t i = 0; i < w.launches.size(); ++i) {
        const LaunchRow& r = w.launches[i];
        fprintf(f, "%s{\"kernel\":", i ? "," : "");
        put_text(f, r.kernel);
        fprintf(f, ",\"blocks\":%lld,\"stream\":%d,\"start_ns\":%.3f,\"end_ns\":%.3f,\"failed\":%d,", (long long)r.blocks, r.stream, r.start_ns, r.end_ns, int(r.failed));
        put_at(f, r.at);
        fputc('}', f);
    }
    fputs("]}\n", f);
    fclose(f);
}

static void at_end() {
    World& w = world();
    {
        std::lock_guard<std::recursive_mutex> held(w.lock);
        for (auto& [h, s] : w.streams) if (!s->tasks.empty())
            note_finding("MISSING_SYNC", kWarning, s->tasks.front().at, text("The program ended while %s was still queued: it never ran.", s->tasks.front().what.c_str()),
                         "Call aclrtSynchronizeStream before the end of the program.");
        if (!w.finalised) report_leaks({}, w.cpu_style ? "At the end of the program" : "The program ended without aclFinalize");
    }
    write_report();
    fflush(nullptr);
    if (w.bad) _exit(3);                         // a shell or a build system must see that something was wrong
}
void at_exit_once() {
    static const int once = (atexit(at_end), 0);
    (void)once;
}

}  // namespace acl
}  // namespace twin
