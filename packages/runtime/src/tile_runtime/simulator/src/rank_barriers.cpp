#include "rank_barriers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "handover.h"
#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {

const char* name_of(Collective kind)
{
    static const char* const names[] = {"aclshmem_barrier_all", "aclshmem_sync_all", "aclshmemx_barrier_all_vec"};
    return names[int(kind)];
}

uint32_t RankBarriers::number_of(const Core& core, Collective kind) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = numbers_.find({&core, int(kind)});
    return found != numbers_.end() ? found->second : 0;
}

bool RankBarriers::arrive(Core& core, Collective kind, uint32_t place, uint32_t cores, const ForeignPointer& knowledge,
    Use use, bool& last, ForeignPointer& known)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& came = sequence_[int(core.kind)][place];
    const uint32_t block = core.block.index();
    const Party party = {block, core_index(core), core.block.launch().name_of_block(block) + " " + core.name(), use};
    Party& first = came.try_emplace(kind, party).first->second;
    if (std::tie(party.block, party.core) < std::tie(first.block, first.core)) {
        first = party;
    }
    if (came.size() > 1) {
        return false;
    }
    const uint32_t number = numbers_[{&core, int(kind)}]++;
    Round& round = rounds_[int(kind)][number];
    round.joined = joined(round.joined, knowledge);
    round.waiting.push_back(&core);
    last = ++round.arrived == cores;
    if (last) {
        known = round.joined;
        for (const CoreKind each : {CoreKind::aic, CoreKind::aiv}) {
            if (each == core.kind || kind != Collective::vector) {
                sequence_[int(each)].clear();
            }
        }
    }
    return true;
}

std::vector<Fault> RankBarriers::mismatches(const Launch& launch) const
{
    std::vector<Fault> all;
    for (const auto& sequence : sequence_) {
        const auto place = std::find_if(
            sequence.begin(), sequence.end(), [](const auto& came) { return came.second.size() > 1; });
        if (place == sequence.end()) {
            continue;
        }
        std::vector<std::pair<Collective, Party>> parties(place->second.begin(), place->second.end());
        std::sort(parties.begin(), parties.end(), [](const auto& a, const auto& b) {
            return std::tie(a.second.block, a.second.core) < std::tie(b.second.block, b.second.core);
        });
        const auto act_of = [](const std::pair<Collective, Party>& came) {
            const Use& use = came.second.use;
            return text_of("%s comes to %s (at %s:%u)", came.second.name.c_str(), name_of(came.first), use.at.file,
                use.at.line);
        };
        const Party& told = parties[1].second;
        Fault fault = fault_of("collective-mismatch", told.use,
            text_of("as collective number %zu %s, and %s: all cores of all ranks come to the same ones in one order",
                size_t(place->first) + 1, act_of(parties[0]).c_str(), act_of(parties[1]).c_str()));
        fault.hint = "call it outside of any branch on the rank, the block or the core";
        fault.core = told.name.substr(told.name.rfind(' ') + 1);
        fault.other = parties[0].second.use.at;
        launch.place(fault, told.block);
        all.push_back(std::move(fault));
    }
    return all;
}

void RankBarriers::release(Collective kind, uint32_t number)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<uint32_t, Round>& rounds = rounds_[int(kind)];
    Round& round = rounds[number];
    for (Core* core : round.waiting) {
        // Before any of them goes on: what the others hand over says that this one knows it.
        if (OrderChecks* order = core->block.order()) {
            order->know_all(*core, round.joined);
        }
        core->awaited.ready.store(true, std::memory_order_release);
    }
    rounds.erase(number);
}

}  // namespace tile_simulator
