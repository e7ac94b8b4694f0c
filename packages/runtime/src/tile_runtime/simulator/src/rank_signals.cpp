// Signals between ranks: a word of symmetric memory is set or added to, and its own rank waits for a value (vendor:
// shmem, src/device/gm2gm/shmem_device_so.hpp and shmem_device_p2p_sync.hpp).
//
// A SET is a scalar store whose line is written back, an ADD an atomic store of MTE3 between two barriers of all pipes.
#include "shmem/signal.h"

#include <algorithm>
#include <cstring>

#include "ascend_c/cross_core.h"
#include "ascend_c/sync.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "rank_messages.h"
#include "rank_waits.h"
#include "shmem/order.h"
#include "shmem/ranks.h"
#include "time_log.h"

namespace tile_simulator {
namespace {

Instruction word_instruction(Core& core, uint64_t address, uint64_t bytes, bool write, Use use)
{
    Instruction instruction(core, Pipe::s, use);
    const GlobalOperand word = {address, DataType::i32, address};
    instruction.global("sig_addr", write, word, Region::bytes(address, bytes));
    return instruction;
}

void require_word(Core& core, uint64_t address, uint64_t bytes, Use use)
{
    const Instruction instruction = word_instruction(core, address, bytes, true, use);
    require_global(core, instruction.operands[0], use);
    if (address % bytes != 0) {
        raise("misaligned", use,
            text_of("%s: the word must be aligned to %llu bytes", use.api, static_cast<unsigned long long>(bytes)));
    }
}

// A signal to a rank says nothing of stores to it that the core has not waited for.
void require_quiet(Core& core, int pe, Use use)
{
    const RemoteStores::Open* stored = core.remote.open_to(uint32_t(pe));
    const Use* const copied = core.engine.open_to(uint32_t(pe));
    const Use* const open = copied != nullptr                          ? copied
                            : stored != nullptr && stored->fenced == 0 ? &stored->use
                                                                       : nullptr;
    if (open == nullptr || !core.device_checks) {
        return;
    }
    Fault fault = fault_of("unquiet-signal", use,
        text_of("%s to rank %d while what this core has stored there (%s at %s:%u) may not have arrived: a signal carries "
                "only what its core has waited for",
            use.api, pe, open->api, open->at.file, open->at.line));
    fault.hint = copied != nullptr ? "call aclshmemx_sdma_quiet between the transfer and the signal"
                                   : "call aclshmem_quiet() between the store and the signal";
    fault.core = core.name();
    fault.other = open->at;
    core.block.launch().place(fault, core.block.index());
    core.block.launch().signals().found(std::move(fault));
}

// The word of UB in which the value of an ADD goes.
void write_scratch(Core& core, int32_t value, Use use)
{
    if (!core.is_vector()) {
        raise("bad-argument", use, text_of("%s: ACLSHMEM_SIGNAL_ADD needs UB, which an AIC does not have", use.api));
    }
    const LocalOperand word = {
        core.rank_scratch.offset, static_cast<uint8_t>(AscendC::TPosition::VECIN), DataType::i32, Buffer{}};
    local_store(word, 0, sizeof(value), &value, use);
}

int64_t load_value(uint64_t address, DataType type)
{
    uint8_t bytes[8] = {};
    const uint32_t size = size_of(type);
    if (size == 4) {
        const uint32_t word = __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
        std::memcpy(bytes, &word, size);
    } else {
        std::memcpy(bytes, reinterpret_cast<const void*>(address), size);
    }
    int64_t raw = 0;
    std::memcpy(&raw, bytes, sizeof(raw));
    switch (type) {
        case DataType::i8:
            return static_cast<int8_t>(raw);
        case DataType::i16:
            return static_cast<int16_t>(raw);
        case DataType::i32:
            return static_cast<int32_t>(raw);
        default:
            return raw;
    }
}

// As it is now in the process whose word it is.
int64_t value_of(const Core& core, uint64_t address, DataType type)
{
    if (RankMessages* const messages = messages_of(core)) {
        messages->get(address, size_of(type));
    }
    return load_value(address, type);
}

template <class T>
bool compare(Compare how, T seen, T wanted)
{
    switch (how) {
        case Compare::eq:
            return seen == wanted;
        case Compare::ne:
            return seen != wanted;
        case Compare::gt:
            return seen > wanted;
        case Compare::ge:
            return seen >= wanted;
        case Compare::lt:
            return seen < wanted;
        default:
            return seen <= wanted;
    }
}

SignalCondition condition_of(DataType type, int how, int64_t value, Use use)
{
    if (how < 0 || how > int(Compare::le)) {
        raise("bad-argument", use, text_of("%s: cmp is %d, but must be one of ACLSHMEM_CMP_EQ..LE", use.api, how));
    }
    return {type, Compare(how), value};
}

}  // namespace

bool SignalCondition::holds(int64_t seen) const
{
    if (type == DataType::f32) {
        float one;
        float other;
        std::memcpy(&one, &seen, sizeof(one));
        std::memcpy(&other, &value, sizeof(other));
        return tile_simulator::compare(compare, one, other);
    }
    return type == DataType::u64 ? tile_simulator::compare(compare, uint64_t(seen), uint64_t(value))
                                 : tile_simulator::compare(compare, seen, value);
}

const char* SignalCondition::sign() const
{
    static const char* const signs[] = {"==", "!=", ">", ">=", "<", "<="};
    return signs[int(compare)];
}

// The time model replays what is done to words.
void Launch::note_word(const Core& core, WordAct act, bool wait, Use use)
{
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        act.before = words_before_.try_emplace(act.word, load_value(act.word, act.condition.type)).first->second;
    }
    wait ? core.time_log->word_wait(core, act, use) : core.time_log->signal(core, act, use);
}

WordSignal OrderChecks::signal(Instruction& instruction, bool set, uint32_t rank, uint32_t fenced)
{
    Core& core = instruction.core;
    const int scalar = agent_of(core, Pipe::s);
    ++issued_[scalar];
    counted_[core_index(core)] = true;
    clock_read(core);
    issued_[cache_of(core)] += set ? 1 : 0;
    VectorClock clock = known_[scalar];
    clock.at[scalar] = issued_[scalar];
    clock.at[cache_of(core)] = issued_[cache_of(core)];
    clock.at[bypass_of(core)] = issued_[bypass_of(core)];
    ForeignPointer of_rank;
    if (fenced != 0) {
        VectorClock stores;
        stores.at[remote_of(core_index(core))] = fenced;
        of_rank = known_of(fenced_block(block_, rank, blocks_ * core.block.launch().ranks()), stores);
    }
    WordSignal signal{writer_of(block_, scalar, issued_[scalar]), hand_over(core, clock, of_rank)};
    Present now;
    now.agent = static_cast<uint8_t>(scalar);
    now.clock = present(core, Pipe::s, true);
    now.number = issued_[scalar];
    const Where at = core.site.file != nullptr ? core.site : instruction.use.at;
    Access access = {instruction.use.api, at.file, "sig_addr", {}, at.line, now.number, 0, now.agent,
        AccessKind::signal};
    if (set) {
        access.agent = static_cast<uint8_t>(cache_of(core));
        access.number = issued_[cache_of(core)];
    }
    touch_global(instruction, instruction.operands[0], log_.add_once(access), now, interval_, rounds_index(now));
    return signal;
}

void OrderChecks::end_wait(const Core& core, JudgedWait* judged)
{
    const int scalar = agent_of(core, Pipe::s);
    ++issued_[scalar];
    counted_[core_index(core)] = true;
    if (judged != nullptr) {
        judged->block = block_;
        judged->core = core_index(core);
        judged->taken = taken_[judged->core].latest();
        judged->number = issued_[scalar];
    }
}

GlobalFlags::Writer OrderChecks::waiting(const Core& core) const
{
    const int scalar = agent_of(core, Pipe::s);
    return writer_of(block_, scalar, issued_[scalar] + 1);
}

bool OrderChecks::scalar_behind(const Core& core, const GlobalFlags::Writer& writer) const
{
    Present now;
    now.clock = known_[agent_of(core, Pipe::s)];
    const int scalar = agent_of(core, Pipe::s);
    now.clock.at[scalar] = issued_[scalar];
    return behind(now, writer);
}

bool OrderChecks::scalar_knows_rank(const Core& core, uint32_t rank) const
{
    if (rank == core.block.rank()) {
        return true;
    }
    const VectorClock& clock = known_[agent_of(core, Pipe::s)];
    for (int each = 0; each < cores_per_block; ++each) {
        const ForeignPointer& known = taken_[each].known(clock.at[handovers_of(each)]);
        if (known != nullptr && known->knows_any(rank * blocks_, (rank + 1) * blocks_)) {
            return true;
        }
    }
    return false;
}

void rank_signal(uint64_t word, int32_t value, int operation, int pe, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    constexpr int set = 0;
    constexpr int add = 1;
    if (operation != set && operation != add) {
        raise("bad-argument", use,
            text_of("%s: sig_op is %d, but must be ACLSHMEM_SIGNAL_SET or ACLSHMEM_SIGNAL_ADD", use.api, operation));
    }
    const uint64_t address = remote_address(word, pe, use);
    require_word(core, address, sizeof(int32_t), use);
    require_quiet(core, pe, use);
    if (operation == add) {
        pipe_barrier(PIPE_ALL, use);
        write_scratch(core, value, use);
    } else {
        clean_data_cache(address, false, use);
    }
    Launch& launch = core.block.launch();
    const RemoteStores::Open* open = core.remote.open_to(uint32_t(pe));
    if (open != nullptr && open->fenced != 0) {
        core.remote.deliver();  // what stands before a fence arrives before the signal
    }
    SignalWords::Signal signal;
    signal.add = operation == add;
    signal.value = value;
    signal.rank = core.block.rank();
    signal.block = core.block.index();
    signal.core = core_index(core);
    signal.use = {use.api, core.site.file != nullptr ? core.site : use.at};
    OrderChecks* const order = core.block.order();
    if (order != nullptr) {
        Instruction instruction = word_instruction(core, address, sizeof(int32_t), true, use);
        signal.by = order->signal(instruction, operation == set, uint32_t(pe), open != nullptr ? open->fenced : 0);
        if (launch.options().processes != nullptr) {
            launch.hand_to_processes(*signal.by.handover);
        }
    }
    if (launch.options().processes != nullptr) {
        RankMessages* const messages = messages_of(core);
        messages != nullptr ? messages->signal(address, signal.add, value)
                            : signal_process(address, signal.add, value);
    }
    if (core.time_log != nullptr) {
        launch.note_word(core, {address, 0, {}, value, signal.add, uint32_t(pe)}, false, use);
    }
    if (launch.options().processes == nullptr) {
        launch.signals().apply(
            address, signal, launch,
            [&](const GlobalFlags::Writer& writer) { return order->scalar_behind(core, writer); },
            [&](uint32_t rank) { return order->scalar_knows_rank(core, rank); },
            [&] { order->hand_word(core, address, signal.add, signal.by.writer, signal.by.handover); });
    }
    core.stored_to_gm = true;
    if (operation == add) {
        pipe_barrier(PIPE_ALL, use);
    }
    tell_stores(core);
}

int64_t rank_wait(uint64_t word, DataType type, int how, int64_t value, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    require_word(core, word, size_of(type), use);
    require_rank_resident(core, use);
    clean_data_cache(word, false, use);
    Awaited& awaited = core.awaited;
    awaited.begin();
    awaited.address = word;
    awaited.condition = condition_of(type, how, value, use);
    awaited.use = {use.api, core.site.file != nullptr ? core.site : use.at};
    if (core.time_log != nullptr) {
        core.block.launch().note_word(core, {word, 0, awaited.condition, 0, false, core.block.rank()}, true, use);
    }
    awaited.waiting = true;
    tell_stores(core);
    while (!awaited.ready.load(std::memory_order_acquire)) {
        core.coroutine.suspend();
        if (core.stopped()) {
            awaited.waiting = false;
            throw Stopped{};
        }
    }
    awaited.waiting = false;
    if (OrderChecks* order = core.block.order(); order != nullptr) {
        if (awaited.knowledge != nullptr) {
            order->know_of_ranks(core, awaited.knowledge);
        }
        order->end_wait(core, awaited.judged.get());
        if (awaited.judged != nullptr) {
            core.block.launch().signals().judged(awaited.judged);
        }
    }
    awaited.knowledge = nullptr;
    awaited.judged = nullptr;
    return awaited.seen;
}

bool rank_test(uint64_t word, DataType type, int how, int64_t value, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    require_word(core, word, size_of(type), use);
    clean_data_cache(word, false, use);
    const SignalCondition condition = condition_of(type, how, value, use);
    const int64_t seen = value_of(core, word, type);
    if (!condition.holds(seen)) {
        rest_between_polls(core, word, uint64_t(seen), use);
        return false;
    }
    if (core.time_log != nullptr) {
        core.block.launch().note_word(core, {word, 0, condition, 0, false, core.block.rank()}, true, use);
    }
    if (OrderChecks* order = core.block.order()) {
        order->know_of_ranks(core, core.block.launch().knowledge_of(core, word, condition));
    }
    return true;
}

bool Launch::judge_signals()
{
    bool any = false;
    for (Block* block : all_live_) {
        for (int i = 0; i < Block::core_count; ++i) {
            Core& core = block->core(i);
            Awaited& awaited = core.awaited;
            if (core.coroutine.finished() || !awaited.waiting || awaited.address == 0 || awaited.ready.load()) {
                continue;
            }
            awaited.seen = value_of(core, awaited.address, awaited.condition.type);
            if (!awaited.condition.holds(awaited.seen)) {
                continue;
            }
            if (block->order() != nullptr) {
                awaited.knowledge = knowledge_of(core, awaited.address, awaited.condition, &awaited.judged);
                signals_.ended({awaited.address, awaited.condition, block->index(), i, awaited.use,
                    block->order()->waiting(core)});
            }
            awaited.ready.store(true, std::memory_order_release);
            any = true;
        }
    }
    if (any) {
        version_.fetch_add(1, std::memory_order_release);
        idle_ = 0;
    }
    return any;
}

ForeignPointer Launch::knowledge_of(const Core& core, uint64_t address, const SignalCondition& condition,
    std::shared_ptr<JudgedWait>* judged) const
{
    if (options_.processes != nullptr) {
        return handed_to_processes();
    }
    const OrderChecks& order = *core.block.order();
    const auto knows = [&](const GlobalFlags::Writer& writer) { return order.scalar_behind(core, writer); };
    ForeignPointer known = signals_.knowledge(address, condition, knows, judged);
    // Another store than a signal may have left the value.
    GlobalFlags::Store store;
    if (flags_.find(address, store) && !signals_.latest_is_by(address, store.writer)) {
        if (judged != nullptr) {
            *judged = nullptr;
        }
        for (const auto& handover : store.handed) {
            known = joined(known, all_of(*handover));
        }
    }
    return known;
}

}  // namespace tile_simulator
