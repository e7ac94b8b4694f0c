// Scalar types of the device that C++ lacks: half (IEEE binary16), bfloat16_t and the four-bit int4b_t.
//
// Conversions round to nearest even and keep infinities and NaNs (quiet), as the hardware does. Arithmetic of two
// halves rounds every result to half; arithmetic with a float is float arithmetic.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tile_simulator {

constexpr uint32_t bits_of_float(float value)
{
    return __builtin_bit_cast(uint32_t, value);
}
constexpr float float_of_bits(uint32_t bits)
{
    return __builtin_bit_cast(float, bits);
}

constexpr uint16_t float_to_half_bits(float value)
{
    uint32_t bits = bits_of_float(value);
    const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {  // NaN: keep the upper payload bits, make it quiet
        return static_cast<uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
    }
    if (bits >= 0x477ff000u) {  // 65520 and above round to infinity
        return static_cast<uint16_t>(sign | 0x7c00u);
    }
    if (bits >= 0x38800000u) {  // normal result
        bits += 0xfffu + ((bits >> 13) & 1u);
        return static_cast<uint16_t>(sign | ((bits - 0x38000000u) >> 13));
    }
    if (bits < 0x33000000u) {  // below half of the smallest subnormal
        return sign;
    }
    const uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u;
    const uint32_t shift = 126u - (bits >> 23);
    const uint32_t remainder = mantissa & ((1u << shift) - 1u);
    const uint32_t tie = 1u << (shift - 1u);
    uint32_t quotient = mantissa >> shift;
    if (remainder > tie || (remainder == tie && (quotient & 1u) != 0u)) {
        ++quotient;
    }
    return static_cast<uint16_t>(sign | quotient);
}

constexpr float half_bits_to_float(uint16_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1fu;
    const uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1fu) {
        return float_of_bits(sign | 0x7f800000u | (mantissa << 13) | (mantissa != 0u ? 0x400000u : 0u));
    }
    if (exponent != 0u) {
        return float_of_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    }
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0u ? -magnitude : magnitude;
}

constexpr uint16_t float_to_bfloat16_bits(float value)
{
    const uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return static_cast<uint16_t>((bits >> 16) | 0x40u);
    }
    return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float bfloat16_bits_to_float(uint16_t bits)
{
    return float_of_bits(static_cast<uint32_t>(bits) << 16);
}

struct HalfFormat {
    static constexpr uint16_t encode(float value) { return float_to_half_bits(value); }
    static constexpr float decode(uint16_t bits) { return half_bits_to_float(bits); }
};

struct Bfloat16Format {
    static constexpr uint16_t encode(float value) { return float_to_bfloat16_bits(value); }
    static constexpr float decode(uint16_t bits) { return bfloat16_bits_to_float(bits); }
};

template <class Format>
struct SmallFloat {
    uint16_t bits;

    SmallFloat() = default;
    constexpr SmallFloat(float value) : bits(Format::encode(value)) {}
    constexpr operator float() const { return Format::decode(bits); }
    static constexpr SmallFloat from_bits(uint16_t bits)
    {
        SmallFloat result(0.0f);
        result.bits = bits;
        return result;
    }

    constexpr SmallFloat operator-() const { return from_bits(static_cast<uint16_t>(bits ^ 0x8000u)); }
    constexpr SmallFloat& operator+=(SmallFloat other) { return *this = *this + other; }
    constexpr SmallFloat& operator-=(SmallFloat other) { return *this = *this - other; }
    constexpr SmallFloat& operator*=(SmallFloat other) { return *this = *this * other; }
    constexpr SmallFloat& operator/=(SmallFloat other) { return *this = *this / other; }

    friend constexpr SmallFloat operator+(SmallFloat a, SmallFloat b) { return float(a) + float(b); }
    friend constexpr SmallFloat operator-(SmallFloat a, SmallFloat b) { return float(a) - float(b); }
    friend constexpr SmallFloat operator*(SmallFloat a, SmallFloat b) { return float(a) * float(b); }
    friend constexpr SmallFloat operator/(SmallFloat a, SmallFloat b) { return float(a) / float(b); }
};

// Mixed arithmetic: a float or double operand decides the result type, an integer operand is taken as the small type.
template <class A, class F>
using mixed = std::conditional_t<std::is_floating_point_v<A>, A, SmallFloat<F>>;
template <class A>
using if_number = std::enable_if_t<std::is_arithmetic_v<A>, bool>;
template <class A>
using wide = std::conditional_t<std::is_floating_point_v<A>, A, float>;

template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator+(SmallFloat<F> a, A b)
{
    return wide<A>(float(a)) + wide<A>(b);
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator+(A a, SmallFloat<F> b)
{
    return wide<A>(a) + wide<A>(float(b));
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator-(SmallFloat<F> a, A b)
{
    return wide<A>(float(a)) - wide<A>(b);
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator-(A a, SmallFloat<F> b)
{
    return wide<A>(a) - wide<A>(float(b));
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator*(SmallFloat<F> a, A b)
{
    return wide<A>(float(a)) * wide<A>(b);
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator*(A a, SmallFloat<F> b)
{
    return wide<A>(a) * wide<A>(float(b));
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator/(SmallFloat<F> a, A b)
{
    return wide<A>(float(a)) / wide<A>(b);
}
template <class F, class A, if_number<A> = true>
constexpr mixed<A, F> operator/(A a, SmallFloat<F> b)
{
    return wide<A>(a) / wide<A>(float(b));
}

// A whole number of `bits` bits, two's complement if signed, one per byte as a C++ value. In tensors of a type of four
// bits two elements share a byte, the first in the low half.
template <int bits_, bool is_signed>
struct SmallInteger {
    static constexpr int bits = bits_;

    uint8_t storage;

    SmallInteger() = default;
    template <class V, std::enable_if_t<std::is_arithmetic_v<V>, bool> = true>
    constexpr SmallInteger(V value)
        : storage(static_cast<uint8_t>(static_cast<uint32_t>(static_cast<int64_t>(value)) & ((1u << bits_) - 1u)))
    {
    }
    constexpr operator int32_t() const
    {
        const int32_t value = storage;
        return is_signed && value >= 1 << (bits_ - 1) ? value - (1 << bits_) : value;
    }
};

// Bytes that n elements take in a tensor.
template <class T>
constexpr uint64_t bytes_of(uint64_t elements)
{
    return elements * sizeof(T);
}
template <>
constexpr uint64_t bytes_of<SmallInteger<4, true>>(uint64_t elements)
{
    return elements / 2;
}

}  // namespace tile_simulator

namespace AscendC {

using int4b_t = tile_simulator::SmallInteger<4, true>;

template <class A, class B>
struct IsSameType {
    static constexpr bool value = std::is_same_v<A, B>;
};

}  // namespace AscendC

using half = tile_simulator::SmallFloat<tile_simulator::HalfFormat>;
using bfloat16_t = tile_simulator::SmallFloat<tile_simulator::Bfloat16Format>;
using float16_t = half;
