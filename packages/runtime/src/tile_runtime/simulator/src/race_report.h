// The words of a race: both accesses, the bytes, and the order that is missing.
#pragma once

#include <string>

#include "access.h"
#include "shadow.h"

namespace tile_simulator {

// "the UB buffer made at k.cpp:12", or the memory alone where the buffer is not known.
std::string buffer_text(Memory memory, const Buffer& buffer);

Fault race_report(
    const Instruction& instruction, const Operand& operand, AccessKind kind, const Access& earlier,
    const Conflict& conflict);

// The same for accesses of two blocks.
Fault grid_race_report(const Access& first, uint32_t first_block, const Access& second, uint32_t second_block,
    const std::string& bytes);

}  // namespace tile_simulator
