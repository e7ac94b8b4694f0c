// What a core hands over with a value it stores to GM, and another takes over with the value when it sees it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "handover_pointer.h"
#include "vector_clock.h"

namespace tile_simulator {

struct Handover {
    uint32_t block = 0;
    VectorClock clock;
    ForeignPointer foreign;

    // True if this says all that `other` of the same block does.
    bool covers(const Handover& other) const;
};

// What means something to another block: the rounds, and neither pipes nor handovers.
VectorClock rounds_of(const VectorClock& clock);

// Both together, and what both have in common.
ForeignPointer joined(const ForeignPointer& a, const ForeignPointer& b);
ForeignPointer common(const ForeignPointer& a, const ForeignPointer& b);

// What a core has taken over as its `number`-th. A core that another one saw at a barrier may not have gone on from it
// yet: what it takes over there, the other one has taken over as well.
inline const ForeignPointer& taken_as(const std::vector<ForeignPointer>& taken, uint32_t number)
{
    return taken[std::min<size_t>(number, taken.size() - 1)];
}

// A handover as what it says of all blocks, its own among them.
ForeignPointer all_of(const Handover& handover);

// Whether blocks [first, end), those of a rank, are known to have left a grid-wide round later than `rounds`, by slot.
bool knows_later_round(const Foreign& known, uint32_t first, uint32_t end, const uint32_t* rounds);
// What is known of an agent's instructions.
inline bool knows_instruction(const Foreign& known, uint32_t block, int agent, uint32_t number)
{
    const auto found = known.find(block);
    return found != known.end() && found->second.at[agent] >= number;
}

}  // namespace tile_simulator
