// What is known to be complete: one counter per pipe of each core of a block, and per grid-wide flag.
//
// An access of pipe p with number n is ordered before an instruction exactly if the instruction's clock holds at
// least n for p.
#pragma once

#include <cstdint>

#include "core.h"

namespace tile_simulator {

constexpr int cores_per_block = 3;
// An agent is a pipe of a core, or the data cache of its scalar unit: it counts the times it was written back.
constexpr int agents_per_core = pipe_count + 1;
constexpr int agent_count = cores_per_block * agents_per_core;
constexpr int grid_slots = 8;  // distinct (kind of core, flag id) pairs of mode 0 in one launch

// Cores of a block are 0 (aic), 1 (aiv0) and 2 (aiv1).
inline int core_index(const Core& core)
{
    return core.is_vector() ? 1 + int(core.sub) : 0;
}
inline int agent_of(const Core& core, Pipe pipe)
{
    return core_index(core) * agents_per_core + int(pipe);
}
inline int cache_of(const Core& core)
{
    return core_index(core) * agents_per_core + pipe_count;
}
inline bool is_cache(int agent)
{
    return agent % agents_per_core == pipe_count;
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
