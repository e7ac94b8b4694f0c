#include "global_accesses.h"

#include <algorithm>
#include <iterator>

#include "launch.h"

namespace tile_simulator {
namespace {

bool same(const Region& a, const Region& b)
{
    return a.start == b.start && a.run == b.run && a.inner == b.inner && a.inner_stride == b.inner_stride &&
           a.outer == b.outer && a.outer_stride == b.outer_stride;
}

uint64_t hash_of(const GlobalAccess& access, const Access& details)
{
    uint64_t hash = access.region.start;
    const auto mix = [&hash](uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    };
    mix(access.region.run);
    mix(access.region.inner * 65537 + access.region.outer);
    mix(access.interval * 64ull + details.agent * 3ull + uint64_t(details.kind));
    mix(details.line);
    return hash;
}

}  // namespace

void GlobalAccesses::clear()
{
    shadow_.reset();
    pages_.clear();
    states_.clear();
    accesses_.clear();
    index_.clear();
    rows_.clear();
    used_bytes_ = 0;
    kept_ = 0;
    stored_.clear();
    scattered_.clear();
}

void GlobalAccesses::keep_stored(const StoredBytes* cores, const AccessLog& log)
{
    for (; kept_ < accesses_.size(); ++kept_) {
        GlobalAccess& access = accesses_[kept_];
        const Access& details = log[access.access];
        if (details.kind != AccessKind::write) {
            continue;
        }
        const uint64_t first = stored_.size();
        bool known = true;
        const auto append = [&](uint64_t begin, uint64_t end) {
            known = known && cores[details.agent / agents_per_core].append(begin, end - begin, stored_);
        };
        if (access.scattered != nullptr) {
            access.scattered->for_runs(0, ~uint64_t(0), append);
        } else {
            access.region.compact().for_runs(append);
        }
        access.bytes = known ? first : not_known;
        if (!known) {
            stored_.resize(first);
        }
    }
}

void GlobalAccesses::keep(std::vector<uint32_t>& kept) const
{
    shadow_.keep(kept);
    for (const GlobalAccess& access : accesses_) {
        kept[access.access] = 1;
    }
}

void GlobalAccesses::renumber(const std::vector<uint32_t>& numbers)
{
    shadow_.renumber(numbers);
    for (GlobalAccess& access : accesses_) {
        access.access = numbers[access.access];
    }
}

// The scalar unit goes through tensors element by element: what one line of the source touches is one access. Within an
// interval the last of them is ordered before the fewest others, and stands for all.
bool GlobalAccesses::continue_row(
    uint32_t place, const GlobalAccess& access, const Access& details, const AccessLog& log)
{
    GlobalAccess& row = accesses_[place];
    const Access& other = log[row.access];
    const uint64_t end = row.region.start + row.region.run;
    if (row.buffer != access.buffer || row.interval != access.interval || row.region.inner * row.region.outer != 1 ||
        other.agent != details.agent || other.kind != details.kind || other.line != details.line ||
        other.file != details.file) {
        return false;
    }
    row.access = access.access;
    row.waits = access.waits;
    std::copy(std::begin(access.written_back), std::end(access.written_back), row.written_back);
    const uint64_t begin = access.region.start;
    const uint64_t behind = begin + access.region.run;
    if (row.scattered == nullptr && begin >= row.region.start && begin <= end) {
        row.region.run = std::max(end, behind) - row.region.start;
        return true;
    }
    if (row.scattered == nullptr) {
        scattered_.emplace_back();
        scattered_.back().add(row.region.start, end);
        row.scattered = &scattered_.back();
    }
    ByteSet& bytes = *row.scattered;
    bytes.add(begin, behind);
    row.region = Region::bytes(bytes.low(), bytes.high() - bytes.low());
    return true;
}

std::pair<uint32_t, bool> GlobalAccesses::record(
    const GlobalAccess& access, const Access& details, const AccessLog& log)
{
    const bool scalar = is_cache(details.agent) || is_bypass(details.agent) ||
                        details.agent % agents_per_core == int(Pipe::s);
    if (!scalar) {
        return record_apart(access, details, log);
    }
    GlobalAccess anywhere = access;
    anywhere.region = Region{};
    const auto [row, fresh] = rows_.try_emplace(hash_of(anywhere, details), 0);
    if (!fresh && continue_row(row->second, access, details, log)) {
        return {row->second, true};
    }
    const auto [place, repeated] = record_apart(access, details, log);
    row->second = place;
    return {place, repeated};
}

std::pair<uint32_t, bool> GlobalAccesses::record_apart(
    const GlobalAccess& access, const Access& details, const AccessLog& log)
{
    const uint64_t hash = hash_of(access, details);
    const auto range = index_.equal_range(hash);
    for (auto at = range.first; at != range.second; ++at) {
        GlobalAccess& earlier = accesses_[at->second];
        const Access& other = log[earlier.access];
        if (same(earlier.region, access.region) && earlier.interval == access.interval &&
            other.agent == details.agent && other.kind == details.kind && other.line == details.line) {
            earlier.access = access.access;  // the last of equal accesses is ordered before the fewest others
            earlier.waits = access.waits;
            std::copy(std::begin(access.written_back), std::end(access.written_back), earlier.written_back);
            return {at->second, true};
        }
    }
    accesses_.push_back(access);
    const uint32_t place = static_cast<uint32_t>(accesses_.size() - 1);
    index_.emplace(hash, place);
    return {place, false};
}

Conflict GlobalAccesses::touch(const GlobalBuffer& buffer, const Region& region, uint32_t index, AccessLog& log,
    const Present& now, uint32_t interval, uint32_t rounds, std::vector<Doubt>& doubts)
{
    State& state = states_[&buffer];
    GlobalAccess access = {&buffer, region, index, interval, rounds};
    access.waits = now.waits;
    for (int core = 0; core < cores_per_block; ++core) {
        access.written_back[core] = now.clock.at[cache_of(core)];
    }
    const auto [place, repeated] = record(access, log[index], log);
    // Most buffers are only read. Their reads meet the shadow when the first write comes.
    if (!state.written && log[index].kind == AccessKind::read) {
        if (!repeated) {
            state.reads.push_back(place);
        }
        return {};
    }
    if (!state.written) {
        state.written = true;
        std::sort(state.reads.begin(), state.reads.end(),
            [this](uint32_t a, uint32_t b) { return accesses_[a].access < accesses_[b].access; });
        for (const uint32_t read : state.reads) {
            const GlobalAccess& earlier = accesses_[read];
            Present then;
            then.agent = log[earlier.access].agent;
            if (earlier.scattered != nullptr) {
                touch_scattered(buffer, *earlier.scattered, earlier.access, log, then, doubts);
            } else {
                touch_region(buffer, earlier.region, earlier.access, log, then, doubts);
            }
        }
        state.reads.clear();
    }
    return touch_region(buffer, region, index, log, now, doubts);
}

Conflict GlobalAccesses::touch_scattered(const GlobalBuffer& buffer, const ByteSet& bytes, uint32_t index,
    AccessLog& log, const Present& now, std::vector<Doubt>& doubts)
{
    Conflict conflict;
    bytes.for_runs(0, ~uint64_t(0), [&](uint64_t begin, uint64_t end) {
        if (conflict.access == 0) {
            conflict = touch_run(buffer, begin - buffer.begin, end - buffer.begin, index, log, now, doubts);
        }
    });
    return conflict;
}

Conflict GlobalAccesses::touch_region(const GlobalBuffer& buffer, const Region& whole, uint32_t index, AccessLog& log,
    const Present& now, std::vector<Doubt>& doubts)
{
    const Region region = whole.compact();
    for (uint64_t outer = 0; outer < region.outer; ++outer) {
        for (uint64_t inner = 0; inner < region.inner; ++inner) {
            const uint64_t begin =
                region.start - buffer.begin + outer * region.outer_stride + inner * region.inner_stride;
            const Conflict found = touch_run(buffer, begin, begin + region.run, index, log, now, doubts);
            if (found.access != 0) {
                return found;
            }
        }
    }
    return {};
}

uint64_t GlobalAccesses::page_of(const GlobalBuffer& buffer, uint64_t page)
{
    // Buffers lie apart, so that the address of a page names both.
    const auto [entry, fresh] = pages_.try_emplace(buffer.begin + page * page_bytes, used_bytes_);
    if (fresh) {
        used_bytes_ += page_bytes;
        if (used_bytes_ > shadow_.bytes()) {
            shadow_.extend(std::max(64 * page_bytes, shadow_.bytes() / 4 / page_bytes * page_bytes));
        }
    }
    return entry->second;
}

Conflict GlobalAccesses::touch_run(const GlobalBuffer& buffer, uint64_t begin, uint64_t end, uint32_t index,
    AccessLog& log, const Present& now, std::vector<Doubt>& doubts)
{
    Conflict conflict;
    while (begin < end) {
        const uint64_t stop = std::min(end, (begin / page_bytes + 1) * page_bytes);
        const uint64_t at = page_of(buffer, begin / page_bytes) + begin % page_bytes;
        const size_t settled = doubts.size();
        const Conflict found = shadow_.touch(at, at + (stop - begin), index, log, now, &doubts);
        const uint64_t base = begin - at;
        for (size_t i = settled; i < doubts.size(); ++i) {
            doubts[i].begin += base + buffer.begin;
            doubts[i].end += base + buffer.begin;
        }
        if (conflict.access != 0 && (found.access != conflict.access || found.begin + base != conflict.end)) {
            break;
        }
        if (found.access != 0) {
            conflict = {found.access, conflict.access != 0 ? conflict.begin : found.begin + base, found.end + base};
        }
        begin = stop;
    }
    return conflict;
}

}  // namespace tile_simulator
