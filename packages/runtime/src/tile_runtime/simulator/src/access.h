// Accesses to memory as the order checks remember them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "instruction.h"
#include "vector_clock.h"

namespace tile_simulator {

// Number of a flag between two pipes of a core among those of the block.
inline int flag_key(const Core& core, Pipe source, Pipe target, int id)
{
    return ((core_index(core) * pipe_count + int(source)) * pipe_count + int(target)) * event_ids + id;
}

// `line`: bytes that a data cache fetches for a store beside them, and writes back as they were. `signal`: of a word, by
// the library for ranks; signals among themselves are its affair (signal_words.h).
enum class AccessKind : uint8_t { read, write, atomic, line, signal };

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
    uint32_t also = 0;  // an earlier write of the same bytes by another core, which nothing orders before this one
};

class SyncNeeds;

// The clock of the instruction that is being checked, and who it is.
struct Present {
    VectorClock clock;
    SyncNeeds* needs = nullptr;  // of a timed launch: is told which orders accesses need
    uint32_t number = 0;
    uint32_t composed = 0;
    uint32_t waits = 0;  // of a store to another rank: number of the wait after which it is complete (remote_of)
    uint8_t agent = 0;

    bool follows(const Access& earlier) const
    {
        return clock.at[earlier.agent] >= earlier.number ||
               (earlier.agent == agent && earlier.number == number) ||
               (composed != 0 && earlier.composed == composed &&
                   earlier.agent / agents_per_core == agent / agents_per_core);
    }
    // The order after an access that `follows` is needed.
    void rely_on(const Access& earlier) const
    {
        if (needs != nullptr) {
            record_need(earlier);
        }
    }

private:
    void record_need(const Access& earlier) const;
};

// Plain writes of two cores: whether they are in each other's way is a question of the bytes they write.
inline bool may_agree(const Access& a, const Access& b)
{
    return a.kind == AccessKind::write && b.kind == AccessKind::write &&
           a.agent / agents_per_core != b.agent / agents_per_core;
}

// Two accesses of which one writes, unless both are atomic. Lines of two data caches are compared as a whole, at the end
// (grid_races.h).
inline bool conflicting(const Access& a, const Access& b)
{
    const auto updates = [](const Access& x) { return x.kind == AccessKind::atomic || x.kind == AccessKind::signal; };
    const auto writes = [&](const Access& x) { return x.kind == AccessKind::write || updates(x); };
    if (a.kind == AccessKind::line || b.kind == AccessKind::line) {
        return (writes(a) || writes(b)) && !(is_cache(a.agent) && is_cache(b.agent));
    }
    return (writes(a) || writes(b)) && !(updates(a) && updates(b));
}

// Accesses of a block by index; 0 stands for none.
class AccessLog {
public:
    AccessLog() { clear(); }
    void clear()
    {
        accesses_.assign(1, Access{});
        joined_[0] = 0;
        forget_lately();
    }
    uint32_t add(const Access& access)
    {
        accesses_.push_back(access);
        return static_cast<uint32_t>(accesses_.size() - 1);
    }
    // The same, but an access that differs in nothing from one that was added lately is that one.
    uint32_t add_once(const Access& access);
    const Access& operator[](uint32_t index) const { return accesses_[index]; }
    // The first of an access and those that stand beside it that is not ordered before the present one; 0 if all are.
    uint32_t unordered(uint32_t index, const Present& now) const
    {
        while (index != 0 && now.follows(accesses_[index])) {
            now.rely_on(accesses_[index]);
            index = accesses_[index].also;
        }
        return index;
    }
    size_t size() const { return accesses_.size(); }
    template <class F>
    void renumber_accesses(const F& number_of)
    {
        for (Access& access : accesses_) {
            access.number = number_of(access);
        }
    }
    // Forgets the accesses that are not `kept`, and those that stand beside none of them; of stores by a data cache that
    // differ in nothing, all but one. Afterwards kept[i] is the new index of access i; the order stays.
    void compact(std::vector<uint32_t>& kept);
    // A record of `index` that stands for the unordered writes among `earlier` and those beside it, too.
    uint32_t join(uint32_t index, uint32_t earlier, const Present& now);

private:
    std::vector<Access> accesses_;
    void forget_lately() { std::fill(std::begin(lately_), std::end(lately_), 0); }

    static constexpr size_t remembered = 64;
    uint32_t lately_[remembered] = {};  // by hash
    uint32_t joined_[3] = {};  // the latest join: index, earlier, result
};

}  // namespace tile_simulator
