#include "grid_races.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "launch.h"
#include "race_report.h"

namespace tile_simulator {
namespace {

// So many bytes of a buffer are compared at once where blocks touch single elements all over it: a multiple of a line.
constexpr uint64_t window_bytes = uint64_t(1) << 22;

// Whether an access is complete by a clock for other blocks. What is stored to another rank takes a wait of the core.
bool covers(const VectorClock& clock, const Access& access, uint32_t waits)
{
    return waits == 0 ? clock.at[access.agent] >= access.number
                      : clock.at[remote_of(access.agent / agents_per_core)] >= waits;
}

uint32_t first_round_after(const std::vector<VectorClock>& released, const Access& access, uint32_t waits)
{
    const auto covers = [&](const VectorClock& clock) { return tile_simulator::covers(clock, access, waits); };
    return static_cast<uint32_t>(std::find_if(released.begin(), released.end(), covers) - released.begin());
}

std::tuple<std::string, uint32_t, std::string, uint32_t> places(const Access& first, const Access& second)
{
    const auto file = [](const Access& access) { return std::string(access.file != nullptr ? access.file : ""); };
    return {file(first), first.line, file(second), second.line};
}

uint64_t line_begin(const GlobalBuffer& buffer, uint64_t address)
{
    return buffer.begin + (address - buffer.begin) / ScalarCache::line_bytes * ScalarCache::line_bytes;
}

}  // namespace

void GridRaces::add(uint32_t block, OrderChecks& order, bool alone)
{
    stored_.push_back(std::move(order.stored_bytes()));
    scattered_.push_back(std::move(order.scattered_bytes()));
    TakenByBlock& taken = taken_[block];
    for (int core = 0; core < cores_per_block; ++core) {
        taken.all[core] = order.taken(core);
        taken.given[core] = order.given(core);
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
        for (int core = 0; core < cores_per_block; ++core) {
            const uint32_t count = clock.at[handovers_of(core)];
            record.known[core] = count != 0 ? &taken_as(taken.all[core], count) : nullptr;
        }
        records_.push_back(record);
    }
}

bool GridRaces::meet(const Record& a, const Record& b) const
{
    return a.buffer->symmetric || launch_->rank_of(a.block) == launch_->rank_of(b.block);
}

bool GridRaces::ordered(const Record& a, const Record& b) const
{
    const bool one_rank = launch_->rank_of(a.block) == launch_->rank_of(b.block);
    for (int slot = 0; one_rank && slot < grid_slots; ++slot) {
        if (a.until[slot] < b.rounds[slot] || b.until[slot] < a.rounds[slot]) {
            return true;
        }
    }
    return knows(a, b) || knows(b, a);
}

bool GridRaces::acknowledged(const Foreign& later, const Record& earlier) const
{
    const uint32_t first = static_cast<uint32_t>(earlier.buffer->rank) * launch_->blocks();
    for (auto entry = later.lower_bound(first); entry != later.end() && entry->first < first + launch_->blocks();
         ++entry) {
        const auto taken = taken_.find(entry->first);
        for (int core = 0; taken != taken_.end() && core < cores_per_block; ++core) {
            const uint32_t count = entry->second.at[handovers_of(core)];
            const std::vector<ForeignPointer>& all = taken->second.all[core];
            const ForeignPointer known = count < all.size() ? all[count] : nullptr;
            const auto found = known != nullptr ? known->find(earlier.block) : Foreign::const_iterator{};
            if (known != nullptr && found != known->end() && covers(found->second, earlier.access, earlier.waits)) {
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
    for (const ForeignPointer* taken : later.known) {
        const Foreign* known = taken != nullptr ? taken->get() : nullptr;
        if (known != nullptr && needs_owner) {
            if (acknowledged(*known, earlier)) {
                return true;
            }
            continue;
        }
        const auto found = known != nullptr ? known->find(earlier.block) : Foreign::const_iterator{};
        if (known != nullptr && found != known->end() && covers(found->second, earlier.access, earlier.waits)) {
            return true;
        }
        const uint32_t first = rank * launch_->blocks();
        if (known != nullptr && !one_rank &&
            knows_later_round(*known, first, first + launch_->blocks(), earlier.until)) {
            return true;
        }
    }
    return false;
}

// Of one block: whether the data caches of two cores write back to one place with nothing that orders them.
bool GridRaces::lines_meet(const Record& a, const Record& b)
{
    const auto behind = [](const Record& later, const Record& earlier) {
        return later.written_back[earlier.access.agent / agents_per_core] >= earlier.access.number;
    };
    return is_cache(a.access.agent) && is_cache(b.access.agent) && a.access.agent != b.access.agent && !behind(a, b) &&
           !behind(b, a);
}

std::vector<GridRaces::Run> GridRaces::runs_of(const std::vector<uint32_t>& records, uint64_t low, uint64_t high)
{
    std::vector<Run> runs;
    for (const uint32_t index : records) {
        Record& record = records_[index];
        const bool line = is_cache(record.access.agent);
        if (record.region.end() <= low || record.region.start >= high) {
            continue;
        }
        // The bytes of all runs lie one behind the other: those of earlier windows have been passed.
        uint64_t passed = record.scattered != nullptr ? record.passed : 0;
        const auto add = [&](uint64_t start, uint64_t stop) {
            const uint64_t first = std::max(start, low);
            const uint8_t* own = record.bytes != nullptr ? record.bytes + passed + (first - start) : nullptr;
            passed += stop - start;
            stop = std::min(stop, high);
            if (first >= stop) {
                return;
            }
            uint64_t begin = first;
            uint64_t end = stop;
            if (line) {  // the cache writes back whole lines, so two cores must not store to one
                begin = line_begin(*record.buffer, begin);
                end = line_begin(*record.buffer, end - 1) + ScalarCache::line_bytes;
            }
            runs.push_back({begin, end, index, first, stop, own});
        };
        if (record.scattered != nullptr) {
            record.scattered->for_runs(low, high, add);
            record.passed = passed;
        } else {
            record.region.for_runs(add);
        }
    }
    const auto rank = [this](const Run& run) {
        return std::make_tuple(run.begin, records_[run.record].block, run.record);
    };
    std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return rank(a) < rank(b); });
    return runs;
}

// All that blocks write to lines in which the scalar unit of one of them stores.
GridRaces::Lines GridRaces::lines_of(const std::vector<Run>& runs) const
{
    Lines lines;
    std::set<uint64_t> addresses;
    const auto for_lines = [&](const Run& run, const auto& f) {
        const Record& record = records_[run.record];
        const uint64_t end = run.stop;
        for (uint64_t at = line_begin(*record.buffer, run.start); at < end; at += ScalarCache::line_bytes) {
            f(at, std::max(at, run.start), std::min(at + ScalarCache::line_bytes, end));
        }
    };
    for (const Run& run : runs) {
        if (is_cache(records_[run.record].access.agent)) {
            for_lines(run, [&](uint64_t line, uint64_t, uint64_t) { addresses.insert(line); });
        }
    }
    for (const Run& run : runs) {
        const Record& record = records_[run.record];
        if (record.access.kind == AccessKind::read || addresses.empty()) {
            continue;
        }
        for_lines(run, [&](uint64_t address, uint64_t begin, uint64_t end) {
            if (addresses.count(address) == 0) {
                return;
            }
            const auto [entry, fresh] = lines.try_emplace({address, core_of(record)});
            Line& line = entry->second;
            line.comparable = line.comparable && run.bytes != nullptr && (fresh || line.interval == record.interval);
            line.interval = record.interval;
            for (uint64_t at = begin; at < end && run.bytes != nullptr; ++at) {
                line.known |= uint64_t(1) << (at - address);
                line.bytes[at - address] = run.bytes[at - run.start];
            }
        });
    }
    return lines;
}

// True if two writes store the same where they meet. A scalar store comes to GM with its cache line, and brings back
// what that held: then both blocks must have stored to the same bytes of the line.
bool GridRaces::agree(const Run& a, const Run& b, const Lines& lines) const
{
    const Record& first = records_[a.record];
    const Record& second = records_[b.record];
    if (first.access.kind != AccessKind::write || second.access.kind != AccessKind::write || a.bytes == nullptr ||
        b.bytes == nullptr) {
        return false;
    }
    const uint64_t begin = std::max(a.begin, b.begin);
    const uint64_t end = std::min(a.end, b.end);
    if (!is_cache(first.access.agent) && !is_cache(second.access.agent)) {
        return std::memcmp(a.bytes + (begin - a.start), b.bytes + (begin - b.start), end - begin) == 0;
    }
    for (uint64_t at = line_begin(*first.buffer, begin); at < end; at += ScalarCache::line_bytes) {
        const auto one = lines.find({at, core_of(first)});
        const auto other = lines.find({at, core_of(second)});
        if (one == lines.end() || other == lines.end() || !one->second.comparable || !other->second.comparable ||
            one->second.known != other->second.known ||
            std::memcmp(one->second.bytes, other->second.bytes, sizeof(Line::bytes)) != 0) {
            return false;
        }
    }
    return true;
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

std::vector<Fault> GridRaces::find(std::vector<Fault>& redundant, size_t most, const Launch& launch)
{
    launch_ = &launch;
    if (launch.ranks() > 1) {
        launch.signals().judged_waits().judge_again(taken_, launch.blocks());
    }
    most_ = most;
    // Blocks were added in the order in which they ended; what is reported must not depend on it.
    std::stable_sort(
        records_.begin(), records_.end(), [](const Record& a, const Record& b) { return a.block < b.block; });
    std::map<std::pair<std::string, uint64_t>, std::vector<uint32_t>> by_buffer;
    std::map<uint64_t, bool> written;
    for (uint32_t i = 0; i < records_.size(); ++i) {
        const GlobalBuffer& buffer = *records_[i].buffer;
        // Addresses differ from run to run: what is told first of several ranks must not.
        by_buffer[{launch.ranks() > 1 ? buffer.name : std::string(), buffer.begin}].push_back(i);
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
            find_in(runs_of(records, low, low + step), start, redundant);
        }
    }
    return std::move(races_);
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

void GridRaces::find_in(const std::vector<Run>& runs, uint64_t start, std::vector<Fault>& redundant)
{
    const Lines lines = lines_of(runs);
    std::vector<Run> active;
    for (const Run& run : runs) {
        size_t kept = 0;
        for (const Run& other : active) {
            if (other.end <= run.begin) {
                continue;
            }
            active[kept++] = other;
            const Record& a = records_[other.record];
            const Record& b = records_[run.record];
            const bool in_order = a.block == b.block ? !lines_meet(a, b) : ordered(a, b);
            if (!conflicting(a.access, b.access) || in_order || !meet(a, b) || in_chain(other, run)) {
                continue;
            }
            const Record& first = a.block < b.block ? a : b;
            const Record& second = a.block < b.block ? b : a;
            const auto bytes = [&] {
                return bytes_of(*a.buffer, std::max(run.begin, start), std::min({run.end, other.end, a.buffer->end}));
            };
            if (launch_->rank_of(a.block) != launch_->rank_of(b.block) || !agree(other, run, lines)) {
                ++looked_at_;
                const bool apart = std::max(run.start, other.start) >= std::min(run.stop, other.stop);
                if (raced_.insert(places(first.access, second.access)).second) {
                    races_.push_back(a.block == b.block ? line_race_report(a.access, b.access, bytes())
                                                        : race_between(first, second, apart, bytes()));
                    launch_->place(races_.back(), second.block);
                }
                if (enough()) {
                    return;
                }
                continue;
            }
            if (a.block == b.block) {
                continue;  // told when it was stored
            }
            const std::string file = second.access.file != nullptr ? second.access.file : "";
            if (told_.insert({file, second.access.line}).second) {
                redundant.push_back(
                    grid_redundant_store_report(party_of(first), party_of(second), bytes()));
                launch_->place(redundant.back(), second.block);
            }
        }
        active.resize(kept);
        active.push_back(run);
    }
}

}  // namespace tile_simulator
