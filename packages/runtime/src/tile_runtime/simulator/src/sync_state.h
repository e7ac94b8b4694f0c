// Flag state that the scheduler needs.
#pragma once

#include "core.h"

namespace tile_simulator {

Pipe pipe_of(pipe_t pipe);

// Takes completed grid-wide rounds into the counter; true if a wait on `id` can go on.
bool cross_flag_ready(Core& core, int id);
// Raises flag-left-set if a flag of the core is still set when its kernel ends.
void check_flags_at_exit(Core& core);
// The same for cross-core counters, once every core of the block has ended.
void check_cross_flags_at_exit(Block& block);
// At strict level: every scalar store to GM must have been written back.
void check_cache_at_exit(Core& core);

}  // namespace tile_simulator
