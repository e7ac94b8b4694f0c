// What is known to be complete: one counter per pipe of each core of a block, per grid-wide flag, and of what each core
// has taken over from other blocks through flags in GM (handover.h).
//
// An access of pipe p with number n is ordered before an instruction exactly if the instruction's clock holds at
// least n for p.
#pragma once

#include <cstdint>

#include "core.h"

namespace tile_simulator {

constexpr int cores_per_block = 3;
// An agent is a pipe of a core, the data cache of its scalar unit, which counts the times it was written back, or the
// scalar unit's stores past that cache, which counts the barriers that wait for them.
constexpr int agents_per_core = pipe_count + 2;
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
inline int cache_of(int core)
{
    return core * agents_per_core + pipe_count;
}
inline int bypass_of(const Core& core)
{
    return cache_of(core) + 1;
}
// What a core stores to the memory of other ranks is complete for other blocks once the core has waited for all of it
// (aclshmem_quiet): counts these waits. In the place of a pipe that the core lacks.
inline int remote_of(int core)
{
    return core * agents_per_core + int(core == 0 ? Pipe::v : Pipe::m);
}
// What a vector core has given to the engine that copies without cores is complete once the core has waited for it
// (aclshmemx_sdma_quiet): counts these waits, in the place of another pipe that it lacks.
inline int engine_of(int core)
{
    return core * agents_per_core + int(Pipe::mte1);
}
inline bool is_engine(int agent)
{
    return agent >= agents_per_core && agent % agents_per_core == int(Pipe::mte1);
}
inline bool is_cache(int agent)
{
    return agent % agents_per_core == pipe_count;
}
inline bool is_bypass(int agent)
{
    return agent % agents_per_core == pipe_count + 1;
}
// Where a clock counts what core `core` of the block has taken over.
inline int handovers_of(int core)
{
    return agent_count + grid_slots + core;
}

struct VectorClock {
    static constexpr int size = agent_count + grid_slots + cores_per_block;
    uint32_t at[size] = {};

    void join(const VectorClock& other)
    {
        for (int i = 0; i < size; ++i) {
            at[i] = at[i] > other.at[i] ? at[i] : other.at[i];
        }
    }
};

}  // namespace tile_simulator
