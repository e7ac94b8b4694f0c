// Signals against those of earlier launches on the same ranks (word_history.h).
#include <algorithm>
#include <utility>

#include "handover.h"
#include "launch.h"
#include "scalar_cache.h"
#include "signal_words.h"

namespace tile_simulator {
namespace {

constexpr uint64_t word_bytes = sizeof(int32_t);

bool resets(bool add, int32_t value, uint32_t rank, uint32_t owner)
{
    return !add && value == 0 && rank == owner;
}

// Whether a rank knows a signal at its end.
bool knows_signal(const Foreign& known, const GlobalFlags::Writer& writer, uint32_t first, uint32_t end)
{
    return knows_instruction(known, writer.block, writer.agent, writer.number) ||
           knows_later_round(known, first, end, writer.joined);
}

}  // namespace

void SignalWords::check_earlier(
    uint64_t base, uint64_t to, const Signal& signal, const Launch& launch, const KnowsRank& knows)
{
    const SymmetricMemory& memory = launch.symmetric_memory();
    const uint32_t owner = memory.find(to).rank;
    const uint64_t line = ScalarCache::line_of(base, to);
    for (uint64_t address = line; address < line + ScalarCache::line_bytes; address += word_bytes) {
        const bool same_word = address == to;
        const auto now = words_.find(address);
        const int32_t value = now != words_.end() ? now->second.initial
                                                  : __atomic_load_n(reinterpret_cast<const int32_t*>(address), __ATOMIC_ACQUIRE);
        const std::vector<WordHistory::Past>* past = earlier_->of(address, value);
        for (size_t i = 0; past != nullptr && i < past->size(); ++i) {
            const WordHistory::Past& earlier = (*past)[i];
            const bool same_value = same_word && !earlier.add && !signal.add && earlier.value == signal.value;
            bool known = false;
            for (uint32_t rank = 0; rank < launch.ranks() && !known; ++rank) {
                known = (earlier.known_by >> rank & 1) != 0 && knows(rank);
            }
            if (known || same_value || (earlier.add && signal.add)) {
                continue;
            }
            const bool reset = same_word && resets(earlier.add, earlier.value, earlier.rank, owner) !=
                                                resets(signal.add, signal.value, signal.rank, owner);
            Fault fault = fault_of(reset ? "signal-reset" : "signal-lost", signal.use,
                text_of("%s, %s in an earlier launch, and nothing orders the two: %s",
                    act_of(launch, signal, memory.word_name(to)).c_str(), earlier.act.c_str(),
                    reset       ? "a signal of the next launch may arrive before the reset"
                    : same_word ? "launches of two ranks are in no order, and one may be lost"
                                : "both words lie in one line of 64 bytes, which a SET stores as a whole"));
            fault.hint = reset ? "let the word count up over all launches, or let all ranks meet at a barrier between the two"
                               : "let all ranks meet at a barrier between the two, or give each rank a word of its own";
            launch.place(fault, signal.block);
            fault.core = core_names[signal.core];
            keep_found(std::move(fault));
        }
    }
}

void SignalWords::leave(const Launch& launch, const std::vector<ForeignPointer>& ends)
{
    if (earlier_ == nullptr) {
        return;
    }
    const uint32_t blocks = launch.blocks();
    std::vector<uint64_t> starts;
    for (uint32_t rank = 0; rank < launch.ranks(); ++rank) {
        uint64_t known = uint64_t(1) << rank;
        for (uint32_t other = 0; other < launch.ranks(); ++other) {
            const bool learned = ends[rank] != nullptr && ends[rank]->knows_any(other * blocks, (other + 1) * blocks);
            known |= learned ? uint64_t(1) << other : 0;
        }
        starts.push_back(known);
    }
    earlier_->end_launch(starts);
    struct Latest {
        const Signal* signal;
        uint64_t known_by;
    };
    for (const auto& [address, word] : words_) {
        const std::string name = launch.symmetric_memory().word_name(address);
        if (name.empty()) {
            continue;  // no other rank reaches it
        }
        std::map<uint32_t, Latest> by_rank;
        for (const Signal& signal : word.signals) {
            uint64_t known = uint64_t(1) << signal.rank;
            const uint32_t first = signal.rank * blocks;
            for (uint32_t rank = 0; rank < launch.ranks(); ++rank) {
                const bool knows = ends[rank] != nullptr &&
                                   knows_signal(*ends[rank], signal.by.writer, first, first + blocks);
                known |= knows ? uint64_t(1) << rank : 0;
            }
            Latest& latest = by_rank.try_emplace(signal.rank, Latest{&signal, known}).first->second;
            latest = {&signal, latest.known_by & known};
        }
        for (const auto& [rank, latest] : by_rank) {
            const Signal& signal = *latest.signal;
            earlier_->keep(
                address, word.now, {signal.add, signal.value, rank, latest.known_by, act_of(launch, signal, name)});
        }
    }
}

}  // namespace tile_simulator
