// What a core did, in program order, as the time model replays it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "awaited.h"
#include "instruction.h"
#include "tile_timing.h"
#include "vector_shapes.h"

namespace tile_simulator {

// Ways between GM and a core, each with a rate of its own.
enum class Route : uint8_t { none, gm_ub, gm_l1, ub_gm, l1_gm, l0c_gm, engine };
constexpr int route_count = 6;
// Where a core has its queue at the engine that copies without cores, behind its pipes.
constexpr int engine_place = pipe_count;
constexpr int place_count = pipe_count + 1;

inline bool is_load(Route route)
{
    return route == Route::gm_ub || route == Route::gm_l1;
}

// A signal to a word of a rank, or a wait for a value of one.
struct WordAct {
    uint64_t word;
    int64_t before;  // its value when the launch first came to it
    SignalCondition condition;
    int32_t value;  // of a signal
    bool add;
    uint32_t rank;  // whose word it is
};

// A small store to GM that others may look at, and its place among those of the launch.
struct WordStore {
    uint64_t begin;
    uint64_t end;
    uint64_t number;
    uint32_t event;
};

// A look at a word of GM that no data cache answers, and how many stores of the launch it may have seen.
struct WordLook {
    uint64_t word;
    uint64_t seen;
};

struct TimeEvent {
    const char* api;
    const char* file;
    float work;  // cycles it occupies its pipe; of a transfer, at least
    float done;  // cycles until its result can be used, both from its start
    float conflict;  // cycles of a vector instruction's work that it takes because its operands meet in a bank
    uint32_t rows;  // of a transfer that lays rows out in fractals, one by one
    uint32_t line;
    int32_t region;  // index of the GM bytes, of the engine those that it reads and then those that it writes; of what it
                     // does to a word; of the look of a scalar unit; or -1
    Route route;
    TileTimeKind kind;
    uint8_t pipe;
    uint8_t source;  // of a flag
    uint8_t flag;  // of a barrier of ranks: its kind
    uint8_t mode;  // of a cross-core set
    uint8_t unit_flag;  // of Mmad and Fixpipe: 0, 2 or 3
    bool past_l2;       // a read that L2 does not keep
    bool dependent;     // needs what its own pipe has not completed yet
};

class TimeLog {
public:
    void clear();
    void instruction(const Instruction& instruction, const TileTiming& timing);
    // By the engine: a copy, and the wait for all so far.
    void engine_copy(const Instruction& instruction);
    void engine_wait(const Core& core, Use use);
    void set(const Core& core, Pipe source, Pipe target, int id, Where at);
    void wait(const Core& core, Pipe source, Pipe target, int id, Where at);
    void barrier(const Core& core, Pipe pipe, Where at);
    void barrier_all(const Core& core, Where at);
    void cross_set(const Core& core, Pipe pipe, int id, uint32_t mode, Where at);
    void cross_wait(const Core& core, int id, Where at);
    void signal(const Core& core, const WordAct& act, Use use);
    void word_wait(const Core& core, const WordAct& act, Use use);
    // Of all cores, or of vector cores alone.
    void rank_barrier(const Core& core, bool vector, Use use);
    // The latest instruction was a look. Who looks again and again at one word has looked once, at the end.
    void look(const WordLook& look);

    const std::vector<TimeEvent>& events() const { return events_; }
    const Region& region(int32_t index) const { return regions_[size_t(index)]; }
    const WordAct& word_act(int32_t index) const { return word_acts_[size_t(index)]; }
    const WordLook& look_at(int32_t index) const { return looks_[size_t(index)]; }
    const std::vector<WordStore>& stores() const { return stores_; }
    const std::vector<TileTimeAccess>& accesses() const { return accesses_; }
    const VectorShapes& vector_shapes() const { return vector_shapes_; }
    uint64_t macs = 0;

private:
    TimeEvent& add(const Core& core, TileTimeKind kind, Pipe pipe, const char* api, Where at);

    // Of a core with very many events: the one of the present run of scalar work that stands for all of its line, so
    // that the log does not grow with the rounds of scalar loops. Null if the instruction gets one of its own.
    TimeEvent* folded(const Instruction& instruction);
    // Widens an access of an event that stands for several by one that differs from it in its bytes only.
    bool widened(const TileTimeAccess& access);

    // Whether a vector instruction reads what none before it is known to have completed, and the same of a product that
    // adds to the result of the one before. Remembers what the instruction leaves.
    bool follows_vector(const Instruction& instruction);
    bool follows_product(const Instruction& instruction);

    // Results of the latest vector instructions since a barrier; those before them are complete by any count.
    std::array<Region, 8> latest_;
    size_t latest_count_ = 0;
    Region product_;
    size_t scalar_from_ = 0;  // events from here on are scalar work
    VectorShapes vector_shapes_;
    std::vector<TimeEvent> events_;
    std::vector<Region> regions_;
    std::vector<WordAct> word_acts_;
    std::vector<WordLook> looks_;
    std::vector<WordStore> stores_;
    std::vector<TileTimeAccess> accesses_;
};

}  // namespace tile_simulator
