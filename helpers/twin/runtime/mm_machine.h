// What the Matmul library holds of one cube core: its bytes of L1, L0A, L0B and L0C, its events, and what lies where.
#pragma once
#include "mm_object.h"

namespace twin {

// An event with at most one set on its way.
struct MmFlag {
    int event = -1, id = -1;
    bool set = false;
    void raise(At at);                       // behind everything issued on the source pipe
    void settle(At at);                      // the target pipe waits, when there is something to wait for
};

// One package of A or B in L1.
struct MmPackage {
    uint32_t object = 0, version = 0;        // whose, and of which SetTensor
    int64_t group = -1, step = -1;           // first base block along M or N, package along K
    int64_t rows = 0, k0 = 0, kn = 0;        // of the block in it
    bool whole = false;                      // comes at once; else block by block along K
    std::vector<bool> have;                  // those blocks that are there; of a whole package the first says it
    uint32_t addr = 0;
    uint64_t used = 0;                       // when, for choosing the one to replace
    MmFlag filled, free;
};

struct MmOperandSlots { std::vector<MmPackage> slot; uint32_t bytes = 0; };   // bytes of one slot

struct MmMachine {
    int core = -1;
    void* pipe = nullptr;
    uint32_t base = 0, bytes = 0;            // of L1
    int buf[static_cast<int>(Mem::N)];
    uint32_t layout_of = 0;                  // object whose packages are laid out
    MmOperandSlots a, b;
    uint32_t bias_addr = 0, quant_addr = 0;
    MmFlag bias_filled, bias_free, bias_read, quant_filled, quant_free;
    uint32_t step_a = 0, step_b = 0, tile = 0;
    MmFlag a_free[2], b_free[2], l0_filled[2], c_done[2], c_free[2];
    uint32_t fill = 0;
    uint64_t clock = 0;
    bool stored = false;                     // since the last barrier of FIX
    int c_slot = 0;                          // of the open tile
    uint32_t open_object = 0;                // a tile that GetTensorC has not taken yet
    MmTile open_tile{};
    uint32_t computing = 0;                  // object since the last End
    At computing_at{};
    MmMachine() { for (int& x : buf) x = -1; }

    LocalRef ref(Mem m, uint32_t addr, uint32_t size, uint8_t pos, At at);
    void prepare(MmObject& o, At at);        // the layout of L1 for this object
};
MmMachine& mm_machine();                     // of the running core
void mm_machines_begin();

// Base blocks of a package along K, and along M or N. Own copies bring one block at a time where L1 is filled block by block.
int64_t mm_depth(const MmObject& o, bool a);
int64_t mm_width(const MmObject& o, bool a);

// ===== Loads (mm_load.cpp, mm_l0.cpp)
struct MmBlock { int64_t first, size, group, k0, kn, step; };    // rows (columns) and K of a base block
MmPackage& mm_need(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmBlock& b, At at);
// Where L1 is filled block by block: this one, when it is not there yet.
void mm_need_block(MmMachine& x, MmObject& o, const MmParams& p, bool a, MmPackage& k, const MmBlock& b, At at);
// The next package, before it is needed.
void mm_fetch(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmBlock& b, At at);
void mm_to_l0(MmMachine& x, MmObject& o, const MmParams& p, bool a, const MmPackage& pkg, const MmBlock& b, const LocalRef& dst, At at);
// Rows or columns that the product counts with: whole squares where the transposing load moves those.
int64_t mm_wide(const MmObject& o, const MmParams& p, bool a, int64_t size);
// One row of A as plain elements: Mmad with m = 1 reads it so.
bool mm_vector(const MmObject& o, const MmParams& p, int64_t rows);
bool mm_k_aligned(const MmObject& o, const MmParams& p);

// ===== Results (mm_out.cpp)
void mm_store(MmMachine& x, MmObject& o, const MmParams& p, const MmTile& t, const LocalRef& tile, const MatmulTarget& to, At at);

}  // namespace twin
