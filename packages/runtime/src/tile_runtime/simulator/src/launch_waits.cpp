// Host threads whose blocks all wait: until something changes, or nothing can.
#include <algorithm>
#include <chrono>
#include <utility>

#include "launch.h"

namespace tile_simulator {

void Launch::wake()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    version_.fetch_add(1, std::memory_order_release);
    idle_ = 0;
    changed_.notify_all();
}

// The last worker to come to rest.
void Launch::all_idle()
{
    if (judge_signals() || wait_for_processes()) {
        changed_.notify_all();
        return;
    }
    // Loops that look at GM may give up by themselves after some looks.
    constexpr uint32_t most_last_looks = 1000;
    const auto polls = [](const Block* block) { return block->outside_wait_possible(); };
    if (std::any_of(all_live_.begin(), all_live_.end(), polls) && last_looks_ < most_last_looks) {
        ++last_looks_;
        tell_store();
        version_.fetch_add(1, std::memory_order_release);
        idle_ = 0;
    } else {
        deadlock_ = true;
    }
    changed_.notify_all();
}

bool Launch::wait_for_others(uint64_t seen, uint64_t stores_seen)
{
    std::unique_lock<std::mutex> lock(mutex_);
    // One worker tells of a deadlock: to the others, blocks that it then stops would be moving under their eyes.
    const auto goes_on = [&] { return !std::exchange(deadlock_, false); };
    const auto changed = [&] { return version_.load(std::memory_order_acquire) != seen || deadlock_; };
    if (changed() || stores_told() != stores_seen) {
        return goes_on();
    }
    if (++idle_ == workers_) {
        all_idle();
        return goes_on();
    }
    // Stores are told without the lock.
    while (!changed() && stores_told() == stores_seen) {
        changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    if (!changed()) {
        --idle_;
    }
    return goes_on();
}

}  // namespace tile_simulator
