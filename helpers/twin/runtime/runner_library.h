// The loaded kernel. It stays loaded for the next launch of the same kernel, with its variables as they were when it was
// loaded: every launch starts afresh.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "twin/entry.h"

namespace twin {

class KernelLibrary {
public:
    // Is this kernel another one than the loaded one, which cannot be unloaded? Then only a new process can load it.
    bool stuck(const std::string& path);
    // Loads the kernel or puts its variables back; "" or what went wrong.
    std::string load(const std::string& path);
    const Entry* entry(const std::string& name) const;
    const Entry* cube_entry(const std::string& name) const;   // nullptr: cube cores run the same code

private:
    void* handle_ = nullptr;
    std::string path_;
    bool plain_ = false;             // its variables are bytes that can be put back
    struct Variables { char* at; std::vector<char> before; };
    std::vector<Variables> variables_;

    bool unload();
    void remember();
};

}  // namespace twin
