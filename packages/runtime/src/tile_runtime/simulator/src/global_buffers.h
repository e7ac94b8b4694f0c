// The GM buffers a launch may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tile_simulator.h"
#include "written_bytes.h"

namespace tile_simulator {

class SymmetricMemory;

struct GlobalBuffer {
    uint64_t begin;
    uint64_t end;
    std::string name;
    std::unique_ptr<WrittenBytes> written = nullptr;  // of one that nothing had written before the launch
    int32_t rank = -1;       // whose memory it is, in a launch over several ranks
    bool symmetric = false;  // other ranks can reach it

    // "'x'", or "'x' of rank 1".
    std::string shown() const;
};

// All of them, sorted by address.
class GlobalBuffers {
public:
    void assign(const TileBuffer* buffers, size_t count);
    // Adds the instances of symmetric memory; what lies in one of them is no buffer of its own any more.
    void add_symmetric(const SymmetricMemory& memory);
    const GlobalBuffer* find(uint64_t address) const;
    size_t count() const { return sorted_.size(); }
    uint32_t index_of(const GlobalBuffer* buffer) const { return static_cast<uint32_t>(buffer - sorted_.data()); }

private:
    std::vector<GlobalBuffer> sorted_;
};

}  // namespace tile_simulator
