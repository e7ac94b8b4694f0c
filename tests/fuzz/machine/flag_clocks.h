// Whether a flag could be set while it is still up, had the pipes run at other speeds: vector clocks over one run.
//
// The simulator runs instructions in program order, where a wait always comes before the next set of its flag. On
// the chip the waiting pipe may be late: the set needs the wait to be over, and only flags and barriers say so.
// These clocks are not the simulator's: they count waits, not accesses.
#ifndef FUZZ_FLAG_CLOCKS_H
#define FUZZ_FLAG_CLOCKS_H

#include <array>
#include <cstdint>

namespace fuzz {

constexpr int pipes = 7;
constexpr int events = 8;

class FlagClocks {
public:
    // Whether the flag's last wait is surely over when `source` sets it.
    bool set(int source, int target, int id)
    {
        Flag& flag = flags_[source][target][id];
        const Clock now = dispatched(source);
        flag.carries = now;
        return now[target] >= flag.waited;
    }

    void wait(int source, int target, int id)
    {
        Flag& flag = flags_[source][target][id];
        Clock now = dispatched(target);
        join(now, flag.carries);
        now[target] = flag.waited = ++waits_[target];
        known_[target] = now;
    }

    void barrier_all()
    {
        Clock all = known_[0];
        for (const Clock& clock : known_) {
            join(all, clock);
        }
        known_.fill(all);
    }

private:
    using Clock = std::array<uint32_t, pipes>;  // waits of each pipe that are over
    struct Flag {
        Clock carries{};
        uint32_t waited = 0;
    };

    static void join(Clock& clock, const Clock& other)
    {
        for (int pipe = 0; pipe < pipes; ++pipe) {
            clock[pipe] = clock[pipe] < other[pipe] ? other[pipe] : clock[pipe];
        }
    }

    // What a pipe knows at its next instruction: pipe 0, the scalar unit, hands out instructions once it has waited.
    Clock dispatched(int pipe) const
    {
        Clock now = known_[pipe];
        join(now, known_[0]);
        return now;
    }

    std::array<Clock, pipes> known_{};
    std::array<uint32_t, pipes> waits_{};
    Flag flags_[pipes][pipes][events]{};
};

}  // namespace fuzz

#endif
