// Files and log lines of the sample projects' host part. A project's own data_utils.h wins over this one.
#pragma once
#include <cstdio>
#include <fstream>
#include <string>

#include "../twin/types.h"

#define INFO_LOG(fmt, args...) std::fprintf(stdout, "[INFO]  " fmt "\n", ##args)
#define WARN_LOG(fmt, args...) std::fprintf(stdout, "[WARN]  " fmt "\n", ##args)
#define ERROR_LOG(fmt, args...) std::fprintf(stdout, "[ERROR]  " fmt "\n", ##args)
#define CHECK_ACL(x)                                                                        \
    do {                                                                                    \
        const int aclRet = (x);                                                             \
        if (aclRet != 0) std::fprintf(stderr, "%s:%d aclError:%d\n", __FILE__, __LINE__, aclRet); \
    } while (0)

inline bool ReadFile(const std::string& path, size_t& fileSize, void* buffer, size_t room) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return false;
    fileSize = static_cast<size_t>(file.tellg());
    if (fileSize == 0 || fileSize > room) return false;
    file.seekg(0);
    return static_cast<bool>(file.read(static_cast<char*>(buffer), static_cast<std::streamsize>(fileSize)));
}

inline bool WriteFile(const std::string& path, const void* buffer, size_t size) {
    std::ofstream file(path, std::ios::binary);
    return file && buffer && static_cast<bool>(file.write(static_cast<const char*>(buffer), static_cast<std::streamsize>(size)));
}
