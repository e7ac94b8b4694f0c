// Who waits for what, and why in vain, when no core of a launch over ranks can go on.
#include <algorithm>

#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {
namespace {

constexpr size_t most_told = 8;

std::string name_of(const Core& core)
{
    return core.block.launch().name_of_block(core.block.index()) + " " + core.name();
}

std::string place_of(const Use& use)
{
    return text_of("%s at %s:%u", use.api, use.at.file, use.at.line);
}

std::string word_of(const Launch& launch, uint64_t address)
{
    const std::string word = launch.symmetric_memory().word_name(address);
    if (!word.empty()) {
        return word;
    }
    const GlobalBuffer* buffer = launch.buffers().find(address);
    return buffer == nullptr ? std::string("GM")
                             : text_of("byte %llu of %s", static_cast<unsigned long long>(address - buffer->begin),
                                   buffer->shown().c_str());
}

// Value, and by whom it is.
std::string seen_text(Launch& launch, const Awaited& awaited)
{
    const SignalWords::Signal* latest = launch.signals().latest(awaited.address);
    const std::string by =
        latest == nullptr ? std::string(" (no rank has signalled it)")
                          : text_of(" (by %s: %s)", launch.name_of_core(latest->block, latest->core).c_str(),
                                place_of(latest->use).c_str());
    return std::to_string(awaited.seen) + by;
}

std::string waits_for(const Core& core)
{
    Launch& launch = core.block.launch();
    const Awaited& awaited = core.awaited;
    if (awaited.waiting && awaited.address == 0) {
        return text_of("waits at barrier %u (%s)", awaited.barrier + 1, place_of(awaited.use).c_str());
    }
    if (awaited.waiting) {
        return text_of("waits for %s %s %lld (%s), which is %s", word_of(launch, awaited.address).c_str(),
            awaited.condition.sign(), static_cast<long long>(awaited.condition.value), place_of(awaited.use).c_str(),
            seen_text(launch, awaited).c_str());
    }
    if (core.polling.waiting) {
        return text_of("waits for a change of %s (%s)", word_of(launch, core.polling.address).c_str(),
            place_of(core.polling.use).c_str());
    }
    return text_of("waits for cross-core flag %d (%s)", core.waiting_id, place_of(core.waiting_use).c_str());
}

bool waits(const Core& core)
{
    return !core.coroutine.finished() && (core.awaited.waiting || core.polling.waiting || core.waiting_id >= 0);
}

std::string list_of(const std::vector<uint32_t>& ranks)
{
    std::string text;
    for (const uint32_t rank : ranks) {
        text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

constexpr const char* hint_of_resets = "let the word count up over all rounds, or use two words by parity";

// A wait that may look after its value is gone.
Fault not_seen(const Launch& launch, const EndedWait& wait, const std::string& end)
{
    Fault fault;
    fault.text = text_of("%s waits for %s %s %lld (%s), which it was %s",
        launch.name_of_core(wait.block, wait.core).c_str(), word_of(launch, wait.address).c_str(),
        wait.condition.sign(), static_cast<long long>(wait.condition.value), place_of(wait.use).c_str(), end.c_str());
    fault.file = wait.use.at.file;
    fault.line = wait.use.at.line;
    fault.api = wait.use.api;
    fault.core = core_names[wait.core];
    launch.place(fault, wait.block);
    return fault;
}

}  // namespace

// The cores that wait, by rank, block and core.
std::vector<const Core*> Launch::waiting_cores(const std::vector<Block*>& blocks)
{
    std::vector<Block*> ordered = blocks;
    std::sort(ordered.begin(), ordered.end(), [](const Block* a, const Block* b) { return a->index() < b->index(); });
    std::vector<const Core*> all;
    for (Block* block : ordered) {
        for (int i = 0; i < Block::core_count; ++i) {
            if (waits(block->core(i))) {
                all.push_back(&block->core(i));
            }
        }
    }
    return all;
}

// Those of them that wait for a signal or for a barrier over ranks.
std::vector<const Core*> Launch::waiting_for_ranks(const std::vector<Block*>& blocks)
{
    std::vector<const Core*> all = waiting_cores(blocks);
    const auto within = [](const Core* core) { return !core->awaited.waiting; };
    all.erase(std::remove_if(all.begin(), all.end(), within), all.end());
    return all;
}

// The ranks of which no core goes on or waits.
std::vector<uint32_t> Launch::ended_ranks(const std::vector<const Core*>& waiting) const
{
    std::vector<uint32_t> ended;
    for (uint32_t rank = 0; rank < ranks(); ++rank) {
        const auto of_rank = [&](const Core* core) { return core->block.rank() == rank; };
        if (std::none_of(waiting.begin(), waiting.end(), of_rank)) {
            ended.push_back(rank);
        }
    }
    return ended;
}

// A line that signals on some ranks and that one which has ended did not come to.
std::string Launch::skipped_signal(const std::vector<uint32_t>& ended) const
{
    for (const SignalWords::Site& site : signals_.sites()) {
        std::vector<uint32_t> came;
        std::vector<uint32_t> skipped;
        for (uint32_t rank = 0; rank < site.ranks.size(); ++rank) {
            const bool over = std::find(ended.begin(), ended.end(), rank) != ended.end();
            if (site.ranks[rank]) {
                came.push_back(rank);
            } else if (over) {
                skipped.push_back(rank);
            }
        }
        // Most ranks come to a line that all should come to.
        if (!skipped.empty() && came.size() > skipped.size()) {
            return text_of("skipped: %s did not come to the signal at %s:%u, as %s did", list_of(skipped).c_str(),
                site.use.at.file, site.use.at.line, list_of(came).c_str());
        }
    }
    return "";
}

// Why no core goes on, and what to change. `kind` is the slug.
std::string Launch::verdict_of(const std::vector<const Core*>& waiting, std::string& kind, std::string& hint) const
{
    const std::vector<uint32_t> ended = ended_ranks(waiting);
    const auto at_barrier = [](const Core* core) { return core->awaited.waiting && core->awaited.address == 0; };
    const auto first = std::find_if(waiting.begin(), waiting.end(), at_barrier);
    const bool all_at_barriers = std::all_of(waiting.begin(), waiting.end(), at_barrier);
    if (first != waiting.end() && (all_at_barriers || !ended.empty())) {
        kind = "collective-mismatch";
        hint = "let all cores of all ranks come to every barrier equally often: outside of any branch on the rank";
        std::string rest;
        for (const uint32_t rank : ended) {
            rest += text_of(", rank %u ended after %u", rank, collectives_of_ended_[rank]);
        }
        for (const Core* core : waiting) {
            if (at_barrier(core) && core->awaited.barrier != (*first)->awaited.barrier) {
                rest += text_of(", rank %u at barrier %u", core->block.rank(), core->awaited.barrier + 1);
                break;
            }
        }
        if (rest.empty()) {
            rest = ", other cores of the launch did not come to it";
        }
        return text_of(
            "mismatch: rank %u at barrier %u%s", (*first)->block.rank(), (*first)->awaited.barrier + 1, rest.c_str());
    }
    const std::string skipped = skipped_signal(ended);
    if (!skipped.empty()) {
        hint = "let all ranks come to that signal: outside of any branch on the rank";
        return skipped;
    }
    std::vector<uint32_t> ranks_waiting;
    for (const Core* core : waiting) {
        if (ranks_waiting.empty() || ranks_waiting.back() != core->block.rank()) {
            ranks_waiting.push_back(core->block.rank());
        }
    }
    if (ranks_waiting.size() == 1 || ended.size() + 1 == ranks()) {
        hint = "send the signal (aclshmemx_signal_op) on a rank that ends without it, or wait for a value that the signals "
               "reach";
        return ended.empty() ? std::string("ended: all that could signal have ended")
                             : "ended: all that could signal have ended: " + list_of(ended);
    }
    hint = "let a rank send its signal (aclshmemx_signal_op) before it waits for that of another one";
    return "cycle: they wait for each other: " + list_of(ranks_waiting);
}

void Launch::report_rank_deadlock(const std::vector<Block*>& blocks)
{
    const std::vector<const Core*> waiting = waiting_cores(blocks);
    if (waiting.empty()) {
        return;
    }
    std::string list;
    for (size_t i = 0; i < waiting.size() && i < most_told; ++i) {
        list += (i == 0 ? " " : "; ") + name_of(*waiting[i]) + " " + waits_for(*waiting[i]);
    }
    if (waiting.size() > most_told) {
        list += text_of("; and %zu more cores wait", waiting.size() - most_told);
    }
    for (const Core* core : waiting) {
        tell_passed_over(*core);
    }
    std::string kind = "deadlock";
    std::string hint;
    const std::string verdict =
        options_.processes != nullptr ? verdict_on_processes() : verdict_of(waiting, kind, hint);
    const Core& first = *waiting.front();
    const Use& use = first.awaited.waiting   ? first.awaited.use
                     : first.polling.waiting ? first.polling.use
                                             : first.waiting_use;
    Fault fault;
    fault.kind = kind;
    fault.text = "no core can go on:" + list + "; " + verdict;
    fault.hint = hint;
    fault.file = use.at.file;
    fault.line = use.at.line;
    fault.api = use.api;
    report(first, std::move(fault));
}

Fault looks_late(const Launch& launch, const EndedWait& wait, const SignalWords::Signal& by)
{
    const SymmetricMemory::Place word = launch.symmetric_memory().find(wait.address);
    const bool resets = word.allocation != nullptr && !by.add && by.value == 0 && by.rank == word.rank;
    Fault fault = not_seen(launch, wait,
        text_of("until %s %s it by %s, and nothing orders that after the wait: it may see the value or not",
            launch.name_of_core(by.block, by.core).c_str(), by.add ? "added to" : "set", place_of(by.use).c_str()));
    fault.kind = resets ? "signal-reset" : "signal-lost";
    fault.hint = resets ? hint_of_resets
                        : "wait for >= (ACLSHMEM_CMP_GE) of a word that only grows, or let the next signal wait until "
                          "this one has been seen";
    fault.other = by.use.at;
    return fault;
}

// A wait for a value that was there and is gone.
void Launch::tell_passed_over(const Core& core)
{
    const Awaited& awaited = core.awaited;
    if (!awaited.waiting || awaited.address == 0 || core.block.order() == nullptr) {
        return;
    }
    const OrderChecks& order = *core.block.order();
    const auto knows = [&](const GlobalFlags::Writer& writer) { return order.scalar_behind(core, writer); };
    const SignalWords::Passed passed = signals_.passed_over(awaited.address, awaited.condition, knows);
    const bool reset = signals_.stored_over(awaited.address);
    if (!passed.held || (passed.next == nullptr && !reset)) {
        return;
    }
    const EndedWait wait = {
        awaited.address, awaited.condition, core.block.index(), core_index(core), awaited.use, {}};
    if (!reset) {
        return signals_.found(looks_late(*this, wait, *passed.next));
    }
    Fault fault = not_seen(*this, wait,
        text_of("until a store that is no signal made it %lld: a signal of the next round may arrive before the reset",
            static_cast<long long>(awaited.seen)));
    fault.kind = "signal-reset";
    fault.hint = hint_of_resets;
    signals_.found(std::move(fault));
}

void Launch::add_signal_faults()
{
    std::vector<Fault> found = barriers_.mismatches(*this);
    for (Fault& fault : signals_.take_found()) {
        found.push_back(std::move(fault));
    }
    if (found.empty()) {
        return;
    }
    // Who stopped at a mismatch has told nothing yet.
    if (failed_) {
        found.push_back(std::move(fault_));
    }
    failed_ = true;
    fault_ = std::move(found.front());
    others_.insert(others_.begin(), std::make_move_iterator(found.begin() + 1), std::make_move_iterator(found.end()));
}

}  // namespace tile_simulator
