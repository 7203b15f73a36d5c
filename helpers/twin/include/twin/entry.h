// The table by which the runner finds and calls the kernels of a cell. The build writes, after the learner's text,
//   TWIN_ENTRIES_BEGIN
//   TWIN_ENTRY("add_custom", "x,y,z", KERNEL_TYPE_AIV_ONLY, add_custom)     one per __global__ function
//   TWIN_ENTRIES_END
#pragma once
#include "twin/base.h"
#include "twin/types.h"

namespace twin {

struct Param {
    uint8_t kind;     // 0 GM pointer, 1 scalar, 2 struct by value
    DType dtype;      // of the scalar or of what the pointer points to; None: a struct or void
    uint32_t bytes;   // sizeof the value; for pointers sizeof what they point to
};

struct Entry {
    const char* name;               // nullptr ends the table
    void (*call)(void** args);      // args[i] points to the value of parameter i
    uint32_t nparams;
    const Param* params;
    const char* names;              // "x,y,z"
    int kernel_type;                // KernelMetaType, -1 = not known
};

namespace entry {

template <class T> constexpr DType scalar_dtype() {
    if constexpr (std::is_enum<T>::value) return dtype_of<std::underlying_type_t<T>>();
    else if constexpr (std::is_void<T>::value) return DType::None;
    else return dtype_of<T>();
}
template <class T> constexpr uint32_t bytes_or_zero() {
    if constexpr (std::is_void<T>::value || std::is_function<T>::value) return 0;
    else return static_cast<uint32_t>(sizeof(T));
}
template <class P> constexpr Param param() {
    using V = std::remove_cv_t<std::remove_reference_t<P>>;
    if constexpr (std::is_pointer<V>::value) {
        using E = std::remove_cv_t<std::remove_pointer_t<V>>;
        return {0, scalar_dtype<E>(), bytes_or_zero<E>()};
    } else {
        static_assert(std::is_trivially_copyable<V>::value, "BAD_PARAMETER: A kernel parameter is copied to the device as bytes: use plain numbers, GM_ADDR or a plain struct.");
        constexpr DType t = scalar_dtype<V>();
        return {static_cast<uint8_t>(t == DType::None ? 2 : 1), t, static_cast<uint32_t>(sizeof(V))};
    }
}

template <size_t... I> struct Seq {};
template <size_t N, size_t... I> struct MakeSeq : MakeSeq<N - 1, N - 1, I...> {};
template <size_t... I> struct MakeSeq<0, I...> { using type = Seq<I...>; };

template <auto F> struct Of;
template <class R, class... P, R (*F)(P...)> struct Of<F> {
    static_assert(std::is_void<R>::value, "BAD_PARAMETER: A __global__ function returns void.");
    static constexpr uint32_t count = sizeof...(P);
    static constexpr Param list[sizeof...(P) + 1] = {param<P>()..., Param{}};
    template <size_t... I> static void call(void** args, Seq<I...>) {
        (void)args;
        F(*static_cast<std::remove_reference_t<P>*>(args[I])...);
    }
    static void run(void** args) { call(args, typename MakeSeq<sizeof...(P)>::type{}); }
};

}  // namespace entry

// Stands for `kernel<<<blocks, reserved, stream>>>` in host code beside a kernel. It is type-checked like the real
// launch; the twin's kernels are started from Python, so nothing runs it.
template <class... P> struct HostLaunch {
    void operator()(P...) const { __builtin_trap(); }
};
template <class B, class L, class S, class... P> HostLaunch<P...> host_launch(B, L, S, void (*)(P...)) { return {}; }

}  // namespace twin

#ifndef TWIN_ENTRIES
#define TWIN_ENTRIES twin_entries   // the cube half of a text that is compiled once per core kind has a name of its own
#endif
#define TWIN_ENTRIES_BEGIN \
    extern "C" __attribute__((visibility("default"), used)) const ::twin::Entry TWIN_ENTRIES[] = {
#define TWIN_ENTRY(name, names, type, ...) \
    {name, &::twin::entry::Of<(&__VA_ARGS__)>::run, ::twin::entry::Of<(&__VA_ARGS__)>::count, \
     ::twin::entry::Of<(&__VA_ARGS__)>::list, names, type},
#define TWIN_ENTRIES_END \
    {nullptr, nullptr, 0, nullptr, nullptr, 0}};
