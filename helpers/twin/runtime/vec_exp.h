// e^x to double accuracy in plain arithmetic: every machine gives the same bits, and a loop over it vectorises.
#pragma once
#include <cstdint>
#include <cstring>

namespace twin {

// x = k ln2 + r, Taylor series of e^r, scaled by the exponent field. Beyond least and most (within -708 .. 709) the value
// at that end; NaN stays NaN.
inline double exp_between(double x, double least, double most) {
    x = x > most ? most : x;
    x = x < least ? least : x;
    const double shift = 6755399441055744.0;                    // 1.5 * 2^52: adding it rounds to an integer
    const double t = x * 1.4426950408889634074 + shift;
    const double k = t - shift;
    double r = x - k * 6.93147180369123816490e-01;
    r = r - k * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;                              // 1/13!, then 1/12! ... 1/0!
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    uint64_t n;
    std::memcpy(&n, &t, 8);
    n = (n + 1023) << 52;                                       // low bits of t hold k
    double scale;
    std::memcpy(&scale, &n, 8);
    return p * scale;
}

}  // namespace twin
