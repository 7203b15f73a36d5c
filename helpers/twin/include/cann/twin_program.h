// Read before every file of a host program, behind the twin's own headers: <<<>>>, aclrtlaunch_* and ICPU_RUN_KF run
// the kernel here. The build turns `k<<<n, l, s>>>(…)` into `twin::program::launch(n, l, s, &k)(…)`.
#pragma once
#include "acl/acl.h"
#include "../kernel_operator.h"
#include "../twin/entry.h"

// A program is compiled for one of two styles; the build says which by TWIN_CPU_STYLE.
#undef ASCENDC_CPU_DEBUG
#undef __CCE_KT_TEST__
#if TWIN_CPU_STYLE
#define ASCENDC_CPU_DEBUG 1
#define __CCE_KT_TEST__ 1
#endif

namespace twin {
namespace program {

// The kernels of one source file, as the build lists them.
struct Unit {
    const char* label;
    const char* source;
    const Entry* entries;             // ends with a null name
    void* const* functions;           // address of each kernel, in the order of the entries
    const char* chip;                 // lines "key value" of the chip profile
    Unit* next = nullptr;
    Unit(const char* label, const char* source, const Entry* entries, void* const* functions, const char* chip);
};

aclError enqueue(void* function, int64_t blocks, void* stream, const void* const* values, const uint32_t* sizes, uint32_t count, At at);
void run_now(void* function, int64_t blocks, const void* const* values, const uint32_t* sizes, uint32_t count, At at);
void launch_site(At at);              // where the next aclrtlaunch_* call stands
At take_launch_site(At otherwise);
void* gm_alloc(size_t bytes, At at);
void gm_free(void* p, At at);

template <class... P> struct Launch {
    void (*function)(P...);
    int64_t blocks;
    void* stream;
    At at;
    aclError operator()(P... args) const {
        const void* values[] = {static_cast<const void*>(&args)..., nullptr};
        const uint32_t sizes[] = {uint32_t(sizeof(args))..., 0};
        return enqueue(reinterpret_cast<void*>(function), blocks, stream, values, sizes, uint32_t(sizeof...(P)), at);
    }
};
template <class B, class L, class S, class... P> Launch<P...> launch(B blocks, L, S stream, void (*f)(P...), At at = At::here()) {
    return {f, int64_t(blocks), static_cast<void*>(stream), at};
}

template <class T> struct Same { using type = T; };
template <class... P> void run(At at, int64_t blocks, void (*f)(P...), typename Same<P>::type... args) {
    const void* values[] = {static_cast<const void*>(&args)..., nullptr};
    const uint32_t sizes[] = {uint32_t(sizeof(args))..., 0};
    run_now(reinterpret_cast<void*>(f), blocks, values, sizes, uint32_t(sizeof...(P)), at);
}

}  // namespace program
}  // namespace twin

namespace AscendC {
inline void* TwinGmAlloc(size_t bytes, ::twin::At at = ::twin::At::here()) { return ::twin::program::gm_alloc(bytes, at); }
inline void TwinGmFree(void* p, ::twin::At at = ::twin::At::here()) { ::twin::program::gm_free(p, at); }
}  // namespace AscendC
#define GmAlloc TwinGmAlloc
#define GmFree TwinGmFree

#undef ICPU_RUN_KF
#define ICPU_RUN_KF(func, blocks, ...) ::twin::program::run(::twin::At::here(), blocks, &func, ##__VA_ARGS__)
#undef ACLRT_LAUNCH_KERNEL
#define ACLRT_LAUNCH_KERNEL(kernel) (::twin::program::launch_site(::twin::At::here()), aclrtlaunch_##kernel)
