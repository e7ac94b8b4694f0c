// The cross-core sets of a block that no wait has consumed, with their places, and the errors they are at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault.h"
#include "vector_clock.h"

namespace tile_simulator {

class Block;

// Sets that are left when a block ends: of one counter, or of one vector core whose partner does not set the flag.
struct LeftSets {
    uint32_t block = 0;
    uint32_t order = 0;  // of the block, as blocks start
    int core = 0;        // in its block
    int id = 0;
    uint32_t mode = 0;             // 1 or 2: sets of this vector core alone; 0: of the counter
    std::vector<Use> raised;       // sets that have raised the counter
    std::vector<Use> joined;       // later sets of mode 0, whose rounds may never be complete
    uint32_t first_round = 0;      // of `joined`
};

class CrossSets {
public:
    struct PairedSet {
        VectorClock clock;
        Use use{};
    };

    void clear();

    // A set of mode 1 or 2 raised the counter of a core.
    void raise(int core, int id, Use use) { counters_[core][id].raised.push_back(use); }
    // A core joined a grid-wide round (mode 0); the round is complete and raises the counter.
    void join(int core, int id, Use use) { counters_[core][id].joined.push_back(use); }
    void complete_rounds(int core, int id, uint32_t rounds);
    // A wait consumed the earliest set.
    void wait(int core, int id);

    // Sets of the vector cores that need their partner's, oldest first.
    std::vector<PairedSet>& paired(uint32_t mode, int id, uint32_t sub) { return pairs_[mode - 1][id][sub]; }
    // " (of the vector cores only aiv0 has set it, at k.cpp:7)" for a core that waits for such a set; or nothing.
    std::string half_set_text(int core, int id) const;

    // Adds what is left of a block that has ended without an error.
    void collect(const Block& block, std::vector<LeftSets>& left) const;

private:
    struct Counter {
        std::vector<Use> raised;
        std::vector<Use> joined;
    };

    Counter counters_[cores_per_block][cross_flags];
    std::vector<PairedSet> pairs_[2][cross_flags][2];
};

// The errors that sets left by a block are, one for each line. `complete` is the number of complete rounds of mode 0;
// `all_ran` says that no block ended early, so that an incomplete round is the kernel's doing.
std::vector<Fault> left_set_faults(const LeftSets& left, uint32_t complete, bool all_ran);

}  // namespace tile_simulator
