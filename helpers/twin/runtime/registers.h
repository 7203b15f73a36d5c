// Program counter and stack pointer of the code that a signal interrupted.
#pragma once
#include <ucontext.h>

#include <cstdint>

namespace twin {

struct Registers { uint64_t pc = 0, sp = 0; };
inline Registers registers(void* context) {
    auto* u = static_cast<ucontext_t*>(context);
    (void)u;
#if defined(__linux__) && defined(__x86_64__)
    return {uint64_t(u->uc_mcontext.gregs[REG_RIP]), uint64_t(u->uc_mcontext.gregs[REG_RSP])};
#elif defined(__linux__) && defined(__aarch64__)
    return {u->uc_mcontext.pc, u->uc_mcontext.sp};
#elif defined(__APPLE__) && defined(__arm64__)
    return {u->uc_mcontext->__ss.__pc, u->uc_mcontext->__ss.__sp};
#elif defined(__APPLE__) && defined(__x86_64__)
    return {u->uc_mcontext->__ss.__rip, u->uc_mcontext->__ss.__rsp};
#else
    return {};
#endif
}

}  // namespace twin
