// A Matmul object inside the runtime: its setup, what the kernel has set, and where its iteration stands.
//
//   mm_object.cpp   handles, setters, their checks;  mm_rules.cpp  what a tiling may say
//   mm_calls.cpp    Iterate, GetTensorC, IterateAll …: on the cube core at once, on a vector core as a request
//   mm_service.cpp  requests between a vector core and its cube core
//   mm_cube.cpp     tiles: base blocks through L1, L0 and L0C
//   mm_load.cpp     GM -> L1;  mm_l0.cpp  L1 -> L0A / L0B
//   mm_out.cpp      L0C -> GM
//   mm_ub.cpp       between UB and the cube core, through GM
//   mm_left.cpp     what was begun and not fetched, cut and not computed
#pragma once
#include <map>

#include "engine.h"
#include "twin/abi_matmul.h"
#include "twin/adv_matmul_tiling.h"
#include "twin/enums.h"

namespace twin {

struct MmTensor {
    enum Where : uint8_t { None, Gm, L1, Number } where = None;
    bool trans = false, dense = false;      // dense: exactly the part of this core, whatever SetOrgShape says
    GlobalRef gm;
    LocalRef local;
    uint64_t bits = 0;                      // Number
    uint32_t version = 0;                   // changes with every renew(): what L1 keeps of the old one is stale
    At at{};

    // Another tensor takes its place.
    MmTensor& renew(Where w, At line) {
        const uint32_t next = version + 1;
        *this = {};
        where = w;
        version = next;
        at = line;
        return *this;
    }
};

// What the setters have said: copied into a request, so that the caller may go on setting.
struct MmParams {
    MmTensor a, b, bias, workspace, quant;
    bool bias_on = false;
    int64_t M = 0, N = 0, Ka = 0, Kb = 0, Kc = 0;    // sizes in memory
    int64_t m = 0, n = 0, k = 0;                     // the part of this core
    bool hf32 = false, hf32_away = false, quant_scalar_set = false;
    uint64_t quant_scalar = 0, self_data = 0, user_info = 0;
    uint32_t batch_a = 1, batch_b = 1;
};

struct MmTile { int64_t mi, ni, row, col, m, n; };   // index, first element, size

// What nobody has fetched or computed yet.
struct MmLeft {
    using Part = std::pair<uint64_t, uint64_t>;      // of A and of B
    std::map<Part, double> parts;                    // products begun: multiplications
    bool cut = true;                                 // the tiling says how C is cut over the cores: no other sizes were set
    bool asked = false;                              // for a computation
    bool fresh = false;                              // an operand was set since the last computation began
    At asked_at{};                                   // the latest call that runs beside the vector core
    At open{};                                       // Iterate whose tile waits in L0C; line 0 = none
    At first{};                                      // Iterate that computed the first tile
    MmTile tile{};
};

struct MmObject {
    int id = 0, owner = 0;                  // owner: core whose kernel text holds the object
    MatmulRole role = MatmulRole::Kernel;
    bool ready = false;                     // has a tiling
    MatmulSetup setup;
    TCubeTiling t{};
    MmParams p;
    At made{};
    // iteration, as the caller sees it
    int64_t next = 0;                       // tiles handed out by Iterate
    int64_t taken = 0;                      // tiles taken by GetTensorC
    bool partial_open = false, async = false;
    uint32_t requests = 0;                  // posted so far; the keys of their answers
    uint64_t last_key = 0;                  // answer of the latest call that runs beside the vector core
    std::vector<uint64_t> promised;         // answers that WaitIterateAll waits for, one after the other
    std::vector<uint64_t> tile_keys;        // answers of an asynchronous Iterate, one per tile
    int64_t batch_taken = 0;                // elements of the workspace handed out by GetBatchTensorC
    bool shown = false;                     // said once that no bias was set, or that none is wanted
    uint32_t shared_calls = 0;              // products that both vector cores have asked for
    uint32_t ordinal = 0;                   // among the objects of its core
    MmLeft left;

    int64_t m_tiles() const { return (p.m + t.baseM - 1) / t.baseM; }
    int64_t n_tiles() const { return (p.n + t.baseN - 1) / t.baseN; }
    int64_t k_steps() const { return (p.k + t.baseK - 1) / t.baseK; }
    bool columns_first() const { return (setup.order < 2 ? setup.order : uint8_t(t.iterateOrder)) == 1; }
    void renewed();                                      // an operand
    void restart() { next = taken = 0; tile_keys.clear(); }
};

MmTile mm_tile(const MmObject& o, const MmParams& p, int64_t index);
MatmulTarget mm_workspace_tile(const MmObject& o, const MmParams& p, int64_t index);   // of an asynchronous Iterate
bool mm_skipped(const MmObject& o, const MmTile& t); // a triangle policy leaves it out

// What the cube core is asked to do.
struct MmRequest {
    enum Kind : uint8_t { Tile, Get, All, Batch, Tiles, End } kind = End;
    MmObject* object = nullptr;
    MmParams p;
    MatmulTarget to;
    MatmulBatch batch;
    int64_t index = 0;                      // tile
    bool partial = false, sync = true;
    int64_t slice = -1;                     // isPartialOutput: which step of K; -1 = all
    int from = 0;                           // core that asks
    uint64_t key = 0, answer = 0;           // published by the asker, by the cube core
    uint64_t first_tile_answer = 0;         // Tiles: one answer for each
    LocalRef own_tile;                      // L0C tensor of the caller, bytes 0 = the library's
    At at{};
};
void mm_run(MmRequest& r);                  // on the running cube core
void mm_submit(MmRequest& r);               // runs it here, or posts it to the cube core and waits when it is synchronous

MmObject& mm_object(int32_t handle, At at, const char* api);
std::vector<std::unique_ptr<MmObject>>& mm_objects();       // of all cores of the launch
std::vector<MmObject*>& mm_objects_of(int core);            // in the order of their registration
bool mm_idle(int32_t handle);               // this core has no part in it
bool mm_client();                           // this is a vector core that drives its cube core by messages
bool mm_server();                           // this is that cube core
enum MmRoom { kRoomA, kRoomB, kRoomBias, kRoomC };
void mm_order(AscendC::HardEvent e, At at); // one pipe behind another, at once
// rows x cols of C, one row behind the other, from GM to UB of the vector core.
void mm_to_ub(const MmObject& o, const GlobalRef& g, const LocalRef& ub, int64_t rows, int64_t cols, bool wait, const char* api, At at);
// What a call writes goes to GM at once (false), or to the message workspace when UB asks for it.
bool mm_through_room(const MmObject& o, MatmulTarget& to, int64_t elements, const char* api, At at);
int64_t mm_room_elements(const MmObject& o, int64_t m, int64_t n);
GlobalRef mm_room(MmRoom purpose, uint64_t bytes, At at);   // GM of the running core for what passes between the two kinds of cores
void mm_await(uint64_t key, At at, const char* op);
void mm_answer(uint64_t key, At at);
uint64_t mm_new_key();
uint64_t mm_shared_key(const MmObject& o, uint32_t call);   // the same on both vector cores of an AI core
void mm_check(MmObject& o, At at, const char* api);
// A tiling against the config and the types of its object; the book-keeping fields of the library.
void mm_check_config(const TCubeTiling& t, const MatmulSetup& s, At at);
void mm_check_shares(const TCubeTiling& t, const MatmulSetup& s, At at);
void mm_check_layouts(const TCubeTiling& t, const MatmulSetup& s, At at);   // of IterateBatch
void mm_begin_product(MmObject& o);
void mm_beside(MmObject& o, uint64_t answer, bool wait, At at);   // a call runs beside the vector core
void mm_tile_lost(MmObject& o);             // another one takes its place
void mm_tiles_left(const MmObject& o);      // of an asynchronous Iterate
void mm_unfinished(MmObject& o);            // nothing more will be asked of this object
// Elements of C between rows, for a target in GM.
int64_t mm_pitch(const MmObject& o, const MmParams& p);
uint64_t mm_bytes(DType t, int64_t n);
int mm_c0(DType t);
inline int64_t mm_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

enum class MmFormat : uint8_t { ND, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR };

}  // namespace twin
