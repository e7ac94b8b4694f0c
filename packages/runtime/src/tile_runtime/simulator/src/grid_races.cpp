#include "grid_races.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "launch.h"
#include "race_report.h"

namespace tile_simulator {
namespace {

// So many bytes of a buffer are compared at once where blocks touch single elements all over it: a multiple of a line.
constexpr uint64_t window_bytes = uint64_t(1) << 22;

uint32_t first_round_after(const std::vector<VectorClock>& released, const Access& access, uint32_t waits)
{
    const auto complete = [&](const VectorClock& clock) { return complete_by(clock, access, waits); };
    return static_cast<uint32_t>(std::find_if(released.begin(), released.end(), complete) - released.begin());
}

std::tuple<std::string, uint32_t, std::string, uint32_t> places(const Access& first, const Access& second)
{
    const auto file = [](const Access& access) { return std::string(access.file != nullptr ? access.file : ""); };
    return {file(first), first.line, file(second), second.line};
}

}  // namespace

ForeignPointer GridRaces::known_by(uint32_t first, uint32_t end) const
{
    ForeignPointer all;
    for (auto taken = taken_.lower_bound(first); taken != taken_.end() && taken->first < end; ++taken) {
        for (const TakenOver& each : taken->second.by) {
            all = joined(all, each.known(each.latest()));
        }
    }
    return all;
}

void GridRaces::add(uint32_t block, OrderChecks& order, bool alone)
{
    stored_.push_back(std::move(order.stored_bytes()));
    scattered_.push_back(std::move(order.scattered_bytes()));
    TakenByBlock& taken = taken_[block];
    for (int core = 0; core < cores_per_block; ++core) {
        taken.by[core] = order.taken(core);
    }
    for (const GlobalAccess& access : order.global().all()) {
        if (alone && !is_cache(order.log()[access.access].agent)) {
            continue;
        }
        Record record;
        record.region = access.region.compact();
        record.buffer = access.buffer;
        record.access = order.log()[access.access];
        record.block = block;
        record.interval = access.interval;
        const bool known = record.access.kind == AccessKind::write && access.bytes != not_known;
        record.bytes = known ? stored_.back().data() + access.bytes : nullptr;
        record.scattered = access.scattered;
        record.passed = 0;
        record.waits = access.waits;
        std::copy(std::begin(access.written_back), std::end(access.written_back), record.written_back);
        const VectorClock& clock = order.rounds_known()[access.rounds];
        for (int slot = 0; slot < grid_slots; ++slot) {
            record.rounds[slot] = clock.at[agent_count + slot];
            record.until[slot] = first_round_after(order.released(slot), record.access, record.waits);
        }
        record.taken = &taken;
        for (int core = 0; core < cores_per_block; ++core) {
            record.handovers[core] = clock.at[handovers_of(core)];
        }
        records_.push_back(record);
    }
}

bool GridRaces::meet(const Record& a, const Record& b) const
{
    return a.buffer->symmetric || launch_->rank_of(a.block) == launch_->rank_of(b.block);
}

bool GridRaces::before(const Record& earlier, const Record& later) const
{
    if (earlier.block == later.block) {
        return !is_cache(earlier.access.agent) || !is_cache(later.access.agent) ||
               earlier.access.agent == later.access.agent ||
               later.written_back[earlier.access.agent / agents_per_core] >= earlier.access.number;
    }
    const bool one_rank = launch_->rank_of(earlier.block) == launch_->rank_of(later.block);
    for (int slot = 0; one_rank && slot < grid_slots; ++slot) {
        if (earlier.until[slot] < later.rounds[slot]) {
            return true;
        }
    }
    return knows(later, earlier);
}

bool GridRaces::acknowledged(const Foreign& later, const Record& earlier) const
{
    const uint32_t first = static_cast<uint32_t>(earlier.buffer->rank) * launch_->blocks();
    for (auto entry = later.from(first); entry != later.all().end() && entry->block < first + launch_->blocks(); ++entry) {
        const auto taken = taken_.find(entry->block);
        for (int core = 0; taken != taken_.end() && core < cores_per_block; ++core) {
            const ForeignPointer& known = taken->second.by[core].known(entry->clock->at[handovers_of(core)]);
            const VectorClock* clock = known != nullptr ? known->of(earlier.block) : nullptr;
            if (clock != nullptr && complete_by(*clock, earlier.access, earlier.waits)) {
                return true;
            }
        }
    }
    return false;
}

// True if what `later` had taken over covers the earlier access.
bool GridRaces::knows(const Record& later, const Record& earlier) const
{
    const uint32_t rank = launch_->rank_of(earlier.block);
    const uint32_t reader = launch_->rank_of(later.block);
    const bool one_rank = reader == rank;
    const auto owner = static_cast<uint32_t>(earlier.buffer->rank);
    // Over RoCE, what the storing rank has waited for is complete for the owner of the memory alone.
    const bool needs_owner = earlier.waits != 0 && reader != owner && !one_rank &&
                             launch_->options().checks >= TILE_CHECKS_STRICT && !launch_->one_node(rank, owner);
    for (int core = 0; core < cores_per_block; ++core) {
        const Foreign* known = later.handovers[core] != 0 ? later.taken->by[core].known(later.handovers[core]).get()
                                                          : nullptr;
        if (known == nullptr) {
            continue;
        }
        if (needs_owner) {
            if (acknowledged(*known, earlier)) {
                return true;
            }
            continue;
        }
        const uint32_t all = launch_->blocks() * launch_->ranks();
        const VectorClock* clock = known->of(earlier.block);
        const VectorClock* fenced =
            earlier.waits != 0 ? known->of(fenced_block(earlier.block, owner, all)) : nullptr;
        if ((clock != nullptr && complete_by(*clock, earlier.access, earlier.waits)) ||
            (fenced != nullptr && complete_by(*fenced, earlier.access, earlier.waits))) {
            return true;
        }
        const uint32_t first = rank * launch_->blocks();
        if (!one_rank && knows_later_round(*known, first, first + launch_->blocks(), earlier.until)) {
            return true;
        }
    }
    return false;
}

// True if both store to a flag whose stores are all in order.
bool GridRaces::in_chain(const Run& a, const Run& b) const
{
    const auto sets_flags = [this](const Run& run) {
        const Record& record = records_[run.record];
        const bool scalar = is_cache(record.access.agent) || is_bypass(record.access.agent);
        const Region& region = record.region;
        const bool small = region.run * region.inner * region.outer <= GlobalFlags::largest_store;
        const bool stores = record.access.kind != AccessKind::read && record.access.kind != AccessKind::signal;
        return stores && (scalar || small);
    };
    return sets_flags(a) && sets_flags(b) && launch_->flags().chained(std::max(a.begin, b.begin), std::min(a.end, b.end));
}

bool GridRaces::enough() const
{
    return races_.size() >= launch_->most_races() || looked_at_ >= most_looked_at;
}

void GridRaces::compare(const Launch& launch)
{
    launch_ = &launch;
    if (launch.ranks() > 1) {
        launch.signals().judged_waits().judge_again(taken_, launch.blocks());
    }
    // Blocks were added in the order in which they ended; what is reported must not depend on it.
    std::stable_sort(
        records_.begin(), records_.end(), [](const Record& a, const Record& b) { return a.block < b.block; });
    std::map<std::pair<std::string, uint64_t>, std::vector<uint32_t>> by_buffer;
    std::map<uint64_t, bool> written;
    for (uint32_t i = 0; i < records_.size(); ++i) {
        const GlobalBuffer& buffer = *records_[i].buffer;
        // Addresses differ from run to run: what is told first of several ranks must not.
        by_buffer[{launch.ranks() > 1 ? buffer.shown() : std::string(), buffer.begin}].push_back(i);
        written[buffer.begin] |= records_[i].access.kind != AccessKind::read;
    }
    for (const auto& [key, records] : by_buffer) {
        const uint64_t start = key.second;
        if (!written[start]) {
            continue;
        }
        const bool scattered = std::any_of(
            records.begin(), records.end(), [this](uint32_t i) { return records_[i].scattered != nullptr; });
        const uint64_t end = records_[records.front()].buffer->end;
        const uint64_t step = scattered ? window_bytes : end - start + window_bytes;
        for (uint64_t low = start; low < end && !enough(); low += step) {
            find_in(runs_of(records, low, low + step), start);
        }
    }
    records_.clear();
    stored_.clear();
    scattered_.clear();
    taken_.clear();
}

BlockAccess GridRaces::party_of(const Record& record) const
{
    return {record.access, launch_->name_of_block(record.block), launch_->ranks() > 1 ? int32_t(launch_->rank_of(record.block)) : -1,
        record.buffer->rank, record.waits != 0};
}

Fault GridRaces::race_between(
    const Record& first, const Record& second, bool one_line_only, const std::string& bytes) const
{
    return launch_->rank_of(first.block) == launch_->rank_of(second.block)
               ? grid_race_report(party_of(first), party_of(second), bytes)
               : rank_race_report(party_of(first), party_of(second), one_line_only, bytes);
}

bool GridRaces::alike(const Record& a, const Record& b) const
{
    return a.block == b.block && a.access.agent == b.access.agent && a.access.kind == b.access.kind &&
           (a.waits != 0) == (b.waits != 0);
}

void GridRaces::add_to(Group& group, const Run& run) const
{
    if (group.runs.size() > 2 * group.swept + 16) {
        const auto over = [&](const Run& other) { return other.end <= run.begin; };
        group.runs.erase(std::remove_if(group.runs.begin(), group.runs.end(), over), group.runs.end());
        group.swept = group.runs.size();
    }
    const uint32_t interval = records_[run.record].interval;
    const auto earlier = [this](uint32_t value, const Run& other) { return value < records_[other.record].interval; };
    group.runs.insert(std::upper_bound(group.runs.begin(), group.runs.end(), interval, earlier), run);
    group.end = std::max(group.end, run.end);
}

// Who is ordered after a run is ordered after those of earlier intervals, and who is ordered before it before those of
// later ones. Within an interval runs are looked at one by one.
std::pair<size_t, size_t> GridRaces::beside(const Group& group, const Record& record) const
{
    const std::vector<Run>& runs = group.runs;
    const auto interval = [&](size_t i) { return records_[runs[i].record].interval; };
    if (interval(0) == interval(runs.size() - 1)) {
        return {0, runs.size()};
    }
    const auto is_before = [&](const Run& run) { return before(records_[run.record], record); };
    const auto is_not_behind = [&](const Run& run) { return !before(record, records_[run.record]); };
    auto first = static_cast<size_t>(std::partition_point(runs.begin(), runs.end(), is_before) - runs.begin());
    first -= first > 0 ? 1 : 0;
    while (first > 0 && interval(first - 1) == interval(first)) {
        --first;
    }
    const auto from = runs.begin() + static_cast<std::ptrdiff_t>(first);
    auto last = static_cast<size_t>(std::partition_point(from, runs.end(), is_not_behind) - runs.begin());
    while (last < runs.size() && (last == first || interval(last) == interval(last - 1))) {
        ++last;
    }
    return {first, last};
}

void GridRaces::tell_race(const Run& other, const Run& run, const std::string& bytes)
{
    const Record& a = records_[other.record];
    const Record& b = records_[run.record];
    const Record& first = a.block < b.block ? a : b;
    const Record& second = a.block < b.block ? b : a;
    ++looked_at_;
    const bool apart = std::max(run.start, other.start) >= std::min(run.stop, other.stop);
    if (raced_.insert(places(first.access, second.access)).second) {
        races_.push_back(a.block == b.block ? line_race_report(a.access, b.access, bytes)
                                            : race_between(first, second, apart, bytes));
        launch_->place(races_.back(), second.block);
    }
}

void GridRaces::tell_redundant(const Record& first, const Record& second, const std::string& bytes)
{
    const std::string file = second.access.file != nullptr ? second.access.file : "";
    if (told_.insert({file, second.access.line}).second) {
        redundant_.push_back(grid_redundant_store_report(party_of(first), party_of(second), bytes));
        launch_->place(redundant_.back(), second.block);
    }
}

// Two runs that meet, of accesses that conflict unless they are ordered.
void GridRaces::compare_runs(const Run& other, const Run& run, uint64_t start, const Lines& lines)
{
    const Record& a = records_[other.record];
    const Record& b = records_[run.record];
    if (before(a, b) || before(b, a) || in_chain(other, run)) {
        return;
    }
    const std::string bytes =
        bytes_of(*a.buffer, std::max(run.begin, start), std::min({run.end, other.end, a.buffer->end}));
    if (launch_->rank_of(a.block) != launch_->rank_of(b.block) || !agree(other, run, lines)) {
        tell_race(other, run, bytes);
    } else if (a.block != b.block) {  // in one block it was told when it was stored
        tell_redundant(a.block < b.block ? a : b, a.block < b.block ? b : a, bytes);
    }
}

void GridRaces::find_in(const std::vector<Run>& runs, uint64_t start)
{
    const Lines lines = lines_of(runs);
    std::vector<Group> groups;
    std::vector<std::vector<Run>> spare;
    for (const Run& run : runs) {
        const Record& record = records_[run.record];
        Group* own = nullptr;
        size_t kept = 0;
        for (size_t i = 0; i < groups.size(); ++i) {
            if (groups[i].end <= run.begin) {
                groups[i].runs.clear();
                spare.push_back(std::move(groups[i].runs));
                continue;
            }
            if (kept != i) {
                groups[kept] = std::move(groups[i]);
            }
            Group& group = groups[kept++];
            const Record& sample = records_[group.runs.front().record];
            own = alike(sample, record) ? &group : own;
            if (!conflicting(sample.access, record.access) || !meet(sample, record)) {
                continue;
            }
            if (sample.block == record.block && before(sample, record) && before(record, sample)) {
                continue;
            }
            const auto [first, last] = beside(group, record);
            for (size_t at = first; at < last; ++at) {
                if (group.runs[at].end > run.begin) {
                    compare_runs(group.runs[at], run, start, lines);
                }
                if (enough()) {
                    return;
                }
            }
        }
        groups.resize(kept);
        if (own == nullptr) {
            own = &groups.emplace_back();
            if (!spare.empty()) {
                own->runs = std::move(spare.back());
                spare.pop_back();
            }
        }
        add_to(*own, run);
    }
}

}  // namespace tile_simulator
