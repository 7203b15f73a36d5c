// Vector calls that this chip does not have: each says so at its line, with what to use instead.
#pragma once
#include "twin/types.h"

namespace AscendC {

// Explicit template arguments (T...) and any call arguments match, so that the text below is what a reader sees.
#define TWIN_ABSENT(NAME, WHERE, INSTEAD)                                                      \
    template <class... T, class... A>                                                          \
    inline void NAME(A&&...) {                                                                 \
        static_assert(twin::never<A...>, "UNSUPPORTED_API: " #NAME " " WHERE ". Fix: " INSTEAD); \
    }
#define TWIN_950 "does not exist on Atlas A2, it needs Ascend 950"
#define TWIN_310P "does not exist on Atlas A2, it belongs to the inference chip"

TWIN_ABSENT(Neg, TWIN_950, "use Muls(dst, src, (T)-1, count)")
TWIN_ABSENT(Prelu, TWIN_950, "use LeakyRelu for one slope, or Maxs, Mins, Mul and Add")
TWIN_ABSENT(Mull, TWIN_950, "use Mul, which keeps the low bits")
TWIN_ABSENT(AbsSub, TWIN_950, "use Sub, then Abs")
TWIN_ABSENT(ExpSub, TWIN_950, "use Sub, then Exp")
TWIN_ABSENT(MulsCast, TWIN_950, "use Muls, then Cast")
TWIN_ABSENT(Truncate, TWIN_950, "use Cast(dst, src, RoundMode::CAST_TRUNC, count) from float to float")
TWIN_ABSENT(Interleave, TWIN_950, "use Gather with computed offsets")
TWIN_ABSENT(DeInterleave, TWIN_950, "use GatherMask with pattern 1 and pattern 2")
TWIN_ABSENT(Subs, TWIN_950, "use Adds(dst, src, -scalar, count)")
TWIN_ABSENT(Divs, TWIN_950, "use Muls(dst, src, 1 / scalar, count), or Duplicate and Div")
TWIN_ABSENT(Ands, TWIN_950, "use Duplicate and And")
TWIN_ABSENT(Ors, TWIN_950, "use Duplicate and Or")
#if __NPU_ARCH__ == 2201
TWIN_ABSENT(Scatter, TWIN_310P, "use SetValue, or turn it into a Gather")
TWIN_ABSENT(VectorPadding, TWIN_310P, "use Duplicate and Copy")
TWIN_ABSENT(RpSort16, TWIN_310P, "use Sort32, which sorts pairs of score and index")
TWIN_ABSENT(MrgSort4, TWIN_310P, "use MrgSort")
TWIN_ABSENT(ProposalConcat, TWIN_310P, "use Sort32, which takes scores and indices as they are")
TWIN_ABSENT(ProposalExtract, TWIN_310P, "use Extract, or GatherMask on the sorted pairs")
#else
#define TWIN_NOT_YET "is not modelled for the inference chip"
TWIN_ABSENT(Scatter, TWIN_NOT_YET, "use SetValue, or turn it into a Gather")
TWIN_ABSENT(VectorPadding, TWIN_NOT_YET, "use Duplicate and DataCopy")
TWIN_ABSENT(RpSort16, TWIN_NOT_YET, "build for Atlas A2 and use Sort32")
TWIN_ABSENT(MrgSort4, TWIN_NOT_YET, "build for Atlas A2 and use MrgSort")
TWIN_ABSENT(ProposalConcat, TWIN_NOT_YET, "build for Atlas A2 and use Sort32")
TWIN_ABSENT(ProposalExtract, TWIN_NOT_YET, "build for Atlas A2 and use Extract")
#endif

}  // namespace AscendC
