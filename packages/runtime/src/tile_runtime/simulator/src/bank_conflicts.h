// Extra cycles of vector instructions whose operands meet in one bank group of UB (docs/hardware/units.md#banks).
#pragma once

#include <cstdint>
#include <vector>

#include "instruction.h"

namespace tile_simulator {

// An operand of a vector instruction that lies in UB.
struct BankOperand {
    const char* name;
    bool write;
    uint32_t element;  // bytes
    Region region;
    Buffer buffer;
};

std::vector<BankOperand> bank_operands(const Instruction& instruction);

// Cycles that an instruction takes longer because of its banks; `passes` are those over the operands of a repeat.
uint64_t bank_conflict_cycles(const std::vector<BankOperand>& operands, uint64_t passes);

}  // namespace tile_simulator
