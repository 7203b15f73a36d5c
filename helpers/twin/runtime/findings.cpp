// Findings and the words they use: names of queues and tensors come from the learner's own text.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "races.h"

namespace twin {

std::string fmt(const char* f, ...) {
    char small[1024];
    va_list a;
    va_start(a, f);
    int n = vsnprintf(small, sizeof small, f, a);
    va_end(a);
    if (n < int(sizeof small)) return small;
    std::string big(n + 1, '\0');
    va_start(a, f);
    vsnprintf(&big[0], big.size(), f, a);
    va_end(a);
    big.resize(n);
    return big;
}

bool said_before(Severity s, const char* code, At at) {
    LaunchState& l = launch();
    auto known = l.finding_index.find({int(s), code, at.line, at.file ? at.file : ""});
    if (known == l.finding_index.end()) return false;
    ++l.findings[known->second].count;
    return true;
}

void report(Severity s, const char* code, At at, std::string message, std::string hint) {
    LaunchState& l = launch();
    if (said_before(s, code, at)) return;
    if (l.findings.size() >= 200) return;
    l.finding_index[{int(s), code, at.line, at.file ? at.file : ""}] = l.findings.size();
    const Core* c = l.running ? &l.running->core : nullptr;
    l.findings.push_back({code, int(s), at.line, at.file ? at.file : "", std::move(message), std::move(hint),
                          c ? c->block : -1, c ? c->id : -1, 1});
}

void fatal(const char* code, At at, std::string message, std::string hint) {
    report(Severity::Error, code, at, std::move(message), std::move(hint));
    stop_launch();
}

std::string source_line(At at) {
    LaunchState& l = launch();
    if (!in_users_text(at)) return {};
    int i = at.line - l.spec.first_line;
    return i >= 0 && i < int(l.source_lines.size()) ? l.source_lines[i] : std::string();
}

static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

static std::string find_argument(At at, const char* callee, int n) {
    // A call may go on over several lines, and the compiler may name any of them: look a few lines around.
    for (int start = 0; start >= -4; --start) {
        std::string text;
        for (int i = start; i <= 6; ++i) text += source_line({at.file, at.line + i}) + "\n";
        size_t p = text.find(callee);
        if (p == std::string::npos) continue;
        p = text.find('(', p);
        if (p == std::string::npos) continue;
        int depth = 0, index = 0, lines = int(std::count(text.begin(), text.begin() + long(p), '\n'));
        std::string out;
        for (size_t i = p; i < text.size(); ++i) {
            char c = text[i];
            if (c == '\n') ++lines;
            if (c == '(' || c == '[' || c == '{') { if (++depth == 1) continue; }
            if (c == ')' || c == ']' || c == '}') { if (--depth == 0) break; }
            if (c == ',' && depth == 1) { ++index; continue; }
            if (index == n) out += c;
        }
        if (start + lines < 0) continue;                   // a call that ends above this line is another one
        while (!out.empty() && std::isspace(static_cast<unsigned char>(out.front()))) out.erase(out.begin());
        while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back()))) out.pop_back();
        if (out.rfind("this->", 0) == 0) out.erase(0, 6);
        return out;
    }
    return {};
}

// Every core names its buffers by the same lines: each is read once.
std::string argument_at(At at, const char* callee, int n) {
    auto [it, fresh] = launch().arguments.try_emplace({at.file, at.line, callee, n});
    if (fresh) it->second = find_argument(at, callee, n);
    return it->second;
}

std::string assigned_name(At at) {
    std::string s = source_line(at);
    for (size_t p = s.find('='); p != std::string::npos; p = s.find('=', p + 1)) {
        if (p + 1 < s.size() && s[p + 1] == '=') { ++p; continue; }
        if (p > 0 && std::string("=!<>+-*/%&|^").find(s[p - 1]) != std::string::npos) continue;
        size_t e = p;
        while (e > 0 && std::isspace(static_cast<unsigned char>(s[e - 1]))) --e;
        size_t b = e;
        while (b > 0 && is_name(s[b - 1])) --b;
        size_t a = b;
        while (a > 0 && std::isspace(static_cast<unsigned char>(s[a - 1]))) --a;
        if (a > 0 && (s[a - 1] == ',' || s[a - 1] == '(')) continue;      // f(num=2) assigns nothing
        if (b < e) return s.substr(b, e - b);
    }
    return {};
}

static const char* mem_name(Mem m) {
    static const char* names[] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BiasTable", "FixpipeBuffer", "?"};
    return names[int(m)];
}

std::string describe(const LocalRef& r) {
    if (r.mem == Mem::N) return "a LocalTensor that was never assigned";
    const auto& all = buffers();
    if (r.buf >= 0 && r.buf < int(all.size())) {
        const BufferInfo& b = all[r.buf];
        std::string name = b.name.empty() ? fmt("buffer at %s 0x%x", mem_name(b.mem), b.addr) : b.name;
        if (b.queue) name += fmt(" buffer %d", b.slot);
        if (r.addr > b.addr) name += fmt(" + %u B", r.addr - b.addr);
        return name;
    }
    return fmt("%s[0x%x, +%u B)", mem_name(r.mem), r.addr, r.bytes);
}

std::string describe_gm(const void* p) {
    const GmBuffer* b = gm_find(p);
    if (!b) return fmt("GM address %p", p);
    return b->workspace ? std::string("the workspace") : "argument " + b->name;
}

std::string where(At at) {
    if (!at.line) return "?";
    if (!at.file || launch().spec.file == at.file) return fmt("line %d", at.line);
    const char* slash = strrchr(at.file, '/');
    return fmt("%s:%d", slash ? slash + 1 : at.file, at.line);
}

static const char* kEventNames[kEvents] = {
    "MTE2_MTE1", "MTE1_MTE2", "MTE1_M", "M_MTE1", "MTE2_V", "V_MTE2", "MTE3_V", "V_MTE3", "M_V", "V_M", "V_V", "MTE3_MTE1",
    "MTE1_MTE3", "MTE1_V", "MTE2_M", "M_MTE2", "V_MTE1", "M_FIX", "FIX_M", "MTE3_MTE2", "MTE2_MTE3", "S_V", "V_S", "S_MTE2",
    "MTE2_S", "S_MTE3", "MTE3_S", "MTE2_FIX", "FIX_MTE2", "FIX_S", "M_S", "FIX_MTE3", "MTE1_FIX", "FIX_MTE1", "FIX_FIX"};
static const char* kPipeNames[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};

const char* event_name(int e) { return e >= 0 && e < kEvents ? kEventNames[e] : "?"; }
const char* pipe_name(Pipe p) { return kPipeNames[int(p)]; }

static Pipe pipe_of(const std::string& s) {
    for (int i = 0; i < kPipes; ++i) if (s == kPipeNames[i]) return Pipe(i);
    return Pipe::N;
}
struct EventPipes {
    Pipe from[kEvents], to[kEvents];
    EventPipes() {
        for (int e = 0; e < kEvents; ++e) {
            std::string n = kEventNames[e];
            size_t u = n.find('_');
            from[e] = pipe_of(n.substr(0, u));
            to[e] = pipe_of(n.substr(u + 1));
        }
    }
};
static const EventPipes event_pipes;
Pipe event_source(int e) { return event_pipes.from[e]; }
Pipe event_target(int e) { return event_pipes.to[e]; }

}  // namespace twin
