// What a core hands over with a value it stores to GM, and another takes over with the value when it sees it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "vector_clock.h"

namespace tile_simulator {

// What is known to be complete in other blocks, by block.
using Foreign = std::map<uint32_t, VectorClock>;
using ForeignPointer = std::shared_ptr<const Foreign>;  // null: nothing

struct Handover {
    uint32_t block = 0;
    VectorClock clock;
    ForeignPointer foreign;

    // True if this says all that `other` of the same block does.
    bool covers(const Handover& other) const;
};

// What means something to another block: the rounds, and neither pipes nor handovers.
VectorClock rounds_of(const VectorClock& clock);

// Both together.
ForeignPointer joined(const ForeignPointer& a, const ForeignPointer& b);

}  // namespace tile_simulator
