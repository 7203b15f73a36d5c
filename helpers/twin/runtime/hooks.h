// What the launch code and the engine call in the data movement topic (copy_*.cpp, dcache.cpp).
#pragma once
#include <string>

#include "engine.h"

namespace twin {

// Start of a launch: forgets cache lines and copy statistics of the previous one.
void copy_launch_begin();
// Start of a launch: forgets the Matmul objects of the previous one.
void mm_launch_begin();
// End of a core's program, and of the launch: what was left undone with Matmul objects.
void mm_core_end(Core& c);
void mm_launch_end();
// The kernel sets or awaits this cross-core flag: is it one of the Matmul library's?
void mm_check_flag(int flag, At at);
// End of a core's program: tensors never freed when the TPipe's destructor did not run, tiling keys without a branch.
void queues_core_end(Core& c);
bool had_pipe(const Core& c);     // a TPipe was constructed on this core
bool has_queues(const Core& c);   // InitBuffer gave memory to a queue (TBufs do not count: they hold no event ids)
// End of a core's program: an atomic mode left on, notes about small and unaligned copies.
void copy_core_end(Core& c);
// End of a core's program: dirty lines of its data cache reach GM.
void dcache_core_end(Core& c);
// A DMA instruction of core c reads or writes [p, p + bytes) of GM: meets the data caches of all cores.
void dcache_gm_dma(Core& c, const void* p, uint64_t bytes, bool write, At at);
// When a LocalTensor starts inside a row that DataCopyPad had laid out on a 32 B boundary: "row 1 starts at element 16, not 9".
// "" otherwise. For the messages of unaligned operands.
std::string row_hint(const LocalRef& t, DType type);

}  // namespace twin
