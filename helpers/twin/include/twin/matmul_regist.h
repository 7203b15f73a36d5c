// REGIST_MATMUL_OBJ: what makes Matmul objects ready on this core.
#pragma once
#include "twin/matmul.h"

namespace twin {

inline void matmul_register(At) {}
template <class M> void matmul_register(At at, M& object) { object.init_(nullptr, MatmulRole::Kernel, 1, at); }
template <class M, class T, class... More> void matmul_register(At at, M& object, const T& tiling, More&&... more) {
    if constexpr (std::is_convertible<T, const TCubeTiling*>::value) {
        object.init_(tiling, MatmulRole::Kernel, 1, at);
        matmul_register(at, more...);
    } else {
        object.init_(nullptr, MatmulRole::Kernel, 1, at);
        matmul_register(at, const_cast<T&>(tiling), more...);
    }
}
template <class T> constexpr int is_matmul() { return std::is_pointer<std::remove_reference_t<T>>::value || std::is_same<std::remove_cv_t<std::remove_reference_t<T>>, std::nullptr_t>::value ? 0 : 1; }
template <class M> constexpr bool matmul_dual() {
    if constexpr (is_matmul<M>()) return std::remove_reference_t<M>::dual_master_;
    else return false;
}
// True: the kernel function returns here.
template <class W, class... Objects> bool matmul_regist(bool cube_only, const AscendC::TPipe*, W workspace, At at, Objects&&... objects) {
    if (tw_matmul_regist(cube_only, (const void*)(workspace), (is_matmul<Objects>() + ...), (matmul_dual<Objects>() || ...), at)) return true;
    matmul_register(at, objects...);
    return tw_matmul_serve(at) != 0;
}

}  // namespace twin

namespace matmul = AscendC;

#define TWIN_TEXT_OF(x) #x
#define TWIN_TEXT_AGAIN(x) TWIN_TEXT_OF(x)
// ---- REGIST_MATMUL_OBJ REGIST_MATMUL_OBJ_STATIC REGIST_CUBE_OBJ
// Makes Matmul objects ready, each followed by its tiling: REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling).
// limits: before InitBuffer; a cube core of a MIX kernel serves the vector cores here and returns from the kernel function
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                                                                                                            \
    do {                                                                                                                                                    \
        if (::twin::matmul_regist(sizeof(TWIN_TEXT_AGAIN(ASCENDC_CUBE_ONLY)) != sizeof("ASCENDC_CUBE_ONLY"), tpipe, workspace, ::twin::At::here(), __VA_ARGS__)) return; \
    } while (0)
#define REGIST_MATMUL_OBJ_STATIC REGIST_MATMUL_OBJ
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ
