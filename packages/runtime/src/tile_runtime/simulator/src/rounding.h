// Rounding to integers and to narrower floats in the modes of Cast.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ascend_c/enums.h"
#include "ascend_c/numbers.h"

namespace tile_simulator {

using AscendC::RoundMode;

// To an integral value. NONE counts as RINT (docs/hardware/units.md#conversions).
template <RoundMode mode>
inline float round_to_integral(float x)
{
    if constexpr (mode == RoundMode::CAST_FLOOR) {
        return __builtin_floorf(x);
    } else if constexpr (mode == RoundMode::CAST_CEIL) {
        return __builtin_ceilf(x);
    } else if constexpr (mode == RoundMode::CAST_TRUNC) {
        return __builtin_truncf(x);
    } else if constexpr (mode == RoundMode::CAST_ROUND) {
        const float whole = __builtin_truncf(x);
        const float away = __builtin_copysignf(1.0f, x);
        return __builtin_fabsf(x - whole) >= 0.5f ? whole + away : whole;
    } else {
        return __builtin_rintf(x);
    }
}

// Saturating conversion of an integral float; NaN becomes 0.
template <class T>
inline T saturate(float x)
{
    // The bounds as floats: the upper one of 32 and 64 bits is not representable and rounds up, hence >=.
    constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
    constexpr float high = static_cast<float>(std::numeric_limits<T>::max());
    const bool above = sizeof(T) >= 4 ? x >= high : x > high;
    const float inside = (x >= low && !above) ? x : 0.0f;
    const T value = static_cast<T>(inside);
    return above ? std::numeric_limits<T>::max() : x < low ? std::numeric_limits<T>::min() : value;
}

// The low bits of an integral float in two's complement. Infinities and NaN have none: as if it saturated.
template <class T>
inline T low_bits(float x)
{
    constexpr float half_range = 0x1p63f;  // of 64 bits
    if (!std::isfinite(x)) {
        return saturate<T>(x);
    }
    // A float from 2^63 on has 40 low bits of 0, so one that is beyond 2^64 leaves nothing.
    const float inside = std::fmod(x, 2 * half_range);
    const bool wraps = std::fabs(inside) >= half_range;
    const float folded = wraps ? inside - std::copysign(2 * half_range, inside) : inside;
    return folded == half_range ? T(std::numeric_limits<int64_t>::min()) : static_cast<T>(static_cast<int64_t>(folded));
}

struct FloatFormat {
    using Bits = uint32_t;
    static constexpr uint32_t encode(float value) { return bits_of_float(value); }
    static constexpr float decode(uint32_t bits) { return float_of_bits(bits); }
};

// A finite magnitude to a narrower float format. `W` holds the source exactly.
template <class Format, class W>
inline auto round_to_format(W value, RoundMode mode)
{
    using Bits = decltype(Format::encode(0.0f));
    const float near = static_cast<float>(value);
    const bool negative = std::signbit(near);
    const W magnitude = negative ? -value : value;
    const Bits sign = Format::encode(negative ? -0.0f : 0.0f);
    // Start from the nearest value (possibly rounded twice) and step down to the last one not above.
    Bits low = Format::encode(std::fabs(near));
    const auto exact = [](Bits bits) { return static_cast<W>(Format::decode(bits)); };
    while (low > 0 && exact(low) > magnitude) {
        --low;
    }
    while (exact(static_cast<Bits>(low + 1)) <= magnitude) {
        ++low;
    }
    const Bits high = static_cast<Bits>(low + 1);
    if (exact(low) == magnitude) {
        return static_cast<Bits>(sign | low);
    }
    bool up = false;
    switch (mode) {
        case RoundMode::CAST_FLOOR:
            up = negative;
            break;
        case RoundMode::CAST_CEIL:
            up = !negative;
            break;
        case RoundMode::CAST_TRUNC:
            break;
        case RoundMode::CAST_ODD:
            up = (low & 1u) == 0;
            break;
        default: {
            const W below = magnitude - exact(low);
            // Above the largest finite value the next step is what the spacing would give.
            const W step = std::isinf(static_cast<float>(exact(high))) ? exact(low) - exact(static_cast<Bits>(low - 1))
                                                                       : exact(high) - exact(low);
            const W above = step - below;
            up = mode == RoundMode::CAST_ROUND ? below >= above : below > above || (below == above && (low & 1u) != 0);
        }
    }
    return static_cast<Bits>(sign | (up ? high : low));
}

}  // namespace tile_simulator
