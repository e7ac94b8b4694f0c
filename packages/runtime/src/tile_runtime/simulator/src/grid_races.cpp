#include "grid_races.h"

#include <algorithm>
#include <map>

#include "launch.h"
#include "race_report.h"

namespace tile_simulator {
namespace {

uint32_t first_round_after(const std::vector<VectorClock>& released, const Access& access)
{
    const auto covers = [&](const VectorClock& clock) { return clock.at[access.agent] >= access.number; };
    return static_cast<uint32_t>(std::find_if(released.begin(), released.end(), covers) - released.begin());
}

}  // namespace

void GridRaces::add(uint32_t block, const OrderChecks& order)
{
    for (const GlobalAccess& access : order.global().all()) {
        Record record;
        record.region = access.region;
        record.buffer = access.buffer;
        record.access = order.log()[access.access];
        record.block = block;
        const VectorClock& known = order.rounds_known()[access.rounds];
        for (int slot = 0; slot < grid_slots; ++slot) {
            record.rounds[slot] = known.at[agent_count + slot];
            record.until[slot] = first_round_after(order.released(slot), record.access);
        }
        records_.push_back(record);
    }
}

bool GridRaces::ordered(const Record& a, const Record& b)
{
    for (int slot = 0; slot < grid_slots; ++slot) {
        if (a.until[slot] < b.rounds[slot] || b.until[slot] < a.rounds[slot]) {
            return true;
        }
    }
    return false;
}

std::vector<GridRaces::Run> GridRaces::runs_of(const std::vector<uint32_t>& records) const
{
    std::vector<Run> runs;
    for (const uint32_t index : records) {
        const Record& record = records_[index];
        const bool line = is_cache(record.access.agent);
        const Region& region = record.region;
        for (uint64_t outer = 0; outer < region.outer; ++outer) {
            for (uint64_t inner = 0; inner < region.inner; ++inner) {
                uint64_t begin = region.start + outer * region.outer_stride + inner * region.inner_stride;
                uint64_t end = begin + region.run;
                if (line) {  // the cache writes back whole lines, so two cores must not store to one
                    constexpr uint64_t unit = ScalarCache::line_bytes;
                    const uint64_t base = record.buffer->begin;
                    begin = base + (begin - base) / unit * unit;
                    end = base + (end - base + unit - 1) / unit * unit;
                }
                runs.push_back({begin, end, index});
            }
        }
    }
    const auto rank = [this](const Run& run) {
        return std::make_tuple(run.begin, records_[run.record].block, run.record);
    };
    std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return rank(a) < rank(b); });
    return runs;
}

bool GridRaces::find(Fault& fault)
{
    // Blocks were added in the order in which they ended; what is reported must not depend on it.
    std::stable_sort(
        records_.begin(), records_.end(), [](const Record& a, const Record& b) { return a.block < b.block; });
    std::map<uint64_t, std::vector<uint32_t>> by_buffer;
    std::map<uint64_t, bool> written;
    for (uint32_t i = 0; i < records_.size(); ++i) {
        by_buffer[records_[i].buffer->begin].push_back(i);
        written[records_[i].buffer->begin] |= records_[i].access.kind != AccessKind::read;
    }
    for (const auto& [start, records] : by_buffer) {
        if (!written[start]) {
            continue;
        }
        std::vector<Run> active;
        for (const Run& run : runs_of(records)) {
            size_t kept = 0;
            for (const Run& other : active) {
                if (other.end <= run.begin) {
                    continue;
                }
                active[kept++] = other;
                const Record& a = records_[other.record];
                const Record& b = records_[run.record];
                if (a.block == b.block || !conflicting(a.access.kind, b.access.kind) || ordered(a, b)) {
                    continue;
                }
                const Record& first = a.block < b.block ? a : b;
                const Record& second = a.block < b.block ? b : a;
                fault = grid_race_report(first.access, first.block, second.access, second.block,
                    text_of("bytes [%llu, %llu) of GM buffer '%s'",
                        static_cast<unsigned long long>(std::max(run.begin, start) - start),
                        static_cast<unsigned long long>(std::min({run.end, other.end, a.buffer->end}) - start),
                        a.buffer->name.c_str()));
                return true;
            }
            active.resize(kept);
            active.push_back(run);
        }
    }
    return false;
}

}  // namespace tile_simulator
