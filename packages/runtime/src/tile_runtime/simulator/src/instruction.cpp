#include "instruction.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "launch.h"
#include "order_checks.h"
#include "race_report.h"
#include "rank_messages.h"
#include "time_log.h"

namespace tile_simulator {

int Instruction::local(const char* name, bool write, const LocalOperand& tensor, Memory memory, const Region& region,
    uint32_t alignment)
{
    operands[count] = {name, memory, write, alignment, region, nullptr, tensor.buffer, 0, size_of(tensor.type)};
    return count++;
}

int Instruction::global(const char* name, bool write, const GlobalOperand& tensor, const Region& region)
{
    operands[count] = {name, Memory::gm, write, 0, region, nullptr, {}, tensor.origin, 1};
    past_l2 = past_l2 || tensor.past_l2;
    return count++;
}

void enter(Core& core, Use use)
{
    core.last_use = use;
    if (core.stopped()) {
        throw Stopped{};
    }
    if (!core.takes_part) {
        throw NotTakingPart{};
    }
    if (core.has_pending) {
        core.has_pending = false;
        throw FaultError{core.pending};
    }
    settle_stores(core);
    tell_stores(core);
    constexpr uint64_t calls_between_looks = 1024;  // at the clock of the host
    const Launch& launch = core.block.launch();
    if (++core.instructions % calls_between_looks == 0 && launch.past_deadline()) {
        raise("time-out", use,
            text_of("the kernel is still running after %g s (switch `timeout`; 0 means no limit)",
                launch.options().timeout));
    }
}

void tell_stores(Core& core)
{
    if (core.stored_to_gm) {
        core.stored_to_gm = false;
        core.block.launch().tell_store();
    }
}

void settle_stores(const Core& core)
{
    OrderChecks* order = core.block.order();
    if (order != nullptr && order->in_doubt()) {
        order->settle(core);
    }
}

void Instruction::issue()
{
    enter(core, use);
    core.astray = false;
    for (int i = 0; i < count; ++i) {
        Operand& operand = operands[i];
        const uint64_t end = operand.region.end();
        if (operand.memory == Memory::gm) {
            core.astray = !reach_global(i) || core.astray;
            core.stored_to_gm = core.stored_to_gm || operand.write;
            continue;
        }
        LocalMemory& memory = core.memory(operand.memory);
        const Buffer& buffer = operand.buffer;
        if (core.device_checks && buffer.end != 0 && operand.region.run != 0 &&
            (operand.region.start < buffer.begin || end > buffer.end)) {
            tell(core, "out-of-bounds", use,
                text_of("%s: %s covers bytes [%lld, %lld) of %s, which has %u bytes", use.api, operand.name,
                    static_cast<long long>(operand.region.start) - buffer.begin,
                    static_cast<long long>(end) - buffer.begin, buffer_text(operand.memory, buffer).c_str(),
                    buffer.end - buffer.begin));
        }
        if (end > memory.bytes()) {
            raise("out-of-bounds", use,
                text_of("%s: %s covers bytes [%llu, %llu) of %s, which has %u bytes", use.api, operand.name,
                    static_cast<unsigned long long>(operand.region.start), static_cast<unsigned long long>(end),
                    name_of(operand.memory), memory.bytes()));
        }
        const uint32_t alignment = core.device_checks ? std::max(operand.alignment, operand.element) : operand.element;
        if (alignment > 1 && operand.region.start % alignment != 0) {
            Fault fault = fault_of("misaligned", use,
                text_of("%s: %s starts at byte %llu of %s, which must be a multiple of %u", use.api, operand.name,
                    static_cast<unsigned long long>(operand.region.start), name_of(operand.memory), alignment));
            if (operand.element > 1 && operand.region.start % operand.element != 0) {
                throw FaultError{std::move(fault)};
            }
            tell(core, std::move(fault));
        }
        if (operand.write) {
            memory.mark_written(end);
        }
        operand.data = memory.data() + operand.region.start;
    }
    // A dump stands between two barriers of the core's pipes (vendor: impl/utils/debug/asc_aicore_dump_impl.h). It is no
    // order for the kernel, which runs without dumps too; what other cores store to GM is unordered with it all the same.
    const bool own_memory = operands[0].memory != Memory::gm;
    const bool unchecked = observes && (own_memory || core.block.launch().options().checks < TILE_CHECKS_STRICT);
    if (OrderChecks* order = core.block.order(); order != nullptr && !unchecked) {
        polls && !core.astray ? order->poll(*this) : order->instruction(*this);
    }
    if (core.time_log != nullptr && !core.astray) {
        by_engine ? core.time_log->engine_copy(*this)
                  : core.time_log->instruction(*this, *core.block.launch().options().timing);
    }
}

Memory memory_for(Core& core, LocalOperand tensor, const char* operand, Use use)
{
    const Memory memory = memory_of(tensor.position);
    if (memory == Memory::none || memory == Memory::gm) {
        raise("bad-argument", use,
            text_of("%s: %s has no local position (%u): the tensor was never allocated", use.api, operand,
                tensor.position));
    }
    if (!core.has(memory)) {
        raise("bad-argument", use,
            text_of("%s: %s is in %s, which an %s core does not have", use.api, operand, name_of(memory),
                core.is_vector() ? "AIV" : "AIC"));
    }
    return memory;
}

void require_memory(LocalOperand tensor, Memory expected, const char* operand, Use use)
{
    const Memory memory = memory_of(tensor.position);
    if (memory != expected) {
        raise("bad-argument", use,
            text_of("%s: %s is in %s, but must be in %s", use.api, operand,
                memory == Memory::none ? "no local memory" : name_of(memory), name_of(expected)));
    }
}

void require_range(const Core& core, const char* parameter, int64_t value, int64_t low, int64_t high, Use use)
{
    if (core.device_checks) {
        require_field(parameter, value, low, high, use);
    }
}

void require_field(const char* parameter, int64_t value, int64_t low, int64_t high, Use use)
{
    if (value < low || value > high) {
        raise("bad-argument", use,
            text_of("%s: %s is %lld, but must be %lld..%lld", use.api, parameter, static_cast<long long>(value),
                static_cast<long long>(low), static_cast<long long>(high)));
    }
}

void raise_type(Use use, const char* operand, DataType found, const char* required)
{
    raise("bad-argument", use,
        text_of("%s: the data type of %s is %s, but must be %s", use.api, operand, name_of(found), required));
}

namespace {

// Why the bytes of an operand are not all in its buffer of GM, or none; `inside` are those that are.
std::optional<Fault> outside_of_global(Core& core, const Operand& operand, Use use, std::pair<uint64_t, uint64_t>& inside)
{
    const GlobalBuffers& buffers = core.block.launch().buffers();
    const uint64_t begin = operand.region.start;
    const uint64_t end = operand.region.end();
    // What lies behind the buffer that was meant differs from run to run, and so do addresses: neither decides or is told.
    const GlobalBuffer* buffer = buffers.find(operand.origin);
    buffer = buffer != nullptr ? buffer : buffers.find(begin);
    if (buffer != nullptr && begin >= buffer->begin && end >= begin && end <= buffer->end) {
        return std::nullopt;
    }
    inside = {begin, begin};
    const char* verb = operand.write ? "writes" : "reads";
    if (buffer == nullptr) {
        return fault_of("out-of-bounds", use,
            text_of("%s: %s %s %llu bytes of GM at an address that lies in no buffer of this launch", use.api,
                operand.name, verb, static_cast<unsigned long long>(end - begin)));
    }
    inside = {std::max(begin, buffer->begin), std::min(end, buffer->end)};
    return fault_of("out-of-bounds", use,
        text_of("%s: %s %s bytes [%lld, %lld) of GM buffer %s, which has %llu bytes", use.api, operand.name, verb,
            static_cast<long long>(begin - buffer->begin), static_cast<long long>(end - buffer->begin),
            buffer->shown().c_str(), static_cast<unsigned long long>(buffer->end - buffer->begin)));
}

}  // namespace

void require_global(Core& core, const Operand& operand, Use use)
{
    std::pair<uint64_t, uint64_t> inside;
    if (std::optional<Fault> fault = outside_of_global(core, operand, use, inside)) {
        throw FaultError{std::move(*fault)};
    }
}

// Whose memory it is. What the scalar unit stores lies in its data cache until that is written back.
void Instruction::reach_rank(const Operand& operand)
{
    const GlobalBuffer* buffer = core.block.launch().buffers().find(operand.region.start);
    const bool other = buffer != nullptr && buffer->symmetric && uint32_t(buffer->rank) != core.block.rank();
    const Where at = core.site.file != nullptr ? core.site : use.at;
    core.remote.access(core, other ? buffer->rank : -1, operand.write, pipe == Pipe::s, {use.api, at});
    RankMessages* const messages = other ? messages_of(core) : nullptr;
    if (messages != nullptr && (!operand.write || pipe == Pipe::s)) {
        // The scalar unit works on whole lines, also where it stores.
        const uint64_t line = ScalarCache::line_bytes;
        const uint64_t begin = std::max(buffer->begin, operand.region.start - line);
        messages->get(begin, std::min(buffer->end, operand.region.end() + line) - begin);
    }
}

// Whether all of the operand is in its buffer. If not, it is told, and memory of the core stands for it: what is not
// there is read as 0 and written nowhere, and nothing else is told of it.
bool Instruction::reach_global(int index)
{
    constexpr uint64_t most_bytes = 64 << 20;
    Operand& operand = operands[index];
    const uint64_t begin = operand.region.start;
    const uint64_t bytes = operand.region.end() - begin;
    std::pair<uint64_t, uint64_t> inside;
    std::optional<Fault> fault = outside_of_global(core, operand, use, inside);
    operand.data = reinterpret_cast<uint8_t*>(begin);
    if (!fault) {
        if (core.block.launch().ranks() > 1) {
            reach_rank(operand);
        }
        return true;
    }
    if (bytes > most_bytes) {
        throw FaultError{std::move(*fault)};
    }
    tell(core, std::move(*fault));
    std::vector<uint8_t>& there = core.beyond_gm[index];
    there.assign(bytes, 0);
    if (inside.first < inside.second) {
        std::memcpy(there.data() + (inside.first - begin), reinterpret_cast<const void*>(inside.first),
            inside.second - inside.first);
    }
    operand.data = there.data();
    operand.region = Region::bytes(begin, 0);
    return false;
}

}  // namespace tile_simulator
