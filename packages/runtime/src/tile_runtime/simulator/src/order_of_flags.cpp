// What is complete after flags, barriers of pipes, counters and rounds of the grid.
#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {

void OrderChecks::set_flag(Core& core, Pipe source, Pipe target, int id, Use use)
{
    flags_[flag_key(core, source, target, id)] = completed(core, source);
    if (needs_ != nullptr) {
        needs_->set_flag(core, source, target, id, use);
    }
}

void OrderChecks::wait_flag(Core& core, Pipe source, Pipe target, int id, Use use)
{
    if (needs_ != nullptr) {
        needs_->wait_flag(core, source, target, id, use);
    }
    VectorClock& known = known_[agent_of(core, target)];
    const auto flag = flags_.find(flag_key(core, source, target, id));
    if (flag != flags_.end()) {
        known.join(flag->second);
    }
    known.join(known_[agent_of(core, Pipe::s)]);
}

void OrderChecks::barrier(Core& core, Pipe pipe, Use use)
{
    if (needs_ != nullptr) {
        needs_->barrier(core, pipe, use);
    }
    const int agent = agent_of(core, pipe);
    known_[agent].at[agent] = issued_[agent];
    clock_read(core);
}

void OrderChecks::barrier_all(Core& core, Use use)
{
    // That a barrier of the pipes waits for stores past the cache, too, is what kernels rely on; no document says it.
    if (!strict_) {
        bypass_complete(core);
    }
    if (needs_ != nullptr) {
        needs_->barrier_all(core, use);
    }
    VectorClock all;
    for (int pipe = 0; pipe < pipe_count; ++pipe) {
        all.join(completed(core, Pipe(pipe)));
    }
    start_after(core, all);
}

VectorClock OrderChecks::handed_on(Core& core, Pipe pipe)
{
    if (needs_ != nullptr) {
        needs_->hand_on(core, pipe);
    }
    return completed(core, pipe);
}

VectorClock OrderChecks::completed(Core& core, Pipe pipe)
{
    VectorClock clock = present(core, pipe, true);
    clock_read(core);
    if (pipe == Pipe::fix) {
        clock.join(units_[core_index(core)][1]);  // products that it followed by unit flags
    }
    if (pipe == Pipe::s) {
        clock.at[cache_of(core)] = issued_[cache_of(core)];
        clock.at[bypass_of(core)] = issued_[bypass_of(core)];
    }
    return clock;
}

void OrderChecks::start_after(Core& core, const VectorClock& clock)
{
    for (int pipe = 0; pipe < pipe_count; ++pipe) {
        known_[agent_of(core, Pipe(pipe))].join(clock);
    }
}

void OrderChecks::raise_counter(const Core& target, int id, const VectorClock& clock)
{
    counters_[core_index(target)][id].push_back(clock);
}

void OrderChecks::lower_counter(Core& core, int id)
{
    std::deque<VectorClock>& counter = counters_[core_index(core)][id];
    if (!counter.empty()) {
        start_after(core, counter.front());
        counter.pop_front();
    }
}

void OrderChecks::join_round(const Core& core, int slot, uint32_t round, const VectorClock& clock)
{
    joined_[core_index(core)][slot] = round + 1;
    std::vector<VectorClock>& released = released_[slot];
    if (released.size() <= round) {
        released.resize(round + 1);
    }
    released[round].join(clock);
    next_interval();
}

void OrderChecks::leave_round(Core& core, int slot, uint32_t round, const Handover& others)
{
    VectorClock clock = others.clock;
    clock.at[agent_count + slot] = round + 1;
    if (round < released_[slot].size()) {
        clock.join(released_[slot][round]);
    }
    know(core, others.foreign, clock);
}

void OrderChecks::clock_read(const Core& core)
{
    counted_[core_index(core)] = true;
    std::vector<uint32_t>& asked = asked_[core_index(core)];
    const uint32_t now = issued_[cache_of(core)];
    if (asked.empty() ? now != settled_[core_index(core)] : now != asked.back()) {
        asked.push_back(now);
    }
}

}  // namespace tile_simulator
