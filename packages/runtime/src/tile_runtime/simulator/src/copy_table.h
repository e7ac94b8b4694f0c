// Copies from L1 into the two small tables of the cube: BT (bias) and FB (parameters of Fixpipe).
#pragma once

#include "ascend_c/data_copy.h"
#include "core.h"

namespace tile_simulator {

// Whether an operand is in one of the tables.
bool is_table(LocalOperand tensor);
void copy_to_table(Core& core, LocalOperand dst, LocalOperand src, const AscendC::DataCopyParams& params, Use use);
// `bytes` in a row.
void copy_to_table_count(Core& core, LocalOperand dst, LocalOperand src, uint64_t bytes, Use use);

}  // namespace tile_simulator
