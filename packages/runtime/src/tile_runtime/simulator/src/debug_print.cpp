// printf, PRINTF and DumpTensor: text per core, each line with its core, given out in block order after the launch.
#include "ascend_c/debug_print.h"
#include "ascend_c/kernel_assert.h"

#include <cstdio>
#include <cstring>

#include "instruction.h"
#include "launch.h"

namespace tile_simulator {
namespace {

void append_number(std::string& text, const std::string& spec, char conversion, const PrintArgument& argument)
{
    char buffer[512];
    const bool real = std::strchr("fFeEgGaA", conversion) != nullptr;
    const bool is_real = argument.kind == PrintArgument::floating;
    if (real) {
        snprintf(buffer, sizeof(buffer), (spec + conversion).c_str(),
            is_real ? argument.f : static_cast<double>(argument.i));
    } else if (conversion == 'c') {
        snprintf(buffer, sizeof(buffer), (spec + conversion).c_str(), static_cast<int>(argument.i));
    } else {
        const long long value = is_real ? static_cast<long long>(argument.f) : argument.i;
        snprintf(buffer, sizeof(buffer), (spec + "ll" + conversion).c_str(), value);
    }
    text += buffer;
}

// The value of element `i` as text.
std::string element_text(DataType type, const uint8_t* data, uint32_t i)
{
    switch (type) {
        case DataType::f32: {
            float value;
            std::memcpy(&value, data + 4 * i, 4);
            return text_of("%f", value);
        }
        case DataType::f16:
        case DataType::bf16: {
            uint16_t bits;
            std::memcpy(&bits, data + 2 * i, 2);
            return text_of("%f", type == DataType::f16 ? half_bits_to_float(bits) : bfloat16_bits_to_float(bits));
        }
        default: {
            const uint32_t size = size_of(type);
            uint64_t value = 0;
            std::memcpy(&value, data + size * i, size);
            const bool is_signed =
                type == DataType::i8 || type == DataType::i16 || type == DataType::i32 || type == DataType::i64;
            if (is_signed && size < 8) {
                const uint32_t shift = 64 - 8 * size;
                return text_of("%lld", static_cast<long long>(static_cast<int64_t>(value << shift) >> shift));
            }
            return is_signed ? text_of("%lld", static_cast<long long>(value))
                             : text_of("%llu", static_cast<unsigned long long>(value));
        }
    }
}

std::string label(const Core& core)
{
    return text_of("[%s of block %u] ", core.name().c_str(), core.block.index());
}

// A line may be printed in parts.
void append_lines(Core& core, const std::string& text)
{
    for (const char c : text) {
        if (core.output.empty() || core.output.back() == '\n') {
            core.output += label(core);
        }
        core.output += c;
    }
}

void dump(Core& core, const char* place, DataType type, const uint8_t* data, uint32_t description, uint32_t elements)
{
    core.output += label(core) + text_of("DumpTensor desc=%u, %s, %s, %u elements: [", description, place,
        name_of(type), elements);
    for (uint32_t i = 0; i < elements; ++i) {
        core.output += (i == 0 ? "" : ", ") + element_text(type, data, i);
    }
    core.output += "]\n";
}

}  // namespace

namespace {

std::string formatted(const char* format, const PrintArgument* arguments, uint32_t count)
{
    std::string text;
    uint32_t next = 0;
    for (const char* at = format; *at != 0;) {
        if (*at != '%') {
            text += *at++;
            continue;
        }
        if (at[1] == '%') {
            text += '%';
            at += 2;
            continue;
        }
        std::string spec(1, *at++);
        while (*at != 0 && std::strchr("-+ #0123456789.", *at) != nullptr) {
            spec += *at++;
        }
        while (*at != 0 && std::strchr("hljzt", *at) != nullptr) {
            ++at;
        }
        const char conversion = *at;
        if (conversion == 0 || next >= count) {
            text += spec;
            continue;
        }
        ++at;
        const PrintArgument& argument = arguments[next++];
        if (conversion == 's' && argument.kind == PrintArgument::pointer) {
            text += static_cast<const char*>(argument.p);
        } else if (conversion == 'p' || argument.kind == PrintArgument::pointer) {
            text += text_of("%p", argument.p);
        } else if (std::strchr("diuxXocfFeEgGaA", conversion) != nullptr) {
            append_number(text, spec, conversion, argument);
        }
    }
    return text;
}

}  // namespace

void print(const char* format, const PrintArgument* arguments, uint32_t count)
{
    append_lines(core_of({"printf", {"", 0}}), formatted(format, arguments, count));
}

void assertion_failed(
    Use use, const char* condition, const char* format, const PrintArgument* arguments, uint32_t count)
{
    const std::string told = formatted(format, arguments, count);
    raise("assertion", use,
        text_of("the kernel's assertion `%s` does not hold%s%s", condition, told.empty() ? "" : ": ", told.c_str()));
}

void dump_local(LocalOperand tensor, uint32_t description, uint32_t elements, Use use)
{
    Core& core = core_of(use);
    const Memory memory = memory_of(tensor.position);
    if (!core.has(memory)) {
        return;
    }
    Instruction instruction(core, Pipe::s, use);
    instruction.observes = true;
    const int operand = instruction.local(
        "tensor", false, tensor, memory, Region::bytes(tensor.address, uint64_t(elements) * size_of(tensor.type)), 0);
    instruction.issue();
    dump(core, name_of(memory), tensor.type, instruction.data(operand), description, elements);
}

void dump_global(GlobalOperand tensor, uint32_t description, uint32_t elements, Use use)
{
    Core& core = core_of(use);
    Instruction instruction(core, Pipe::s, use);
    instruction.observes = true;
    const int operand =
        instruction.global("tensor", false, tensor, Region::bytes(tensor.address, uint64_t(elements) * size_of(tensor.type)));
    instruction.issue();
    dump(core, "GM", tensor.type, instruction.data(operand), description, elements);
}

void dump_address(
    const void* address, AscendC::TPosition position, DataType type, uint32_t description, uint32_t elements, Use use)
{
    Core& core = core_of(use);
    enter(core, use);
    const Memory wanted = position == AscendC::TPosition::GM    ? Memory::gm
                          : position == AscendC::TPosition::MAX ? Memory::none
                                                                : memory_of(static_cast<uint8_t>(position));
    const uint8_t* const at = static_cast<const uint8_t*>(address);
    for (const AscendC::TPosition place :
        {AscendC::TPosition::VECCALC, AscendC::TPosition::A1, AscendC::TPosition::CO1}) {
        const Memory memory = memory_of(static_cast<uint8_t>(place));
        if ((wanted != Memory::none && wanted != memory) || !core.has(memory)) {
            continue;
        }
        LocalMemory& bytes = core.memory(memory);
        if (at >= bytes.data() && at < bytes.data() + bytes.bytes()) {
            const uint32_t offset = static_cast<uint32_t>(at - bytes.data());
            return dump_local({offset, static_cast<uint8_t>(place), type, {}}, description, elements, use);
        }
    }
    const bool elsewhere = wanted != Memory::gm && wanted != Memory::none;
    if (elsewhere && core.has(wanted)) {
        raise("out-of-bounds", use, text_of("%s: the address does not lie in %s", use.api, name_of(wanted)));
    }
    if (!elsewhere) {
        dump_global({reinterpret_cast<uint64_t>(address), type}, description, elements, use);
    }
}

}  // namespace tile_simulator
