// The result of a launch: JSON for what is small, plain arrays of structs for events and buffer marks.
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "runner.h"

namespace twin {

namespace {
class Json {
public:
    std::string s;
    Json& open(char c) { comma(); s += c; fresh_ = true; return *this; }
    Json& close(char c) { s += c; fresh_ = false; return *this; }
    Json& key(const char* k) { comma(); quote(k); s += ':'; fresh_ = true; return *this; }
    Json& text(const std::string& v) { comma(); quote(v); return *this; }
    Json& number(double v) {
        comma();
        if (!std::isfinite(v)) { s += "null"; return *this; }
        char b[40];
        s.append(b, std::to_chars(b, b + sizeof b, v).ptr);        // the shortest text that reads back as v
        return *this;
    }
    Json& integer(long long v) { comma(); s += std::to_string(v); return *this; }

private:
    bool fresh_ = true;
    void comma() { if (!fresh_) s += ','; fresh_ = false; }
    void quote(const std::string& v) {
        s += '"';
        for (unsigned char c : v) {
            if (c == '"' || c == '\\') { s += '\\'; s += char(c); }
            else if (c < 0x20 || c == 0x7f) { char b[8]; snprintf(b, sizeof b, "\\u%04x", c); s += b; }
            else s += char(c);
        }
        s += '"';
    }
};

void put_findings(Json& j, const LaunchResult& r) {
    j.key("findings").open('[');
    for (const FindingOut& f : r.findings) {
        j.open('{').key("code").text(f.code).key("severity").integer(f.severity).key("line").integer(f.line);
        j.key("file").text(f.file).key("message").text(f.message).key("hint").text(f.hint);
        j.key("block").integer(f.block).key("core").integer(f.core).key("count").integer(f.count).close('}');
    }
    j.close(']');
}

void put_timing(Json& j, const Timing& t) {
    j.key("kernel_ns").number(t.kernel_ns).key("launch_ns").number(t.launch_ns);
    j.key("core_end").open('[');
    for (double e : t.core_end_ns) j.number(e);
    j.close(']').key("busy").open('[');
    for (const PipeTotal& p : t.core_busy) {
        j.open('[');
        for (double b : p.busy_ns) j.number(b);
        j.close(']');
    }
    j.close(']').key("totals").open('{');
    for (const auto& kv : t.totals) j.key(kv.first.c_str()).number(kv.second);
    j.close('}').key("notes").open('[');
    for (const std::string& n : t.notes) j.text(n);
    j.close(']');
}

void put_names(Json& j, const char* key, const std::vector<std::string>& names) {
    j.key(key).open('[');
    for (const std::string& n : names) j.text(n);
    j.close(']');
}

void put_program(Json& j, const LaunchResult& r) {
    put_names(j, "ops", r.ops);
    put_names(j, "files", r.files);
    j.key("buffers").open('[');
    for (const BufferOut& b : r.buffers) {
        j.open('[').integer(b.core).text(b.name).integer(b.slot).integer(b.mem).integer(b.addr).integer(b.bytes).integer(b.line).close(']');
    }
    j.close(']').key("scalar_lines").open('[');
    for (const ScalarLine& l : r.scalar_lines) j.open('[').integer(l.line).number(l.cycles).integer(l.count).close(']');
    j.close(']').key("text").text(r.text).key("text_cut").integer(r.text_cut);
}

void put_extra(Json& j, const Extra& x) {
    j.key("overruns").open('[');
    for (const Overrun& o : x.overruns) j.open('[').integer(o.mapping).integer(o.offset).integer(o.bytes).close(']');
    j.close(']').key("written").open('[');
    for (int m : x.written) j.integer(m);
    j.close(']').key("error").text(x.error).key("crashed").integer(x.crashed);
    j.key("peak_bytes").integer(x.peak_bytes).key("mapped_bytes").integer(x.mapped_bytes);
}

void write_all(int fd, const void* data, uint64_t bytes, uint64_t offset) {
    auto* p = static_cast<const char*>(data);
    while (bytes > 0) {
        ssize_t n = pwrite(fd, p, bytes, static_cast<off_t>(offset));
        if (n <= 0) _exit(3);
        p += n; offset += n; bytes -= n;
    }
}

uint64_t up(uint64_t n) { return (n + 63) / 64 * 64; }
}  // namespace

std::vector<MarkRow> mark_table(const LaunchResult& r) {
    std::vector<MarkRow> marks;
    for (const Timing::Mark& m : r.timing.marks) marks.push_back({m.core, m.buffer, m.alloc, 0, m.ns});
    return marks;
}

std::string describe_result(const LaunchResult& r, const Extra& x, uint64_t marks_at, uint64_t mark_count) {
    Json j;
    j.open('{').key("failed").integer(r.failed);
    put_findings(j, r);
    put_timing(j, r.timing);
    put_program(j, r);
    put_extra(j, x);
    j.key("marks_offset").integer(marks_at).key("marks_count").integer(mark_count).close('}');
    return std::move(j.s);
}

void write_result(int fd, LiveHeader* live, const LaunchResult& r, const Extra& x) {
    // The tables come first, so that their places can be named in the JSON.
    const std::vector<MarkRow> marks = mark_table(r);
    const auto& events = r.timing.events;
    uint64_t marks_at = up(kHeaderBytes + events.size() * sizeof(Event));
    uint64_t json_at = up(marks_at + marks.size() * sizeof(MarkRow));
    const std::string json = describe_result(r, x, marks_at, marks.size());
    write_all(fd, events.data(), events.size() * sizeof(Event), kHeaderBytes);
    write_all(fd, marks.data(), marks.size() * sizeof(MarkRow), marks_at);
    write_all(fd, json.data(), json.size(), json_at);
    live->events_offset = kHeaderBytes;
    live->events_count = events.size();
    live->json_offset = json_at;
    live->json_bytes = json.size();
    __sync_synchronize();
    live->state = x.crashed ? 3 : 2;
}

}  // namespace twin
