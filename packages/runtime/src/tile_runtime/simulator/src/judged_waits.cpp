#include "judged_waits.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

namespace tile_simulator {
namespace {

// Signals after a wait that are looked at: those that do not depend on it come from cores that waited at the same time.
// Before a wait: what was known of them may rest on another wait of that time.
constexpr size_t most_later = 64;
constexpr size_t most_earlier = 64;
constexpr int most_rounds = 64;

bool same(const ForeignPointer& a, const ForeignPointer& b)
{
    const auto equal = [](const Foreign::Entry& one, const Foreign::Entry& other) {
        return one.block == other.block && (one.clock == other.clock ||
                   std::memcmp(one.clock.get(), other.clock.get(), sizeof(VectorClock)) == 0);
    };
    return a == b || (a != nullptr && b != nullptr &&
                         std::equal(a->all().begin(), a->all().end(), b->all().begin(), b->all().end(), equal));
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
ForeignPointer sure_part(const Handover& handover, std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank)
{
    const auto taken = blocks.find(handover.block);
    if (taken == blocks.end()) {
        return all_of(handover);
    }
    const uint32_t first = handover.block / blocks_of_rank * blocks_of_rank;
    ForeignPointer sure = joined(joined(known_of(first, rounds_of(handover.clock)), handover.fenced),
        known_of(handover.block, handover.clock));
    for (int core = 0; core < cores_per_block; ++core) {
        TakenOver& by = taken->second.by[core];
        by.settle(handover.clock.at[handovers_of(core)]);
        sure = joined(sure, by.known(handover.clock.at[handovers_of(core)]));
    }
    return sure;
}

// Whether a condition does not hold without any one of some ADDs.
bool needs_all(
    const std::vector<std::pair<int64_t, ForeignPointer>>& adds, int64_t base, const SignalCondition& condition, bool down)
{
    int64_t sum = base;
    int64_t least = 0;
    for (const auto& [value, known] : adds) {
        if (value == 0 || (value < 0) != down) {
            return false;
        }
        sum += value;
        least = least == 0 || std::abs(value) < std::abs(least) ? value : least;
    }
    return condition.holds(sum) && !condition.holds(sum - least);
}

}  // namespace

// An instruction is sure to be complete if the ADDs that do not know of it are too few. Those that know of the `n`-th of
// an agent know of all before it: of each agent, the ADDs are counted from the one that knows least.
ForeignPointer sure_of_adds(
    const std::vector<std::pair<int64_t, ForeignPointer>>& adds, int64_t base, const SignalCondition& condition)
{
    const bool exact = condition.compare == Compare::eq || condition.compare == Compare::ne;
    const bool down = condition.compare == Compare::le || condition.compare == Compare::lt;
    if (!exact && needs_all(adds, base, condition, down)) {
        ForeignPointer all;
        for (const auto& [value, known] : adds) {
            all = joined(all, known);
        }
        return all;
    }
    std::set<uint32_t> blocks;
    for (const auto& [value, known] : adds) {
        for (const Foreign::Entry& entry : known->all()) {
            blocks.insert(entry.block);
        }
    }
    auto sure = std::make_shared<Foreign>();
    std::vector<std::pair<uint32_t, int64_t>> counts;
    std::vector<const VectorClock*> clocks;
    for (const uint32_t block : blocks) {
        clocks.clear();
        for (const auto& [value, known] : adds) {
            clocks.push_back(known->of(block));
        }
        const auto count_of = [&](size_t add, int i) { return clocks[add] != nullptr ? clocks[add]->at[i] : 0; };
        auto clock = std::make_shared<VectorClock>();
        for (int i = 0; i < VectorClock::size; ++i) {
            counts.clear();
            for (size_t add = 0; add < adds.size(); ++add) {
                // One against the condition can only hold it up.
                if (exact || (adds[add].first < 0) == down) {
                    counts.emplace_back(count_of(add, i), adds[add].first);
                }
            }
            std::sort(counts.begin(), counts.end());
            int64_t value = base;
            for (size_t k = 0; k < counts.size() && !condition.holds(value); ++k) {
                value += counts[k].second;
                clock->at[i] = counts[k].first;
            }
        }
        sure->append(block, std::move(clock));
    }
    return sure;
}

void JudgedWaits::signal(
    uint64_t address, bool add, int64_t value, int core, const std::shared_ptr<const Handover>& by)
{
    words_[address].push_back({add, core, {value, by}});
}

size_t JudgedWaits::signals(uint64_t address) const
{
    const auto found = words_.find(address);
    return found != words_.end() ? found->second.size() : 0;
}

// Calls depends(signal) for those that came after a wait and may not depend on it. What a core signals once one of its
// signals does depends on it as well.
template <class F>
void JudgedWaits::for_later(const JudgedWait& wait, const F& depends) const
{
    const std::vector<Logged>& log = words_.at(wait.address);
    std::vector<std::pair<uint32_t, int>> behind;
    for (size_t i = wait.seen; i < log.size() && i < wait.seen + most_later && log[i].add; ++i) {
        const std::pair<uint32_t, int> core(log[i].added.by->block, log[i].core);
        if (std::find(behind.begin(), behind.end(), core) == behind.end() && depends(log[i].added)) {
            behind.push_back(core);
        }
    }
}

// Those that were there, and those that came later and do not depend on the wait: `more` tells of any. What was known of
// those before may be less by now, so they are among them, and `base` is the value without them.
std::vector<std::pair<int64_t, ForeignPointer>> JudgedWaits::adds_of(const JudgedWait& wait,
    std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank, int64_t& base, bool& more) const
{
    std::vector<std::pair<int64_t, ForeignPointer>> adds;
    for (const Added& add : wait.adds) {
        adds.emplace_back(add.value, sure_part(*add.by, blocks, blocks_of_rank));
    }
    const std::vector<Logged>& log = words_.at(wait.address);
    const size_t first = std::max(wait.since, wait.seen - std::min(wait.seen, most_earlier));
    for (size_t i = wait.seen; i > first && log[i - 1].add; --i) {
        const Added& add = log[i - 1].added;
        const auto same_add = [&](const Added& other) { return other.by == add.by; };
        if (std::none_of(wait.adds.begin(), wait.adds.end(), same_add)) {
            adds.emplace_back(add.value, sure_part(*add.by, blocks, blocks_of_rank));
            base -= add.value;
        }
    }
    const int scalar = wait.core * agents_per_core + int(Pipe::s);
    for_later(wait, [&](const Added& added) {
        ForeignPointer known = sure_part(*added.by, blocks, blocks_of_rank);
        const bool depends = knows_instruction(*known, wait.block, scalar, wait.number);
        if (!depends) {
            adds.emplace_back(added.value, std::move(known));
            more = true;
        }
        return depends;
    });
    return adds;
}

// Whether a later signal does not depend on the wait, by what was known at first.
bool JudgedWaits::may_change(const JudgedWait& wait) const
{
    bool any = false;
    for_later(wait, [&](const Added& added) {
        const bool depends = any || depends_on(*added.by, wait);
        any = any || !depends;
        return depends;
    });
    return any;
}

void JudgedWaits::judge_again(std::map<uint32_t, TakenByBlock>& blocks, uint32_t blocks_of_rank) const
{
    for (auto& [block, taken] : blocks) {
        for (TakenOver& by : taken.by) {
            by.begin_judging();
        }
    }
    bool any = false;
    for (int round = 0; round < most_rounds; ++round) {
        bool changed = false;
        for (const std::shared_ptr<const JudgedWait>& wait : waits_) {
            const auto taken = blocks.find(wait->block);
            bool more = false;
            if (taken == blocks.end() || (!any && !may_change(*wait))) {
                continue;
            }
            int64_t base = wait->base;
            const auto adds = adds_of(*wait, blocks, blocks_of_rank, base, more);
            if (!more && !any) {
                continue;
            }
            const ForeignPointer sure = sure_of_adds(adds, base, wait->condition);
            TakenOver& by = taken->second.by[wait->core];
            if (!same(by.given(wait->taken), sure)) {
                changed = true;
                by.give_less(wait->taken, sure);
            }
        }
        if (!changed) {
            break;
        }
        any = true;
    }
    for (auto& [block, taken] : blocks) {
        for (TakenOver& by : taken.by) {
            by.settle(by.latest());
        }
    }
}

}  // namespace tile_simulator
