#include "signal_words.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "handover.h"
#include "launch.h"
#include "scalar_cache.h"

namespace tile_simulator {
namespace {

int32_t load(uint64_t address)
{
    return __atomic_load_n(reinterpret_cast<const int32_t*>(address), __ATOMIC_ACQUIRE);
}

int32_t after(int32_t value, const SignalWords::Signal& signal)
{
    return signal.add ? static_cast<int32_t>(static_cast<uint32_t>(value) + static_cast<uint32_t>(signal.value))
                      : signal.value;
}

// Whether a signal is ordered after another one.
bool follows(const SignalWords::Signal& later, const SignalWords::Signal& earlier)
{
    const GlobalFlags::Writer& writer = earlier.by.writer;
    const Handover& carried = *later.by.handover;
    return carried.block == writer.block
               ? carried.clock.at[writer.agent] >= writer.number
               : carried.foreign != nullptr &&
                     knows_instruction(*carried.foreign, writer.block, writer.agent, writer.number);
}

}  // namespace

std::string act_of(const Launch& launch, const SignalWords::Signal& signal, const std::string& word)
{
    const std::string does = signal.add ? text_of("adds %d to %s", signal.value, word.c_str())
                                        : text_of("sets %s to %d", word.c_str(), signal.value);
    return text_of("%s %s (%s at %s:%u)", launch.name_of_core(signal.block, signal.core).c_str(), does.c_str(),
        signal.use.api, signal.use.at.file, signal.use.at.line);
}

void SignalWords::apply(uint64_t address, const Signal& signal, const Launch& launch, const Knows& knows,
    const KnowsRank& knows_rank, const std::function<void()>& tell)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const SymmetricMemory::Place place = launch.symmetric_memory().find(address);
    const uint64_t base = place.allocation != nullptr ? address - place.offset : 0;
    const uint64_t line = ScalarCache::line_of(base, address);
    auto [entry, fresh] = words_.try_emplace(address);
    if (fresh) {
        lines_[line].push_back(address);
    }
    Word& word = entry->second;
    const int32_t now = load(address);
    if (fresh || word.now != now) {
        if (earlier_ != nullptr && (!fresh || earlier_->of(address, now) == nullptr)) {
            earlier_->forget(address);
        }
        word = Word{};  // somebody has stored another value: what was signalled before is gone
        word.initial = now;
    }
    bool settles = false;
    if (signal.by.handover != nullptr) {
        for (const uint64_t other : lines_[line]) {
            check(other, words_[other], signal, address, launch, knows);
        }
        if (earlier_ != nullptr && !earlier_->empty()) {
            check_earlier(base, address, signal, launch, knows_rank);
        }
        settles = !signal.add && first_to_look_at(word, knows) == word.signals.size();
        word.settled = settles ? word.signals.size() : word.settled;
    }
    remember_site(signal, place.allocation != nullptr ? place.allocation->bases.size() : 1);
    word.now = after(now, signal);
    if (signal.by.handover != nullptr) {
        check_ended(address, word, signal, launch, knows);
        add(word, signal);
        word.signals.back().settles = settles;
        judged_.signal(address, signal.add, signal.value, signal.core, signal.by.handover);
        tell();
    }
    word.latest.assign(1, signal);
    __atomic_store_n(reinterpret_cast<int32_t*>(address), word.now, __ATOMIC_RELEASE);
}

void SignalWords::add(Word& word, const Signal& signal)
{
    const auto place = static_cast<uint32_t>(word.signals.size());
    word.signals.push_back(signal);
    word.signals.back().left = word.now;
    word.behind_set = signal.add ? word.behind_set : word.signals.size();
    const std::pair<uint32_t, uint8_t> agent(signal.by.writer.block, signal.by.writer.agent);
    const auto same = [&](const auto& entry) { return entry.first == agent; };
    const auto found = std::find_if(word.of_agents.begin(), word.of_agents.end(), same);
    if (found != word.of_agents.end()) {
        found->second.push_back(place);
    } else {
        word.of_agents.push_back({agent, {place}});
    }
}

// A SET is a store of a whole line: it is ordered after all signals to the line but those that say the same.
void SignalWords::check(uint64_t address, const Word& word, const Signal& signal, uint64_t to,
    const Launch& launch, const Knows& knows)
{
    const bool same_word = address == to;
    const size_t end = signal.add ? word.behind_set : word.signals.size();
    for (size_t i = std::max(same_word ? word.settled : 0, first_to_look_at(word, knows)); i < end; ++i) {
        const Signal& earlier = word.signals[i];
        const bool same_value = same_word && earlier.value == signal.value && !earlier.add && !signal.add;
        if ((earlier.add && signal.add) || same_value || knows(earlier.by.writer)) {
            continue;
        }
        // The same pair is told the same way round, whichever came first.
        const auto rank = [](const Signal& s) { return std::tie(s.by.writer.block, s.by.writer.agent, s.use.at.line); };
        const bool swap = rank(signal) < rank(earlier);
        const SymmetricMemory& memory = launch.symmetric_memory();
        const std::string name = memory.word_name(to);
        const std::string other = memory.word_name(address);
        const std::string one = act_of(launch, earlier, other);
        const std::string two = act_of(launch, signal, name);
        const uint32_t owner = memory.find(to).rank;
        const auto resets = [&](const Signal& s) { return !s.add && s.rank == owner && s.value == 0; };
        Fault fault;
        const Signal& told = swap ? earlier : signal;
        const bool reset = same_word && (resets(earlier) != resets(signal));
        fault.kind = reset ? "signal-reset" : "signal-lost";
        fault.text = (swap ? two + ", " + one : one + ", " + two) + ", and nothing orders the two: ";
        fault.text += reset       ? "a signal of the next round may arrive before the reset"
                      : same_word ? "one may be lost"
                                  : "both words lie in one line of 64 bytes, which a SET stores as a whole";
        fault.hint = reset ? "let the word count up over all rounds, or use two words by parity"
                     : same_word
                         ? "let several ranks add to a word (ACLSHMEM_SIGNAL_ADD), or give each of them a word of its own"
                         : "give each word a line of 64 bytes of its own";
        fault.api = told.use.api;
        fault.file = told.use.at.file;
        fault.line = told.use.at.line;
        fault.rank = static_cast<int32_t>(told.rank);
        fault.core = core_names[told.core];
        fault.other = (swap ? signal : earlier).use.at;
        keep_found(std::move(fault));
    }
}

void SignalWords::check_ended(
    uint64_t address, const Word& word, const Signal& signal, const Launch& launch, const Knows& knows)
{
    ended_.broken_by(address, word.now, knows,
        [&](const EndedWait& wait) { keep_found(looks_late(launch, wait, signal)); });
}

void SignalWords::keep_found(Fault fault)
{
    const std::string key =
        text_of("%s %s:%u %s:%u", fault.kind.c_str(), fault.file.c_str(), fault.line, fault.other.file, fault.other.line);
    const auto [entry, fresh] = found_.try_emplace(key, fault);
    if (!fresh && fault.text < entry->second.text) {
        entry->second = std::move(fault);
    }
}

void SignalWords::remember_site(const Signal& signal, size_t ranks)
{
    const auto same = [&](const Site& site) { return site.use.at == signal.use.at; };
    auto site = std::find_if(sites_.begin(), sites_.end(), same);
    if (site == sites_.end()) {
        site = sites_.insert(sites_.end(), Site{signal.use, std::vector<bool>(ranks, false)});
    }
    if (signal.rank < site->ranks.size()) {
        site->ranks[signal.rank] = true;
    }
}

// The latest signal that is known and settles the value, or the first that is not known.
size_t SignalWords::first_to_look_at(const Word& word, const Knows& knows)
{
    const auto known = [&](uint32_t place) { return knows(word.signals[place].by.writer); };
    size_t first = word.signals.size();
    for (const auto& [agent, places] : word.of_agents) {
        if (known(places.back())) {
            continue;
        }
        first = std::min<size_t>(first, *std::partition_point(places.begin(), places.end(), known));
    }
    for (size_t i = word.signals.size(); i > first + 1; --i) {
        if (word.signals[i - 1].settles && known(static_cast<uint32_t>(i - 1))) {
            return i - 1;
        }
    }
    return first;
}

ForeignPointer SignalWords::knowledge(
    uint64_t address, const SignalCondition& condition, const Knows& knows, std::shared_ptr<JudgedWait>* judged) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = words_.find(address);
    if (found == words_.end()) {
        return nullptr;
    }
    const Word& word = found->second;
    // The value if only what is known had happened, and what may have happened besides: SETs that show the value, and
    // ADDs since the latest SET.
    const size_t first = first_to_look_at(word, knows);
    int32_t known_value = first > 0 ? word.signals[first - 1].left : word.initial;
    std::vector<const Signal*> sets;
    std::vector<const Signal*> adds;
    const Signal* latest_set = nullptr;
    for (size_t i = first; i < word.signals.size(); ++i) {
        const Signal& signal = word.signals[i];
        if (knows(signal.by.writer)) {
            known_value = after(known_value, signal);
            if (!signal.add) {
                sets.clear();
                adds.clear();
                latest_set = nullptr;
            }
            continue;
        }
        if (!signal.add) {
            adds.clear();
            latest_set = &signal;
            if (condition.holds(signal.value)) {
                sets.push_back(&signal);
            }
        } else {
            adds.push_back(&signal);
        }
    }
    if (condition.holds(known_value)) {
        return nullptr;
    }
    if (sets.empty()) {
        const int32_t base = latest_set != nullptr ? latest_set->value : known_value;
        std::vector<std::pair<int64_t, ForeignPointer>> carried;
        for (const Signal* add : adds) {
            carried.emplace_back(add->value, all_of(*add->by.handover));
        }
        ForeignPointer sure = sure_of_adds(carried, base, condition);
        if (judged != nullptr && latest_set == nullptr) {
            *judged = std::make_shared<JudgedWait>();
            (*judged)->address = address;
            (*judged)->condition = condition;
            (*judged)->base = base;
            (*judged)->seen = judged_.signals(address);
            (*judged)->since = (*judged)->seen - word.signals.size();
            for (const Signal* add : adds) {
                (*judged)->adds.push_back({add->value, add->by.handover});
            }
        }
        return latest_set != nullptr ? joined(sure, all_of(*latest_set->by.handover)) : sure;
    }
    // It may have been any of the SETs: what all carry is sure.
    ForeignPointer sure = all_of(*sets.front()->by.handover);
    for (size_t i = 1; i < sets.size(); ++i) {
        if (!follows(*sets[i], *sets.front())) {
            sure = common(sure, all_of(*sets[i]->by.handover));
        }
    }
    return sure;
}

SignalWords::Passed SignalWords::passed_over(
    uint64_t address, const SignalCondition& condition, const Knows& knows) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = words_.find(address);
    Passed passed;
    if (found == words_.end()) {
        return passed;
    }
    int32_t value = found->second.initial;
    for (const Signal& signal : found->second.signals) {
        passed.next = passed.held && passed.next == nullptr ? &signal : passed.next;
        value = after(value, signal);
        if (knows(signal.by.writer)) {
            passed = Passed{};
        } else {
            passed.held = passed.held || condition.holds(value);
        }
    }
    return passed;
}

bool SignalWords::stored_over(uint64_t address) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = words_.find(address);
    return found != words_.end() && !found->second.latest.empty() &&
           found->second.now != load(address);
}

const SignalWords::Signal* SignalWords::latest(uint64_t address) const
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = words_.find(address);
    return found == words_.end() || found->second.latest.empty() ? nullptr : &found->second.latest.front();
}

bool SignalWords::latest_is_by(uint64_t address, const GlobalFlags::Writer& writer) const
{
    const Signal* signal = latest(address);
    return signal != nullptr && signal->by.writer.block == writer.block && signal->by.writer.agent == writer.agent &&
           signal->by.writer.number == writer.number;
}

void SignalWords::forget()
{
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [address, word] : words_) {
        word.initial = word.now;
        word.signals.clear();
        word.of_agents.clear();
        word.settled = word.behind_set = 0;
    }
    judged_.forget();
    ended_.forget();
    if (earlier_ != nullptr) {
        earlier_->forget();
    }
}

void SignalWords::judged(std::shared_ptr<const JudgedWait> wait)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    judged_.add(std::move(wait));
}

void SignalWords::ended(EndedWait wait)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_.add(std::move(wait));
}

void SignalWords::found(Fault fault)
{
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::string key = text_of("%s %s:%u %s:%u", fault.kind.c_str(), fault.file.c_str(), fault.line,
        fault.other.file != nullptr ? fault.other.file : "", fault.other.line);
    const auto [entry, fresh] = found_.try_emplace(key, fault);
    const auto rank = [](const Fault& f) { return std::tie(f.rank, f.block, f.core, f.text); };
    if (!fresh && rank(fault) < rank(entry->second)) {
        entry->second = std::move(fault);
    }
}

std::vector<Fault> SignalWords::take_found()
{
    std::vector<Fault> all;
    for (auto& [key, fault] : found_) {
        all.push_back(std::move(fault));
    }
    const auto rank = [](const Fault& f) { return std::tie(f.kind, f.file, f.line, f.text); };
    std::stable_sort(all.begin(), all.end(), [&](const Fault& a, const Fault& b) { return rank(a) < rank(b); });
    return all;
}

}  // namespace tile_simulator
