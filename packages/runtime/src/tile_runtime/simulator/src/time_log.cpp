#include "time_log.h"

#include <algorithm>

#include "bank_conflicts.h"
#include "l2_cache.h"
#include "launch.h"

namespace tile_simulator {
namespace {

uint64_t bytes_of(const Operand& operand)
{
    return operand.region.run * operand.region.inner * operand.region.outer;
}

const Operand* find(const Instruction& instruction, bool write)
{
    for (int i = 0; i < instruction.count; ++i) {
        if (instruction.operands[i].write == write) {
            return &instruction.operands[i];
        }
    }
    return nullptr;
}

// Whether two walks through a local memory share bytes; told by their first and last ones where their rows lie unlike.
bool share_bytes(const Region& one, const Region& other)
{
    if (one.run == 0 || other.run == 0 || one.end() <= other.start || other.end() <= one.start) {
        return false;
    }
    const Region a = one.compact();
    const Region b = other.compact();
    const uint64_t pitch = a.inner > 1 ? a.inner_stride : b.inner_stride;
    const auto fits = [&](const Region& r) { return r.outer == 1 && (r.inner == 1 || r.inner_stride == pitch); };
    if (pitch == 0 || !fits(a) || !fits(b) || a.run > pitch || b.run > pitch) {
        return true;
    }
    const uint64_t ahead = (a.start % pitch + pitch - b.start % pitch) % pitch;
    return ahead < b.run || ahead + a.run > pitch;
}

Route route_of(const Operand& dst, const Operand& src)
{
    if (src.memory == Memory::gm) {
        return dst.memory == Memory::ub ? Route::gm_ub : Route::gm_l1;
    }
    if (dst.memory == Memory::gm) {
        return src.memory == Memory::ub   ? Route::ub_gm
               : src.memory == Memory::l1 ? Route::l1_gm
                                          : Route::l0c_gm;
    }
    return Route::none;
}

// Whether some row starts inside a line of L2.
bool starts_off_line(const Core& core, const Region& rows)
{
    const GlobalBuffer* const buffer = core.block.launch().buffers().find(rows.start);
    const auto off = [](uint64_t bytes) { return bytes % L2Cache::line_bytes != 0; };
    return buffer != nullptr && (off(rows.start - buffer->begin) || (rows.inner > 1 && off(rows.inner_stride)) ||
                                    (rows.outer > 1 && off(rows.outer_stride)));
}

// Events of a core that are kept one by one, and what a folded one may take: sums of cycles stay exact in a float.
constexpr size_t events_kept = size_t(1) << 18;
constexpr size_t lines_looked_at = 64;
constexpr float most_cycles = float(1 << 20);

// The unit that lays rows out in fractals is slower with rows that do not start on 32 B.
double unaligned_row_cycles(const Core& core, const Region& rows, const TileTiming& timing)
{
    const uint64_t buffer = core.block.launch().buffers().find(rows.start)->begin;
    const bool aligned = (rows.start - buffer) % 32 == 0 && rows.inner_stride % 32 == 0 && rows.outer_stride % 32 == 0;
    return aligned ? 0 : double(rows.run) / timing.nd2nz_unaligned_rate;
}

}  // namespace

void TimeLog::clear()
{
    events_.clear();
    regions_.clear();
    word_acts_.clear();
    looks_.clear();
    stores_.clear();
    accesses_.clear();
    vector_shapes_.clear();
    latest_count_ = 0;
    product_ = Region{};
    scalar_from_ = 0;
    macs = 0;
}

TimeEvent& TimeLog::add(const Core& core, TileTimeKind kind, Pipe pipe, const char* api, Where at)
{
    if (core.site.file != nullptr) {
        at = core.site;
    }
    events_.push_back(
        {api, at.file, 0, 0, 0, 0, at.line, -1, Route::none, kind, uint8_t(pipe), 0, 0, 0, 0, false, false});
    if (kind != TILE_TIME_WORK || pipe != Pipe::s) {
        scalar_from_ = events_.size();
    }
    return events_.back();
}

TimeEvent* TimeLog::folded(const Instruction& instruction)
{
    if (instruction.pipe != Pipe::s || instruction.polls || events_.size() < events_kept) {
        return nullptr;
    }
    const Core& core = instruction.core;
    const Where at = core.site.file != nullptr ? core.site : instruction.use.at;
    const size_t first = std::max(scalar_from_, events_.size() - lines_looked_at);
    for (size_t i = events_.size(); i-- > first;) {
        TimeEvent& event = events_[i];
        if (event.line == at.line && event.file == at.file && event.api == instruction.use.api &&
            event.work < most_cycles) {
            return &event;
        }
    }
    return nullptr;
}

bool TimeLog::widened(const TileTimeAccess& access)
{
    const size_t first = accesses_.size() - std::min(accesses_.size(), 2 * lines_looked_at);
    for (size_t i = accesses_.size(); i-- > first;) {
        TileTimeAccess& other = accesses_[i];
        if (other.event == access.event && other.memory == access.memory && other.kind == access.kind &&
            other.made == access.made && other.buffer_begin == access.buffer_begin) {
            other.begin = std::min(other.begin, access.begin);
            other.end = std::max(other.end, access.end);
            return true;
        }
    }
    return false;
}

bool TimeLog::follows_vector(const Instruction& instruction)
{
    bool found = false;
    const size_t known = std::min(latest_count_, latest_.size());
    const Operand* const result = find(instruction, true);
    for (int i = 0; i < instruction.count && !found; ++i) {
        const Operand& operand = instruction.operands[i];
        // What an instruction adds to stays in the unit from one to the next.
        const bool added_to = result != nullptr && operand.name == result->name;
        const bool read = !operand.write && operand.memory == Memory::ub && !added_to;
        for (size_t k = 0; k < known && read; ++k) {
            found = found || share_bytes(operand.region, latest_[k]);
        }
    }
    if (found) {
        latest_count_ = 0;
    }
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        if (operand.write && operand.memory == Memory::ub) {
            latest_[latest_count_++ % latest_.size()] = operand.region;
        }
    }
    return found;
}

bool TimeLog::follows_product(const Instruction& instruction)
{
    bool found = false;
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        found = found || (!operand.write && operand.memory == Memory::l0c && share_bytes(operand.region, product_));
    }
    product_ = find(instruction, true)->region;
    return found;
}

// The rules of docs/hardware/time_model.md#how-a-launch-is-replayed.
void TimeLog::instruction(const Instruction& instruction, const TileTiming& timing)
{
    const Core& core = instruction.core;
    TimeEvent* const same_line = folded(instruction);
    TimeEvent& event = same_line != nullptr
                           ? *same_line
                           : add(core, TILE_TIME_WORK, instruction.pipe, instruction.use.api, instruction.use.at);
    const uint32_t number = uint32_t(&event - events_.data());
    const bool atomic = core.atomic != AtomicKind::none &&
                        (instruction.pipe == Pipe::mte3 || instruction.pipe == Pipe::fix);
    for (int i = 0; i < instruction.count; ++i) {
        const Operand& operand = instruction.operands[i];
        const Buffer& buffer = operand.buffer;
        const bool gm = operand.memory == Memory::gm;
        const bool updates = atomic && operand.write && gm;
        const Region rows = gm ? operand.region.compact() : Region{};
        const TileTimeAccess access = {operand.region.start, operand.region.end(), number, buffer.made.line,
            buffer.begin, buffer.end, uint8_t(operand.memory), uint8_t(updates ? 2 : operand.write ? 1 : 0),
            uint8_t(gm && starts_off_line(core, rows)), 0, uint32_t(gm ? rows.inner * rows.outer : 0)};
        if (same_line == nullptr || !widened(access)) {
            accesses_.push_back(access);
        }
        if (gm && operand.write && same_line == nullptr && bytes_of(operand) <= GlobalFlags::largest_store) {
            stores_.push_back({access.begin, access.end, core.block.launch().next_store(), number});
        }
    }
    const Operand* dst = find(instruction, true);
    const Operand* src = find(instruction, false);
    const auto takes = [&](double work, double done) {
        event.work = float(work);
        event.done = float(done);
    };
    event.unit_flag = instruction.unit_flag;
    switch (instruction.pipe) {
        case Pipe::s: {
            const Operand* operand = dst != nullptr ? dst : src;
            const bool gm = operand != nullptr && operand->memory == Memory::gm;
            const double work = gm ? timing.scalar_gm : operand != nullptr ? timing.scalar_local : timing.scalar_issue;
            return takes(double(event.work) + work, double(event.done) + work);
        }
        case Pipe::v: {
            std::vector<BankOperand> operands = bank_operands(instruction);
            const uint64_t conflict = bank_conflict_cycles(operands, instruction.passes);
            const double least = std::max(timing.vector_issue, double(instruction.work));
            const double work = std::max(timing.vector_issue, double(instruction.work + conflict));
            event.conflict = float(work - least);
            vector_shapes_.add(
                {{event.file, event.line}, instruction.work, instruction.passes, std::move(operands)});
            event.dependent = follows_vector(instruction);
            return takes(work, instruction.is_sum ? std::max(work + timing.vector_latency, timing.sum_latency)
                                                  : work + timing.vector_latency);
        }
        case Pipe::m: {
            const bool adds = follows_product(instruction);
            const double more = adds ? timing.cube_addition : timing.cube_issue;
            const double work = std::max(timing.cube_least, more + double(instruction.work));
            macs += instruction.macs;
            return takes(work, work + timing.cube_latency);
        }
        case Pipe::mte1: {
            if (dst->memory == Memory::bias) {
                break;
            }
            const double bytes = double(bytes_of(*dst) * instruction.passes);
            const double work = bytes / (dst->memory == Memory::l0a ? timing.l0a_rate : timing.l0b_rate);
            return takes(timing.load_issue + work,
                work + (instruction.is_3d ? timing.load_3d_latency : timing.load_latency));
        }
        default:
            break;
    }
    if (dst == nullptr) {
        return;
    }
    event.route = src != nullptr ? route_of(*dst, *src) : Route::none;
    if (dst->memory == Memory::fixpipe || dst->memory == Memory::bias) {
        const double work = std::max(timing.table_issue, double(bytes_of(*dst)) / timing.table_rate);
        return takes(work, work + timing.table_latency);
    }
    if (event.route == Route::none) {
        const double work = instruction.pipe == Pipe::fix
                                ? timing.fix_issue + double(bytes_of(*src)) / 4 / timing.fix_l1_rate  // L0C to L1
                                : timing.load_issue + double(bytes_of(*dst)) / timing.fill_rate;  // a constant to L1
        return takes(work, work);
    }
    const Operand& gm = dst->memory == Memory::gm ? *dst : *src;
    takes(timing.dma_issue, 0);
    if (instruction.is_nd2nz) {
        event.rows = uint32_t(gm.region.inner * gm.region.outer);
        takes(std::max(timing.dma_issue, event.rows * unaligned_row_cycles(core, gm.region, timing)), 0);
    }
    event.past_l2 = instruction.past_l2;
    event.region = int32_t(regions_.size());
    regions_.push_back(gm.region);
}

void TimeLog::look(const WordLook& look)
{
    const size_t latest = events_.size() - 1;
    scalar_from_ = events_.size();
    if (latest > 0 && events_[latest - 1].pipe == uint8_t(Pipe::s) && events_[latest - 1].region >= 0 &&
        events_[latest - 1].kind == TILE_TIME_WORK && looks_.back().word == look.word) {
        looks_.back().seen = look.seen;
        while (!accesses_.empty() && accesses_.back().event == latest) {
            accesses_.pop_back();
        }
        events_.pop_back();
        scalar_from_ = events_.size();
        return;
    }
    events_.back().region = int32_t(looks_.size());
    looks_.push_back(look);
}

void TimeLog::engine_copy(const Instruction& instruction)
{
    TimeEvent& event =
        add(instruction.core, TILE_TIME_WORK, Pipe(engine_place), instruction.use.api, instruction.use.at);
    event.route = Route::engine;
    event.region = int32_t(regions_.size());
    for (int i = 0; i < instruction.count; ++i) {
        const Region& region = instruction.operands[i].region;
        regions_.push_back(region);
        accesses_.push_back({region.start, region.end(), uint32_t(events_.size() - 1), 0, 0, 0, uint8_t(Memory::gm),
            uint8_t(instruction.operands[i].write ? 1 : 0), 0, 0, 1});
    }
}

void TimeLog::engine_wait(const Core& core, Use use)
{
    add(core, TILE_TIME_ENGINE_WAIT, Pipe::s, use.api, use.at);
}

void TimeLog::set(const Core& core, Pipe source, Pipe target, int id, Where at)
{
    TimeEvent& event = add(core, TILE_TIME_SET, source, "SetFlag", at);
    event.source = uint8_t(target);
    event.flag = uint8_t(id);
}

void TimeLog::wait(const Core& core, Pipe source, Pipe target, int id, Where at)
{
    TimeEvent& event = add(core, TILE_TIME_WAIT, target, "WaitFlag", at);
    event.source = uint8_t(source);
    event.flag = uint8_t(id);
}

void TimeLog::barrier(const Core& core, Pipe pipe, Where at)
{
    add(core, TILE_TIME_BARRIER, pipe, "PipeBarrier", at);
    latest_count_ = pipe == Pipe::v ? 0 : latest_count_;
}

void TimeLog::barrier_all(const Core& core, Where at)
{
    add(core, TILE_TIME_BARRIER_ALL, Pipe::s, "PipeBarrier", at);
    latest_count_ = 0;
}

void TimeLog::cross_set(const Core& core, Pipe pipe, int id, uint32_t mode, Where at)
{
    TimeEvent& event = add(core, TILE_TIME_CROSS_SET, pipe, "CrossCoreSetFlag", at);
    event.flag = uint8_t(id);
    event.mode = uint8_t(mode);
}

void TimeLog::cross_wait(const Core& core, int id, Where at)
{
    TimeEvent& event = add(core, TILE_TIME_CROSS_WAIT, Pipe::s, "CrossCoreWaitFlag", at);
    event.flag = uint8_t(id);
}

void TimeLog::signal(const Core& core, const WordAct& act, Use use)
{
    add(core, TILE_TIME_SIGNAL, Pipe::s, use.api, use.at).region = int32_t(word_acts_.size());
    word_acts_.push_back(act);
}

void TimeLog::word_wait(const Core& core, const WordAct& act, Use use)
{
    add(core, TILE_TIME_WORD_WAIT, Pipe::s, use.api, use.at).region = int32_t(word_acts_.size());
    word_acts_.push_back(act);
}

void TimeLog::rank_barrier(const Core& core, bool vector, Use use)
{
    add(core, TILE_TIME_RANK_BARRIER, Pipe::s, use.api, use.at).flag = vector ? 1 : 0;
}

}  // namespace tile_simulator
