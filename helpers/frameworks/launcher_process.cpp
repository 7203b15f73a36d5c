#include "launcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>

extern char** environ;
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

namespace workbook {

namespace {
constexpr uint32_t kMagic = 0x51524E52;
constexpr double kGrace = 2.5;             // seconds for a runner to say where it was after it has been told to stop
constexpr int kChildSocket = 3;

struct Runner {
    pid_t pid = -1;
    int socket = -1;
    std::string path;
    pid_t owner = -1;                      // process and thread that started it: the system ends it together with the thread
    pthread_t thread{};
};

std::mutex guard;
Runner waiting;                            // at most one, for the next launch

void close_on_exec(int fd) { fcntl(fd, F_SETFD, FD_CLOEXEC); }

bool start(Runner& r, const std::string& path) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return false;
    close_on_exec(pair[0]);
    close_on_exec(pair[1]);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int fd = 0; fd < 3; ++fd) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd ? O_WRONLY : O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pair[1], kChildSocket);
#ifdef POSIX_SPAWN_SETSID
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
#endif
    std::vector<char*> environment;
    for (char** e = environ; *e; ++e) if (strncmp(*e, "LC_ALL=", 7) != 0) environment.push_back(*e);
    char language[] = "LC_ALL=C", fatal[] = "LIBC_FATAL_STDERR_=1";
    environment.insert(environment.end(), {language, fatal, nullptr});
    std::string number = std::to_string(kChildSocket);
    char* arguments[] = {const_cast<char*>(path.c_str()), &number[0], nullptr};
    int failed = posix_spawn(&r.pid, path.c_str(), &actions, &attributes, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    if (failed) { close(pair[0]); return false; }
    r.socket = pair[0];
    r.path = path;
    r.owner = getpid();
    r.thread = pthread_self();
    return true;
}

int reap(Runner& r, bool kill_it) {
    close(r.socket);
    int status = 0;
    if (kill_it && killpg(r.pid, SIGKILL) != 0) kill(r.pid, SIGKILL);
    while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR) {}
    r = Runner{};
    return status;
}

bool send_all(int socket, const char* data, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = send(socket, data, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        bytes -= size_t(n);
    }
    return true;
}

bool send_request(int socket, const std::string& request, const std::vector<int>& fds) {
    struct { uint32_t magic, fds; uint64_t bytes; } header{kMagic, uint32_t(fds.size()), request.size()};
    iovec io{&header, sizeof header};
    std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
    msghdr m{};
    m.msg_iov = &io;
    m.msg_iovlen = 1;
    m.msg_control = control.data();
    m.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(c), fds.data(), fds.size() * sizeof(int));
    return sendmsg(socket, &m, MSG_NOSIGNAL) == sizeof header && send_all(socket, request.data(), request.size());
}

// The answer byte, 0 when the process has gone, -1 when the time is over.
int receive(int socket, double seconds) {
    using clock = std::chrono::steady_clock;
    auto until = clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
        pollfd p{socket, POLLIN, 0};
        int n = poll(&p, 1, int(left > 0 ? left : 0));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        char byte = 0;
        ssize_t got = recv(socket, &byte, 1, 0);
        if (got < 0 && errno == EINTR) continue;
        return got == 1 ? byte : 0;
    }
}

Runner take(const std::string& path, bool& used) {
    Runner r = waiting;
    waiting = Runner{};
    used = false;
    if (r.pid > 0 && r.owner != getpid()) {            // after a fork it belongs to somebody else
        close(r.socket);
        r = Runner{};
    }
    if (r.pid > 0 && (r.path != path || !pthread_equal(r.thread, pthread_self()))) reap(r, true);
    if (r.pid > 0) { used = true; return r; }
    Runner fresh;
    start(fresh, path);
    return fresh;
}

struct AtExit { ~AtExit() { if (waiting.pid > 0 && waiting.owner == getpid()) reap(waiting, true); } } at_exit;
}  // namespace

Answer converse(const std::string& path, const std::string& request, const std::vector<int>& fds, double seconds, bool (*begun)(int fd)) {
    std::lock_guard<std::mutex> hold(guard);           // one kernel at a time: they share the cores of this machine anyway
    Answer answer;
    bool used = false;
    Runner r = take(path, used);
    for (;;) {
        if (r.pid < 0) return answer;
        int byte = send_request(r.socket, request, fds) ? receive(r.socket, seconds) : 0;
        if (byte == 0 && used && !begun(fds[0])) {     // it left while we were looking the other way: its idle time was over
            reap(r, true);
            used = false;
            start(r, path);
            continue;
        }
        answer.how = byte > 0 ? Answer::Done : byte == 0 ? Answer::Gone : Answer::Timeout;
        if (byte < 0) {
            kill(r.pid, SIGTERM);
            receive(r.socket, kGrace);
        }
        if (byte == 'D') waiting = r;
        else answer.status = reap(r, byte < 0);
        return answer;
    }
}

Memory::Memory(const char* label, uint64_t bytes) : bytes_(bytes) {
#ifdef MFD_CLOEXEC
    fd_ = memfd_create(label, MFD_CLOEXEC);
#else
    char name[] = "/tmp/kernel-XXXXXX";
    (void)label;
    fd_ = mkstemp(name);
    if (fd_ >= 0) { unlink(name); close_on_exec(fd_); }
#endif
    if (fd_ >= 0 && ftruncate(fd_, off_t(bytes)) != 0) { close(fd_); fd_ = -1; }
}

uint8_t* Memory::map() {
    if (!base_ && fd_ >= 0 && bytes_ > 0) {
        void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        base_ = p == MAP_FAILED ? nullptr : static_cast<uint8_t*>(p);
    }
    return base_;
}

Memory::~Memory() {
    if (base_) munmap(base_, bytes_);
    if (fd_ >= 0) close(fd_);
}

}  // namespace workbook
