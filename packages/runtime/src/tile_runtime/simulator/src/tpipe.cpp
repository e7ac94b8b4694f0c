// TPipe: addresses, event ids, and what its construction and end do (kernel_tpipe_impl.h of CANN 8.1).
#include <cstring>
#include <exception>

#include "ascend_c/local_allocator.h"
#include "ascend_c/pipe_buffers.h"
#include "ascend_c/sync.h"
#include "ascend_c/system_variables.h"
#include "ascend_c/tiling.h"
#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::HardEvent;
using AscendC::INVALID_TEVENTID;

// A TPipe on an AIC sets M_MTE1 flags 0..2 and waits for them at its end: Matmul and the loads of its bias use them.
constexpr int preset_flags = 3;

// Addresses and ids as if nothing had been handed out.
void forget_buffers(PipeState& state)
{
    std::memset(state.next, 0, sizeof(state.next));
    std::memset(state.events, 0, sizeof(state.events));
    state.tscm = total_l1;
    state.count = 0;
    state.pooled_count = 0;
}

void drain_buffers(PipeBuffer* buffers, uint32_t count, Use use)
{
    for (uint32_t i = 0; i < count; ++i) {
        PipeBuffer& buffer = buffers[i];
        if (buffer.free_id != INVALID_TEVENTID && buffer.state == AscendC::TBufState::FREE) {
            wait_flag(buffer.free_event, buffer.free_id, use);
            buffer.free_id = INVALID_TEVENTID;
        }
    }
}

// Waits until the last user of every free buffer is done with it.
void drain(PipeState& state, Use use)
{
    drain_buffers(state.buffers, state.count, use);
    drain_buffers(state.pooled, state.pooled_count, use);
}

void wait_for_preset(int id, Use use)
{
    Core& core = core_of(use);
    if (core.device_checks && !core.flags[int(Pipe::m)][int(Pipe::mte1)][id].set) {
        return tell(core, "flag-wait-without-set", use,
            text_of("the TPipe waits for flag M_MTE1 id %d at its end, which is not set: a TPipe presets ids 0..2 of "
                    "M_MTE1, so a kernel must use ids 3..7",
                id));
    }
    wait_flag(HardEvent::M_MTE1, id, use);
}

}  // namespace

void pipe_create(PipeState& state, void* pipe, Where at)
{
    const Use use = {"TPipe", at};
    Core& core = core_of(use);
    reset_core_state();
    core.cube.load_3d_padding = 0;
    forget_buffers(state);
    state.made = at;
    state.live = true;
    core.cube.pipe = pipe;
    if (!core.is_vector()) {
        for (int i = 0; i < preset_flags; ++i) {
            set_flag(HardEvent::M_MTE1, pipe_take_event(state, HardEvent::M_MTE1, true, use), use);
        }
    }
}

void pipe_destroy(PipeState& state, bool barrier, Use use)
{
    if (!state.live) {
        return;
    }
    state.live = false;
    Core& core = core_of(use);
    core.cube.pipe = nullptr;
    drain(state, use);
    if (!core.is_vector()) {
        for (int id = 0; id < preset_flags; ++id) {
            wait_for_preset(id, use);
        }
    }
    if (barrier) {
        pipe_barrier(PIPE_ALL, use);
    }
}

void pipe_end(PipeState& state) noexcept
{
    if (!state.live || current_core == nullptr) {
        return;
    }
    Core& core = *current_core;
    if (std::uncaught_exceptions() > 0 || core.stopped() || !core.takes_part || core.has_pending) {
        state.live = false;
        core.cube.pipe = nullptr;
        return;
    }
    try {
        pipe_destroy(state, true, {"TPipe", state.made});
    } catch (FaultError& error) {
        core.has_pending = true;
        core.pending = error.fault;
    } catch (...) {
        // The launch was stopped meanwhile; the next instruction leaves the kernel.
    }
}

void pipe_reset(PipeState& state, Use use)
{
    Core& core = core_of(use);
    drain(state, use);
    reset_core_state();
    core.cube.load_3d_padding = 0;
    forget_buffers(state);
}

uint32_t pipe_allocate(PipeState& state, uint8_t position, uint64_t bytes, Use use)
{
    const Memory memory = memory_of(position);
    if (memory == Memory::none || memory == Memory::gm) {
        raise("bad-argument", use, text_of("%s: position %u is no local memory", use.api, position));
    }
    if (bytes == 0 && core_of(use).device_checks) {
        raise("bad-argument", use, text_of("%s: the length of a buffer is 0", use.api));
    }
    uint32_t& next = state.next[int(memory)];
    const uint32_t limit = memory == Memory::l1 && state.tscm < total_l1 ? state.tscm : memory_bytes[int(memory)];
    const uint32_t address = next;
    if (uint64_t(address) + bytes > limit) {
        raise("out-of-bounds", use,
            text_of("%s: %llu bytes after the %u already allocated do not fit into %s, which has %u bytes%s", use.api,
                static_cast<unsigned long long>(bytes), address, name_of(memory), limit,
                limit == memory_bytes[int(memory)] ? "" : " below its TSCM buffers"));
    }
    next += static_cast<uint32_t>(bytes);
    return address;
}

// TSCM buffers grow down from the top of L1, unless shared once for every AIV that may send there (TscmInitBuffer).
uint32_t pipe_allocate_tscm(PipeState& state, uint64_t bytes, bool shared, Use use)
{
    const uint64_t senders = shared ? 1 : static_cast<uint64_t>(sub_block_count());
    const uint64_t mine = shared ? 1 : senders - static_cast<uint64_t>(sub_block_index());
    if (senders * bytes > state.tscm || state.tscm - senders * bytes < state.next[int(Memory::l1)]) {
        raise("out-of-bounds", use,
            text_of("%s: %llu bytes of TSCM buffers for each of %llu cores do not fit into L1 above the %u bytes "
                    "already allocated",
                use.api, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(senders),
                state.next[int(Memory::l1)]));
    }
    const uint32_t address = static_cast<uint32_t>(state.tscm - mine * bytes);
    state.tscm -= static_cast<uint32_t>(senders * bytes);
    return address;
}

PipeBuffer* pipe_add_buffers(PipeState& state, uint32_t number, uint32_t bytes, uint32_t address, Use use)
{
    if (number > pipe_buffers - state.count) {
        raise("bad-argument", use,
            text_of("%s: %u more buffers make %u in this TPipe, but at most %u are possible", use.api, number,
                state.count + number, pipe_buffers));
    }
    PipeBuffer* const first = state.buffers + state.count;
    for (uint32_t i = 0; i < number; ++i) {
        first[i] = PipeBuffer{};
        first[i].address = address + i * bytes;
        first[i].bytes = bytes;
        first[i].made = use.at;
    }
    state.count += number;
    return first;
}

AscendC::TEventID pipe_take_event(PipeState& state, HardEvent event, bool keep, Use use)
{
    if (event >= HardEvent::MAX) {
        raise("bad-argument", use, text_of("%s: this event does not exist", use.api));
    }
    uint8_t& taken = state.events[int(event)];
    for (uint32_t id = 0; id < pipe_event_ids; ++id) {
        if ((taken >> id & 1) == 0) {
            if (keep) {
                taken = static_cast<uint8_t>(taken | 1 << id);
            }
            return static_cast<AscendC::TEventID>(id);
        }
    }
    raise("events-exhausted", use,
        text_of("%s: all %u ids of event %d of this TPipe are taken: fewer buffers may be on their way between two "
                "pipes, or an AllocEventID has no ReleaseEventID",
            use.api, pipe_event_ids, int(event)));
}

void pipe_release_event(PipeState& state, HardEvent event, int64_t id, Use use)
{
    if (event >= HardEvent::MAX || id < 0 || id >= int64_t(pipe_event_ids)) {
        raise("bad-argument", use,
            text_of("%s: event id is %lld, but must be 0..%u", use.api, static_cast<long long>(id), pipe_event_ids - 1));
    }
    uint8_t& taken = state.events[int(event)];
    taken = static_cast<uint8_t>(taken & ~(1 << id));
}

uint8_t* memory_base(uint8_t position, Use use)
{
    Core& core = core_of(use);
    const LocalOperand tensor = {0, position, DataType::u8, {}};
    LocalMemory& memory = core.memory(memory_for(core, tensor, "the position", use));
    memory.mark_written(memory.bytes());
    return memory.data();
}

void* current_pipe(Use use)
{
    void* const pipe = core_of(use).cube.pipe;
    if (pipe == nullptr) {
        raise("bad-argument", use, text_of("%s: no TPipe lives on this core", use.api));
    }
    return pipe;
}

PipeBuffer& pipe_buffer(uint8_t* handle, Use use)
{
    PipeState& pipe = static_cast<AscendC::TPipe*>(current_pipe(use))->state();
    PipeBuffer* const buffer = reinterpret_cast<PipeBuffer*>(handle);
    const auto among = [buffer](PipeBuffer* first, uint32_t count) { return buffer >= first && buffer < first + count; };
    if (!among(pipe.buffers, pipe.count) && !among(pipe.pooled, pipe.pooled_count)) {
        raise("queue", use, text_of("%s: no buffer has this handle", use.api));
    }
    return *buffer;
}

void check_buffer_range(uint64_t offset, uint64_t bytes, uint32_t length, Use use)
{
    if (offset + bytes > length) {
        raise("out-of-bounds", use,
            text_of("%s: bytes [%llu, %llu) of a buffer of %u bytes", use.api, static_cast<unsigned long long>(offset),
                static_cast<unsigned long long>(offset + bytes), length));
    }
}

uint32_t take_local_memory(uint32_t& head, uint8_t position, uint64_t bytes, Use use)
{
    const Memory memory = memory_of(position);
    const uint32_t address = head;
    if (address + bytes > memory_bytes[int(memory)]) {
        raise("out-of-bounds", use,
            text_of("%s: %llu bytes after the %u already allocated do not fit into %s, which has %u bytes", use.api,
                static_cast<unsigned long long>(bytes), address, name_of(memory), memory_bytes[int(memory)]));
    }
    head += static_cast<uint32_t>(bytes);
    return address;
}

void read_tiling(void* target, uint64_t bytes, const void* source, Use use)
{
    Instruction instruction(core_of(use), Pipe::s, use);
    const int from =
        instruction.global("the tiling data", false, {reinterpret_cast<uint64_t>(source), DataType::other}, Region::bytes(reinterpret_cast<uint64_t>(source), bytes));
    instruction.issue();
    std::memcpy(target, instruction.data(from), bytes);
}

}  // namespace tile_simulator
