// Which conversions Fixpipe has, and the limits of its parameters (docs/hardware/units.md#fixpipe).
#pragma once

#include "ascend_c/fixpipe.h"
#include "core.h"

namespace tile_simulator {

// A scale per column, from a table in FB.
bool is_vector_mode(QuantMode_t mode);
// One scale for all, from a register.
bool is_scaled_mode(QuantMode_t mode);
// Raises what the chip or its documentation does not allow. `has_scales`: a table of scales is there.
void check_fixpipe(const Core& core, DataType dst, LocalOperand src, const AscendC::FixpipeParamsV220& params,
    AscendC::CO2Layout layout, bool to_l1, bool has_scales, Use use);

}  // namespace tile_simulator
