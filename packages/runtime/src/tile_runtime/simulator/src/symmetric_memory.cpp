#include "symmetric_memory.h"

#include <algorithm>

namespace tile_simulator {

SymmetricMemory::SymmetricMemory(uint32_t ranks, const TileSymmetric* memory, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        Allocation allocation;
        allocation.name = memory[i].name != nullptr ? memory[i].name : "?";
        allocation.bytes = memory[i].bytes;
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            allocation.bases.push_back(reinterpret_cast<uint64_t>(memory[i].bases[rank]));
        }
        allocations_.push_back(std::move(allocation));
    }
}

SymmetricMemory::Place SymmetricMemory::of_rank(uint64_t address, uint32_t rank) const
{
    Place end;
    for (const Allocation& allocation : allocations_) {
        const uint64_t offset = address - allocation.bases[rank];
        if (offset < allocation.bytes) {
            return {&allocation, rank, offset};
        }
        if (offset == allocation.bytes) {
            end = {&allocation, rank, offset};
        }
    }
    return end;
}

SymmetricMemory::Place SymmetricMemory::find(uint64_t address) const
{
    for (const Allocation& allocation : allocations_) {
        for (size_t rank = 0; rank < allocation.bases.size(); ++rank) {
            const uint64_t offset = address - allocation.bases[rank];
            if (offset < allocation.bytes) {
                return {&allocation, static_cast<uint32_t>(rank), offset};
            }
        }
    }
    return {};
}

bool SymmetricMemory::covers(uint64_t begin, uint64_t end) const
{
    const Place place = find(begin);
    return place.allocation != nullptr && place.offset + (end - begin) <= place.allocation->bytes;
}

std::string SymmetricMemory::word_name(uint64_t address) const
{
    const Place place = find(address);
    if (place.allocation == nullptr) {
        return "";
    }
    return place.allocation->name + "[" + std::to_string(place.offset / sizeof(int32_t)) + "] of rank " +
           std::to_string(place.rank);
}

}  // namespace tile_simulator
