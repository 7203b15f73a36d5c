// Shared by all copy APIs: one call as it was written, its common checks, and the instruction it becomes.
#pragma once
#include <string>

#include "engine.h"
#include "twin/abi_copy.h"

namespace twin {

// A copy between GM and a local memory.
struct CopyCall {
    const char* api;              // "DataCopy", "DataCopyPad" …
    At at;
    DType type;
    uint32_t size;                // bytes of one element
    LocalRef local;
    GlobalRef global;
    bool store;                   // local -> GM

    CopyCall(const char* api, At at, DType t, const LocalRef& l, const GlobalRef& g, bool store)
        : api(api), at(at), type(t), size(size_of(t)), local(l), global(g), store(store) {}
    const char* local_role() const { return store ? "src" : "dst"; }
    const char* global_role() const { return store ? "dst" : "src"; }
    std::string local_name() const;    // "xLocal" as written, else the buffer
    std::string global_name() const;
    Pipe pipe() const { return store ? Pipe::MTE3 : Pipe::MTE2; }
    uint64_t global_room() const;      // bytes between the start of the view and its end (or that of its allocation)
};

// Rows of a copy: row b starts at b * pitch on either side.
struct CopyRows {
    uint32_t rows = 1, len = 0;
    int64_t local_pitch = 0, global_pitch = 0;
    bool ragged = false;
    bool padded = false;          // issued by DataCopyPad
    bool note = true;             // counts for the notes about small and unaligned copies
};

// True when the call runs on this core. Raises what is wrong with the operands themselves: path, types, alignment.
bool copy_begin(const CopyCall& c);
void check_local_alignment(const char* api, const LocalRef& t, DType type, int argument, At at);
// Name of an operand: the argument text of the call, else the buffer behind the tensor.
std::string operand_name(const char* api, At at, int argument, const LocalRef& t);
const char* type_name(DType t);
// "19 half", "1 half"
inline std::string count_of(int64_t n, DType t) { return fmt("%lld %s", static_cast<long long>(n), type_name(t)); }

// The two regions of a row copy, ready for races and bounds.
Region local_rows(const CopyCall& c, const CopyRows& r, uint64_t offset, uint32_t len, uint8_t rw);
Region global_rows(const CopyCall& c, const CopyRows& r);
// Operation, pipe, cost and atomic mode of a copy; regions and body are still to be added.
void fill_copy(Instr& in, const CopyCall& c, const CopyRows& r);
// The whole instruction for a plain row copy: checks GM bounds, issues.
void issue_rows(const CopyCall& c, const CopyRows& r);

// What a row copy needs when it runs.
struct RowMove {
    uint64_t dst, src;
    int64_t dst_pitch, src_pitch;
    uint32_t rows, len;
    Mem dst_mem, src_mem;
    Atomic atomic;
    DType type;
};
void move_rows(Core& c, const Instr& in);

// Combines n bytes at src into dst; returns true when an integer sum wrapped.
bool atomic_combine(Atomic op, DType type, uint8_t* dst, const uint8_t* src, uint64_t bytes);
// Warns when a store under an atomic mode does not fit the mode.
void check_atomic_store(const CopyCall& c);

// Statistics per line, for the notes at the end of a core.
void note_copy(const CopyCall& c, const CopyRows& r);
// Remembers how DataCopyPad laid out rows that are not multiples of 32 B.
void note_padded_rows(const CopyCall& c, uint32_t rows, uint32_t row_bytes, uint32_t pitch);
// Line of an earlier DataCopyPad load of a tail on this core, {} if none.
At tail_load();
void copy_notes_begin();
void copy_notes_end(Core& c);
void dcache_begin();
void init_global_begin();

}  // namespace twin
