// Names of what is known of other blocks, for those who only pass it on (handover.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>

namespace tile_simulator {

struct VectorClock;

// What is known to be complete in other blocks, by block.
using Foreign = std::map<uint32_t, VectorClock>;
using ForeignPointer = std::shared_ptr<const Foreign>;  // null: nothing

}  // namespace tile_simulator
