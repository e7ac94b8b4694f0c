#include "time_model.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tile_simulator {

TimeModel::TimeModel(const TileTiming& timing, const GlobalBuffers& buffers, const KernelShape& shape,
    const std::vector<BlockLogs>& logs)
    : timing_(timing),
      shape_(shape),
      logs_(logs),
      transfers_(timing, buffers),
      places_(shape.aic > 0 ? timing.cube_cores : timing.vector_cores)
{
}

void TimeModel::happen(double time, bool block_end, uint32_t index, int pipe)
{
    happenings_.push({time, order_++, block_end, index, pipe});
}

// What is known of every event before it is timed.
void TimeModel::describe(std::vector<TileTimeAccess>& accesses, std::vector<const char*>& strings)
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
    for (size_t i = 0; i < cores_.size(); ++i) {
        for (uint32_t e = 0; e < cores_[i].log->events().size(); ++e) {
            const TimeEvent& from = logged(cores_[i], e);
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
            to.mode = from.mode;
            to.cause = -1;
        }
        for (TileTimeAccess access : cores_[i].log->accesses()) {
            access.event += uint32_t(cores_[i].base);
            accesses.push_back(access);
        }
    }
}

void TimeModel::run(std::vector<TileTimeEvent>& events, std::vector<TileTimeAccess>& accesses,
    std::vector<const char*>& strings, TileTimeline& timeline)
{
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
    describe(accesses, strings);
    // One block per physical core, or per AIC with its two AIVs. The first of a launch start the later the more there are.
    const double first = std::min<double>(double(logs_.size()), places_);
    const double cores = first * double(shape_.aic + shape_.aiv);
    const double start = (timing_.block_us + timing_.start_core_us * cores) * timing_.mhz;
    while (next_block_ < first) {
        start_block(next_block_++, start);
    }
    replay();
    timeline.events = events.data();
    timeline.count = events.size();
    timeline.accesses = accesses.data();
    timeline.access_count = accesses.size();
    timeline.strings = strings.data();
    timeline.string_count = strings.size();
    // A core that never ends waits for blocks that no core is free to run, or for a unit flag.
    const bool all_end = std::all_of(cores_.begin(), cores_.end(), [](const CoreState& core) { return core.ended; });
    timeline.cycles = all_end ? end_ : std::numeric_limits<double>::infinity();
    timeline.start_cycles = start;
    for (size_t i = 0; i < cores_.size(); ++i) {
        timeline.scalar_cycles[i % cores_per_block == 0 ? 0 : 1] += cores_[i].scalar_busy;
    }
    timeline.launch_us = timing_.launch_us + timing_.launch_core_us * cores;
    timeline.read_bytes = transfers_.read_bytes;
    timeline.write_bytes = transfers_.write_bytes;
    timeline.hbm_bytes = transfers_.hbm_bytes;
    timeline.owed_bytes = transfers_.owed(all_end ? end_ : 0);
}

void TimeModel::replay()
{
    constexpr double never = std::numeric_limits<double>::infinity();
    for (;;) {
        const double transferred = transfers_.next();
        const double happening = happenings_.empty() ? never : happenings_.top().time;
        if (transferred == never && happening == never) {
            return;
        }
        if (transferred <= happening) {
            GmTransfers::Ended ended;
            if (transfers_.finish(ended)) {
                end_transfer(ended, transferred);
            }
            continue;
        }
        const Happening now = happenings_.top();
        happenings_.pop();
        if (!now.block_end) {
            begin_transfer(now.index, now.pipe, now.time);
        } else if (next_block_ < logs_.size()) {
            start_block(next_block_++, now.time + timing_.block_us * timing_.mhz);
        }
    }
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
        work_.push_back(block * cores_per_block + i);
    }
    wake();
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
            time = std::max({time, pipe.complete, pipe.turn});
        }
    }
    end_ = std::max(end_, time);
    happen(time, true, block);
}

void TimeModel::begin_transfer(uint32_t index, int which, double time)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, core.pipes[which].queue.front().event);
    transfers_.begin(time, uint64_t(index) * pipe_count + uint64_t(which), event, core.log->region(event.region));
}

// The unit that lays rows out in fractals takes them one by one, and longer those that are not in L2.
double TimeModel::row_cycles(const TimeEvent& event, double bytes, double missed) const
{
    if (event.rows == 0) {
        return 0;
    }
    const double row = bytes / event.rows;
    const double here = std::max(timing_.nd2nz_row_least, timing_.nd2nz_row + row / timing_.nd2nz_rate);
    return event.rows * (here + missed * (timing_.nd2nz_row_miss + row / timing_.nd2nz_miss_rate));
}

void TimeModel::end_transfer(const GmTransfers::Ended& ended, double time)
{
    const uint32_t index = static_cast<uint32_t>(ended.owner / pipe_count);
    const int which = static_cast<int>(ended.owner % pipe_count);
    CoreState& core = cores_[index];
    PipeState& pipe = core.pipes[which];
    const uint32_t number = pipe.queue.front().event;
    TileTimeEvent& out = event_of(core, number);
    const TimeEvent& event = logged(core, number);
    const double missed = std::min(1.0, ended.missed);
    const double least = out.begin + std::max(double(event.work), row_cycles(event, ended.bytes, missed));
    out.bytes = static_cast<uint64_t>(ended.bytes);
    out.slowed = std::min(ended.slowed, std::max(0.0, time - least));
    pipe.transferring = false;
    // A store of parts of 32 B reads the rest before.
    const double load = timing_.gm_load_latency + (missed > 0 ? timing_.gm_miss_latency : 0);
    const double latency = is_load(event.route) ? load : timing_.gm_store_latency + (ended.partial ? load : 0);
    end_work(core, which, number, std::max(time, least), std::max({time, least, out.begin + latency}));
    pipe.queue.pop_front();
    work_.push_back(index);
    wake();
}

}  // namespace tile_simulator
