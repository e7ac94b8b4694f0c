// GetCmpMask and SetCmpMask.
#include "compare_mask.h"

#include <cstring>

#include "ascend_c/vector_select.h"
#include "instruction.h"

namespace tile_simulator {

void load_compare_mask(Core& core, LocalOperand tensor, const char* name, uint64_t bytes, uint32_t alignment, Use use)
{
    require_memory(tensor, Memory::ub, name, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 1;
    const int operand =
        instruction.local(name, false, tensor, Memory::ub, Region::bytes(tensor.address, bytes), alignment);
    instruction.issue();
    std::memcpy(core.compare_mask, instruction.data(operand), bytes);
    mark_known(core, Register::compare_mask);
}

void move_compare_mask(LocalOperand tensor, bool to_register, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (to_register) {
        return load_compare_mask(core, tensor, "src", 16, 16, use);
    }
    require_memory(tensor, Memory::ub, "dst", use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 1;
    const int operand = instruction.local("dst", true, tensor, Memory::ub, Region::bytes(tensor.address, 16), 16);
    instruction.issue();
    std::memcpy(instruction.data(operand), core.compare_mask, 16);
}

}  // namespace tile_simulator
