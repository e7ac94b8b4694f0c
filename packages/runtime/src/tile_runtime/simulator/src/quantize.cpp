#include "quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fault.h"
#include "number_arrays.h"
#include "rounding.h"
#include "saturation.h"

namespace tile_simulator {
namespace {

constexpr size_t most = 16;  // values of one run

// Rounds half to even into [-256, 255], adds the offset, clips to the byte the sign bit names.
uint8_t to_byte(float scaled, const QuantWord& word)
{
    const float whole = round_to_integral<RoundMode::CAST_RINT>(scaled);
    const int32_t limited = whole >= 255.0f ? 255 : whole > -256.0f ? static_cast<int32_t>(whole) : -256;
    const int32_t sum = std::isnan(whole) ? word.offset : limited + word.offset;
    return word.is_signed ? static_cast<uint8_t>(std::max(-128, std::min(127, sum)))
                          : static_cast<uint8_t>(std::max(0, std::min(255, sum)));
}

float narrowed(int32_t value, const QuantWord& word)
{
    if (word.narrowed) {
        value = std::max(-32768, std::min(32767, value >> word.shift));
    }
    return static_cast<float>(value);
}

void from_float(DataType dst, float* values, size_t count, uint8_t* out)
{
    switch (dst) {
        case DataType::f16:
            return float_to_half(values, reinterpret_cast<uint16_t*>(out), count);
        case DataType::bf16:
            return float_to_bfloat16(values, reinterpret_cast<uint16_t*>(out), count);
        default:
            std::memcpy(out, values, count * 4);
    }
}

void scale_run(DataType dst, DataType src, bool relu, const uint64_t* words, bool per_value, const uint8_t* values,
    size_t count, uint8_t* out)
{
    QuantWord word = quant_word(words[0]);
    for (size_t i = 0; i < count; ++i) {
        if (per_value) {
            word = quant_word(words[i]);
        }
        float value;
        std::memcpy(&value, values + i * 4, 4);
        if (src == DataType::i32) {
            value = narrowed(static_cast<int32_t>(bits_of_float(value)), word);
        }
        const float scaled = value * (relu && !(value >= 0.0f) ? 0.0f : word.scale);
        if (dst == DataType::f16) {
            // Clips to the largest half, unlike F322F16 (the vendor's model of DEQF16).
            const uint16_t bits = float_to_half_bits(std::max(-65504.0f, std::min(65504.0f, scaled)));
            std::memcpy(out + i * 2, &bits, 2);
        } else {
            out[i] = to_byte(scaled, word);
        }
    }
}

}  // namespace

QuantWord quant_word(uint64_t word)
{
    QuantWord result;
    result.scale = float_of_bits(static_cast<uint32_t>(word) & 0xffffe000u);
    result.shift = static_cast<uint32_t>(word >> 32 & 0xf) + 1;
    result.narrowed = (word >> 36 & 1) != 0;
    const int32_t offset = static_cast<int32_t>(word >> 37 & 0x1ff);
    result.offset = offset >= 256 ? offset - 512 : offset;
    result.is_signed = (word >> 46 & 1) != 0;
    return result;
}

bool is_scaled(DataType dst, DataType src)
{
    return size_of(dst) == 1 || (src == DataType::i32 && dst == DataType::f16);
}

void quantize(DataType dst, DataType src, bool relu, bool saturates, const uint64_t* words, bool per_value,
    const uint8_t* values, size_t count, uint8_t* out)
{
    if (is_scaled(dst, src)) {
        return scale_run(dst, src, relu, words, per_value, values, count, out);
    }
    if (src == DataType::i32) {
        int32_t buffer[most];
        std::memcpy(buffer, values, count * 4);
        for (size_t i = 0; i < count && relu; ++i) {
            buffer[i] = std::max(buffer[i], 0);
        }
        std::memcpy(out, buffer, count * 4);
        return;
    }
    float buffer[most];
    std::memcpy(buffer, values, count * 4);
    for (size_t i = 0; i < count && relu; ++i) {
        buffer[i] = buffer[i] <= 0.0f ? 0.0f : buffer[i];
    }
    from_float(dst, buffer, count, out);
    if (saturates && is_small_float(dst)) {
        saturate_small_floats(dst, reinterpret_cast<uint16_t*>(out), count);
    }
}

}  // namespace tile_simulator
