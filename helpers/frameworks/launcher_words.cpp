#include "launcher_words.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runner.h"

namespace workbook {

namespace {
struct Finding { std::string code, message, hint, file; int severity = 2, line = -1, block = -1; };

// Reads the few parts of the runner's JSON that are told here.
class Reader {
public:
    explicit Reader(const std::string& text) : s_(text) {}
    // Stands behind `"key":` of the outermost object; a quote inside a text has a backslash before it.
    bool find(const char* key) {
        size_t at = s_.find("\"" + std::string(key) + "\":");
        if (at == std::string::npos) return false;
        at_ = at + strlen(key) + 3;
        return true;
    }
    bool accept(char c) {
        if (at_ < s_.size() && s_[at_] == c) { ++at_; return true; }
        return false;
    }
    double number() {
        char* end = nullptr;
        double v = strtod(s_.c_str() + at_, &end);
        if (end == s_.c_str() + at_) at_ += 4;        // null
        else at_ = size_t(end - s_.c_str());
        return v;
    }
    std::string text() {
        std::string out;
        if (!accept('"')) return out;
        while (at_ < s_.size() && s_[at_] != '"') {
            if (s_[at_] != '\\') { out += s_[at_++]; continue; }
            ++at_;
            if (s_[at_] == 'u') { out += char(strtol(s_.substr(at_ + 1, 4).c_str(), nullptr, 16)); at_ += 5; }
            else out += s_[at_++];
        }
        accept('"');
        return out;
    }
    Finding finding() {
        Finding f;
        accept('{');
        do {
            std::string key = text();
            accept(':');
            if (key == "code") f.code = text();
            else if (key == "message") f.message = text();
            else if (key == "hint") f.hint = text();
            else if (key == "file") f.file = text();
            else if (key == "severity") f.severity = int(number());
            else if (key == "line") f.line = int(number());
            else if (key == "block") f.block = int(number());
            else number();
        } while (accept(','));
        accept('}');
        return f;
    }
private:
    const std::string& s_;
    size_t at_ = 0;
};

std::string line_of(const std::string& source, int number) {
    size_t at = 0;
    for (int i = 0; i < number && at != std::string::npos; ++i) {
        at = source.find('\n', at);
        if (at != std::string::npos) ++at;
    }
    if (number < 0 || at == std::string::npos) return "";
    std::string line = source.substr(at, source.find('\n', at) - at);
    size_t text = line.find_first_not_of(" \t");
    return text == std::string::npos ? "" : line.substr(text);
}

void put(std::string& out, const Finding& f, const Plan& plan) {
    out += "\n" + f.code;
    std::string place;
    if (f.line > 0) place += "  line " + std::to_string(f.line);
    if (f.block >= 0) place += (place.empty() ? "  block " : ", block ") + std::to_string(f.block);
    out += place + "\n";
    std::string quoted = f.line > 0 ? line_of(plan.source(), f.line - plan.first_line) : "";
    if (!quoted.empty()) out += "  " + std::to_string(f.line) + " | " + quoted + "\n";
    out += "  " + f.message;
    if (!f.hint.empty()) out += "\n  Fix: " + f.hint;
}

Finding crashed(const Plan& plan, const twin::CrashRecord& c, const std::string& after) {
    Finding f;
    f.code = "CRASH";
    const PlanTensor* t = plan.at(c.arg);
    switch (c.kind) {
        case twin::kSegv: case twin::kBus:
            if (t) f.message = "A raw pointer left its memory: byte " + std::to_string(c.arg_offset) + " of argument " + t->name + " (" + std::to_string(t->bytes) + " B) was touched." + after;
            else f.message = "A null pointer, or one that leads to no argument, was used." + after;
            f.hint = "Compare the index with the number of elements that this block owns.";
            break;
        case twin::kReadOnly:
            f.code = "HOST_ARGUMENT";
            f.message = "The kernel writes to argument " + (t ? t->name : std::string("?")) + ", which is an input of this operator.";
            f.hint = "Declare the tensor as an output.";
            break;
        case twin::kStack:
            f.message = "The stack ran out: a function calls itself without end, or a local array is too large.";
            f.hint = "Keep large arrays in UB (TBuf) or in GM.";
            break;
        case twin::kFpe:
            f.message = "An integer was divided by zero (/ or %)." + after;
            f.hint = "Check the divisor: tile counts and lengths from tiling data are often 0 for small inputs.";
            break;
        default:
            f.message = "The kernel ended with abort() or ran into a place without valid code." + after;
            f.hint = "Look for heap memory written past its end, or a function that returns no value.";
    }
    return f;
}

Finding vanished(const Answer& a, const std::string& after) {
    Finding f;
    f.code = "CRASH";
    if (WIFSIGNALED(a.status) && WTERMSIG(a.status) == SIGKILL) {
        f.code = "OUT_OF_MEMORY";
        f.message = "The system stopped the kernel's process, most likely because memory ran out." + after;
        f.hint = "Use smaller tensors, or close other programs.";
    } else {
        f.message = "The kernel ended its process." + after;
        f.hint = "A kernel ends by return; exit() does not exist on the device.";
    }
    return f;
}

// Bytes behind a tensor that a raw pointer has changed: [[tensor, offset, bytes], ...].
void overruns(Reader& json, const Plan& plan, std::vector<Finding>& found) {
    if (!json.find("overruns") || !json.accept('[')) return;
    while (json.accept('[')) {
        size_t number = size_t(json.number());
        json.accept(',');
        auto offset = uint64_t(json.number());
        json.accept(',');
        auto bytes = uint64_t(json.number());
        json.accept(']');
        json.accept(',');
        Finding f;
        f.code = "GM_OUT_OF_BOUNDS";
        std::string name = number < plan.tensors.size() ? "argument " + plan.tensors[number].name : "the workspace";
        f.message = "The kernel wrote " + std::to_string(bytes) + " B by a raw pointer, " +
                    (number < plan.tensors.size() ? std::to_string(offset - plan.tensors[number].bytes) + " B " : std::string()) + "behind the end of " + name + ".";
        f.hint = "Compare the index with the number of elements.";
        found.push_back(f);
    }
}

std::string read_json(int fd, const twin::LiveHeader& live) {
    std::string json(live.json_bytes, '\0');
    size_t done = 0;
    while (done < json.size()) {
        ssize_t n = pread(fd, &json[done], json.size() - done, off_t(live.json_offset + done));
        if (n <= 0) return "";
        done += size_t(n);
    }
    return json;
}
}  // namespace

std::string explain(const Plan& plan, const Answer& answer, int fd, double& time_us) {
    if (answer.how == Answer::NotStarted) return "The process for the kernel could not be started (" + plan.runner + ").";
    twin::LiveHeader live{};
    twin::CrashRecord crash{};
    if (pread(fd, &live, sizeof live, 0) != sizeof live) live = {};
    if (pread(fd, &crash, sizeof crash, off_t(twin::kCrashOffset)) != sizeof crash) crash = {};
    live.op[sizeof live.op - 1] = 0;
    std::string after = live.op[0] ? " The last Ascend C call before it was " + std::string(live.op) + (live.line > 0 ? " in line " + std::to_string(live.line) : "") + "." : "";

    std::vector<Finding> found;
    if (answer.how == Answer::Timeout) {
        Finding f;
        f.code = "TIMEOUT";
        f.message = "The kernel was still running after " + std::to_string(int(plan.timeout)) + " s and was stopped." + after;
        f.hint = "Check the condition of the loop it is in.";
        found.push_back(f);
    } else if (crash.kind != twin::kNone) found.push_back(crashed(plan, crash, after));
    else if (answer.how == Answer::Gone) found.push_back(vanished(answer, after));

    if (live.magic && (live.state == 2 || live.state == 3)) {
        std::string text = read_json(fd, live);
        Reader json(text);
        if (json.find("error")) {
            std::string why = json.text();
            if (!why.empty()) return plan.kernel + " could not be started: " + why + ".";
        }
        if (json.find("kernel_ns")) time_us = json.number() / 1e3;
        overruns(json, plan, found);
        if (json.find("findings") && json.accept('[')) {
            while (json.accept('{')) {
                Finding f = json.finding();
                if (f.severity == 2 && !f.message.empty()) found.push_back(f);
                json.accept(',');
            }
        }
    }
    if (found.empty()) return "";
    std::string out = plan.kernel + ": " + std::to_string(found.size()) + (found.size() == 1 ? " error." : " errors.");
    for (const Finding& f : found) put(out, f, plan);
    return out;
}

}  // namespace workbook
