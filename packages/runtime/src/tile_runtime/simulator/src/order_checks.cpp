#include "order_checks.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "launch.h"
#include "race_report.h"

namespace tile_simulator {
namespace {

// Accesses a block may have logged before it looks which of them still matter.
constexpr size_t smallest_log = size_t(1) << 17;

}  // namespace

void OrderChecks::begin(const Launch& launch, uint32_t block, bool timed)
{
    needs_ = timed ? std::make_unique<SyncNeeds>(issued_) : nullptr;
    strict_ = launch.options().checks >= TILE_CHECKS_STRICT;
    block_ = block;
    blocks_ = launch.blocks();
    several_ranks_ = launch.ranks() > 1;
    for (int agent = 0; agent < agent_count; ++agent) {
        known_[agent] = VectorClock{};
        issued_[agent] = 0;
    }
    std::fill(std::begin(fences_), std::end(fences_), 0);
    std::fill(std::begin(counted_), std::end(counted_), true);
    std::fill(std::begin(settled_), std::end(settled_), 0);
    for (auto& asked : asked_) {
        asked.clear();
    }
    for (auto& units : units_) {
        units[0] = units[1] = VectorClock{};
    }
    flags_.clear();
    for (auto& core : counters_) {
        for (auto& counter : core) {
            counter.clear();
        }
    }
    for (auto& slot : released_) {
        slot.clear();
    }
    for (auto& core : joined_) {
        std::fill(std::begin(core), std::end(core), 0);
    }
    rounds_known_.assign(1, VectorClock{});
    interval_ = 0;
    log_.clear();
    compact_at_ = smallest_log;
    global_.clear();
    for (StoredBytes& stored : stored_) {
        stored.clear();
    }
    doubts_.clear();
    polls_.clear();
    for (auto& seen : seen_) {
        seen.clear();
    }
    rewrites_.clear();
    small_ = false;
    for (TakenOver& taken : taken_) {
        taken.clear();
    }
    for (auto& hidden : hidden_) {
        hidden.clear();
    }
    for (auto& core : shadows_) {
        for (auto& shadow : core) {
            if (shadow != nullptr) {
                shadow->reset();
            }
        }
    }
    for (auto& core : taints_) {
        for (Taints& taints : core) {
            taints.reset();
        }
    }
}

Shadow& OrderChecks::shadow_of(const Core& core, Memory memory)
{
    std::unique_ptr<Shadow>& shadow = shadows_[core_index(core)][int(memory)];
    if (shadow == nullptr) {
        shadow = std::make_unique<Shadow>();
        shadow->extend(memory_bytes[int(memory)]);
    }
    return *shadow;
}

VectorClock OrderChecks::present(const Core& core, Pipe pipe, bool in_order) const
{
    const int agent = agent_of(core, pipe);
    const int scalar = agent_of(core, Pipe::s);
    VectorClock clock = known_[agent];
    clock.join(known_[scalar]);  // dispatched after whatever the scalar unit has waited for
    if (in_order || pipe == Pipe::s) {
        clock.at[agent] = issued_[agent];
    }
    const int cache = cache_of(core);
    if (pipe == Pipe::s) {
        clock.at[cache] = issued_[cache] + 1;  // the scalar unit sees what it has stored
        clock.at[bypass_of(core)] = issued_[bypass_of(core)] + 1;
    }
    // As compiled by default on an AIV: barriers between dependent vector instructions, flags between the scalar unit
    // and V, MTE2, MTE3 (docs/hardware/index.md#order-within-a-pipe).
    if (!strict_ && core.is_vector()) {
        clock.at[scalar] = issued_[scalar];
        if (pipe != Pipe::s) {
            clock.at[cache] = issued_[cache];
            clock.at[bypass_of(core)] = issued_[bypass_of(core)];
        }
        if (pipe == Pipe::v) {
            clock.at[agent] = issued_[agent];
        }
        if (pipe == Pipe::s) {
            for (const Pipe other : {Pipe::v, Pipe::mte2, Pipe::mte3}) {
                const int from = agent_of(core, other);
                clock.at[from] = issued_[from];
            }
        }
    }
    return clock;
}

Present OrderChecks::begin_instruction(const Instruction& instruction)
{
    Core& core = instruction.core;
    if (log_.size() >= compact_at_) {
        compact_log();
    }
    Present now;
    now.agent = static_cast<uint8_t>(agent_of(core, instruction.pipe));
    now.clock = present(core, instruction.pipe, instruction.in_order);
    for (int pipe = 0; instruction.observes && pipe < pipe_count; ++pipe) {
        now.clock.join(completed(core, Pipe(pipe)));
    }
    // The scalar unit is in order by itself: what it does between two looks at its count need not be told apart.
    bool& counted = counted_[core_index(core)];
    if (instruction.pipe != Pipe::s || counted) {
        ++issued_[now.agent];
        counted = counted && instruction.pipe != Pipe::s;
    }
    now.number = issued_[now.agent];
    if (instruction.by_engine) {
        const int engine = engine_of(core_index(core));
        now.clock.at[engine] = issued_[engine] + 1;  // a queue is in order
    }
    now.composed = core.composed_call;
    if (instruction.unit_flag != 0) {
        // Mmad waits for the results before it to leave L0C, Fixpipe for the products
        // (docs/hardware/units.md#unit-flag).
        const int self = instruction.pipe == Pipe::m ? 0 : 1;
        VectorClock (&units)[2] = units_[core_index(core)];
        now.clock.join(units[1 - self]);
        units[self].join(now.clock);
        units[self].at[now.agent] = now.number;
    }
    if (needs_ != nullptr) {
        needs_->instruction(instruction);
        now.needs = needs_.get();
    }
    return now;
}

// Index of the grid-wide rounds and the handovers that are known.
uint32_t OrderChecks::rounds_index(const Present& now)
{
    constexpr size_t bytes = sizeof(uint32_t) * (VectorClock::size - agent_count);
    if (std::memcmp(now.clock.at + agent_count, rounds_known_.back().at + agent_count, bytes) != 0) {
        rounds_known_.push_back(now.clock);
    }
    return static_cast<uint32_t>(rounds_known_.size() - 1);
}

void OrderChecks::touch_global(const Instruction& instruction, const Operand& operand, uint32_t index,
    Present& now, uint32_t interval, uint32_t rounds)
{
    const GlobalBuffer* buffer = instruction.core.block.launch().buffers().find(operand.region.start);
    for (;;) {
        const Conflict conflict = global_.touch(*buffer, operand.region, index, log_, now, interval, rounds, doubts_);
        if (conflict.access == 0) {
            return;
        }
        doubts_.clear();
        tell_race(instruction, operand, log_[index].kind, conflict, now);
    }
}

void OrderChecks::instruction(const Instruction& instruction)
{
    Core& core = instruction.core;
    Present now = begin_instruction(instruction);
    if (needs_ != nullptr && instruction.count == 0) {
        needs_->hand_on(core, instruction.pipe);  // it reads registers, which no shadow remembers
    }
    const Where at = core.site.file != nullptr ? core.site : instruction.use.at;
    FaultPointer taint;
    columns_.clear();
    bool hands_on = false;  // to a local memory
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        hands_on = hands_on || (operand.write && operand.memory != Memory::gm && instruction.pipe != Pipe::s);
    }
    // Reads come first: an instruction that updates in place reads what was there before.
    for (const bool writes : {false, true}) {
        for (int i = 0; i < instruction.count; ++i) {
            const Operand& operand = instruction.operands[i];
            if (operand.write != writes || operand.region.run == 0) {
                continue;
            }
            const bool dma_out = operand.memory == Memory::gm && core.atomic != AtomicKind::none &&
                                 (instruction.pipe == Pipe::mte3 || instruction.pipe == Pipe::fix);
            const AccessKind kind = !writes                          ? AccessKind::read
                                    : dma_out || instruction.updates ? AccessKind::atomic
                                                                     : AccessKind::write;
            Access access = {instruction.use.api, at.file, operand.name, operand.buffer, at.line, now.number,
                now.composed, now.agent, kind};
            if (instruction.pipe == Pipe::s && operand.memory == Memory::gm && writes && !instruction.by_engine) {
                // Complete once the data cache has been written back.
                access.agent = static_cast<uint8_t>(instruction.past_cache ? bypass_of(core) : cache_of(core));
                access.number = issued_[access.agent] + 1;
            }
            if (instruction.by_engine) {
                access.agent = static_cast<uint8_t>(engine_of(core_index(core)));
                access.number = issued_[access.agent] + 1;
            }
            const uint32_t index = instruction.pipe == Pipe::s ? log_.add_once(access) : log_.add(access);
            if (operand.memory != Memory::gm && writes) {
                write_local(instruction, operand, now, index, taint);
                continue;
            }
            if (operand.memory != Memory::gm) {
                const FaultPointer found = read_local(instruction, operand, now, index);
                if (found != nullptr && !hands_on) {
                    tell(core, *found);
                    continue;
                }
                taint = taint != nullptr ? taint : found;
                continue;
            }
            const GlobalBuffer& buffer = *core.block.launch().buffers().find(operand.region.start);
            if (buffer.written != nullptr) {
                check_fresh(instruction, operand, buffer, kind != AccessKind::write);
            }
            if (writes) {
                settle_polls_before(core, operand.region, now);
                const Region& region = operand.region;
                small_ = !instruction.by_engine &&
                         region.run * region.inner * region.outer <= GlobalFlags::largest_store;
                latest_ = now;
                stores_as_ = access.agent;
                stores_at_ = access.number;
            }
            Present after = writes ? after_seen_flags(core, operand.region, now, kind == AccessKind::atomic) : now;
            if (writes && several_ranks_ && core.remote.target() >= 0) {
                after.waits = next_wait(core);
            }
            touch_global(instruction, operand, index, after, interval_, rounds_index(now));
            if (writes && is_cache(access.agent) && !core.cache.dirty(buffer, operand.region.start)) {
                access.kind = AccessKind::line;
                fetch_line(instruction, operand, buffer, log_.add_once(access), now);
            }
        }
    }
}

// What the data cache brings back beside the bytes of a store: the rest of the line.
void OrderChecks::fetch_line(const Instruction& instruction, const Operand& operand, const GlobalBuffer& buffer,
    uint32_t index, Present& now)
{
    const uint64_t begin = operand.region.start;
    const uint64_t end = begin + operand.region.run;
    const uint64_t line = ScalarCache::line_of(buffer.begin, begin);
    const uint64_t behind = std::min(line + ScalarCache::line_bytes, buffer.end);
    for (const auto& [from, to] : {std::pair(line, begin), std::pair(end, behind)}) {
        while (from < to) {
            const Conflict conflict =
                global_.touch_line(buffer, Region::bytes(from, to - from), index, log_, now, doubts_);
            if (conflict.access == 0) {
                break;
            }
            doubts_.clear();
            tell_race(instruction, operand, AccessKind::line, conflict, now);
        }
    }
}

// A copy may take a tile of which a tail is filler: at device level it is wrong only if nothing of what it reads was
// ever written.
void OrderChecks::check_fresh(
    const Instruction& instruction, const Operand& operand, const GlobalBuffer& buffer, bool reads) const
{
    uint64_t total = 0;
    uint64_t unwritten = 0;
    uint64_t first = 0;
    operand.region.compact().for_runs([&](uint64_t begin, uint64_t end) {
        begin -= buffer.begin;
        end -= buffer.begin;
        if (reads) {
            const uint64_t found = buffer.written->unwritten(begin, end);
            for (first = unwritten == 0 ? begin : first; found != 0 && unwritten == 0; ++first) {
                if (buffer.written->unwritten(first, first + 1) != 0) {
                    break;
                }
            }
            total += end - begin;
            unwritten += found;
        }
        if (operand.write) {
            buffer.written->mark(begin, end);
        }
    });
    if (unwritten == 0 || (unwritten != total && !strict_)) {
        return;
    }
    Fault fault = fault_of("uninitialised-read", instruction.use,
        text_of("%s: %s %s %llu bytes of GM buffer %s that nothing has written, the first of them byte %llu",
            instruction.use.api, operand.name, operand.write ? "adds to" : "reads",
            static_cast<unsigned long long>(unwritten), buffer.shown().c_str(), static_cast<unsigned long long>(first)));
    fault.hint = "an output or a workspace holds anything when the kernel starts: write it first";
    instruction.core.block.launch().read_too_early(instruction.core, std::move(fault));
}

void OrderChecks::tell_race(const Instruction& instruction, const Operand& operand, AccessKind kind,
    const Conflict& conflict, Present& now)
{
    const Access& earlier = log_[conflict.access];
    tell(instruction.core, race_report(instruction, operand, kind, earlier, conflict));
    for (uint32_t* known : {&now.clock.at[earlier.agent], &known_[now.agent].at[earlier.agent]}) {
        *known = std::max(*known, earlier.number);
    }
}

void OrderChecks::compact_log()
{
    // A store is seen by a clock that holds its number: whatever clocks there are, and will be, stores that were written
    // back between two readings look alike.
    log_.renumber_accesses([this](const Access& access) {
        const int core = access.agent / agents_per_core;
        const uint32_t back = issued_[access.agent];
        if (!is_cache(access.agent) || access.number <= settled_[core] || access.number > back) {
            return access.number;
        }
        const auto next = std::lower_bound(asked_[core].begin(), asked_[core].end(), access.number);
        return next != asked_[core].end() ? *next : back;
    });
    for (int core = 0; core < cores_per_block; ++core) {
        settled_[core] = issued_[cache_of(core)];
        asked_[core].clear();
    }
    std::vector<uint32_t> numbers(log_.size(), 0);
    global_.keep(numbers);
    for (const auto& core : shadows_) {
        for (const auto& shadow : core) {
            if (shadow != nullptr) {
                shadow->keep(numbers);
            }
        }
    }
    log_.compact(numbers);
    global_.renumber(numbers);
    for (const auto& core : shadows_) {
        for (const auto& shadow : core) {
            if (shadow != nullptr) {
                shadow->renumber(numbers);
            }
        }
    }
    size_t visited = global_.shadow().cost();
    for (const auto& core : shadows_) {
        for (const auto& shadow : core) {
            visited += shadow != nullptr ? shadow->cost() : 0;
        }
    }
    compact_at_ = std::max(smallest_log, 2 * log_.size() + visited / 2);
}

void OrderChecks::next_interval()
{
    keep_stored();
    ++interval_;
}

}  // namespace tile_simulator
