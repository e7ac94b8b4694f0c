// Flag state that the scheduler needs.
#pragma once

#include <string>

#include "core.h"

namespace tile_simulator {

Pipe pipe_of(pipe_t pipe);

// Takes completed grid-wide rounds into the counter; true if a wait on `id` can go on.
bool cross_flag_ready(Core& core, int id);
// True if a set of `id` leaves every counter it raises within its limit.
bool cross_flag_has_room(Core& core, int id, uint32_t mode);
// What is wrong with a counter that would reach more than it holds.
std::string overflow_text(const char* api, const Core& target, int id, uint32_t count);
// Raises flag-left-set if a flag of the core is still set when its kernel ends.
void check_flags_at_exit(Core& core);
// At strict level: every scalar store to GM must have been written back.
void check_cache_at_exit(Core& core);

}  // namespace tile_simulator
