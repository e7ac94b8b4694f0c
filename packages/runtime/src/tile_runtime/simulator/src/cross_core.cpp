// Cross-core flags: 16 counters per core, modes 0, 1 and 2 (docs/hardware/index.md#flags-between-cores), SyncAll and
// the scalar data cache (docs/hardware/units.md#data-cache).
#include "ascend_c/cross_core.h"

#include <algorithm>

#include "ascend_c/sync.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "sync_state.h"
#include "time_log.h"

namespace tile_simulator {
namespace {

// A use at the place in the kernel that stands for it.
Use placed(const Core& core, Use use)
{
    return {use.api, core.site.file != nullptr ? core.site : use.at};
}

void add(Core& target, int id, const VectorClock& clock, Use use)
{
    CrossFlag& flag = target.cross[id];
    ++flag.count;
    target.block.cross_sets.raise(core_index(target), id, placed(*current_core, use));
    if (OrderChecks* order = target.block.order()) {
        order->raise_counter(target, id, clock);
    }
    if (flag.count > cross_flag_limit) {
        raise("flag-overflow", use, overflow_text(use.api, target, id, flag.count));
    }
}

// The cores whose counters a set of mode 1 or 2 raises: bit i for core i of the block.
uint32_t raised_by(const Core& core, uint32_t mode)
{
    const uint32_t aivs = core.block.launch().shape().aiv == 2 ? 6 : 2;
    return mode == 2 && core.is_vector() ? 1 : aivs;
}

// Without the checks of the device, a core that runs ahead of its readers lets them catch up: the kernel has schedules
// in which it does not run ahead. With them the overflow is reported, since nothing of the kernel's own prevents it.
void wait_for_room(Core& core, int id, uint32_t mode, Use use)
{
    while (!core.device_checks && mode != 0 && !cross_flag_has_room(core, id, mode)) {
        core.full_id = id;
        core.full_mode = mode;
        core.waiting_use = use;
        core.coroutine.suspend();
        core.full_id = -1;
        if (core.stopped()) {
            throw Stopped{};
        }
    }
}

void check_use(const Core& core, int64_t id, Use use)
{
    if (id < 0 || id >= cross_flags) {
        raise("bad-argument", use,
            text_of("%s: flag id is %lld, but must be 0..%d", use.api, static_cast<long long>(id), cross_flags - 1));
    }
    if (core.device_checks && !core.block.launch().shape().scheduler) {
        raise("bad-argument", use,
            text_of("%s: cross-core flags work only in kernels of a MIX type; this one is %s", use.api,
                core.is_vector() ? "KERNEL_TYPE_AIV_ONLY (use KERNEL_TYPE_MIX_AIV_1_0)"
                                 : "KERNEL_TYPE_AIC_ONLY (use KERNEL_TYPE_MIX_AIC_1_0)"));
    }
}

void set_grid_wide(Core& core, int id, const VectorClock& clock, Use use)
{
    Launch& launch = core.block.launch();
    const uint32_t cores = core.is_vector() ? launch.options().vector_cores : launch.options().cube_cores;
    if (core.device_checks && launch.participants(core.kind) > cores) {
        raise("deadlock", use,
            text_of("%s: all %s of the kernel must meet, but the launch needs %u of them and the device runs %u at a "
                    "time",
                use.api, core.is_vector() ? "AIVs" : "AICs", launch.participants(core.kind), cores));
    }
    const uint32_t round = core.cross[id].rounds_set++;
    core.block.cross_sets.join(core_index(core), id, placed(core, use));
    OrderChecks* order = core.block.order();
    std::shared_ptr<const Handover> handover;
    if (order != nullptr) {
        order->join_round(core, launch.grid_slot(core.kind, id, use), round, clock);
        handover = order->hand_over(core, clock);
    }
    launch.arrive(core, id, round, handover.get());
}

// Counts a set of one AIV that needs its partner; on completion raises the counters of the targets.
void set_paired(Core& core, int id, uint32_t mode, uint32_t aivs, const VectorClock& clock, Use use)
{
    Block& block = core.block;
    CrossSets& sets = block.cross_sets;
    sets.paired(mode, id, core.sub).push_back({clock, placed(core, use)});
    VectorClock both;
    for (uint32_t sub = 0; sub < aivs; ++sub) {
        const std::vector<CrossSets::PairedSet>& own = sets.paired(mode, id, sub);
        if (own.empty()) {
            return;
        }
        both.join(own.front().clock);
    }
    for (uint32_t sub = 0; sub < aivs; ++sub) {
        std::vector<CrossSets::PairedSet>& own = sets.paired(mode, id, sub);
        own.erase(own.begin());
        if (mode == 1) {
            add(block.core(1 + int(sub)), id, both, use);
        }
    }
    if (mode == 2) {
        add(block.core(0), id, both, use);
    }
}

}  // namespace

std::string overflow_text(const char* api, const Core& target, int id, uint32_t count)
{
    return text_of("%s: counter %d of %s %s would reach %u, but a cross-core counter holds at most %u: wait for "
                   "it in time, or hold back with a flag in the other direction",
        api, id, target.block.launch().name_of_block(target.block.index()).c_str(), target.name().c_str(), count, cross_flag_limit);
}

bool cross_flag_has_room(Core& core, int id, uint32_t mode)
{
    for (int i = 0; i < Block::core_count; ++i) {
        if ((raised_by(core, mode) >> i & 1) != 0 && core.block.core(i).cross[id].count >= cross_flag_limit) {
            return false;
        }
    }
    return true;
}

bool cross_flag_ready(Core& core, int id)
{
    CrossFlag& flag = core.cross[id];
    const uint32_t rounds = core.block.launch().rounds(core.block.rank(), core.kind, id);
    flag.count += rounds - flag.rounds_seen;
    core.block.cross_sets.complete_rounds(core_index(core), id, rounds - flag.rounds_seen);
    flag.rounds_seen = rounds;
    return flag.count > 0;
}

void cross_core_set(uint32_t mode, pipe_t pipe, int64_t id, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    check_use(core, id, use);
    if (core.device_checks && core.is_vector() && (pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_FIX)) {
        raise("bad-argument", use, text_of("%s: an AIV does not have this pipe", use.api));
    }
    if (core.device_checks && !core.is_vector() && pipe == PIPE_V) {
        raise("bad-argument", use, text_of("%s: an AIC does not have PIPE_V", use.api));
    }
    const int flag = static_cast<int>(id);
    wait_for_room(core, flag, mode, use);
    if (core.time_log != nullptr) {
        core.time_log->cross_set(core, pipe_of(pipe), flag, mode, use.at);
    }
    const KernelShape shape = core.block.launch().shape();
    OrderChecks* order = core.block.order();
    const VectorClock clock = order != nullptr ? order->handed_on(core, pipe_of(pipe)) : VectorClock{};
    if (mode == 0) {
        set_grid_wide(core, flag, clock, use);
    } else if (mode == 1) {
        if (!core.is_vector()) {
            raise("bad-argument", use, text_of("%s: mode 1 is between the two AIVs of a core", use.api));
        }
        set_paired(core, flag, 1, shape.aiv, clock, use);
    } else if (core.is_vector()) {
        set_paired(core, flag, 2, shape.aiv, clock, use);
    } else {
        for (uint32_t sub = 0; sub < shape.aiv; ++sub) {
            add(core.block.core(1 + int(sub)), flag, clock, use);
        }
    }
    if (core.block.gives_way()) {
        core.coroutine.suspend();
        if (core.stopped()) {
            throw Stopped{};
        }
    }
}

void cross_core_wait(int64_t id, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    check_use(core, id, use);
    const int flag = static_cast<int>(id);
    core.waiting_use = use;
    while (!cross_flag_ready(core, flag)) {
        core.waiting_id = flag;
        core.coroutine.suspend();
        core.waiting_id = -1;
        if (core.stopped()) {
            throw Stopped{};
        }
    }
    --core.cross[flag].count;
    core.block.cross_sets.wait(core_index(core), flag);
    if (core.time_log != nullptr) {
        core.time_log->cross_wait(core, flag, use.at);
    }
    OrderChecks* order = core.block.order();
    if (order == nullptr) {
        return;
    }
    order->lower_counter(core, flag);
    if (core.cross[flag].rounds_waited < core.cross[flag].rounds_seen) {
        const int slot = core.block.launch().grid_slot(core.kind, flag, use);
        const uint32_t round = core.cross[flag].rounds_waited++;
        order->leave_round(core, slot, round, core.block.launch().round_handover(core.block.rank(), slot, round));
    }
}

// Flag ids as in the device's SyncAll: 14 for AIVs alone; 12, 11, 13 for both kinds.
void sync_all(bool vector_cores_only, Use use)
{
    Core& core = core_of(use);
    pipe_barrier(PIPE_ALL, use);  // as the device's does
    if (vector_cores_only) {
        cross_core_set(0, PIPE_MTE3, 14, use);
        cross_core_wait(14, use);
    } else if (core.is_vector()) {
        cross_core_set(2, PIPE_MTE3, 12, use);
        cross_core_wait(13, use);
    } else {
        cross_core_wait(12, use);
        cross_core_set(0, PIPE_FIX, 11, use);
        cross_core_wait(11, use);
        cross_core_set(2, PIPE_MTE3, 13, use);
    }
}

void clean_data_cache(uint64_t address, bool entire, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    core.polling.possible = true;
    const GlobalBuffer* buffer = core.block.launch().buffers().find(address);
    const uint64_t base = buffer != nullptr ? buffer->begin : 0;
    const uint64_t line = ScalarCache::line_of(base, address);
    // GM has the bytes before anybody is told.
    if (entire) {
        core.cache.clean_all();
    }
    const bool clean = entire || core.cache.clean(base, address);
    if (OrderChecks* order = core.block.order()) {
        order->cache_written_back(
            core, entire ? 0 : line, entire ? ~uint64_t(0) : line + ScalarCache::line_bytes, clean);
    }
}

}  // namespace tile_simulator
