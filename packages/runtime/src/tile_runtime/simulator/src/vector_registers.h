// Special registers of the vector unit: results that a later scalar API reads, and settings of quantising APIs.
#pragma once

#include <cstdint>

#include "ascend_c/operand.h"

namespace tile_simulator {

struct VectorRegisters {
    uint64_t kept = 0;  // elements the last GatherMask kept

    uint16_t merged[4] = {0, 0, 0, 0};  // pairs the last MrgSort took from each list
    bool merge_suspends = false;        // that MrgSort stopped at the first exhausted list

    DataType sum_type = DataType::other;  // of the last ReduceSum(count); other: there was none
    uint32_t sum = 0;

    DataType extremum_type = DataType::other;  // of the last maximum or minimum; other: none the register can tell
    uint32_t extremum = 0;
    uint32_t extremum_index = 0;

    // What SetDeqScale was called with last (the vendor's page SetDeqScale, table 1).
    enum class Dequantization : uint8_t { half_scale, one, table };
    Dequantization dequantization = Dequantization::half_scale;
    uint64_t dequantization_config = 0;  // scale, offset and sign in one word
    LocalOperand dequantization_table{};  // 16 such words
};

}  // namespace tile_simulator
