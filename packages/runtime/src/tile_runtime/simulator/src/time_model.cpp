#include "time_model.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace tile_simulator {

TimeModel::TimeModel(const TileTiming& timing, const GlobalBuffers& buffers, const KernelShape& shape,
    const std::vector<BlockLogs>& logs, uint32_t ranks, const SymmetricMemory& memory)
    : timing_(timing),
      shape_(shape),
      logs_(logs),
      ranks_(ranks),
      blocks_(uint32_t(logs.size()) / ranks),
      memory_(memory),
      next_(ranks, std::numeric_limits<double>::infinity()),
      links_(timing, ranks),
      places_(shape.aic > 0 ? timing.cube_cores : timing.vector_cores),
      end_(ranks, 0),
      served_(ranks)
{
    for (uint32_t rank = 0; rank < ranks; ++rank) {
        transfers_.push_back(std::make_unique<GmTransfers>(timing, buffers));
        next_block_.push_back(rank * blocks_);
    }
}

void TimeModel::happen(double time, Happens what, uint32_t index, int pipe)
{
    happenings_.push({time, order_++, what, index, pipe});
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
    const double first = std::min<double>(double(blocks_), places_);
    const double cores = first * double(shape_.aic + shape_.aiv);
    start_ = (timing_.block_us + timing_.start_core_us * cores) * timing_.mhz;
    find_words();
    find_looks();
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        for (uint32_t i = 0; i < first; ++i) {
            start_block(next_block_[rank]++, start_);
        }
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
    const double end = *std::max_element(end_.begin(), end_.end());
    timeline.cycles = all_end ? end : std::numeric_limits<double>::infinity();
    timeline.start_cycles = start_;
    for (size_t i = 0; i < cores_.size(); ++i) {
        timeline.scalar_cycles[i % cores_per_block == 0 ? 0 : 1] += cores_[i].scalar_busy;
    }
    timeline.launch_us = launch_us_ = timing_.launch_us + timing_.launch_core_us * cores;
    for (const auto& memory : transfers_) {
        timeline.read_bytes += memory->read_bytes;
        timeline.write_bytes += memory->write_bytes;
        timeline.hbm_bytes += memory->hbm_bytes;
        timeline.owed_bytes += memory->owed(all_end ? end : 0);
    }
}

void TimeModel::replay()
{
    constexpr double never = std::numeric_limits<double>::infinity();
    for (;;) {
        const auto first = std::min_element(next_.begin(), next_.end());
        const double transferred = std::min(*first, links_.next());
        const double happening = happenings_.empty() ? never : happenings_.top().time;
        if (transferred == never && happening == never) {
            return;
        }
        if (transferred <= happening) {
            if (*first == transferred) {
                finish_transfer(uint32_t(first - next_.begin()), transferred);
            } else {
                end_remote(transferred);
            }
            continue;
        }
        const Happening now = happenings_.top();
        happenings_.pop();
        switch (now.what) {
            case Happens::transfer:
                begin_transfer(now.index, now.pipe, now.time);
                break;
            case Happens::block_end:
                start_next_block(rank_of_block(now.index), now.time);
                break;
            case Happens::look:
                look(now.index, now.time);
                break;
            case Happens::arrival:
                arrive(signals_[now.index], now.time);
                break;
            case Happens::shown:
                store_arrives(showing_[now.index], now.time);
                break;
        }
    }
}

void TimeModel::start_next_block(uint32_t rank, double time)
{
    if (next_block_[rank] < (rank + 1) * blocks_) {
        start_block(next_block_[rank]++, time + timing_.block_us * timing_.mhz);
    }
}

void TimeModel::finish_transfer(uint32_t rank, double time)
{
    GmTransfers::Ended ended;
    const bool last = transfers_[rank]->finish(ended);
    note_next(rank);
    if (!last) {
        return;
    }
    const TimeEvent& event = logged(cores_[ended.owner / place_count],
        cores_[ended.owner / place_count].pipes[ended.owner % place_count].queue.front().event);
    // A store of parts of 32 B reads the rest before.
    const double load = timing_.gm_load_latency + (std::min(1.0, ended.missed) > 0 ? timing_.gm_miss_latency : 0);
    end_transfer(ended, time, is_load(event.route) ? load : timing_.gm_store_latency + (ended.partial ? load : 0));
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
    double& end = end_[rank_of_block(block)];
    end = std::max(end, time);
    happen(time, Happens::block_end, block);
}

void TimeModel::begin_transfer(uint32_t index, int which, double time)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, core.pipes[which].queue.front().event);
    if (which == engine_place) {
        return begin_engine(index, time);
    }
    if (ranks_ > 1 && begin_remote(index, which, time)) {
        return;
    }
    const uint32_t rank = rank_of_core(index);
    const uint64_t owner = uint64_t(index) * place_count + uint64_t(which);
    transfers_[rank]->begin(time, owner, event, core.log->region(event.region));
    note_next(rank);
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

// Its result is there a latency after its start; of a remote one, after its end.
void TimeModel::end_transfer(const GmTransfers::Ended& ended, double time, double latency)
{
    const uint32_t index = static_cast<uint32_t>(ended.owner / place_count);
    const int which = static_cast<int>(ended.owner % place_count);
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
    end_work(core, which, number, std::max(time, least), std::max({time, least, out.begin + latency}));
    pipe.queue.pop_front();
    show(core.base + number, out.complete);
    work_.push_back(index);
    wake();
}

}  // namespace tile_simulator
