// Who touched which bytes last: a record per 32 bytes of a memory, exact to the byte.
//
// A granule remembers its last write and, per pipe, the reads (and atomic updates) since. What an ordered write
// covers is forgotten: whoever is ordered after the write is ordered after all that came before it. Granules of which
// accesses touch only some bytes keep a list with byte masks instead.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "access.h"

namespace tile_simulator {

// An earlier access that nothing orders before the present one, and the bytes both touch.
struct Conflict {
    uint32_t access = 0;  // 0: none
    uint64_t begin = 0;
    uint64_t end = 0;
};

// A write that nothing orders after an earlier one of another core, and the bytes both write. It is a conflict unless
// they are the same.
struct Doubt {
    uint32_t earlier = 0;
    uint32_t later = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
};

class Shadow {
public:
    static constexpr uint32_t granule = 32;

    // More bytes at the end, untouched.
    void extend(uint64_t bytes);
    uint64_t bytes() const { return last_write_.size() * granule; }
    // Forgets everything, at a cost in proportion to what was touched.
    void reset();

    // Records the bytes [begin, end) as touched by access `index` of the log, and returns the first conflict. With
    // `doubts`, plain writes of two cores go there instead, and a write does not stand for the reads it was ordered
    // after: a write of the other core, which need not be, may turn out to be right beside it.
    Conflict touch(uint64_t begin, uint64_t end, uint32_t index, AccessLog& log, const Present& now,
        std::vector<Doubt>* doubts = nullptr);

    // Marks the accesses that are remembered, and takes their new numbers (AccessLog::compact).
    void keep(std::vector<uint32_t>& kept) const;
    void renumber(const std::vector<uint32_t>& numbers);
    // What both go through.
    size_t cost() const { return lists_.size() + touched_ / 16; }

    void mark_written(uint64_t begin, uint64_t end);
    // Number of bytes of [begin, end) that were ever written; with `blocks`, those of 32 B blocks with a written byte.
    uint64_t written_bytes(uint64_t begin, uint64_t end, bool blocks = false) const;

private:
    static constexpr int slots = 3;
    static constexpr uint32_t listed = 0xffffffff;  // as last write: the granule has a list

    struct Part {
        uint32_t access;
        uint32_t mask;
    };

    Conflict touch_whole(uint64_t first, uint64_t last, uint32_t index, AccessLog& log, const Present& now,
        std::vector<Doubt>* doubts);
    Conflict touch_part(uint64_t at, uint32_t mask, uint32_t index, AccessLog& log, const Present& now,
        std::vector<Doubt>* doubts);
    void list(uint64_t at, const AccessLog& log);
    void use_slot(int slot);
    uint64_t same_until(uint64_t first, uint64_t last) const;

    std::vector<uint32_t> last_write_;
    std::vector<uint32_t> since_[slots];  // of a slot that was not used, it may be shorter
    std::vector<uint32_t> written_;  // a bit per byte, once one was marked
    std::unordered_map<uint64_t, std::vector<Part>> lists_;
    uint64_t touched_ = 0;  // granules beyond were never touched
    int used_ = 0;          // slots that were
};

}  // namespace tile_simulator
