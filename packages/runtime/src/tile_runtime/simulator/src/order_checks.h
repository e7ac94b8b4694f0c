// Happens-before of one block: vector clocks that follow pipes, flags, barriers and cross-core counters, and the
// accesses that they leave unordered (docs/hardware/index.md#flags).
//
// Instructions run in program order; what runs later here may overlap on the device unless a clock says otherwise.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "flag_polls.h"
#include "global_accesses.h"
#include "global_flags.h"
#include "signal_words.h"
#include "sync_needs.h"
#include "taints.h"

namespace tile_simulator {

class OrderChecks {
public:
    // Of a block of a launch. `timed`: what each synchronisation is for is remembered too.
    void begin(const Launch& launch, uint32_t block, bool timed);

    // Checks the operands of an instruction against all accesses so far; tells race and uninitialised-read.
    void instruction(const Instruction& instruction);
    // The bytes that the latest instruction of a core stores to GM.
    void stored(const Core& core, const uint8_t* target, const uint8_t* source, uint64_t bytes);
    // The bytes it updates in GM, atomically; the first 64 of them as they are before.
    void updated(const Core& core, const uint8_t* target, uint64_t bytes);
    // They will be stored in a way that is not seen.
    void stored_unseen(const Core& core, uint64_t address, uint64_t bytes);
    // Raises the fault behind bytes of a local memory that are about to be used as addresses, if they are tainted.
    void require_defined(const Core& core, Memory memory, uint64_t begin, uint64_t end) const;
    // True if the latest instruction writes what another core wrote, with nothing that orders the two.
    bool in_doubt() const { return !doubts_.empty() || !rewrites_.empty(); }
    // Once its bytes are stored: race if they differ, else redundant-store, which is a warning below strict level.
    void settle(const Core& core);
    // Once the block has ended, or waits for all others: what the comparison with other blocks needs.
    void keep_stored() { global_.keep_stored(stored_, log_); }
    // Whether all accesses to GM so far are complete by what the cores of all ranks know that have met; and forgets
    // them, once they have been compared.
    bool all_complete(const Foreign& known) const;
    void forget_accesses();

    void set_flag(Core& core, Pipe source, Pipe target, int id, Use use);
    void wait_flag(Core& core, Pipe source, Pipe target, int id, Use use);
    void barrier(Core& core, Pipe pipe, Use use);
    void barrier_all(Core& core, Use use);
    // Null unless the launch is timed.
    const SyncNeeds* needs() const { return needs_.get(); }

    // The stores of a core to [begin, end) of GM have left its data cache; `all`: it holds none that GM lacks.
    void cache_written_back(Core& core, uint64_t begin, uint64_t end, bool all);
    // The stores past the cache of the core are in GM.
    void bypass_complete(Core& core) { ++issued_[bypass_of(core)]; }

    // A load of GM by the scalar unit that its data cache does not answer: it may be one look at a flag of many. Places
    // in operand 0 what it sees.
    void poll(Instruction& instruction);
    // The loads of the core that turned out to be no looks at flags.
    void settle_polls(Core& core);

    // What a value handed out now carries, with `clock` complete, and what a core gets with it.
    std::shared_ptr<const Handover> hand_over(
        const Core& core, const VectorClock& clock, const ForeignPointer& fenced = nullptr) const;
    void take_over(Core& core, const Handover& handover);
    // The same with a word of GM that a function of the API sets or looks at, and nothing else (block_sync.cpp).
    void hand_word(Core& core, uint64_t address, bool update);
    void hand_word(Core& core, uint64_t address, bool update, const GlobalFlags::Writer& writer,
        std::shared_ptr<const Handover> handover);
    void take_word(Core& core, uint64_t address);
    // A signal to a word of a rank: carries what the scalar unit of the core has waited for, and of its stores to that
    // rank those before an aclshmem_fence, which is the `fenced`-th wait (0: there was none). A SET is a scalar store that
    // is written back: by its line.
    WordSignal signal(Instruction& instruction, bool set, uint32_t rank, uint32_t fenced);
    // What other ranks know by a signal or a barrier.
    void know_of_ranks(Core& core, const ForeignPointer& knowledge);
    // The same of what holds all that the core knows: what a barrier brought together.
    void know_all(Core& core, const ForeignPointer& knowledge);
    // The core ends a wait, and has taken over what came with it: `judged`, if that is a sum.
    void end_wait(const Core& core, JudgedWait* judged);
    // The wait that the core is about to end.
    GlobalFlags::Writer waiting(const Core& core) const;
    // Whether the scalar unit of the core is ordered after a store or a signal.
    bool scalar_behind(const Core& core, const GlobalFlags::Writer& writer) const;
    // Whether it has learned anything of a rank in this launch, or is of that rank.
    bool scalar_knows_rank(const Core& core, uint32_t rank) const;
    // Stores to other ranks: those so far are complete for whoever knows this wait of the core.
    void remote_complete(const Core& core) { issued_[remote_of(core_index(core))] = next_wait(core); }
    // The same of what it has given to the engine.
    void engine_complete(const Core& core) { ++issued_[engine_of(core_index(core))]; }
    // They come before later ones to the same rank: for whoever knows the number that is returned, which no barrier of
    // pipes and no meeting tells.
    uint32_t fence_remote(const Core& core) { return fences_[core_index(core)] = next_wait(core); }
    // All that the core has done and waited for.
    std::shared_ptr<const Handover> all_done(Core& core);

    // What is complete when a cross-core set of `pipe` takes effect, and leaves the core with it.
    VectorClock handed_on(Core& core, Pipe pipe);
    // A counter of `target` rises by one once everything in `clock` is complete.
    void raise_counter(const Core& target, int id, const VectorClock& clock);
    void lower_counter(Core& core, int id);
    // Grid-wide flags (mode 0): the block's share of a round, and the end of a wait for it.
    void join_round(const Core& core, int slot, uint32_t round, const VectorClock& clock);
    void leave_round(Core& core, int slot, uint32_t round, const Handover& others);
    // The next instructions of the core start after `clock`.
    void start_after(Core& core, const VectorClock& clock);

    const AccessLog& log() const { return log_; }
    const GlobalAccesses& global() const { return global_; }
    std::vector<uint8_t>& stored_bytes() { return global_.stored(); }
    std::deque<ByteSet>& scattered_bytes() { return global_.scattered(); }
    const std::vector<VectorClock>& rounds_known() const { return rounds_known_; }
    // What was complete in this block before its share of each round, by slot.
    const std::vector<VectorClock>& released(int slot) const { return released_[slot]; }
    // What a core has taken over from other blocks, by the count in clocks (handovers_of).
    const TakenOver& taken(int core) const { return taken_[core]; }

private:
    // What is complete when `pipe` sets a flag.
    VectorClock completed(Core& core, Pipe pipe);
    // The present instruction: counts it, and tells what it may rely on.
    Present begin_instruction(const Instruction& instruction);
    void touch_global(const Instruction& instruction, const Operand& operand, uint32_t index, Present& now,
        uint32_t interval, uint32_t rounds);
    void fetch_line(const Instruction& instruction, const Operand& operand, const GlobalBuffer& buffer, uint32_t index,
        Present& now);
    uint32_t rounds_index(const Present& now);
    void settle_poll(const Core& core, uint64_t address, const FlagPoll& poll);
    void settle_polls_before(Core& core, const Region& region, const Present& now);
    bool behind(const Present& now, const GlobalFlags::Writer& writer) const;
    GlobalFlags::Writer writer_of(uint32_t block, int agent, uint32_t number) const;
    void store_flag(const Core& core, uint64_t address, uint64_t bytes, const uint8_t* source);
    GlobalFlags::Continues continues(const Core& core, const Present& now, bool update) const;
    // The present instruction, which stores to `region`, as one that is ordered after the earlier stores to a flag there.
    Present after_seen_flags(const Core& core, const Region& region, Present now, bool update) const;
    void know(Core& core, const ForeignPointer& foreign, VectorClock clock);
    void know_taken(Core& core, const ForeignPointer& given, ForeignPointer all, VectorClock clock);
    // Where the next instruction of a pipe may start: all it may rely on.
    VectorClock present(const Core& core, Pipe pipe, bool in_order) const;
    // Returns the fault behind what is read, if it is tainted; marks what is written with `taint`.
    FaultPointer read_local(const Instruction& instruction, const Operand& operand, Present& now, uint32_t index);
    void write_local(const Instruction& instruction, const Operand& operand, Present& now, uint32_t index,
        const FaultPointer& taint);
    FaultPointer check_written(const Instruction& instruction, const Operand& operand, const Shadow& shadow);
    Conflict touch_local(const Instruction& instruction, const Operand& operand, Present& now, uint32_t index);
    // The bytes written twice that did not change by it mean what they say.
    void settle_rewrites(const Core& core);
    // Below strict level, told as a warning: it has no effect so far.
    FaultPointer without_effect(const Core& core, Fault fault);
    // An access to a GM buffer that nothing had written before the launch.
    void check_fresh(
        const Instruction& instruction, const Operand& operand, const GlobalBuffer& buffer, bool reads) const;
    // Told once: from then on the two count as ordered.
    void tell_race(const Instruction& instruction, const Operand& operand, AccessKind kind, const Conflict& conflict,
        Present& now);
    Shadow& shadow_of(const Core& core, Memory memory);
    void next_interval();
    // The wait after which what the core stores to other ranks now is complete.
    uint32_t next_wait(const Core& core) const
    {
        return std::max(issued_[remote_of(core_index(core))], fences_[core_index(core)]) + 1;
    }
    // Forgets the accesses that nothing remembers, and tells those of a scalar unit apart only as far as anybody's
    // clock does.
    void compact_log();
    void clock_read(const Core& core);

    // Numbers of the blocks of the rank of a block.
    uint32_t first_of_rank(uint32_t block) const { return block / blocks_ * blocks_; }
    bool of_own_rank(uint32_t block) const { return first_of_rank(block) == first_of_rank(block_); }

    bool strict_ = false;
    uint32_t block_ = 0;
    uint32_t blocks_ = 1;  // of a rank
    bool several_ranks_ = false;
    VectorClock known_[agent_count];
    uint32_t issued_[agent_count] = {};
    uint32_t fences_[cores_per_block] = {};  // the latest aclshmem_fence of each core, among its waits
    bool counted_[cores_per_block] = {};  // whether anybody asked for the count of the scalar unit since its latest
    // Of each data cache: how often it was written back at the latest compaction, and when somebody asked since then.
    uint32_t settled_[cores_per_block] = {};
    std::vector<uint32_t> asked_[cores_per_block];
    std::map<int, VectorClock> flags_;
    std::deque<VectorClock> counters_[cores_per_block][cross_flags];
    std::vector<VectorClock> released_[grid_slots];
    uint32_t joined_[cores_per_block][grid_slots] = {};  // grid-wide rounds, by each core
    std::vector<VectorClock> rounds_known_;
    VectorClock units_[cores_per_block][2];  // what unit flags of L0C order: products, results
    uint32_t interval_ = 0;
    AccessLog log_;
    size_t compact_at_ = 0;
    GlobalAccesses global_;
    StoredBytes stored_[cores_per_block];
    std::vector<Doubt> doubts_;
    FlagPolls polls_;
    std::unique_ptr<SyncNeeds> needs_;
    // By word, the number of the latest store whose value each core has seen by polling.
    std::unordered_map<uint64_t, uint64_t> seen_[cores_per_block];
    TakenOver taken_[cores_per_block];
    std::vector<uint64_t> hidden_[cores_per_block];  // words stored to the data cache of each core, as flags may be
    Present latest_;        // instruction
    bool small_ = false;    // it stores few enough bytes to GM to set flags
    uint8_t stores_as_ = 0;  // the agent of its store
    uint32_t stores_at_ = 0;
    std::unique_ptr<Shadow> shadows_[cores_per_block][memory_count];
    Taints taints_[cores_per_block][memory_count];
    // Bytes of local memories that the latest instruction writes in no order with another, as that left them.
    struct Rewrite {
        int core;
        Memory memory;
        uint64_t begin;
        std::vector<uint8_t> before;
    };
    std::vector<Rewrite> rewrites_;
    std::vector<bool> columns_;  // of a product, by 16: those whose bias nobody wrote, if it is only that
};

}  // namespace tile_simulator
