// Which parts of GM the L2 cache holds: lines of 512 B with a mask of their 128 B sectors
// (docs/hardware/memories.md#alignment).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "instruction.h"

namespace tile_simulator {

struct GlobalBuffer;
class GlobalBuffers;

// What a transfer means for L2 and HBM, in bytes of whole sectors.
struct Traffic {
    uint64_t moved = 0;
    uint64_t missed = 0;        // read from HBM
    uint64_t fresh = 0;         // written to lines that were not there
    uint64_t changed = 0;       // written where L2 was the same as HBM
    uint64_t left = 0;          // changed once, and gone to make room
};

class L2Cache {
public:
    static constexpr uint64_t line_bytes = 512;

    // A warm cache holds all buffers.
    L2Cache(const GlobalBuffers& buffers, uint64_t bytes, bool warm);

    Traffic access(const Region& region, bool write);
    // A read that is not to be kept: what is not there comes from HBM, at least `burst` bytes for every run.
    Traffic read_past(const Region& region, uint64_t burst);

private:
    static constexpr uint64_t sector_bytes = 128;

    struct Line {
        uint32_t stamp = 0;  // when it was used last, in lines brought in since the start; 0: never
        uint8_t sectors = 0;
        uint8_t dirty = 0;
    };
    struct Dirty {
        uint32_t buffer;
        uint32_t line;
        uint32_t stamp;
    };

    std::vector<Line>& lines_of(const GlobalBuffer& buffer);
    void touch(uint32_t buffer, uint64_t line, uint8_t sectors, bool write, Traffic& traffic);
    bool held(const Line& line) const { return line.stamp != 0 && now_ - line.stamp < capacity_; }
    void write_back(Traffic& traffic);

    const GlobalBuffers& buffers_;
    const uint32_t capacity_;  // in lines
    const bool warm_;
    uint32_t now_ = 1;
    std::vector<std::vector<Line>> lines_;  // by buffer
    std::deque<Dirty> dirty_;
};

}  // namespace tile_simulator
