#include "time_model.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tile_simulator {
namespace {

constexpr int scalar = int(Pipe::s);

int flag_key(int source, int target, int id)
{
    return (source * pipe_count + target) * event_ids + id;
}

}  // namespace

TimeModel::TimeModel(const TileTiming& timing, const GlobalBuffers& buffers, const KernelShape& shape,
    const std::vector<BlockLogs>& logs)
    : timing_(timing),
      shape_(shape),
      logs_(logs),
      cache_(buffers, static_cast<uint64_t>(timing.l2_bytes)),
      traffic_(timing)
{
}

void TimeModel::happen(double time, bool block_end, uint32_t index)
{
    happenings_.push({time, order_++, block_end, index});
}

void TimeModel::run(std::vector<TileTimeEvent>& events, std::vector<TileTimeAccess>& accesses,
    std::vector<const char*>& strings, TileTimeline& timeline)
{
    accesses.clear();
    strings.assign(1, "");
    std::unordered_map<const char*, uint32_t> known;
    const auto number_of = [&](const char* text) {
        const auto [entry, fresh] = known.try_emplace(text, static_cast<uint32_t>(strings.size()));
        if (fresh) {
            strings.push_back(text != nullptr ? text : "");
        }
        return entry->second;
    };
    events_ = &events;
    cores_ = std::vector<CoreState>(logs_.size() * cores_per_block);
    uint64_t total = 0;
    for (size_t i = 0; i < cores_.size(); ++i) {
        CoreState& core = cores_[i];
        core.log = &logs_[i / cores_per_block][i % cores_per_block];
        core.base = total;
        total += core.log->events().size();
        timeline.macs += core.log->macs;
    }
    events.assign(total, TileTimeEvent{});
    for (size_t i = 0; i < cores_.size(); ++i) {
        for (uint32_t e = 0; e < cores_[i].log->events().size(); ++e) {
            const TimeEvent& from = cores_[i].log->events()[e];
            TileTimeEvent& to = event_of(cores_[i], e);
            to.api = number_of(from.api);
            to.file = number_of(from.file);
            to.line = from.line;
            to.block = static_cast<uint32_t>(i / cores_per_block);
            to.core = static_cast<uint8_t>(i % cores_per_block);
            to.pipe = from.pipe;
            to.kind = from.kind;
            to.source = from.source;
            to.flag = from.flag;
            to.cause = -1;
        }
        for (TileTimeAccess access : cores_[i].log->accesses()) {
            access.event += uint32_t(cores_[i].base);
            accesses.push_back(access);
        }
    }
    // One block per physical core, or per AIC with its two AIVs; the rest follow as cores fall idle.
    const double places = shape_.aic > 0 ? timing_.cube_cores : timing_.vector_cores;
    while (next_block_ < logs_.size() && next_block_ < places) {
        start_block(next_block_++, timing_.block_start);
    }
    for (;;) {
        const double transfer_done = traffic_.next();
        const double happening =
            happenings_.empty() ? std::numeric_limits<double>::infinity() : happenings_.top().time;
        if (transfer_done == std::numeric_limits<double>::infinity() && happenings_.empty()) {
            break;
        }
        if (transfer_done <= happening) {
            end_flow(traffic_.finish(), transfer_done);
        } else {
            const Happening now = happenings_.top();
            happenings_.pop();
            if (now.block_end) {
                if (next_block_ < logs_.size()) {
                    start_block(next_block_++, now.time + timing_.block_start);
                }
            } else {
                begin_flow(now.index, now.time);
            }
        }
    }
    timeline.events = events.data();
    timeline.count = events.size();
    timeline.accesses = accesses.data();
    timeline.access_count = accesses.size();
    timeline.strings = strings.data();
    timeline.string_count = strings.size();
    timeline.cycles = end_;
    const double cores = std::min<double>(double(logs_.size()), places);
    timeline.launch_us = timing_.launch_us + timing_.launch_core_us * cores * (shape_.aic + shape_.aiv);
    timeline.read_bytes = read_bytes_;
    timeline.write_bytes = write_bytes_;
    timeline.hbm_bytes = hbm_bytes_;
}

void TimeModel::start_block(uint32_t block, double time)
{
    for (uint32_t i = 0; i < cores_per_block; ++i) {
        CoreState& core = cores_[block * cores_per_block + i];
        core.time = time;
        core.started = true;
        for (PipeState& pipe : core.pipes) {
            pipe.turn = pipe.complete = time;
        }
    }
    for (uint32_t i = 0; i < cores_per_block; ++i) {
        work_.push_back(block * cores_per_block + i);
    }
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
        for (int pipe = 1; pipe < pipe_count; ++pipe) {
            moved = step_pipe(index, pipe) || moved;
        }
    }
    if (core.next == core.log->events().size() && all_quiet(core)) {
        core.ended = true;
        end_block(index / cores_per_block);
    }
}

bool TimeModel::all_quiet(const CoreState& core) const
{
    for (const PipeState& pipe : core.pipes) {
        if (!pipe.queue.empty() || !pipe.flows.empty()) {
            return false;
        }
    }
    return true;
}

void TimeModel::end_block(uint32_t block)
{
    double time = 0;
    for (uint32_t i = 0; i < cores_per_block; ++i) {
        const CoreState& core = cores_[block * cores_per_block + i];
        if (!core.ended) {
            return;
        }
        time = std::max(time, core.time);
        for (const PipeState& pipe : core.pipes) {
            time = std::max(time, pipe.complete);
        }
    }
    end_ = std::max(end_, time);
    happen(time, true, block);
}

// Consumes a token if there is one; the waiting instruction then ends when the token came, or at once.
bool TimeModel::take(CoreState&, std::deque<Token>& tokens, TileTimeEvent& event, double from, TileStall reason)
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
    bool moved = false;
    for (; core.next < core.log->events().size(); ++core.next) {
        const uint32_t number = core.next;
        const TimeEvent& event = core.log->events()[number];
        TileTimeEvent& out = event_of(core, number);
        const int64_t self = int64_t(core.base + number);
        const auto done = [&](double begin, double end) {
            out.begin = begin;
            out.end = out.complete = end;
            core.time = end;
        };
        if (event.kind == TILE_TIME_BARRIER_ALL) {
            if (!all_quiet(core)) {
                return moved;
            }
            double end = core.time;
            for (const PipeState& pipe : core.pipes) {
                if (pipe.complete > end) {
                    end = pipe.complete;
                    out.cause = pipe.complete_cause;
                }
            }
            out.waited = end - core.time;
            out.reason = out.waited > 0 ? TILE_STALL_BARRIER : TILE_STALL_NONE;
            done(core.time, end + timing_.scalar_flag);
            core.cause = self;
        } else if (event.kind == TILE_TIME_CROSS_WAIT) {
            if (!take(core, core.counters[event.flag], out, core.time, TILE_STALL_CROSS)) {
                return moved;
            }
            core.time = out.end + timing_.scalar_flag;
            core.cause = self;
        } else if (event.pipe != scalar) {
            PipeState& pipe = core.pipes[event.pipe];
            if (pipe.queue.size() >= size_t(timing_.queue_depth)) {
                return moved;
            }
            core.time += event.kind == TILE_TIME_WORK ? timing_.scalar_issue : timing_.scalar_flag;
            pipe.queue.push_back({number, core.time});
        } else if (event.kind == TILE_TIME_SET) {
            done(core.time, core.time + timing_.scalar_flag);
            settle(index, number, core.time, self);
        } else if (event.kind == TILE_TIME_WAIT) {
            if (!take(core, core.flags[flag_key(event.source, scalar, event.flag)], out, core.time, TILE_STALL_FLAG)) {
                return moved;
            }
            core.time = out.end + timing_.scalar_flag;
            core.cause = self;
        } else if (event.kind == TILE_TIME_CROSS_SET) {
            done(core.time, core.time + timing_.scalar_flag);
            settle(index, number, core.time, self);
        } else {
            done(core.time, core.time + double(event.work));
        }
        moved = true;
    }
    return moved;
}

bool TimeModel::step_pipe(uint32_t index, int which)
{
    CoreState& core = cores_[index];
    PipeState& pipe = core.pipes[which];
    bool moved = false;
    while (!pipe.queue.empty()) {
        const Queued queued = pipe.queue.front();
        const TimeEvent& event = core.log->events()[queued.event];
        TileTimeEvent& out = event_of(core, queued.event);
        const int64_t self = int64_t(core.base + queued.event);
        const double start = std::max(pipe.turn, queued.issued);
        switch (event.kind) {
            case TILE_TIME_WAIT: {
                std::deque<Token>& tokens = core.flags[flag_key(event.source, which, event.flag)];
                if (!take(core, tokens, out, start, TILE_STALL_FLAG)) {
                    return moved;
                }
                if (out.end > pipe.turn) {
                    pipe.turn = out.end;
                    pipe.turn_cause = self;
                }
                break;
            }
            case TILE_TIME_BARRIER:
                if (!pipe.flows.empty()) {
                    return moved;
                }
                out.begin = start;
                out.end = out.complete = std::max(start, pipe.complete);
                out.waited = out.end - start;
                out.reason = out.waited > 0 ? TILE_STALL_BARRIER : TILE_STALL_NONE;
                out.cause = pipe.complete_cause;
                pipe.turn = out.end;
                pipe.turn_cause = self;
                break;
            case TILE_TIME_SET:
            case TILE_TIME_CROSS_SET:
                out.begin = out.end = start;
                if (!pipe.flows.empty()) {
                    flows_[pipe.flows.back()].sets.push_back(queued.event);
                } else {
                    const bool earlier = pipe.complete > start;
                    settle(index, queued.event, std::max(start, pipe.complete), earlier ? pipe.complete_cause : self);
                }
                break;
            default: {
                if (event.region >= 0 && pipe.flows.size() >= size_t(timing_.dma_outstanding)) {
                    return moved;
                }
                out.begin = start;
                out.waited = start - pipe.turn;
                out.reason = out.waited > 0 ? TILE_STALL_SCALAR : TILE_STALL_NONE;
                out.cause = out.waited > 0 ? core.cause : pipe.turn_cause;
                pipe.turn_cause = self;
                if (event.region >= 0) {
                    pipe.turn = start + double(event.head);
                    transfer(index, which, queued.event, start);
                    break;
                }
                // The vector unit starts the next instruction while this one is still filling its stages.
                const double head = double(event.head);
                pipe.turn = start + double(event.work) + (which == int(Pipe::v) ? 0 : head);
                out.end = pipe.turn;
                out.complete = start + head + double(event.work) + double(event.tail);
                if (out.complete >= pipe.complete) {
                    pipe.complete = out.complete;
                    pipe.complete_cause = self;
                }
                break;
            }
        }
        pipe.queue.pop_front();
        // The scalar unit may have stood still because the queue was full until now.
        const bool full = pipe.queue.size() + 1 >= size_t(timing_.queue_depth);
        const bool waiting = core.next < core.log->events().size() && core.log->events()[core.next].pipe == which;
        if (full && waiting && start > core.time) {
            core.time = start;
            core.cause = self;
        }
        moved = true;
    }
    return moved;
}

void TimeModel::transfer(uint32_t core, int which, uint32_t event, double issued)
{
    PipeState& pipe = cores_[core].pipes[which];
    const TimeEvent& from = cores_[core].log->events()[event];
    uint32_t number;
    if (idle_flows_.empty()) {
        number = static_cast<uint32_t>(flows_.size());
        flows_.emplace_back();
    } else {
        number = idle_flows_.back();
        idle_flows_.pop_back();
    }
    Flow& flow = flows_[number];
    const double latency = is_load(from.route) ? timing_.gm_read_latency : timing_.gm_write_latency;
    flow = {core, event, issued + double(from.head) + latency, 0, 0, {}};
    pipe.flows.push_back(number);
    if (pipe.flows.size() == 1) {
        happen(flow.earliest, false, number);
    }
}

void TimeModel::begin_flow(uint32_t number, double time)
{
    Flow& flow = flows_[number];
    CoreState& core = cores_[flow.core];
    const TimeEvent& event = core.log->events()[flow.event];
    const bool load = is_load(event.route);
    const Traffic traffic = cache_.access(core.log->region(event.region), !load);
    event_of(core, flow.event).bytes = traffic.moved;
    (load ? read_bytes_ : write_bytes_) += traffic.moved;
    hbm_bytes_ += traffic.missed;
    flow.began = time;
    // Loads wait for HBM where L2 misses; stores end in L2, after room was made.
    flow.rest = double(load ? traffic.moved - std::min(traffic.moved, traffic.missed) : traffic.moved);
    if (traffic.missed > 0) {
        traffic_.begin(time, event.route, true, double(traffic.missed), number);
    } else {
        const double bytes = flow.rest;
        flow.rest = 0;
        traffic_.begin(time, event.route, false, bytes, number);
    }
}

void TimeModel::end_flow(uint32_t number, double time)
{
    Flow& flow = flows_[number];
    const uint32_t index = flow.core;
    CoreState& core = cores_[index];
    const TimeEvent& event = core.log->events()[flow.event];
    if (flow.rest > 0) {
        const double bytes = flow.rest;
        flow.rest = 0;
        traffic_.begin(time, event.route, false, bytes, number);
        return;
    }
    const double end = std::max(time, flow.began + double(event.work));  // laying out fractals may take longer
    PipeState& pipe = core.pipes[event.pipe];
    TileTimeEvent& out = event_of(core, flow.event);
    const int64_t self = int64_t(core.base + flow.event);
    out.end = out.complete = end;
    if (end >= pipe.complete) {
        pipe.complete = end;
        pipe.complete_cause = self;
    }
    pipe.flows.pop_front();
    if (pipe.turn < end && pipe.flows.size() + 1 >= size_t(timing_.dma_outstanding)) {
        pipe.turn = end;
        pipe.turn_cause = self;
    }
    if (!pipe.flows.empty()) {
        Flow& next = flows_[pipe.flows.front()];
        happen(std::max(next.earliest, end), false, pipe.flows.front());
    }
    for (const uint32_t set : flows_[number].sets) {
        settle(index, set, end, self);
    }
    idle_flows_.push_back(number);
    work_.push_back(index);
    while (!work_.empty()) {
        const uint32_t next = work_.back();
        work_.pop_back();
        proceed(next);
    }
}

// A flag or counter takes effect.
void TimeModel::settle(uint32_t index, uint32_t number, double time, int64_t cause)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = core.log->events()[number];
    event_of(core, number).complete = time;
    if (event.kind == TILE_TIME_CROSS_SET) {
        cross_set(index, event, time + timing_.cross_flag_latency, cause);
        return;
    }
    core.flags[flag_key(event.pipe, event.source, event.flag)].push_back({time, cause});
}

void TimeModel::cross_set(uint32_t index, const TimeEvent& event, double time, int64_t cause)
{
    const uint32_t block = index / cores_per_block;
    const uint32_t which = index % cores_per_block;
    const uint32_t first = block * cores_per_block;
    const auto raise = [&](uint32_t core, const Token& token) {
        cores_[core].counters[event.flag].push_back(token);
        work_.push_back(core);
    };
    if (event.mode == 0) {
        const uint32_t kind = which == 0 ? 0 : 1;
        const uint32_t round = cores_[index].rounds_set[event.flag]++;
        auto& [count, latest] = rounds_[{kind, event.flag, round}];
        if (count == 0 || time > latest.time) {
            latest = {time, cause};
        }
        const uint32_t per_block = kind == 0 ? shape_.aic : shape_.aiv;
        if (++count == per_block * logs_.size()) {
            const Token token = latest;
            for (uint32_t other = 0; other < logs_.size(); ++other) {
                for (uint32_t i = 0; i < per_block; ++i) {
                    raise(other * cores_per_block + kind + i, token);
                }
            }
        }
        return;
    }
    if (which == 0) {
        for (uint32_t i = 0; i < shape_.aiv; ++i) {
            raise(first + 1 + i, {time, cause});
        }
        return;
    }
    pairs_[{block, event.mode, event.flag, which - 1}].push_back({time, cause});
    Token both = {0, -1};
    for (uint32_t i = 0; i < shape_.aiv; ++i) {
        const auto& sets = pairs_[{block, event.mode, event.flag, i}];
        if (sets.empty()) {
            return;
        }
        if (sets.front().time >= both.time) {
            both = sets.front();
        }
    }
    for (uint32_t i = 0; i < shape_.aiv; ++i) {
        pairs_[{block, event.mode, event.flag, i}].pop_front();
    }
    if (event.mode == 1) {
        for (uint32_t i = 0; i < shape_.aiv; ++i) {
            raise(first + 1 + i, both);
        }
    } else {
        raise(first, both);
    }
}

}  // namespace tile_simulator
