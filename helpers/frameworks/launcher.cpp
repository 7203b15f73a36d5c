// One launch: find the plan, check the tensors against it, copy them to shared memory, run, copy the outputs back.
#include "launcher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher_plan.h"
#include "launcher_process.h"
#include "launcher_words.h"
#include "launcher_written.h"
#include "runner.h"

namespace workbook {

namespace {
constexpr uint8_t kPattern = 0xC5;        // behind a tensor: must come back unchanged
constexpr uint64_t kSlack = 64;
constexpr size_t kName = 200;             // characters of a file name

std::atomic<workbook_planner> planner{nullptr};
std::mutex note;
std::string last_error;
uint64_t launches = 0;
double estimated_us = 0;
std::map<std::string, std::shared_ptr<const Plan>> plans;      // by file

int item_bytes(const char* dtype) {
    static const struct { const char* name; int bytes; } known[] = {
        {"float32", 4}, {"float16", 2}, {"bfloat16", 2}, {"float64", 8}, {"int8", 1}, {"uint8", 1}, {"bool", 1}, {"int16", 2}, {"uint16", 2},
        {"int32", 4}, {"uint32", 4}, {"int64", 8}, {"uint64", 8}};
    for (const auto& k : known) if (strcmp(k.name, dtype) == 0) return k.bytes;
    return 0;
}

uint64_t bytes_of(const workbook_tensor& t) {
    uint64_t n = uint64_t(item_bytes(t.dtype));
    for (int i = 0; i < t.rank; ++i) n *= uint64_t(t.shape[i]);
    return n;
}

std::string described(const workbook_tensor& t) {
    std::string out = std::string(t.dtype) + "[";
    for (int i = 0; i < t.rank; ++i) out += (i ? "," : "") + std::to_string(t.shape[i]);
    return out + "]";
}

// "float32[4,1024] float32[1024] -> float32[4,1024]"
std::string key_of(int inputs, int outputs, const workbook_tensor* tensors) {
    std::string key;
    for (int i = 0; i < inputs + outputs; ++i) key += (i == inputs ? " -> " : i ? " " : "") + described(tensors[i]);
    return key;
}

// Readable as long as it is short: "float32_4x1024-float32_1024-float32_4x1024.plan".
std::string file_of(const std::string& key) {
    std::string name;
    for (char c : key) name += c == '[' ? "_" : c == ',' ? "x" : c == ' ' ? "-" : c == ']' || c == '>' ? "" : std::string(1, c);
    if (name.size() > kName) {
        uint64_t hash = 1469598103934665603ull;
        for (unsigned char c : key) hash = (hash ^ c) * 1099511628211ull;
        name = name.substr(0, kName - 20) + std::to_string(hash);
    }
    return name + ".plan";
}

uint64_t pages(uint64_t n) {
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    return (n + page - 1) / page * page;
}

// The plan of this process, or the one that another process has left in the folder.
int find_plan(const std::string& folder, const std::string& key, std::shared_ptr<const Plan>& found, std::string& why) {
    std::string path = folder + "/" + file_of(key);
    {
        std::lock_guard<std::mutex> hold(note);
        auto known = plans.find(path);
        if (known != plans.end() && usable(*known->second)) { found = known->second; return WORKBOOK_DONE; }
    }
    auto plan = std::make_shared<Plan>();
    char text[4096] = "";
    workbook_planner ask = planner;                 // not under a lock: it takes Python's
    if (ask && ask(path.c_str(), key.c_str(), text, sizeof text) != 0 && text[0]) { why = text; return WORKBOOK_MISMATCH; }
    if (!read_plan(path, *plan)) {
        why = "Nobody has planned a launch for " + key + " (there is no " + path + "). Tiling is computed in Python: call the operator once with "
              "these shapes in a process that has made it with helpers.frameworks.";
        return WORKBOOK_NO_PLAN;
    }
    std::lock_guard<std::mutex> hold(note);
    found = plans[path] = plan;
    return WORKBOOK_DONE;
}

int check(const Plan& plan, const workbook_tensor* tensors, int inputs, int outputs, std::string& why) {
    if (int(plan.tensors.size()) != inputs + outputs) {
        why = plan.kernel + " takes " + std::to_string(plan.tensors.size()) + " tensors; " + std::to_string(inputs + outputs) + " were passed.";
        return WORKBOOK_MISMATCH;
    }
    for (int i = 0; i < inputs + outputs; ++i) {
        const PlanTensor& t = plan.tensors[size_t(i)];
        uint64_t have = bytes_of(tensors[i]);
        if (t.output != (i >= inputs) || have == t.bytes) continue;
        why = (t.output ? "Output " : "Input ") + t.name + " is " + described(tensors[i]) + ", " + std::to_string(have) + " B; " + plan.kernel + " needs " +
              std::to_string(t.bytes) + " B for these inputs.";
        return WORKBOOK_MISMATCH;
    }
    return WORKBOOK_DONE;
}

bool begun(int fd) {
    uint32_t magic = 0;
    return pread(fd, &magic, sizeof magic, 0) == sizeof magic && magic != 0;
}

// The memory of a launch: every tensor in pages of its own, with a pattern behind it.
struct Arrays {
    std::string lines;                     // how the runner finds them
    std::vector<uint64_t> places, sizes;
    uint64_t total = 0;
};

Arrays arrange(const Plan& plan) {
    Arrays a;
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        const PlanTensor& t = plan.tensors[i];
        uint64_t size = pages(t.bytes + kSlack);
        auto access = t.output ? twin::Access::ReadWrite : twin::Access::ReadOnly;
        std::string number = std::to_string(i);
        a.lines += "map " + std::to_string(-2 - int(i)) + " 2 " + std::to_string(a.total) + " " + std::to_string(size) + " " + std::to_string(int(access)) + " 0\n";
        a.lines += "watch " + number + " " + std::to_string(t.bytes) + " " + std::to_string(size - t.bytes) + "\n";
        a.lines += "gm " + std::to_string(t.arg) + " " + number + " 0 " + std::to_string(t.bytes) + " " + std::to_string(t.dtype) + " 0 " + t.name + "\n";
        a.places.push_back(a.total);
        a.sizes.push_back(size);
        a.total += size;
    }
    return a;
}

int once(const Plan& plan, const Arrays& a, int arrays, double& time_us, std::string& why) {
    Memory result("kernel-result", twin::kHeaderBytes), output("kernel-output", 0);
    if (result.fd() < 0 || output.fd() < 0) {
        why = "The system has no room for the result of " + plan.kernel + ".";
        return WORKBOOK_NOT_STARTED;
    }
    Answer answer = converse(plan.runner, a.lines + plan.request, {result.fd(), output.fd(), arrays}, plan.timeout, begun);
    why = explain(plan, answer, result.fd(), time_us);
    return why.empty() ? WORKBOOK_DONE : answer.how == Answer::NotStarted ? WORKBOOK_NOT_STARTED : WORKBOOK_FAILED;
}

// What outputs hold before a launch: a pattern, or zeros where the kernel adds.
void fill(const Plan& plan, const Arrays& a, const workbook_tensor* tensors, uint8_t* base, int launch) {
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        const PlanTensor& t = plan.tensors[i];
        if (t.output) memset(base + a.places[i], t.zero ? 0 : pattern(tensors[i].dtype, launch), t.bytes);
    }
}

// Did the launch write all of its outputs? Where there is a doubt, a second one tells. The results stay those of the first.
int complete(const Plan& plan, const Arrays& a, const workbook_tensor* tensors, int arrays, uint8_t* base, std::string& why) {
    std::vector<size_t> written;                       // the outputs of which every byte is the kernel's to write
    for (size_t i = 0; i < plan.tensors.size(); ++i) if (plan.tensors[i].output && !plan.tensors[i].zero) written.push_back(i);
    auto item = [&](size_t i) { return item_bytes(tensors[i].dtype); };
    auto doubt = [&](size_t i) { return doubtful(base + a.places[i], plan.tensors[i].bytes, item(i), tensors[i].dtype); };
    if (std::none_of(written.begin(), written.end(), doubt)) return WORKBOOK_DONE;
    uint64_t outputs = a.total;                        // they lie behind the inputs
    for (size_t i = 0; i < plan.tensors.size(); ++i) if (plan.tensors[i].output) outputs = std::min(outputs, a.places[i]);
    const std::vector<uint8_t> first(base + outputs, base + a.total);
    fill(plan, a, tensors, base, 1);
    double time_us = 0;
    if (int status = once(plan, a, arrays, time_us, why)) return status;
    for (size_t i : written) {
        why = gap(plan.tensors[i], tensors[i], item(i), first.data() + (a.places[i] - outputs), base + a.places[i]);
        if (why.empty()) continue;
        why = plan.kernel + ": 1 error.\nHOST_ARGUMENT\n  " + why + "\n  Fix: Compare the output's shape and type with what the kernel writes, and the last tile. "
              "An output that the kernel adds to, or fills only in part, starts as zeros where the operator says so (zeroed=…).";
        return WORKBOOK_FAILED;
    }
    memcpy(base + outputs, first.data(), first.size());
    return WORKBOOK_DONE;
}

int run(const Plan& plan, const workbook_tensor* tensors, std::string& why) {
    Arrays a = arrange(plan);
    Memory arrays("kernel-arrays", a.total);
    uint8_t* base = arrays.map();
    if (!base) {
        why = "The system has no room for the tensors of " + plan.kernel + " (" + std::to_string(a.total) + " B).";
        return WORKBOOK_NOT_STARTED;
    }
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        const PlanTensor& t = plan.tensors[i];
        if (!t.output) memcpy(base + a.places[i], tensors[i].data, t.bytes);
        memset(base + a.places[i] + t.bytes, kPattern, a.sizes[i] - t.bytes);
    }
    fill(plan, a, tensors, base, 0);
    double time_us = 0;
    if (int status = once(plan, a, arrays.fd(), time_us, why)) return status;
    if (int status = complete(plan, a, tensors, arrays.fd(), base, why)) return status;
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
        if (plan.tensors[i].output) memcpy(tensors[i].data, base + a.places[i], plan.tensors[i].bytes);
    }
    std::lock_guard<std::mutex> hold(note);
    ++launches;
    estimated_us += time_us;
    return WORKBOOK_DONE;
}

void copy_text(const std::string& text, char* to, size_t bytes) {
    if (!to || bytes == 0) return;
    size_t n = text.size() < bytes ? text.size() : bytes - 1;
    memcpy(to, text.data(), n);
    to[n] = 0;
}
}  // namespace

}  // namespace workbook

extern "C" {

int workbook_launch(const char* folder, int inputs, int outputs, const workbook_tensor* tensors, char* error, size_t bytes) {
    using namespace workbook;
    std::string why;
    int status = WORKBOOK_DONE;
    for (int i = 0; i < inputs + outputs && !status; ++i) {
        if (item_bytes(tensors[i].dtype)) continue;
        why = std::string("No kernel holds elements of ") + tensors[i].dtype + ".";
        status = WORKBOOK_MISMATCH;
    }
    uint64_t wanted = 0;
    for (int i = inputs; i < inputs + outputs && !status; ++i) wanted += bytes_of(tensors[i]);
    if (!status && outputs > 0 && wanted == 0) return status;          // nothing to compute
    std::shared_ptr<const Plan> plan;
    if (!status) status = find_plan(folder, key_of(inputs, outputs, tensors), plan, why);
    if (!status) status = check(*plan, tensors, inputs, outputs, why);
    if (!status) status = run(*plan, tensors, why);
    if (status) {
        std::lock_guard<std::mutex> hold(note);
        last_error = why;
    }
    copy_text(why, error, bytes);
    return status;
}

void workbook_set_planner(workbook_planner p) { workbook::planner = p; }

void workbook_forget(const char* folder) {
    std::lock_guard<std::mutex> hold(workbook::note);
    std::string start = std::string(folder) + "/";
    auto& plans = workbook::plans;
    for (auto p = plans.begin(); p != plans.end();) p = p->first.compare(0, start.size(), start) == 0 ? plans.erase(p) : std::next(p);
}

void workbook_last_error(char* text, size_t bytes) {
    std::lock_guard<std::mutex> hold(workbook::note);
    workbook::copy_text(workbook::last_error, text, bytes);
}

void workbook_totals(uint64_t* count, double* us) {
    std::lock_guard<std::mutex> hold(workbook::note);
    if (count) *count = workbook::launches;
    if (us) *us = workbook::estimated_us;
}

}  // extern "C"
