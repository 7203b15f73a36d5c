#include "launcher_written.h"

#include <cstring>

namespace workbook {

namespace {
bool is_float(const char* dtype) { return strstr(dtype, "float") != nullptr; }

// Is one of the elements, each sizeof(T) bytes long, made of this byte alone? Eight bytes at a time: taking 1 from every
// element borrows from the highest bit of one that is 0, and only there a bit appears that was not set.
template <class T> bool any_equal(const uint8_t* data, uint64_t bytes, uint8_t pattern) {
    constexpr uint64_t kOnes = ~0ull / T(~T(0)), kHighest = kOnes << (sizeof(T) * 8 - 1);
    const uint64_t wanted = 0x0101010101010101ull * pattern;
    uint64_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, data + at, 8);
        word ^= wanted;
        if ((word - kOnes) & ~word & kHighest) return true;
    }
    for (; at < bytes; at += sizeof(T)) if (memcmp(data + at, &wanted, sizeof(T)) == 0) return true;
    return false;
}

std::string place(const workbook_tensor& t, uint64_t element) {
    std::string out;
    for (int i = t.rank - 1; i >= 0; --i) {
        out = std::to_string(element % uint64_t(t.shape[i])) + (out.empty() ? "" : ", ") + out;
        element /= uint64_t(t.shape[i]);
    }
    return "[" + out + "]";
}
}  // namespace

uint8_t pattern(const char* dtype, int launch) {
    if (launch == 0) return is_float(dtype) ? 0xFF : 0xB3;
    return is_float(dtype) ? 0 : 0x4C;
}

bool doubtful(const uint8_t* data, uint64_t bytes, int item, const char* dtype) {
    if (bytes == 0 || !is_float(dtype)) return bytes > 0;
    uint8_t unwritten = pattern(dtype, 0);
    return item == 8 ? any_equal<uint64_t>(data, bytes, unwritten) : item == 4 ? any_equal<uint32_t>(data, bytes, unwritten)
                                                                               : any_equal<uint16_t>(data, bytes, unwritten);
}

std::string gap(const PlanTensor& t, const workbook_tensor& tensor, int item, const uint8_t* first, const uint8_t* second) {
    uint8_t a = pattern(tensor.dtype, 0), b = pattern(tensor.dtype, 1);
    uint64_t missing = 0, start = t.bytes, other = t.bytes;
    for (uint64_t i = 0; i < t.bytes; ++i) {
        if (first[i] == second[i]) continue;
        if (first[i] == a && second[i] == b) {
            if (missing++ == 0) start = i;
        } else if (other == t.bytes) other = i;
    }
    if (other < t.bytes) {
        return "Element " + place(tensor, other / uint64_t(item)) + " of " + t.name + " depends on what lay there before the launch: the kernel adds to it, or "
               "reads it, before it was written.";
    }
    if (missing) {
        return "Output " + t.name + " is not complete: nothing wrote element " + place(tensor, start / uint64_t(item)) + ", the first of " +
               std::to_string(missing) + " B (of " + std::to_string(t.bytes) + ") without a value.";
    }
    return "";
}

}  // namespace workbook
