// Cast between half and four-bit integers, of which a byte holds two.
#pragma once

#include "ascend_c/vector_cast.h"
#include "instruction.h"

namespace tile_simulator {

// The pair and the mode are known to be legal.
void cast_int4(Core& core, LocalOperand dst, LocalOperand src, AscendC::RoundMode mode, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use);

}  // namespace tile_simulator
