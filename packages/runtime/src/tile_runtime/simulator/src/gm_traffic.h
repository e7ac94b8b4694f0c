// Transfers that share L2 and HBM: each moves at the rate of its lane, or at its fair share of what the chip has.
//
// A lane is a way between GM and a core with a rate of its own. All transfers of a lane get the same rate, so that a
// lane keeps one clock: the bytes each of its transfers has moved so far.
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <vector>

#include "time_log.h"

namespace tile_simulator {

class GmTraffic {
public:
    using Lane = uint32_t;

    explicit GmTraffic(const TileTiming& timing);

    // Lines in L2, and lines that are not: read from HBM, or written where nothing was.
    static Lane in_l2(Route route) { return 2 * Lane(route); }
    static Lane cold(Route route) { return 2 * Lane(route) + 1; }
    // What L2 writes to HBM while a transfer waits for the room.
    static constexpr Lane write_back = 2 * route_count;
    // Reads of lines that come from HBM for another transfer: as slow, and no load on HBM.
    static Lane arriving(Route route) { return write_back + (route == Route::gm_ub ? 1 : 2); }
    // Reads past L2 that start at one address: together they get no more than one line's rate.
    Lane past_l2(Route route, uint64_t address);

    // A transfer of `bytes` that begins at `time`; `id` comes back when it is done.
    void begin(double time, Lane lane, double bytes, uint32_t id);
    // When the next transfer is done, or infinity.
    double next() const;
    // Goes to next() and returns the transfer that is done.
    uint32_t finish();
    // L2 writes lines back while HBM has nothing else to do. Tells of bytes that now differ from HBM, and of bytes
    // that have to leave for others; what L2 has not written back by then it owes.
    void change(double time, double bytes);
    void leave(double time, double bytes);
    // Takes over what L2 owes, in bytes of the lane write_back.
    double settle_debt();
    // Bytes changed that L2 has not written back by then.
    double owed(double time);
    // Bytes per cycle that other ranks move to and from this memory from now on; they come before its own cores.
    void serve_others(double time, double hbm, double l2);
    // Bytes per cycle of one transfer.
    double limit(Lane lane) const { return lanes_[lane].limit; }
    // Cycles it takes if nobody else moves anything.
    double alone(Lane lane, double bytes) const;

private:
    struct Flow {
        double until;  // value of the lane's clock at which it is done
        uint32_t id;
        bool operator>(const Flow& other) const
        {
            return until != other.until ? until > other.until : id > other.id;
        }
    };
    struct Flows {
        double limit = 0;  // bytes per cycle of one transfer
        bool hbm = false;
        bool one_line = false;  // limited together as well
        double rate = 0;
        double moved = 0;
        std::pair<Route, uint64_t> asked_for;  // of past_l2
        std::priority_queue<Flow, std::vector<Flow>, std::greater<Flow>> flows;
    };

    double own_rate(const Flows& lane) const;
    double end_of_first(const Flows& lane) const;
    void advance(double time);
    void share();
    double fair_rate(double capacity, bool hbm_only);

    double now_ = 0;
    const double hbm_;
    const double l2_;
    const double line_;          // of one line that several cores ask for
    const double write_weight_;  // what writing a byte to HBM costs, in bytes read
    double changed_ = 0;         // bytes that could be written back, so weighed
    double ahead_ = 0;           // of them, written back before they had to leave; below 0: owed
    double hbm_used_ = 0;        // bytes per cycle of all transfers
    double hbm_others_ = 0;      // and of other ranks
    double l2_others_ = 0;
    std::vector<Flows> lanes_;
    std::map<std::pair<Route, uint64_t>, Lane> past_l2_;
    std::vector<Lane> idle_lanes_;
    std::vector<double> own_;  // scratch of share()
};

}  // namespace tile_simulator
