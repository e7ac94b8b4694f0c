// What ranks do to each other: transfers over links, signals, and waits for words and barriers.
#include <algorithm>
#include <limits>

#include "symmetric_memory.h"
#include "time_model.h"

namespace tile_simulator {

// The words of the launch, as they were when it came to them, and which of them somebody signals.
void TimeModel::find_words()
{
    for (const CoreState& core : cores_) {
        for (const TimeEvent& event : core.log->events()) {
            if (event.kind == TILE_TIME_SIGNAL || event.kind == TILE_TIME_WORD_WAIT) {
                const WordAct& act = core.log->word_act(event.region);
                Word& word = words_.try_emplace(act.word, Word{act.before, false, {}}).first->second;
                word.signalled = word.signalled || event.kind == TILE_TIME_SIGNAL;
            }
        }
    }
}

// False if the memory is of the core's own rank.
bool TimeModel::begin_remote(uint32_t index, int which, double time)
{
    const CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, core.pipes[which].queue.front().event);
    const Region& region = core.log->region(event.region);
    const SymmetricMemory::Place place = memory_.find(region.start);
    const uint32_t own = rank_of_core(index);
    if (place.allocation == nullptr || place.rank == own) {
        return false;
    }
    const bool load = is_load(event.route);
    const double bytes = double(region.run * region.inner * region.outer);
    event_of(cores_[index], core.pipes[which].queue.front().event).peer = uint8_t(1 + place.rank);
    const double from_hbm = transfers_[place.rank]->serve(time, load, region);
    const LinkTraffic::Kind kind = {
        load ? place.rank : own, load ? own : place.rank, load, false, transfers_[own]->limit(event.route)};
    links_.begin(time, kind, bytes, from_hbm, uint64_t(index) * place_count + uint64_t(which));
    serve_others(time);
    return true;
}

// What a core has given to the engine: it reads the memory of one rank and writes that of another, or of the same.
void TimeModel::begin_engine(uint32_t index, double time)
{
    const CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, core.pipes[engine_place].queue.front().event);
    const Region& from = core.log->region(event.region);
    const Region& to = core.log->region(event.region + 1);
    const uint32_t own = rank_of_core(index);
    const auto rank_of = [&](const Region& region) {
        const SymmetricMemory::Place place = memory_.find(region.start);
        return place.allocation != nullptr ? place.rank : own;
    };
    const uint32_t source = rank_of(from);
    const uint32_t target = rank_of(to);
    const double from_hbm = transfers_[source]->serve(time, true, from);
    transfers_[target]->serve(time, false, to);
    const double rate = std::min(timing_.sdma_bandwidth, timing_.l2_bandwidth) * 1e3 / timing_.mhz;
    links_.begin(time, {source, target, source != own, true, rate}, double(from.run), from_hbm,
        uint64_t(index) * place_count + engine_place);
    serve_others(time);
}

void TimeModel::end_remote(double time)
{
    const LinkTraffic::Ended ended = links_.finish();
    serve_others(time);
    const double begin = event_of(cores_[ended.owner / place_count],
        cores_[ended.owner / place_count].pipes[ended.owner % place_count].queue.front().event)
                             .begin;
    end_transfer({ended.owner, ended.bytes, 0, ended.slowed, false}, time, links_.arrival(ended.kind, begin, time) - begin);
}

// Memories work for the ranks that others are.
void TimeModel::serve_others(double time)
{
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        const LinkTraffic::Load& load = links_.loads()[rank];
        if (load != served_[rank]) {
            served_[rank] = load;
            transfers_[rank]->serve_others(time, load.hbm, load.l2);
            note_next(rank);
        }
    }
}

// The scalar unit stores and writes the line back; the link then takes it to the word.
void TimeModel::send(uint32_t index, uint32_t number)
{
    CoreState& core = cores_[index];
    TileTimeEvent& out = event_of(core, number);
    const WordAct& act = core.log->word_act(logged(core, number).region);
    const uint32_t own = rank_of_core(index);
    const double cost = timing_.signal_store_us * timing_.mhz;
    out.begin = core.time;
    out.end = core.time + cost;
    out.cause = core.cause;
    out.peer = uint8_t(1 + act.rank);
    out.complete = out.end + (act.rank == own ? 0 : links_.latency(own, act.rank, false));
    core.time = out.end;
    core.scalar_busy += cost;
    core.cause = int64_t(core.base + number);
    core.late = TILE_STALL_SCALAR;
    if (act.rank != own) {
        links_.count_signal(own, act.rank);
    }
    signals_.push_back({act.word, act.value, act.add, core.cause});
    happen(out.complete, Happens::arrival, uint32_t(signals_.size() - 1));
}

void TimeModel::arrive(const Signal& signal, double time)
{
    Word& word = words_[signal.word];
    word.value = signal.add ? int32_t(uint32_t(word.value) + uint32_t(signal.value)) : signal.value;
    const auto sees = [&](uint32_t index) {
        CoreState& core = cores_[index];
        if (!core.log->word_act(logged(core, core.next).region).condition.holds(word.value)) {
            return false;
        }
        core.seen.push_back({time, signal.cause});
        note_peer(core, signal.cause);
        work_.push_back(index);
        return true;
    };
    word.waiting.erase(std::remove_if(word.waiting.begin(), word.waiting.end(), sees), word.waiting.end());
    wake();
}

// A core looks at its word, now that all signals are there that arrive before.
void TimeModel::look(uint32_t index, double time)
{
    if (look_for_stores(index, time)) {
        return;
    }
    CoreState& core = cores_[index];
    const WordAct& act = core.log->word_act(logged(core, core.next).region);
    Word& word = words_[act.word];
    // What nobody signals some other store has left there.
    if (!word.signalled || act.condition.holds(word.value)) {
        core.seen.push_back({time, core.cause});
        work_.push_back(index);
        wake();
    } else {
        word.waiting.push_back(index);
    }
}

// The cores of a rank meet before and after the ranks do, which tell each other in rounds.
double TimeModel::barrier_cycles() const
{
    if (ranks_ == 1) {
        return timing_.cross_flag_latency;
    }
    double us = 0;
    for (uint32_t apart = 1; apart < ranks_; apart *= 2) {
        us += timing_.signal_store_us + timing_.signal_poll_us + links_.latency(0, apart, false) / timing_.mhz;
    }
    return 2 * timing_.cross_flag_latency + us * timing_.mhz;
}

void TimeModel::come_to_barrier(uint32_t index, uint32_t kind)
{
    CoreState& core = cores_[index];
    const uint32_t per_block = shape_.aiv + (kind == 0 ? shape_.aic : 0);
    auto& [count, latest] = meetings_[{kind, core.barriers[kind]++}];
    if (count == 0 || core.time > latest.time) {
        latest = {core.time, core.cause};
    }
    meeting_[kind].push_back(index);
    if (++count == per_block * logs_.size()) {
        for (const uint32_t waiting : meeting_[kind]) {
            cores_[waiting].seen.push_back({latest.time + barrier_cycles(), latest.cause});
            note_peer(cores_[waiting], latest.cause);
            work_.push_back(waiting);
        }
        meeting_[kind].clear();
    }
}

// Whose signal, or coming to the barrier, lets the core go on.
void TimeModel::note_peer(CoreState& core, int64_t cause)
{
    if (cause >= 0) {
        event_of(core, core.next).peer = uint8_t(1 + rank_of_block((*events_)[size_t(cause)].block));
    }
}

// False if what a core waits for has not come yet.
bool TimeModel::wait_for_ranks(uint32_t index, uint32_t number)
{
    CoreState& core = cores_[index];
    const TimeEvent& event = logged(core, number);
    if (take(core.seen, event_of(core, number), core.time, TILE_STALL_RANK)) {
        core.looking = false;
        return true;
    }
    if (!core.looking) {
        core.looking = true;
        if (event.kind == TILE_TIME_WORD_WAIT) {
            happen(core.time, Happens::look, index);
        } else {
            come_to_barrier(index, event.flag);
        }
    }
    return false;
}

std::vector<TileRankTime> TimeModel::rank_times()
{
    std::vector<TileRankTime> all(ranks_);
    const uint32_t cores = blocks_ * cores_per_block;
    uint64_t accesses = 0;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
        TileRankTime& out = all[rank];
        out.first_event = cores_[size_t(rank) * cores].base;
        out.first_access = accesses;
        bool ended = true;
        for (uint32_t i = 0; i < cores; ++i) {
            const CoreState& core = cores_[size_t(rank) * cores + i];
            accesses += core.log->accesses().size();
            out.macs += core.log->macs;
            out.scalar_cycles[i % cores_per_block == 0 ? 0 : 1] += core.scalar_busy;
            ended = ended && core.ended;
        }
        GmTransfers& memory = *transfers_[rank];
        out.cycles = ended ? end_[rank] : std::numeric_limits<double>::infinity();
        out.start_cycles = start_;
        out.launch_us = launch_us_;
        out.read_bytes = memory.read_bytes;
        out.write_bytes = memory.write_bytes;
        out.hbm_bytes = memory.hbm_bytes;
        out.owed_bytes = memory.owed(end_[rank]);
    }
    return all;
}

}  // namespace tile_simulator
