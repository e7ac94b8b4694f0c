#include "sync_needs.h"

#include <algorithm>
#include <cstring>

#include "launch.h"
#include "order_checks.h"

namespace tile_simulator {
namespace {

SyncLine line_at(const Core& core, TileTimeKind kind, Pipe source, Pipe target, Use use)
{
    static constexpr const char* by_hand[] = {
        "SetFlag", "WaitFlag", "PipeBarrier", "set_flag", "wait_flag", "pipe_barrier", "TQueSync::SetFlag",
        "TQueSync::WaitFlag"};
    const auto same = [&](const char* name) { return std::strcmp(name, use.api) == 0; };
    const bool kernel = core.site.file == nullptr && std::any_of(std::begin(by_hand), std::end(by_hand), same);
    const Where at = core.site.file != nullptr ? core.site : use.at;
    return {kind, source, target, at.file != nullptr ? at.file : "", at.line, kernel};
}

}  // namespace

void Present::record_need(const Access& earlier) const
{
    const bool own = earlier.agent == agent && earlier.number == number;
    if (!own) {
        needs->need(earlier.agent, earlier.number, agent);
    }
}

SyncNeeds::Clock SyncNeeds::present(const Core& core, Pipe pipe, bool in_order) const
{
    const int agent = agent_of(core, pipe);
    Clock clock = known_[agent];
    clock.join(known_[agent_of(core, Pipe::s)]);
    if (in_order || pipe == Pipe::s) {
        clock.raise(agent, issued_[agent], nothing);
    }
    if (pipe == Pipe::s) {
        clock.raise(cache_of(core), issued_[cache_of(core)] + 1, nothing);
        clock.raise(bypass_of(core), issued_[bypass_of(core)] + 1, nothing);
    }
    return clock;
}

SyncNeeds::Clock SyncNeeds::completed(const Core& core, Pipe pipe) const
{
    Clock clock = present(core, pipe, true);
    if (pipe == Pipe::fix) {
        clock.join(units_[core_index(core)][1]);
    }
    if (pipe == Pipe::s) {
        // Stores are complete as far as they were written back.
        for (const int agent : {cache_of(core), bypass_of(core)}) {
            clock.of[agent].at = std::min(clock.of[agent].at, issued_[agent]);
        }
    }
    return clock;
}

void SyncNeeds::instruction(const Instruction& instruction)
{
    const Core& core = instruction.core;
    now_ = present(core, instruction.pipe, instruction.in_order);
    if (instruction.unit_flag != 0) {
        const int self = instruction.pipe == Pipe::m ? 0 : 1;
        const int agent = agent_of(core, instruction.pipe);
        Clock(&units)[2] = units_[core_index(core)];
        now_.join(units[1 - self]);
        units[self].join(now_);
        units[self].raise(agent, issued_[agent], nothing);
    }
}

void SyncNeeds::need(int agent, uint32_t number, int present_agent)
{
    conflicted_[agent][present_agent] = conflicted_[present_agent][agent] = true;
    if (now_.of[agent].at >= number) {
        needed_[now_.of[agent].path] = true;
    }
}

void SyncNeeds::set_flag(const Core& core, Pipe source, Pipe target, int id, Use use)
{
    const int line = line_of(line_at(core, TILE_TIME_SET, source, target, use));
    flags_[flag_key(core, source, target, id)] = {completed(core, source), line};
}

void SyncNeeds::wait_flag(const Core& core, Pipe source, Pipe target, int id, Use use)
{
    const int line = line_of(line_at(core, TILE_TIME_WAIT, source, target, use));
    const int agent = agent_of(core, target);
    // What the scalar unit waited for by then is behind this wait, and behind the pipe's next instruction as well.
    known_[agent].join(known_[agent_of(core, Pipe::s)]);
    const auto flag = flags_.find(flag_key(core, source, target, id));
    if (flag != flags_.end() && flag->second.line != none) {
        const int sync = sync_of(flag->second.line, line);
        join_by(agent, flag->second.clock, sync, true);
        flag_syncs_[flag->first].insert(sync);
        if (flag->second.clock.of[agent_of(core, source)].at == 0) {
            handing_out_.insert(flag->first);
        }
    }
}

void SyncNeeds::barrier(const Core& core, Pipe pipe, Use use)
{
    const int agent = agent_of(core, pipe);
    const int sync = sync_of(line_of(line_at(core, TILE_TIME_BARRIER, pipe, pipe, use)), none);
    Clock& known = known_[agent];
    if (issued_[agent] > known.of[agent].at) {
        known.of[agent] = {issued_[agent], extended(nothing, sync)};
    }
}

void SyncNeeds::barrier_all(const Core& core, Use use)
{
    const int sync = sync_of(line_of(line_at(core, TILE_TIME_BARRIER_ALL, Pipe::s, Pipe::s, use)), none);
    Clock all;
    for (int pipe = 0; pipe < pipe_count; ++pipe) {
        all.join(completed(core, Pipe(pipe)));
    }
    for (int pipe = 0; pipe < pipe_count; ++pipe) {
        join_by(agent_of(core, Pipe(pipe)), all, sync, false);
    }
}

void SyncNeeds::hand_on(const Core& core, Pipe pipe)
{
    const Clock clock = completed(core, pipe);
    for (const Entry& entry : clock.of) {
        needed_[entry.path] = true;
    }
}

void SyncNeeds::join_by(int agent, const Clock& clock, int sync, bool hands_back)
{
    for (int other = 0; other < agent_count; ++other) {
        const Entry& entry = clock.of[other];
        Entry& known = known_[agent].of[other];
        if (entry.at <= known.at) {
            continue;
        }
        known = {entry.at, extended(entry.path, sync)};
        if (hands_back && conflicted_[other][agent]) {
            needed_[known.path] = true;
        }
    }
}

int SyncNeeds::line_of(const SyncLine& line)
{
    const auto [entry, fresh] = numbers_.try_emplace(line, static_cast<int>(lines_.size()));
    if (fresh) {
        lines_.push_back(line);
    }
    return entry->second;
}

int SyncNeeds::sync_of(int first, int second)
{
    const auto [entry, fresh] = sync_numbers_.try_emplace({first, second}, static_cast<int>(syncs_.size()));
    if (fresh) {
        syncs_.push_back({first, second});
    }
    return entry->second;
}

uint32_t SyncNeeds::extended(uint32_t path, int sync)
{
    const auto [entry, fresh] = extended_.try_emplace({path, sync}, nothing);
    if (fresh) {
        std::vector<int> syncs = paths_[path];
        const auto place = std::lower_bound(syncs.begin(), syncs.end(), sync);
        if (place == syncs.end() || *place != sync) {
            syncs.insert(place, sync);
        }
        const auto [number, unknown] = path_numbers_.try_emplace(syncs, static_cast<uint32_t>(paths_.size()));
        if (unknown) {
            paths_.push_back(syncs);
            needed_.push_back(false);
        }
        entry->second = number->second;
    }
    return entry->second;
}

void SyncLines::add(const SyncNeeds& needs)
{
    known_all_ = known_all_ && needs.known_all_;
    std::vector<bool> needed(needs.syncs_.size(), false);
    for (size_t path = 0; path < needs.paths_.size(); ++path) {
        for (const int sync : needs.paths_[path]) {
            needed[size_t(sync)] = needed[size_t(sync)] || needs.needed_[path];
        }
    }
    for (const SyncLine& line : needs.lines_) {
        needed_.try_emplace(line, false);
    }
    for (size_t sync = 0; sync < needed.size(); ++sync) {
        const auto [first, second] = needs.syncs_[sync];
        const SyncLine& line = needs.lines_[size_t(first)];
        needed_[line] = needed_[line] || needed[sync];
        if (second >= 0) {
            bool& pair = pairs_[{line, needs.lines_[size_t(second)]}];
            pair = pair || needed[sync];
            links_.insert({line, needs.lines_[size_t(second)]});
        }
    }
    for (const int flag : needs.handing_out_) {
        const std::set<int>& syncs = needs.flag_syncs_.at(flag);
        for (const int sync : syncs) {
            links_.insert({needs.lines_[size_t(needs.syncs_[size_t(*syncs.begin())].first)],
                needs.lines_[size_t(needs.syncs_[size_t(sync)].first)]});
        }
    }
}

namespace {

// Cycles for which pipes stood still at a line.
double cycles_at(
    const SyncLine& line, const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings)
{
    double cycles = 0;
    for (const TileTimeEvent& event : events) {
        const bool flag = line.kind != TILE_TIME_WAIT || event.source == uint8_t(line.source);
        if (event.kind == line.kind && event.line == line.line && event.pipe == uint8_t(line.target) && flag &&
            std::strcmp(strings[event.file], line.file) == 0) {
            cycles += event.waited;
        }
    }
    return cycles;
}

Fault fault_at(const char* kind, const SyncLine& line, const char* api, std::string text, const char* hint)
{
    Fault fault;
    fault.kind = kind;
    fault.text = std::move(text);
    fault.file = line.file;
    fault.line = line.line;
    fault.api = api;
    fault.hint = hint;
    return fault;
}

}  // namespace

std::vector<Fault> SyncLines::redundant(
    const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings) const
{
    std::vector<Fault> remarks;
    if (!known_all_) {
        return remarks;
    }
    // A set goes only with all waits that it meets, and the same the other way round.
    std::map<SyncLine, bool> needed = needed_;
    for (const auto& [pair, used] : pairs_) {
        const bool kept = used || !pair.first.by_hand || !pair.second.by_hand;
        needed[pair.first] = needed[pair.first] || kept;
        needed[pair.second] = needed[pair.second] || kept;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto& link : links_) {
            bool& first = needed[link.first];
            bool& second = needed[link.second];
            changed = changed || first != second;
            first = second = first || second;
        }
    }
    for (const auto& [line, used] : needed) {
        if (used || !line.by_hand) {
            continue;
        }
        if (line.kind == TILE_TIME_BARRIER || line.kind == TILE_TIME_BARRIER_ALL) {
            const char* pipe = line.kind == TILE_TIME_BARRIER ? pipe_names[int(line.source)] : "ALL";
            remarks.push_back(fault_at("redundant-barrier", line, "PipeBarrier",
                text_of("PipeBarrier<PIPE_%s> orders no two accesses that conflict: in this run flags and other "
                        "barriers order all of them; pipes wait here for %.0f modelled cycles",
                    pipe, cycles_at(line, events, strings)),
                "leave out this barrier"));
            continue;
        }
        const auto meets = [&](const auto& entry) { return entry.first.first.key() == line.key(); };
        const auto pair = std::find_if(pairs_.begin(), pairs_.end(), meets);
        if (line.kind != TILE_TIME_SET || pair == pairs_.end()) {
            continue;
        }
        const SyncLine& wait = pair->first.second;
        const char* from = pipe_names[int(line.source)];
        const char* to = pipe_names[int(line.target)];
        Fault fault = fault_at("redundant-flag", line, "SetFlag",
            text_of("SetFlag<HardEvent::%s_%s> and the WaitFlag at %s:%u order no two accesses that conflict: in this "
                    "run other flags and barriers order all of them; the wait costs %.0f modelled cycles",
                from, to, wait.file, wait.line, cycles_at(wait, events, strings)),
            "leave out this SetFlag and its WaitFlag");
        fault.other = {wait.file, wait.line};
        remarks.push_back(std::move(fault));
    }
    const auto place = [](const Fault& fault) { return std::tie(fault.file, fault.line, fault.kind); };
    std::sort(remarks.begin(), remarks.end(), [&](const Fault& a, const Fault& b) { return place(a) < place(b); });
    return remarks;
}

std::vector<Fault> Launch::redundant_syncs(
    const std::vector<TileTimeEvent>& events, const std::vector<const char*>& strings) const
{
    return sync_lines_ != nullptr ? sync_lines_->redundant(events, strings) : std::vector<Fault>{};
}

}  // namespace tile_simulator
