// What is known to be complete: one counter per pipe of each core of a block, and per grid-wide flag.
//
// An access of pipe p with number n is ordered before an instruction exactly if the instruction's clock holds at
// least n for p.
#pragma once

#include <cstdint>

#include "core.h"

namespace tile_simulator {

constexpr int cores_per_block = 3;
constexpr int agent_count = cores_per_block * pipe_count;
constexpr int grid_slots = 11;  // distinct (kind of core, flag id) pairs of mode 0 in one launch

// Index of a pipe of a core of the block: 0..20. The core is 0 (aic), 1 (aiv0) or 2 (aiv1).
inline int agent_of(const Core& core, Pipe pipe)
{
    return (core.is_vector() ? 1 + int(core.sub) : 0) * pipe_count + int(pipe);
}

struct VectorClock {
    static constexpr int size = agent_count + grid_slots;
    uint32_t at[size] = {};

    void join(const VectorClock& other)
    {
        for (int i = 0; i < size; ++i) {
            at[i] = at[i] > other.at[i] ? at[i] : other.at[i];
        }
    }
};

}  // namespace tile_simulator
