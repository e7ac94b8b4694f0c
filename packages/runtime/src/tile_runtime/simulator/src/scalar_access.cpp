// Scalar access to tensors, and core state that APIs read and set: PIPE_S.
#include <cstring>

#include "ascend_c/load_data.h"
#include "ascend_c/system_variables.h"
#include "ascend_c/tensor.h"
#include "ascend_c/vector_cast.h"
#include "ascend_c/vector_mask.h"
#include "instruction.h"
#include "launch.h"
#include "order_checks.h"
#include "rank_messages.h"

namespace tile_simulator {
namespace {

uint8_t* access_local(Core& core, LocalOperand tensor, uint64_t offset, uint32_t bytes, bool write, Use use)
{
    const Memory memory = memory_for(core, tensor, "the tensor", use);
    Instruction instruction(core, Pipe::s, use);
    const int operand =
        instruction.local("the element", write, tensor, memory, Region::bytes(tensor.address + offset, bytes), bytes);
    instruction.issue();
    return instruction.data(operand);
}

// For a write.
uint8_t* access_global(Core& core, GlobalOperand element, uint32_t bytes, Use use)
{
    Instruction instruction(core, Pipe::s, use);
    const int operand = instruction.global("the element", true, element, Region::bytes(element.address, bytes));
    instruction.issue();
    return instruction.data(operand);
}

// To the process whose memory it is, if not of this one.
void send_stored(const Core& core, uint64_t address, uint32_t bytes)
{
    RankMessages* const messages = messages_of(core);
    if (messages != nullptr && messages->owner(address) >= 0) {
        const auto* const stored = reinterpret_cast<const uint8_t*>(address);
        messages->put(stored, stored, bytes, AtomicKind::none, DataType::u8, false);
    }
}

// A load of a core that may wait for flags in GM.
void look_at_global(Core& core, GlobalOperand element, uint32_t bytes, void* value, bool cached, Use use)
{
    Instruction instruction(core, Pipe::s, use);
    const int operand = instruction.global("the element", false, element, Region::bytes(element.address, bytes));
    const GlobalBuffer* buffer = core.block.launch().buffers().find(element.address);
    const bool through = cached && core.device_checks && buffer != nullptr;
    const bool answered = through && core.cache.holds(*buffer, element.address, bytes);
    instruction.polls = !answered;
    instruction.issue();
    auto* seen = static_cast<uint8_t*>(value);
    std::memcpy(seen, instruction.data(operand), bytes);
    if (core.astray) {
        return;
    }
    if (answered) {
        core.cache.load(*buffer, element.address, bytes, seen, use);
    } else if (through) {
        core.cache.fill(*buffer, element.address, bytes, seen, use);
        core.cache.overlay(*buffer, element.address, bytes, seen);
    }
    if (!answered) {
        if (core.time_log != nullptr) {
            core.time_log->look({element.address, core.block.launch().small_stores()});
        }
        uint64_t seen = 0;
        std::memcpy(&seen, value, bytes);
        rest_between_polls(core, element.address, seen, use);
    }
}

}  // namespace

uint8_t* local_pointer(LocalOperand tensor, uint64_t offset, uint32_t bytes, Use use)
{
    // The caller may write through the reference, and beyond it: the whole memory counts as written.
    Core& core = core_of(use);
    uint8_t* pointer = access_local(core, tensor, offset, bytes, true, use);
    LocalMemory& memory = core.memory(memory_of(tensor.position));
    memory.mark_written(memory.bytes());
    return pointer;
}

void local_load(LocalOperand tensor, uint64_t offset, uint32_t bytes, void* value, Use use)
{
    Core& core = core_of(use);
    if (core.unobserved) {
        const LocalMemory& memory = core.memory(memory_for(core, tensor, "the tensor", use));
        const uint64_t start = tensor.address + offset;
        std::memset(value, 0, bytes);
        if (start + bytes <= memory.bytes()) {
            std::memcpy(value, memory.data() + start, bytes);
        }
        return;
    }
    std::memcpy(value, access_local(core, tensor, offset, bytes, false, use), bytes);
}

void local_store(LocalOperand tensor, uint64_t offset, uint32_t bytes, const void* value, Use use)
{
    std::memcpy(access_local(core_of(use), tensor, offset, bytes, true, use), value, bytes);
}

uint8_t* global_pointer(GlobalOperand element, uint32_t bytes, Use use)
{
    // Who gets a reference may write through it, or not: nobody sees.
    Core& core = core_of(use);
    uint8_t* data = access_global(core, element, bytes, use);
    if (core.astray) {
        return data;
    }
    if (OrderChecks* order = core.block.order()) {
        order->stored_unseen(core, element.address, bytes);
    }
    const GlobalBuffer& buffer = *core.block.launch().buffers().find(element.address);
    core.cache.push_out(ScalarCache::line_of(buffer.begin, element.address));
    return data;
}

void global_load(GlobalOperand element, uint32_t bytes, void* value, Use use)
{
    Core& core = core_of(use);
    if (core.unobserved) {
        const GlobalBuffer* buffer = core.block.launch().buffers().find(element.address);
        std::memset(value, 0, bytes);
        if (buffer != nullptr && element.address + bytes <= buffer->end) {
            std::memcpy(value, reinterpret_cast<const void*>(element.address), bytes);
            core.cache.overlay(*buffer, element.address, bytes, static_cast<uint8_t*>(value));
        }
        return;
    }
    if (core.polling.possible) {
        return look_at_global(core, element, bytes, value, true, use);
    }
    Instruction instruction(core, Pipe::s, use);
    const int operand = instruction.global("the element", false, element, Region::bytes(element.address, bytes));
    instruction.issue();
    std::memcpy(value, instruction.data(operand), bytes);
    if (core.device_checks && !core.astray) {
        const GlobalBuffer& buffer = *core.block.launch().buffers().find(element.address);
        core.cache.load(buffer, element.address, bytes, static_cast<uint8_t*>(value), use);
    }
}

void global_load_past_cache(GlobalOperand element, uint32_t bytes, void* value, Use use)
{
    Core& core = core_of(use);
    core.polling.possible = true;
    look_at_global(core, element, bytes, value, false, use);
}

void global_store_past_cache(GlobalOperand element, uint32_t bytes, const void* value, Use use)
{
    Core& core = core_of(use);
    Instruction instruction(core, Pipe::s, use);
    instruction.past_cache = true;
    const int operand = instruction.global("the element", true, element, Region::bytes(element.address, bytes));
    instruction.issue();
    if (OrderChecks* order = core.block.order()) {
        order->stored(core, instruction.data(operand), static_cast<const uint8_t*>(value), bytes);
    }
    std::memcpy(instruction.data(operand), value, bytes);
    send_stored(core, element.address, bytes);
}

void global_store(GlobalOperand element, uint32_t bytes, const void* value, Use use)
{
    Core& core = core_of(use);
    uint8_t* data = access_global(core, element, bytes, use);
    if (OrderChecks* order = core.block.order()) {
        order->stored(core, data, static_cast<const uint8_t*>(value), bytes);
    }
    if (!core.device_checks || core.astray) {
        std::memcpy(data, value, bytes);
        send_stored(core, element.address, bytes);
        return;
    }
    const GlobalBuffer& buffer = *core.block.launch().buffers().find(element.address);
    core.cache.store(buffer, element.address, bytes, static_cast<const uint8_t*>(value), use);
}

void reset_core_state()
{
    Core& core = core_of({"InitSocState", {"", 0}});
    core.mask = MaskRegister{};
    core.atomic = AtomicKind::none;
    core.feature_matrix[0] = core.feature_matrix[1] = 0;
}

void set_mask_counter(bool counter, Use use)
{
    Core& core = core_of(use);
    core.mask.counter = counter;
    core.mask.mode_known = true;
    record_setting(core, Register::mask_mode, use);
}

void set_mask_bits(uint64_t high, uint64_t low, Use use)
{
    Core& core = core_of(use);
    core.mask.set_lanes(low, high);
    core.settings.kernel_mask[0] = low;
    core.settings.kernel_mask[1] = high;
    record_setting(core, Register::mask, use);
}

void set_mask_lanes(int64_t lanes, uint32_t element_size, bool counter, Use use)
{
    Core& core = core_of(use);
    if (counter) {
        require_range(core, "len", lanes, 0, 0x7fffffff, use);
        return set_mask_bits(0, static_cast<uint64_t>(lanes), use);
    }
    require_range(core, "len", lanes, 0, element_size >= 8 ? 32 : element_size >= 4 ? 64 : 128, use);
    set_mask_bits(lanes >= 128 ? ~uint64_t(0) : lanes > 64 ? (uint64_t(1) << (lanes - 64)) - 1 : 0,
        lanes >= 64 ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1, use);
}

void set_atomic(AtomicKind kind, DataType type, Use use)
{
    Core& core = core_of(use);
    record_setting(core, Register::atomic, use);
    core.atomic = kind;
    core.atomic_type = type;
}

void set_feature_matrix(uint32_t height, uint32_t width, const uint8_t pads[4])
{
    Core& core = core_of({"SetFmatrix", {"", 0}});
    core.feature_matrix[0] = height;
    core.feature_matrix[1] = width;
    std::memcpy(core.feature_pads, pads, 4);
}

int32_t core_type()
{
    return current_core == nullptr ? 0 : current_core->is_vector() ? 2 : 1;
}

int64_t block_index()
{
    const Core& core = core_of({"GetBlockIdx", {"", 0}});
    const int64_t block = core.block.index_in_rank();
    return core.is_vector() ? block * core.block.launch().shape().aiv + core.sub : block;
}

int64_t launch_block()
{
    return core_of({"block_idx", {"", 0}}).block.index_in_rank();
}

int64_t block_count()
{
    return core_of({"GetBlockNum", {"", 0}}).block.launch().blocks();
}

int64_t sub_block_index()
{
    return core_of({"GetSubBlockIdx", {"", 0}}).sub;
}

int64_t sub_block_count()
{
    const uint32_t aivs = core_of({"GetSubBlockNum", {"", 0}}).block.launch().shape().aiv;
    return aivs == 0 ? 1 : aivs;
}

// No clock is modelled here: the count of instructions issued so far, which only grows.
int64_t system_cycle()
{
    return static_cast<int64_t>(core_of({"GetSystemCycle", {"", 0}}).instructions);
}

void trap(Use use)
{
    raise("trap", use, "the kernel called Trap");
}

}  // namespace tile_simulator
