#include "rank_barriers.h"

#include "handover.h"
#include "launch.h"

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

bool RankBarriers::arrive(
    Core& core, Collective kind, uint32_t place, uint32_t cores, const ForeignPointer& knowledge, Use use)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<First>& sequence = sequence_[int(core.kind)];
    const std::string party = core.block.launch().name_of_block(core.block.index()) + " " + core.name();
    if (sequence.size() == place) {
        sequence.push_back({kind, party, use});
    }
    const First& first = sequence[place];
    if (first.kind != kind) {
        const auto text = [&](const std::string& who, Collective what, const Use& at) {
            return text_of("%s comes to %s (%s:%u)", who.c_str(), name_of(what), at.at.file, at.at.line);
        };
        const std::string one = text(first.party, first.kind, first.use);
        const std::string two = text(party, kind, use);
        Fault fault = fault_of("collective-mismatch", use,
            text_of("as collective number %u %s, and %s: all cores of all ranks come to the same ones in one order",
                place + 1, (one < two ? one : two).c_str(), (one < two ? two : one).c_str()));
        fault.hint = "call it outside of any branch on the rank, the block or the core";
        throw FaultError{std::move(fault)};
    }
    const uint32_t number = numbers_[{&core, int(kind)}]++;
    Round& round = rounds_[int(kind)][number];
    round.joined = joined(round.joined, knowledge);
    round.waiting.push_back(&core);
    return ++round.arrived == cores;
}

ForeignPointer RankBarriers::knowledge(Collective kind, uint32_t number) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto round = rounds_[int(kind)].find(number);
    return round != rounds_[int(kind)].end() ? round->second.joined : nullptr;
}

void RankBarriers::release(Collective kind, uint32_t number)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<uint32_t, Round>& rounds = rounds_[int(kind)];
    Round& round = rounds[number];
    for (Core* core : round.waiting) {
        core->awaited.knowledge = round.joined;
        core->awaited.ready.store(true, std::memory_order_release);
    }
    rounds.erase(number);
}

}  // namespace tile_simulator
