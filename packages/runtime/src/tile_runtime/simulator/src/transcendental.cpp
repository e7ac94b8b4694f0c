// Polynomials in double whose error (below 1e-12) is far under half a float ulp, so that the one rounding to float is
// almost always the correct one. Written branch-free so that the compiler vectorises them.
#include "transcendental.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "elementwise.h"

namespace tile_simulator {
namespace {

inline double fused_double(double a, double b, double c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

inline int64_t bits_of(double value)
{
    return __builtin_bit_cast(int64_t, value);
}
inline double of_bits(int64_t bits)
{
    return __builtin_bit_cast(double, bits);
}

// e^x = 2^n * e^r with r = x - n ln 2, |r| <= ln 2 / 2; Taylor series of degree 10 (remainder below 3e-13).
inline float exp_one(float x)
{
    constexpr double shifter = 0x1.8p52;
    constexpr double log2e = 1.4426950408889634074;
    constexpr double ln2_high = 0x1.62e42fefa0000p-1;
    constexpr double ln2_low = 0x1.cf79abc9e3b3ap-40;
    // Outside these bounds the float result is exactly infinity or zero.
    const double clamped = x < -110.0f ? -110.0 : x > 89.0f ? 89.0 : double(x);
    const double shifted = fused_double(clamped, log2e, shifter);
    const int64_t n = bits_of(shifted);
    const double whole = shifted - shifter;
    const double r = fused_double(-whole, ln2_low, fused_double(-whole, ln2_high, clamped));
    double p = 1.0 / 3628800.0;
    p = fused_double(p, r, 1.0 / 362880.0);
    p = fused_double(p, r, 1.0 / 40320.0);
    p = fused_double(p, r, 1.0 / 5040.0);
    p = fused_double(p, r, 1.0 / 720.0);
    p = fused_double(p, r, 1.0 / 120.0);
    p = fused_double(p, r, 1.0 / 24.0);
    p = fused_double(p, r, 1.0 / 6.0);
    p = fused_double(p, r, 0.5);
    p = fused_double(p, r, 1.0);
    p = fused_double(p, r, 1.0);
    const float value = static_cast<float>(of_bits(bits_of(p) + static_cast<int64_t>(uint64_t(n) << 52)));
    return x != x ? x : value;
}

// ln x = e ln 2 + ln m with m in [sqrt(1/2), sqrt 2); ln m = 2 (s + s^3/3 + ...), s = (m - 1) / (m + 1).
inline float ln_one(float x)
{
    constexpr int64_t sqrt_half = 0x3fe6a09e667f3bcd;
    constexpr double ln2 = 0.69314718055994530942;
    const int64_t bits = bits_of(double(x));
    const int64_t scaled = bits - sqrt_half;
    const int64_t exponent = scaled & static_cast<int64_t>(0xfff0000000000000ull);
    const double m = of_bits(bits - exponent);
    // The exponent as a double: its integer is placed in the mantissa of 1.5 * 2^52.
    const double e = of_bits((exponent >> 52) + 0x4338000000000000) - 0x1.8p52;
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = 2.0 / 17.0;
    p = fused_double(p, z, 2.0 / 15.0);
    p = fused_double(p, z, 2.0 / 13.0);
    p = fused_double(p, z, 2.0 / 11.0);
    p = fused_double(p, z, 2.0 / 9.0);
    p = fused_double(p, z, 2.0 / 7.0);
    p = fused_double(p, z, 2.0 / 5.0);
    p = fused_double(p, z, 2.0 / 3.0);
    p = fused_double(p, z, 2.0);
    const float value = static_cast<float>(fused_double(e, ln2, p * s));
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const float positive = x == infinity ? infinity : value;
    const float defined = x == 0.0f ? -infinity : positive;
    return x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : x != x ? x : defined;
}

template <class F>
inline void each(const float* source, float* target, size_t count, const F& one)
{
    TILE_INDEPENDENT
    for (size_t i = 0; i < count; ++i) {
        target[i] = one(source[i]);
    }
}

}  // namespace

void exp_array(const float* source, float* target, size_t count)
{
    each(source, target, count, [](float x) { return exp_one(x); });
}

void ln_array(const float* source, float* target, size_t count)
{
    each(source, target, count, [](float x) { return ln_one(x); });
}

void sqrt_array(const float* source, float* target, size_t count)
{
    each(source, target, count, [](float x) { return __builtin_sqrtf(x); });
}

void rsqrt_array(const float* source, float* target, size_t count)
{
    each(source, target, count, [](float x) { return static_cast<float>(1.0 / __builtin_sqrt(double(x))); });
}

void reciprocal_array(const float* source, float* target, size_t count)
{
    each(source, target, count, [](float x) { return 1.0f / x; });
}

}  // namespace tile_simulator
