// Order between two pipes inside an API that works on both, as the device headers make it: with a free flag.
#pragma once

#include "core.h"

namespace tile_simulator {

// Sets a flag from the vector pipe to the scalar one, or back, and waits for it.
void vector_to_scalar(Core& core, Use use);
void scalar_to_vector(Core& core, Use use);
void scalar_to_mte3(Core& core, Use use);

}  // namespace tile_simulator
