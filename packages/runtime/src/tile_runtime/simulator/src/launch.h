// A launch: its blocks, their cores, the threads that run them, and grid-wide synchronisation.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core.h"
#include "cross_sets.h"
#include "global_buffers.h"
#include "global_flags.h"
#include "grid_races.h"
#include "rank_barriers.h"
#include "signal_words.h"
#include "symmetric_memory.h"
#include "time_log.h"
#include "tile_code_range.h"
#include "tile_simulator.h"

namespace tile_simulator {

class SyncLines;

// What the time model says of a launch.
struct TimedLaunch {
    std::vector<TileTimeEvent> events;
    std::vector<TileTimeAccess> accesses;
    std::vector<const char*> strings;
    std::vector<TileBankPadding> paddings;
    TileTimeline timeline{};
    std::vector<TileRankTime> ranks;
    uint32_t blocks = 0;  // of a rank
    std::vector<TileLinkTime> links;
    double cycles_without_links = 0;
};

// Which cores of a block run, from the kernel type.
struct KernelShape {
    bool known = false;
    uint32_t aic = 1;
    uint32_t aiv = 2;
    bool scheduler = true;  // cross-core flags work only in MIX types
};

// The three cores of one block. Lives on one host thread; reused for later blocks.
class Block {
public:
    Block();

    // `order` is the place of block `index` among all blocks of the launch as they start.
    void begin(Launch& launch, uint32_t index, uint32_t order);
    // Runs every core that can run; false if none could.
    bool step();
    // Whether the running core gives way to the others after a cross-core set; differs from seed to seed.
    bool gives_way();
    bool finished() const;
    bool outside_wait_possible() const;

    Launch& launch() const { return *launch_; }
    OrderChecks* order() const { return checked_ ? order_.get() : nullptr; }
    // Among all of the launch; the blocks of a rank follow each other.
    uint32_t index() const { return index_; }
    uint32_t rank() const { return rank_; }
    uint32_t index_in_rank() const { return index_in_rank_; }
    uint32_t order_of_start() const { return order_of_start_; }
    bool stopped() const;
    // A core has ended in the middle of its kernel: what the others would do without it means nothing.
    void fail() { failed_ = true; }
    Core& core(int i) { return *cores_[i]; }
    const Core& core(int i) const { return *cores_[i]; }
    static constexpr int core_count = 3;  // aic, aiv0, aiv1
    // The running core has ended in the middle of its kernel; its co-routine is left as it stands.
    [[noreturn]] static void abandon(Core& core, Fault fault);

    uint64_t errors = 0;  // that were kept

    CrossSets cross_sets;

private:
    bool can_run(Core& core);
    bool run(Core& core);
    static void core_main(void* core);
    static void end(Core& core);

    Launch* launch_ = nullptr;
    uint32_t index_ = 0;
    uint32_t rank_ = 0;
    uint32_t index_in_rank_ = 0;
    uint32_t order_of_start_ = 0;
    uint64_t turns_ = 0;
    std::unique_ptr<Core> cores_[core_count];
    std::unique_ptr<OrderChecks> order_;
    bool checked_ = false;
    bool failed_ = false;
};

// The kernel with the arguments of one rank.
struct RankEntry {
    void (*entry)(void*);
    void* closure;
};

class Launch {
public:
    // As many ranks as there are entries, each of so many blocks.
    Launch(uint32_t blocks, std::vector<RankEntry> entries, const SymmetricMemory& memory, const GlobalBuffers& buffers,
        const TileOptions& options);

    // Runs blocks until none is left. Called by every host thread that takes part.
    void work();
    void add_worker();

    const GlobalBuffers& buffers() const { return buffers_; }
    const TileOptions& options() const { return options_; }
    // Of one rank.
    uint32_t blocks() const { return blocks_; }
    uint32_t ranks() const { return static_cast<uint32_t>(entries_.size()); }
    uint32_t rank_of(uint32_t block) const { return block / blocks_; }
    bool one_node(uint32_t rank, uint32_t other) const
    {
        const uint32_t ranks = options_.node_ranks;
        return ranks == 0 || rank / ranks == other / ranks;
    }
    const SymmetricMemory& symmetric_memory() const { return memory_; }
    // Ranks that run here, of which the first is `first_rank`; the others have processes of their own.
    uint32_t ranks_here() const { return options_.processes != nullptr ? 1 : ranks(); }
    uint32_t first_rank() const { return options_.processes != nullptr ? options_.processes->rank : 0; }
    // The cores of this process have come to a barrier.
    void come_with_processes(Collective kind, uint32_t number);
    // What a core of this process tells by a signal may come back to any other by way of other processes, which pass no
    // clocks on: so all that was told until a wait ends counts as known to who has waited.
    void hand_to_processes(const Handover& told);
    ForeignPointer handed_to_processes() const;
    // "block 3", or "rank 1, block 3".
    std::string name_of_block(uint32_t block) const;
    std::string name_of_core(uint32_t block, int core) const;
    void place(Fault& fault, uint32_t block) const;
    // Blocks from the first that ended the launch on do not go on. Those before it do: of all errors that of the first
    // block comes first, whatever the number of host threads.
    bool stopped(uint32_t order) const { return order >= first_stopped_.load(std::memory_order_relaxed); }

    KernelShape shape() const;
    void set_shape(const KernelShape& shape);

    // Grid-wide (mode 0) rounds of flag `id` among the cores of a kind of a rank.
    void arrive(const Core& core, int id, uint32_t round, const Handover* handover);
    // Number of the flag among those of mode 0 in this launch, and what all knew when they joined a round of it.
    int grid_slot(CoreKind kind, int id, Use use);
    Handover round_handover(uint32_t rank, int slot, uint32_t round);
    uint32_t rounds(uint32_t rank, CoreKind kind, int id) const
    {
        return rounds_of_ranks_[rank].complete[int(kind)][id].load(std::memory_order_acquire);
    }
    // Cores of a rank.
    uint32_t participants(CoreKind kind) const;
    bool has_other_cores() const
    {
        return ranks() > 1 || participants(CoreKind::aic) + participants(CoreKind::aiv) > 1;
    }

    SignalWords& signals() { return signals_; }
    const SignalWords& signals() const { return signals_; }
    // What comes to a core with the value of a word.
    ForeignPointer knowledge_of(const Core& core, uint64_t address, const SignalCondition& condition,
        std::shared_ptr<JudgedWait>* judged = nullptr) const;
    RankBarriers& barriers() { return barriers_; }
    // All cores of all ranks have met and will know that: what they did before is compared now, if all of it is
    // complete, and need not be remembered (rank_order.cpp).
    void settle_before_meeting(const ForeignPointer& known);
    // A core has changed what cores of other blocks wait for.
    void wake();

    GlobalFlags& flags() { return flags_; }
    const GlobalFlags& flags() const { return flags_; }
    // Counts stores to GM, for those who wait for one.
    void tell_store() { stores_told_.fetch_add(1, std::memory_order_acq_rel); }
    // Of a timed launch: the place of a small store among all of them, and how many there are.
    uint64_t next_store() { return small_stores_.fetch_add(1, std::memory_order_acq_rel); }
    uint64_t small_stores() const { return small_stores_.load(std::memory_order_acquire); }
    uint64_t stores_told() const { return stores_told_.load(std::memory_order_acquire); }

    // An error that ends the run of its block; of the launch, if it shall end at the first or has no time left.
    void report(const Core& core, Fault fault);
    // What ends the run of its block is told once the launch is over.
    void stop_block(const Core& core);
    // One that ends the launch.
    void end(const Core& core, Fault fault);
    // One that does not: one is kept for each kind and pair of lines.
    void keep(const Core& core, Fault fault);
    // Something that works on the device but should not be relied on, or is waste. Told once per kind and line, of the
    // first block and core that did it: `warned` says that a line need not be told about once more.
    void warn(const Core& core, Fault fault);
    bool warned(const char* kind, const char* file, uint32_t line, uint32_t block);
    // A read of GM that nothing had written by then. Another core or block may have been about to: then the two race,
    // and that is what is told.
    void read_too_early(const Core& core, Fault fault);
    // Warnings, in order of lines; if the launch failed, its errors but the first, in the order in which they happened.
    std::vector<Fault> take_others();
    void save_output(const Core& core);

    bool past_deadline() const { return options_.timeout > 0 && std::chrono::steady_clock::now() > deadline_; }

    // Once all workers are done: compares the blocks.
    void finish();
    // Replays a launch without an error on the time model.
    void time(TimedLaunch& timed) const;
    // Of a timed launch: a core signals a word, or waits for a value of one.
    void note_word(const Core& core, WordAct act, bool wait, Use use);

    // Flags and barriers that no access needs, as remarks with the cycles they cost on the timeline (sync_needs.h).
    std::vector<Fault> redundant_syncs(
        const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings) const;

    void run_entry(uint32_t rank) { entries_[rank].entry(entries_[rank].closure); }
    // Errors of a kind that are told.
    size_t most_races() const;
    const CodeRange& code() const { return code_; }
    // Seconds until the launch may no longer run; 0 if it may always.
    double time_left() const;
    bool failed() const { return failed_; }
    Fault& fault() { return fault_; }
    std::string collect_output();

private:
    bool take_block(uint32_t& order);
    bool step_all(std::vector<std::unique_ptr<Block>>& live);
    // What was wrong with signals comes before whoever then waits in vain.
    void add_signal_faults();
    void fail(uint32_t order, Fault fault);
    void choose_first();
    void stop_all();
    void all_idle();
    // Lets those go on whose signals are there; nobody else can.
    bool judge_signals();
    // Blocks until another thread may have unblocked something; false, to one worker, if none can go on.
    bool wait_for_others(uint64_t seen, uint64_t stores_seen);
    void report_deadlock(const std::vector<Block*>& blocks);
    // The same over ranks (rank_deadlock.cpp).
    void report_rank_deadlock(const std::vector<Block*>& blocks);
    // With other processes (rank_processes.cpp).
    bool judge_barriers();
    bool wait_for_processes();
    std::string verdict_on_processes() const;
    static std::vector<const Core*> waiting_cores(const std::vector<Block*>& blocks);
    static std::vector<const Core*> waiting_for_ranks(const std::vector<Block*>& blocks);
    std::vector<uint32_t> ended_ranks(const std::vector<const Core*>& waiting) const;
    std::string skipped_signal(const std::vector<uint32_t>& ended) const;
    std::string verdict_of(const std::vector<const Core*>& waiting, std::string& kind, std::string& hint) const;
    void tell_passed_over(const Core& core);
    // A running block, or null when the host has no memory for it (then the launch has failed).
    std::unique_ptr<Block> start_block(uint32_t order);
    void retire(Block& block);
    // Adds the errors or warnings for the cross-core sets that the blocks left.
    void judge_left_sets();

    // Of a rank, by kind of core: complete rounds, and arrivals by round; handovers by slot and round.
    struct RankRounds {
        std::atomic<uint32_t> complete[2][cross_flags] = {};
        std::vector<uint32_t> arrivals[2][cross_flags];
        std::vector<Handover> handovers[grid_slots];
    };

    const uint32_t blocks_;
    const std::vector<RankEntry> entries_;
    const SymmetricMemory& memory_;
    const GlobalBuffers& buffers_;
    const TileOptions options_;

    const std::chrono::steady_clock::time_point deadline_;
    const CodeRange code_;
    std::atomic<uint32_t> next_block_{0};
    std::atomic<uint32_t> first_stopped_{0xffffffff};
    std::atomic<uint32_t> shape_{0};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<uint64_t> version_{0};  // counts completed grid-wide rounds
    std::atomic<uint64_t> stores_told_{0};
    std::atomic<uint64_t> small_stores_{0};
    bool deadlock_ = false;
    uint32_t last_looks_ = 0;  // times that all who wait for stores were let look again since nobody could go on
    uint32_t workers_ = 0;
    uint32_t idle_ = 0;
    std::vector<Block*> all_live_;
    std::vector<RankRounds> rounds_of_ranks_;
    std::vector<int> grid_flags_;  // by slot: kind and id
    GlobalFlags flags_;
    GridRaces grid_races_;
    SignalWords signals_;
    RankBarriers barriers_;
    struct BarrierOfProcesses {
        Collective kind;
        uint32_t number;  // in this launch
        uint32_t came;    // how often each process has come to one by then
    };
    std::vector<BarrierOfProcesses> barriers_of_processes_;
    mutable std::mutex handed_mutex_;
    ForeignPointer handed_to_processes_;
    std::vector<uint32_t> collectives_of_ended_;  // by rank, of a core that has ended
    std::vector<LeftSets> left_sets_;
    std::shared_ptr<SyncLines> sync_lines_;  // null: the launch is not timed
    std::vector<std::array<TimeLog, cores_per_block>> time_logs_;  // by block
    std::unordered_map<uint64_t, int64_t> words_before_;  // what a timed launch signals or waits for, as it was
    bool block_failed_ = false;
    bool failed_ = false;
    uint32_t fault_order_ = 0;
    Fault fault_;
    struct Kept {
        uint32_t order;   // of the block
        uint64_t number;  // in it
        Fault fault;
    };
    // By kind and the two places.
    std::map<std::tuple<std::string, std::string, uint32_t, std::string, uint32_t>, Kept> kept_;
    std::vector<Fault> others_;  // errors but the first
    std::map<uint32_t, Fault> read_too_early_;  // the first of each block, by the order of their start
    struct Output {
        uint64_t rank;   // block and core
        uint32_t order;  // of the block
        std::string text;
    };
    std::vector<Output> output_;
    std::map<std::tuple<std::string, std::string, uint32_t>, Fault> warnings_;  // by kind, file and line
};

// Sets a word that other processes look at, or adds to it.
void signal_process(uint64_t address, bool add, int32_t value);

}  // namespace tile_simulator
