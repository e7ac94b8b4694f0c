// The scalar unit and the pipes of one core.
#include <algorithm>

#include "time_model.h"

namespace tile_simulator {
namespace {

constexpr int scalar = int(Pipe::s);

int flag_key(int source, int target, int id)
{
    return (source * pipe_count + target) * event_ids + id;
}

}  // namespace

void TimeModel::wake()
{
    while (!work_.empty()) {
        const uint32_t core = work_.back();
        work_.pop_back();
        proceed(core);
    }
}

// Runs a core ahead until nothing more can be decided. What it wakes is left in work_.
void TimeModel::proceed(uint32_t index)
{
    CoreState& core = cores_[index];
    if (!core.started || core.ended) {
        return;
    }
    for (bool moved = true; moved;) {
        moved = step_scalar(index);
        for (int pipe = 1; pipe < place_count; ++pipe) {
            moved = step_pipe(index, pipe) || moved;
        }
    }
    if (core.next == core.log->events().size() && all_quiet(core, 0, place_count)) {
        core.ended = true;
        end_block(index / cores_per_block);
    }
}

bool TimeModel::all_quiet(const CoreState& core, int first, int end)
{
    return std::all_of(core.pipes + first, core.pipes + end, [](const PipeState& p) { return p.queue.empty(); });
}

// Consumes a token if there is one; the waiting instruction then ends when the token came, or at once.
bool TimeModel::take(std::deque<Token>& tokens, TileTimeEvent& event, double from, TileStall reason)
{
    if (tokens.empty()) {
        return false;
    }
    const Token token = tokens.front();
    tokens.pop_front();
    event.begin = from;
    event.end = event.complete = std::max(from, token.time);
    event.waited = event.end - from;
    if (event.waited > 0) {
        event.reason = reason;
        event.cause = token.cause;
    }
    return true;
}

bool TimeModel::step_scalar(uint32_t index)
{
    CoreState& core = cores_[index];
    const uint32_t before = core.next;
    while (core.next < core.log->events().size() && scalar_event(index, core.next)) {
        ++core.next;
    }
    return core.next != before;
}

// False if it cannot be decided yet.
bool TimeModel::scalar_event(uint32_t index, uint32_t number)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, number);
    TileTimeEvent& out = event_of(core, number);
    if (event.pipe != scalar) {
        return issue(index, number);
    }
    out.cause = core.cause;
    double cost = timing_.scalar_flag;
    switch (event.kind) {
        case TILE_TIME_BARRIER_ALL:
            if (!all_quiet(core, 0, pipe_count)) {
                return false;
            }
            wait_for_pipes(core, number, 0, pipe_count, TILE_STALL_BARRIER);
            break;
        case TILE_TIME_ENGINE_WAIT:
            if (!all_quiet(core, engine_place, place_count)) {
                return false;
            }
            wait_for_pipes(core, number, engine_place, place_count, TILE_STALL_ENGINE);
            break;
        case TILE_TIME_CROSS_WAIT:
            if (!take(core.counters[event.flag], out, core.time, TILE_STALL_CROSS)) {
                return false;
            }
            break;
        case TILE_TIME_WAIT:
            if (!take(core.flags[flag_key(event.source, scalar, event.flag)], out, core.time, TILE_STALL_FLAG)) {
                return false;
            }
            break;
        case TILE_TIME_WORD_WAIT:
        case TILE_TIME_RANK_BARRIER:
            if (!wait_for_ranks(index, number)) {
                return false;
            }
            cost = event.kind == TILE_TIME_WORD_WAIT ? timing_.signal_poll_us * timing_.mhz : cost;
            break;
        case TILE_TIME_SIGNAL:
            send(index, number);
            return true;
        case TILE_TIME_WORK:
            if (out.kind == TILE_TIME_LOOK && !wait_for_stores(index, number)) {
                return false;
            }
            if (out.kind == TILE_TIME_LOOK) {
                // Who had to wait has half of a look left when the value comes.
                cost = (out.waited > 0 ? 1 : 2) * timing_.signal_poll_us * timing_.mhz;
                break;
            }
            cost = is_shown(core.base + number) ? timing_.signal_store_us * timing_.mhz : double(event.work);
            show(core.base + number, core.time + cost);
            [[fallthrough]];
        default:
            out.begin = core.time;
            out.end = out.complete = core.time + cost;
            break;
    }
    const bool waits = event.kind == TILE_TIME_BARRIER_ALL || event.kind == TILE_TIME_CROSS_WAIT ||
                       event.kind == TILE_TIME_WAIT || out.kind >= TILE_TIME_WORD_WAIT;
    core.time = waits ? out.end + cost : out.end;
    core.scalar_busy += cost;
    const int64_t self = int64_t(core.base + number);
    if (waits || (event.kind == TILE_TIME_WORK && cost > 0)) {
        // What is issued from here on is as late as this is.
        core.cause = self;
        core.late = TILE_STALL_SCALAR;
    } else if (event.kind != TILE_TIME_WORK) {
        settle(index, number, core.time, self);
    }
    return true;
}

// Goes on once what some of the pipes have begun is complete.
void TimeModel::wait_for_pipes(CoreState& core, uint32_t number, int first, int end, TileStall reason)
{
    TileTimeEvent& out = event_of(core, number);
    out.begin = out.end = core.time;
    for (int i = first; i < end; ++i) {
        const PipeState& pipe = core.pipes[i];
        if (pipe.complete > out.end) {
            out.end = pipe.complete;
            out.cause = pipe.complete_cause;
        }
    }
    out.complete = out.end;
    out.waited = out.end - out.begin;
    out.reason = out.waited > 0 ? reason : TILE_STALL_NONE;
}

// Hands an instruction to its pipe. A full queue takes it when its oldest instruction has left.
bool TimeModel::issue(uint32_t index, uint32_t number)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, number);
    PipeState& pipe = core.pipes[event.pipe];
    const size_t depth = size_t(timing_.queue_depth);
    const size_t inside = pipe.queue.size() - (pipe.transferring ? 1 : 0);
    if (inside >= depth) {
        return false;
    }
    if (inside + pipe.left.size() >= depth) {
        const Token& room = pipe.left[inside + pipe.left.size() - depth];
        if (room.time > core.time) {
            core.time = room.time;
            core.cause = room.cause;
            core.late = TILE_STALL_QUEUE;
        }
    }
    const bool cube = index % cores_per_block == 0;
    const double issue = cube ? timing_.scalar_issue_cube : timing_.scalar_issue;
    const double cost = event.kind == TILE_TIME_WORK ? issue : timing_.scalar_flag;
    core.time += cost;
    core.scalar_busy += cost;
    pipe.queue.push_back({number, core.time, core.late, core.cause});
    return true;
}

bool TimeModel::step_pipe(uint32_t index, int which)
{
    PipeState& pipe = cores_[index].pipes[which];
    bool moved = false;
    while (!pipe.queue.empty() && !pipe.transferring) {
        const Queued queued = pipe.queue.front();
        const double start = std::max(pipe.turn, queued.issued);
        if (!pipe_event(index, which, queued, start)) {
            break;
        }
        pipe.left.push_back({event_of(cores_[index], queued.event).begin, int64_t(cores_[index].base + queued.event)});
        if (pipe.left.size() > size_t(timing_.queue_depth)) {
            pipe.left.pop_front();
        }
        moved = true;
        if (!pipe.transferring) {
            pipe.queue.pop_front();
        }
    }
    return moved;
}

// False if it cannot be decided yet.
bool TimeModel::pipe_event(uint32_t index, int which, const Queued& queued, double start)
{
    CoreState& core = cores_[index];
    PipeState& pipe = core.pipes[which];
    const TimeEvent& event = logged(core, queued.event);
    TileTimeEvent& out = event_of(core, queued.event);
    const int64_t self = int64_t(core.base + queued.event);
    out.cause = queued.issued > pipe.turn ? queued.cause : pipe.turn_cause;
    switch (event.kind) {
        case TILE_TIME_WORK:
            return work(index, which, queued, start);
        case TILE_TIME_WAIT:
            if (!take(core.flags[flag_key(event.source, which, event.flag)], out, start, TILE_STALL_FLAG)) {
                return false;
            }
            break;
        case TILE_TIME_BARRIER:
            out.begin = start;
            out.end = out.complete = std::max(start, pipe.complete);
            out.waited = out.end - start;
            out.reason = out.waited > 0 ? TILE_STALL_BARRIER : TILE_STALL_NONE;
            out.cause = out.waited > 0 ? pipe.complete_cause : out.cause;
            break;
        default: {
            out.begin = out.end = start;
            const bool earlier = pipe.complete > start;
            settle(index, queued.event, std::max(start, pipe.complete), earlier ? pipe.complete_cause : self);
            return true;
        }
    }
    // What took no time leaves the pipe where it was: what comes next tells how long the pipe had nothing to do.
    if (out.waited > 0) {
        pipe.turn = out.end;
        pipe.turn_cause = self;
    }
    return true;
}

bool TimeModel::work(uint32_t index, int which, const Queued& queued, double start)
{
    CoreState& core = cores_[index];
    PipeState& pipe = core.pipes[which];
    const TimeEvent& event = logged(core, queued.event);
    TileTimeEvent& out = event_of(core, queued.event);
    const bool held = event.dependent && pipe.complete > start;
    start = held ? pipe.complete : start;
    double ready = start;  // for the unit flags
    if (event.unit_flag != 0 && which == int(Pipe::fix)) {
        // Fixpipe follows the Mmad that completes the result block by block, and holds its pipe until then.
        if (core.results.empty()) {
            return false;
        }
        ready = std::max(start, core.results.front().time);
    }
    double end = ready + double(event.work);
    if (event.unit_flag != 0 && which == int(Pipe::m) && core.result_open) {
        // The first Mmad of the next result follows Fixpipe in the same way.
        if (core.places.empty()) {
            return false;
        }
        end = std::max(end, core.places.front().time);
        core.places.pop_front();
        core.result_open = false;
    }
    out.begin = start;
    out.slowed = double(event.conflict);
    out.waited = start - pipe.turn;
    out.reason = out.waited <= 0 ? TILE_STALL_NONE : held ? TILE_STALL_BARRIER : queued.late;
    out.cause = out.waited <= 0 ? pipe.turn_cause : held ? pipe.complete_cause : queued.cause;
    if (event.unit_flag == 3 && which == int(Pipe::m)) {
        core.results.push_back({start, int64_t(core.base + queued.event)});
        core.result_open = true;
    }
    if (event.region >= 0) {
        pipe.transferring = true;
        happen(ready, Happens::transfer, index, which);
    } else {
        end_work(core, which, queued.event, end, std::max(end, start + double(event.done)));
    }
    return true;
}

void TimeModel::end_work(CoreState& core, int which, uint32_t number, double end, double complete)
{
    PipeState& pipe = core.pipes[which];
    const int64_t self = int64_t(core.base + number);
    TileTimeEvent& out = event_of(core, number);
    out.end = end;
    out.complete = complete;
    pipe.turn = end;
    pipe.turn_cause = self;
    if (complete >= pipe.complete) {
        pipe.complete = complete;
        pipe.complete_cause = self;
    }
    if (which == int(Pipe::fix) && logged(core, number).unit_flag == 3) {
        core.results.pop_front();
        core.places.push_back({end, self});
    }
}

// A flag or counter takes effect.
void TimeModel::settle(uint32_t index, uint32_t number, double time, int64_t cause)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, number);
    event_of(core, number).complete = time;
    if (event.kind == TILE_TIME_CROSS_SET) {
        cross_set(index, event, time + timing_.cross_flag_latency, cause);
        return;
    }
    core.flags[flag_key(event.pipe, event.source, event.flag)].push_back({time + timing_.flag_latency, cause});
}

}  // namespace tile_simulator
