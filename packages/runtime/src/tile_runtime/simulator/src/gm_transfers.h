// Transfers between GM and cores, each in parts: what L2 has to write back first, what is not in L2, what is.
#pragma once

#include "gm_traffic.h"
#include "l2_cache.h"

namespace tile_simulator {

class GmTransfers {
public:
    struct Ended {
        uint64_t owner;
        double bytes;
        double missed;  // share that was read from HBM
        double slowed;  // cycles it took longer than alone
    };

    GmTransfers(const TileTiming& timing, const GlobalBuffers& buffers);

    // Transfers begin in the order of time. The `owner` comes back when it ends.
    void begin(double time, uint64_t owner, const TimeEvent& event, const Region& region);
    // When the next part of a transfer is done, or infinity.
    double next() const { return traffic_.next(); }
    // Goes there; true if it was the last of its transfer.
    bool finish(Ended& ended);

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
        Part parts[3];  // to do, the next one last
        int left;
    };

    void start_part(double time, uint32_t number);

    L2Cache cache_;
    GmTraffic traffic_;
    const uint64_t burst_;
    std::vector<Transfer> transfers_;
    std::vector<uint32_t> idle_;
};

}  // namespace tile_simulator
