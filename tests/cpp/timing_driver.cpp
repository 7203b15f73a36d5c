// Times a hand-written trace: argv[1] = file of "key value" lines (a chip, flat), argv[2] = 1 for a warm L2,
// argv[3] = 1 to print events and marks; standard input = a program of one step per line:
//   core <0 AIV | 1 AIC> <block> <group> <sub> <wave>     starts a core
//   loop <n> ... end                                      repeats; `copy` adds step * iteration to its address
//   copy <pipe> <store> <rows> <row bytes> <pitch> <address> <step> <cache> <ragged> <nd2nz>
//   op <pipe> <head> <busy> <elements> <depends on the one before: 0 | 1; -n: on instruction n>
//   set | wait <pipe> <event> <id>      barrier <pipe>      join <pipe> <number>
//   scalar <cycles> <ns>                alloc | free <buffer>
//   cross_set <pipe> <mode> <flag>      cross_wait <flag>   sync <vector only> <hard>   publish | await <key>
//   name <operation>                                      of the next copy or op
// Pipes: S V M MTE1 MTE2 MTE3 FIX ALL. Every step after `scalar` carries its cycles, as in the runtime.
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "chip.h"
#include "trace.h"

namespace twin {
// the only part of the engine the model needs
std::string fmt(const char* f, ...) {
    char text[512];
    va_list args;
    va_start(args, f);
    std::vsnprintf(text, sizeof text, f, args);
    va_end(args);
    return text;
}
}  // namespace twin

using namespace twin;

static Pipe pipe_of(const std::string& s) {
    const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
    for (int i = 0; i < 8; ++i) if (s == names[i]) return Pipe(i);
    std::fprintf(stderr, "no pipe %s\n", s.c_str());
    std::exit(2);
}

struct Writer {
    Trace t;
    float cycles = 0, ns = 0;
    std::string name = "op";
    std::map<Pipe, uint32_t> count;

    uint16_t op() {
        for (size_t i = 0; i < t.ops.size(); ++i) if (t.ops[i] == name) return uint16_t(i);
        t.ops.push_back(name);
        return uint16_t(t.ops.size() - 1);
    }
    void add(Record r, int line) {
        r.line = line;
        r.s_cycles = cycles;
        r.s_ns = ns;
        cycles = ns = 0;
        t.cores.back().rec.push_back(r);
    }
    void step(const std::string& text, int line, uint64_t iteration) {
        std::istringstream in(text);
        std::string what, pipe;
        in >> what;
        Record r;
        if (what == "core") {
            CoreTrace c;
            int kind;
            in >> kind >> c.block >> c.group >> c.sub >> c.wave;
            c.kind = CoreKind(kind);
            c.core = int(t.cores.size());
            t.cores.push_back(c);
            count.clear();
        } else if (what == "copy") {
            CopyCost c;
            int store, cache, ragged, nd2nz;
            uint64_t step;
            in >> pipe >> store >> c.rows >> c.row_bytes >> c.row_pitch >> c.gm >> step >> cache >> ragged >> nd2nz;
            c.is = true; c.store = store; c.cache = uint8_t(cache); c.ragged = ragged; c.nd2nz = nd2nz;
            c.gm += step * iteration;
            r.kind = Rec::Copy;
            r.pipe = pipe_of(pipe);
            r.op = op();
            r.copy = uint32_t(t.cores.back().copies.size());
            r.bytes = uint64_t(c.rows) * c.row_bytes;
            t.cores.back().copies.push_back(c);
            ++count[r.pipe];
            add(r, line);
        } else if (what == "op") {
            int dep;
            in >> pipe >> r.head >> r.busy >> r.elements >> dep;
            r.pipe = pipe_of(pipe);
            r.op = op();
            r.dep = dep < 0 ? uint32_t(-dep) : dep ? count[r.pipe] : 0;
            ++count[r.pipe];
            add(r, line);
        } else if (what == "set" || what == "wait") {
            in >> pipe >> r.event >> r.id;
            r.kind = what == "set" ? Rec::SetFlag : Rec::WaitFlag;
            r.pipe = pipe_of(pipe);
            add(r, line);
        } else if (what == "barrier") { in >> pipe; r.kind = Rec::Barrier; r.pipe = pipe_of(pipe); add(r, line);
        } else if (what == "join") { in >> pipe >> r.dep; r.kind = Rec::Join; r.pipe = pipe_of(pipe); add(r, line);
        } else if (what == "scalar") { float c, n; in >> c >> n; cycles += c; ns += n;
        } else if (what == "alloc" || what == "free") { in >> r.id; r.kind = what == "alloc" ? Rec::BufAlloc : Rec::BufFree; add(r, line);
        } else if (what == "cross_set") { in >> pipe >> r.event >> r.id; r.kind = Rec::CrossSet; r.pipe = pipe_of(pipe); add(r, line);
        } else if (what == "cross_wait") { in >> r.id; r.kind = Rec::CrossWait; add(r, line);
        } else if (what == "sync") { in >> r.event >> r.id; r.kind = Rec::SyncAll; add(r, line);
        } else if (what == "publish" || what == "await") { in >> r.a; r.kind = what == "publish" ? Rec::Publish : Rec::Await; add(r, line);
        } else if (what == "name") { in >> name;
        } else { std::fprintf(stderr, "no step %s\n", what.c_str()); std::exit(2); }
        if (!in) { std::fprintf(stderr, "line %d: %s\n", line, text.c_str()); std::exit(2); }
    }
    void program(const std::vector<std::string>& lines) {
        for (size_t i = 0; i < lines.size(); ++i) {
            if (lines[i].compare(0, 5, "loop ") != 0) { step(lines[i], int(i + 1), 0); continue; }
            size_t end = i + 1;
            while (lines[end] != "end") ++end;
            const uint64_t n = std::stoull(lines[i].substr(5));
            for (uint64_t k = 0; k < n; ++k)
                for (size_t j = i + 1; j < end; ++j) step(lines[j], int(j + 1), k);
            i = end;
        }
        for (CoreTrace& c : t.cores) { Record end; end.kind = Rec::End; c.rec.push_back(end); }
    }
};

static uint64_t digest(const Timing& t) {
    uint64_t h = 14695981039346656037ull;
    auto mix = [&](const void* p, size_t n) { for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const uint8_t*>(p)[i]) * 1099511628211ull; };
    mix(&t.kernel_ns, sizeof t.kernel_ns);
    for (const Event& e : t.events) mix(&e, sizeof e);
    return h;
}

int main(int, char** argv) {
    std::ifstream file(argv[1]);
    const Chip chip = make_chip(std::string(std::istreambuf_iterator<char>(file), {}));
    if (!std::strcmp(argv[2], "cost")) {                       // cost <op> <class>
        const VecCost c = chip_vec_cost(chip, argv[3], argv[4]);
        std::printf("{\"head\": %g, \"slope\": %g, \"conflict\": %g, \"known\": %s}\n", c.head, c.slope, c.conflict, c.known ? "true" : "false");
        return 0;
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    Writer w;
    w.program(lines);
    size_t records = 0;
    for (const CoreTrace& c : w.t.cores) records += c.rec.size();
    const auto begin = std::chrono::steady_clock::now();
    Timing t;
    try {
        t = time_trace(w.t, chip, argv[2][0] == '1');
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 3;
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("{\"kernel_ns\": %.17g, \"launch_ns\": %.17g, \"records\": %zu, \"took_s\": %.6f, \"digest\": \"%016llx\",\n", t.kernel_ns, t.launch_ns, records,
                took, (unsigned long long)digest(t));
    std::printf("\"core_end_ns\": [");
    for (size_t i = 0; i < t.core_end_ns.size(); ++i) std::printf("%s%.17g", i ? ", " : "", t.core_end_ns[i]);
    std::printf("],\n\"busy\": [");
    for (size_t i = 0; i < t.core_busy.size(); ++i) {
        std::printf("%s[", i ? ", " : "");
        for (int p = 0; p < 7; ++p) std::printf("%s%.17g", p ? ", " : "", t.core_busy[i].busy_ns[p]);
        std::printf("]");
    }
    std::printf("],\n\"totals\": {");
    for (size_t i = 0; i < t.totals.size(); ++i) std::printf("%s\"%s\": %.17g", i ? ", " : "", t.totals[i].first.c_str(), t.totals[i].second);
    std::printf("},\n\"notes\": [");
    for (size_t i = 0; i < t.notes.size(); ++i) std::printf("%s\"%s\"", i ? ", " : "", t.notes[i].c_str());
    std::printf("],\n\"events\": [");
    if (argv[3][0] == '1')
        for (size_t i = 0; i < t.events.size(); ++i) {
            const Event& e = t.events[i];
            std::printf("%s[%d, %d, %d, %d, %.17g, %.17g, %llu]", i ? ",\n" : "", e.core, e.pipe, e.op, e.line, e.start, e.end, (unsigned long long)e.bytes);
        }
    std::printf("],\n\"marks\": [");
    if (argv[3][0] == '1')
        for (size_t i = 0; i < t.marks.size(); ++i)
            std::printf("%s[%d, %d, %d, %.17g]", i ? ", " : "", t.marks[i].core, t.marks[i].buffer, int(t.marks[i].alloc), t.marks[i].ns);
    std::printf("]}\n");
}
