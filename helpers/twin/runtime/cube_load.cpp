// LoadData 2D: whole fractals from L1 or global memory, as they are or with rows and columns swapped.
#include "copy_core.h"
#include "cube_layout.h"
#include "cube_load.h"

namespace twin {

struct LoadMove {
    uint64_t dst, src;
    int64_t dst_pitch, src_pitch;
    uint32_t repeats;
    Mem dst_mem, src_mem;
};

static void move_fractals(Core& c, const Instr& in) {
    const LoadMove& m = in.get<LoadMove>();
    uint8_t* dst = c.at(m.dst_mem, m.dst);
    const uint8_t* src = c.at(m.src_mem, m.src);
    if (m.dst_pitch == kFractal && m.src_pitch == kFractal) { std::memmove(dst, src, size_t(m.repeats) * kFractal); return; }
    for (uint32_t i = 0; i < m.repeats; ++i) std::memmove(dst + i * m.dst_pitch, src + i * m.src_pitch, kFractal);
}

static void swap_fractals(Core& c, const Instr& in) {
    const LoadMove& m = in.get<LoadMove>();
    uint8_t* dst = c.at(m.dst_mem, m.dst);
    const uint8_t* src = c.at(m.src_mem, m.src);
    for (uint32_t i = 0; i < m.repeats; ++i)
        transpose_16x16(reinterpret_cast<uint16_t*>(dst + i * m.dst_pitch), reinterpret_cast<const uint16_t*>(src + i * m.src_pitch));
}

static void note_fractals(Core& c, const Instr& in) {
    const LoadMove& m = in.get<LoadMove>();
    layout_load(c, in, {m.dst_mem, m.dst, m.src, m.dst_pitch, m.src_pitch, m.repeats, in.body == swap_fractals});
}

static void carry_swapped(Core& c, const Instr& in) {
    note_fractals(c, in);
    const LoadMove& m = in.get<LoadMove>();
    const int64_t last = int64_t(m.repeats - 1) * m.src_pitch;
    const ByteMap map{uint64_t(m.repeats) * 256, [](const void* self, uint64_t k, uint64_t& d, uint64_t& s) {
        const LoadMove& m = *static_cast<const LoadMove*>(self);
        const uint64_t i = k / 256, r = k / 16 % 16, col = k % 16;
        d = m.dst + i * m.dst_pitch + (r * 16 + col) * 2;
        s = m.src + i * m.src_pitch + (col * 16 + r) * 2;
    }, &m, 2};
    carry_undefined(c, m.dst_mem, m.src_mem, m.src + std::min<int64_t>(0, last), m.src + std::max<int64_t>(0, last) + kFractal, map);
}

static void check_2d(At at, const Load2D& p, DType t, bool from_gm, Mem dst) {
    cube_fields("LoadData", at, {{"startIndex", p.start, 0, 65535}, {"repeatTimes", p.repeats, 0, 255}, {"srcStride", p.src_stride, 0, 65535}, {"dstGap", p.dst_gap, 0, 65535}},
                "load row by row of fractals: one call moves at most 255 of them");
    if (!size_of(t) || size_of(t) == 8 || (!chip_is_a2() && (size_of(t) == 4 || t == DType::BF16)))
        fatal("UNSUPPORTED_TYPE", at, fmt("LoadData does not take %s on %s", type_name(t), chip().name.c_str()), "elements have 1, 2 or 4 bytes, or are int4b_t");
    if (p.transpose && from_gm)
        fatal("BAD_PARAMETER", at, "LoadData: ifTranspose works from L1 only, and this source is global memory", "load into L1 first");
    if (p.transpose && size_of(t) != 2)
        fatal("BAD_PARAMETER", at, fmt("LoadData: ifTranspose swaps 16-bit elements only, and these are %s", type_name(t)), "use LoadDataWithTranspose, or a 3D load");
    if (p.backwards && !(from_gm && dst == Mem::L1))
        fatal("BAD_PARAMETER", at, "LoadData: addrMode 1 (backwards) works from global memory to L1 only", "leave addrMode 0 and start at the other end");
    if (p.backwards && p.start - (p.repeats - 1) * p.src_stride < 0)
        fatal("BAD_PARAMETER", at, fmt("LoadData: backwards from fractal %lld, %lld fractals of stride %lld begin before the tensor", (long long)p.start, (long long)p.repeats, (long long)p.src_stride),
              "startIndex is the highest fractal when addrMode is 1");
}

float load_cycles(const LocalRef& dst, uint64_t bytes) {
    const CubeCosts& k = cube_state().cost;
    return k.start + float(bytes) / (dst.mem == Mem::L0A ? k.l0a : dst.mem == Mem::L0B ? k.l0b : k.table);
}

static void load_2d(const LocalRef& dst, const LocalRef& src, DType t, const Load2D& p, At at) {
    if (!cube_begin("LoadData", at)) return;
    cube_memory("LoadData", at, dst, "dst", {Mem::L0A, Mem::L0B}, "L0A or L0B (A2, B2)");
    cube_memory("LoadData", at, src, "src", {Mem::L1}, "L1 (A1, B1)");
    check_2d(at, p, t, false, dst.mem);
    if (!p.repeats) return;
    cube_alignment("LoadData", at, dst, "dst", kFractal);
    cube_alignment("LoadData", at, src, "src", kBlock);
    Instr in;
    cube_instr(in, "LoadData", at, Pipe::MTE1);
    in.slope = load_cycles(dst, uint64_t(p.repeats) * kFractal);
    in.repeats = 1;
    in.elements = uint64_t(p.repeats) * kFractal * 8 / (t == DType::I4 ? 4 : 8 * size_of(t));
    Region s = local(src, kRead, uint64_t(p.start) * kFractal, kFractal, "src", uint8_t(size_of(t)));
    s.n0 = uint32_t(p.repeats);
    s.s0 = p.src_stride * kFractal;
    Region d = local(dst, kWrite, 0, kFractal, "dst", uint8_t(size_of(t)));
    d.n0 = uint32_t(p.repeats);
    d.s0 = (1 + p.dst_gap) * kFractal;
    in.add(s);
    in.add(d);
    in.put(LoadMove{d.addr, s.addr, d.s0, s.s0, d.n0, dst.mem, src.mem});
    in.body = p.transpose ? swap_fractals : move_fractals;
    if (p.transpose) in.undef = Undef::Ignore;
    in.after = p.transpose ? carry_swapped : note_fractals;
    issue(in);
}

static void load_2d_gm(const LocalRef& dst, const GlobalRef& src, DType t, const Load2D& p, At at) {
    if (!cube_begin("LoadData", at)) return;
    cube_memory("LoadData", at, dst, "dst", {Mem::L1, Mem::L0A, Mem::L0B}, "L1, L0A or L0B");
    check_2d(at, p, t, true, dst.mem);
    if (t == DType::I4) fatal("UNSUPPORTED_TYPE", at, "LoadData from global memory does not take int4b_t", "load into L1 with DataCopy first");
    if (!p.repeats) return;
    cube_alignment("LoadData", at, dst, "dst", dst.mem == Mem::L1 ? kBlock : kFractal);
    const int64_t low = p.backwards ? p.start - (p.repeats - 1) * p.src_stride : p.start;
    gm_check(src, uint64_t(low) * kFractal, uint64_t((p.repeats - 1) * p.src_stride + 1) * kFractal, at, "LoadData", "src");
    const CopyCall call("LoadData", at, t, dst, src, false);
    CopyRows r;
    r.rows = uint32_t(p.repeats);
    r.len = kFractal;
    r.local_pitch = (1 + p.dst_gap) * kFractal;
    r.global_pitch = (p.backwards ? -p.src_stride : p.src_stride) * int64_t(kFractal);
    CopyCall from = call;
    from.global.ptr += p.start * kFractal;
    Instr in;
    fill_copy(in, from, r);
    in.needs = CoreKind::AIC;
    in.detached = true;
    const Region g = global_rows(from, r), l = local_rows(from, r, 0, r.len, kWrite);
    in.add(g);
    in.add(l);
    in.put(LoadMove{l.addr, g.addr, r.local_pitch, r.global_pitch, r.rows, dst.mem, Mem::GM});
    in.body = move_fractals;
    issue(in);
}

}  // namespace twin

using namespace twin;

extern "C" {
void tw_load_2d(const LocalRef* dst, const LocalRef* src, DType t, const Load2D* p, At at) { load_2d(*dst, *src, t, *p, at); }
void tw_load_2d_gm(const LocalRef* dst, const GlobalRef* src, DType t, const Load2D* p, At at) { load_2d_gm(*dst, *src, t, *p, at); }
}
