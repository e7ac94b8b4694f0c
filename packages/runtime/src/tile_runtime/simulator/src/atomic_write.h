// Writes of DMA results to GM, plain or atomic.
#pragma once

#include "core.h"

namespace tile_simulator {

// Raises bad-argument if the atomic type differs from the destination's.
void check_atomic_type(const Core& core, DataType destination, Use use);
// Stores `bytes` bytes, combined with what GM holds if the core's atomic mode is on.
void write_global(Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes);

// The same for a mode, without any check; `processes` may be adding to the same memory.
void update_global(AtomicKind kind, DataType type, bool saturates, uint8_t* target, const uint8_t* source,
    uint64_t bytes, const TileProcesses* processes);

}  // namespace tile_simulator
