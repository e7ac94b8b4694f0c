// Which flags and barriers of a timed launch carry an order that two conflicting accesses need.
//
// Beside the clocks of the order checks, SyncNeeds keeps clocks that also store, for each entry, the synchronisations
// of one path: the first that raised the entry to its value. An access that conflicts with an earlier one needs the
// synchronisations of that path. Those that no access needs are redundant: without all of them, each pair of
// conflicting accesses is still ordered, by a path of the others.
//
// A flag that hands a buffer back to a pipe counts as needed, whether or not this run uses the buffer again: its wait
// is the first to order accesses of an agent before a pipe that has conflicted with that agent. A flag that is set
// before its pipe executes anything hands out a buffer: its lines are needed if the others of its id are.
//
// The clocks follow the rules of the level `strict`, whatever the level of the launch. What leaves a core through a
// cross-core flag or a grid-wide round counts as needed with all that it carries. Where a kernel orders its cores
// through flags in GM, nothing is said.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "access.h"
#include "fault.h"
#include "tile_timing.h"

namespace tile_simulator {

// A line with a SetFlag, a WaitFlag or a PipeBarrier.
struct SyncLine {
    TileTimeKind kind;  // TILE_TIME_SET, _WAIT, _BARRIER or _BARRIER_ALL
    Pipe source;        // of a flag; of a barrier its pipe
    Pipe target;
    const char* file;
    uint32_t line;
    bool by_hand;  // the kernel calls it itself; it is no part of another API

    auto key() const { return std::make_tuple(kind, source, target, file, line); }
    bool operator<(const SyncLine& other) const { return key() < other.key(); }
};

class SyncNeeds {
public:
    // `issued`: the instructions of each agent so far, as OrderChecks counts them.
    explicit SyncNeeds(const uint32_t* issued) : issued_(issued) {}

    // The present instruction, which has been counted.
    void instruction(const Instruction& instruction);
    // The present instruction conflicts with an access of that number, or its record replaces that of the access.
    void need(int agent, uint32_t number, int present_agent);

    void set_flag(const Core& core, Pipe source, Pipe target, int id, Use use);
    void wait_flag(const Core& core, Pipe source, Pipe target, int id, Use use);
    void barrier(const Core& core, Pipe pipe, Use use);
    void barrier_all(const Core& core, Use use);
    // What is complete when `pipe` sets a flag leaves the core: all of it is needed.
    void hand_on(const Core& core, Pipe pipe);
    // Other ways of order are used: nothing may be called redundant.
    void give_up() { known_all_ = false; }

private:
    friend class SyncLines;
    static constexpr uint32_t nothing = 0;  // the empty path
    static constexpr int none = -1;

    struct Entry {
        uint32_t at = 0;
        uint32_t path = nothing;
    };
    struct Clock {
        Entry of[agent_count];

        void raise(int agent, uint32_t at, uint32_t path)
        {
            if (at > of[agent].at) {
                of[agent] = {at, path};
            }
        }
        void join(const Clock& other)
        {
            for (int agent = 0; agent < agent_count; ++agent) {
                raise(agent, other.of[agent].at, other.of[agent].path);
            }
        }
    };
    struct SetFlag {
        Clock clock;
        int line = none;
    };

    Clock present(const Core& core, Pipe pipe, bool in_order) const;
    Clock completed(const Core& core, Pipe pipe) const;
    // Joins `clock` into the clock of an agent's pipe; the entries that rise do so by synchronisation `sync`.
    // `hands_back`: the synchronisation is needed if the two agents have conflicted.
    void join_by(int agent, const Clock& clock, int sync, bool hands_back);
    int line_of(const SyncLine& line);
    int sync_of(int first, int second);
    uint32_t extended(uint32_t path, int sync);

    const uint32_t* issued_;
    bool known_all_ = true;
    bool conflicted_[agent_count][agent_count] = {};
    Clock now_;
    Clock known_[agent_count];
    Clock units_[cores_per_block][2];  // what unit flags of L0C order: products, results
    std::map<int, SetFlag> flags_;
    std::map<int, std::set<int>> flag_syncs_;  // by flag, the synchronisations it took part in
    std::set<int> handing_out_;                // flags that were set before their pipe did anything
    std::map<SyncLine, int> numbers_;
    std::vector<SyncLine> lines_;
    std::map<std::pair<int, int>, int> sync_numbers_;
    std::vector<std::pair<int, int>> syncs_;  // set and wait, or barrier and `none`
    std::map<std::vector<int>, uint32_t> path_numbers_;
    std::vector<std::vector<int>> paths_ = {{}};  // sorted synchronisations
    std::map<std::pair<uint32_t, int>, uint32_t> extended_;
    std::vector<bool> needed_ = {false};  // by path
};

// The lines of all blocks of a launch.
class SyncLines {
public:
    void add(const SyncNeeds& needs);
    // One remark for each redundant pair or barrier that the kernel wrote, in the order of lines.
    std::vector<Fault> redundant(
        const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings) const;

private:
    bool known_all_ = true;
    std::map<SyncLine, bool> needed_;
    std::map<std::pair<SyncLine, SyncLine>, bool> pairs_;  // a set and a wait that met
    std::set<std::pair<SyncLine, SyncLine>> links_;  // lines that are needed together
};

}  // namespace tile_simulator
