// The accesses of one block to GM: conflicts inside the block at once, and a record for the comparison of blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "byte_set.h"
#include "shadow.h"
#include "stored_bytes.h"

namespace tile_simulator {

struct GlobalBuffer;

// One access as it is compared with those of other blocks (grid_races.h).
struct GlobalAccess {
    const GlobalBuffer* buffer;
    Region region;
    uint32_t access;    // index in the block's log
    uint32_t interval;  // number of grid-wide sets and waits of the block before it
    uint32_t rounds;    // index of the grid-wide rounds known to be complete (OrderChecks::rounds_known)
    uint64_t bytes = 0;  // of a write: where its bytes begin in GlobalAccesses::stored(), or `not_known`
    ByteSet* scattered = nullptr;  // the bytes, where they are no region
    uint32_t waits = 0;  // Present::waits
    uint32_t written_back[cores_per_block] = {};  // how often each data cache of the block was, by what it knows
};

// Whether an access is complete by a clock for other blocks. What is stored to another rank takes a wait of the core.
inline bool complete_by(const VectorClock& clock, const Access& access, uint32_t waits)
{
    return waits == 0 ? clock.at[access.agent] >= access.number
                      : clock.at[remote_of(access.agent / agents_per_core)] >= waits;
}

constexpr uint64_t not_known = ~uint64_t(0);

class GlobalAccesses {
public:
    void clear();

    // Records an access and returns the first conflict within the block; its bytes count from the start of the buffer.
    // Writes that are conflicts unless they write the same are added to `doubts`, with addresses.
    Conflict touch(const GlobalBuffer& buffer, const Region& region, uint32_t index, AccessLog& log,
        const Present& now, uint32_t interval, uint32_t rounds, std::vector<Doubt>& doubts);

    // The same for the rest of a line that a data cache fetches. Who else has the line is seen by what it stores.
    Conflict touch_line(const GlobalBuffer& buffer, const Region& region, uint32_t index, AccessLog& log,
        const Present& now, std::vector<Doubt>& doubts)
    {
        return touch_region(buffer, region, index, log, now, doubts);
    }

    // Keeps the bytes of the writes since the last call, by core, as they are now: before the block goes on in another
    // interval, and at its end.
    void keep_stored(const StoredBytes* cores, const AccessLog& log);

    void keep(std::vector<uint32_t>& kept) const;
    void renumber(const std::vector<uint32_t>& numbers);

    const std::vector<GlobalAccess>& all() const { return accesses_; }
    const Shadow& shadow() const { return shadow_; }
    std::vector<uint8_t>& stored() { return stored_; }
    std::deque<ByteSet>& scattered() { return scattered_; }

private:
    static constexpr uint64_t page_bytes = 1024;

    struct State {
        bool written = false;
        std::vector<uint32_t> reads;  // indices of accesses_, not yet in the shadow
    };

    Conflict touch_scattered(const GlobalBuffer& buffer, const ByteSet& bytes, uint32_t index, AccessLog& log,
        const Present& now, std::vector<Doubt>& doubts);
    Conflict touch_region(const GlobalBuffer& buffer, const Region& region, uint32_t index, AccessLog& log,
        const Present& now, std::vector<Doubt>& doubts);
    Conflict touch_run(const GlobalBuffer& buffer, uint64_t begin, uint64_t end, uint32_t index, AccessLog& log,
        const Present& now, std::vector<Doubt>& doubts);
    // Start in the shadow of a page of a buffer.
    uint64_t page_of(const GlobalBuffer& buffer, uint64_t page);
    // Index of the record, and whether the same access was recorded before.
    std::pair<uint32_t, bool> record(const GlobalAccess& access, const Access& details, const AccessLog& log);
    std::pair<uint32_t, bool> record_apart(const GlobalAccess& access, const Access& details, const AccessLog& log);
    bool continue_row(uint32_t place, const GlobalAccess& access, const Access& details, const AccessLog& log);

    Shadow shadow_;
    std::unordered_map<uint64_t, uint64_t> pages_;  // buffer and page number to the start in the shadow
    std::unordered_map<const GlobalBuffer*, State> states_;
    std::vector<GlobalAccess> accesses_;
    std::unordered_multimap<uint64_t, uint32_t> index_;  // hash of an access to its place in accesses_
    std::unordered_map<uint64_t, uint32_t> rows_;  // hash without the region to the latest access of the scalar unit
    uint64_t used_bytes_ = 0;
    std::deque<ByteSet> scattered_;
    size_t kept_ = 0;  // the accesses before this one have their bytes in stored_
    std::vector<uint8_t> stored_;
};

}  // namespace tile_simulator
