// Happens-before of one block: vector clocks that follow pipes, flags, barriers and cross-core counters, and the
// accesses that they leave unordered (hardware.md 1.3 to 1.6).
//
// Instructions run in program order; what runs later here may overlap on the device unless a clock says otherwise.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "global_accesses.h"

namespace tile_simulator {

class OrderChecks {
public:
    void begin(bool strict);

    // Checks the operands of an instruction against all accesses so far; raises race or uninitialised-read.
    void instruction(const Instruction& instruction);
    // The bytes that the latest instruction of a core stores to GM.
    void stored(const Core& core, const uint8_t* target, const uint8_t* source, uint64_t bytes);
    // They will be stored in a way that is not seen.
    void stored_unseen(const Core& core, uint64_t address, uint64_t bytes);
    // True if the latest instruction writes what another core wrote, with nothing that orders the two.
    bool in_doubt() const { return !doubts_.empty(); }
    // Once its bytes are stored: race if they differ, else redundant-store, which is a warning below strict level.
    void settle(const Core& core);
    // Once the block has ended: what the comparison with other blocks needs.
    void keep_stored() { global_.keep_stored(stored_, log_); }

    void set_flag(Core& core, Pipe source, Pipe target, int id);
    void wait_flag(Core& core, Pipe source, Pipe target, int id);
    void barrier(Core& core, Pipe pipe);
    void barrier_all(Core& core);

    // The data cache of the core holds no store any more that GM lacks.
    void cache_written_back(Core& core);

    // What is complete when a cross-core set of `pipe` takes effect.
    VectorClock completed(Core& core, Pipe pipe);
    // A counter of `target` rises by one once everything in `clock` is complete.
    void raise_counter(const Core& target, int id, const VectorClock& clock);
    void lower_counter(Core& core, int id);
    // Grid-wide flags (mode 0): the block's share of a round, and the end of a wait for it.
    void join_round(int slot, uint32_t round, const VectorClock& clock);
    void leave_round(Core& core, int slot, uint32_t round, const VectorClock& others);
    // The next instructions of the core start after `clock`.
    void start_after(Core& core, const VectorClock& clock);

    const AccessLog& log() const { return log_; }
    const GlobalAccesses& global() const { return global_; }
    std::vector<uint8_t>& stored_bytes() { return global_.stored(); }
    std::deque<ByteSet>& scattered_bytes() { return global_.scattered(); }
    const std::vector<VectorClock>& rounds_known() const { return rounds_known_; }
    // What was complete in this block before its share of each round, by slot.
    const std::vector<VectorClock>& released(int slot) const { return released_[slot]; }

private:
    // Where the next instruction of a pipe may start: all it may rely on.
    VectorClock present(const Core& core, Pipe pipe, bool in_order) const;
    void check_local(const Instruction& instruction, const Operand& operand, Present& now, uint32_t index);
    void check_written(const Instruction& instruction, const Operand& operand, const Shadow& shadow);
    // An access to a GM buffer that nothing had written before the launch.
    void check_fresh(
        const Instruction& instruction, const Operand& operand, const GlobalBuffer& buffer, bool reads) const;
    [[noreturn]] void raise_race(
        const Instruction& instruction, const Operand& operand, AccessKind kind, const Conflict& conflict);
    Shadow& shadow_of(const Core& core, Memory memory);
    void next_interval();
    // Forgets the accesses that nothing remembers, and tells those of a scalar unit apart only as far as anybody's
    // clock does.
    void compact_log();
    void clock_read(const Core& core);

    bool strict_ = false;
    VectorClock known_[agent_count];
    uint32_t issued_[agent_count] = {};
    bool counted_[cores_per_block] = {};  // whether anybody asked for the count of the scalar unit since its latest
    // Of each data cache: how often it was written back at the latest compaction, and when somebody asked since then.
    uint32_t settled_[cores_per_block] = {};
    std::vector<uint32_t> asked_[cores_per_block];
    std::map<int, VectorClock> flags_;
    std::deque<VectorClock> counters_[cores_per_block][cross_flags];
    std::vector<VectorClock> released_[grid_slots];
    std::vector<VectorClock> rounds_known_;
    VectorClock units_[cores_per_block][2];  // what unit flags of L0C order: products, results
    uint32_t interval_ = 0;
    AccessLog log_;
    size_t compact_at_ = 0;
    GlobalAccesses global_;
    StoredBytes stored_[cores_per_block];
    std::vector<Doubt> doubts_;
    std::unique_ptr<Shadow> shadows_[cores_per_block][memory_count];
};

}  // namespace tile_simulator
