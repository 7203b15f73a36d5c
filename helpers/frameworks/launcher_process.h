// The runner process as the launcher sees it: started, spoken to over a socket, ended and reaped.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace workbook {

// A descriptor of memory without a name, of this size; closed at the end of its scope.
class Memory {
public:
    Memory(const char* label, uint64_t bytes);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    int fd() const { return fd_; }
    uint8_t* map();                        // all of it, null when the system refuses
    uint64_t bytes() const { return bytes_; }
private:
    int fd_;
    uint64_t bytes_;
    uint8_t* base_ = nullptr;
};

struct Answer {
    enum { Done, Timeout, Gone, NotStarted } how = NotStarted;
    int status = 0;                        // of waitpid, when the process has ended
};

// Hands the request and the descriptors to a runner and waits for its answer, at most `seconds`. A runner that came to a
// good end serves the next request of the same thread; `begun` tells whether a kernel has been started at all.
Answer converse(const std::string& runner, const std::string& request, const std::vector<int>& fds, double seconds, bool (*begun)(int fd));

}  // namespace workbook
