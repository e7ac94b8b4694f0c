// The exact bytes an operand touches where they form no single pattern: lanes chosen bit by bit, gathered elements,
// lists of addresses. Runs of equal length at equal distances become one region each.
#pragma once

#include <vector>

#include "instruction.h"

namespace tile_simulator {

struct Run {
    uint64_t start;
    uint64_t length;
};

// As few regions as the runs form, each repeated `outer` times. Runs may come in any order and overlap.
std::vector<Region> regions_of(std::vector<Run> runs, uint64_t outer = 1, uint64_t outer_stride = 0);

// The one region that covers them all.
Region covering(const std::vector<Region>& regions);

// True if a byte belongs to both.
bool share_bytes(std::vector<Run> a, std::vector<Run> b);

// Adds read operands. An instruction holds few operands: what does not fit is read by parts of the instruction that
// are issued at once, ahead of it, and take no time of their own.
void add_reads(
    Instruction& instruction, const char* name, const LocalOperand& tensor, const std::vector<Region>& regions);

// The start of a tensor whose regions need not begin there.
void require_aligned(const Core& core, const char* name, const LocalOperand& tensor, uint32_t alignment, Use use);

// Host address of a UB operand; valid once its bytes are known to lie in UB.
inline uint8_t* ub_data(Core& core, uint64_t address)
{
    return core.memory(Memory::ub).data() + address;
}

// True if [address, address + bytes) lies in UB: what an instruction has to know before it is issued.
inline bool in_ub(Core& core, uint64_t address, uint64_t bytes)
{
    return address + bytes <= core.memory(Memory::ub).bytes();
}

}  // namespace tile_simulator
