// The 8 KB at the end of UB that some APIs use as temporary space (CANN headers, TMP_UB_OFFSET and TMP_UB_SIZE).
#pragma once

#include "ascend_c/operand.h"

namespace tile_simulator {

constexpr uint32_t reserved_ub_start = 184 * 1024;
constexpr uint32_t reserved_ub_bytes = 8 * 1024;

inline LocalOperand reserved_ub(DataType type)
{
    return {reserved_ub_start, static_cast<uint8_t>(AscendC::TPosition::VECCALC), type, Buffer{}};
}

}  // namespace tile_simulator
