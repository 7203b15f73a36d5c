// Words of the device dialect that a host compiler does not know. All address spaces are one host address space
// here: two overloads that differ only in __gm__ / __ubuf__ collide, as in the vendor's own CPU mode.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

// The build defines these on the command line; a plain compiler run gets the same meaning.
#ifndef ASCENDC_CPU_DEBUG
#define ASCENDC_CPU_DEBUG 1
#endif
#ifndef __CCE_KT_TEST__
#define __CCE_KT_TEST__ 1
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201  // Atlas A2; the build passes 2002 for the inference chip
#endif
#if __NPU_ARCH__ == 2201
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __DAV_C220__
#define __DAV_C220__ 1
#endif
#elif __NPU_ARCH__ == 2002
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 200
#endif
#ifndef __DAV_M200__
#define __DAV_M200__ 1
#endif
#endif

// ---- __global__ __aicore__ __vector__ __cube__ __mix__
#define __global__
#ifndef __aicore__
#define __aicore__
#endif
#define __host__
#define __vector__
#define __cube__
#define __mix__(cube, vector)
#define __schedmode__(mode)
#ifndef __inline__
#define __inline__ inline
#endif
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __local_mem__
#define __inout_pipe__(pipe)
#define __in_pipe__(pipe)
#define __out_pipe__(pipe)
#define __sync_alias__
#define __BLOCK_LOCAL__
#define __tiling_data_ptr__
#define __simd_vf__
#ifndef GM_ADDR
#define GM_ADDR __gm__ uint8_t*
#endif
