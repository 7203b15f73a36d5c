// Chip profiles: look-up of numbers, sources and vector costs.
#include "chip.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <sstream>

namespace twin {

namespace {

struct Profile {
    std::string lines;
    std::string name = "unnamed chip";
    std::map<std::string, std::string, std::less<>> text;
    std::map<std::string, double, std::less<>> numbers;
    std::map<std::string, std::map<std::string, VecCost, std::less<>>, std::less<>> vec;   // op -> class
    // Kernels ask for the same few costs again and again: remember the last answers by name.
    struct Recent { std::string op, cls; VecCost cost; };
    Recent recent[64];
};

std::deque<Profile>& profiles() {
    static std::deque<Profile> all;   // deque: addresses stay
    return all;
}

void read_row(Profile& p, const std::string& key, const std::string& value) {
    const size_t dot = key.rfind('.');
    VecCost c;
    if (dot <= 4 || std::sscanf(value.c_str(), "%f %f %f", &c.head, &c.slope, &c.conflict) != 3) return;
    c.known = true;
    p.vec[key.substr(4, dot - 4)][key.substr(dot + 1)] = c;
}

const Profile& profile(const Chip& chip) {
    static const Profile none;
    return chip.impl ? *static_cast<const Profile*>(chip.impl) : none;
}

// Classes to try, best first (see chip.h).
void order(const std::string& cls, const char* out[6]) {
    int n = 0;
    auto add = [&](const char* c) { out[n++] = c; };
    const bool wide = cls.find("64") != std::string::npos, b32 = cls.find("32") != std::string::npos;
    const bool b16 = cls.find("16") != std::string::npos, b8 = cls.find('8') != std::string::npos || cls == "bool";
    if (wide) { add("b64"); add("b32"); add("f32"); }
    else if (b32 || cls == "mixed") { add("b32"); add("f32"); }
    else if (b16) { add("b16"); add("f16"); }
    else if (b8) { add("b8"); add("b16"); add("f16"); }
    add("any");
    out[n] = nullptr;
}

VecCost find_cost(const Profile& p, const char* op, const char* cls) {
    auto row = p.vec.find(op);
    if (row != p.vec.end()) {
        auto exact = row->second.find(cls);
        if (exact != row->second.end()) return exact->second;
        const char* classes[6];
        order(cls, classes);
        for (const char** c = classes; *c; ++c) {
            auto it = row->second.find(*c);
            if (it != row->second.end()) return it->second;
        }
        for (const char* c : {"b32", "f32", "b16", "f16"}) {
            auto it = row->second.find(c);
            if (it != row->second.end()) return it->second;
        }
    }
    VecCost unknown;
    auto star = p.vec.find("*");
    if (star != p.vec.end() && !star->second.empty()) unknown = star->second.begin()->second;
    unknown.known = false;
    return unknown;
}

}  // namespace

Chip make_chip(const std::string& lines) {
    Profile* p = nullptr;
    for (Profile& old : profiles()) if (old.lines == lines) p = &old;
    if (!p) {
        profiles().emplace_back();
        p = &profiles().back();
        p->lines = lines;
        std::istringstream in(lines);
        for (std::string line; std::getline(in, line);) {
            const size_t space = line.find(' ');
            if (space == std::string::npos) continue;
            const std::string key = line.substr(0, space), value = line.substr(space + 1);
            p->text.emplace(key, value);
            if (key == "name") p->name = value;
            if (key.compare(0, 4, "vec.") == 0) { read_row(*p, key, value); continue; }
            char* end = nullptr;
            const double number = std::strtod(value.c_str(), &end);
            if (end != value.c_str() && *end == 0) p->numbers.emplace(key, number);
        }
    }
    Chip chip;
    chip.name = p->name;
    chip.impl = p;
    return chip;
}

double Chip::num(const char* key, double otherwise) const {
    const Profile& p = profile(*this);
    auto it = p.numbers.find(key);
    return it == p.numbers.end() ? otherwise : it->second;
}

std::string Chip::source(const char* key) const {
    const Profile& p = profile(*this);
    auto it = p.text.find("source." + std::string(key));
    return it == p.text.end() ? "" : it->second;
}

VecCost chip_vec_cost(const Chip& chip, const char* op, const char* cls) {
    if (!chip.impl) return {};
    Profile& p = *static_cast<Profile*>(chip.impl);
    uint32_t h = 2166136261u;
    for (const char* s : {op, cls})
        for (; *s; ++s) h = (h ^ uint8_t(*s)) * 16777619u;
    Profile::Recent& r = p.recent[(h ^ (h >> 16)) % 64];
    if (r.op != op || r.cls != cls || r.op.empty()) r = {op, cls, find_cost(p, op, cls)};
    return r.cost;
}

}  // namespace twin
