// Tiling data and tiling keys: what the host decides and the kernel reads.
#pragma once
#include "twin/local_tensor.h"

// ----- kernel side
// ---- GET_TILING_DATA
// Copies the default tiling struct from GM into a local variable.
// limits: the struct is named by REGISTER_TILING_DEFAULT or declared with the kernel; the buffer holds at least its size
// pipe: S
#define GET_TILING_DATA(td, tiling) GET_TILING_DATA_WITH_STRUCT(twDefaultTiling, td, tiling)
// ---- GET_TILING_DATA_WITH_STRUCT
#define GET_TILING_DATA_WITH_STRUCT(S, td, tiling) \
    S td;                                          \
    tw_tiling_copy(&td, sizeof(S), 0, (const void*)(tiling), sizeof(S), #S, ::twin::At::here())
// ---- GET_TILING_DATA_MEMBER
#define GET_TILING_DATA_MEMBER(S, mem, v, tiling)                      \
    std::remove_reference_t<decltype((static_cast<S*>(nullptr)->mem))> v; \
    tw_tiling_copy(&v, sizeof(v), __builtin_offsetof(S, mem), (const void*)(tiling), sizeof(S), #S, ::twin::At::here())
// ---- GET_TILING_DATA_PTR_WITH_STRUCT
#define GET_TILING_DATA_PTR_WITH_STRUCT(S, p, tiling)             \
    GET_TILING_DATA_WITH_STRUCT(S, tw_copy_of_##p, tiling);       \
    __gm__ S* p = &tw_copy_of_##p
// ---- COPY_TILING_WITH_STRUCT
#define COPY_TILING_WITH_STRUCT(S, src, p) \
    S tw_copy_of_##p = (src);              \
    S* p = &tw_copy_of_##p
// ---- COPY_TILING_WITH_ARRAY
#define COPY_TILING_WITH_ARRAY(T, n, src, p)                       \
    T tw_copy_of_##p[n];                                           \
    __builtin_memcpy(tw_copy_of_##p, (src), sizeof(tw_copy_of_##p)); \
    T(*p)[n] = &tw_copy_of_##p
// ---- REGISTER_TILING_DEFAULT
#define REGISTER_TILING_DEFAULT(S) using twDefaultTiling [[maybe_unused]] = S
#define REGISTER_TILING_FOR_TILINGKEY(expression, S) static_assert(sizeof(S) > 0, "")
#define REGISTER_NONE_TILING static_assert(true, "")

// ---- TILING_KEY_IS
// True when the launch was made with this tiling key (0 if none was given).
#define TILING_KEY_IS(key) (::tw_tiling_key_is((key), ::twin::At::here()) != 0)
// ---- TILING_KEY_LIST
#define TILING_KEY_LIST(a, b) (::tw_tiling_key_is((a), ::twin::At::here()) != 0 || ::tw_tiling_key_is((b), ::twin::At::here()) != 0)
// ---- TILING_KEY_VAR
#define TILING_KEY_VAR (::tw_tiling_key())

// ----- host side: one struct of natural alignment for both sides, hence the same bytes
// ---- BEGIN_TILING_DATA_DEF
#define BEGIN_TILING_DATA_DEF(C)                                                                       \
    struct C {                                                                                         \
        using twSelf = C;                                                                              \
        size_t GetDataSize() const { return sizeof(twSelf); }                                          \
        void SaveToBuffer(void* to, size_t room) const { if (room >= sizeof(twSelf)) __builtin_memcpy(to, this, sizeof(twSelf)); }
#define TILING_DATA_FIELD_DEF(type, f)       \
    type f;                                  \
    void set_##f(type value) { f = value; }  \
    type get_##f() const { return f; }
#define TILING_DATA_FIELD_DEF_ARR(type, n, f)                                       \
    type f[n];                                                                      \
    void set_##f(const type* values) { __builtin_memcpy(f, values, sizeof(type) * (n)); } \
    const type* get_##f() const { return f; }
#define TILING_DATA_FIELD_DEF_STRUCT(C2, f) C2 f;
#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(OpType, C) using twTilingOf_##OpType = C;

// ----- template tiling: read from the text before the launch
#define ASCENDC_TPL_ARGS_DECL(...) static_assert(true, "")
#define ASCENDC_TPL_SEL(...) static_assert(true, "")
#define ASCENDC_TPL_ARGS_SEL(...)

// ----- numbers of data types and formats, for #if ORIG_DTYPE_X == DT_FLOAT16
#define DT_FLOAT 0
#define DT_FLOAT16 1
#define DT_INT8 2
#define DT_INT32 3
#define DT_UINT8 4
#define DT_INT16 6
#define DT_UINT16 7
#define DT_UINT32 8
#define DT_INT64 9
#define DT_UINT64 10
#define DT_BOOL 11
#define DT_DOUBLE 12
#define DT_COMPLEX64 16
#define DT_BF16 27
#define DT_INT4 29
#define DT_UINT1 30
#define DT_INT2 31
#define FORMAT_NCHW 0
#define FORMAT_NHWC 1
#define FORMAT_ND 2
#define FORMAT_NC1HWC0 3
#define FORMAT_FRACTAL_Z 4
#define FORMAT_HWCN 16
#define FORMAT_NDHWC 27
#define FORMAT_FRACTAL_NZ 29
#define FORMAT_NCDHW 30
#define FORMAT_NDC1HWC0 32
#define FORMAT_FRACTAL_Z_3D 33
