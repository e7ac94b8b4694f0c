// Functions of floats on the scalar unit, which has no instructions for them: float arithmetic only, off by at most
// 2 ulp (square_root: 1).
#ifndef TILE_SCALAR_MATH_H
#define TILE_SCALAR_MATH_H

namespace tile {

constexpr uint32_t kInfinityBits = 0x7F800000u;
constexpr uint32_t kNanBits = 0x7FC00000u;

__aicore__ inline float round_down(float x)
{
    if (!(absolute(x) < 8388608.0f)) {  // 2 ** 23: whole already, or NaN
        return x;
    }
    const float whole = static_cast<float>(static_cast<int32_t>(x));
    return whole > x ? whole - 1.0f : whole;
}

__aicore__ inline float round_up(float x) { return -round_down(-x) + 0.0f; }  // never -0

__aicore__ inline float round_to_zero(float x) { return x < 0.0f ? round_up(x) : round_down(x); }

// Of two whole numbers that are equally near, the even one.
__aicore__ inline float round_nearest(float x)
{
    const float below = round_down(x);
    const float rest = x - below;
    if (rest != 0.5f) {
        return rest > 0.5f ? below + 1.0f : below;
    }
    const float half = 0.5f * below;
    return round_down(half) == half ? below : below + 1.0f;
}

// 2 ** power, for -126 to 127.
__aicore__ inline float power_of_two(int32_t power)
{
    return float_from_bits(static_cast<uint32_t>(power + 127) << 23);
}

__aicore__ inline float exponential(float x)
{
    if (!(x == x) || x > 88.8f) {
        return x > 88.8f ? float_from_bits(kInfinityBits) : x;
    }
    if (x < -104.0f) {
        return 0.0f;
    }
    // x = k ln 2 + r; ln 2 is taken off in two parts, of which the first times k is exact.
    const float k = round_down(x * 1.44269504f + 0.5f);
    const float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    float sum = 1.3888889e-3f;
    sum = sum * r + 8.3333333e-3f;
    sum = sum * r + 4.1666667e-2f;
    sum = sum * r + 1.6666667e-1f;
    sum = sum * r + 0.5f;
    const float value = 1.0f + (r + r * r * sum);
    // In two factors, as the result may be above or below the powers of two that float has.
    const int32_t power = static_cast<int32_t>(k);
    const int32_t half = power / 2;
    return value * power_of_two(half) * power_of_two(power - half);
}

__aicore__ inline float logarithm(float x)
{
    if (!(x > 0.0f)) {
        return x == 0.0f ? float_from_bits(kInfinityBits | 0x80000000u) : float_from_bits(kNanBits);
    }
    if (bit_cast<uint32_t>(x) == kInfinityBits) {
        return x;
    }
    int32_t power = 0;
    if (x < 1.17549435e-38f) {  // subnormal
        x *= 8388608.0f;
        power = -23;
    }
    // x = 2 ** power * m, with m between the square roots of 1/2 and 2.
    const uint32_t bits = bit_cast<uint32_t>(x);
    power += static_cast<int32_t>(bits >> 23) - 127;
    float m = float_from_bits((bits & 0x007FFFFFu) | 0x3F800000u);
    if (m > 1.41421356f) {
        m *= 0.5f;
        power += 1;
    }
    // ln m = 2 artanh s.
    const float f = m - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    const float tail = z * (0.66666667f + z * (0.4f + z * (0.28571429f + z * 0.22222222f)));
    const float e = static_cast<float>(power);
    const float square = 0.5f * f * f;
    return e * 0.693359375f + (f - (square - (s * (square + tail) + e * -2.12194440e-4f)));
}

__aicore__ inline float square_root(float x)
{
    if (!(x > 0.0f) || bit_cast<uint32_t>(x) == kInfinityBits) {
        return x < 0.0f ? float_from_bits(kNanBits) : x;
    }
    const bool small = x < 1.17549435e-38f;
    const float scaled = small ? x * 16777216.0f : x;
    // Half the exponent is a first guess; every step doubles the number of right bits.
    float root = float_from_bits((bit_cast<uint32_t>(scaled) >> 1) + 0x1FBD1DF5u);
    for (uint32_t step = 0; step < 4; ++step) {
        root = 0.5f * (root + scaled / root);
    }
    return small ? root * 0.000244140625f : root;
}

__aicore__ inline float inverse_square_root(float x)
{
    const float root = square_root(x);
    return root == 0.0f ? float_from_bits(kInfinityBits) : 1.0f / root;
}

// x ** y: by factors for small whole numbers y, else off by at most |y ln x| + 2 ulp.
__aicore__ inline float raised(float x, float y)
{
    const float most = 3.40282347e+38f;
    if (!(x == x) || !(y == y) || (x < -most && absolute(y) > most)) {
        return float_from_bits(kNanBits);
    }
    const bool whole = round_down(y) == y;
    const float base = absolute(x);
    if ((x < 0.0f && !whole) || y == 0.0f || base == 1.0f) {
        const bool odd = whole && round_down(y * 0.5f) != y * 0.5f;
        return x < 0.0f && !whole ? float_from_bits(kNanBits) : x < 0.0f && odd ? -1.0f : 1.0f;
    }
    float result = 1.0f;
    if (whole && absolute(y) <= 32.0f) {
        float factor = base;
        for (int32_t left = static_cast<int32_t>(absolute(y)); left > 0; left /= 2) {
            result = left % 2 == 1 ? result * factor : result;
            factor = factor * factor;
        }
        result = y < 0.0f ? 1.0f / result : result;
    } else {
        result = exponential(y * logarithm(base));
    }
    const bool negative = x < 0.0f && round_down(y * 0.5f) != y * 0.5f;
    return negative ? -result : result;
}

}  // namespace tile

#endif
