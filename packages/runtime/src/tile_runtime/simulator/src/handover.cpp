#include "handover.h"

#include <algorithm>
#include <utility>

namespace tile_simulator {
namespace {

// Both clocks together: one of them, if it holds all that the other does.
Foreign::Clock later_of(const Foreign::Clock& a, const Foreign::Clock& b)
{
    bool as_a = true;
    bool as_b = true;
    for (int i = 0; i < VectorClock::size && a != b; ++i) {
        as_a = as_a && a->at[i] >= b->at[i];
        as_b = as_b && b->at[i] >= a->at[i];
    }
    if (as_a || as_b) {
        return as_a ? a : b;
    }
    auto both = std::make_shared<VectorClock>(*a);
    both->join(*b);
    return both;
}

}  // namespace

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
    auto both = std::make_shared<Foreign>();
    both->reserve(std::max(a->all().size(), b->all().size()));
    bool as_a = true;
    bool as_b = true;
    const auto add = [&](uint32_t block, const Foreign::Clock& clock, const Foreign::Clock* of_a,
                         const Foreign::Clock* of_b) {
        as_a = as_a && of_a != nullptr && clock == *of_a;
        as_b = as_b && of_b != nullptr && clock == *of_b;
        both->append(block, clock);
    };
    auto one = a->all().begin();
    auto other = b->all().begin();
    while (one != a->all().end() || other != b->all().end()) {
        if (other == b->all().end() || (one != a->all().end() && one->block < other->block)) {
            add(one->block, one->clock, &one->clock, nullptr);
            ++one;
        } else if (one == a->all().end() || other->block < one->block) {
            add(other->block, other->clock, nullptr, &other->clock);
            ++other;
        } else {
            add(one->block, later_of(one->clock, other->clock), &one->clock, &other->clock);
            ++one;
            ++other;
        }
    }
    return as_a ? a : as_b ? b : ForeignPointer(std::move(both));
}

ForeignPointer common(const ForeignPointer& a, const ForeignPointer& b)
{
    if (a == nullptr || b == nullptr || a == b) {
        return a == b ? a : nullptr;
    }
    auto both = std::make_shared<Foreign>();
    for (const auto& [block, clock] : a->all()) {
        const VectorClock* other = b->of(block);
        if (other == nullptr || other == clock.get()) {
            if (other != nullptr) {
                both->append(block, clock);
            }
            continue;
        }
        auto least = std::make_shared<VectorClock>(*clock);
        for (int i = 0; i < VectorClock::size; ++i) {
            least->at[i] = std::min(least->at[i], other->at[i]);
        }
        both->append(block, std::move(least));
    }
    return both;
}

ForeignPointer known_of(uint32_t block, const VectorClock& clock)
{
    auto known = std::make_shared<Foreign>();
    known->append(block, std::make_shared<VectorClock>(clock));
    return known;
}

ForeignPointer all_of(const Handover& handover)
{
    return joined(handover.foreign, known_of(handover.block, handover.clock));
}

bool knows_later_round(const Foreign& known, uint32_t first, uint32_t end, const uint32_t* rounds)
{
    for (auto entry = known.from(first); entry != known.all().end() && entry->block < end; ++entry) {
        for (int slot = 0; slot < grid_slots; ++slot) {
            if (entry->clock->at[agent_count + slot] > rounds[slot]) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace tile_simulator
