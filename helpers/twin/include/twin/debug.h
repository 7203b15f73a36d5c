// Output and checks from inside a kernel.
#pragma once
#include "twin/local_tensor.h"

#ifndef ASCENDC_DUMP
#define ASCENDC_DUMP 1
#endif

namespace twin {
template <class T>
PrintArg print_arg(const T& v) {
    if constexpr (std::is_same<T, bool>::value) return {1, 1, v, 0, nullptr};
    else if constexpr (std::is_enum<T>::value) return {0, sizeof(T), static_cast<int64_t>(v), 0, nullptr};
    else if constexpr (std::is_integral<T>::value) return {static_cast<uint8_t>(std::is_signed<T>::value ? 0 : 1), sizeof(T), static_cast<int64_t>(v), 0, nullptr};
    else if constexpr (std::is_floating_point<T>::value || std::is_same<T, half>::value) return {2, sizeof(T), 0, static_cast<double>(v), nullptr};
    else if constexpr (std::is_same<T, bfloat16_t>::value) return {2, 2, 0, static_cast<double>(static_cast<float>(v)), nullptr};
    else if constexpr (std::is_same<T, int4b_t>::value) return {0, 1, v.value, 0, nullptr};
    else if constexpr (std::is_convertible<T, const char*>::value && !std::is_class<T>::value) return {4, sizeof(void*), 0, 0, static_cast<const char*>(v)};
    else if constexpr (std::is_pointer<std::decay_t<T>>::value) return {3, sizeof(void*), 0, 0, const_cast<const void*>(static_cast<const volatile void*>(v))};
    else if constexpr (std::is_same<T, PhyAddr>::value) return {1, 8, static_cast<int64_t>(v.ref.addr), 0, nullptr};
    else if constexpr (std::is_convertible<T, int64_t>::value) return {0, 8, static_cast<int64_t>(v), 0, nullptr};
    else static_assert(never<T>, "BAD_PARAMETER: printf prints numbers, half, bfloat16_t, pointers and text. Fix: use DumpTensor for a tensor");
}
template <class Tensor, class T>
PrintArg print_arg(const Element<Tensor, T>& v) { return print_arg(static_cast<T>(v)); }

template <class... A>
void print(const char* format, const A&... args) {
    const PrintArg list[sizeof...(A) + 1] = {print_arg(args)..., PrintArg{}};
    tw_printf(format, list, sizeof...(A));
}
template <class... A>
void check(bool ok, const char* text, At at, const char* format, const A&... args) {
    if (ok) return;
    const PrintArg list[sizeof...(A) + 1] = {print_arg(args)..., PrintArg{}};
    tw_assert(text, format, list, sizeof...(A), at);
}
inline void check(bool ok, const char* text, At at) { if (!ok) tw_assert(text, nullptr, nullptr, 0, at); }

// Result of ASSERT. As a statement (unary plus) it checks; kernels also write `tileNum = n ASSERT(n != 0)`, which compiles
// because ASSERT is empty on the device: there (binary plus) it vanishes.
struct Checked {
    bool ok;
    const char* text;
    At at;
    void operator+() const { check(ok, text, at); }
};
template <class T> T operator+(T v, Checked) { return v; }
}  // namespace twin

// ---- printf
// Prints from every core that runs the line. formats: %d %i %u %x %f %s %p (+ l, ll); %f takes half and bfloat16_t
// limits: 32 KB per call, else dropped. pipe: S
template <class... A>
void printf(__gm__ const char* format, A&&... args) {
#if ASCENDC_DUMP
    ::twin::print(format, args...);
#else
    (void)format;
    (void)sizeof...(args);
#endif
}
// ---- PRINTF
template <class... A>
void PRINTF(__gm__ const char* format, A&&... args) { ::printf<A...>(format, static_cast<A&&>(args)...); }

namespace AscendC {
using ::printf;
using ::PRINTF;

// ---- DumpTensor
// Prints the first n elements of a tensor, with a shape as nested brackets. limits: 30 KB per call, else nothing. pipe: S
template <class T>
void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t n, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef r = t.ref();
    if (ASCENDC_DUMP) tw_dump_local(&r, ::twin::dtype_of<T>(), desc, 0, n, nullptr, at);
}
template <class T>
void DumpTensor(const LocalTensor<T>& t, uint32_t desc, uint32_t n, const ShapeInfo& shape, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef r = t.ref();
    const ::twin::ShapeRecord s = ::twin::shape_record(shape);
    if (ASCENDC_DUMP) tw_dump_local(&r, ::twin::dtype_of<T>(), desc, 0, n, &s, at);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t n, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef r = t.ref();
    if (ASCENDC_DUMP) tw_dump_global(&r, ::twin::dtype_of<T>(), desc, 0, n, nullptr, at);
}
template <class T>
void DumpTensor(const GlobalTensor<T>& t, uint32_t desc, uint32_t n, const ShapeInfo& shape, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef r = t.ref();
    const ::twin::ShapeRecord s = ::twin::shape_record(shape);
    if (ASCENDC_DUMP) tw_dump_global(&r, ::twin::dtype_of<T>(), desc, 0, n, &s, at);
}
// ---- DumpAccChkPoint
// DumpTensor of n elements from element countOff on.
template <class T>
void DumpAccChkPoint(const LocalTensor<T>& t, uint32_t index, uint32_t countOff, uint32_t n, ::twin::At at = ::twin::At::here()) {
    const ::twin::LocalRef r = t.ref();
    if (ASCENDC_DUMP) tw_dump_local(&r, ::twin::dtype_of<T>(), index, countOff, n, nullptr, at);
}
template <class T>
void DumpAccChkPoint(const GlobalTensor<T>& t, uint32_t index, uint32_t countOff, uint32_t n, ::twin::At at = ::twin::At::here()) {
    const ::twin::GlobalRef r = t.ref();
    if (ASCENDC_DUMP) tw_dump_global(&r, ::twin::dtype_of<T>(), index, countOff, n, nullptr, at);
}

// ---- Trap
// ends the launch with an error at this line
inline void Trap(::twin::At at = ::twin::At::here()) { tw_trap(at); }
// ---- PrintTimeStamp
// prints the clock and a number
inline void PrintTimeStamp(uint32_t id, ::twin::At at = ::twin::At::here()) {
#ifdef ASCENDC_TIME_STAMP_ON
    tw_time_stamp(id, at);
#else
    (void)id;
    (void)at;
#endif
}
// ---- MetricsProfStart MetricsProfStop
// do nothing here: the run is always recorded
inline void MetricsProfStart() {}
inline void MetricsProfStop() {}
// ---- MarkStamp
template <pipe_t pipe, uint16_t idx> void MarkStamp() {}
// ---- SetDumpWorkSpacePtr GetDumpWorkSpacePtr
// do nothing here: dumps go to the output of the run
inline void SetDumpWorkSpacePtr(GM_ADDR) {}
inline GM_ADDR GetDumpWorkSpacePtr() { return nullptr; }

// ---- CheckLocalMemoryIA
// does nothing here: the twin checks every access anyway
struct CheckLocalMemoryIAParam {
    uint8_t enableBit = 0;
    uint32_t startAddr = 0, endAddr = 0;
    bool isScalarRead = false, isScalarWrite = false, isVectorRead = false, isVectorWrite = false, isMteRead = false, isMteWrite = false, isEnable = false;
};
inline void CheckLocalMemoryIA(const CheckLocalMemoryIAParam&) {}
}  // namespace AscendC

inline void trap(::twin::At at = ::twin::At::here()) { tw_trap(at); }

#define TRACE_START(id) ((void)(id))
#define TRACE_STOP(id) ((void)(id))
#undef assert
#if ASCENDC_DUMP && !defined(NDEBUG)
// ---- assert
// Stops the kernel with `[ASSERT] file:line: Assertion ...` when the condition is false; a format and values may follow.
#define TWIN_ASSERT(condition, ...) ::twin::check(static_cast<bool>(condition), #condition, ::twin::At::here(), ##__VA_ARGS__)
#else
#define TWIN_ASSERT(condition, ...) ((void)0)
#endif
#define assert(...) TWIN_ASSERT(__VA_ARGS__)
// ---- ascendc_assert
#define ascendc_assert(...) TWIN_ASSERT(__VA_ARGS__)
#undef ASSERT
// ---- ASSERT
#define ASSERT(...) +::twin::Checked{static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, ::twin::At::here()}
#define ASCENDC_ASSERT(condition, handler) \
    do {                                   \
        if (!(condition)) handler;         \
    } while (0)
#define ASCENDC_DEBUG_ASSERT(condition, ...) TWIN_ASSERT(condition)
#define KERNEL_ERROR "ERROR"
#define KERNEL_WARN "WARN"
#define KERNEL_INFO "INFO"
#define KERNEL_DEBUG "DEBUG"
// ---- KERNEL_LOG
#define KERNEL_LOG(level, ...) (::twin::print("[" level "] "), ::twin::print(__VA_ARGS__), ::twin::print("\n"))
