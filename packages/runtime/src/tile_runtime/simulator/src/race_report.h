// The words of a race: both accesses, the bytes, and the order that is missing.
#pragma once

#include <string>

#include "access.h"
#include "shadow.h"

namespace tile_simulator {

struct GlobalBuffer;

// "the UB buffer made at k.cpp:12", or the memory alone where the buffer is not known.
std::string buffer_text(Memory memory, const Buffer& buffer);

Fault race_report(
    const Instruction& instruction, const Operand& operand, AccessKind kind, const Access& earlier,
    const Conflict& conflict);

// "bytes [0, 64) of GM buffer 'out'", from addresses.
std::string bytes_of(const GlobalBuffer& buffer, uint64_t begin, uint64_t end);

// Two cores of a block that store to the same bytes of GM, unordered: other values, or the same ones.
Fault store_race_report(const Access& earlier, const Access& later, const std::string& bytes);
Fault redundant_store_report(const Access& earlier, const Access& later, const std::string& bytes);

// Two cores of a block whose scalar units store to one line.
Fault line_race_report(const Access& first, const Access& second, uint32_t block, const std::string& bytes);

// The same for accesses of two blocks.
Fault grid_race_report(const Access& first, uint32_t first_block, const Access& second, uint32_t second_block,
    const std::string& bytes);
Fault grid_redundant_store_report(const Access& first, uint32_t first_block, const Access& second,
    uint32_t second_block, const std::string& bytes);

}  // namespace tile_simulator
