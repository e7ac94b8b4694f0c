// Registers that a kernel sets for later copies from L0C: tables of scales, ND matrices, one scale.
#include "ascend_c/fixpipe.h"
#include "instruction.h"

namespace tile_simulator {

void set_fixpipe_tables(const LocalOperand* relu, const LocalOperand* quant, bool reset_unit_flags, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aic)) {
        return;
    }
    if (reset_unit_flags) {
        core.cube.full_units.reset();
    }
    // A call for the unit flags alone may name a tensor of L0C.
    if (quant != nullptr && !(reset_unit_flags && memory_of(quant->position) == Memory::l0c)) {
        require_memory(*quant, Memory::fixpipe, "quantPre", use);
        core.cube.quant_address = quant->address;
        core.cube.has_quant_table = true;
    }
    if (relu != nullptr && memory_of(relu->position) != Memory::gm) {
        require_memory(*relu, Memory::fixpipe, "reluPre", use);
    }
}

void set_fixpipe_matrices(uint32_t count, uint32_t src_stride, uint32_t dst_stride, Use use)
{
    Core& core = core_of(use);
    require_range(core, "ndNum", count, 1, 65535, use);
    require_range(core, "srcNdStride", src_stride, 0, 512, use);
    require_range(core, "dstNdStride", dst_stride, 0, 65535, use);
    core.cube.nd_count = count;
    core.cube.src_nd_stride = src_stride;
    core.cube.dst_nd_stride = dst_stride;
    record_setting(core, Register::nd_matrices, use);
}

void set_fixpipe_scale(uint64_t word, Use use)
{
    Core& core = core_of(use);
    core.cube.pre_quant = word;
    record_setting(core, Register::pre_quantization, use);
}

}  // namespace tile_simulator
