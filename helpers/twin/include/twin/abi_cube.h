// Instructions of the cube unit as the runtime sees them: plain descriptions of calls, with the numbers as they were written.
#pragma once
#include "base.h"

namespace twin {

struct Load2D { int64_t start = 0, repeats = 0, src_stride = 0, dst_gap = 0; uint8_t transpose = 0, backwards = 0; };   // fractals
struct LoadSquares { int64_t start = 0, repeats = 0, src_stride = 0, dst_gap = 0, frac_gap = 0; uint8_t backwards = 0; };

struct Load3D {
    int64_t pad[4] = {0, 0, 0, 0};       // left, right, top, bottom
    int64_t h = 0, w = 0, channels = 0, k_extent = 0, m_extent = 0, k_start = 0, m_start = 0;
    int64_t stride_w = 1, stride_h = 1, filter_w = 1, filter_h = 1, dilation_w = 1, dilation_h = 1;
    uint8_t transpose = 0, small_k = 0, matrix_right = 0;
    uint8_t own_matrix = 1, own_padding = 1;   // 0: SetFmatrix / SetLoadDataPaddingValue count instead
    uint64_t pad_value = 0;
};

struct MmadCall {
    At at{};
    DType dst_type = DType::None, fm_type = DType::None, filter_type = DType::None, bias_type = DType::None;
    LocalRef dst, fm, filter, bias;
    int64_t m = 0, n = 0, k = 0, unit_flag = 0;
    uint8_t with_bias = 0, accumulate = 0;      // the form with a bias tensor; isBias of the older spelling
    uint8_t from_table = 0, init_zero = 1, k_aligned = 0;
};

struct FixpipeCall {
    const char* api = "Fixpipe";
    At at{};
    DType dst_type = DType::None, src_type = DType::None;
    GlobalRef gm;
    LocalRef local, src, workspace;
    uint8_t to_local = 0, with_workspace = 0, from_table = 0;   // from_table: scales in the fixpipe buffer (SetFixPipeConfig)
    uint8_t nd = 1, relu = 0, split = 0;
    int64_t n = 0, m = 0, src_stride = 0, dst_stride = 0, nd_num = 1, src_nd = 0, dst_nd = 0, unit_flag = 0;
    int64_t dense = 0;                          // old parameters: dst_stride counts from the end of a dense column
    int32_t quant = 0;                          // QuantMode_t
    uint64_t scalar = 0;
};

}  // namespace twin

extern "C" {
// L1 -> L0A / L0B, and GM -> L1 / L0A / L0B.
void tw_load_2d(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::Load2D* p, twin::At at);
void tw_load_2d_gm(const twin::LocalRef* dst, const twin::GlobalRef* src, twin::DType t, const twin::Load2D* p, twin::At at);
void tw_load_squares(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::LoadSquares* p, twin::At at);
void tw_load_3d(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType t, const twin::Load3D* p, twin::At at);
// Registers of 3D loads.
void tw_set_fmatrix(int64_t h, int64_t w, const uint8_t* pad, int right, twin::At at);
void tw_set_load_padding(uint64_t bits, twin::At at);
void tw_set_load_boundary(int64_t bytes, twin::At at);
void tw_set_load_repeat(int64_t stride, int64_t times, int64_t mode, twin::At at);
// L0A x L0B -> L0C
void tw_mmad(const twin::MmadCall* call);
void tw_set_hf32(int on, twin::At at);
void tw_set_hf32_away(int away, twin::At at);     // ties away from zero instead of to even
// L0C -> GM / L1
void tw_fixpipe(const twin::FixpipeCall* call);
void tw_set_nz2nd(int64_t nd_num, int64_t src_stride, int64_t dst_stride, twin::At at);
void tw_set_pre_quant(uint64_t word, twin::At at);
void tw_set_fix_config(const twin::LocalRef* quant, int clear_unit_flags, twin::At at);
// L1 -> bias table, L1 -> fixpipe buffer. count < 0: `blocks` counts.
void tw_copy_to_table(const twin::LocalRef* dst, const twin::LocalRef* src, twin::DType to, twin::DType from, int64_t count,
                      int64_t blocks, int64_t len, int64_t src_gap, int64_t dst_gap, twin::At at);
// A call of the cube unit that this chip does not have.
void tw_cube_absent(const char* api, const char* instead, twin::At at);
}
