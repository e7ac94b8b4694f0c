// Waits for other ranks.
#pragma once

#include "core.h"

namespace tile_simulator {

// Who waits for cores of another rank needs all cores of its launch on their devices; else deadlock.
void require_rank_resident(Core& core, Use use);

}  // namespace tile_simulator
