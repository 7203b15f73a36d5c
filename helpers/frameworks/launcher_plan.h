// A plan as read from its file: what one launch needs to know beside the addresses.
//
//   workbook plan 1
//   kernel rms_norm_float
//   runner /path/to/twin_runner
//   library /path/to/kernel.so
//   timeout 30
//   first_line 1
//   tensor in 0 3 16384 x          argument, type of the twin, bytes, name; in, out, or zero (an output that starts as zeros)
//   request                        the rest goes to the runner as it is: lines up to `end`, then the source, then the values
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace workbook {

struct PlanTensor {
    bool output = false, zero = false;
    int arg = 0, dtype = 0;
    uint64_t bytes = 0;
    std::string name;
};

struct Plan {
    std::string kernel, runner, library;
    double timeout = 30;
    int first_line = 1;
    std::vector<PlanTensor> tensors;
    std::string request;

    std::string source() const;          // the kernel's text, which the request carries
    const PlanTensor* at(int arg) const;
};

// False: there is no such file, it is not a plan of this version, or what it names has been removed.
bool read_plan(const std::string& path, Plan& plan);

// False: runner or kernel have been removed. A cache that was emptied leaves plans behind that lead nowhere.
bool usable(const Plan& plan);

}  // namespace workbook
