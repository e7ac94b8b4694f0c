// What Fixpipe does to the values of a row on their way out of L0C: ReLU, scale, offset, conversion.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascend_c/operand.h"

namespace tile_simulator {

// A quantisation parameter, taken apart (the vendor's page on quantisation, table QUANT_PRE of NPU architecture 2201).
struct QuantWord {
    float scale;     // sign, 8 exponent and 10 mantissa bits: the low 13 of a float are dropped
    uint32_t shift;  // right shift of an int32 before it becomes int16, if narrowed
    bool narrowed;
    int32_t offset;  // added after scaling, 8-bit destinations
    bool is_signed;  // clips to int8, otherwise to uint8
};

QuantWord quant_word(uint64_t word);

// Converts `count` values of 32 bits from `values` to `out`. `words` holds one word per value if `per_value`, else one
// for all; it is not read where the pair of types needs no scale. With `saturates`, floats that become half or bfloat16
// end at its largest value.
void quantize(DataType dst, DataType src, bool relu, bool saturates, const uint64_t* words, bool per_value,
    const uint8_t* values, size_t count, uint8_t* out);

// Whether a pair of types is scaled.
bool is_scaled(DataType dst, DataType src);

}  // namespace tile_simulator
