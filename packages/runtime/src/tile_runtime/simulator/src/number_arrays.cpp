#include "number_arrays.h"

#include <cstring>

#include "ascend_c/numbers.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tile_simulator {

void half_to_float(const uint16_t* source, float* target, size_t count)
{
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
    }
#elif defined(__aarch64__)
    for (; i < count; ++i) {
        __fp16 value;
        std::memcpy(&value, source + i, 2);
        target[i] = static_cast<float>(value);
    }
#endif
    for (; i < count; ++i) {
        target[i] = half_bits_to_float(source[i]);
    }
}

void float_to_half(const float* source, uint16_t* target, size_t count)
{
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i),
            _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
#elif defined(__aarch64__)
    for (; i < count; ++i) {
        const __fp16 value = static_cast<__fp16>(source[i]);
        std::memcpy(target + i, &value, 2);
    }
#endif
    for (; i < count; ++i) {
        target[i] = float_to_half_bits(source[i]);
    }
}

void bfloat16_to_float(const uint16_t* source, float* target, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        target[i] = bfloat16_bits_to_float(source[i]);
    }
}

void float_to_bfloat16(const float* source, uint16_t* target, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const uint32_t bits = bits_of_float(source[i]);
        const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        target[i] = static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
    }
}

}  // namespace tile_simulator
