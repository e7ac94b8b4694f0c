#include "global_buffers.h"

#include <algorithm>
#include <utility>

#include "symmetric_memory.h"

namespace tile_simulator {

std::string GlobalBuffer::shown() const
{
    return "'" + name + "'" + (rank >= 0 ? " of rank " + std::to_string(rank) : std::string());
}

void GlobalBuffers::assign(const TileBuffer* buffers, size_t count)
{
    sorted_.resize(count);
    for (size_t i = 0; i < count; ++i) {
        sorted_[i].begin = reinterpret_cast<uint64_t>(buffers[i].base);
        sorted_[i].end = sorted_[i].begin + buffers[i].bytes;
        sorted_[i].name.assign(buffers[i].name != nullptr ? buffers[i].name : "?");
        sorted_[i].rank = buffers[i].rank;
        sorted_[i].symmetric = false;
        sorted_[i].written =
            buffers[i].fresh != 0 ? std::make_unique<WrittenBytes>(buffers[i].base, buffers[i].bytes) : nullptr;
    }
    if (count > 1) {
        std::sort(sorted_.begin(), sorted_.end(),
            [](const GlobalBuffer& a, const GlobalBuffer& b) { return a.begin < b.begin; });
    }
}

void GlobalBuffers::add_symmetric(const SymmetricMemory& memory)
{
    const auto inside = [&](const GlobalBuffer& buffer) { return memory.covers(buffer.begin, buffer.end); };
    sorted_.erase(std::remove_if(sorted_.begin(), sorted_.end(), inside), sorted_.end());
    for (const SymmetricMemory::Allocation& allocation : memory.all()) {
        for (size_t rank = 0; rank < allocation.bases.size(); ++rank) {
            GlobalBuffer instance{};
            instance.begin = allocation.bases[rank];
            instance.end = instance.begin + allocation.bytes;
            instance.name = allocation.name;
            instance.rank = static_cast<int32_t>(rank);
            instance.symmetric = true;
            sorted_.push_back(std::move(instance));
        }
    }
    std::sort(sorted_.begin(), sorted_.end(),
        [](const GlobalBuffer& a, const GlobalBuffer& b) { return a.begin < b.begin; });
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
