#include "global_buffers.h"

#include <algorithm>

namespace tile_simulator {

void GlobalBuffers::assign(const TileBuffer* buffers, size_t count)
{
    sorted_.resize(count);
    for (size_t i = 0; i < count; ++i) {
        sorted_[i].begin = reinterpret_cast<uint64_t>(buffers[i].base);
        sorted_[i].end = sorted_[i].begin + buffers[i].bytes;
        sorted_[i].name.assign(buffers[i].name != nullptr ? buffers[i].name : "?");
        sorted_[i].written =
            buffers[i].fresh != 0 ? std::make_unique<WrittenBytes>(buffers[i].base, buffers[i].bytes) : nullptr;
    }
    if (count > 1) {
        std::sort(sorted_.begin(), sorted_.end(),
            [](const GlobalBuffer& a, const GlobalBuffer& b) { return a.begin < b.begin; });
    }
}

const GlobalBuffer* GlobalBuffers::find(uint64_t address) const
{
    auto after = std::upper_bound(sorted_.begin(), sorted_.end(), address,
        [](uint64_t value, const GlobalBuffer& buffer) { return value < buffer.begin; });
    // Several buffers may start at or below the address (views of one allocation): take the one reaching furthest.
    const GlobalBuffer* best = nullptr;
    while (after != sorted_.begin()) {
        --after;
        if (address < after->end && (best == nullptr || after->end > best->end)) {
            best = &*after;
        }
    }
    return best;
}

}  // namespace tile_simulator
