#include "cross_sets.h"

#include <algorithm>
#include <tuple>

#include "launch.h"

namespace tile_simulator {
namespace {

// The vector core that has set a flag more often than its partner, or -1.
template <class Sets>
int ahead(const Sets& sets)
{
    return sets[0].size() == sets[1].size() ? -1 : sets[0].size() > sets[1].size() ? 0 : 1;
}

bool same_line(const Use& a, const Use& b)
{
    return a.at.line == b.at.line && a.at.file == b.at.file;
}

// Calls f(use) for the first of the uses on each line.
template <class F>
void for_lines(const std::vector<Use>& uses, const F& f)
{
    for (size_t i = 0; i < uses.size(); ++i) {
        const auto end = uses.begin() + static_cast<std::ptrdiff_t>(i);
        if (std::none_of(uses.begin(), end, [&](const Use& earlier) { return same_line(earlier, uses[i]); })) {
            f(uses[i]);
        }
    }
}

Fault fault_at(const LeftSets& left, const Use& use, std::string text, std::string hint)
{
    Fault fault = fault_of("flag-left-set", use, std::move(text));
    fault.block = left.block;
    fault.core = core_names[left.core];
    fault.hint = std::move(hint);
    return fault;
}

Fault half_set_fault(const LeftSets& left, const Use& use)
{
    const char* own = core_names[left.core];
    const char* partner = core_names[3 - left.core];
    return fault_at(left, use,
        text_of("%s sets cross-core flag %d with mode %u more often than %s: %s rises only after both vector cores "
                "have set the flag, so this set has no effect and is left for the next kernel",
            own, left.id, left.mode, partner,
            left.mode == 2 ? "the counter of the cube core" : "the counter of each vector core"),
        text_of("call CrossCoreSetFlag<%u, ...>(%d) on both vector cores, outside of any branch on GetSubBlockIdx()",
            left.mode, left.id));
}

Fault incomplete_round_fault(const LeftSets& left, const Use& use)
{
    const char* kind = left.core == 0 ? "cube" : "vector";
    return fault_at(left, use,
        text_of("%s sets cross-core flag %d with mode 0, but not every %s core of the launch does: the counters rise "
                "only after all of them have set the flag, so this set is left for the next kernel",
            core_names[left.core], left.id, kind),
        text_of("call CrossCoreSetFlag<0, ...>(%d) on every %s core of every block, outside of any branch on "
                "GetBlockIdx() or GetSubBlockIdx()",
            left.id, kind));
}

}  // namespace

void CrossSets::clear()
{
    for (auto& core : counters_) {
        for (Counter& counter : core) {
            counter.raised.clear();
            counter.joined.clear();
        }
    }
    for (auto& mode : pairs_) {
        for (auto& flag : mode) {
            flag[0].clear();
            flag[1].clear();
        }
    }
}

void CrossSets::complete_rounds(int core, int id, uint32_t rounds)
{
    Counter& counter = counters_[core][id];
    const auto end =
        counter.joined.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(rounds, counter.joined.size()));
    counter.raised.insert(counter.raised.end(), counter.joined.begin(), end);
    counter.joined.erase(counter.joined.begin(), end);
}

void CrossSets::wait(int core, int id)
{
    std::vector<Use>& raised = counters_[core][id].raised;
    if (!raised.empty()) {
        raised.erase(raised.begin());
    }
}

std::string CrossSets::half_set_text(int core, int id) const
{
    const auto& sets = pairs_[core == 0 ? 1 : 0][id];
    const int sub = ahead(sets);
    if (sub < 0) {
        return "";
    }
    const Use& use = sets[sub].back().use;
    return text_of(
        " (of the vector cores only %s has set it, at %s:%u)", core_names[1 + sub], use.at.file, use.at.line);
}

void CrossSets::collect(const Block& block, std::vector<LeftSets>& left) const
{
    for (int core = 0; core < cores_per_block; ++core) {
        for (int id = 0; id < cross_flags; ++id) {
            const Counter& counter = counters_[core][id];
            if (!counter.raised.empty() || !counter.joined.empty()) {
                const auto joined = static_cast<uint32_t>(counter.joined.size());
                left.push_back({block.index(), block.order_of_start(), core, id, 0, counter.raised, counter.joined,
                    block.core(core).cross[id].rounds_set - joined});
            }
            for (uint32_t mode = 1; core > 0 && mode <= 2; ++mode) {
                LeftSets alone{block.index(), block.order_of_start(), core, id, mode, {}, {}, 0};
                for (const PairedSet& set : pairs_[mode - 1][id][core - 1]) {
                    alone.raised.push_back(set.use);
                }
                if (!alone.raised.empty()) {
                    left.push_back(std::move(alone));
                }
            }
        }
    }
}

std::vector<Fault> left_set_faults(const LeftSets& left, uint32_t complete, bool all_ran)
{
    std::vector<Fault> faults;
    if (left.mode != 0) {
        for_lines(left.raised, [&](const Use& use) { faults.push_back(half_set_fault(left, use)); });
        return faults;
    }
    const size_t more = complete > left.first_round ? complete - left.first_round : 0;
    const auto end = left.joined.begin() + static_cast<std::ptrdiff_t>(std::min(more, left.joined.size()));
    std::vector<Use> raised = left.raised;
    raised.insert(raised.end(), left.joined.begin(), end);
    for_lines(raised, [&](const Use& use) {
        faults.push_back(fault_at(left, use,
            text_of("cross-core counter %d is still %zu when the kernel ends: every set must be matched by a "
                    "CrossCoreWaitFlag(%d) on this core",
                left.id, raised.size(), left.id),
            text_of("add CrossCoreWaitFlag(%d) on %s, or leave out this set", left.id, core_names[left.core])));
    });
    if (all_ran) {
        for_lines({end, left.joined.end()},
            [&](const Use& use) { faults.push_back(incomplete_round_fault(left, use)); });
    }
    return faults;
}

void Launch::judge_left_sets()
{
    const auto rank = [](const LeftSets& left) { return std::tie(left.order, left.core, left.id, left.mode); };
    std::sort(left_sets_.begin(), left_sets_.end(),
        [&](const LeftSets& a, const LeftSets& b) { return rank(a) < rank(b); });
    const bool strict = options_.checks >= TILE_CHECKS_STRICT;
    for (const LeftSets& left : left_sets_) {
        const CoreKind kind = left.core == 0 ? CoreKind::aic : CoreKind::aiv;
        for (Fault& fault : left_set_faults(left, rounds(rank_of(left.block), kind, left.id), !failed_ && !block_failed_)) {
            place(fault, left.block);
            if (!strict) {
                const auto [entry, fresh] = warnings_.try_emplace({fault.kind, fault.file, fault.line}, fault);
                if (!fresh && fault.block < entry->second.block) {
                    entry->second = std::move(fault);
                }
            } else if (options_.first == 0 || (!failed_ && kept_.empty())) {
                constexpr uint64_t behind_all = ~uint64_t(0);
                const auto key = std::make_tuple(fault.kind, fault.file, fault.line, std::string(), 0u);
                kept_.try_emplace(key, Kept{left.order, behind_all, std::move(fault)});
            }
        }
    }
}

}  // namespace tile_simulator
