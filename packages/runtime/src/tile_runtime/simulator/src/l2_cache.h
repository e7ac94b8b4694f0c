// Which parts of GM the L2 cache holds: lines of 512 B with a mask of their 128 B sectors
// (docs/hardware/units.md#alignment).
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "instruction.h"

namespace tile_simulator {

struct GlobalBuffer;
class GlobalBuffers;

// What a transfer means for L2 and HBM: bytes of its requests, and of whole sectors. A run is asked for in aligned
// requests of one size, 128, 256 or 512 B: the smallest that could hold it. So a long run that does not start or end
// with a line costs whole lines there.
struct Traffic {
    uint64_t moved = 0;         // of requests
    uint64_t missed = 0;        // of requests that are read from HBM
    uint64_t arriving = 0;      // of requests for what another transfer is reading from HBM
    uint32_t brought_by = 0;    // the last of such transfers
    uint64_t fresh = 0;         // of requests written to lines that were not there
    uint64_t changed = 0;       // of sectors, written where L2 was the same as HBM
    uint64_t left = 0;          // of sectors, changed once, and gone to make room
    bool partial = false;       // writes parts of 32 B, the rest of which has to be read
};

class L2Cache {
public:
    static constexpr uint64_t line_bytes = 512;

    // A warm cache holds all buffers.
    L2Cache(const GlobalBuffers& buffers, uint64_t bytes, bool warm);

    // What is missing is brought by transfer `number`, counted from 1, until arrived() is told.
    Traffic read(const Region& region, uint32_t number) { return access(region, false, number); }
    Traffic write(const Region& region) { return access(region, true, 0); }
    void arrived(uint32_t number);
    bool arriving(uint32_t number) const { return number < under_way_.size() && under_way_[number]; }
    // A read that is not to be kept: what is not there comes from HBM, at least `burst` bytes for every run.
    Traffic read_past(const Region& region, uint64_t burst);

private:
    static constexpr uint64_t sector_bytes = 128;
    static constexpr uint64_t block_bytes = 32;

    struct Line {
        uint32_t stamp = 0;  // when it was used last, in lines brought in since the start; 0: never
        uint32_t brought_by = 0;  // the transfer that read it last
        uint8_t sectors = 0;
        uint8_t dirty = 0;
    };
    struct Dirty {
        uint32_t buffer;
        uint32_t line;
        uint32_t stamp;
        // The oldest comes first.
        bool operator<(const Dirty& other) const { return stamp > other.stamp; }
    };

    // Sectors of one line, asked for in requests of `bytes`.
    struct Piece {
        uint64_t line;
        uint8_t sectors;
        uint64_t bytes;
    };

    std::vector<Line>& lines_of(const GlobalBuffer& buffer);
    Traffic access(const Region& region, bool write, uint32_t number);
    void touch(uint32_t buffer, const Piece& piece, bool write, uint32_t number, Traffic& traffic);
    bool held(const Line& line) const { return line.stamp != 0 && now_ - line.stamp < capacity_; }
    void write_back(Traffic& traffic);

    const GlobalBuffers& buffers_;
    const uint32_t capacity_;  // in lines
    const bool warm_;
    uint32_t now_ = 1;
    std::vector<std::vector<Line>> lines_;  // by buffer
    std::priority_queue<Dirty> dirty_;
    std::vector<bool> under_way_;  // by number of a transfer that reads from HBM
};

}  // namespace tile_simulator
