// The report when no core can go on: who waits for what, and what is missing.
#include "blocked.h"
#include "fibers.h"

namespace twin {

// The flag that a core waits for in CrossCoreWaitFlag, -1 elsewhere.
static int awaited_flag(const Instance& i) {
    return i.waiting && !strcmp(i.waiting, "CrossCoreWaitFlag") ? i.waiting_key : -1;
}

// Where a flag was set last by a core that might have meant this one; no line if nowhere.
static At set_of(int flag, int64_t group) {
    for (auto& i : launch().instances)
        if (i->core.board && i->core.block_group == group && i->core.board->cross_sets[flag]) return i->core.board->cross_at[flag];
    return {};
}

// The mode of this set if the other kind of core waits for the flag and the mode does not reach it, else -1.
static int wrong_mode(int flag, At at, int64_t group) {
    bool awaited = false;
    for (auto& i : launch().instances) awaited = awaited || (i->core.block_group == group && !i->done && awaited_flag(*i) == flag);
    for (const auto& [key, set] : launch().arrivals_at)
        if (awaited && std::get<2>(key) == flag && set.first.line == at.line && std::get<0>(key) / 2 < 2) return std::get<0>(key) / 2;
    return -1;
}

// A flag that was set and that nobody has ever waited for explains a wait for another one: mostly one of the two ids is wrong.
static void unclaimed_flag(std::string& list, std::string& fix, int missing, int64_t group) {
    for (auto& i : launch().instances)
        for (int f = 0; f < kFlagIds; ++f) {
            if (!i->core.board || i->core.block_group != group || i->core.board->arrived[f].empty() || i->core.board->cross_waits[f]) continue;
            const At at = set_of(f, group);
            const int mode = wrong_mode(f, at, group);
            if (mode >= 0) {
                list += fmt("\n  flag %d was set at %s in mode %d, which reaches %s", f, where(at).c_str(), mode, mode ? "AIVs only" : "cores of the same kind only");
                fix = fmt("between an AIC and its AIVs it takes mode 2: CrossCoreSetFlag<2, pipe>(%d) at %s", f, where(at).c_str());
                return;
            }
            list += fmt("\n  flag %d was set at %s, and nothing has waited for it", f, where(at).c_str());
            if (missing >= 0) fix = fmt("use the same id on both sides: %s sets flag %d, the wait is for flag %d", where(at).c_str(), f, missing);
            return;
        }
}

// A flag that needs several cores and that some of them have set.
static std::string half_set_flags() {
    std::string list;
    std::set<std::pair<int, int>> told;                    // flag, line
    for (const auto& [key, by_core] : launch().arrivals) {
        const auto& [at, needed] = launch().arrivals_at[key];
        int here = 0;
        for (const auto& core : by_core) here += !core.second.empty();
        if (here && here < needed && told.insert({std::get<2>(key), at.line}).second)
            list += fmt("\n  flag %d was set at %s by %d of %d cores that have to set it", std::get<2>(key), where(at).c_str(), here, needed);
    }
    return list;
}

// "block 3", or which core of block 3 where cube and vector cores work together.
static std::string name_of(const Core& c) {
    bool kinds[2] = {};
    for (auto& i : launch().instances) kinds[i->core.kind == CoreKind::AIC] = true;
    if (!kinds[0] || !kinds[1]) return fmt("block %lld%s", (long long)c.block, c.kind == CoreKind::AIC ? " (AIC)" : "");
    return c.kind == CoreKind::AIC ? fmt("the AIC of block %lld", (long long)c.block_group) : fmt("AIV %d of block %lld", int(c.sub), (long long)c.block_group);
}

// ===== Nobody is blocked, and something was set in vain
// The line of the latest set that can have reached a core of this group; the cores that set it may have ended.
static At latest_set(int flag, int64_t group) {
    At at{};
    for (const auto& [key, set] : launch().arrivals_at)
        if (std::get<2>(key) == flag && (std::get<1>(key) < 0 || std::get<1>(key) == int(group))) at = set.first;
    return at;
}

// Told at the end, and only when nothing worse was found: a wait that is missing is mostly a conflict too.
struct Unclaimed { int flag; At at; size_t sets; uint32_t waits; std::string who; };
static std::vector<Unclaimed>& unclaimed() { static std::vector<Unclaimed> all; return all; }

void unclaimed_launch_begin() { unclaimed().clear(); }

void unclaimed_core_end() {
    if (!checks_on()) return;
    const Scoreboard& b = board();
    for (int f = 0; f < kFlagIds; ++f)
        if (!b.arrived[f].empty()) unclaimed().push_back({f, latest_set(f, core().block_group), b.arrived[f].size() + b.cross_waits[f], b.cross_waits[f], name_of(core())});
}

void unclaimed_set(const Core& receiver, int flag, At at) {
    if (!checks_on() || unclaimed().size() >= 200) return;
    const uint32_t waits = receiver.board ? receiver.board->cross_waits[flag] : 0;
    unclaimed().push_back({flag, at, waits + 1, waits, name_of(receiver)});
}

void unclaimed_launch_end() {
    if (!checks_on()) return;
    for (const Unclaimed& u : unclaimed())
        report(Severity::Warning, "UNPAIRED_FLAG", u.at, fmt("cross-core flag %d was set %zu time%s for %s, which waited %u time%s", u.flag, u.sets, u.sets == 1 ? "" : "s", u.who.c_str(), u.waits, u.waits == 1 ? "" : "s"),
               "set and wait equally often, on every path: a set that nobody takes stays in the counter, and the next wait on this core goes on too early");
    for (const auto& [key, by_core] : launch().arrivals) {
        size_t some = 0;
        for (const auto& [id, sets] : by_core) some += !sets.empty();
        const auto known = launch().arrivals_at.find(key);
        if (!some || known == launch().arrivals_at.end()) continue;
        const int mode = std::get<0>(key) / 2, flag = std::get<2>(key);
        report(Severity::Warning, "UNPAIRED_FLAG", known->second.first, fmt("cross-core flag %d in mode %d was set once more by %zu of %d cores: it reaches nobody before all of them have set it", flag, mode, some, known->second.second),
               mode == 0 ? "every core of this kind sets it equally often" : "both vector cores of an AI Core set it equally often");
    }
}

void blocked_report() {
    std::string list, fix = "every block must reach every SyncAll equally often, and every wait needs its set";
    int shown = 0, waiting = 0, gone = 0, missing = -1;
    int64_t group = -1;
    At first{}, culprit{};
    for (auto& i : launch().instances) {
        if (i->done) { ++gone; continue; }
        if (!i->waiting) continue;
        ++waiting;
        if (!first.line) first = i->waiting_at;
        const int flag = awaited_flag(*i);
        const bool never = flag >= 0 && !set_of(flag, i->core.block_group).line;
        if (never && !culprit.line) { culprit = i->waiting_at; missing = flag; group = i->core.block_group; }
        if (shown++ < 8)
            list += fmt("\n  %s waits in %s since %s", name_of(i->core).c_str(),
                        flag < 0 ? i->waiting : fmt("%s(%d)", i->waiting, flag).c_str(), where(i->waiting_at).c_str()) + (never ? ": no core sets this flag" : "");
    }
    if (waiting > 8) list += fmt("\n  … and %d more", waiting - 8);
    if (missing >= 0) {
        fix = fmt("set flag %d when the data is complete: CrossCoreSetFlag<2, pipe>(%d)", missing, missing);
        unclaimed_flag(list, fix, missing, group);
    }
    list += half_set_flags();
    if (gone) list += fmt("\n  %d core(s) have already returned", gone);
    report(Severity::Error, "DEADLOCK", culprit.line ? culprit : first, "no block can go on:" + list, fix);
    launch().stopped = true;
}

}  // namespace twin
