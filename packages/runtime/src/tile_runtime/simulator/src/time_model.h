// Replays what the cores of a launch did on a model of the chip (docs/hardware/time_model.md): in-order pipes with queues,
// flags, barriers, cross-core counters, blocks on physical cores, and transfers that share L2 and HBM.
//
// Scalar units and pipes run ahead of the present until they need a transfer or a flag that is not there yet; only
// transfers and the ends of blocks take part in a common order of time. The launch is in time_model.cpp, what a core
// does in core_replay.cpp, counters between cores in cross_core_replay.cpp, what ranks do to each other in
// rank_replay.cpp, words that cores look at in looked_at_words.cpp. Each rank has cores, L2 and HBM of its own.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gm_transfers.h"
#include "launch.h"
#include "link_traffic.h"
#include "time_log.h"

namespace tile_simulator {

using BlockLogs = std::array<TimeLog, cores_per_block>;

class TimeModel {
public:
    // The logs are those of the blocks of all ranks.
    TimeModel(const TileTiming& timing, const GlobalBuffers& buffers, const KernelShape& shape,
        const std::vector<BlockLogs>& logs, uint32_t ranks, const SymmetricMemory& memory);

    // Fills the timeline: events of block 0 first, of each block by core, of each core in program order.
    void run(std::vector<TileTimeEvent>& events, std::vector<TileTimeAccess>& accesses,
        std::vector<const char*>& strings, TileTimeline& timeline);
    // After a run: each rank, and what went between them.
    std::vector<TileRankTime> rank_times();
    std::vector<TileLinkTime> link_times() const { return links_.links(); }

private:
    struct Queued {
        uint32_t event;
        double issued;
        TileStall late;  // why it was not issued earlier
        int64_t cause;
    };
    struct Token {  // a set that has taken effect
        double time;
        int64_t cause;
    };
    struct PipeState {
        std::deque<Queued> queue;
        std::deque<Token> left;        // when the latest instructions left the queue, as many as it holds
        bool transferring = false;     // the first of the queue is a transfer under way
        double turn = 0;               // when the next instruction may start
        double complete = 0;           // when all so far are complete
        int64_t turn_cause = -1;
        int64_t complete_cause = -1;
    };
    struct CoreState {
        const TimeLog* log = nullptr;
        uint64_t base = 0;  // of its events in the timeline
        uint32_t next = 0;  // program counter of the scalar unit
        double time = 0;
        double scalar_busy = 0;
        int64_t cause = -1;                     // what the scalar unit did or waited for last,
        TileStall late = TILE_STALL_SCALAR;     // and how
        PipeState pipes[place_count];
        std::map<int, std::deque<Token>> flags;
        std::deque<Token> counters[cross_flags];
        // Unit flags: when results of Mmad may be taken, and when their places are free again.
        std::deque<Token> results;
        std::deque<Token> places;
        bool result_open = false;  // the place of a result is still to be waited for
        uint32_t rounds_set[cross_flags] = {};
        std::deque<Token> seen;   // the value of a word that it waits for, or the end of a barrier of ranks
        bool looking = false;     // at a word, or come to a barrier
        uint32_t barriers[2] = {};  // of ranks, by kind
        bool started = false;
        bool ended = false;
    };
    enum class Happens : uint8_t { transfer, block_end, look, arrival, shown };
    struct Happening {
        double time;
        uint64_t order;
        Happens what;
        uint32_t index;  // of the block, of the core, of the signal, or of the store
        int pipe;
        bool operator>(const Happening& other) const
        {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    void describe(std::vector<TileTimeAccess>& accesses, std::vector<const char*>& strings);
    void replay();
    void start_block(uint32_t block, double time);
    void start_next_block(uint32_t rank, double time);
    void end_block(uint32_t block);
    void happen(double time, Happens what, uint32_t index, int pipe = 0);
    void finish_transfer(uint32_t rank, double time);
    void note_next(uint32_t rank) { next_[rank] = transfers_[rank]->next(); }
    void begin_transfer(uint32_t core, int pipe, double time);
    double row_cycles(const TimeEvent& event, double bytes, double missed) const;
    void end_transfer(const GmTransfers::Ended& ended, double time, double latency);

    // core_replay.cpp
    void wake();
    void proceed(uint32_t core);
    bool step_scalar(uint32_t core);
    bool scalar_event(uint32_t core, uint32_t number);
    bool issue(uint32_t core, uint32_t number);
    void wait_for_pipes(CoreState& core, uint32_t number, int first, int end, TileStall reason);
    bool step_pipe(uint32_t core, int pipe);
    bool pipe_event(uint32_t core, int pipe, const Queued& queued, double start);
    bool work(uint32_t core, int pipe, const Queued& queued, double start);
    void end_work(CoreState& core, int pipe, uint32_t number, double end, double complete);
    bool take(std::deque<Token>& tokens, TileTimeEvent& event, double from, TileStall reason);
    static bool all_quiet(const CoreState& core, int first, int end);
    void settle(uint32_t core, uint32_t event, double time, int64_t cause);

    // cross_core_replay.cpp
    void cross_set(uint32_t core, const TimeEvent& event, double time, int64_t cause);
    void raise(uint32_t core, int flag, const Token& token);
    void cross_set_grid(uint32_t core, const TimeEvent& event, const Token& token);

    // rank_replay.cpp
    struct Signal {
        uint64_t word;
        int32_t value;
        bool add;
        int64_t cause;
    };
    struct Word {
        int64_t value = 0;
        bool signalled = false;
        std::vector<uint32_t> waiting;  // cores
    };
    void find_words();
    bool begin_remote(uint32_t core, int pipe, double time);
    void begin_engine(uint32_t core, double time);
    void end_remote(double time);
    void serve_others(double time);
    void send(uint32_t core, uint32_t number);
    void look(uint32_t core, double time);
    void arrive(const Signal& signal, double time);
    bool wait_for_ranks(uint32_t core, uint32_t number);
    void come_to_barrier(uint32_t core, uint32_t kind);
    void note_peer(CoreState& core, int64_t cause);
    double barrier_cycles() const;

    // looked_at_words.cpp
    struct LookedAt {
        std::vector<bool> there;  // which of its stores have arrived, in the order of the run
        size_t first_missing = 0;
        std::vector<uint32_t> waiting;  // cores
    };
    void find_looks();
    bool wait_for_stores(uint32_t core, uint32_t number);
    bool look_for_stores(uint32_t core, double time);
    bool is_shown(uint64_t event) const { return !shown_.empty() && shown_.count(event) != 0; }
    void show(uint64_t event, double time);
    void store_arrives(uint64_t event, double time);

    uint32_t rank_of_block(uint32_t block) const { return block / blocks_; }
    uint32_t rank_of_core(uint32_t core) const { return core / cores_per_block / blocks_; }
    TileTimeEvent& event_of(CoreState& core, uint32_t event) { return (*events_)[core.base + event]; }
    const TimeEvent& logged(const CoreState& core, uint32_t event) const { return core.log->events()[event]; }

    const TileTiming& timing_;
    const KernelShape shape_;
    const std::vector<BlockLogs>& logs_;
    const uint32_t ranks_;
    const uint32_t blocks_;  // of a rank
    const SymmetricMemory& memory_;
    std::vector<std::unique_ptr<GmTransfers>> transfers_;  // by rank
    std::vector<double> next_;                             // of each of them
    LinkTraffic links_;
    std::vector<CoreState> cores_;  // three per block
    std::priority_queue<Happening, std::vector<Happening>, std::greater<Happening>> happenings_;
    std::vector<TileTimeEvent>* events_ = nullptr;
    uint64_t order_ = 0;
    std::vector<uint32_t> next_block_;  // by rank
    double places_;  // blocks that run at a time
    double start_ = 0;
    double launch_us_ = 0;
    std::vector<double> end_;  // by rank
    // [block][mode - 1][flag][aiv]: sets the partner has not matched.
    std::map<std::array<uint32_t, 4>, std::deque<Token>> pairs_;
    // [rank][kind][flag][round]: arrivals and the latest of them.
    std::map<std::array<uint32_t, 4>, std::pair<uint32_t, Token>> rounds_;
    std::vector<uint32_t> work_;  // cores to proceed with
    std::map<uint64_t, Word> words_;
    std::vector<Signal> signals_;
    // By event: the word of a look and how many of its stores it waits for; the words of a store and its places there.
    std::unordered_map<uint64_t, std::pair<uint64_t, size_t>> looks_;
    std::unordered_map<uint64_t, std::vector<std::pair<uint64_t, size_t>>> shown_;
    std::unordered_map<uint64_t, LookedAt> looked_at_;
    std::vector<uint64_t> showing_;  // events
    // [kind][number] of barriers of ranks.
    std::map<std::array<uint32_t, 2>, std::pair<uint32_t, Token>> meetings_;
    std::vector<uint32_t> meeting_[2];  // cores that have come to the present one, by kind
    std::vector<LinkTraffic::Load> served_;  // what the memory of each rank moves for others
};

}  // namespace tile_simulator
