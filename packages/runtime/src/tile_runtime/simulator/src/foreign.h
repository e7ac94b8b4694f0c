// What is known to be complete in other blocks: a clock for each of them. Clocks are shared by all who know the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "vector_clock.h"

namespace tile_simulator {

class Foreign {
public:
    using Clock = std::shared_ptr<const VectorClock>;
    struct Entry {
        uint32_t block;
        Clock clock;
    };

    // By number of the block.
    const std::vector<Entry>& all() const { return entries_; }
    // The clock of a block, or null.
    const VectorClock* of(uint32_t block) const
    {
        const auto found = from(block);
        return found != entries_.end() && found->block == block ? found->clock.get() : nullptr;
    }
    // The first entry that is not before a block.
    std::vector<Entry>::const_iterator from(uint32_t block) const
    {
        return std::lower_bound(entries_.begin(), entries_.end(), block,
            [](const Entry& entry, uint32_t wanted) { return entry.block < wanted; });
    }
    // Whether one of [block, end) has a clock.
    bool knows_any(uint32_t block, uint32_t end) const
    {
        const auto found = from(block);
        return found != entries_.end() && found->block < end;
    }
    // Of a block behind all that have one.
    void append(uint32_t block, Clock clock) { entries_.push_back({block, std::move(clock)}); }
    void reserve(size_t count) { entries_.reserve(count); }

private:
    std::vector<Entry> entries_;
};

// What a core knows of the stores of a block to one rank alone, after an aclshmem_fence, stands as the clock of a block
// behind all others.
inline uint32_t fenced_block(uint32_t block, uint32_t rank, uint32_t all_blocks)
{
    return all_blocks * (rank + 1) + block;
}

}  // namespace tile_simulator
