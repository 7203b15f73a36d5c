#include "runner_request.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace twin {

namespace {
struct Header { uint32_t magic, fds; uint64_t bytes; };
constexpr uint32_t kMagic = 0x51524E52;
constexpr int kMaxFds = 200;

// The words of a line.
class Fields {
public:
    explicit Fields(const std::string& line) : at_(line.c_str()) {}
    bool fail() const { return failed_; }
    Fields& operator>>(std::string& to) {
        while (*at_ == ' ') ++at_;
        const char* from = at_;
        while (*at_ && *at_ != ' ') ++at_;
        to.assign(from, at_);
        return *this;
    }
    template <class T> Fields& operator>>(T& to) {
        char* end = nullptr;
        if (std::is_signed_v<T>) to = static_cast<T>(std::strtoll(at_, &end, 10));
        else to = static_cast<T>(std::strtoull(at_, &end, 10));
        failed_ = failed_ || end == at_;
        at_ = end;
        return *this;
    }

private:
    const char* at_;
    bool failed_ = false;
};
}  // namespace

// The memory of the last request serves the next one.
static std::vector<char>& spare() {
    static std::vector<char> v;
    return v;
}

Request::Request() { data_.swap(spare()); }

Request::~Request() {
    if (data_.capacity() < (1u << 20)) spare().swap(data_);
    for (int fd : fds) close(fd);
    if (live_) munmap(static_cast<void*>(live_), kHeaderBytes);
}

bool Request::read_all(int socket, char* to, uint64_t bytes) {
    while (bytes > 0) {
        ssize_t n = recv(socket, to, bytes, 0);
        if (n <= 0) return false;
        to += n;
        bytes -= uint64_t(n);
    }
    return true;
}

bool Request::receive(int socket) {
    Header h{};
    iovec io{&h, sizeof h};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
    msghdr m{};
    m.msg_iov = &io;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    if (recvmsg(socket, &m, 0) != sizeof h || h.magic != kMagic) return false;
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_type != SCM_RIGHTS) continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        fds.resize(n);
        std::memcpy(fds.data(), CMSG_DATA(c), n * sizeof(int));
    }
    if (fds.size() != h.fds || h.fds < 2) return false;
    data_.resize(h.bytes);
    return read_all(socket, data_.data(), h.bytes) && parse();
}

bool Request::parse() {
    static const char end[] = "\nend\n";
    auto stop = std::search(data_.begin(), data_.end(), end, end + sizeof end - 1);
    if (stop == data_.end()) return false;
    blob_ = uint64_t(stop - data_.begin()) + sizeof end - 1;
    for (auto from = data_.begin(); from < stop;) {
        auto to = std::find(from, stop, '\n'), space = std::find(from, to, ' ');
        if (space == to || !line({from, space}, {space + 1, to})) return false;
        from = to + 1;
    }
    return blob_ <= data_.size();
}

uint64_t Request::take_blob(uint64_t bytes) {
    uint64_t at = blob_;
    blob_ += bytes;
    return at;
}

bool Request::line(const std::string& key, std::string rest) {
    Fields in(rest);
    auto grow = [this](int arg) { if (arg >= int(pointers.size())) pointers.resize(arg + 1, nullptr); };
    if (key == "kernel") kernel = rest;
    else if (key == "entry") entry = rest;
    else if (key == "file") spec_.file = rest;
    else if (key == "source") {
        uint64_t n = std::stoull(rest), at = take_blob(n);
        if (at + n > data_.size()) return false;
        spec_.source.assign(data_.data() + at, n);
    }
    else if (key == "first_line") in >> spec_.first_line;
    else if (key == "blocks") in >> spec_.blocks;
    else if (key == "kernel_type") in >> spec_.kernel_type;
    else if (key == "checks") in >> spec_.checks;
    else if (key == "lazy") in >> spec_.lazy;
    else if (key == "strict_sync") in >> spec_.strict_sync;
    else if (key == "warm") in >> spec_.warm;
    else if (key == "seed") in >> spec_.seed;
    else if (key == "tiling_key") in >> spec_.tiling_key;
    else if (key == "memory_bytes") in >> memory_bytes;
    else if (key == "output_bytes") in >> output_bytes;
    else if (key == "timeout") in >> timeout_seconds;
    else if (key == "chip") {
        uint64_t n = std::stoull(rest), at = take_blob(n);
        if (at + n > data_.size()) return false;
        spec_.chip.assign(data_.data() + at, n);
    }
    else if (key == "map") {            // id, descriptor (-1 known or anonymous), file offset, bytes, access, keep
        Mapping m;
        int fd = -1, access = 0;
        in >> m.id >> fd >> m.file_offset >> m.bytes >> access >> m.keep;
        if (fd >= int(fds.size())) return false;
        m.fd = fd < 0 ? -1 : fds[fd];
        m.access = static_cast<Access>(access);
        maps.push_back(m);
    }
    else if (key == "unmap") { int64_t id = -1; in >> id; unmap.push_back(id); }
    else if (key == "watch") { Watch w{}; in >> w.mapping >> w.offset >> w.bytes; watches.push_back(w); }
    else if (key == "gm") {             // argument, mapping, offset, bytes, dtype, workspace, name
        Gm g{};
        in >> g.arg >> g.mapping >> g.offset >> g.bytes >> g.dtype >> g.workspace >> g.name;
        if (g.mapping >= int(maps.size())) return false;
        grow(g.arg);
        gm.push_back(g);
    }
    else if (key == "null") { int arg = 0; in >> arg; grow(arg); return !in.fail(); }
    else if (key == "value") {
        Value v{};
        in >> v.arg >> v.bytes;
        v.offset = take_blob(v.bytes);
        grow(v.arg);
        values.push_back(v);
    }
    else return false;
    return true;
}

void Request::fill(LaunchSpec& spec) const { spec = spec_; }

LiveHeader* Request::live() {
    if (live_) return live_;
    void* p = mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    live_ = p == MAP_FAILED ? nullptr : static_cast<LiveHeader*>(p);
    return live_;
}

int Request::number_of(int place) const {
    for (size_t i = 0; i < map_index.size(); ++i) if (map_index[i] == place) return int(i);
    return -1;
}

void** Request::argument_pointers() {
    arguments_.clear();
    for (void*& p : pointers) arguments_.push_back(&p);
    for (const Value& v : values) {
        // The blob lies anywhere in the request; structs want their alignment.
        void* copy = ::operator new(v.bytes ? v.bytes : 1, std::align_val_t(64));
        std::memcpy(copy, data_.data() + v.offset, v.bytes);
        arguments_[v.arg] = copy;
    }
    return arguments_.data();
}

}  // namespace twin
