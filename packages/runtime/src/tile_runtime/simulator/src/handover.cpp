#include "handover.h"

#include <algorithm>

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

ForeignPointer common(const ForeignPointer& a, const ForeignPointer& b)
{
    if (a == nullptr || b == nullptr || a == b) {
        return a == b ? a : nullptr;
    }
    auto both = std::make_shared<Foreign>();
    for (const auto& [block, clock] : *a) {
        const auto other = b->find(block);
        if (other == b->end()) {
            continue;
        }
        VectorClock& least = (*both)[block];
        for (int i = 0; i < VectorClock::size; ++i) {
            least.at[i] = std::min(clock.at[i], other->second.at[i]);
        }
    }
    return both;
}

ForeignPointer all_of(const Handover& handover)
{
    auto own = std::make_shared<Foreign>();
    (*own)[handover.block] = handover.clock;
    return joined(handover.foreign, own);
}

bool knows_later_round(const Foreign& known, uint32_t first, uint32_t end, const uint32_t* rounds)
{
    for (auto entry = known.lower_bound(first); entry != known.end() && entry->first < end; ++entry) {
        for (int slot = 0; slot < grid_slots; ++slot) {
            if (entry->second.at[agent_count + slot] > rounds[slot]) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tile_simulator
