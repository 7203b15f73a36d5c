// LoadData 3D: windows of the matrix that img2col makes of a feature map in L1. A plain matrix is a map of height 1.
#include "copy_core.h"
#include "cube_core.h"
#include "cube_load.h"

namespace twin {

struct WindowMove {
    uint64_t dst, src;
    uint32_t h, w, out_w, out_rows;             // map; positions of the filter: per row, in all
    uint32_t rows, blocks;                      // of the window: rows (multiple of 16), columns in 32 B
    uint32_t rows_each, blocks_each;            // per repeat
    int32_t row_step, block_step;               // from one repeat to the next
    uint32_t row0, block0;                      // first row and column block
    int16_t left, top;
    uint16_t stride_w, stride_h, filter_w, filter_h, dilation_w, dilation_h;
    uint32_t boundary;
    uint64_t padding;
    Mem dst_mem;
    uint8_t size, swap, to_b;                   // swap: rows and columns change places; to_b: in the order of L0B
};

// Byte address in L1 of block `block` of row `row`, -1 where the filter looks outside the map.
static int64_t source_of(const WindowMove& p, uint32_t row, uint32_t block) {
    const uint32_t m = p.row0 + row % p.rows_each + row / p.rows_each * uint32_t(p.row_step);
    const uint32_t k = p.block0 + block % p.blocks_each + block / p.blocks_each * uint32_t(p.block_step);
    if (m >= p.out_rows) return -1;
    const uint32_t kw = k % p.filter_w, kh = k / p.filter_w % p.filter_h, c1 = k / p.filter_w / p.filter_h;
    const int64_t y = int64_t(m / p.out_w) * p.stride_h - p.top + int64_t(kh) * p.dilation_h, x = int64_t(m % p.out_w) * p.stride_w - p.left + int64_t(kw) * p.dilation_w;
    if (y < 0 || y >= p.h || x < 0 || x >= p.w) return -1;
    const int64_t at = int64_t(p.src) + ((int64_t(c1) * p.h + y) * p.w + x) * kBlock;
    return p.boundary && at >= p.boundary ? at - p.boundary : at;
}

// Byte offset in the destination of element e (of c0) of that block.
static uint64_t target_of(const WindowMove& p, uint32_t row, uint32_t block, uint32_t e) {
    const uint32_t c0 = kBlock / p.size;
    if (!p.swap) return ((uint64_t(row / 16) * p.blocks + block) * 16 + row % 16) * kBlock + uint64_t(e) * p.size;
    const uint32_t k = block * c0 + e, wide = p.rows / c0, deep = uint32_t(ceil_div(int64_t(p.blocks) * c0, 16));
    const uint64_t fractal = p.to_b ? uint64_t(row / c0) * deep + k / 16 : uint64_t(k / 16) * wide + row / c0;
    return fractal * kFractal + uint64_t(k % 16) * kBlock + uint64_t(row % c0) * p.size;
}

static void move_window(Core& core, const Instr& in) {
    const WindowMove& p = in.get<WindowMove>();
    uint8_t* dst = core.at(p.dst_mem, p.dst);
    const uint8_t* l1 = core.at(Mem::L1, 0);
    uint8_t outside[kBlock];
    for (uint32_t i = 0; i < kBlock; i += p.size) std::memcpy(outside + i, &p.padding, p.size);
    const uint32_t c0 = kBlock / p.size;
    auto block_at = [&](uint32_t row, uint32_t block) { const int64_t s = source_of(p, row, block); return s < 0 ? outside : l1 + s; };
    if (p.swap && p.size == 2) {                           // 16 x 16 at a time
        uint16_t square[256];
        for (uint32_t row = 0; row < p.rows; row += 16)
            for (uint32_t block = 0; block < p.blocks; ++block) {
                for (uint32_t r = 0; r < 16; ++r) std::memcpy(square + r * 16, block_at(row + r, block), kBlock);
                transpose_16x16(reinterpret_cast<uint16_t*>(dst + target_of(p, row, block, 0)), square);
            }
        return;
    }
    for (uint32_t row = 0; row < p.rows; ++row)
        for (uint32_t block = 0; block < p.blocks; ++block) {
            const uint8_t* s = block_at(row, block);
            if (!p.swap) { std::memcpy(dst + target_of(p, row, block, 0), s, kBlock); continue; }
            for (uint32_t e = 0; e < c0; ++e) std::memcpy(dst + target_of(p, row, block, e), s + e * p.size, p.size);
        }
}

static void reach(const WindowMove& p, uint64_t& lo, uint64_t& hi) {
    lo = ~0ull, hi = 0;
    for (uint32_t row = 0; row < p.rows; ++row)
        for (uint32_t block = 0; block < p.blocks; ++block)
            if (const int64_t s = source_of(p, row, block); s >= 0) { lo = std::min(lo, uint64_t(s)); hi = std::max(hi, uint64_t(s) + kBlock); }
}

static void carry_window(Core& c, const Instr& in) {
    const WindowMove& p = in.get<WindowMove>();
    uint64_t lo, hi;
    reach(p, lo, hi);
    if (lo >= hi) return;
    const uint32_t each = kBlock / p.size;
    const ByteMap map{uint64_t(p.rows) * p.blocks * each, [](const void* self, uint64_t k, uint64_t& d, uint64_t& s) {
        const WindowMove& p = *static_cast<const WindowMove*>(self);
        const uint32_t each = kBlock / p.size, e = uint32_t(k % each), block = uint32_t(k / each % p.blocks), row = uint32_t(k / each / p.blocks);
        const int64_t from = source_of(p, row, block);
        s = from < 0 ? ~0ull : uint64_t(from) + e * p.size;
        d = p.dst + target_of(p, row, block, e);
    }, &p, p.size};
    carry_undefined(c, p.dst_mem, Mem::L1, lo, hi, map);
}

static void check_3d(const LocalRef& dst, DType t, const Load3D& q, At at) {
    const char* api = "LoadData";
    if (!size_of(t) || size_of(t) == 8) fatal("UNSUPPORTED_TYPE", at, fmt("LoadData (3D) does not take %s", type_name(t)), "elements have 1, 2 or 4 bytes, or are int4b_t");
    if (dst.mem == Mem::L0B && size_of(t) == 1)
        fatal("UNSUPPORTED_TYPE", at, fmt("LoadData (3D) to L0B does not take %s: it swaps rows and columns, of 16 and 32 bits only", type_name(t)), "use LoadDataWithTranspose, or give B as N x K");
    if (dst.mem == Mem::L0A && q.transpose && size_of(t) == 1)
        fatal("UNSUPPORTED_TYPE", at, fmt("LoadData (3D) with enTranspose does not take %s", type_name(t)), "use LoadDataWithTranspose");
    if (q.small_k || q.matrix_right) fatal("BAD_PARAMETER", at, fmt("LoadData (3D): %s is not available on %s", q.small_k ? "enSmallK" : "fMatrixCtrl", chip().name.c_str()), "leave it false");
    cube_fields(api, at, {{"l1H", q.h, 0, 32767}, {"l1W", q.w, 0, 32767}, {"strideW", q.stride_w, 1, 63}, {"strideH", q.stride_h, 1, 63}, {"filterW", q.filter_w, 0, 511}, {"filterH", q.filter_h, 0, 511},
                          {"dilationFilterW", q.dilation_w, 1, 255}, {"dilationFilterH", q.dilation_h, 1, 255}, {"kExtension", q.k_extent, 0, 65535}, {"mExtension", q.m_extent, 0, 65535},
                          {"kStartPt", q.k_start, 0, 65535}, {"mStartPt", q.m_start, 0, 65535}, {"channelSize", q.channels, 0, 65535}}, "split the window");
    const int64_t c0 = fractal_width(t), rest = q.channels % c0;
    const bool channels = t == DType::I4 ? rest == 0 || rest == 8 || rest == 16 || (rest == 32 && q.channels == 32) : rest == 0 || rest == 4 || (size_of(t) < 4 && rest == 8) || (size_of(t) == 1 && rest == 16);
    if (!channels)
        fatal("BAD_PARAMETER", at, fmt("LoadData (3D): channelSize=%lld does not fit %s: channels come in groups of %lld, the last of 4%s", (long long)q.channels, type_name(t), (long long)c0, size_of(t) < 4 ? " or 8" : ""),
              fmt("round it up: channelSize = %lld", (long long)round_up(q.channels, c0)));
    if (q.k_start % c0) fatal("BAD_PARAMETER", at, fmt("LoadData (3D): kStartPt=%lld is not a multiple of %lld elements (32 B)", (long long)q.k_start, (long long)c0), "start at a whole block");
}

static void load_3d(const LocalRef& dst, const LocalRef& src, DType t, Load3D q, At at) {
    const char* api = "LoadData";
    if (!cube_begin(api, at)) return;
    cube_memory(api, at, dst, "dst", {Mem::L0A, Mem::L0B}, "L0A or L0B (A2, B2)");
    cube_memory(api, at, src, "src", {Mem::L1}, "L1 (A1, B1)");
    CubeState& st = cube_state();
    if (!q.own_matrix) {
        if (!st.matrix_set) fatal("BAD_PARAMETER", at, "LoadData (3D) takes size and padding of the map from SetFmatrix, which was not called", "call SetFmatrix(l1H, l1W, padList, FmatrixMode::FMATRIX_LEFT) first");
        q.h = st.map_h, q.w = st.map_w;
        for (int i = 0; i < 4; ++i) q.pad[i] = st.pad[i];
    }
    if (!q.own_padding) q.pad_value = st.padding;
    check_3d(dst, t, q, at);
    if (!q.h || !q.w || !q.channels || !q.k_extent || !q.m_extent || !q.filter_w || !q.filter_h || !st.repeat_times) return;
    cube_alignment(api, at, dst, "dst", kFractal);
    cube_alignment(api, at, src, "src", kBlock);
    const int64_t c0 = fractal_width(t), out_h = (q.h + q.pad[2] + q.pad[3] - ((q.filter_h - 1) * q.dilation_h + 1)) / q.stride_h + 1, out_w = (q.w + q.pad[0] + q.pad[1] - ((q.filter_w - 1) * q.dilation_w + 1)) / q.stride_w + 1;
    if (out_h <= 0 || out_w <= 0)
        fatal("BAD_PARAMETER", at, fmt("LoadData (3D): a filter of %lld x %lld (dilation %lld, %lld) does not fit a map of %lld x %lld with this padding", (long long)q.filter_h, (long long)q.filter_w, (long long)q.dilation_h, (long long)q.dilation_w, (long long)q.h, (long long)q.w), "check l1H, l1W and padList");
    const int64_t all_k = ceil_div(q.channels, c0) * q.filter_h * q.filter_w * c0, times = st.repeat_times;
    const int64_t k_end = q.k_start + q.k_extent + (st.repeat_mode ? (times - 1) * st.repeat_stride * c0 : 0), m_end = q.m_start + q.m_extent + (st.repeat_mode ? 0 : (times - 1) * st.repeat_stride * 16);
    if (checks_on() && k_end > round_up(all_k, c0))
        fatal("OUT_OF_BOUNDS", at, fmt("LoadData (3D): columns %lld..%lld, and the matrix has %lld (channels in blocks of %lld, times the filter)", (long long)q.k_start, (long long)k_end - 1, (long long)all_k, (long long)c0), "kStartPt + kExtension stays within channelSize * filterH * filterW");
    if (checks_on() && m_end > round_up(out_h * out_w, 16))
        fatal("OUT_OF_BOUNDS", at, fmt("LoadData (3D): rows %lld..%lld, and the filter has %lld positions", (long long)q.m_start, (long long)m_end - 1, (long long)(out_h * out_w)), "mStartPt + mExtension stays within Ho * Wo; for a plain matrix that is l1H * l1W");
    if (times != 1 && checks_on())
        report(Severity::Note, "BAD_PARAMETER", at, fmt("LoadData (3D): SetLoadDataRepeat asks for %lld windows; the public description leaves their order open, the twin joins them to one matrix", (long long)times), "one call per window is certain");
    WindowMove p{};
    p.dst = dst.addr, p.src = src.addr;
    p.h = uint32_t(q.h), p.w = uint32_t(q.w), p.out_w = uint32_t(out_w), p.out_rows = uint32_t(out_h * out_w);
    p.rows_each = uint32_t(q.m_extent), p.blocks_each = uint32_t(ceil_div(q.k_extent, c0));
    if (times == 1) p.rows_each = uint32_t(round_up(q.m_extent, 16));
    p.rows = uint32_t(round_up(p.rows_each * (st.repeat_mode ? 1 : times), 16)), p.blocks = uint32_t(p.blocks_each * (st.repeat_mode ? times : 1));
    p.row_step = int32_t(st.repeat_stride * 16), p.block_step = int32_t(st.repeat_stride);
    p.row0 = uint32_t(q.m_start), p.block0 = uint32_t(q.k_start / c0);
    p.left = int16_t(q.pad[0]), p.top = int16_t(q.pad[2]);
    p.stride_w = uint16_t(q.stride_w), p.stride_h = uint16_t(q.stride_h), p.filter_w = uint16_t(q.filter_w), p.filter_h = uint16_t(q.filter_h), p.dilation_w = uint16_t(q.dilation_w), p.dilation_h = uint16_t(q.dilation_h);
    p.boundary = uint32_t(st.boundary);
    p.padding = q.pad_value;
    p.dst_mem = dst.mem;
    p.size = uint8_t(size_of(t));
    p.to_b = dst.mem == Mem::L0B;
    p.swap = p.to_b || q.transpose;
    if (p.boundary && src.addr >= p.boundary)
        fatal("BAD_PARAMETER", at, fmt("LoadData (3D): the source starts at byte %u, behind the boundary %u of SetLoadDataBoundary", src.addr, p.boundary), "the source starts inside, and what runs over wraps to the start of L1");
    Instr in;
    cube_instr(in, api, at, Pipe::MTE1);
    const uint64_t bytes = p.swap ? uint64_t(ceil_div(int64_t(p.blocks) * c0, 16)) * 16 * p.rows * p.size : uint64_t(p.rows) * p.blocks * kBlock;
    const float n = float(q.filter_h), slow = dst.mem == Mem::L0A ? std::max(32.0f, 512 / (n + 2)) : std::max(28.0f, 512 / (n + 4));
    in.slope = q.filter_h == 1 && q.stride_w == 1 ? load_cycles(dst, bytes) : st.cost.start + float(bytes) / slow;
    in.repeats = 1;
    in.elements = bytes / p.size * (t == DType::I4 ? 2 : 1);
    const bool plain = q.filter_w == 1 && q.filter_h == 1 && q.stride_w == 1 && q.stride_h == 1 && times == 1 && !p.boundary && !(q.pad[0] | q.pad[1] | q.pad[2] | q.pad[3]);
    uint64_t lo = 0, hi = 0;
    if (plain && p.row0 < p.out_rows) {                    // columns of a plain matrix
        Region s = local(src, kRead, (uint64_t(p.block0) * p.out_rows + p.row0) * kBlock, std::min(p.rows, p.out_rows - p.row0) * kBlock, "src", p.size);
        s.n0 = p.blocks;
        s.s0 = int64_t(p.out_rows) * kBlock;
        in.add(s);
    } else if (reach(p, lo, hi); lo < hi) {
        LocalRef from = src;
        if (p.boundary) from.addr = 0, from.bytes = p.boundary, from.buf = -1;   // the ring, whatever tensors lie in it
        Region s = local(from, kRead, 0, uint32_t(hi - lo), "src", p.size);
        s.addr = lo;
        in.add(s);
    }
    in.add(local(dst, kWrite, 0, uint32_t(bytes), "dst", p.size));
    in.undef = Undef::Ignore;
    in.put(p);
    in.body = move_window;
    in.after = carry_window;
    issue(in);
}

}  // namespace twin

using namespace twin;

extern "C" {
void tw_load_3d(const LocalRef* dst, const LocalRef* src, DType t, const Load3D* p, At at) { load_3d(*dst, *src, t, *p, at); }

void tw_set_fmatrix(int64_t h, int64_t w, const uint8_t* pad, int right, At at) {
    if (!cube_begin("SetFmatrix", at)) return;
    if (right) fatal("BAD_PARAMETER", at, "SetFmatrix: FMATRIX_RIGHT is not available on this chip", "FMATRIX_LEFT serves both operands");
    cube_fields("SetFmatrix", at, {{"l1H", h, 1, 32767}, {"l1W", w, 1, 32767}}, "the map in L1 is smaller");
    charge(1, at);
    CubeState& s = cube_state();
    s.matrix_set = true;
    s.map_h = h, s.map_w = w;
    for (int i = 0; i < 4; ++i) s.pad[i] = pad[i];
}
void tw_set_load_padding(uint64_t bits, At at) { if (cube_begin("SetLoadDataPaddingValue", at)) { charge(1, at); cube_state().padding = bits; } }
void tw_set_load_boundary(int64_t bytes, At at) {
    if (!cube_begin("SetLoadDataBoundary", at)) return;
    if (bytes && (bytes < 1024 || bytes > capacity(Mem::L1)))
        fatal("BAD_PARAMETER", at, fmt("SetLoadDataBoundary: %lld is neither 0 nor between 1024 and the %u B of L1", (long long)bytes, capacity(Mem::L1)), "0 switches the ring off");
    charge(1, at);
    cube_state().boundary = bytes;
}
void tw_set_load_repeat(int64_t stride, int64_t times, int64_t mode, At at) {
    if (!cube_begin("SetLoadDataRepeat", at)) return;
    cube_fields("SetLoadDataRepeat", at, {{"repeatStride", stride, 0, 65535}, {"repeatTime", times, 0, 255}, {"repeatMode", mode, 0, 1}}, "mode 0 moves down, mode 1 right");
    charge(1, at);
    CubeState& s = cube_state();
    s.repeat_stride = stride, s.repeat_times = times, s.repeat_mode = mode;
}
}
