// Runs a kernel on the twin for a program that knows nothing about it: an ops.Custom library, an operator of a runtime.
// Plain C, so that every compiler and every ABI of std::string can link it.
//
// A *plan* is a file that says all about one launch except the addresses: kernel, blocks, tiling, which argument is
// which tensor. Plans lie in one folder for each operator; the file's name is made from types and shapes of the
// tensors. Python writes them (helpers/frameworks/launcher.py), on request where the process has a planner.
//
// The kernel runs in a process of its own on copies of the tensors. Whatever it does, the caller's memory holds what
// it held before, unless the launch ends without errors.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WORKBOOK_API __attribute__((visibility("default")))
#else
#define WORKBOOK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// One tensor without gaps. dtype: NumPy's name ("float32", "float16", "bfloat16", "int32", "uint8", "bool", ...).
typedef struct workbook_tensor {
    void* data;
    const char* dtype;
    int32_t rank;
    const int64_t* shape;
} workbook_tensor;

enum workbook_status {
    WORKBOOK_DONE = 0,
    WORKBOOK_NO_PLAN = 1,        // nobody has planned these types and shapes
    WORKBOOK_MISMATCH = 2,       // the plan wants another number of tensors, or other sizes
    WORKBOOK_FAILED = 3,         // the kernel was stopped: findings, crash, time, memory; or it left out a part of an output
    WORKBOOK_NOT_STARTED = 4,    // the system gave no process or no memory
};

// Runs the kernel that `plans` (a folder) holds for these tensors; the inputs come first, then the outputs.
// Returns a workbook_status. Anything but 0: `error` (room for `bytes`, may be null) says in words what happened, and
// nothing was written to the outputs.
WORKBOOK_API int workbook_launch(const char* plans, int inputs, int outputs, const workbook_tensor* tensors, char* error, size_t bytes);

// Called for the first launch with these tensors in this process: writes the file `path` for `key`, for example
// "float32[4,1024] float32[1024] -> float32[4,1024]". Returns 0, or puts the reason into `error`. Without words in
// `error` the file that another process has left is used.
typedef int (*workbook_planner)(const char* path, const char* key, char* error, size_t bytes);
WORKBOOK_API void workbook_set_planner(workbook_planner planner);        // null: none
WORKBOOK_API void workbook_forget(const char* plans);                    // the planner has changed its mind about a folder

// What went wrong last, in any thread of this process; "" when nothing has. Copies at most `bytes`.
WORKBOOK_API void workbook_last_error(char* text, size_t bytes);

// Launches of this process that came to a good end, and the sum of their estimated times in us.
WORKBOOK_API void workbook_totals(uint64_t* launches, double* estimated_us);

#ifdef __cplusplus
}
#endif
