// The data cache between a core's scalar unit and GM, which nothing keeps coherent
// (docs/hardware/scalar.md#data-cache).
//
// Values are written through, so that a kernel goes on with what it meant; what the cache would have hidden from
// other readers, or shown too late to its own core, is told to the order checks or raised. Lines count from the start
// of a buffer, as allocations of the device are aligned to lines and those of the host need not be.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ascend_c/operand.h"

namespace tile_simulator {

class ScalarCache {
public:
    static constexpr uint64_t line_bytes = 64;

    static uint64_t line_of(uint64_t base, uint64_t address)
    {
        return base + (address - base) / line_bytes * line_bytes;
    }

    void clear() { lines_.clear(); }
    // Before a load of [address, address + bytes) of the buffer at `base`: raises stale-read if the cached line is out
    // of date.
    void load(uint64_t base, uint64_t address, uint32_t bytes, Use use);
    // After one that GM answered, with what it showed.
    void fill(uint64_t base, uint64_t address, uint32_t bytes, const uint8_t* seen, Use use);
    // True if the cache answers the load.
    bool holds(uint64_t base, uint64_t address, uint32_t bytes) const;
    // After a store.
    void store(uint64_t base, uint64_t address, uint32_t bytes, Use use);
    // Writes back and drops the line of an address; true if no line is left to be written back.
    bool clean(uint64_t base, uint64_t address);
    void clean_all() { lines_.clear(); }
    // Place of a store that was never written back, or null.
    const Where* uncleaned() const;

private:
    struct Line {
        uint8_t bytes[line_bytes] = {};  // only what was asked for: the rest of a line may not be ours to read
        uint64_t known = 0;  // a bit per byte that was loaded or stored
        bool dirty = false;
        Where at{};

    };

    // Calls f(line, begin, end) for the part of [address, address + bytes) in each line.
    template <class F>
    void for_lines(uint64_t base, uint64_t address, uint32_t bytes, Use use, const F& f);

    std::unordered_map<uint64_t, Line> lines_;  // by address
};

}  // namespace tile_simulator
