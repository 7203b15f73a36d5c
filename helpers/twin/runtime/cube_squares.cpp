// LoadDataWithTranspose: squares of elements change rows and columns on the way from L1 to L0.
#include <set>

#include "copy_core.h"
#include "cube_core.h"
#include "cube_load.h"

namespace twin {

struct SquareMove {
    uint64_t dst, src;
    int64_t dst_pitch, part_pitch, src_pitch;   // bytes: between squares, between the fractals of one, between source squares
    uint32_t repeats, parts;                    // parts: fractals of one square
    Mem dst_mem;
    DType type;
};

// Element (r, c) of fractal j of a transposed square, as an element of the source square.
static int64_t source_of(const SquareMove& p, int64_t j, int64_t r, int64_t c) {
    const int64_t w = fractal_width(p.type);
    if (w == 8) return r / 8 * 128 + (8 * j + c) * 8 + r % 8;   // two fractals of 16 x 8 side by side
    return c * (16 * p.parts) + 16 * j + r;
}

template <class T> static void move_part(const SquareMove& p, int64_t j, const uint8_t* src, uint8_t* dst) {
    const int64_t w = fractal_width(p.type);
    for (int64_t r = 0; r < 16; ++r)
        for (int64_t c = 0; c < w; ++c) std::memcpy(dst + (r * w + c) * int64_t(sizeof(T)), src + source_of(p, j, r, c) * int64_t(sizeof(T)), sizeof(T));
}

static uint8_t nibble(const uint8_t* p, int64_t i) { return uint8_t(p[i / 2] >> (i % 2 * 4) & 15); }

static void move_squares(Core& core, const Instr& in) {
    const SquareMove& p = in.get<SquareMove>();
    for (uint32_t i = 0; i < p.repeats; ++i) {
        const uint8_t* src = core.at(Mem::L1, p.src) + i * p.src_pitch;
        for (uint32_t j = 0; j < p.parts; ++j) {
            uint8_t* dst = core.at(p.dst_mem, p.dst) + i * p.dst_pitch + j * p.part_pitch;
            if (p.type == DType::I4)
                for (int64_t k = 0; k < 512; ++k) {
                    const int64_t e = 2 * k;
                    dst[k] = uint8_t(nibble(src, source_of(p, j, e / 64, e % 64)) | nibble(src, source_of(p, j, e / 64, e % 64 + 1)) << 4);
                }
            else if (size_of(p.type) == 1) move_part<uint8_t>(p, j, src, dst);
            else if (size_of(p.type) == 2) transpose_16x16(reinterpret_cast<uint16_t*>(dst), reinterpret_cast<const uint16_t*>(src));
            else move_part<uint32_t>(p, j, src, dst);
        }
    }
}

static void carry_squares(Core& c, const Instr& in) {
    const SquareMove& p = in.get<SquareMove>();
    const uint32_t z = size_of(p.type);                    // of int4b_t whole bytes, by their lower half
    const int64_t last = int64_t(p.repeats - 1) * p.src_pitch, whole = int64_t(p.parts) * kFractal;
    const ByteMap map{uint64_t(p.repeats) * p.parts * kFractal / z, [](const void* self, uint64_t k, uint64_t& d, uint64_t& s) {
        const SquareMove& p = *static_cast<const SquareMove*>(self);
        const uint32_t z = size_of(p.type), each = kFractal / z;
        const uint64_t i = k / each / p.parts, j = k / each % p.parts;
        const int64_t w = fractal_width(p.type), e = int64_t(k % each) * (p.type == DType::I4 ? 2 : 1), from = source_of(p, int64_t(j), e / w, e % w);
        d = p.dst + i * p.dst_pitch + j * p.part_pitch + k % each * z;
        s = p.src + i * p.src_pitch + uint64_t(p.type == DType::I4 ? from / 2 : from * z);
    }, &p, z};
    carry_undefined(c, p.dst_mem, Mem::L1, p.src + std::min<int64_t>(0, last), p.src + uint64_t(std::max<int64_t>(0, last) + whole), map);
}

static void load_squares(const LocalRef& dst, const LocalRef& src, DType t, const LoadSquares& q, At at) {
    const char* api = "LoadDataWithTranspose";
    if (!cube_begin(api, at)) return;
    cube_memory(api, at, dst, "dst", {Mem::L0A, Mem::L0B}, "L0A or L0B (A2, B2)");
    cube_memory(api, at, src, "src", {Mem::L1}, "L1 (A1, B1)");
    if (!size_of(t) || size_of(t) == 8) fatal("UNSUPPORTED_TYPE", at, fmt("%s does not take %s", api, type_name(t)), "elements have 1, 2 or 4 bytes, or are int4b_t");
    if (t == DType::I4 && dst.mem == Mem::L0A) fatal("UNSUPPORTED_TYPE", at, fmt("%s takes int4b_t to L0B only", api), "give A without transposition");
    cube_fields(api, at, {{"startIndex", q.start, 0, 65535}, {"repeatTimes", q.repeats, 0, 255}, {"srcStride", q.src_stride, 0, 65535}, {"dstGap", q.dst_gap, 0, 65535}, {"dstFracGap", q.frac_gap, 0, 65535}},
                "one call moves at most 255 squares");
    if (!q.repeats) return;
    if (q.backwards && q.start - (q.repeats - 1) * q.src_stride < 0)
        fatal("BAD_PARAMETER", at, fmt("%s: backwards from square %lld, %lld squares begin before the tensor", api, (long long)q.start, (long long)q.repeats), "startIndex is the highest square when addrMode is true");
    cube_alignment(api, at, dst, "dst", kFractal);
    cube_alignment(api, at, src, "src", kBlock);
    SquareMove p{};
    p.type = t;
    p.parts = t == DType::I4 ? 4 : size_of(t) == 2 ? 1 : 2;
    p.repeats = uint32_t(q.repeats);
    const int64_t unit = int64_t(p.parts) * kFractal;
    p.src = src.addr + uint64_t(q.start * unit);
    p.src_pitch = (q.backwards ? -q.src_stride : q.src_stride) * unit;
    p.dst = dst.addr;
    p.dst_mem = dst.mem;
    p.dst_pitch = (q.dst_gap + 1) * kFractal;
    p.part_pitch = (q.frac_gap + 1) * kFractal;
    if (checks_on() && p.parts > 1) {
        std::set<int64_t> taken;
        bool twice = false;
        for (uint32_t i = 0; i < p.repeats && !twice; ++i)
            for (uint32_t j = 0; j < p.parts; ++j) twice = twice || !taken.insert(i * (q.dst_gap + 1) + j * (q.frac_gap + 1)).second;
        if (twice)
            report(Severity::Error, "OVERLAP", at, fmt("%s: a transposed square of %s is %u fractals, and with dstGap=%lld, dstFracGap=%lld squares overwrite each other", api, type_name(t), p.parts, (long long)q.dst_gap, (long long)q.frac_gap),
                   fmt("dstGap counts from the end of the first fractal: with the fractals of a square side by side (dstFracGap=0) dstGap is at least %u", p.parts - 1));
    }
    Instr in;
    cube_instr(in, api, at, Pipe::MTE1);
    in.slope = load_cycles(dst, uint64_t(p.repeats) * uint64_t(unit));
    in.repeats = 1;
    in.elements = uint64_t(p.repeats) * uint64_t(unit) * 8 / (t == DType::I4 ? 4 : 8 * size_of(t));
    Region s = local(src, kRead, uint64_t(q.start * unit), uint32_t(unit), "src", uint8_t(size_of(t))), d = local(dst, kWrite, 0, kFractal, "dst", uint8_t(size_of(t)));
    s.n0 = d.n0 = p.repeats;
    s.s0 = p.src_pitch;
    d.s0 = p.dst_pitch;
    d.n1 = p.parts;
    d.s1 = p.part_pitch;
    in.add(s);
    in.add(d);
    in.undef = Undef::Ignore;
    in.put(p);
    in.body = move_squares;
    in.after = carry_squares;
    issue(in);
}

}  // namespace twin

using namespace twin;

extern "C" void tw_load_squares(const LocalRef* dst, const LocalRef* src, DType t, const LoadSquares* p, At at) { load_squares(*dst, *src, t, *p, at); }
