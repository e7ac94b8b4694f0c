// Compare and CompareScalar (docs/hardware/units.md#compare-gather-sort).
//
// Comparison results are bits, packed little-endian, one per element; any NaN gives 0, also for NE.
#include "ascend_c/vector_select.h"

#include <cmath>
#include <cstring>

#include "number_arrays.h"
#include "operand_overlap.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

using AscendC::BinaryRepeatParams;
using AscendC::CMPMODE;

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
    if (may_overlap(instruction)) {
        const std::vector<Run> bits = {{dst.address, repeat_bytes}};
        const RepeatedBytes written = {"dst", bits, bits, repeat_bytes, lanes.repeats, false};
        check_overlap(core, written, repeated_bytes(left, lanes), false, use);
        if (src1.tensor != nullptr) {
            check_overlap(core, written, repeated_bytes(right, lanes), false, use);
        }
    }
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
    mark_known(core, Register::compare_mask);
    for (uint32_t lane = 0; lane < lanes.top; ++lane) {
        if (lanes.lane(lane)) {
            const uint64_t bit = uint64_t(1) << (lane % 64);
            uint64_t& word = core.compare_mask[lane / 64];
            word = result[lane] != 0 ? word | bit : word & ~bit;
        }
    }
}

}  // namespace tile_simulator
