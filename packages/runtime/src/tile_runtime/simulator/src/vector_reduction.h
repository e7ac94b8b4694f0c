// Reductions of one instruction that have no API of their own: what ReduceSum and its kin are made of.
#pragma once

#include "core.h"

namespace tile_simulator {

// All lanes of all repeats into the accumulator register; nothing is written to UB.
void accumulate_sum(Core& core, LocalOperand src, const VectorForm& form, Use use);

}  // namespace tile_simulator
