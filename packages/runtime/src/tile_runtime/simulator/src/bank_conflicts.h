// Extra cycles of vector instructions whose operands meet in one bank group of UB (docs/hardware/memories.md#banks).
#pragma once

#include <cstdint>

#include "instruction.h"

namespace tile_simulator {

uint64_t bank_conflict_cycles(const Instruction& instruction);

}  // namespace tile_simulator
