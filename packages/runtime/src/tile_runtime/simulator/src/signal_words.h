// Words by which ranks signal each other, with all that was signalled to them since their latest ordered reset.
//
// Who waits for a value goes on when nobody else can (Launch::judge_signals): by then all signals are there that do not
// depend on it, in every order of running the same. It learns what the signals carry without which its condition could
// not hold, not what all carry that happened to be there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "awaited.h"
#include "ended_waits.h"
#include "fault.h"
#include "global_flags.h"
#include "judged_waits.h"
#include "word_history.h"

namespace tile_simulator {

// A signal without its value.
struct WordSignal {
    GlobalFlags::Writer writer{};
    std::shared_ptr<const Handover> handover;  // null: orders are not checked
};

class Launch;

class SignalWords {
public:
    struct Signal {
        bool add = false;
        int32_t value = 0;
        WordSignal by;
        uint32_t rank = 0;
        uint32_t block = 0;
        int core = 0;
        Use use{};
        int32_t left = 0;  // the value of the word after it
        bool settles = false;  // a SET that knows all signals before it: who knows it knows the value by it alone
    };
    // Whether somebody is ordered after a signal.
    using Knows = std::function<bool(const GlobalFlags::Writer&)>;

    // Whether somebody knows that a rank has begun the launch.
    using KnowsRank = std::function<bool(uint32_t rank)>;

    // Follows earlier launches on the same ranks; null: there are none.
    void follow(WordHistory* earlier) { earlier_ = earlier; }
    // The launch has ended, without an error: `ends` is what each rank knows at the end.
    void leave(const Launch& launch, const std::vector<ForeignPointer>& ends);

    // Applies a signal to its word and calls `tell` before the word changes; notes those that it is not ordered after,
    // where it should be.
    void apply(uint64_t address, const Signal& signal, const Launch& launch, const Knows& knows,
        const KnowsRank& knows_rank, const std::function<void()>& tell);
    // What comes with a value for which a condition holds; null if nothing does. With `judged`, what it rests on, if that
    // is a sum.
    ForeignPointer knowledge(uint64_t address, const SignalCondition& condition, const Knows& knows,
        std::shared_ptr<JudgedWait>* judged = nullptr) const;
    void judged(std::shared_ptr<const JudgedWait> wait);
    const JudgedWaits& judged_waits() const { return judged_; }
    // A value has ended a wait.
    void ended(EndedWait wait);
    // Whether a word has had a value for which a condition holds by a signal that is not known, and the next signal.
    struct Passed {
        bool held = false;
        const Signal* next = nullptr;
    };
    Passed passed_over(uint64_t address, const SignalCondition& condition, const Knows& knows) const;
    // Whether something else than a signal has changed a word since the latest signal.
    bool stored_over(uint64_t address) const;
    // The latest signal to a word, or null; by whom it is.
    const Signal* latest(uint64_t address) const;
    bool latest_is_by(uint64_t address, const GlobalFlags::Writer& writer) const;
    // Everybody knows all signals so far.
    void forget();

    // An error of signals: of those of one kind and pair of lines the first is kept.
    void found(Fault fault);
    std::vector<Fault> take_found();
    // The lines that have signalled words of an allocation, with the ranks that did.
    struct Site {
        Use use;
        std::vector<bool> ranks;
    };
    const std::vector<Site>& sites() const { return sites_; }

private:
    struct Word {
        int32_t initial = 0;
        int32_t now = 0;  // after all signals
        size_t settled = 0;  // signals before this one are known to whoever knows it, a SET
        size_t behind_set = 0;  // there is none from here on
        std::vector<Signal> signals;
        // The places of the signals of each agent: who knows one of them knows those before it.
        std::vector<std::pair<std::pair<uint32_t, uint8_t>, std::vector<uint32_t>>> of_agents;
        std::vector<Signal> latest;  // one at most, kept beyond a barrier for reports
    };

    static size_t first_to_look_at(const Word& word, const Knows& knows);
    void check(uint64_t address, const Word& word, const Signal& signal, uint64_t to, const Launch& launch,
        const Knows& knows);
    // The same for signals of earlier launches to the words of a line.
    void check_earlier(uint64_t base, uint64_t to, const Signal& signal, const Launch& launch, const KnowsRank& knows);
    // The same for waits that the latest value of the word has ended.
    void check_ended(uint64_t address, const Word& word, const Signal& signal, const Launch& launch, const Knows& knows);
    void keep_found(Fault fault);
    static void add(Word& word, const Signal& signal);
    void remember_site(const Signal& signal, size_t ranks);

    WordHistory* earlier_ = nullptr;
    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, Word> words_;
    std::map<uint64_t, std::vector<uint64_t>> lines_;  // addresses of words by line
    std::map<std::string, Fault> found_;
    std::vector<Site> sites_;
    JudgedWaits judged_;
    EndedWaits ended_;
};

// A signal in words, to a word of this name.
std::string act_of(const Launch& launch, const SignalWords::Signal& signal, const std::string& word);

// A wait for a value that was there until a signal took it away.
Fault looks_late(const Launch& launch, const EndedWait& wait, const SignalWords::Signal& by);

}  // namespace tile_simulator
