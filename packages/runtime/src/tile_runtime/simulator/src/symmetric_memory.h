// Memory that every rank of a launch has and the others can reach.
//
// An address of one rank and the number of another name a place there: the base of the same allocation, and the same
// offset. Nothing else of a rank can be reached from another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tile_simulator.h"

namespace tile_simulator {

class SymmetricMemory {
public:
    struct Allocation {
        std::string name;
        uint64_t bytes = 0;
        std::vector<uint64_t> bases;  // by rank
    };
    // An address as a place of an allocation, or none.
    struct Place {
        const Allocation* allocation = nullptr;
        uint32_t rank = 0;
        uint64_t offset = 0;
    };

    SymmetricMemory() = default;
    SymmetricMemory(uint32_t ranks, const TileSymmetric* memory, size_t count);

    const std::vector<Allocation>& all() const { return allocations_; }
    // The place of an address of `rank`; one byte behind the end of an allocation belongs to it as well.
    Place of_rank(uint64_t address, uint32_t rank) const;
    // The place of any address.
    Place find(uint64_t address) const;
    bool covers(uint64_t begin, uint64_t end) const;
    // "words[16]@2": a word of 4 bytes as an element of its allocation; empty for other memory.
    std::string word_name(uint64_t address) const;

private:
    std::vector<Allocation> allocations_;
};

}  // namespace tile_simulator
