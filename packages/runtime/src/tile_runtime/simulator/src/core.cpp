#include "core.h"

#include <cstring>

#include "launch.h"
#include "rank_messages.h"
#include "time_log.h"

namespace tile_simulator {

const char* const pipe_names[pipe_count] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};

thread_local Core* current_core __attribute__((tls_model("initial-exec"))) = nullptr;

Core& core_of(Use use)
{
    if (current_core == nullptr) {
        raise("bad-argument", use, text_of("%s is used outside a kernel launch", use.api));
    }
    return *current_core;
}

Core::Core(Block& block, CoreKind kind, uint32_t sub) : block(block), kind(kind), sub(sub)
{
    static constexpr Memory cube[] = {Memory::l1, Memory::l0a, Memory::l0b, Memory::l0c, Memory::bias, Memory::fixpipe};
    static constexpr Memory vector[] = {Memory::ub};
    if (kind == CoreKind::aic) {
        for (const Memory which : cube) {
            memory(which).create(memory_bytes[int(which)]);
        }
    } else {
        for (const Memory which : vector) {
            memory(which).create(memory_bytes[int(which)]);
        }
    }
}

Core::~Core() = default;

std::string Core::name() const
{
    return core_names[kind == CoreKind::aic ? 0 : sub + 1];
}

void Core::begin()
{
    for (LocalMemory& memory : memories) {
        if (memory.data() != nullptr) {
            memory.refill();
        }
    }
    mask = MaskRegister{};
    mask.mode_known = mask.lanes_known = false;
    atomic = AtomicKind::none;
    atomic_type = DataType::other;
    dequantization_scale = 1.0f;
    saturation = Saturation{};
    settings = RegisterSettings{};
    cube = CubeState{};
    compare_mask[0] = compare_mask[1] = 0;
    vector_registers = VectorRegisters{};
    if (flags_set != 0) {
        std::memset(static_cast<void*>(flags), 0, sizeof(flags));
        flags_set = 0;
    }
    for (CrossFlag& flag : cross) {
        flag = CrossFlag{};
    }
    stored_to_gm = false;
    polling = Polling{};
    awaited.begin();
    remote.begin();
    engine.begin();
    rank_scratch = RankScratch{};
    collectives = 0;
    composed_call = composed_calls = 0;
    cache.begin(data_cache_bytes[int(kind)], messages_of(*this));
    time_log = block.launch().options().timing != nullptr ? std::make_unique<TimeLog>() : nullptr;
    waiting_id = -1;
    full_id = -1;
    has_pending = false;
    last_use = Use{};
    site = Where{};
    takes_part = true;
    device_checks = block.launch().options().checks >= TILE_CHECKS_DEVICE;
    instructions = 0;
    output.clear();
}

SiteScope::SiteScope(Where site) : outer_{}
{
    if (current_core != nullptr) {
        outer_ = current_core->site;
        if (outer_.file == nullptr) {  // of nested pieces the outermost stands in the kernel
            current_core->site = site;
        }
    }
}

SiteScope::~SiteScope()
{
    if (current_core != nullptr) {
        current_core->site = outer_;
    }
}

bool Core::stopped() const
{
    return block.stopped();
}

}  // namespace tile_simulator
