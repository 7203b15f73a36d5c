// DataCopy of slices: pieces of a multi-dimensional tensor, in the same order on both sides.
//
// Dimension 0 holds pieces of burstLen blocks, `stride` elements apart; dimension d > 0 picks every (1 + stride)-th row.
#include "copy_core.h"

using namespace twin;

namespace twin {

static long long ll(int64_t v) { return static_cast<long long>(v); }

struct SliceSide {
    int64_t start[8], count[8], step[8];   // first index, number of picks, index step (elements of dimension 0 for d = 0)
    int64_t weight[8];                     // elements per index of dimension d
    uint32_t dims;
    int64_t piece;                         // elements
    int64_t pieces;
    int64_t offset(int64_t n) const {      // elements from the start of the tensor to piece n
        int64_t e = 0;
        for (uint32_t d = 0; d < dims; ++d, n /= count[d - 1]) e += (start[d] + n % count[d] * step[d]) * weight[d];
        return e;
    }
};

static SliceSide read_slice(const CopySlice* s, uint32_t dims, DType t, const char* side, At at) {
    SliceSide r{};
    r.dims = dims;
    r.pieces = 1;
    const int64_t per_block = kBlock / size_of(t);
    int64_t weight = 1;
    for (uint32_t d = 0; d < dims; ++d) {
        const CopySlice& x = s[d];
        const std::string who = fmt("DataCopy: %s slice, dimension %u: ", side, d);
        if (x.start < 0 || x.end < x.start || (dims > 1 && x.end >= x.shape))
            fatal("BAD_PARAMETER", at, who + fmt("startIndex=%lld, endIndex=%lld, shapeValue=%lld", ll(x.start), ll(x.end), ll(x.shape)),
                  "endIndex is the last index (inclusive): startIndex <= endIndex < shapeValue");
        if (d && x.burst != 1) fatal("BAD_PARAMETER", at, who + fmt("burstLen=%lld", ll(x.burst)), "burstLen is 1 in every dimension above the innermost");
        if (x.stride < 0 || x.burst <= 0) fatal("BAD_PARAMETER", at, who + fmt("stride=%lld, burstLen=%lld", ll(x.stride), ll(x.burst)), "stride counts elements that are skipped, burstLen 32 B blocks");
        const int64_t length = x.end - x.start + 1;
        r.start[d] = x.start;
        r.weight[d] = weight;
        if (d == 0) {
            r.piece = x.burst * per_block;
            r.step[0] = r.piece + x.stride;
            r.count[0] = (length + x.stride) / r.step[0];
            if (r.count[0] < 1 || (length + x.stride) % r.step[0])
                fatal("BAD_PARAMETER", at,
                      who + fmt("elements %lld..%lld are %lld, which %lld-element pieces with %lld between them do not fill", ll(x.start), ll(x.end), ll(length), ll(r.piece), ll(x.stride)),
                      fmt("endIndex - startIndex + 1 = pieces * %lld + (pieces - 1) * %lld", ll(r.piece), ll(x.stride)));
        } else {
            r.step[d] = 1 + x.stride;
            r.count[d] = (length + x.stride) / r.step[d];
        }
        r.pieces *= r.count[d];
        weight *= x.shape;
    }
    return r;
}

static void copy_slice(const CopyCall& c, const CopySlice* local_s, const CopySlice* global_s, uint32_t dims) {
    if (!copy_begin(c)) return;
    if (dims < 1 || dims > 8) fatal("BAD_PARAMETER", c.at, fmt("DataCopy: dimValue=%u is outside 1..8", dims), "merge dimensions that are copied whole");
    if (c.size == 8) fatal("UNSUPPORTED_TYPE", c.at, fmt("DataCopy of slices does not take %s", type_name(c.type)), "ReinterpretCast both tensors to int32_t and double the indices");
    const SliceSide l = read_slice(local_s, dims, c.type, c.store ? "source" : "destination", c.at);
    const SliceSide g = read_slice(global_s, dims, c.type, c.store ? "destination" : "source", c.at);
    if (l.piece != g.piece || l.pieces != g.pieces)
        fatal("BAD_PARAMETER", c.at,
              fmt("DataCopy: pieces x elements are %lld x %lld in the UB slice and %lld x %lld in the GM slice", ll(l.pieces), ll(l.piece), ll(g.pieces), ll(g.piece)),
              "both slices need the same burstLen and the same number of pieces");
    for (uint32_t d = 0; d < dims; ++d) {
        const int64_t bytes = (d ? l.weight[d] * l.step[d] : l.step[0]) * c.size;
        if ((l.count[d] > 1 && bytes % kBlock) || l.start[d] * l.weight[d] * c.size % kBlock)
            fatal("MISALIGNED", c.at, fmt("DataCopy: dimension %u of the UB slice places pieces %lld B apart; pieces in UB start on 32 B", d, ll(bytes)),
                  fmt("pad the rows of %s in UB to multiples of %u elements", c.local_name().c_str(), kBlock / c.size));
    }
    // The device runs one strided copy per row; so does this loop.
    const bool rows_match = l.count[0] == g.count[0];
    const int64_t per_copy = rows_match ? l.count[0] : 1;
    for (int64_t n = 0; n < l.pieces; n += per_copy) {
        CopyCall part = c;
        const int64_t lo = l.offset(n) * c.size, go = g.offset(n) * c.size;
        CopyRows r;
        r.rows = static_cast<uint32_t>(per_copy);
        r.len = static_cast<uint32_t>(l.piece * c.size);
        r.local_pitch = l.step[0] * c.size;
        r.global_pitch = g.step[0] * c.size;
        gm_check(c.global, static_cast<uint64_t>(go), static_cast<uint64_t>((per_copy - 1) * r.global_pitch) + r.len, c.at, c.api, c.global_role());
        part.local.addr += static_cast<uint32_t>(lo);
        part.local.bytes = static_cast<uint32_t>(lo) < c.local.bytes ? c.local.bytes - static_cast<uint32_t>(lo) : 0;
        part.global.ptr += go;
        if (part.global.bytes) part.global.bytes -= static_cast<uint64_t>(go);
        issue_rows(part, r);
    }
}

}  // namespace twin

extern "C" void tw_copy_in_slice(const LocalRef* dst, const GlobalRef* src, DType t, const CopySlice* ds, const CopySlice* ss, uint32_t dims, At at) {
    copy_slice({"DataCopy", at, t, *dst, *src, false}, ds, ss, dims);
}
extern "C" void tw_copy_out_slice(const GlobalRef* dst, const LocalRef* src, DType t, const CopySlice* ds, const CopySlice* ss, uint32_t dims, At at) {
    copy_slice({"DataCopy", at, t, *src, *dst, true}, ss, ds, dims);
}
