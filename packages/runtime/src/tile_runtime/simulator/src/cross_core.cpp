// Cross-core flags: 16 counters per core, modes 0, 1 and 2 (hardware.md 1.5), SyncAll and the scalar data cache.
#include "ascend_c/cross_core.h"

#include <algorithm>

#include "instruction.h"
#include "launch.h"
#include "sync_state.h"

namespace tile_simulator {
namespace {

void add(Core& target, int id, uint32_t sets, Use use)
{
    CrossFlag& flag = target.cross[id];
    flag.count += sets;
    if (flag.count > cross_flag_limit) {
        raise("flag-overflow", use,
            text_of("%s: counter %d of block %u %s would reach %u, but a cross-core counter holds at most %u: wait for "
                    "it in time, or hold back with a flag in the other direction",
                use.api, id, target.block.index(), target.name().c_str(), flag.count, cross_flag_limit));
    }
}

Pipe pipe_of(pipe_t pipe)
{
    switch (pipe) {
        case PIPE_V:
            return Pipe::v;
        case PIPE_M:
            return Pipe::m;
        case PIPE_MTE1:
            return Pipe::mte1;
        case PIPE_MTE2:
            return Pipe::mte2;
        case PIPE_MTE3:
            return Pipe::mte3;
        case PIPE_FIX:
            return Pipe::fix;
        default:
            return Pipe::s;
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

void set_grid_wide(Core& core, int id, Use use)
{
    Launch& launch = core.block.launch();
    const uint32_t cores = core.is_vector() ? launch.options().vector_cores : launch.options().cube_cores;
    if (core.device_checks && launch.participants(core.kind) > cores) {
        raise("deadlock", use,
            text_of("%s: all %s of the kernel must meet, but the launch needs %u of them and the device runs %u at a "
                    "time",
                use.api, core.is_vector() ? "AIVs" : "AICs", launch.participants(core.kind), cores));
    }
    launch.arrive(core.kind, id, core.cross[id].rounds_set++);
}

// Counts a set of one AIV that needs its partner; on completion raises the counters of the targets.
void set_paired(Core& core, int id, uint32_t mode, uint32_t aivs, Use use)
{
    Block& block = core.block;
    uint32_t (&sets)[2][cross_flags] = block.pair_sets[mode - 1];
    ++sets[core.sub][id];
    const uint32_t complete = aivs == 1 ? sets[0][id] : std::min(sets[0][id], sets[1][id]);
    if (complete == 0) {
        return;
    }
    for (uint32_t sub = 0; sub < aivs; ++sub) {
        sets[sub][id] -= complete;
        if (mode == 1) {
            add(block.core(1 + int(sub)), id, complete, use);
        }
    }
    if (mode == 2) {
        add(block.core(0), id, complete, use);
    }
}

}  // namespace

bool cross_flag_ready(Core& core, int id)
{
    CrossFlag& flag = core.cross[id];
    const uint32_t rounds = core.block.launch().rounds(core.kind, id);
    flag.count += rounds - flag.rounds_seen;
    flag.rounds_seen = rounds;
    return flag.count > 0;
}

void cross_core_set(uint32_t mode, pipe_t pipe, int64_t id, Use use)
{
    Core& core = core_of(use);
    Instruction(core, pipe_of(pipe), use).issue();
    check_use(core, id, use);
    if (core.device_checks && core.is_vector() && (pipe == PIPE_M || pipe == PIPE_MTE1 || pipe == PIPE_FIX)) {
        raise("bad-argument", use, text_of("%s: an AIV does not have this pipe", use.api));
    }
    if (core.device_checks && !core.is_vector() && pipe == PIPE_V) {
        raise("bad-argument", use, text_of("%s: an AIC does not have PIPE_V", use.api));
    }
    const int flag = static_cast<int>(id);
    const KernelShape shape = core.block.launch().shape();
    if (mode == 0) {
        set_grid_wide(core, flag, use);
    } else if (mode == 1) {
        if (!core.is_vector()) {
            raise("bad-argument", use, text_of("%s: mode 1 is between the two AIVs of a core", use.api));
        }
        set_paired(core, flag, 1, shape.aiv, use);
    } else if (core.is_vector()) {
        set_paired(core, flag, 2, shape.aiv, use);
    } else {
        for (uint32_t sub = 0; sub < shape.aiv; ++sub) {
            add(core.block.core(1 + int(sub)), flag, 1, use);
        }
    }
}

void cross_core_wait(int64_t id, Use use)
{
    Core& core = core_of(use);
    Instruction(core, Pipe::s, use).issue();
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
}

void check_cross_flags_at_exit(Block& block)
{
    const KernelShape shape = block.launch().shape();
    for (int i = 0; i < Block::core_count; ++i) {
        Core& core = block.core(i);
        const bool part = core.is_vector() ? core.sub < shape.aiv : shape.aic > 0;
        for (int id = 0; part && id < cross_flags; ++id) {
            if (core.cross[id].count == 0) {
                continue;
            }
            Fault fault;
            fault.kind = "flag-left-set";
            fault.text = text_of(
                "cross-core counter %d is still %u when the kernel ends: every set must be matched by "
                "a CrossCoreWaitFlag(%d) on this core",
                id, core.cross[id].count, id);
            fault.api = "CrossCoreSetFlag";
            block.launch().report(core, std::move(fault));
            return;
        }
    }
}

// Flag ids as in the device's SyncAll: 14 for AIVs alone; 12, 11, 13 for both kinds.
void sync_all(bool vector_cores_only, Use use)
{
    Core& core = core_of(use);
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
    (void)address;
    (void)entire;
    Instruction(core_of(use), Pipe::s, use).issue();
}

}  // namespace tile_simulator
