// Flags between pipes of one core, barriers, and kernel types. Binary flags per (source pipe, destination pipe, id).
//
// Instructions run in program order, so a wait whose flag is not set can never go on (docs/hardware/index.md#flags).
#include "ascend_c/sync.h"

#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "sync_state.h"
#include "time_log.h"

namespace tile_simulator {
namespace {

struct Event {
    const char* name;
    Pipe source;
    Pipe target;
};

// In the order of HardEvent.
constexpr Event events[] = {
    {"MTE2_MTE1", Pipe::mte2, Pipe::mte1},
    {"MTE1_MTE2", Pipe::mte1, Pipe::mte2},
    {"MTE1_M", Pipe::mte1, Pipe::m},
    {"M_MTE1", Pipe::m, Pipe::mte1},
    {"MTE2_V", Pipe::mte2, Pipe::v},
    {"V_MTE2", Pipe::v, Pipe::mte2},
    {"MTE3_V", Pipe::mte3, Pipe::v},
    {"V_MTE3", Pipe::v, Pipe::mte3},
    {"M_V", Pipe::m, Pipe::v},
    {"V_M", Pipe::v, Pipe::m},
    {"V_V", Pipe::v, Pipe::v},
    {"MTE3_MTE1", Pipe::mte3, Pipe::mte1},
    {"MTE1_MTE3", Pipe::mte1, Pipe::mte3},
    {"MTE1_V", Pipe::mte1, Pipe::v},
    {"MTE2_M", Pipe::mte2, Pipe::m},
    {"M_MTE2", Pipe::m, Pipe::mte2},
    {"V_MTE1", Pipe::v, Pipe::mte1},
    {"M_FIX", Pipe::m, Pipe::fix},
    {"FIX_M", Pipe::fix, Pipe::m},
    {"MTE3_MTE2", Pipe::mte3, Pipe::mte2},
    {"MTE2_MTE3", Pipe::mte2, Pipe::mte3},
    {"S_V", Pipe::s, Pipe::v},
    {"V_S", Pipe::v, Pipe::s},
    {"S_MTE2", Pipe::s, Pipe::mte2},
    {"MTE2_S", Pipe::mte2, Pipe::s},
    {"S_MTE3", Pipe::s, Pipe::mte3},
    {"MTE3_S", Pipe::mte3, Pipe::s},
    {"MTE2_FIX", Pipe::mte2, Pipe::fix},
    {"FIX_MTE2", Pipe::fix, Pipe::mte2},
    {"FIX_S", Pipe::fix, Pipe::s},
    {"M_S", Pipe::m, Pipe::s},
    {"FIX_MTE3", Pipe::fix, Pipe::mte3},
    {"MTE1_FIX", Pipe::mte1, Pipe::fix},
    {"FIX_MTE1", Pipe::fix, Pipe::mte1},
    {"FIX_FIX", Pipe::fix, Pipe::fix},
};
constexpr int event_count = sizeof(events) / sizeof(events[0]);

}  // namespace

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

namespace {

bool touches(const Event& event, Pipe pipe)
{
    return event.source == pipe || event.target == pipe;
}

bool legal_on(const Event& event, bool vector)
{
    if (vector) {
        return !touches(event, Pipe::m) && !touches(event, Pipe::mte1) && !touches(event, Pipe::fix);
    }
    return !touches(event, Pipe::v);
}

Event event_of(AscendC::HardEvent event, Use use)
{
    const int index = static_cast<int>(event);
    if (index >= event_count) {
        raise("bad-argument", use, text_of("%s: %d is no HardEvent", use.api, index));
    }
    return events[index];
}

// Flags with the vector pipe are compiled out on an AIC, as in the device headers (kernel_common.h, SetFlag).
bool ignored(const Core& core, const Event& event)
{
    return !core.is_vector() && touches(event, Pipe::v);
}

// The device has 16 flags per event, and kernels in production use them (docs/hardware/index.md#event-ids).
void report_event_id(Core& core, int64_t id, Use use)
{
    const Where at = core.site.file != nullptr ? core.site : use.at;
    Launch& launch = core.block.launch();
    const std::string text = text_of("%s: event id is %lld, but documents name 0..%d only", use.api,
        static_cast<long long>(id), documented_event_ids - 1);
    if (launch.options().checks >= TILE_CHECKS_STRICT) {
        return tell(core, "event-id", use, text);
    }
    if (!launch.warned("event-id", at.file, at.line, core.block.index())) {
        Fault fault;
        fault.kind = "event-id";
        fault.text = text;
        fault.file = at.file != nullptr ? at.file : "";
        fault.line = at.line;
        fault.api = use.api;
        launch.warn(core, std::move(fault));
    }
}

Flag& flag_of(Core& core, const Event& event, int64_t id, Use use)
{
    if (!legal_on(event, core.is_vector())) {
        raise("bad-argument", use,
            text_of("%s: event %s does not exist on an %s", use.api, event.name, core.is_vector() ? "AIV" : "AIC"));
    }
    if (id < 0 || id >= event_ids) {
        raise("bad-argument", use,
            text_of("%s: event id is %lld, but must be 0..%d", use.api, static_cast<long long>(id), event_ids - 1));
    }
    if (id >= documented_event_ids && core.device_checks) {
        report_event_id(core, id, use);
    }
    return core.flags[int(event.source)][int(event.target)][id];
}

}  // namespace

void set_flag(AscendC::HardEvent hard_event, int64_t id, Use use)
{
    Core& core = core_of(use);
    const Event event = event_of(hard_event, use);
    if (ignored(core, event)) {
        return;
    }
    enter(core, use);
    Flag& flag = flag_of(core, event, id, use);
    if (flag.set && core.device_checks) {
        tell(core, "flag-set-twice", use,
            text_of("%s: flag %s id %lld is already set (at %s:%u) and nothing waited for it since", use.api,
                event.name, static_cast<long long>(id), flag.at.file, flag.at.line));
    }
    core.flags_set += flag.set ? 0 : 1;
    flag = {true, core.site.file != nullptr ? core.site : use.at};
    if (OrderChecks* order = core.block.order()) {
        order->set_flag(core, event.source, event.target, int(id), use);
    }
    if (core.time_log != nullptr) {
        core.time_log->set(core, event.source, event.target, int(id), use.at);
    }
}

void wait_flag(AscendC::HardEvent hard_event, int64_t id, Use use)
{
    Core& core = core_of(use);
    const Event event = event_of(hard_event, use);
    if (ignored(core, event)) {
        return;
    }
    enter(core, use);
    Flag& flag = flag_of(core, event, id, use);
    if (!flag.set && core.device_checks) {
        tell(core, "flag-wait-without-set", use,
            text_of("%s: flag %s id %lld is not set, so this wait never ends: a SetFlag<HardEvent::%s>(%lld) must come "
                    "before it in program order",
                use.api, event.name, static_cast<long long>(id), event.name, static_cast<long long>(id)));
        return;
    }
    core.flags_set -= flag.set ? 1 : 0;
    flag.set = false;
    if (OrderChecks* order = core.block.order()) {
        order->wait_flag(core, event.source, event.target, int(id), use);
    }
    if (core.time_log != nullptr) {
        core.time_log->wait(core, event.source, event.target, int(id), use.at);
    }
}

void pipe_barrier(pipe_t pipe, Use use)
{
    Core& core = core_of(use);
    static constexpr pipe_t cube_only[] = {PIPE_M, PIPE_MTE1, PIPE_FIX};
    if (core.device_checks) {
        if (pipe == PIPE_S) {
            raise("bad-argument", use, text_of("%s: PIPE_S has no barrier", use.api));
        }
        for (const pipe_t other : cube_only) {
            if (core.is_vector() && pipe == other) {
                raise("bad-argument", use, text_of("%s: an AIV does not have this pipe", use.api));
            }
        }
    }
    enter(core, use);
    if (!core.is_vector() && pipe == PIPE_V) {
        return;  // compiled out
    }
    const bool all = pipe == PIPE_ALL;
    if (OrderChecks* order = core.block.order()) {
        all ? order->barrier_all(core, use) : order->barrier(core, pipe_of(pipe), use);
    }
    if (core.time_log != nullptr) {
        all ? core.time_log->barrier_all(core, use.at) : core.time_log->barrier(core, pipe_of(pipe), use.at);
    }
}

void data_sync_barrier(Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    if (OrderChecks* order = core.block.order()) {
        order->bypass_complete(core);
    }
    pipe_barrier(PIPE_ALL, use);
}

void check_flags_at_exit(Core& core)
{
    if (!core.device_checks || core.flags_set == 0) {
        return;
    }
    for (const Event& event : events) {
        for (int id = 0; id < event_ids; ++id) {
            const Flag& flag = core.flags[int(event.source)][int(event.target)][id];
            if (flag.set) {
                tell(core, "flag-left-set", {"SetFlag", flag.at},
                    text_of("flag %s id %d is still set when the kernel ends: nothing waits for this SetFlag, and the "
                            "next kernel on this core would see it",
                        event.name, id));
            }
        }
    }
}

void check_cache_at_exit(Core& core)
{
    if (core.block.launch().options().checks < TILE_CHECKS_STRICT) {
        return;
    }
    if (const Where* at = core.cache.uncleaned()) {
        tell(core, "store-not-written-back", {"SetValue", *at},
            "this scalar store to GM may stay in the core's data cache when the kernel ends: call "
            "DataCacheCleanAndInvalid after it");
    }
}

bool enter_kernel(KernelMetaType type)
{
    const Use use = {"KERNEL_TASK_TYPE_DEFAULT", {"", 0}};
    Core& core = core_of(use);
    KernelShape shape;
    shape.known = true;
    switch (type) {
        case KERNEL_TYPE_AIV_ONLY:
            shape.aic = 0, shape.aiv = 1, shape.scheduler = false;
            break;
        case KERNEL_TYPE_AIC_ONLY:
            shape.aic = 1, shape.aiv = 0, shape.scheduler = false;
            break;
        case KERNEL_TYPE_MIX_AIV_1_0:
            shape.aic = 0, shape.aiv = 1;
            break;
        case KERNEL_TYPE_MIX_AIC_1_0:
            shape.aic = 1, shape.aiv = 0;
            break;
        case KERNEL_TYPE_MIX_AIC_1_1:
            shape.aic = 1, shape.aiv = 1;
            break;
        case KERNEL_TYPE_MIX_AIC_1_2:
            shape.aic = 1, shape.aiv = 2;
            break;
        default:
            raise("bad-argument", use, text_of("kernel type %d does not exist on 910B", int(type)));
    }
    core.block.launch().set_shape(shape);
    core.takes_part = core.is_vector() ? core.sub < shape.aiv : shape.aic > 0;
    return core.takes_part;
}

}  // namespace tile_simulator
