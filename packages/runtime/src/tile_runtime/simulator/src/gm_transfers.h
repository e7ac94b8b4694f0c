// Transfers between GM and cores, each in parts: what L2 has to write back first, what is not in L2, what is.
#pragma once

#include <unordered_map>

#include "gm_traffic.h"
#include "l2_cache.h"

namespace tile_simulator {

class GmTransfers {
public:
    struct Ended {
        uint64_t owner;
        double bytes;
        double missed;  // share that was not in L2: read from HBM, for this transfer or another, or written afresh
        double slowed;  // cycles it took longer than alone
        bool partial;   // writes parts of 32 B
    };

    GmTransfers(const TileTiming& timing, const GlobalBuffers& buffers);

    // Transfers begin in the order of time. The `owner` comes back when it ends.
    void begin(double time, uint64_t owner, const TimeEvent& event, const Region& region);
    // When the next part of a transfer is done, or infinity.
    double next() const { return due_.empty() ? traffic_.next() : due_time_; }
    // Goes there; true if it was the last of its transfer.
    bool finish(Ended& ended);

    // A transfer of another rank from or to this memory begins, which takes the way of its link. Returns the share of
    // it that is read from HBM.
    double serve(double time, bool load, const Region& region);
    void serve_others(double time, double hbm, double l2) { traffic_.serve_others(time, hbm, l2); }
    // Bytes per cycle that a core moves that way where nothing else limits it.
    double limit(Route route) const { return traffic_.limit(GmTraffic::in_l2(route)); }

    // Bytes written that L2 has not written back by then.
    uint64_t owed(double time) { return uint64_t(traffic_.owed(time)); }

    uint64_t read_bytes = 0;
    uint64_t write_bytes = 0;
    uint64_t hbm_bytes = 0;

private:
    struct Part {
        GmTraffic::Lane lane;
        double bytes;
    };
    struct Transfer {
        uint64_t owner;
        double began;
        double alone;
        double bytes;
        double missed;
        uint32_t brings;      // number under which others wait for what it reads
        uint32_t brought_by;  // transfer of which it reads what is still arriving
        bool partial;
        Part parts[4];  // to do, the next one last
        int left;
    };

    void start_part(double time, uint32_t number);
    void end(double time, uint32_t number, Ended& ended);

    L2Cache cache_;
    GmTraffic traffic_;
    const uint64_t burst_;
    std::vector<Transfer> transfers_;
    std::vector<uint32_t> idle_;
    uint32_t reads_ = 0;
    // Transfers that have moved all but must not end before another has: by its number, and those it no longer holds.
    std::unordered_map<uint32_t, std::vector<uint32_t>> waiting_;
    std::vector<uint32_t> due_;
    double due_time_ = 0;
};

}  // namespace tile_simulator
