#include "flag_polls.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {

// True if the present instruction is ordered after the store: by what its clock says, or by a grid-wide round.
bool OrderChecks::behind(const Present& now, const GlobalFlags::Writer& writer) const
{
    if (writer.block == block_) {
        return now.clock.at[writer.agent] >= writer.number;
    }
    const bool own_rank = of_own_rank(writer.block);
    for (int slot = 0; own_rank && slot < grid_slots; ++slot) {
        if (now.clock.at[agent_count + slot] > writer.joined[slot]) {
            return true;
        }
    }
    const uint32_t first = first_of_rank(writer.block);
    for (int core = 0; core < cores_per_block; ++core) {
        const ForeignPointer& known = taken_as(taken_[core], now.clock.at[handovers_of(core)]);
        if (known != nullptr && (knows_instruction(*known, writer.block, writer.agent, writer.number) ||
                                    (!own_rank && knows_later_round(*known, first, first + blocks_, writer.joined)))) {
            return true;
        }
    }
    return false;
}

GlobalFlags::Writer OrderChecks::writer_of(uint32_t block, int agent, uint32_t number) const
{
    GlobalFlags::Writer writer;
    writer.block = block;
    writer.agent = static_cast<uint8_t>(agent);
    writer.number = number;
    for (int slot = 0; slot < grid_slots; ++slot) {
        writer.joined[slot] = joined_[agent / agents_per_core][slot];
    }
    return writer;
}

void OrderChecks::poll(Instruction& instruction)
{
    Core& core = instruction.core;
    Operand& operand = instruction.operands[0];
    GlobalFlags& flags = core.block.launch().flags();
    const uint64_t begin = operand.region.start;
    const uint64_t end = begin + operand.region.run;
    Present now = begin_instruction(instruction);
    if (needs_ != nullptr) {
        needs_->give_up();
        now.needs = nullptr;
    }
    const auto [entry, first] = polls_.try_emplace({begin, core_index(core)});
    FlagPoll& poll = entry->second;
    const bool may_take = !first || poll.flag;
    for (uint64_t word = begin / GlobalFlags::word_bytes * GlobalFlags::word_bytes; word < end;
         word += GlobalFlags::word_bytes) {
        const uint64_t from = std::max(word, begin);
        uint8_t* const seen = core.polled + (from - begin);
        const uint64_t length = std::min(word + GlobalFlags::word_bytes, end) - from;
        GlobalFlags::Store store;
        GlobalFlags::Store again;
        bool stored = flags.find(word, store);
        // Other blocks may run on other threads: a flag is stored before its memory is.
        for (;;) {
            std::memcpy(seen, reinterpret_cast<const void*>(from), length);
            const bool still = flags.find(word, again);
            if (still == stored && GlobalFlags::same(store, again)) {
                break;
            }
            stored = still;
            store = again;
        }
        const bool own = store.writer.block == block_ && store.writer.agent / agents_per_core == core_index(core);
        if (!stored || own || behind(now, store.writer)) {
            continue;
        }
        if (store.handed.empty() || !may_take) {
            std::memcpy(seen, reinterpret_cast<const uint8_t*>(&store.before) + (from - word), length);
            continue;
        }
        for (const auto& handover : store.handed) {
            take_over(core, *handover);
        }
        poll.flag = true;
        // Of stores of one value it may have been the first.
        uint64_t& seen_store = seen_[core_index(core)][word];
        seen_store = std::max(seen_store, store.same_since);
        now.clock = present(core, Pipe::s, false);
    }
    operand.data = core.polled;
    poll.use = {instruction.use.api, core.site.file != nullptr ? core.site : instruction.use.at};
    poll.origin = operand.origin;
    poll.bytes = static_cast<uint32_t>(operand.region.run);
    poll.now = now;
    poll.interval = interval_;
    poll.rounds = rounds_index(now);
    if (polls_.size() > most_polls) {
        settle_polls(core);
    }
}

void OrderChecks::settle_polls(Core& core)
{
    for (auto entry = polls_.begin(); entry != polls_.end();) {
        if (entry->first.second != core_index(core)) {
            ++entry;
            continue;
        }
        if (!entry->second.flag) {
            settle_poll(core, entry->first.first, entry->second);
        }
        entry = polls_.erase(entry);
    }
}

// A load that was no look at a flag, as an access of the time when it happened.
void OrderChecks::settle_poll(const Core& core, uint64_t address, const FlagPoll& poll)
{
    Instruction instruction(core.block.core(core_index(core)), Pipe::s, poll.use);
    const GlobalOperand element = {address, DataType::other, poll.origin};
    instruction.global("the element", false, element, Region::bytes(address, poll.bytes));
    const Access access = {poll.use.api, poll.use.at.file, "the element", {}, poll.use.at.line, poll.now.number,
        poll.now.composed, poll.now.agent, AccessKind::read};
    Present then = poll.now;
    touch_global(instruction, instruction.operands[0], log_.add_once(access), then, poll.interval, poll.rounds);
}

// Before a write: loads that it is ordered after have happened before it.
void OrderChecks::settle_polls_before(Core& core, const Region& region, const Present& now)
{
    constexpr uint64_t largest_load = 8;
    const uint64_t begin = region.start < largest_load ? 0 : region.start - largest_load + 1;
    for (auto entry = polls_.lower_bound({begin, 0}); entry != polls_.end() && entry->first.first < region.end();) {
        const auto& [key, poll] = *entry;
        if (poll.flag || now.clock.at[poll.now.agent] < poll.now.number) {
            ++entry;
            continue;
        }
        settle_poll(core.block.core(key.second), key.first, poll);
        entry = polls_.erase(entry);
    }
}

void OrderChecks::cache_written_back(Core& core, uint64_t begin, uint64_t end, bool all)
{
    if (all) {
        ++issued_[cache_of(core)];
    }
    std::vector<uint64_t>& hidden = hidden_[core_index(core)];
    const auto inside = [&](uint64_t word) { return word >= begin && word < end; };
    std::vector<uint64_t> shown;
    std::copy_if(hidden.begin(), hidden.end(), std::back_inserter(shown), inside);
    if (shown.empty()) {
        return;
    }
    hidden.erase(std::remove_if(hidden.begin(), hidden.end(), inside), hidden.end());
    const GlobalFlags::Writer writer = writer_of(block_, cache_of(core), issued_[cache_of(core)]);
    core.block.launch().flags().publish(shown, writer, hand_over(core, completed(core, Pipe::s)));
}

// Of the latest instruction; memory still holds what was there before. An update has no source.
void OrderChecks::store_flag(const Core& core, uint64_t address, uint64_t bytes, const uint8_t* source)
{
    const bool update = source == nullptr;
    Launch& launch = core.block.launch();
    if (!small_ || !launch.has_other_cores()) {
        return;
    }
    const GlobalFlags::Writer writer = writer_of(block_, stores_as_, stores_at_);
    std::shared_ptr<const Handover> handover;
    if (!is_cache(stores_as_)) {
        VectorClock clock = latest_.clock;
        clock_read(core);
        clock.at[cache_of(core)] = issued_[cache_of(core)];
        clock.at[bypass_of(core)] = issued_[bypass_of(core)];
        handover = hand_over(core, clock);
    } else {
        for (uint64_t word = address / GlobalFlags::word_bytes * GlobalFlags::word_bytes; word < address + bytes;
             word += GlobalFlags::word_bytes) {
            if (hidden_[core_index(core)].size() < most_hidden) {
                hidden_[core_index(core)].push_back(word);
            }
        }
    }
    launch.flags().store(
        address, bytes, source, writer, std::move(handover), update, continues(core, latest_, update));
}

GlobalFlags::Continues OrderChecks::continues(const Core& core, const Present& now, bool update) const
{
    const auto& all_seen = seen_[core_index(core)];
    return [this, &all_seen, &now, update](uint64_t word, const GlobalFlags::Store& store) {
        const auto found = all_seen.find(word);
        const uint64_t seen = found != all_seen.end() ? found->second : 0;
        const auto is_behind = [&](const GlobalFlags::Writer& writer) { return behind(now, writer); };
        return GlobalFlags::continues(store, update, seen, is_behind);
    };
}

// A core that has seen a value knows that its store is complete, and the stores before it in the chain. A clock can not
// hold this: its entry would also cover other stores of that core which no barrier separates from this one.
Present OrderChecks::after_seen_flags(const Core& core, const Region& region, Present now, bool update) const
{
    Launch& launch = core.block.launch();
    if (!small_ || !launch.has_other_cores() || seen_[core_index(core)].empty()) {
        return now;
    }
    VectorClock clock = now.clock;
    region.for_runs([&](uint64_t begin, uint64_t end) {
        for (uint64_t word = begin / GlobalFlags::word_bytes * GlobalFlags::word_bytes; word < end;
             word += GlobalFlags::word_bytes) {
            launch.flags().for_chain(word, continues(core, now, update), [&](const GlobalFlags::Writer& writer) {
                if (writer.block == block_) {
                    clock.at[writer.agent] = std::max(clock.at[writer.agent], writer.number);
                }
            });
        }
    });
    now.clock = clock;
    return now;
}

std::shared_ptr<const Handover> OrderChecks::hand_over(const Core& core, const VectorClock& clock) const
{
    auto handover = std::make_shared<Handover>();
    handover->block = core.block.index();
    handover->clock = clock;
    for (int i = 0; i < cores_per_block; ++i) {
        handover->foreign = joined(handover->foreign, taken_as(taken_[i], clock.at[handovers_of(i)]));
    }
    if (several_ranks_) {
        // Who has left a grid-wide round knows that all of its rank came to it: kept where others of the rank keep it.
        auto rounds = std::make_shared<Foreign>();
        (*rounds)[first_of_rank(block_)] = rounds_of(clock);
        handover->foreign = joined(handover->foreign, rounds);
    }
    return handover;
}

void OrderChecks::take_over(Core& core, const Handover& handover)
{
    if (needs_ != nullptr) {
        needs_->give_up();
    }
    if (handover.block == block_) {
        start_after(core, handover.clock);
        return;
    }
    know(core, all_of(handover), of_own_rank(handover.block) ? rounds_of(handover.clock) : VectorClock{});
}

// The core knows from now on what others know of all blocks, and `clock`.
void OrderChecks::know(Core& core, const ForeignPointer& foreign, VectorClock clock)
{
    if (foreign != nullptr) {
        return know_taken(core, foreign, joined(taken_[core_index(core)].back(), foreign), clock);
    }
    start_after(core, clock);
    next_interval();
}

// It was given something, and has all of that and what it knew before.
void OrderChecks::know_taken(Core& core, const ForeignPointer& given, ForeignPointer all, VectorClock clock)
{
    std::vector<ForeignPointer>& taken = taken_[core_index(core)];
    taken.push_back(std::move(all));
    if (several_ranks_) {
        given_[core_index(core)].push_back(given);
    }
    clock.at[handovers_of(core_index(core))] = static_cast<uint32_t>(taken.size() - 1);
    const uint32_t first = first_of_rank(block_);
    for (auto entry = given->lower_bound(first);
         several_ranks_ && entry != given->end() && entry->first < first + blocks_; ++entry) {
        clock.join(rounds_of(entry->second));
    }
    const auto own = given->find(block_);
    if (own != given->end()) {
        clock.join(own->second);
    }
    start_after(core, clock);
    next_interval();
}

}  // namespace tile_simulator
