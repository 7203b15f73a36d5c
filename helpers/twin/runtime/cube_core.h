// Shared by the instructions of the cube unit: what a core remembers for them, and the checks they have in common.
#pragma once
#include "queues.h"
#include "state.h"
#include "twin/abi_cube.h"

namespace twin {

constexpr uint32_t kFractal = 512;                          // bytes of a fractal in L1, L0A, L0B
constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
constexpr int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }
// Elements in 32 bytes, the width of a fractal.
constexpr int64_t fractal_width(DType t) { return t == DType::I4 ? 64 : 32 / int64_t(size_of(t)); }
constexpr int64_t bytes_of(int64_t n, DType t) { return t == DType::I4 ? n / 2 : n * int64_t(size_of(t)); }

struct CubeCosts {                                          // cycles, and bytes or elements per cycle
    float l0a, l0b, table, start, mmad_head, mmad_alone, fix_l1;
};

// Who has written 512 bytes of L0C last, and whether Fixpipe may read them: the flag that unitFlag tests.
struct UnitFlag { bool full = false; Clock clock; At at{}; };

// A matrix that DataCopy has laid out in L1, and where a fractal of L0 came from (cube_layout.h).
struct NzMatrix { uint32_t k; uint64_t addr; uint32_t rows, cols, pitch, size; At at; };   // k: number of the copy on MTE2; pitch in fractals
struct Origin { uint32_t matrix = 0, row = 0, column = 0, load = 0; bool transposed = false; };   // row, column in fractals; load: number on MTE1

struct CubeState {
    CubeCosts cost;
    std::deque<NzMatrix> matrices;
    std::vector<Origin> origins[2];                         // L0A, L0B, one per fractal
    std::map<int, int> layouts_checked;                     // by line of the Mmad
    // 3D loads
    bool matrix_set = false;
    int64_t map_h = 0, map_w = 0, pad[4] = {0, 0, 0, 0};
    uint64_t padding = 0;
    int64_t boundary = 0, repeat_stride = 0, repeat_times = 1, repeat_mode = 0;
    // Mmad
    bool hf32 = false, hf32_away = false;
    // Fixpipe
    int64_t nd_num = 1, src_nd = 0, dst_nd = 0;
    bool nd_set = false, quant_set = false;
    uint64_t quant_word = 0;
    LocalRef quant_table;                                   // Mem::N = not set
    // unitFlag
    std::vector<UnitFlag> unit;
    uint32_t unit_sets[2] = {0, 0};                         // marks in the trace that nothing has waited for: by Mmad, by Fixpipe
};
CubeState& cube_state();

// True when the call runs on this core: a vector core of Atlas A2 skips it, with a warning.
bool cube_begin(const char* api, At at);
// Ends the launch when the operand does not lie in one of the memories; `where` completes "… must be in".
void cube_memory(const char* api, At at, const LocalRef& t, const char* role, std::initializer_list<Mem> want, const char* where);
void cube_alignment(const char* api, At at, const LocalRef& t, const char* role, uint32_t bytes);
struct CubeField { const char* name; int64_t value, min, max; };
void cube_fields(const char* api, At at, std::initializer_list<CubeField> all, const char* hint);
// The instruction of such a call, without regions and body.
void cube_instr(Instr& in, const char* api, At at, Pipe pipe);

// Does [lo, hi) of this core's memory m hold a byte that was never written?
bool any_undefined(Core& c, Mem m, uint64_t lo, uint64_t hi);
// Moves "never written" from source to destination bytes where elements change places: f(k, dst byte, src byte) for k < n.
struct ByteMap { uint64_t n; void (*at)(const void* self, uint64_t k, uint64_t& dst, uint64_t& src); const void* self; uint32_t esize; };
void carry_undefined(Core& c, Mem dst_mem, Mem src_mem, uint64_t src_lo, uint64_t src_hi, const ByteMap& map);

}  // namespace twin
