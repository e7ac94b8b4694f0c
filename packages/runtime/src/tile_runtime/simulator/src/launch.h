// A launch: its blocks, their cores, the threads that run them, and grid-wide synchronisation.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core.h"
#include "tile_simulator.h"

namespace tile_simulator {

struct GlobalBuffer {
    uint64_t begin;
    uint64_t end;
    std::string name;
};

// The GM buffers a launch may touch, sorted by address.
class GlobalBuffers {
public:
    void assign(const TileBuffer* buffers, size_t count);
    const GlobalBuffer* find(uint64_t address) const;
    std::string nearest_text(uint64_t address) const;

private:
    std::vector<GlobalBuffer> sorted_;
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

    void begin(Launch& launch, uint32_t index);
    // Runs every core that can run; false if none could.
    bool step();
    bool finished() const;
    bool grid_wait_possible() const;

    Launch& launch() const { return *launch_; }
    uint32_t index() const { return index_; }
    Core& core(int i) { return *cores_[i]; }
    const Core& core(int i) const { return *cores_[i]; }
    static constexpr int core_count = 3;  // aic, aiv0, aiv1

    uint32_t pair_sets[2][2][cross_flags];  // [mode 1 / mode 2][aiv][flag]: sets not yet matched by the partner

private:
    bool can_run(Core& core);
    static void core_main(void* core);

    Launch* launch_ = nullptr;
    uint32_t index_ = 0;
    std::unique_ptr<Core> cores_[core_count];
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
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }

    KernelShape shape() const;
    void set_shape(const KernelShape& shape);

    // Grid-wide (mode 0) rounds of flag `id` among the cores of a kind.
    void arrive(CoreKind kind, int id, uint32_t round);
    uint32_t rounds(CoreKind kind, int id) const { return rounds_[int(kind)][id].load(std::memory_order_acquire); }
    uint32_t participants(CoreKind kind) const;

    void report(const Core& core, Fault fault);
    void save_output(const Core& core);

    void run_entry() { entry_(closure_); }
    bool failed() const { return failed_; }
    Fault& fault() { return fault_; }
    std::string collect_output();

private:
    bool take_block(uint32_t& index);
    // Blocks until another thread may have unblocked something; false if this was the last awake worker.
    bool wait_for_others(uint64_t seen);
    void report_deadlock(const std::vector<Block*>& blocks);
    // A running block, or null when the host has no memory for it (then the launch has failed).
    std::unique_ptr<Block> start_block(uint32_t index);
    void retire(Block& block);

    const uint32_t blocks_;
    void (*const entry_)(void*);
    void* const closure_;
    const GlobalBuffers& buffers_;
    const TileOptions options_;

    std::atomic<uint32_t> next_block_{0};
    std::atomic<bool> stop_{false};
    std::atomic<uint32_t> shape_{0};
    std::atomic<uint32_t> rounds_[2][cross_flags] = {};

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<uint64_t> version_{0};  // counts completed grid-wide rounds
    bool deadlock_ = false;
    uint32_t workers_ = 0;
    uint32_t idle_ = 0;
    std::vector<Block*> all_live_;
    std::vector<uint32_t> arrivals_[2][cross_flags];
    bool failed_ = false;
    uint64_t fault_rank_ = 0;
    Fault fault_;
    std::vector<std::pair<uint64_t, std::string>> output_;
};

}  // namespace tile_simulator
