// Vector clocks. A thread is (core, pipe). Inside a core seven numbers suffice; what a core knows of the others
// changes only at cross-core synchronisation and is shared, immutable, between the clocks that inherited it.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "twin/base.h"

namespace twin {

constexpr int kPipes = static_cast<int>(Pipe::N);
using Remote = std::shared_ptr<const std::vector<uint32_t>>;  // component of thread core*kPipes + pipe

struct Clock {
    uint32_t own[kPipes] = {};
    Remote remote;
};

inline Remote join_remote(const Remote& a, const Remote& b) {
    if (!b || a == b) return a;
    if (!a) return b;
    auto out = std::make_shared<std::vector<uint32_t>>(*a);
    for (size_t i = 0; i < out->size(); ++i) (*out)[i] = std::max((*out)[i], (*b)[i]);
    return out;
}

// Element-wise maximum of two clocks of the same core.
inline void join(Clock& a, const Clock& b) {
    for (int p = 0; p < kPipes; ++p) a.own[p] = std::max(a.own[p], b.own[p]);
    a.remote = join_remote(a.remote, b.remote);
}

// The clock as other cores see it.
inline Remote to_remote(const Clock& c, int core, int cores) {
    auto out = c.remote ? std::make_shared<std::vector<uint32_t>>(*c.remote) : std::make_shared<std::vector<uint32_t>>(size_t(cores) * kPipes);
    for (int p = 0; p < kPipes; ++p) (*out)[core * kPipes + p] = std::max((*out)[core * kPipes + p], c.own[p]);
    return out;
}

inline void join_from(Clock& a, const Remote& r, int core) {
    if (!r) return;
    for (int p = 0; p < kPipes; ++p) a.own[p] = std::max(a.own[p], (*r)[core * kPipes + p]);
    a.remote = join_remote(a.remote, r);
}

}  // namespace twin
