// The accesses of one block to GM: conflicts inside the block at once, and a record for the comparison of blocks.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shadow.h"

namespace tile_simulator {

struct GlobalBuffer;

// One access as it is compared with those of other blocks (grid_races.h).
struct GlobalAccess {
    const GlobalBuffer* buffer;
    Region region;
    uint32_t access;    // index in the block's log
    uint32_t interval;  // number of grid-wide sets and waits of the block before it
    uint32_t rounds;    // index of the grid-wide rounds known to be complete (OrderChecks::rounds_known)
};

class GlobalAccesses {
public:
    void clear();

    // Records an access and returns the first conflict within the block; its bytes count from the start of the buffer.
    Conflict touch(const GlobalBuffer& buffer, const Region& region, uint32_t index, const AccessLog& log,
        const Present& now, uint32_t interval, uint32_t rounds);

    const std::vector<GlobalAccess>& all() const { return accesses_; }

private:
    static constexpr uint64_t page_bytes = 1024;

    struct State {
        bool written = false;
        std::vector<uint32_t> reads;  // indices of accesses_, not yet in the shadow
    };

    Conflict touch_region(const GlobalBuffer& buffer, const Region& region, uint32_t index, const AccessLog& log,
        const Present& now);
    Conflict touch_run(const GlobalBuffer& buffer, uint64_t begin, uint64_t end, uint32_t index, const AccessLog& log,
        const Present& now);
    // Start in the shadow of a page of a buffer.
    uint64_t page_of(const GlobalBuffer& buffer, uint64_t page);
    // Index of the record, and whether the same access was recorded before.
    std::pair<uint32_t, bool> record(const GlobalAccess& access, const Access& details, const AccessLog& log);

    Shadow shadow_;
    std::unordered_map<uint64_t, uint64_t> pages_;  // buffer and page number to the start in the shadow
    std::unordered_map<const GlobalBuffer*, State> states_;
    std::vector<GlobalAccess> accesses_;
    std::unordered_multimap<uint64_t, uint32_t> index_;  // hash of an access to its place in accesses_
    uint64_t used_bytes_ = 0;
};

}  // namespace tile_simulator
