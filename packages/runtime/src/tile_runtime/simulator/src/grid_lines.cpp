// Where the accesses of blocks lie, and whether two of them store the same.
#include <algorithm>
#include <cstring>
#include <tuple>

#include "grid_races.h"
#include "launch.h"

namespace tile_simulator {
namespace {

uint64_t line_begin(const GlobalBuffer& buffer, uint64_t address)
{
    return buffer.begin + (address - buffer.begin) / ScalarCache::line_bytes * ScalarCache::line_bytes;
}

}  // namespace

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

}  // namespace tile_simulator
