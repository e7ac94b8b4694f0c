// Stores that nothing orders: a race if their bytes differ, else work done twice.
#include <utility>

#include "launch.h"
#include "order_checks.h"
#include "race_report.h"

namespace tile_simulator {

void OrderChecks::stored(const Core& core, const uint8_t* target, const uint8_t* source, uint64_t bytes)
{
    if (!core.astray) {
        stored_[core_index(core)].store(reinterpret_cast<uint64_t>(target), source, bytes);
        store_flag(core, reinterpret_cast<uint64_t>(target), bytes, source);
    }
}

void OrderChecks::updated(const Core& core, const uint8_t* target, uint64_t bytes)
{
    if (!core.astray) {
        store_flag(core, reinterpret_cast<uint64_t>(target), bytes, nullptr);
    }
}

void OrderChecks::stored_unseen(const Core& core, uint64_t address, uint64_t bytes)
{
    stored_[core_index(core)].forget(address, bytes);
    core.block.launch().flags().break_chains(address, address + bytes);
}

void OrderChecks::settle(const Core& core)
{
    settle_rewrites(core);
    if (doubts_.empty()) {
        return;
    }
    const std::vector<Doubt> doubts = std::move(doubts_);
    doubts_.clear();
    Launch& launch = core.block.launch();
    const auto report = [&](const Doubt& doubt, bool redundant) {
        const GlobalBuffer& buffer = *launch.buffers().find(doubt.begin);
        const Access& earlier = log_[doubt.earlier];
        const Access& later = log_[doubt.later];
        const std::string bytes = bytes_of(buffer, doubt.begin, doubt.end);
        return redundant ? redundant_store_report(earlier, later, bytes) : store_race_report(earlier, later, bytes);
    };
    for (const Doubt& doubt : doubts) {
        const StoredBytes& earlier = stored_[log_[doubt.earlier].agent / agents_per_core];
        const StoredBytes& later = stored_[log_[doubt.later].agent / agents_per_core];
        if (!StoredBytes::equal(earlier, later, doubt.begin, doubt.end)) {
            tell(core.block.core(core_index(core)), report(doubt, false));
            return;
        }
    }
    const Doubt& first = doubts.front();
    if (strict_) {
        return tell(core.block.core(core_index(core)), report(first, true));
    }
    const Access& later = log_[first.later];
    if (!launch.warned("redundant-store", later.file, later.line, core.block.index())) {
        launch.warn(core, report(first, true));
    }
}

}  // namespace tile_simulator
