// The engine that copies between ranks without a core: requests and waits for them (vendor: shmem,
// src/device/gm2gm/engine/shmem_device_sdma.hpp).
#include "engine_queue.h"

#include <cstring>

#include "ascend_c/sync.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "rank_messages.h"
#include "scramble.h"
#include "shmem/sdma.h"
#include "time_log.h"

namespace tile_simulator {

void EngineQueue::add(
    const Core& core, uint8_t* target, const uint8_t* source, uint64_t bytes, int32_t rank, Use use)
{
    const TileOptions& options = core.block.launch().options();
    const uint64_t drawn = scrambled(options.seed * 37 + core.block.index() * 4ull + core.sub + ++draws_ * 0x20003ull);
    const bool late = options.delivery == TILE_DELIVERY_LATE ||
                      (options.delivery == TILE_DELIVERY_SEED && options.seed != 0 && (drawn & 1) != 0);
    messages_ = messages_of(core);
    open_ = true;
    latest_ = use;
    if (rank >= 0) {
        open_to_[uint32_t(rank)] = use;
    }
    held_.push_back({target, source, bytes});
    if (!late) {
        deliver();  // none of one queue overtakes another
    }
}

void EngineQueue::deliver()
{
    for (const Held& held : held_) {
        if (messages_ != nullptr && messages_->owner(reinterpret_cast<uint64_t>(held.target)) >= 0) {
            messages_->put(held.target, held.source, held.bytes, AtomicKind::none, DataType::u8, false);
        } else {
            std::memmove(held.target, held.source, held.bytes);
        }
    }
    held_.clear();
}

void EngineQueue::finish()
{
    deliver();
    if (messages_ != nullptr && open_) {
        messages_->quiet();
    }
    open_to_.clear();
    open_ = false;
}

const Use* EngineQueue::open_to(uint32_t rank) const
{
    const auto found = open_to_.find(rank);
    return found != open_to_.end() ? &found->second : nullptr;
}

void check_engine_at_exit(Core& core)
{
    const Use* const open = core.engine.open();
    if (open == nullptr || !core.device_checks) {
        return;
    }
    Fault fault = fault_of("transfer-open", *open,
        text_of("%s: the kernel ends while the engine may still be at this transfer, and nobody knows when it is done",
            open->api));
    fault.hint = "call aclshmemx_sdma_quiet before the end, on the core that has called this";
    tell(core, std::move(fault));
}

namespace {

constexpr uint32_t scratch_bytes = 64;

// The functions store words of UB to GM, each time between barriers of all pipes.
void post(Core& core, const LocalBytes& scratch, uint32_t event, Use use)
{
    if (!core.is_vector()) {
        raise("bad-argument", use, text_of("%s needs UB, which an AIC does not have", use.api));
    }
    if (scratch.GetSize() < scratch_bytes) {
        raise("bad-argument", use,
            text_of("%s: buf has %u bytes, but must have at least %u", use.api, uint32_t(scratch.GetSize()), scratch_bytes));
    }
    pipe_barrier(PIPE_ALL, use);
    const uint32_t nothing = 0;
    local_store(scratch.operand(), 0, sizeof(nothing), &nothing, use);
    pipe_barrier(PIPE_ALL, use);
    order_transfers(AscendC::HardEvent::MTE3_MTE2, event, use.at);
}

}  // namespace

void engine_copy(
    uint64_t target, uint64_t source, uint64_t bytes, const LocalBytes& scratch, uint32_t event, int pe, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    post(core, scratch, event, use);
    const Launch& launch = core.block.launch();
    const uint32_t own = core.block.rank();
    if (!launch.one_node(own, uint32_t(pe))) {
        Fault fault = fault_of("peer-range", use,
            text_of("%s: rank %d is of another server, which the SDMA engine does not reach", use.api, pe));
        fault.hint = "copy by way of UB, or send it to a rank of the own server that passes it on";
        throw FaultError{std::move(fault)};
    }
    Instruction instruction(core, Pipe::s, use);
    instruction.by_engine = true;
    const auto operand = [&](const char* name, bool write, uint64_t address) {
        return instruction.global(name, write, {address, DataType::u8, address}, Region::bytes(address, bytes));
    };
    const int from = operand("src", false, source);
    const int to = operand("dst", true, target);
    instruction.issue();
    if (core.astray || bytes == 0) {
        return;
    }
    if (OrderChecks* order = core.block.order()) {
        order->stored_unseen(core, target, bytes);
    }
    const GlobalBuffer* buffer = launch.buffers().find(target);
    const bool other = buffer != nullptr && buffer->symmetric && uint32_t(buffer->rank) != own;
    core.engine.add(core, instruction.data(to), instruction.data(from), bytes, other ? buffer->rank : -1,
        {use.api, core.site.file != nullptr ? core.site : use.at});
}

void engine_quiet(const LocalBytes& scratch, uint32_t event, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    post(core, scratch, event, use);
    core.stored_to_gm = core.stored_to_gm || core.engine.open() != nullptr;
    core.engine.finish();
    if (OrderChecks* order = core.block.order()) {
        order->engine_complete(core);
    }
    if (core.time_log != nullptr) {
        core.time_log->engine_wait(core, use);
    }
    pipe_barrier(PIPE_ALL, use);
    clean_data_cache(0, true, use);
}

}  // namespace tile_simulator
