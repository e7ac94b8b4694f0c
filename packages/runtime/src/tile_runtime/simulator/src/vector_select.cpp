// Select, by bits in UB or in the compare mask register, with the instructions of the device headers.
#include "ascend_c/vector_select.h"

#include <cstring>

#include "ascend_c/sync.h"
#include "ascend_c/vector_fill.h"
#include "compare_mask.h"
#include "operand_overlap.h"
#include "reserved_ub.h"
#include "touched_bytes.h"
#include "vector_engine.h"

namespace tile_simulator {
namespace {

using AscendC::BinaryRepeatParams;
using AscendC::SELMODE;

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
    if (selection.bits == nullptr || selection.tensor == nullptr) {
        require_setting(core, Register::compare_mask, use);
    }
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
    const VectorOperand walked[] = {target, left, right};
    check_overlaps(instruction, walked, selection.tensor != nullptr ? 3 : 2, lanes);
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
    require_setting(core, Register::compare_mask, use);
    const LocalMemory& memory = core.memory(Memory::ub);
    const uint32_t address = static_cast<uint32_t>(core.compare_mask[0]);
    const uint32_t from_host = address - static_cast<uint32_t>(reinterpret_cast<uint64_t>(memory.data()));
    const uint32_t offset = from_host < memory.bytes() ? from_host : address;
    if (offset >= memory.bytes()) {
        raise("out-of-bounds", use,
            text_of("%s: the compare mask register holds 0x%x, which is no address of UB: SetCmpMask takes a tensor "
                    "with the address of selMask",
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

void vector_select_register(LocalOperand dst, LocalOperand src0, LocalOperand src1, bool address, int64_t repeats,
    const BinaryRepeatParams& p, Use use)
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

}  // namespace tile_simulator
