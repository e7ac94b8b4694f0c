// Arrays of half and bfloat16 to and from float, with the host's conversion instructions where it has them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tile_simulator {

void half_to_float(const uint16_t* source, float* target, size_t count);
void float_to_half(const float* source, uint16_t* target, size_t count);
void bfloat16_to_float(const uint16_t* source, float* target, size_t count);
void float_to_bfloat16(const float* source, uint16_t* target, size_t count);

// a * b + c with one rounding where the host can do it at speed.
inline float fused(float a, float b, float c)
{
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(static_cast<double>(a) * b + c);
#endif
}

}  // namespace tile_simulator
