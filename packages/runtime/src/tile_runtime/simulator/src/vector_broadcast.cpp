// Broadcast: a column by Brcb, Copy and, where rows do not end on 32 B, GatherMask; a row by copies of it; one element
// by Duplicate. The steps are those of the vendor's page and of the device header (9.x, broadcast_v220_impl.h).
#include "ascend_c/vector_broadcast.h"

#include <algorithm>

#include "ascend_c/data_copy.h"
#include "ascend_c/vector_cast.h"
#include "ascend_c/vector_fill.h"
#include "ascend_c/vector_gather.h"
#include "composed_vector.h"
#include "pipe_handover.h"

namespace tile_simulator {
namespace {

constexpr int64_t brcb_elements = 8;     // of one repeat
constexpr int64_t most_repeats = 248;    // of Brcb and Copy, in whole groups of eight rows
constexpr uint32_t every_element = 7;    // pattern of GatherMask

struct Column {
    Core& core;
    LocalOperand dst;
    LocalOperand src;
    int64_t columns;
    int64_t block;    // elements of 32 B
    int64_t pitch;    // elements from row to row where rows begin on 32 B
    Use use;
};

// `rows` rows from a block for each in `blocks`.
void spread_blocks(const Column& c, LocalOperand target, LocalOperand blocks, int64_t rows)
{
    const int64_t lanes = 256 / size_of(c.dst.type);
    for (int64_t row = 0; row < rows; row += most_repeats) {
        const int64_t repeats = std::min(most_repeats, rows - row);
        for (int64_t column = 0; column < c.pitch; column += lanes) {
            const VectorForm form =
                VectorForm::of_mask(true, static_cast<uint64_t>(std::min(lanes, c.pitch - column)), repeats);
            const AscendC::CopyRepeatParams strides(1, 0, static_cast<uint32_t>(c.pitch / c.block), 1);
            vector_copy(from_element(target, row * c.pitch + column), from_element(blocks, row * c.block), form,
                strides, c.use);
        }
    }
    next_step(c.use);
}

void broadcast_rows(const Column& c, int64_t first, int64_t rows, LocalOperand blocks, LocalOperand padded)
{
    const LocalOperand src = from_element(c.src, first);
    for (int64_t row = 0; row < rows; row += most_repeats * brcb_elements) {
        const int64_t groups = std::min(most_repeats, (rows - row + brcb_elements - 1) / brcb_elements);
        const int64_t wanted = std::min(groups * brcb_elements, rows - row);
        vector_brcb(from_element(blocks, row * c.block), from_element(src, row), groups, {1, 8}, c.use,
            static_cast<uint64_t>(wanted));
    }
    next_step(c.use);
    const LocalOperand target = from_element(c.dst, first * c.columns);
    if (c.pitch == c.columns) {
        spread_blocks(c, target, blocks, rows);
        return;
    }
    spread_blocks(c, padded, blocks, rows);
    vector_gather_mask(target, padded, {nullptr, every_element}, true, static_cast<uint32_t>(c.columns),
        {1, static_cast<uint32_t>(rows), static_cast<uint32_t>(c.pitch / c.block), 0}, c.use);
    next_step(c.use);
}

void broadcast_column(const Column& c, int64_t rows, const TemporarySpace& space)
{
    const int64_t size = size_of(c.dst.type);
    // So many rows end on 32 B, whatever the columns are.
    const int64_t group = c.block;
    const int64_t each = group * (c.block + (c.pitch == c.columns ? 0 : c.pitch));
    require_space(c.core, space, each * size, c.use);
    const int64_t fitting = static_cast<int64_t>(space.bytes) / size / each;
    const int64_t at_once = std::max<int64_t>(1, fitting) * group;
    const LocalOperand blocks = as_elements(space, c.dst.type);
    const LocalOperand padded = from_element(blocks, at_once * c.block);
    for (int64_t row = 0; row < rows; row += at_once) {
        broadcast_rows(c, row, std::min(at_once, rows - row), blocks, padded);
    }
}

void broadcast_element(Core& core, LocalOperand dst, LocalOperand src, int64_t count, Use use)
{
    vector_to_scalar(core, use);
    uint32_t bits = 0;
    local_load(src, 0, size_of(src.type), &bits, use);
    scalar_to_vector(core, use);
    const Scalar value = src.type == DataType::f16
                             ? Scalar{half_bits_to_float(static_cast<uint16_t>(bits)), bits}
                             : Scalar{__builtin_bit_cast(float, bits), bits};
    vector_duplicate(dst, value, VectorForm::of_count(count), 1, 8, use);
    next_step(use);
}

// Of 16 or 32 bits.
void broadcast_elements(Core& core, LocalOperand dst, LocalOperand src, const BroadcastShape& shape, int axis,
    const TemporarySpace& space, Use use)
{
    const int64_t block = 32 / size_of(dst.type);
    const int64_t count = int64_t{shape.rows} * shape.columns;
    const int64_t given = int64_t{shape.src_rows} * shape.src_columns;
    const bool fits = axis == 1 ? shape.src_rows == shape.rows && shape.src_columns == 1
                                : shape.src_rows == 1 && shape.src_columns == shape.columns;
    if (given != count && given != 1 && !fits) {
        raise("bad-argument", use,
            text_of("%s: [%u, %u] can not be spread to [%u, %u] along axis %d", use.api, shape.src_rows,
                shape.src_columns, shape.rows, shape.columns, axis));
    }
    if (given == count) {
        vector_copy(dst, src, VectorForm::of_count(count), {}, use);
        next_step(use);
    } else if (given == 1) {
        broadcast_element(core, dst, src, count, use);
    } else if (axis == 1) {
        const int64_t pitch = (shape.columns + block - 1) / block * block;
        broadcast_column({core, dst, src, shape.columns, block, pitch, use}, shape.rows, space);
    } else {
        if (shape.columns % block != 0) {
            raise("bad-argument", use,
                text_of("%s: a row of %u elements does not end on 32 B", use.api, shape.columns));
        }
        require_space(core, space, 32, use);
        for (int64_t row = 0; row < shape.rows; ++row) {
            copy_local_count(from_element(dst, int64_t{row} * shape.columns), src,
                uint64_t{shape.columns} * size_of(dst.type), use);
        }
        next_step(use);
    }
}

// Of 8 bits: by way of half, before and behind the space that is left.
void broadcast_bytes(Core& core, LocalOperand dst, LocalOperand src, const BroadcastShape& shape, int axis,
    const TemporarySpace& space, Use use)
{
    constexpr int64_t block = 16;
    const int64_t given = int64_t{shape.src_rows} * shape.src_columns;
    const int64_t count = int64_t{shape.rows} * shape.columns;
    const int64_t narrow = (given + block - 1) / block * block;
    const int64_t taken = narrow + (count + block - 1) / block * block;
    require_space(core, space, 2 * taken, use);
    const LocalOperand from = as_elements(space, DataType::f16);
    const LocalOperand to = from_element(from, narrow);
    const TemporarySpace rest{from_element(from, taken), space.bytes - static_cast<uint32_t>(2 * taken)};
    vector_cast(from, src, AscendC::RoundMode::CAST_NONE, VectorForm::of_count(given), {1, 1, 8, 4}, use);
    next_step(use);
    broadcast_elements(core, to, from, shape, axis, rest, use);
    vector_cast(dst, to, AscendC::RoundMode::CAST_NONE, VectorForm::of_count(count), {1, 1, 4, 8}, use);
    next_step(use);
}

}  // namespace

void vector_broadcast(LocalOperand dst, LocalOperand src, const BroadcastShape& shape, int axis,
    const TemporarySpace& space, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    const ComposedCall call(core);
    const bool bytes = dst.type == DataType::i8 || dst.type == DataType::u8;
    (bytes ? broadcast_bytes : broadcast_elements)(core, dst, src, shape, axis, space, use);
}

}  // namespace tile_simulator
