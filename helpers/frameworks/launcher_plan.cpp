#include "launcher_plan.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace workbook {

bool read_plan(const std::string& path, Plan& plan) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    if (!std::getline(file, line) || line != "workbook plan 1") return false;
    while (std::getline(file, line) && line != "request") {
        std::istringstream in(line);
        std::string key;
        in >> key >> std::ws;
        if (key == "kernel") std::getline(in, plan.kernel);
        else if (key == "runner") std::getline(in, plan.runner);
        else if (key == "library") std::getline(in, plan.library);
        else if (key == "timeout") in >> plan.timeout;
        else if (key == "first_line") in >> plan.first_line;
        else if (key == "tensor") {
            PlanTensor t;
            std::string way;
            in >> way >> t.arg >> t.dtype >> t.bytes >> t.name;
            if (!in) return false;
            t.output = way != "in";
            t.zero = way == "zero";
            plan.tensors.push_back(t);
        }
        else return false;
    }
    std::ostringstream rest;
    rest << file.rdbuf();
    plan.request = rest.str();
    return !plan.request.empty() && usable(plan);
}

bool usable(const Plan& plan) { return access(plan.runner.c_str(), X_OK) == 0 && access(plan.library.c_str(), R_OK) == 0; }

std::string Plan::source() const {
    size_t end = request.find("\nend\n"), said = request.find("\nsource ");
    if (end == std::string::npos || said == std::string::npos || said > end) return "";
    return request.substr(end + 5, std::stoull(request.substr(said + 8, 20)));
}

const PlanTensor* Plan::at(int arg) const {
    for (const PlanTensor& t : tensors) if (t.arg == arg) return &t;
    return nullptr;
}

}  // namespace workbook
