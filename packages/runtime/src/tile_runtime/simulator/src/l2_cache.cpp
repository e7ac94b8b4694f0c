#include "l2_cache.h"

#include <algorithm>

#include "launch.h"

namespace tile_simulator {

L2Cache::L2Cache(const GlobalBuffers& buffers, uint64_t bytes)
    : buffers_(buffers), capacity_(static_cast<uint32_t>(std::max<uint64_t>(1, bytes / line_bytes)))
{
    lines_.resize(buffers.count());
}

void L2Cache::write_back(Traffic& traffic)
{
    while (!dirty_.empty() && now_ - dirty_.front().stamp >= capacity_) {
        const Dirty& oldest = dirty_.front();
        Line& line = lines_[oldest.buffer][oldest.line];
        if (line.stamp == oldest.stamp) {
            traffic.missed += sector_bytes * uint64_t(__builtin_popcount(line.dirty));
            line.dirty = 0;
        } else if (line.dirty != 0) {
            dirty_.push_back({oldest.buffer, oldest.line, line.stamp});
        }
        dirty_.pop_front();
    }
}

void L2Cache::touch(uint32_t buffer, uint64_t number, uint8_t sectors, bool write, Traffic& traffic)
{
    Line& line = lines_[buffer][number];
    if (!held(line)) {
        line.sectors = 0;
        ++now_;
    }
    const uint8_t fresh = static_cast<uint8_t>(sectors & ~line.sectors);
    traffic.moved += sector_bytes * uint64_t(__builtin_popcount(sectors));
    if (!write) {
        traffic.missed += sector_bytes * uint64_t(__builtin_popcount(fresh));
    }
    line.sectors |= sectors;
    line.stamp = now_;
    if (write) {
        if (line.dirty == 0) {
            dirty_.push_back({buffer, static_cast<uint32_t>(number), now_});
        }
        line.dirty |= sectors;
    }
    write_back(traffic);
}

Traffic L2Cache::access(const Region& region, bool write)
{
    Traffic traffic;
    const GlobalBuffer* found = buffers_.find(region.start);
    const uint32_t buffer = buffers_.index_of(found);
    std::vector<Line>& lines = lines_[buffer];
    if (lines.empty()) {
        lines.resize((found->end - found->begin + line_bytes - 1) / line_bytes + 1);
    }
    const uint64_t base = region.start - found->begin;
    for (uint64_t outer = 0; outer < region.outer; ++outer) {
        for (uint64_t inner = 0; inner < region.inner; ++inner) {
            uint64_t at = base + outer * region.outer_stride + inner * region.inner_stride;
            const uint64_t end = at + region.run;
            while (at < end) {
                const uint64_t line = at / line_bytes;
                const uint64_t stop = std::min(end, (line + 1) * line_bytes);
                const uint64_t first = at % line_bytes / sector_bytes;
                const uint64_t last = (stop - 1) % line_bytes / sector_bytes;
                const uint8_t sectors = static_cast<uint8_t>((2u << last) - (1u << first));
                touch(buffer, line, sectors, write, traffic);
                at = stop;
            }
        }
    }
    return traffic;
}

}  // namespace tile_simulator
