#include "handover.h"

namespace tile_simulator {

bool Handover::covers(const Handover& other) const
{
    for (int i = 0; i < VectorClock::size; ++i) {
        if (clock.at[i] < other.clock.at[i]) {
            return false;
        }
    }
    // What a core knows of others only grows, and with it the counts in its clock.
    return true;
}

VectorClock rounds_of(const VectorClock& clock)
{
    VectorClock rounds;
    for (int slot = agent_count; slot < agent_count + grid_slots; ++slot) {
        rounds.at[slot] = clock.at[slot];
    }
    return rounds;
}

ForeignPointer joined(const ForeignPointer& a, const ForeignPointer& b)
{
    if (a == nullptr || b == nullptr || a == b) {
        return a != nullptr ? a : b;
    }
    auto both = std::make_shared<Foreign>(*a);
    for (const auto& [block, clock] : *b) {
        (*both)[block].join(clock);
    }
    return both;
}

}  // namespace tile_simulator
