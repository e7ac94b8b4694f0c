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
#include "fault.h"
#include "global_flags.h"
#include "judged_waits.h"

namespace tile_simulator {

// A signal without its value.
struct WordSignal {
    GlobalFlags::Writer writer{};
    std::shared_ptr<const Handover> handover;  // null: orders are not checked
};

class SymmetricMemory;

class SignalWords {
public:
    struct Signal {
        bool add = false;
        int32_t value = 0;
        WordSignal by;
        uint32_t rank = 0;
        std::string party;  // "rank 1, block 0 aiv0"
        Use use{};
        bool settles = false;  // a SET that knows all signals before it: who knows it knows the value by it alone
    };
    // Whether somebody is ordered after a signal.
    using Knows = std::function<bool(const GlobalFlags::Writer&)>;

    // Applies a signal to its word and calls `tell` before the word changes; notes those that it is not ordered after,
    // where it should be.
    void apply(uint64_t address, const Signal& signal, const SymmetricMemory& memory, const Knows& knows,
        const std::function<void()>& tell);
    // What comes with a value for which a condition holds; null if nothing does. With `judged`, what it rests on, if that
    // is a sum.
    ForeignPointer knowledge(uint64_t address, const SignalCondition& condition, const Knows& knows,
        std::shared_ptr<JudgedWait>* judged = nullptr) const;
    void judged(std::shared_ptr<const JudgedWait> wait);
    const JudgedWaits& judged_waits() const { return judged_; }
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
    // A core has waited for a word: what it knows by now it need not look at again, if it is the only one that waits.
    void waited(uint64_t address, uint64_t core, const Knows& knows);

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
        std::vector<Signal> signals;
        uint64_t waiter = 0;     // number of the core that waits, from 1 on
        bool waiters = false;    // there are several
        std::vector<Signal> latest;  // one at most, kept beyond a barrier for reports
    };

    static size_t first_to_look_at(const Word& word, const Knows& knows);
    void check(uint64_t address, const Word& word, const Signal& signal, uint64_t to, const SymmetricMemory& memory,
        const Knows& knows);
    void remember_site(const Signal& signal, size_t ranks);

    mutable std::mutex mutex_;
    std::unordered_map<uint64_t, Word> words_;
    std::map<uint64_t, std::vector<uint64_t>> lines_;  // addresses of words by line
    std::map<std::string, Fault> found_;
    std::vector<Site> sites_;
    JudgedWaits judged_;
};

}  // namespace tile_simulator
