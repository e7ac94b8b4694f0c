// Compare, CompareScalar, Select (hardware.md 3.7).
//
// Comparison results are bits, packed little-endian, one per element; any NaN gives 0, also for NE.
#include "ascend_c/vector_select.h"

#include <cmath>
#include <cstring>

#include "ascend_c/sync.h"
#include "ascend_c/vector_fill.h"
#include "number_arrays.h"
#include "reserved_ub.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

using AscendC::BinaryRepeatParams;
using AscendC::CMPMODE;
using AscendC::SELMODE;

constexpr uint32_t max_lanes = 128;

bool holds(CMPMODE mode, float a, float b)
{
    switch (mode) {
        case CMPMODE::LT:
            return a < b;
        case CMPMODE::GT:
            return a > b;
        case CMPMODE::EQ:
            return a == b;
        case CMPMODE::LE:
            return a <= b;
        case CMPMODE::GE:
            return a >= b;
        default:
            return a < b || a > b;
    }
}

// Lane values of one repeat. int32 is compared exactly: only equality is legal, so its bits are kept.
struct Row {
    float values[max_lanes];
    uint32_t words[max_lanes];
};

void load_row(DataType type, const uint8_t* elements, uint32_t lanes, Row& row)
{
    if (type == DataType::f16) {
        half_to_float(reinterpret_cast<const uint16_t*>(elements), row.values, lanes);
    } else {
        std::memcpy(row.words, elements, lanes * 4);
        std::memcpy(row.values, elements, lanes * 4);
    }
}

// The first bytes of a tensor into the compare mask register, of whose 128 bits a float repeat uses 64.
void load_compare_mask(Core& core, LocalOperand tensor, const char* name, uint64_t bytes, uint32_t alignment, Use use)
{
    require_memory(tensor, Memory::ub, name, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 1;
    const int operand =
        instruction.local(name, false, tensor, Memory::ub, Region::bytes(tensor.address, bytes), alignment);
    instruction.issue();
    std::memcpy(core.compare_mask, instruction.data(operand), bytes);
}

void check_compare(const LocalOperand& src, CMPMODE mode, Use use)
{
    if (src.type == DataType::i32 && mode != CMPMODE::EQ) {
        raise("bad-argument", use, text_of("%s: int32 supports CMPMODE::EQ only", use.api));
    }
    if (src.type != DataType::i32 && src.type != DataType::f16 && src.type != DataType::f32) {
        raise_type(use, "src0", src.type, "half, float or int32");
    }
}

template <CMPMODE mode>
void compare_values(const Row& a, const Row& b, uint32_t lanes, uint8_t* result)
{
    for (uint32_t i = 0; i < lanes; ++i) {
        result[i] = holds(mode, a.values[i], b.values[i]);
    }
}

// 0 or 1 for every lane.
void compare_row(DataType type, CMPMODE mode, const Row& a, const Row& b, uint32_t lanes, uint8_t* result)
{
    if (type == DataType::i32) {
        for (uint32_t i = 0; i < lanes; ++i) {
            result[i] = a.words[i] == b.words[i];
        }
        return;
    }
    switch (mode) {
        case CMPMODE::LT:
            return compare_values<CMPMODE::LT>(a, b, lanes, result);
        case CMPMODE::GT:
            return compare_values<CMPMODE::GT>(a, b, lanes, result);
        case CMPMODE::EQ:
            return compare_values<CMPMODE::EQ>(a, b, lanes, result);
        case CMPMODE::LE:
            return compare_values<CMPMODE::LE>(a, b, lanes, result);
        case CMPMODE::GE:
            return compare_values<CMPMODE::GE>(a, b, lanes, result);
        default:
            return compare_values<CMPMODE::NE>(a, b, lanes, result);
    }
}

void scalar_row(Scalar scalar, Row& row)
{
    for (uint32_t i = 0; i < max_lanes; ++i) {
        row.values[i] = static_cast<float>(scalar.value);
        row.words[i] = static_cast<uint32_t>(scalar.bits);
    }
}

}  // namespace

void vector_compare(LocalOperand dst, LocalOperand src0, const TensorOrScalar& src1, CMPMODE mode,
    const VectorForm& form, const BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    check_compare(src0, mode, use);
    require_memory(dst, Memory::ub, "dst", use);
    const uint32_t size = size_of(src0.type);
    if (form.kind == VectorForm::count && core.device_checks && form.repeats * int64_t(size) % 256 != 0) {
        raise("bad-argument", use,
            text_of("%s: count is %lld elements of %u bytes, but must fill whole repeats of 256 bytes", use.api,
                static_cast<long long>(form.repeats), size));
    }
    // The mask has no effect on Compare: every lane of a repeat is compared.
    VectorForm whole = form;
    if (form.kind == VectorForm::lanes || form.kind == VectorForm::bits) {
        whole.kind = VectorForm::lanes;
        whole.mask[0] = 256 / size;
    }
    const Lanes lanes = resolve_repeats(core, whole, size, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const VectorOperand left = {"src0", src0, size, p.src0BlkStride, p.src0RepStride, 255};
    const VectorOperand right = {
        "src1", src1.tensor != nullptr ? *src1.tensor : src0, size, p.src1BlkStride, p.src1RepStride, 255};
    const uint64_t repeat_bytes = lanes.per_repeat / 8;
    const int to =
        instruction.local("dst", true, dst, Memory::ub, Region::bytes(dst.address, lanes.repeats * repeat_bytes), 32);
    add_vector_operand(instruction, left, false, lanes);
    if (src1.tensor != nullptr) {
        add_vector_operand(instruction, right, false, lanes);
    }
    instruction.issue();
    Row a;
    Row b;
    scalar_row(src1.scalar, b);
    alignas(64) uint8_t elements[256];
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        gather_repeat(ub_data(core, src0.address), left, repeat, lanes.active(repeat), elements);
        load_row(src0.type, elements, lanes.active(repeat), a);
        if (src1.tensor != nullptr) {
            gather_repeat(ub_data(core, right.tensor.address), right, repeat, lanes.active(repeat), elements);
            load_row(src0.type, elements, lanes.active(repeat), b);
        }
        uint8_t result[max_lanes];
        compare_row(src0.type, mode, a, b, lanes.active(repeat), result);
        uint8_t bits[max_lanes / 8] = {};
        for (uint32_t lane = 0; lane < lanes.active(repeat); ++lane) {
            bits[lane / 8] = static_cast<uint8_t>(bits[lane / 8] | result[lane] << (lane % 8));
        }
        std::memcpy(instruction.data(to) + repeat * repeat_bytes, bits, repeat_bytes);
    }
}

void vector_compare_to_register(
    LocalOperand src0, LocalOperand src1, CMPMODE mode, const VectorForm& form, const BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    check_compare(src0, mode, use);
    const uint32_t size = size_of(src0.type);
    const Lanes lanes = resolve_lanes(core, form, size, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const VectorOperand left = {"src0", src0, size, p.src0BlkStride, p.src0RepStride, 255};
    const VectorOperand right = {"src1", src1, size, p.src1BlkStride, p.src1RepStride, 255};
    add_vector_operand(instruction, left, false, lanes);
    add_vector_operand(instruction, right, false, lanes);
    instruction.issue();
    Row a;
    Row b;
    alignas(64) uint8_t elements[256];
    gather_repeat(ub_data(core, src0.address), left, 0, lanes.top, elements);
    load_row(src0.type, elements, lanes.top, a);
    gather_repeat(ub_data(core, src1.address), right, 0, lanes.top, elements);
    load_row(src0.type, elements, lanes.top, b);
    uint8_t result[max_lanes];
    compare_row(src0.type, mode, a, b, lanes.top, result);
    for (uint32_t lane = 0; lane < lanes.top; ++lane) {
        if (lanes.lane(lane)) {
            const uint64_t bit = uint64_t(1) << (lane % 64);
            uint64_t& word = core.compare_mask[lane / 64];
            word = result[lane] != 0 ? word | bit : word & ~bit;
        }
    }
}

namespace {

// Where one selecting instruction takes its bits and its other side from.
struct Selection {
    const LocalOperand* bits;    // null: the compare mask register, the same bits for every repeat
    const LocalOperand* tensor;  // null: the scalar in the compare mask register
};

void select_lanes(Core& core, LocalOperand dst, LocalOperand src0, const Selection& selection, const VectorForm& form,
    const BinaryRepeatParams& p, Use use)
{
    const uint32_t size = size_of(src0.type);
    const Lanes lanes = resolve_repeats(core, form, size, use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = vector_work(lanes, 1);
    if (lanes.nothing) {
        instruction.issue();
        return;
    }
    const VectorOperand target = {"dst", dst, size, p.dstBlkStride, p.dstRepStride, 255};
    const VectorOperand left = {"src0", src0, size, p.src0BlkStride, p.src0RepStride, 255};
    const VectorOperand right = {"src1", selection.tensor != nullptr ? *selection.tensor : src0, size,
        p.src1BlkStride, p.src1RepStride, 255};
    const uint64_t repeat_bytes = lanes.per_repeat / 8;
    add_vector_operand(instruction, target, true, lanes);
    add_vector_operand(instruction, left, false, lanes);
    if (selection.tensor != nullptr) {
        add_vector_operand(instruction, right, false, lanes);
    }
    if (selection.bits != nullptr) {
        const uint64_t last = lanes.active(lanes.repeats - 1);
        instruction.local("selMask", false, *selection.bits, Memory::ub,
            Region::bytes(selection.bits->address, (lanes.repeats - 1) * repeat_bytes + (last + 7) / 8), 32);
    }
    instruction.issue();
    alignas(64) uint8_t a[256];
    alignas(64) uint8_t b[256];
    for (uint32_t lane = 0; lane < lanes.per_repeat; ++lane) {
        std::memcpy(b + lane * size, core.compare_mask, size);
    }
    for (uint64_t repeat = 0; repeat < lanes.repeats; ++repeat) {
        const uint32_t active = lanes.active(repeat);
        gather_repeat(ub_data(core, src0.address), left, repeat, active, a);
        if (selection.tensor != nullptr) {
            gather_repeat(ub_data(core, right.tensor.address), right, repeat, active, b);
        }
        uint64_t chosen[2] = {core.compare_mask[0], core.compare_mask[1]};
        if (selection.bits != nullptr) {
            chosen[0] = chosen[1] = 0;
            std::memcpy(chosen, ub_data(core, selection.bits->address) + repeat * repeat_bytes, (active + 7) / 8);
        }
        for (uint32_t lane = 0; lane < active; ++lane) {
            if (lanes.prefix || lanes.lane(lane)) {
                const bool first = (chosen[lane / 64] >> (lane % 64) & 1u) != 0;
                const uint32_t per_block = 32 / size;
                uint8_t* out = ub_data(core, dst.address) + repeat * p.dstRepStride * 32ull +
                               (lane / per_block) * uint64_t(p.dstBlkStride) * 32 + (lane % per_block) * size;
                std::memcpy(out, (first ? a : b) + lane * size, size);
            }
        }
    }
}

// A number spread over the reserved space of UB and from there into the compare mask register, as the device headers
// hand a scalar or an address to the selecting instruction.
void number_to_register(DataType type, uint64_t bits, bool counted, Use use)
{
    constexpr uint64_t elements = 32;
    const LocalOperand temporary = reserved_ub(type);
    const VectorForm form =
        counted ? VectorForm::of_count(elements) : VectorForm::of_mask(true, elements, 1);
    vector_duplicate(temporary, Scalar{0.0, bits}, form, 1, 8, use);
    pipe_barrier(PIPE_V, use);
    move_compare_mask(temporary, true, use);
    pipe_barrier(PIPE_V, use);
}

// The tensor of bits whose address the compare mask register holds: of UB, or of the host as GetPhyAddr gives it.
LocalOperand bits_in_register(Core& core, Use use)
{
    const LocalMemory& memory = core.memory(Memory::ub);
    const uint32_t address = static_cast<uint32_t>(core.compare_mask[0]);
    const uint32_t from_host = address - static_cast<uint32_t>(reinterpret_cast<uint64_t>(memory.data()));
    const uint32_t offset = from_host < memory.bytes() ? from_host : address;
    if (offset >= memory.bytes()) {
        raise("out-of-bounds", use,
            text_of("%s: the compare mask register holds 0x%x, which is no address of UB: SetCmpMask takes a tensor with "
                    "the address of selMask",
                use.api, address));
    }
    return {offset, static_cast<uint8_t>(AscendC::TPosition::VECCALC), DataType::u8, Buffer{}};
}

}  // namespace

// Mode 0: the tensor's first bits, the same for every repeat. Mode 1: bits from the tensor, other side a scalar.
// Mode 2: bits from the tensor, other side a tensor.
void vector_select(LocalOperand dst, LocalOperand bits, LocalOperand src0, const TensorOrScalar& src1, SELMODE mode,
    const VectorForm& form, const BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if ((mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) != (src1.tensor == nullptr)) {
        raise("bad-argument", use,
            text_of("%s: VSEL_TENSOR_SCALAR_MODE takes a scalar src1, the other modes a tensor", use.api));
    }
    require_memory(bits, Memory::ub, "selMask", use);
    if (form.repeats == 0) {
        return;
    }
    const bool counted = form.kind == VectorForm::count;
    if (mode == SELMODE::VSEL_CMPMASK_SPR) {
        load_compare_mask(core, bits, "selMask", 32 / size_of(src0.type), 32, use);
        pipe_barrier(PIPE_V, use);
        return select_lanes(core, dst, src0, {nullptr, src1.tensor}, form, p, use);
    }
    if (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
        number_to_register(src0.type, src1.scalar.bits, counted, use);
    } else {
        number_to_register(DataType::u32, bits.address, counted, use);
    }
    select_lanes(core, dst, src0, {&bits, src1.tensor}, form, p, use);
}

void vector_select_register(
    LocalOperand dst, LocalOperand src0, LocalOperand src1, bool address, int64_t repeats, const BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const VectorForm form = {VectorForm::preset, repeats, {0, 0}};
    if (address) {
        const LocalOperand bits = bits_in_register(core, use);
        return select_lanes(core, dst, src0, {&bits, &src1}, form, p, use);
    }
    select_lanes(core, dst, src0, {nullptr, &src1}, form, p, use);
}

void vector_select_register_scalar(
    LocalOperand dst, LocalOperand bits, LocalOperand src0, int64_t repeats, const BinaryRepeatParams& p, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    require_memory(bits, Memory::ub, "selMask", use);
    select_lanes(core, dst, src0, {&bits, nullptr}, VectorForm{VectorForm::preset, repeats, {0, 0}}, p, use);
}

void move_compare_mask(LocalOperand tensor, bool to_register, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (to_register) {
        return load_compare_mask(core, tensor, "src", 16, 16, use);
    }
    require_memory(tensor, Memory::ub, "dst", use);
    Instruction instruction(core, Pipe::v, use);
    instruction.work = 1;
    const int operand = instruction.local("dst", true, tensor, Memory::ub, Region::bytes(tensor.address, 16), 16);
    instruction.issue();
    std::memcpy(instruction.data(operand), core.compare_mask, 16);
}

}  // namespace tile_simulator
