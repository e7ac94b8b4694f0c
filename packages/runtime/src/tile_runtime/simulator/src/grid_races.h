// Conflicting GM accesses of different blocks, found once a launch is over, or all cores of all ranks have met.
//
// Blocks run on several host threads, so they are compared afterwards and in the order of their numbers: the same
// launch gives the same report. Only grid-wide flags (mode 0) order accesses of two blocks. The lines of the data caches
// of one block are compared here too: what each core stores to a line is known at the end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "order_checks.h"
#include "race_report.h"

namespace tile_simulator {

class Launch;

class GridRaces {
public:
    // Keeps what the comparison needs of a block that has ended or waits for all others; it may be the only one. Called
    // under the lock of the launch.
    void add(uint32_t block, OrderChecks& order, bool alone);
    // Compares what was added, and forgets it.
    void compare(const Launch& launch);
    // What blocks [first, end) have learned of others, of those that were added.
    ForeignPointer known_by(uint32_t first, uint32_t end) const;
    // What conflicts, one for each pair of lines and at most as many as the launch tells. Stores of equal bytes by two
    // blocks are no conflict: they are among the redundant ones, one for each line.
    // Stores to flags in GM, each of which follows the one before (GlobalFlags::chained), are none either.
    std::vector<Fault> take_races() { return std::move(races_); }
    std::vector<Fault> take_redundant() { return std::move(redundant_); }

private:
    struct Record {
        Region region;
        const GlobalBuffer* buffer;
        Access access;
        uint32_t block;
        uint32_t written_back[cores_per_block];  // GlobalAccess::written_back
        uint32_t rounds[grid_slots];  // grid-wide rounds known to be complete before it
        uint32_t until[grid_slots];   // first round that starts after it is complete
        uint32_t waits;  // GlobalAccess::waits
        const TakenByBlock* taken;  // by the block of others
        uint32_t handovers[cores_per_block];  // how much of that was known
        uint32_t interval;
        const uint8_t* bytes;  // of a write, run after run; null if they are not known
        const ByteSet* scattered;
        uint64_t passed;  // of scattered bytes, those before the window that comes next
    };
    struct Run {
        uint64_t begin;  // of a scalar store, those of its cache lines
        uint64_t end;
        uint32_t record;
        uint64_t start;  // the first byte that is stored, and the one behind the last
        uint64_t stop;
        const uint8_t* bytes;
    };
    // Runs of one agent of a block that are alike, by interval.
    struct Group {
        uint64_t end = 0;   // of all
        size_t swept = 0;   // runs that were not over at the latest look at all of them
        std::vector<Run> runs;
    };
    // What one core stores to one cache line.
    struct Line {
        uint64_t known = 0;  // a bit per byte
        uint8_t bytes[ScalarCache::line_bytes] = {};
        uint32_t interval = 0;
        bool comparable = true;
    };
    using Lines = std::map<std::pair<uint64_t, uint32_t>, Line>;  // by address and core

    // Number of a core among all of the launch.
    static uint32_t core_of(const Record& record)
    {
        return record.block * cores_per_block + record.access.agent / agents_per_core;
    }
    bool knows(const Record& later, const Record& earlier) const;
    // Whether `earlier` is ordered before `later`.
    bool before(const Record& earlier, const Record& later) const;
    bool alike(const Record& a, const Record& b) const;
    void add_to(Group& group, const Run& run) const;
    // The runs of a group that may not be ordered before or after a record.
    std::pair<size_t, size_t> beside(const Group& group, const Record& record) const;
    void compare_runs(const Run& other, const Run& run, uint64_t start, const Lines& lines);
    void tell_race(const Run& other, const Run& run, const std::string& bytes);
    void tell_redundant(const Record& first, const Record& second, const std::string& bytes);
    // Whether `later` knows by the rank to whose memory `earlier` stored that this is complete there.
    bool acknowledged(const Foreign& later, const Record& earlier) const;
    // Whether both can be in one place: the memory of a rank that is not symmetric is its own.
    bool meet(const Record& a, const Record& b) const;
    // The runs of bytes in a window, cut at its ends, which are those of cache lines. Windows are asked for in order.
    std::vector<Run> runs_of(const std::vector<uint32_t>& records, uint64_t low, uint64_t high);
    BlockAccess party_of(const Record& record) const;
    Fault race_between(
        const Record& first, const Record& second, bool one_line_only, const std::string& bytes) const;
    void find_in(const std::vector<Run>& runs, uint64_t start);
    bool in_chain(const Run& a, const Run& b) const;
    bool enough() const;
    Lines lines_of(const std::vector<Run>& runs) const;
    bool agree(const Run& a, const Run& b, const Lines& lines) const;

    std::vector<Record> records_;
    std::deque<std::vector<uint8_t>> stored_;  // the bytes of the records, by block
    std::deque<std::deque<ByteSet>> scattered_;  // the same of those that are no regions
    // Conflicts that are looked at: more come from the same lines.
    static constexpr size_t most_looked_at = 10000;
    const Launch* launch_ = nullptr;
    size_t looked_at_ = 0;
    std::vector<Fault> races_;
    std::vector<Fault> redundant_;
    std::set<std::tuple<std::string, uint32_t, std::string, uint32_t>> raced_;  // by the places of both
    std::set<std::pair<std::string, uint32_t>> told_;  // files and lines of redundant stores
    std::map<uint32_t, TakenByBlock> taken_;   // by block: keeps what records know
};

}  // namespace tile_simulator
