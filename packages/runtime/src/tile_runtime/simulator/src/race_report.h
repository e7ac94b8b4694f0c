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
Fault line_race_report(const Access& first, const Access& second, const std::string& bytes);

// An access of a block.
struct BlockAccess {
    const Access& access;
    std::string block;  // "block 3", or "rank 1, block 3"
    int32_t rank;       // -1: the launch has one
    int32_t owner;      // of the memory
    bool put;           // a store to the memory of another rank
};

// The same for accesses of two blocks, of one rank or of two.
Fault grid_race_report(const BlockAccess& first, const BlockAccess& second, const std::string& bytes);
// `one_line_only`: they share no byte, but a line that the scalar unit of one writes back.
Fault rank_race_report(
    const BlockAccess& first, const BlockAccess& second, bool one_line_only, const std::string& bytes);
Fault grid_redundant_store_report(const BlockAccess& first, const BlockAccess& second, const std::string& bytes);

}  // namespace tile_simulator
