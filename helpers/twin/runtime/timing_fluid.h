// Copies in flight share the memory like water: every copy gets an equal share of each resource, none runs faster than
// it could alone, and what one leaves the others take.
//
// Work is measured in nanoseconds at full own speed, so speed is at most 1. Copies that ask the same of the memory run
// at the same speed: they form a class, and only classes are recomputed when a copy starts or ends.
#pragma once
#include <cstdint>
#include <vector>

namespace twin {

struct Demand {                       // bytes per ns at full speed; HBM bytes count more when the requests are small
    double hbm = 0, l2_read = 0, l2_write = 0;
    bool operator==(const Demand& o) const { return hbm == o.hbm && l2_read == o.l2_read && l2_write == o.l2_write; }
};

class Fluid {
public:
    explicit Fluid(const Demand& capacity) : capacity_(capacity) {}
    double now() const { return now_; }
    bool empty() const { return jobs_ == 0; }
    void add(double work, const Demand& demand, int job);
    double next();                    // when the next copy ends; infinity when there is none
    void advance(double time);
    void finished(std::vector<int>& jobs);   // takes out the copies that have ended by now, in order of their number

private:
    struct Job { double end; int id; };
    struct Class {
        Demand demand;
        double speed = 1, done = 0;   // done: work of this class since it last was empty
        std::vector<Job> heap;        // by end
    };
    Demand capacity_;
    double now_ = 0;
    bool stale_ = false;
    int jobs_ = 0;
    std::vector<Class> classes_;      // only those with jobs
    std::vector<double> asks_, counts_;   // of the classes, while sharing
    void share();
    double level(double Demand::*resource, double capacity);
};

}  // namespace twin
