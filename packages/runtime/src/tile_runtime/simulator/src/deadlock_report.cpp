// Who waits for what, when no core of a block or of the whole launch can go on.
#include <algorithm>

#include "launch.h"
#include "sync_state.h"

namespace tile_simulator {
namespace {

// Who could have set what the cores wait for: others that wait as well, or that have ended.
std::string why_stuck(const std::vector<Block*>& blocks)
{
    std::string cycle;
    std::string ended;
    int waiting = 0;
    for (Block* block : blocks) {
        for (int i = 0; i < Block::core_count; ++i) {
            const Core& core = block->core(i);
            const std::string name = block->launch().name_of_block(block->index()) + " " + core.name();
            if (!core.coroutine.finished()) {
                ++waiting;
                cycle += cycle.empty() ? name : " -> " + name;
            } else if (core.takes_part && ended.size() < 200) {
                ended += (ended.empty() ? "" : ", ") + name;
            }
        }
    }
    if (!ended.empty()) {
        return "; ended without setting it: " + ended;
    }
    return waiting < 2 ? std::string("; no other core takes part in this block")
                       : "; they wait for each other: " + cycle.substr(0, 200) + " -> ...";
}

// What a core that reads GM again and again reads.
std::string place_of(const Core& core)
{
    const uint64_t address = core.polling.address;
    const GlobalBuffer* buffer = core.block.launch().buffers().find(address);
    return buffer == nullptr ? std::string("GM")
                             : text_of("byte %llu of GM buffer %s",
                                   static_cast<unsigned long long>(address - buffer->begin), buffer->shown().c_str());
}

// A core that can not set a flag because its readers do not go on.
const Core* first_full(const std::vector<Block*>& blocks)
{
    for (Block* block : blocks) {
        for (int i = 0; i < Block::core_count; ++i) {
            if (!block->core(i).coroutine.finished() && block->core(i).full_id >= 0) {
                return &block->core(i);
            }
        }
    }
    return nullptr;
}

}  // namespace

void Launch::report_deadlock(const std::vector<Block*>& blocks)
{
    if (!waiting_for_ranks(blocks).empty()) {
        return report_rank_deadlock(blocks);
    }
    std::vector<Block*> ordered = blocks;
    std::sort(ordered.begin(), ordered.end(), [](const Block* a, const Block* b) { return a->index() < b->index(); });
    const Core* first = nullptr;
    std::string list;
    int waiting = 0;
    for (Block* block : ordered) {
        for (int i = 0; i < Block::core_count; ++i) {
            const Core& core = block->core(i);
            if (core.coroutine.finished() || (core.waiting_id < 0 && !core.polling.waiting)) {
                continue;
            }
            if (first == nullptr) {
                first = &core;
            }
            if (++waiting <= 6 && core.polling.waiting) {
                list += text_of("%s %s %s waits at %s:%u for a change of %s", waiting > 1 ? ";" : "",
                    name_of_block(block->index()).c_str(), core.name().c_str(), core.polling.use.at.file, core.polling.use.at.line,
                    place_of(core).c_str());
            } else if (waiting <= 6) {
                list += text_of("%s %s %s waits for cross-core flag %d at %s:%u", waiting > 1 ? ";" : "",
                    name_of_block(block->index()).c_str(), core.name().c_str(), core.waiting_id, core.waiting_use.at.file,
                    core.waiting_use.at.line);
                list += block->cross_sets.half_set_text(core_index(core), core.waiting_id);
            }
        }
    }
    if (const Core* core = first_full(ordered); core != nullptr) {
        const Core& target = core->block.core(core->full_mode == 2 && core->is_vector() ? 0 : 1);
        Fault fault;
        fault.kind = "flag-overflow";
        fault.text = overflow_text(core->waiting_use.api, target, core->full_id, cross_flag_limit + 1);
        fault.file = core->waiting_use.at.file;
        fault.line = core->waiting_use.at.line;
        fault.api = core->waiting_use.api;
        report(*core, std::move(fault));
        return;
    }
    if (first == nullptr) {
        return;
    }
    if (waiting > 6) {
        list += text_of("; and %d more cores wait", waiting - 6);
    }
    list += why_stuck(ordered);
    Fault fault;
    fault.kind = "deadlock";
    fault.text = "no core can go on:" + list;
    const Use& use = first->polling.waiting ? first->polling.use : first->waiting_use;
    fault.file = use.at.file;
    fault.line = use.at.line;
    fault.api = use.api;
    report(*first, std::move(fault));
}

}  // namespace tile_simulator
