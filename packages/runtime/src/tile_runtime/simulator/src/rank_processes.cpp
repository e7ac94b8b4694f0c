// Ranks of other processes: a launch runs the blocks of one rank, and shares memory with the others. Their clocks are
// not known here, so that races between ranks are not looked for.
#include <algorithm>
#include <chrono>
#include <thread>

#include "launch.h"
#include "rank_messages.h"

namespace tile_simulator {
namespace {

constexpr auto between_looks = std::chrono::microseconds(50);

uint32_t* came_of(const TileProcesses& all, uint32_t rank)
{
    return all.came + size_t(rank) * all.apart;
}

}  // namespace

void signal_process(uint64_t address, bool add, int32_t value)
{
    auto* const word = reinterpret_cast<int32_t*>(address);
    if (add) {
        __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(word, value, __ATOMIC_RELEASE);
    }
}

void Launch::come_with_processes(Collective kind, uint32_t number)
{
    const TileProcesses& all = *options_.processes;
    const uint32_t came = __atomic_add_fetch(came_of(all, all.rank), 1, __ATOMIC_RELEASE);
    if (all.messages != nullptr) {
        all.messages->come(came);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    barriers_of_processes_.push_back({kind, number, came});
}

void Launch::hand_to_processes(const Handover& told)
{
    const std::lock_guard<std::mutex> lock(handed_mutex_);
    handed_to_processes_ = joined(handed_to_processes_, all_of(told));
}

ForeignPointer Launch::handed_to_processes() const
{
    const std::lock_guard<std::mutex> lock(handed_mutex_);
    return handed_to_processes_;
}

bool Launch::judge_barriers()
{
    const TileProcesses& all = *options_.processes;
    for (auto each = barriers_of_processes_.begin(); each != barriers_of_processes_.end(); ++each) {
        bool complete = true;
        for (uint32_t rank = 0; rank < ranks(); ++rank) {
            const uint32_t came = __atomic_load_n(came_of(all, rank), __ATOMIC_ACQUIRE);
            complete = complete && static_cast<int32_t>(came - each->came) >= 0;
        }
        if (complete) {
            barriers().release(each->kind, each->number);
            barriers_of_processes_.erase(each);
            version_.fetch_add(1, std::memory_order_release);
            idle_ = 0;
            return true;
        }
    }
    return false;
}

// Until another process lets somebody here go on; false if none will.
bool Launch::wait_for_processes()
{
    const auto waits = [](Block* block) {
        for (int i = 0; i < Block::core_count; ++i) {
            if (!block->core(i).coroutine.finished() && block->core(i).awaited.waiting) {
                return true;
            }
        }
        return false;
    };
    if (options_.processes == nullptr || !std::any_of(all_live_.begin(), all_live_.end(), waits)) {
        return false;
    }
    while (__atomic_load_n(options_.processes->given_up, __ATOMIC_ACQUIRE) == 0 && !past_deadline()) {
        if (judge_barriers() || judge_signals()) {
            return true;
        }
        std::this_thread::sleep_for(between_looks);
    }
    return false;
}

std::string Launch::verdict_on_processes() const
{
    const TileProcesses& all = *options_.processes;
    const uint32_t given_up = __atomic_load_n(all.given_up, __ATOMIC_ACQUIRE);
    return given_up != 0 ? text_of("rank %u has given up", given_up - 1)
                         : "the other ranks, in processes of their own, did not signal in time";
}

}  // namespace tile_simulator
