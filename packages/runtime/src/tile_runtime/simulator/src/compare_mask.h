// The compare mask register: 128 bits that Compare can write and Select reads.
#pragma once

#include "core.h"

namespace tile_simulator {

// The first bytes of a tensor in UB into the register, of which a float repeat uses half.
void load_compare_mask(
    Core& core, LocalOperand tensor, const char* name, uint64_t bytes, uint32_t alignment, Use use);

}  // namespace tile_simulator
