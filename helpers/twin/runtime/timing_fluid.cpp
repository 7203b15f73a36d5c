#include "timing_fluid.h"

#include <algorithm>
#include <limits>

namespace twin {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Copies that end this close (ns) end together; more than the rounding of a long run, far less than a cycle.
double together(double now) { return 1e-6 + now * 1e-14; }
struct Later {
    template <class J> bool operator()(const J& a, const J& b) const { return a.end != b.end ? a.end > b.end : a.id > b.id; }
};
}  // namespace

void Fluid::add(double work, const Demand& demand, int job) {
    auto c = std::find_if(classes_.begin(), classes_.end(), [&](const Class& k) { return k.demand == demand; });
    if (c == classes_.end()) {
        classes_.emplace_back();
        c = classes_.end() - 1;
        c->demand = demand;
    }
    c->heap.push_back({c->done + work, job});
    std::push_heap(c->heap.begin(), c->heap.end(), Later());
    ++jobs_;
    stale_ = true;
}

// The share of one resource that everybody may take: those who ask for less leave the rest to the others.
double Fluid::level(double Demand::*resource, double capacity) {
    const size_t n = classes_.size();
    asks_.resize(n);
    counts_.resize(n);
    double asked = 0, users = 0;
    for (size_t i = 0; i < n; ++i) {
        const Class& c = classes_[i];
        asks_[i] = c.demand.*resource * c.speed;
        counts_[i] = double(c.heap.size());
        asked += asks_[i] * counts_[i];
        users += counts_[i];
    }
    if (asked <= capacity) return kInfinity;
    for (double level = capacity / users;;) {
        double small = 0, large = 0;
        for (size_t i = 0; i < n; ++i) {
            const bool content = asks_[i] <= level;
            small += content ? asks_[i] * counts_[i] : 0;
            large += content ? 0 : counts_[i];
        }
        if (large == 0) return level;
        const double higher = (capacity - small) / large;
        if (higher <= level * (1 + 1e-12)) return level;
        level = higher;
    }
}

void Fluid::share() {
    stale_ = false;
    for (Class& c : classes_) c.speed = 1;
    // HBM first: it is the scarce one. A second resource can only slow down what is left.
    const struct { double Demand::*resource; double capacity; } order[] = {
        {&Demand::hbm, capacity_.hbm}, {&Demand::l2_read, capacity_.l2_read}, {&Demand::l2_write, capacity_.l2_write}};
    for (const auto& r : order) {
        const double share = level(r.resource, r.capacity);
        if (share == kInfinity) continue;
        for (Class& c : classes_)
            if (c.demand.*r.resource * c.speed > share) c.speed = share / (c.demand.*r.resource);
    }
}

double Fluid::next() {
    if (stale_) share();
    double soonest = kInfinity;
    for (const Class& c : classes_) soonest = std::min(soonest, now_ + (c.heap.front().end - c.done) / c.speed);
    return std::max(soonest, now_);
}

void Fluid::advance(double time) {
    if (time <= now_) return;
    if (stale_) share();
    for (Class& c : classes_) c.done += (time - now_) * c.speed;
    now_ = time;
}

void Fluid::finished(std::vector<int>& out) {
    out.clear();
    const double slack = together(now_);
    for (size_t i = 0; i < classes_.size();) {
        Class& c = classes_[i];
        while (!c.heap.empty() && c.heap.front().end <= c.done + slack) {
            out.push_back(c.heap.front().id);
            std::pop_heap(c.heap.begin(), c.heap.end(), Later());
            c.heap.pop_back();
        }
        if (!c.heap.empty()) { ++i; continue; }
        if (i + 1 < classes_.size()) c = std::move(classes_.back());   // their order does not matter
        classes_.pop_back();
    }
    if (out.empty()) return;
    jobs_ -= int(out.size());
    stale_ = true;
    std::sort(out.begin(), out.end());
}

}  // namespace twin
