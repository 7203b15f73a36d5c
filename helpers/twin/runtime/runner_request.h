// One launch as the parent asks for it: lines, descriptors, and blobs of bytes.
#pragma once
#include <string>
#include <vector>

#include "runner.h"

namespace twin {

struct Request {
    struct Gm { int arg, mapping; uint64_t offset, bytes; int dtype; bool workspace; std::string name; };
    struct Value { int arg; uint64_t bytes, offset; };

    std::vector<int> fds;
    std::string kernel, entry;
    std::vector<Mapping> maps;
    std::vector<int64_t> unmap;
    std::vector<int> map_index;      // request's number of a mapping -> place in arrays().maps
    std::vector<Watch> watches;
    std::vector<Gm> gm;
    std::vector<Value> values;
    std::vector<void*> pointers;     // by argument: what a GM pointer parameter holds
    uint64_t memory_bytes = 0, output_bytes = 0;
    int timeout_seconds = 0;

    Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    ~Request();
    bool receive(int socket);        // false: the parent has gone, or sent something else
    void fill(LaunchSpec& spec) const;
    LiveHeader* live();              // maps the head of the result memory
    void** argument_pointers();
    int number_of(int place) const;  // the request's number of the mapping at this place in arrays().maps

private:
    std::vector<char> data_;         // lines, then blobs
    uint64_t blob_ = 0;              // where the next announced blob starts
    LaunchSpec spec_;
    LiveHeader* live_ = nullptr;
    std::vector<void*> arguments_;
    bool read_all(int socket, char* to, uint64_t bytes);
    bool parse();
    bool line(const std::string& key, std::string rest);
    uint64_t take_blob(uint64_t bytes);
};

}  // namespace twin
