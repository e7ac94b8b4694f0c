#include "launch.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "bank_padding.h"
#include "crash_guard.h"
#include "order_checks.h"
#include "time_model.h"

namespace tile_simulator {
namespace {

// Idle blocks of this host thread, kept with their memories and stacks for the next launch.
constexpr size_t idle_blocks_kept = 32;
thread_local std::vector<std::unique_ptr<Block>> idle_blocks;

std::unique_ptr<Block> acquire_block()
{
    if (idle_blocks.empty()) {
        return std::make_unique<Block>();
    }
    std::unique_ptr<Block> block = std::move(idle_blocks.back());
    idle_blocks.pop_back();
    return block;
}

void release_block(std::unique_ptr<Block> block)
{
    if (idle_blocks.size() < idle_blocks_kept) {
        idle_blocks.push_back(std::move(block));
    }
}

// A bijection of [0, count) that depends on the seed: i -> (i * step + shift) mod count with step coprime to count.
uint32_t permuted(uint32_t i, uint32_t count, uint64_t seed)
{
    if (seed == 0 || count < 2) {
        return i;
    }
    uint64_t step = seed % count | 1u;
    const auto gcd = [](uint64_t a, uint64_t b) {
        while (b != 0) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        return a;
    };
    while (gcd(step, count) != 1) {
        ++step;
    }
    return static_cast<uint32_t>((i * step + seed / count) % count);
}

// Looking it up takes longer than a small launch.
const CodeRange& code_of(void (*entry)(void*))
{
    static thread_local void (*latest)(void*) = nullptr;
    static thread_local CodeRange range;
    if (latest != entry) {
        latest = entry;
        range = code_range_of(reinterpret_cast<const void*>(entry));
    }
    return range;
}

}  // namespace

Launch::Launch(uint32_t blocks, std::vector<RankEntry> entries, const SymmetricMemory& memory,
    const GlobalBuffers& buffers, const TileOptions& options)
    : blocks_(blocks), entries_(std::move(entries)), memory_(memory), buffers_(buffers), options_(options),
      deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(int64_t(options.timeout * 1000))),
      code_(code_of(entries_.front().entry)), rounds_of_ranks_(entries_.size()),
      collectives_of_ended_(entries_.size(), 0)
{
    signals_.follow(ranks() > 1 && ranks() <= WordHistory::most_ranks ? options_.words : nullptr);
    if (options_.timing != nullptr) {
        time_logs_.resize(blocks * entries_.size());
        sync_lines_ = std::make_shared<SyncLines>();
    }
}

KernelShape Launch::shape() const
{
    const uint32_t packed = shape_.load(std::memory_order_acquire);
    KernelShape shape;
    if (packed != 0) {
        shape.known = true;
        shape.aic = packed & 3u;
        shape.aiv = (packed >> 2) & 3u;
        shape.scheduler = (packed & 16u) != 0;
    }
    return shape;
}

void Launch::set_shape(const KernelShape& shape)
{
    shape_.store(shape.aic | shape.aiv << 2 | (shape.scheduler ? 16u : 0u) | 32u, std::memory_order_release);
}

uint32_t Launch::participants(CoreKind kind) const
{
    const KernelShape now = shape();
    return blocks_ * (kind == CoreKind::aic ? now.aic : now.aiv);
}

int Launch::grid_slot(CoreKind kind, int id, Use use)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const int flag = int(kind) * cross_flags + id;
    const auto found = std::find(grid_flags_.begin(), grid_flags_.end(), flag);
    if (found == grid_flags_.end() && grid_flags_.size() == grid_slots) {
        raise("bad-argument", use, text_of("%s: a launch may use at most %d flags of mode 0", use.api, grid_slots));
    }
    const int slot = static_cast<int>(found - grid_flags_.begin());
    if (found == grid_flags_.end()) {
        grid_flags_.push_back(flag);
    }
    return slot;
}

std::string Launch::name_of_block(uint32_t block) const
{
    return ranks() == 1 ? text_of("block %u", block)
                        : text_of("rank %u, block %u", rank_of(block), block - rank_of(block) * blocks_);
}

std::string Launch::name_of_core(uint32_t block, int core) const
{
    return name_of_block(block) + " " + core_names[core];
}

void Launch::place(Fault& fault, uint32_t block) const
{
    fault.rank = ranks() == 1 ? -1 : static_cast<int32_t>(rank_of(block));
    fault.block = block % blocks_;
}

Handover Launch::round_handover(uint32_t rank, int slot, uint32_t round)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    return rounds_of_ranks_[rank].handovers[slot][round];
}

void Launch::arrive(const Core& core, int id, uint32_t round, const Handover* handover)
{
    const CoreKind kind = core.kind;
    const std::lock_guard<std::mutex> lock(mutex_);
    RankRounds& rounds = rounds_of_ranks_[core.block.rank()];
    if (handover != nullptr) {
        const auto flag = std::find(grid_flags_.begin(), grid_flags_.end(), int(kind) * cross_flags + id);
        std::vector<Handover>& handovers = rounds.handovers[flag - grid_flags_.begin()];
        if (handovers.size() <= round) {
            handovers.resize(round + 1);
        }
        handovers[round].clock.join(rounds_of(handover->clock));
        handovers[round].foreign = joined(handovers[round].foreign, handover->foreign);
    }
    std::vector<uint32_t>& arrivals = rounds.arrivals[int(kind)][id];
    if (arrivals.size() <= round) {
        arrivals.resize(round + 1, 0);
    }
    if (++arrivals[round] == participants(kind)) {
        rounds.complete[int(kind)][id].store(round + 1, std::memory_order_release);
        version_.fetch_add(1, std::memory_order_release);
        idle_ = 0;
        changed_.notify_all();
    }
}

void Launch::time(TimedLaunch& timed) const
{
    const TileTiming& timing = *options_.timing;
    if (ranks() > 1) {
        TileTiming without = timing;
        without.link_write_bandwidth = without.link_read_bandwidth = std::numeric_limits<double>::infinity();
        without.network_bandwidth = without.sdma_bandwidth = std::numeric_limits<double>::infinity();
        without.link_load_us = without.link_store_us = without.network_us = without.sdma_us = 0;
        TimeModel(without, buffers_, shape(), time_logs_, ranks(), memory_)
            .run(timed.events, timed.accesses, timed.strings, timed.timeline);
        timed.cycles_without_links = timed.timeline.cycles;
        timed.timeline = TileTimeline{};
    }
    TimeModel model(timing, buffers_, shape(), time_logs_, ranks(), memory_);
    model.run(timed.events, timed.accesses, timed.strings, timed.timeline);
    timed.ranks = model.rank_times();
    timed.blocks = uint32_t(time_logs_.size()) / ranks();
    timed.links = model.link_times();
    if (ranks() == 1) {
        timed.cycles_without_links = timed.timeline.cycles;
    }
    find_bank_paddings(time_logs_, timing, timed.strings, timed.paddings, timed.timeline);
}

void Launch::save_output(const Core& core)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t rank = uint64_t(core.block.index()) * 4 + (core.is_vector() ? core.sub + 1 : 0);
    output_.push_back({rank, core.block.order_of_start(), core.output});
}

std::string Launch::collect_output()
{
    std::sort(output_.begin(), output_.end(), [](const Output& a, const Output& b) { return a.rank < b.rank; });
    std::string all;
    for (const Output& output : output_) {
        if (!failed_ || output.order <= fault_order_) {
            // A line that a core left open is not the beginning of another core's.
            all += all.empty() || all.back() == '\n' || output.text.empty() ? "" : "\n";
            all += output.text;
        }
    }
    return all;
}

bool Launch::take_block(uint32_t& order)
{
    order = next_block_.fetch_add(1, std::memory_order_relaxed);
    if (order >= blocks_ * ranks_here()) {
        next_block_.store(blocks_ * ranks_here(), std::memory_order_relaxed);
        return false;
    }
    return !stopped(order);
}

void Launch::add_worker()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    ++workers_;
}

void Launch::retire(Block& block)
{
    for (int i = 0; i < Block::core_count; ++i) {
        if (!block.core(i).output.empty()) {
            save_output(block.core(i));
        }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int i = 0; i < Block::core_count; ++i) {
        if (block.core(i).takes_part) {
            collectives_of_ended_[block.rank()] = block.core(i).collectives;
        }
    }
    if (!block.stopped() && options_.checks >= TILE_CHECKS_DEVICE) {
        block.cross_sets.collect(block, left_sets_);
    }
    for (int i = 0; i < Block::core_count && options_.timing != nullptr; ++i) {
        if (block.core(i).takes_part && block.core(i).time_log != nullptr) {
            time_logs_[block.index()][size_t(i)] = std::move(*block.core(i).time_log);
        }
    }
    if (block.order() != nullptr && !block.stopped()) {
        if (block.order()->needs() != nullptr) {
            sync_lines_->add(*block.order()->needs());
        }
        block.order()->keep_stored();
        grid_races_.add(block.index(), *block.order(), blocks_ * ranks() == 1);
    }
    all_live_.erase(std::find(all_live_.begin(), all_live_.end(), &block));
}

std::unique_ptr<Block> Launch::start_block(uint32_t order)
{
    const uint32_t index = first_rank() * blocks_ + permuted(order, blocks_ * ranks_here(), options_.seed);
    try {
        std::unique_ptr<Block> block = acquire_block();
        block->begin(*this, index, order);
        const std::lock_guard<std::mutex> lock(mutex_);
        all_live_.push_back(block.get());
        return block;
    } catch (const std::bad_alloc&) {
        Fault fault;
        fault.kind = "out-of-memory";
        fault.text = text_of("the host has no memory for the local memories of %s", name_of_block(index).c_str());
        place(fault, index);
        fail(order, std::move(fault));
        return nullptr;
    }
}

double Launch::time_left() const
{
    const std::chrono::duration<double> left = deadline_ - std::chrono::steady_clock::now();
    return options_.timeout > 0 ? std::max(left.count(), 0.001) : 0;
}

// True if one could go on.
bool Launch::step_all(std::vector<std::unique_ptr<Block>>& live)
{
    bool any = false;
    const auto starved = [this](const Block& block) {
        return options_.starved_rank != 0 && block.rank() == options_.starved_rank - 1;
    };
    for (const bool now : {false, true}) {
        for (size_t i = 0; i < live.size() && (!now || !any);) {
            any = (starved(*live[i]) == now && live[i]->step()) || any;
            if (live[i]->finished()) {
                retire(*live[i]);
                release_block(std::move(live[i]));
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
                any = true;
            } else {
                ++i;
            }
        }
        if (options_.starved_rank == 0) {
            break;
        }
    }
    return any;
}

void Launch::work()
{
    const CrashGuard guard(*this);
    std::vector<std::unique_ptr<Block>> live;
    for (;;) {
        const uint64_t seen = version_.load(std::memory_order_acquire);
        const uint64_t stores_seen = stores_told();
        if (step_all(live)) {
            continue;
        }
        Block* stuck = nullptr;
        for (const auto& block : live) {
            if (!block->outside_wait_possible() && !block->stopped()) {
                stuck = block.get();
                break;
            }
        }
        // A block whose cores wait only for each other will never go on, whatever other blocks do.
        if (stuck != nullptr && version_.load(std::memory_order_acquire) == seen) {
            report_deadlock({stuck});
            continue;
        }
        uint32_t order = 0;
        if (take_block(order)) {
            std::unique_ptr<Block> block = start_block(order);
            if (block != nullptr) {
                live.push_back(std::move(block));
            }
            continue;
        }
        if (live.empty()) {
            break;
        }
        if (!wait_for_others(seen, stores_seen)) {
            std::vector<Block*> blocks;
            bool failed = false;
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                blocks = all_live_;
                failed = failed_ || block_failed_;
            }
            if (!failed) {
                report_deadlock(blocks);
            }
            stop_all();
        }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    --workers_;
    if (workers_ > 0 && idle_ == workers_) {
        all_idle();
    }
}

}  // namespace tile_simulator
