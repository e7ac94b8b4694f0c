// Accesses to memory as the order checks remember them.
#pragma once

#include <cstdint>
#include <vector>

#include "instruction.h"
#include "vector_clock.h"

namespace tile_simulator {

enum class AccessKind : uint8_t { read, write, atomic };

struct Access {
    const char* api;
    const char* file;
    const char* operand;
    Buffer buffer;
    uint32_t line;
    uint32_t number;    // of the instruction among those of its agent
    uint32_t composed;  // ComposedCall it belongs to, or 0
    uint8_t agent;
    AccessKind kind;
};

// The clock of the instruction that is being checked, and who it is.
struct Present {
    VectorClock clock;
    uint32_t number = 0;
    uint32_t composed = 0;
    uint8_t agent = 0;

    bool follows(const Access& earlier) const
    {
        return clock.at[earlier.agent] >= earlier.number ||
               (earlier.agent == agent && earlier.number == number) ||
               (composed != 0 && earlier.composed == composed &&
                   earlier.agent / agents_per_core == agent / agents_per_core);
    }
};

// Two accesses of which one writes, unless both are atomic.
inline bool conflicting(AccessKind a, AccessKind b)
{
    return a != AccessKind::read || b != AccessKind::read ? !(a == AccessKind::atomic && b == AccessKind::atomic)
                                                          : false;
}

// Accesses of a block by index; 0 stands for none.
class AccessLog {
public:
    AccessLog() { clear(); }
    void clear() { accesses_.assign(1, Access{}); }
    uint32_t add(const Access& access)
    {
        accesses_.push_back(access);
        return static_cast<uint32_t>(accesses_.size() - 1);
    }
    const Access& operator[](uint32_t index) const { return accesses_[index]; }

private:
    std::vector<Access> accesses_;
};

}  // namespace tile_simulator
