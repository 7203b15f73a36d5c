// CreateVecIndex and ArithProgression: the scalar unit writes the first block, additions make the rest.
#include <algorithm>

#include "twin/abi_move.h"
#include "vec_half.h"
#include "vec_lanes.h"

namespace twin {
namespace {

struct IndexPlan {
    uint32_t dst;
    int32_t blk, rep;
    uint32_t lanes, repeats, first, tail;     // lanes that are written per repeat
    uint32_t seed;                            // elements the scalar unit writes
    uint64_t mask[2];
    uint64_t from, step;
    DType type;
};

// first + k * step, k counted from the start, as the scalar unit does it; then + by as the vector unit does.
struct Chain {
    DType t;
    uint64_t seed(uint64_t first, uint64_t step, int64_t k) const {
        switch (t) {
            case DType::F16: return half_bits(half_value(uint16_t(first)) + half_value(uint16_t(step)) * float(k));
            case DType::F32: return float_bits(bits_float(uint32_t(first)) + bits_float(uint32_t(step)) * float(k));
            case DType::I16: return uint16_t(first + step * uint64_t(k));
            default: return uint32_t(first + step * uint64_t(k));
        }
    }
    uint64_t times(uint64_t step, int64_t k) const {          // the scalar operand of the additions
        switch (t) {
            case DType::F16: return half_bits(half_value(uint16_t(step)) * float(k));
            case DType::F32: return float_bits(bits_float(uint32_t(step)) * float(k));
            case DType::I16: return uint16_t(step * uint64_t(k));
            default: return uint32_t(step * uint64_t(k));
        }
    }
    uint64_t plus(uint64_t a, uint64_t b) const {
        switch (t) {
            case DType::F16: return half_bits(half_value(uint16_t(a)) + half_value(uint16_t(b)));
            case DType::F32: return float_bits(bits_float(uint32_t(a)) + bits_float(uint32_t(b)));
            case DType::I16: return uint16_t(a + b);
            default: return uint32_t(a + b);
        }
    }
};

void index_run(Core& c, const Instr& in) {
    const IndexPlan& p = in.get<IndexPlan>();
    uint8_t* ub = c.at(Mem::UB, 0);
    const Chain chain{p.type};
    const uint32_t z = size_of(p.type), per = kBlock / z;
    uint64_t v[128];
    for (uint32_t l = 0; l < p.lanes; ++l) v[l] = l < p.seed ? chain.seed(p.from, p.step, l) : chain.plus(v[l - per], chain.times(p.step, per));
    const uint64_t row = chain.times(p.step, p.lanes);
    for (uint32_t r = 0; r < p.repeats; ++r) {
        const uint32_t n = p.first ? (p.tail && r + 1 == p.repeats ? p.tail : p.first) : p.lanes;
        for (uint32_t l = 0; l < n; ++l)
            if (p.first || lane_on(p.mask, l))
                std::memcpy(ub + p.dst + (uint64_t(r) * uint64_t(p.rep) + uint64_t(l / per) * uint64_t(p.blk)) * kBlock + l % per * z, &v[l], z);
        for (uint32_t l = 0; l < p.lanes; ++l) v[l] = chain.plus(v[l], row);
    }
}

bool negative(DType t, uint64_t bits) {
    switch (t) {
        case DType::F16: return half_value(uint16_t(bits)) < 0;
        case DType::F32: return bits_float(uint32_t(bits)) < 0;
        case DType::I16: return int16_t(bits) < 0;
        default: return int32_t(bits) < 0;
    }
}

// The last values may lie where neighbours are no longer apart.
void note_range(const IndexCall& x, int64_t n) {
    if (x.type != DType::F16 || x.progression || !checks_on()) return;
    const float last = half_value(uint16_t(x.first)) + float(n - 1);
    if (last > 2048.0f)
        report(Severity::Warning, "NUMERIC", x.at, fmt("%s: half counts exactly up to 2048, the last value would be %g", x.api, double(last)), "count in int16_t, int32_t or float");
}

void index(const IndexCall& x) {
    if (!vec_unit_here(x.api, x.at)) return;
    if (!x.progression && !chip_is_a2()) fatal("UNSUPPORTED_API", x.at, fmt("CreateVecIndex does not exist on %s", chip().name.c_str()), "use ArithProgression");
    const uint32_t z = size_of(x.type), per = kBlock / z, lanes = kRepeat / z;
    check_place(x.api, x.at, 0, "dst", x.dst, z, x.type, kBlock);
    VecCall v;
    v.api = x.api;
    v.at = x.at;
    v.type = v.from = x.type;
    v.mask = x.mask;
    core().mask.counter = false;
    VecExtent e;
    if (x.progression && x.mask.n <= 0)
        fatal("BAD_PARAMETER", x.at, fmt("%s: count is %lld", x.api, (long long)x.mask.n), "it has to be at least 1");
    if (x.progression && negative(x.type, x.step))
        fatal("BAD_PARAMETER", x.at, fmt("%s: diffValue is negative", x.api), "count upwards, then use Muls(dst, dst, (T)-1, count) and Adds");
    if (!vec_extent(v, lanes, e)) return;
    leave_mask(lanes, x.at);
    IndexPlan p{};
    p.dst = x.dst.addr;
    p.lanes = lanes;
    p.from = x.first;
    p.step = x.step;
    p.type = x.type;
    p.seed = x.mask.form == 1 ? lanes : per;
    const bool counted = e.contiguous;
    if (counted && e.total) {
        int64_t n = e.total;
        note_range(x, n);
        if (n < per && !x.progression) n = per;               // the scalar unit writes a whole block
        if (n > per && x.progression) n = (n + per - 1) / per * per;
        e.total = n;
        e.repeats = uint32_t((n + lanes - 1) / lanes);
    }
    p.blk = counted ? 1 : check_range(x.api, x.at, "dstBlkStride", x.dst_blk, 1, 65535, "strides count 32-byte blocks");
    p.rep = counted ? 8 : check_range(x.api, x.at, "dstRepStride", x.dst_rep, 0, 255, "strides count 32-byte blocks");
    p.repeats = e.repeats;
    p.first = counted ? lanes : e.first;
    p.tail = counted ? uint32_t(e.total % lanes) : 0;
    p.mask[0] = e.mask[0];
    p.mask[1] = e.mask[1];
    Instr in;
    in.op = x.api;
    in.at = x.at;
    in.undef = Undef::Ignore;
    if (e.repeats) {
        charge(10.0f * float(std::min<uint64_t>(p.seed, uint64_t(e.total))), x.at);   // SetValue for the first elements
        in.add(lanes_region(x.dst, kWrite, "dst", z, e, lanes, p.blk, p.rep));
        set_cost(in, x.progression ? "ArithProgression" : "CreateVecIndex", z == 2 ? DType::U16 : DType::U32, 7 + e.repeats, uint64_t(e.total));
        in.body = index_run;
        in.put(p);
    }
    in.any_core = true;                                          // vec_unit_here() has decided
    issue(in);
}

}  // namespace
}  // namespace twin

extern "C" void tw_vec_index(const twin::IndexCall* call) { twin::index(*call); }
