#include "l2_cache.h"

#include <algorithm>

#include "launch.h"

namespace tile_simulator {

L2Cache::L2Cache(const GlobalBuffers& buffers, uint64_t bytes, bool warm)
    : buffers_(buffers), capacity_(static_cast<uint32_t>(std::max<uint64_t>(1, bytes / line_bytes))), warm_(warm)
{
    lines_.resize(buffers.count());
}

std::vector<L2Cache::Line>& L2Cache::lines_of(const GlobalBuffer& buffer)
{
    std::vector<Line>& lines = lines_[buffers_.index_of(&buffer)];
    if (lines.empty()) {
        const Line first = warm_ ? Line{1, 0, 0xff, 0} : Line{};
        lines.resize((buffer.end - buffer.begin + line_bytes - 1) / line_bytes + 1, first);
    }
    return lines;
}

void L2Cache::write_back(Traffic& traffic)
{
    while (!dirty_.empty() && now_ - dirty_.top().stamp >= capacity_) {
        const Dirty oldest = dirty_.top();
        dirty_.pop();
        Line& line = lines_[oldest.buffer][oldest.line];
        if (line.stamp == oldest.stamp) {
            traffic.left += sector_bytes * uint64_t(__builtin_popcount(line.dirty));
            line.dirty = 0;
        } else if (line.dirty != 0) {
            dirty_.push({oldest.buffer, oldest.line, line.stamp});
        }
    }
}

void L2Cache::arrived(uint32_t number)
{
    if (number < under_way_.size()) {
        under_way_[number] = false;
    }
}

void L2Cache::touch(uint32_t buffer, const Piece& piece, bool write, uint32_t number, Traffic& traffic)
{
    Line& line = lines_[buffer][piece.line];
    const bool here = held(line);
    if (!here) {
        line.sectors = 0;
        line.brought_by = 0;
        ++now_;
    }
    const uint8_t missing = static_cast<uint8_t>(piece.sectors & ~line.sectors);
    traffic.moved += piece.bytes;
    if (write) {
        traffic.fresh += here ? 0 : piece.bytes;
    } else if (missing != 0) {
        traffic.missed += piece.bytes;
        line.brought_by = number;
    } else if (line.brought_by != number && arriving(line.brought_by)) {
        traffic.arriving += piece.bytes;
        traffic.brought_by = line.brought_by;
    }
    line.sectors |= piece.sectors;
    line.stamp = now_;
    if (write) {
        if (line.dirty == 0) {
            dirty_.push({buffer, static_cast<uint32_t>(piece.line), now_});
        }
        traffic.changed += sector_bytes * uint64_t(__builtin_popcount(piece.sectors & ~line.dirty));
        line.dirty |= piece.sectors;
    }
    write_back(traffic);
}

Traffic L2Cache::access(const Region& region, bool write, uint32_t number)
{
    Traffic traffic;
    const GlobalBuffer* found = buffers_.find(region.start);
    const uint32_t buffer = buffers_.index_of(found);
    lines_of(*found);
    const uint64_t base = region.start - found->begin;
    const uint64_t request = region.run <= sector_bytes ? sector_bytes : region.run <= 2 * sector_bytes ? 2 * sector_bytes : line_bytes;
    for (uint64_t outer = 0; outer < region.outer; ++outer) {
        for (uint64_t inner = 0; inner < region.inner; ++inner) {
            uint64_t at = base + outer * region.outer_stride + inner * region.inner_stride;
            const uint64_t end = at + region.run;
            traffic.partial = traffic.partial || at % block_bytes != 0 || end % block_bytes != 0;
            while (at < end) {
                const uint64_t line = at / line_bytes;
                const uint64_t stop = std::min(end, (line + 1) * line_bytes);
                const uint64_t first = at % line_bytes / sector_bytes;
                const uint64_t last = (stop - 1) % line_bytes / sector_bytes;
                const uint8_t sectors = static_cast<uint8_t>((2u << last) - (1u << first));
                const uint64_t requests = (stop - 1) / request - at / request + 1;
                touch(buffer, {line, sectors, requests * request}, write, number, traffic);
                at = stop;
            }
        }
    }
    if (traffic.missed > 0) {
        under_way_.resize(std::max<size_t>(under_way_.size(), number + 1));
        under_way_[number] = true;
    }
    return traffic;
}

Traffic L2Cache::read_past(const Region& region, uint64_t burst)
{
    Traffic traffic;
    const GlobalBuffer* found = buffers_.find(region.start);
    const std::vector<Line>& lines = lines_of(*found);
    const uint64_t base = region.start - found->begin;
    for (uint64_t outer = 0; outer < region.outer; ++outer) {
        for (uint64_t inner = 0; inner < region.inner; ++inner) {
            const uint64_t at = base + outer * region.outer_stride + inner * region.inner_stride;
            const uint64_t first = at / sector_bytes;
            const uint64_t last = (at + region.run - 1) / sector_bytes;
            uint64_t missed = 0;
            for (uint64_t sector = first; sector <= last; ++sector) {
                const Line& line = lines[sector * sector_bytes / line_bytes];
                const bool here = held(line) && (line.sectors >> sector % (line_bytes / sector_bytes) & 1) != 0;
                missed += here ? 0 : sector_bytes;
            }
            traffic.moved += (last - first + 1) * sector_bytes;
            traffic.missed += missed > 0 ? std::max(missed, burst) : 0;
        }
    }
    return traffic;
}

}  // namespace tile_simulator
