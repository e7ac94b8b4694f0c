// Transfers between devices: each moves at the rate of its core, or at its fair share of the links on its way.
//
// What a link takes is counted in parts of its time, since it reads and writes at rates of their own. As in
// gm_traffic.h all transfers of one kind get the same rate, so that a kind keeps one clock.
#pragma once

#include <cstdint>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include "tile_timing.h"

namespace tile_simulator {

class LinkTraffic {
public:
    // The bytes go from `source` to `target`; the core that moves them is of the one rank or of the other.
    struct Kind {
        uint32_t source;
        uint32_t target;
        bool load;     // the core is of `target`
        bool engine;   // no core does, but the engine of that rank
        double limit;  // bytes per cycle of the core or the engine

        bool operator<(const Kind& other) const
        {
            return std::tie(source, target, load, engine, limit) <
                   std::tie(other.source, other.target, other.load, other.engine, other.limit);
        }
    };
    struct Ended {
        uint64_t owner;
        Kind kind;
        double bytes;
        double slowed;  // cycles it took longer than alone
    };

    LinkTraffic(const TileTiming& timing, uint32_t ranks);

    // `from_hbm` is the share that comes from HBM there.
    void begin(double time, const Kind& kind, double bytes, double from_hbm, uint64_t owner);
    double next() const { return next_; }
    Ended finish();
    // A signal takes no bandwidth.
    void count_signal(uint32_t source, uint32_t target);
    // When a transfer can be used, or has arrived.
    double arrival(const Kind& kind, double begin, double end) const;
    // Cycles from one device to another.
    double latency(uint32_t source, uint32_t target, bool load) const;

    // Bytes per cycle to and from the memory of a rank for others, and of them, from HBM.
    struct Load {
        double hbm = 0;
        double l2 = 0;
        bool operator!=(const Load& other) const { return hbm != other.hbm || l2 != other.l2; }
    };
    const std::vector<Load>& loads() const { return loads_; }
    std::vector<TileLinkTime> links() const;

private:
    struct Flow {
        double until;  // of the clock of its kind
        uint64_t owner;
        double began;
        double bytes;
        double from_hbm;
        bool operator>(const Flow& other) const
        {
            return until != other.until ? until > other.until : owner > other.owner;
        }
    };
    struct Use {
        uint32_t resource;
        double part;  // of its time, for a byte per cycle
    };
    struct Flows {
        Kind kind{};
        std::vector<Use> way;
        double alone = 0;  // bytes per cycle with nobody else about
        double rate = 0;
        double moved = 0;
        double from_hbm = 0;  // sum of the shares
        bool settled = false;  // scratch of share()
        std::priority_queue<Flow, std::vector<Flow>, std::greater<Flow>> flows;
    };

    bool near(uint32_t source, uint32_t target) const;
    std::vector<uint32_t> hops(uint32_t source, uint32_t target) const;
    std::vector<Use> way_of(const Kind& kind) const;
    void advance(double time);
    void share();
    bool ask();
    double common_rate() const;
    void settle_at(double rate);

    const TileTiming& timing_;
    const uint32_t ranks_;
    const TileTopology topology_;
    double now_ = 0;
    double next_;
    std::map<Kind, Flows> kinds_;
    std::vector<Flows*> active_;
    std::vector<double> free_;   // scratch of share(): time of each resource that nobody takes
    std::vector<double> asked_;  // and what a byte per cycle for each transfer that could go faster takes of it
    std::vector<Load> loads_;
    std::vector<TileLinkTime> links_;
};

}  // namespace tile_simulator
