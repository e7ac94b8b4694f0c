// Conflicting GM accesses of different blocks, found once a launch is over.
//
// Blocks run on several host threads, so they are compared afterwards and in the order of their numbers: the same
// launch gives the same report. Only grid-wide flags (mode 0) order accesses of two blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "order_checks.h"

namespace tile_simulator {

class GridRaces {
public:
    // Keeps what the comparison needs of a finished block. Called under the lock of the launch.
    void add(uint32_t block, const OrderChecks& order);
    // True if two blocks conflict; fills the report.
    bool find(Fault& fault);

private:
    struct Record {
        Region region;
        const GlobalBuffer* buffer;
        Access access;
        uint32_t block;
        uint32_t rounds[grid_slots];  // grid-wide rounds known to be complete before it
        uint32_t until[grid_slots];   // first round that starts after it is complete
    };
    struct Run {
        uint64_t begin;
        uint64_t end;
        uint32_t record;
    };

    static bool ordered(const Record& a, const Record& b);
    std::vector<Run> runs_of(const std::vector<uint32_t>& records) const;

    std::vector<Record> records_;
};

}  // namespace tile_simulator
