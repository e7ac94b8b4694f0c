// The data cache between a core's scalar unit and GM, which nothing keeps coherent
// (docs/hardware/units.md#data-cache).
//
// Lines of 64 bytes that are written back whole: what a line held when the first store fetched it overwrites what others
// stored to its other bytes meanwhile. Lines count from the start of a buffer, as allocations of the device are aligned
// to lines and those of the host need not be. Of loads only the bytes asked for are remembered: which of them are out of
// date does not depend on what else the line holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "ascend_c/operand.h"

namespace tile_simulator {

struct GlobalBuffer;
class RankMessages;

// Of a cube core and a vector core. Source: the programming guide on cache coherence, memory model.
constexpr uint32_t data_cache_bytes[] = {16384, 32768};

class ScalarCache {
public:
    static constexpr uint64_t line_bytes = 64;

    static uint64_t line_of(uint64_t base, uint64_t address)
    {
        return base + (address - base) / line_bytes * line_bytes;
    }

    // Empty, of so many bytes; what is written back to ranks of other processes goes by `messages`, if not null.
    void begin(uint32_t bytes, RankMessages* messages);
    // A load of [address, address + bytes), of which `value` is what GM holds: puts what the cache holds in its place.
    // Tells of a stale-read if that is out of date.
    void load(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, uint8_t* value, Use use);
    // What the cache holds of these bytes, in place of what GM does.
    void overlay(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, uint8_t* value) const;
    // After a load that GM answered, with what it showed.
    void fill(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, const uint8_t* seen, Use use);
    // True if the cache answers the load.
    bool holds(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes) const;
    // True if a store to the address finds its line written to already.
    bool dirty(const GlobalBuffer& buffer, uint64_t address) const;
    void store(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, const uint8_t* value, Use use);
    // The line that starts there is written back and dropped, though nobody asked for it.
    void push_out(uint64_t start);
    // Writes back and drops the line of an address; true if no line is left to be written back.
    bool clean(uint64_t base, uint64_t address);
    void clean_all();
    // Place of a store that no clean wrote back, or null.
    const Where* uncleaned() const;

private:
    struct Line {
        uint8_t bytes[line_bytes] = {};
        uint8_t fetched[line_bytes] = {};  // as GM was at the first store
        uint64_t known = 0;   // a bit per byte that was loaded or stored
        uint64_t stored = 0;
        uint32_t inside = 0;  // bytes of the line that lie in the buffer, at its first store
        uint64_t number = 0;  // of lines so far
        Where at{};
    };

    Line& line_at(uint64_t start, Use use);
    void make_room();
    // Calls f(line, first, bytes in it, offset) for the part of [address, address + bytes) in each line.
    template <class F>
    void for_lines(const GlobalBuffer& buffer, uint64_t address, uint32_t bytes, Use use, const F& f);
    void write_back(uint64_t start, const Line& line) const;

    std::unordered_map<uint64_t, Line> lines_;  // by address
    std::deque<std::pair<uint64_t, uint64_t>> oldest_;  // addresses and numbers, also of lines that are gone
    uint64_t numbers_ = 0;
    size_t most_lines_ = 0;
    RankMessages* messages_ = nullptr;
    Where pushed_out_{};  // the first store whose line left the cache by itself
};

}  // namespace tile_simulator
