// Replays what the cores of a launch did on a model of the chip (hardware.md 4.4): in-order pipes with queues, flags,
// barriers, cross-core counters, blocks on physical cores, and transfers that share L2 and HBM.
//
// Scalar units and pipes run ahead of the present until they need a transfer or a flag that is not there yet; only
// transfers take part in a common order of time.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <queue>
#include <vector>

#include "gm_traffic.h"
#include "l2_cache.h"
#include "launch.h"
#include "time_log.h"

namespace tile_simulator {

using BlockLogs = std::array<TimeLog, cores_per_block>;

class TimeModel {
public:
    TimeModel(const TileTiming& timing, const GlobalBuffers& buffers, const KernelShape& shape,
        const std::vector<BlockLogs>& logs);

    // Fills the timeline: events of block 0 first, of each block by core, of each core in program order.
    void run(std::vector<TileTimeEvent>& events, std::vector<TileTimeAccess>& accesses,
        std::vector<const char*>& strings, TileTimeline& timeline);

private:
    struct Queued {
        uint32_t event;
        double issued;
    };
    struct Token {  // a set that has taken effect
        double time;
        int64_t cause;
    };
    struct Flow {
        uint32_t core;
        uint32_t event;
        double earliest;
        double began = 0;
        double rest = 0;  // bytes that follow from L2 once those from HBM are here
        std::vector<uint32_t> sets;  // flags and counters that wait for it
    };
    struct PipeState {
        std::deque<Queued> queue;
        std::deque<uint32_t> flows;  // in flight, oldest first
        double turn = 0;             // when the next instruction may start
        double complete = 0;         // when all so far are complete
        int64_t turn_cause = -1;
        int64_t complete_cause = -1;
    };
    struct CoreState {
        const TimeLog* log = nullptr;
        uint64_t base = 0;  // of its events in the timeline
        uint32_t next = 0;  // program counter of the scalar unit
        double time = 0;
        int64_t cause = -1;
        PipeState pipes[pipe_count];
        std::map<int, std::deque<Token>> flags;
        std::deque<Token> counters[cross_flags];
        uint32_t rounds_set[cross_flags] = {};
        bool started = false;
        bool ended = false;
    };
    struct Happening {
        double time;
        uint64_t order;
        bool block_end;  // otherwise the start of a transfer
        uint32_t index;
        bool operator>(const Happening& other) const
        {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    void start_block(uint32_t block, double time);
    void proceed(uint32_t core);
    bool step_scalar(uint32_t core);
    bool step_pipe(uint32_t core, int pipe);
    bool take(CoreState& core, std::deque<Token>& tokens, TileTimeEvent& event, double from, TileStall reason);
    bool all_quiet(const CoreState& core) const;
    void transfer(uint32_t core, int pipe, uint32_t event, double issued);
    void begin_flow(uint32_t flow, double time);
    void end_flow(uint32_t flow, double time);
    void settle(uint32_t core, uint32_t event, double time, int64_t cause);
    void cross_set(uint32_t core, const TimeEvent& event, double time, int64_t cause);
    void end_block(uint32_t block);
    void happen(double time, bool block_end, uint32_t index);
    TileTimeEvent& event_of(CoreState& core, uint32_t event) { return (*events_)[core.base + event]; }

    const TileTiming& timing_;
    const KernelShape shape_;
    const std::vector<BlockLogs>& logs_;
    L2Cache cache_;
    GmTraffic traffic_;
    std::vector<CoreState> cores_;  // three per block
    std::vector<Flow> flows_;
    std::vector<uint32_t> idle_flows_;
    std::priority_queue<Happening, std::vector<Happening>, std::greater<Happening>> happenings_;
    std::vector<TileTimeEvent>* events_ = nullptr;
    uint64_t order_ = 0;
    uint32_t next_block_ = 0;
    double end_ = 0;
    // [block][mode - 1][flag][aiv]: sets the partner has not matched.
    std::map<std::array<uint32_t, 4>, std::deque<Token>> pairs_;
    // [kind][flag][round]: arrivals and the latest of them.
    std::map<std::array<uint32_t, 3>, std::pair<uint32_t, Token>> rounds_;
    std::vector<uint32_t> work_;  // cores to proceed with
    uint64_t read_bytes_ = 0;
    uint64_t write_bytes_ = 0;
    uint64_t hbm_bytes_ = 0;
};

}  // namespace tile_simulator
