#include "judged_waits.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tile_simulator {
namespace {

// Signals after a wait that are looked at: those that do not depend on it come from cores that waited at the same time.
constexpr size_t most_later = 64;
constexpr int most_rounds = 64;

bool same(const ForeignPointer& a, const ForeignPointer& b)
{
    const auto equal = [](const auto& one, const auto& other) {
        return one.first == other.first && std::memcmp(&one.second, &other.second, sizeof(VectorClock)) == 0;
    };
    return a == b || (a != nullptr && b != nullptr && a->size() == b->size() &&
                         std::equal(a->begin(), a->end(), b->begin(), equal));
}

// Whether a handover knows of the end of a wait, as it was judged at first.
bool depends_on(const Handover& handover, const JudgedWait& wait)
{
    const int scalar = wait.core * agents_per_core + int(Pipe::s);
    return handover.block == wait.block
               ? handover.clock.at[scalar] >= wait.number
               : handover.foreign != nullptr && knows_instruction(*handover.foreign, wait.block, scalar, wait.number);
}

// What a handover says of all blocks, by what its block has taken over as far as that is sure.
ForeignPointer sure_part(
    const Handover& handover, const std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank)
{
    const auto taken = blocks.find(handover.block);
    if (taken == blocks.end()) {
        return all_of(handover);
    }
    auto own = std::make_shared<Foreign>();
    (*own)[handover.block / blocks_of_rank * blocks_of_rank] = rounds_of(handover.clock);
    (*own)[handover.block].join(handover.clock);
    ForeignPointer sure = own;
    for (int core = 0; core < cores_per_block; ++core) {
        sure = joined(sure, taken_as(taken->second.all[core], handover.clock.at[handovers_of(core)]));
    }
    return sure;
}

}  // namespace

// An instruction is sure to be complete if the ADDs that do not know of it are too few. Those that know of the `n`-th of
// an agent know of all before it: of each agent, the ADDs are counted from the one that knows least.
ForeignPointer sure_of_adds(
    const std::vector<std::pair<int64_t, ForeignPointer>>& adds, int64_t base, const SignalCondition& condition)
{
    const bool exact = condition.compare == Compare::eq || condition.compare == Compare::ne;
    const bool down = condition.compare == Compare::le || condition.compare == Compare::lt;
    std::set<uint32_t> blocks;
    for (const auto& [value, known] : adds) {
        for (const auto& [block, clock] : *known) {
            blocks.insert(block);
        }
    }
    auto sure = std::make_shared<Foreign>();
    std::vector<std::pair<uint32_t, int64_t>> counts;
    for (const uint32_t block : blocks) {
        VectorClock& clock = (*sure)[block];
        for (int i = 0; i < VectorClock::size; ++i) {
            counts.clear();
            for (const auto& [value, known] : adds) {
                const auto found = known->find(block);
                // One against the condition can only hold it up.
                if (exact || (value < 0) == down) {
                    counts.emplace_back(found != known->end() ? found->second.at[i] : 0, value);
                }
            }
            std::sort(counts.begin(), counts.end());
            int64_t value = base;
            for (size_t k = 0; k < counts.size() && !condition.holds(value); ++k) {
                value += counts[k].second;
                clock.at[i] = counts[k].first;
            }
        }
    }
    return sure;
}

void JudgedWaits::signal(uint64_t address, bool add, int64_t value, const std::shared_ptr<const Handover>& by)
{
    words_[address].push_back({add, {value, by}});
}

size_t JudgedWaits::signals(uint64_t address) const
{
    const auto found = words_.find(address);
    return found != words_.end() ? found->second.size() : 0;
}

// Those that were there, and those that came later and do not depend on the wait: `more` tells of any.
std::vector<std::pair<int64_t, ForeignPointer>> JudgedWaits::adds_of(const JudgedWait& wait,
    const std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank, bool& more) const
{
    std::vector<std::pair<int64_t, ForeignPointer>> adds;
    for (const Added& add : wait.adds) {
        adds.emplace_back(add.value, sure_part(*add.by, blocks, blocks_of_rank));
    }
    const std::vector<Logged>& log = words_.at(wait.address);
    const int scalar = wait.core * agents_per_core + int(Pipe::s);
    for (size_t i = wait.seen; i < log.size() && i < wait.seen + most_later && log[i].add; ++i) {
        ForeignPointer known = sure_part(*log[i].added.by, blocks, blocks_of_rank);
        if (!knows_instruction(*known, wait.block, scalar, wait.number)) {
            adds.emplace_back(log[i].added.value, std::move(known));
            more = true;
        }
    }
    return adds;
}

// Whether a later signal does not depend on the wait, by what was known at first.
bool JudgedWaits::may_change(const JudgedWait& wait) const
{
    const std::vector<Logged>& log = words_.at(wait.address);
    for (size_t i = wait.seen; i < log.size() && i < wait.seen + most_later && log[i].add; ++i) {
        if (!depends_on(*log[i].added.by, wait)) {
            return true;
        }
    }
    return false;
}

void JudgedWaits::judge_again(std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank) const
{
    bool any = false;
    for (int round = 0; round < most_rounds; ++round) {
        bool changed = false;
        for (const std::shared_ptr<const JudgedWait>& wait : waits_) {
            const auto taken = blocks.find(wait->block);
            bool more = false;
            if (taken == blocks.end() || (!any && !may_change(*wait))) {
                continue;
            }
            const auto adds = adds_of(*wait, blocks, blocks_of_rank, more);
            if (!more && !any) {
                continue;
            }
            const ForeignPointer sure = sure_of_adds(adds, wait->base, wait->condition);
            std::vector<ForeignPointer>& given = taken->second.given[wait->core];
            if (same(given[wait->taken], sure)) {
                continue;
            }
            changed = true;
            given[wait->taken] = sure;
            std::vector<ForeignPointer>& all = taken->second.all[wait->core];
            for (size_t i = wait->taken; i < all.size(); ++i) {
                all[i] = joined(all[i - 1], given[i]);
            }
        }
        if (!changed) {
            return;
        }
        any = true;
    }
}

}  // namespace tile_simulator
