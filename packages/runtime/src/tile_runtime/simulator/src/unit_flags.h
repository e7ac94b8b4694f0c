// Unit flags of L0C: with unitFlag 2 or 3 Mmad and Fixpipe pass every 512 B to each other (the vendor's UnitFlag page).
#pragma once

#include "core.h"
#include "instruction.h"

namespace tile_simulator {

// An Mmad that writes `region`: every unit must be free; with unitFlag 3 they are then full.
void unit_flags_write(Core& core, const Region& region, uint32_t unit_flag, Use use);
// A Fixpipe that reads `region`: every unit must be full; with unitFlag 3 they are then free.
void unit_flags_read(Core& core, const Region& region, uint32_t unit_flag, Use use);

}  // namespace tile_simulator
