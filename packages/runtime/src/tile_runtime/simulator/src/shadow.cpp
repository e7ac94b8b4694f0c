#include "shadow.h"

#include <algorithm>

namespace tile_simulator {
namespace {

constexpr uint32_t all_bytes = 0xffffffff;

// Bits of the bytes [begin, end) of a granule.
uint32_t bytes_mask(uint64_t begin, uint64_t end)
{
    const uint32_t upto = end >= 32 ? all_bytes : (uint32_t(1) << end) - 1;
    return upto & ~((uint32_t(1) << begin) - 1);
}

uint64_t low_byte(uint64_t mask)
{
    return static_cast<uint64_t>(__builtin_ctzll(mask));
}

uint64_t high_byte(uint32_t mask)
{
    return 32 - static_cast<uint64_t>(__builtin_clz(mask));
}

// Calls f(begin, end) for each run of bytes of a mask.
template <class F>
void for_runs_of(uint32_t mask, const F& f)
{
    while (mask != 0) {
        const uint64_t begin = low_byte(mask);
        const uint64_t length = low_byte(~(uint64_t(mask) >> begin));
        f(begin, begin + length);
        mask &= ~bytes_mask(begin, begin + length);
    }
}

// End of the values from `first` that are equal to it.
uint64_t equal_until(const std::vector<uint32_t>& values, uint64_t first, uint64_t last)
{
    const uint32_t value = values[first];
    constexpr uint64_t step = 16;
    uint64_t at = first;
    while (at + step <= last) {
        uint32_t difference = 0;
        for (uint64_t i = at; i < at + step; ++i) {
            difference |= values[i] ^ value;
        }
        if (difference != 0) {
            break;
        }
        at += step;
    }
    while (at < last && values[at] == value) {
        ++at;
    }
    return at;
}

}  // namespace

void Shadow::extend(uint64_t more)
{
    const size_t granules = last_write_.size() + (more + granule - 1) / granule;
    last_write_.resize(granules, 0);
    for (int slot = 0; slot < used_; ++slot) {
        since_[slot].resize(granules, 0);
    }
    if (!written_.empty()) {
        written_.resize(granules, 0);
    }
}

void Shadow::use_slot(int slot)
{
    if (slot >= used_) {
        since_[slot].resize(last_write_.size(), 0);
        used_ = slot + 1;
    }
}

void Shadow::reset()
{
    const auto clear = [this](std::vector<uint32_t>& values) {
        const auto touched = std::min<size_t>(touched_, values.size());
        std::fill(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(touched), 0);
    };
    clear(last_write_);
    for (int slot = 0; slot < used_; ++slot) {
        clear(since_[slot]);
    }
    clear(written_);
    lists_.clear();
    touched_ = 0;
    used_ = 0;
}

void Shadow::keep(std::vector<uint32_t>& kept) const
{
    for (uint64_t at = 0; at < touched_; ++at) {
        if (last_write_[at] != listed) {
            kept[last_write_[at]] = 1;
        }
        for (int slot = 0; slot < used_; ++slot) {
            kept[since_[slot][at]] = 1;
        }
    }
    for (const auto& [at, parts] : lists_) {
        for (const Part& part : parts) {
            kept[part.access] = 1;
        }
    }
}

void Shadow::renumber(const std::vector<uint32_t>& numbers)
{
    for (uint64_t at = 0; at < touched_; ++at) {
        if (last_write_[at] != listed) {
            last_write_[at] = numbers[last_write_[at]];
        }
        for (int slot = 0; slot < used_; ++slot) {
            since_[slot][at] = numbers[since_[slot][at]];
        }
    }
    for (auto& [at, parts] : lists_) {
        size_t kept = 0;
        for (Part part : parts) {
            part.access = numbers[part.access];
            const auto end = parts.begin() + static_cast<std::ptrdiff_t>(kept);
            const auto same = std::find_if(parts.begin(), end, [&](const Part& p) { return p.access == part.access; });
            if (same != end) {
                same->mask |= part.mask;
            } else {
                parts[kept++] = part;
            }
        }
        if (kept != parts.size()) {
            parts.resize(kept);
            parts.shrink_to_fit();
        }
    }
}

void Shadow::mark_written(uint64_t begin, uint64_t end)
{
    uint64_t at = begin / granule;
    const uint64_t last = end / granule;
    touched_ = std::max(touched_, (end + granule - 1) / granule);
    if (written_.empty()) {
        written_.resize(last_write_.size(), 0);
    }
    if (at == last) {
        written_[at] |= bytes_mask(begin % granule, end % granule);
        return;
    }
    if (begin % granule != 0) {
        written_[at++] |= bytes_mask(begin % granule, granule);
    }
    std::fill(written_.begin() + static_cast<std::ptrdiff_t>(at), written_.begin() + static_cast<std::ptrdiff_t>(last),
        all_bytes);
    if (end % granule != 0) {
        written_[last] |= bytes_mask(0, end % granule);
    }
}

uint64_t Shadow::written_bytes(uint64_t begin, uint64_t end, bool blocks) const
{
    constexpr uint64_t step = 16;
    uint64_t count = 0;
    for (uint64_t at = begin / granule; !written_.empty() && at * granule < end;) {
        // Mostly all is written, and many granules are looked at together.
        uint32_t missing = begin <= at * granule && (at + step) * granule <= end ? 0 : all_bytes;
        for (uint64_t i = at; missing == 0 && i < at + step; i += 4) {
            missing = ~(written_[i] & written_[i + 1] & written_[i + 2] & written_[i + 3]);
        }
        if (missing == 0) {
            count += step * granule;
            at += step;
            continue;
        }
        const uint64_t low = std::max(begin, at * granule) - at * granule;
        const uint64_t high = std::min(end, (at + 1) * granule) - at * granule;
        const uint32_t written = blocks && written_[at] != 0 ? all_bytes : written_[at];
        count += static_cast<uint64_t>(__builtin_popcount(written & bytes_mask(low, high)));
        ++at;
    }
    return count;
}

// End of the stretch of granules from `first` that all have the state of the first.
uint64_t Shadow::same_until(uint64_t first, uint64_t last) const
{
    last = equal_until(last_write_, first, last);
    for (int slot = 0; slot < used_; ++slot) {
        last = equal_until(since_[slot], first, last);
    }
    return last;
}

Conflict Shadow::touch(
    uint64_t begin, uint64_t end, uint32_t index, AccessLog& log, const Present& now, std::vector<Doubt>* doubts)
{
    touched_ = std::max(touched_, (end + granule - 1) / granule);
    uint64_t first = begin / granule;
    const uint64_t last = end / granule;
    Conflict found;
    if (first == last) {
        return touch_part(first, bytes_mask(begin % granule, end % granule), index, log, now, doubts);
    }
    if (begin % granule != 0) {
        found = touch_part(first++, bytes_mask(begin % granule, granule), index, log, now, doubts);
    }
    if (first < last && found.access == 0) {
        found = touch_whole(first, last, index, log, now, doubts);
    }
    if (end % granule != 0 && found.access == 0) {
        found = touch_part(last, bytes_mask(0, end % granule), index, log, now, doubts);
    }
    return found;
}

Conflict Shadow::touch_whole(
    uint64_t first, uint64_t last, uint32_t index, AccessLog& log, const Present& now, std::vector<Doubt>* doubts)
{
    const AccessKind kind = log[index].kind;
    for (uint64_t at = first; at < last;) {
        const uint32_t write = last_write_[at];
        if (write == listed) {
            const Conflict found = touch_part(at, all_bytes, index, log, now, doubts);
            if (found.access != 0) {
                return found;
            }
            ++at;
            continue;
        }
        const uint64_t until = same_until(at, last);
        // Reads first: of a load that overwrites what a vector instruction still reads, that is the thing to tell. But
        // not those from before the last write.
        int free = -1;
        uint32_t old = 0;
        for (int slot = 0; slot < std::min(used_ + 1, slots); ++slot) {
            const uint32_t earlier = slot < used_ ? since_[slot][at] : 0;
            const bool before = earlier == 0 || now.follows(log[earlier]);
            const bool conflict = earlier != 0 && conflicting(log[index], log[earlier]);
            if (before && conflict) {
                now.rely_on(log[earlier]);
            }
            if (!before && conflict) {
                if (earlier > write) {
                    return {earlier, at * granule, until * granule};
                }
                old = earlier;
            }
            // A read that this one follows, or that the same pipe made, says nothing more than this one.
            if (before || (log[earlier].agent == now.agent && log[earlier].kind == kind)) {
                free = free < 0 ? slot : free;
            }
        }
        const uint32_t beside = log.unordered(write, now);
        for (uint32_t other = beside; other != 0; other = log.unordered(log[other].also, now)) {
            if (doubts == nullptr || !may_agree(log[index], log[other])) {
                return {other, at * granule, until * granule};
            }
            doubts->push_back({other, index, at * granule, until * granule});
        }
        if (old != 0) {
            return {old, at * granule, until * granule};
        }
        const auto fill = [&](std::vector<uint32_t>& values, uint32_t value) {
            std::fill(values.begin() + static_cast<std::ptrdiff_t>(at),
                values.begin() + static_cast<std::ptrdiff_t>(until), value);
        };
        if (kind == AccessKind::write) {
            fill(last_write_, beside == 0 ? index : log.join(index, beside, now));
            for (int slot = 0; doubts == nullptr && slot < used_; ++slot) {
                fill(since_[slot], 0);
            }
        } else if (free >= 0) {
            use_slot(free);
            if (const uint32_t replaced = since_[free][at]; replaced != 0 && log[replaced].agent != now.agent) {
                now.rely_on(log[replaced]);
            }
            fill(since_[free], index);
        } else {
            for (uint64_t i = at; i < until; ++i) {
                list(i, log);
                lists_[i].push_back({index, all_bytes});
            }
        }
        at = until;
    }
    return {};
}

// Turns the record of a granule into a list.
void Shadow::list(uint64_t at, const AccessLog& log)
{
    std::vector<Part>& parts = lists_[at];
    parts.clear();
    for (uint32_t write = last_write_[at]; write != 0; write = log[write].also) {
        parts.push_back({write, all_bytes});
    }
    for (int slot = 0; slot < used_; ++slot) {
        if (since_[slot][at] != 0) {
            parts.push_back({since_[slot][at], all_bytes});
            since_[slot][at] = 0;
        }
    }
    last_write_[at] = listed;
}

Conflict Shadow::touch_part(
    uint64_t at, uint32_t mask, uint32_t index, AccessLog& log, const Present& now, std::vector<Doubt>* doubts)
{
    if (last_write_[at] != listed) {
        list(at, log);
    }
    const AccessKind kind = log[index].kind;
    std::vector<Part>& parts = lists_[at];
    Conflict found;
    const size_t settled = doubts == nullptr ? 0 : doubts->size();
    for (const Part& part : parts) {
        const uint32_t common = part.mask & mask;
        const Access& earlier = log[part.access];
        if (common == 0 || !conflicting(log[index], earlier)) {
            continue;
        }
        if (now.follows(earlier)) {
            now.rely_on(earlier);
            continue;
        }
        const uint64_t begin = at * granule + low_byte(common);
        const uint64_t end = at * granule + high_byte(common);
        if (doubts != nullptr && may_agree(log[index], earlier)) {
            for_runs_of(common, [&](uint64_t low, uint64_t high) {
                doubts->push_back({part.access, index, at * granule + low, at * granule + high});
            });
        } else if (found.access == 0 || earlier.kind == AccessKind::read) {
            found = {part.access, begin, end};
        }
    }
    if (found.access != 0) {
        if (doubts != nullptr) {
            doubts->resize(settled);
        }
        return found;
    }
    // Keep what the present access does not stand for. Only a write stands for what came before it on other pipes.
    size_t kept = 0;
    for (Part part : parts) {
        const Access& earlier = log[part.access];
        const bool same = earlier.agent == now.agent && earlier.kind == kind;
        const bool before = now.follows(earlier);
        const bool covered = kind == AccessKind::write
                                 ? doubts == nullptr || (earlier.kind == AccessKind::write && before)
                                 : same || (earlier.kind != AccessKind::write && before);
        if (covered && before && !same && (part.mask & mask) != 0) {
            now.rely_on(earlier);
        }
        if (covered) {
            part.mask &= ~mask;
        }
        if (part.mask != 0) {
            parts[kept++] = part;
        }
    }
    parts.resize(kept);
    if (kind == AccessKind::write && mask == all_bytes && kept == 0) {
        last_write_[at] = index;
        lists_.erase(at);
        return {};
    }
    const auto own = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.access == index; });
    if (own != parts.end()) {
        own->mask |= mask;
    } else {
        parts.push_back({index, mask});
    }
    return {};
}

}  // namespace tile_simulator
