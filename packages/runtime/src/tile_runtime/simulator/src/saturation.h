// Saturation: the bits of the control register that choose it, and what it makes of a result.
//
// Sources: SetSaturationFlag, SetCtrlSpr, and the vendor's tables of edge values of vector instructions and of atomic
// operations. What CTRL[53] does on 910B is not in the text; the tables show it in the rows of int16 and int32.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ascend_c/operand.h"

namespace tile_simulator {

// As a kernel finds it: floating point gives inf and NaN, integers wrap, conversions to integers saturate.
struct Saturation {
    bool floats = false;    // CTRL[48] is 0: half and bfloat16 end at their largest value, NaN becomes 0
    bool integers = false;  // CTRL[53] is 1: sums, differences and products end at their type's ends
    bool casts = true;      // CTRL[59] is 0: a number beyond an integer's range gives its end, not its low bits
};

// Results of half or bfloat16, in place: an infinity becomes the largest value of its sign, NaN becomes 0.
inline void saturate_small_floats(DataType type, uint16_t* values, size_t count)
{
    const uint16_t exponent = type == DataType::f16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < count; ++i) {
        const uint16_t magnitude = values[i] & 0x7fff;
        const uint16_t largest = static_cast<uint16_t>((values[i] & 0x8000) | (exponent - 1));
        values[i] = magnitude < exponent ? values[i] : magnitude == exponent ? largest : uint16_t(0);
    }
}

inline bool is_small_float(DataType type)
{
    return type == DataType::f16 || type == DataType::bf16;
}

// A float result of the cube unit.
inline float saturate_float(float value)
{
    return std::isinf(value) ? std::copysign(std::numeric_limits<float>::max(), value) : value == value ? value : 0.0f;
}

// A product of halves before it is added to a half: already in the range of half, though not yet rounded.
inline float product_of_halves(float product, const Saturation& saturation)
{
    constexpr float largest = 65504.0f;
    constexpr float first_to_overflow = 65520.0f;
    const bool overflows = std::fabs(product) >= first_to_overflow;
    if (!saturation.floats) {
        return overflows ? std::copysign(std::numeric_limits<float>::infinity(), product) : product;
    }
    return overflows ? std::copysign(largest, product) : product == product ? product : 0.0f;
}

// A sum, difference or product of integers, from its exact value.
template <class T>
T integer_result(int64_t exact, const Saturation& saturation)
{
    constexpr int64_t low = std::numeric_limits<T>::min();
    constexpr int64_t high = std::numeric_limits<T>::max();
    return static_cast<T>(!saturation.integers ? exact : exact < low ? low : exact > high ? high : exact);
}

}  // namespace tile_simulator
