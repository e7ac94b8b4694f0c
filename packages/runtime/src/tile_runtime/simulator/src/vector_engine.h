// How a vector instruction walks its operands: repeats of 256 B, blocks of 32 B, strides and masks
// (docs/hardware/units.md#repeats).
#pragma once

#include "instruction.h"

namespace tile_simulator {

// A kernel computes `count` consecutive elements: operands[0] is the destination, the others the sources.
// The destination holds its old contents, for operations that read it.
using VectorKernel = void (*)(uint8_t* const* operands, size_t count, const void* context);

struct VectorOperand {
    const char* name;
    LocalOperand tensor;
    uint32_t size;          // bytes per element
    int64_t block_stride;   // in 32 B
    int64_t repeat_stride;  // in 32 B
    int64_t repeat_limit;   // largest legal repeat stride
    bool may_read_results = false;  // a source of which a repeat may read what an earlier one wrote
};

// Lanes of an instruction after the form and the mask register are resolved.
struct Lanes {
    bool nothing = false;     // count, mask or repeat 0: no operation
    bool contiguous = false;  // the first `total` elements, no strides
    bool counter = false;     // `total` elements in repeats of `per_repeat`, the last one shorter
    uint64_t total = 0;
    uint32_t per_repeat = 0;
    uint64_t repeats = 0;
    uint64_t mask[2] = {0, 0};
    uint32_t top = 0;    // highest active lane + 1
    bool prefix = true;  // exactly the lanes below `top` are active

    uint32_t active(uint64_t repeat) const
    {
        return counter && (repeat + 1) * per_repeat > total ? static_cast<uint32_t>(total - repeat * per_repeat) : top;
    }
    bool lane(uint32_t i) const { return (mask[i >> 6] >> (i & 63u) & 1u) != 0; }
};

// Resolves the form against the mask register (and updates the register as the API would).
Lanes resolve_lanes(Core& core, const VectorForm& form, uint32_t widest_element, Use use);

// The same, with the count form as repeats in counter mode: for operands whose strides are not those of plain elements.
Lanes resolve_repeats(Core& core, const VectorForm& form, uint32_t widest_element, Use use);

// Adds what an operand touches in all repeats to the instruction; returns the index of its first region, which need
// not begin where the tensor does.
int add_vector_operand(Instruction& instruction, const VectorOperand& operand, bool write, const Lanes& lanes);

// Copies the blocks of one repeat of an operand to or from a contiguous buffer.
void gather_repeat(const uint8_t* base, const VectorOperand& operand, uint64_t repeat, uint32_t lanes, uint8_t* buffer);

// Cycles the vector pipe is busy with `lanes`, at `rate` cycles per repeat of 256 B
// (docs/hardware/time_model.md#vector-rates).
uint64_t vector_work(const Lanes& lanes, uint64_t rate);

// Cycles per repeat where the unit computes 32 elements per cycle (Div, Exp, Ln, Sqrt).
inline uint64_t slow_rate(uint32_t element_size)
{
    return 256 / element_size / 32;
}

// Whether the elements an instruction writes are results of arithmetic, which may saturate, or moved as they are.
enum class Elements : uint8_t { computed, moved };

// The whole instruction for element-wise operations: operands[0] is written (and read first, if it is updated), the
// others read.
void run_elementwise(Core& core, const VectorOperand* operands, int count, const VectorForm& form, VectorKernel kernel,
    const void* context, Use use, uint64_t rate = 1, bool updates = false, Elements elements = Elements::computed);

}  // namespace tile_simulator
