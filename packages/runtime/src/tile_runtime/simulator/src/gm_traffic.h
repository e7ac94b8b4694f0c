// Transfers that share L2 and HBM: each moves at the rate of its route, or at its fair share of what the chip has.
//
// Flows of one class get the same rate, so that a class keeps one clock: the bytes each of its flows has moved so far.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "time_log.h"

namespace tile_simulator {

class GmTraffic {
public:
    GmTraffic(const TileTiming& timing);

    // A transfer of `bytes` that begins at `time`, the present; `id` comes back when it is done.
    void begin(double time, Route route, bool from_hbm, double bytes, uint32_t id);
    // When the next transfer is done, or infinity.
    double next() const;
    // Goes to next() and returns the transfer that is done.
    uint32_t finish();

private:
    struct Flow {
        double until;  // value of the class's clock at which it is done
        uint32_t id;
        bool operator>(const Flow& other) const
        {
            return until != other.until ? until > other.until : id > other.id;
        }
    };
    struct Class {
        double limit = 0;  // bytes per cycle of one flow
        double rate = 0;
        double moved = 0;
        bool hbm = false;
        std::priority_queue<Flow, std::vector<Flow>, std::greater<Flow>> flows;
    };

    void advance(double time);
    void share();
    double fair_rate(double capacity, bool hbm_only) const;

    double now_ = 0;
    double hbm_;
    double l2_;
    std::vector<Class> classes_;
};

}  // namespace tile_simulator
