// Prints a checksum of products of pseudo-random operands: the same for every compiler and every width of vectors.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cube_product.h"

using namespace twin;

static uint32_t next(uint32_t& s) { return s = s * 1664525u + 1013904223u; }

int main() {
    uint64_t sum = 1469598103934665603ull;
    struct Case { DType type; int m, n, k, width; };
    for (const Case& c : {Case{DType::F16, 37, 30, 70, 16}, Case{DType::BF16, 16, 48, 33, 16}, Case{DType::F32, 23, 17, 41, 8}, Case{DType::I8, 40, 20, 90, 32}, Case{DType::I4, 9, 33, 100, 64}})
        for (int hf32 = 0; hf32 < (c.type == DType::F32 ? 3 : 1); ++hf32) {
            uint32_t seed = 7;
            const int kf = (c.k + c.width - 1) / c.width, mf = (c.m + 15) / 16, nf = (c.n + 15) / 16;
            std::vector<uint8_t> a(size_t(kf * mf) * 512), b(size_t(kf * nf) * 512);
            for (auto* v : {&a, &b})
                for (size_t i = 0; i + 4 <= v->size(); i += 4) {
                    uint32_t u = next(seed) >> 3 ^ next(seed);
                    if (c.type == DType::F16) u = (u & 0xbfffbfffu) % 0x40004000u | (u & 0x80008000u);             // finite halves
                    if (c.type == DType::BF16) u = (u & 0x807f807fu) | 0x3f003f00u | (u >> 3 & 0x00800080u);
                    if (c.type == DType::F32) u = (u & 0x807fffffu) | (0x3e000000u + (u >> 5 & 0x03800000u));
                    std::memcpy(v->data() + i, &u, 4);
                }
            std::vector<float> out(size_t(mf * nf) * 256, c.type == DType::I8 || c.type == DType::I4 ? 0.0f : 0.37f);
            Product p{a.data(), b.data(), reinterpret_cast<uint8_t*>(out.data()), c.type, c.m, c.n, c.k, kf, false, hf32 > 0, hf32 == 2};
            ProductNotes notes;
            multiply(p, notes);
            const uint8_t* bytes = reinterpret_cast<const uint8_t*>(out.data());
            for (int col = 0; col < c.n; ++col)
                for (int row = 0; row < c.m; ++row)
                    for (int i = 0; i < 4; ++i) sum = (sum ^ bytes[(col / 16 * mf * 256 + row * 16 + col % 16) * 4 + i]) * 1099511628211ull;
        }
    std::printf("%016" PRIx64 "\n", sum);
}
