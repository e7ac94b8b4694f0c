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
#include <vector>

#include "core.h"
#include "cross_sets.h"
#include "global_buffers.h"
#include "global_flags.h"
#include "grid_races.h"
#include "time_log.h"
#include "tile_code_range.h"
#include "tile_simulator.h"

namespace tile_simulator {

class SyncLines;

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
    uint32_t index() const { return index_; }
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
    uint32_t order_of_start_ = 0;
    uint64_t turns_ = 0;
    std::unique_ptr<Core> cores_[core_count];
    std::unique_ptr<OrderChecks> order_;
    bool checked_ = false;
    bool failed_ = false;
};

class Launch {
public:
    Launch(
        uint32_t blocks, void (*entry)(void*), void* closure, const GlobalBuffers& buffers, const TileOptions& options);

    // Runs blocks until none is left. Called by every host thread that takes part.
    void work();
    void add_worker();

    const GlobalBuffers& buffers() const { return buffers_; }
    const TileOptions& options() const { return options_; }
    uint32_t blocks() const { return blocks_; }
    // Blocks from the first that ended the launch on do not go on. Those before it do: of all errors that of the first
    // block comes first, whatever the number of host threads.
    bool stopped(uint32_t order) const { return order >= first_stopped_.load(std::memory_order_relaxed); }

    KernelShape shape() const;
    void set_shape(const KernelShape& shape);

    // Grid-wide (mode 0) rounds of flag `id` among the cores of a kind.
    void arrive(CoreKind kind, int id, uint32_t round, const Handover* handover);
    // Number of the flag among those of mode 0 in this launch, and what all knew when they joined a round of it.
    int grid_slot(CoreKind kind, int id, Use use);
    Handover round_handover(int slot, uint32_t round);
    uint32_t rounds(CoreKind kind, int id) const { return rounds_[int(kind)][id].load(std::memory_order_acquire); }
    uint32_t participants(CoreKind kind) const;
    bool has_other_cores() const { return participants(CoreKind::aic) + participants(CoreKind::aiv) > 1; }

    GlobalFlags& flags() { return flags_; }
    // Counts stores to GM, for those who wait for one.
    void tell_store() { stores_told_.fetch_add(1, std::memory_order_acq_rel); }
    uint64_t stores_told() const { return stores_told_.load(std::memory_order_acquire); }

    // An error that ends the run of its block; of the launch, if it shall end at the first or has no time left.
    void report(const Core& core, Fault fault);
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
    void time(
        std::vector<TileTimeEvent>& events, std::vector<TileTimeAccess>& accesses, std::vector<const char*>& strings,
        std::vector<TileBankPadding>& paddings, TileTimeline& timeline) const;

    // Flags and barriers that no access needs, as remarks with the cycles they cost on the timeline (sync_needs.h).
    std::vector<Fault> redundant_syncs(
        const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings) const;

    void run_entry() { entry_(closure_); }
    const CodeRange& code() const { return code_; }
    // Seconds until the launch may no longer run; 0 if it may always.
    double time_left() const;
    bool failed() const { return failed_; }
    Fault& fault() { return fault_; }
    std::string collect_output();

private:
    bool take_block(uint32_t& order);
    void fail(uint32_t order, Fault fault);
    void choose_first();
    void stop_all();
    void all_idle();
    // Blocks until another thread may have unblocked something; false, to one worker, if none can go on.
    bool wait_for_others(uint64_t seen, uint64_t stores_seen);
    void report_deadlock(const std::vector<Block*>& blocks);
    // A running block, or null when the host has no memory for it (then the launch has failed).
    std::unique_ptr<Block> start_block(uint32_t order);
    void retire(Block& block);
    // Adds the errors or warnings for the cross-core sets that the blocks left.
    void judge_left_sets();

    const uint32_t blocks_;
    void (*const entry_)(void*);
    void* const closure_;
    const GlobalBuffers& buffers_;
    const TileOptions options_;

    const std::chrono::steady_clock::time_point deadline_;
    const CodeRange code_;
    std::atomic<uint32_t> next_block_{0};
    std::atomic<uint32_t> first_stopped_{0xffffffff};
    std::atomic<uint32_t> shape_{0};
    std::atomic<uint32_t> rounds_[2][cross_flags] = {};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<uint64_t> version_{0};  // counts completed grid-wide rounds
    std::atomic<uint64_t> stores_told_{0};
    bool deadlock_ = false;
    uint32_t last_looks_ = 0;  // times that all who wait for stores were let look again since nobody could go on
    uint32_t workers_ = 0;
    uint32_t idle_ = 0;
    std::vector<Block*> all_live_;
    std::vector<uint32_t> arrivals_[2][cross_flags];
    std::vector<int> grid_flags_;  // by slot: kind and id
    std::vector<Handover> round_handovers_[grid_slots];
    GlobalFlags flags_;
    GridRaces grid_races_;
    std::vector<LeftSets> left_sets_;
    std::shared_ptr<SyncLines> sync_lines_;  // null: the launch is not timed
    std::vector<std::array<TimeLog, cores_per_block>> time_logs_;  // by block
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

}  // namespace tile_simulator
