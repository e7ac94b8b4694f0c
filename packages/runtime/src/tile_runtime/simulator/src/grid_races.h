// Conflicting GM accesses of different blocks, found once a launch is over.
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
    // Keeps what the comparison needs of a finished block, which may be the only one. Called under the lock of the
    // launch.
    void add(uint32_t block, OrderChecks& order, bool alone);
    // What conflicts, one for each pair of lines and at most so many. Stores of equal bytes by two blocks are no conflict:
    // they are added to `redundant`, one for each line.
    // Stores to flags in GM, each of which follows the one before (GlobalFlags::chained), are none either.
    std::vector<Fault> find(std::vector<Fault>& redundant, size_t most, const Launch& launch);

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
        const ForeignPointer* known[cores_per_block];  // of other blocks, by what each core took over; null: nothing
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
    // What one core stores to one cache line.
    struct Line {
        uint64_t known = 0;  // a bit per byte
        uint8_t bytes[ScalarCache::line_bytes] = {};
        uint32_t interval = 0;
        bool comparable = true;
    };
    using Lines = std::map<std::pair<uint64_t, uint32_t>, Line>;  // by address and core

    bool ordered(const Record& a, const Record& b) const;
    static bool lines_meet(const Record& a, const Record& b);
    // Number of a core among all of the launch.
    static uint32_t core_of(const Record& record)
    {
        return record.block * cores_per_block + record.access.agent / agents_per_core;
    }
    bool knows(const Record& later, const Record& earlier) const;
    // Whether `later` knows by the rank to whose memory `earlier` stored that this is complete there.
    bool acknowledged(const Foreign& later, const Record& earlier) const;
    // Whether both can be in one place: the memory of a rank that is not symmetric is its own.
    bool meet(const Record& a, const Record& b) const;
    // The runs of bytes in a window, cut at its ends, which are those of cache lines. Windows are asked for in order.
    std::vector<Run> runs_of(const std::vector<uint32_t>& records, uint64_t low, uint64_t high);
    BlockAccess party_of(const Record& record) const;
    Fault race_between(
        const Record& first, const Record& second, bool one_line_only, const std::string& bytes) const;
    void find_in(const std::vector<Run>& runs, uint64_t start, std::vector<Fault>& redundant);
    bool in_chain(const Run& a, const Run& b) const;
    bool enough() const { return races_.size() >= most_ || looked_at_ >= most_looked_at; }
    Lines lines_of(const std::vector<Run>& runs) const;
    bool agree(const Run& a, const Run& b, const Lines& lines) const;

    std::vector<Record> records_;
    std::deque<std::vector<uint8_t>> stored_;  // the bytes of the records, by block
    std::deque<std::deque<ByteSet>> scattered_;  // the same of those that are no regions
    // Conflicts that are looked at: more come from the same lines.
    static constexpr size_t most_looked_at = 10000;
    size_t most_ = 0;
    const Launch* launch_ = nullptr;
    size_t looked_at_ = 0;
    std::vector<Fault> races_;
    std::set<std::tuple<std::string, uint32_t, std::string, uint32_t>> raced_;  // by the places of both
    std::set<std::pair<std::string, uint32_t>> told_;  // files and lines of redundant stores
    std::map<uint32_t, TakenByBlock> taken_;   // by block: keeps what records know
};

}  // namespace tile_simulator
