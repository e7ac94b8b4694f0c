// ReduceSum, ReduceMax, ReduceMin along an axis, in the order of the device headers (9.x, reduce_sum_v220_impl.h and
// reduce_common_util_v220_impl.h): columns in halves; rows into accumulators, which one more reduction makes a number.
#include "ascend_c/vector_reduce_axis.h"

#include <algorithm>

#include "ascend_c/data_copy.h"
#include "ascend_c/vector_binary.h"
#include "ascend_c/vector_scalar.h"
#include "composed_vector.h"

namespace tile_simulator {
namespace {

using AscendC::ReduceOrder;

constexpr int64_t rows_at_once = 248;  // so many repeats of one instruction

struct Axis {
    Core& core;
    LocalOperand dst;
    LocalOperand src;
    AxisReduction what;
    int64_t block;   // elements of 32 B
    int64_t repeat;  // elements of 256 B
    int64_t pitch;   // elements from row to row
    Use use;
};

BinaryOp binary_of(ReduceOp op)
{
    return op == ReduceOp::sum ? BinaryOp::add : op == ReduceOp::max ? BinaryOp::max : BinaryOp::min;
}

uint32_t blocks(const Axis& a, int64_t elements)
{
    return static_cast<uint32_t>(elements / a.block);
}

VectorForm lanes(int64_t count, int64_t repeats)
{
    return VectorForm::of_mask(true, static_cast<uint64_t>(count), repeats);
}

void copy_elements(const Axis& a, LocalOperand dst, LocalOperand src, int64_t count)
{
    const Scalar zero{0.0, 0};
    vector_scalar(ScalarOp::adds, dst, src, zero, VectorForm::of_count(count), {}, a.use);
}

// dst[row] = src0[row] op src1[row] for rows of the matrix; what is behind them on their last block stays out.
void combine_rows(const Axis& a, LocalOperand dst, LocalOperand src0, LocalOperand src1, int64_t rows)
{
    if (a.pitch == a.what.columns) {
        vector_binary(binary_of(a.what.op), dst, src0, src1, VectorForm::of_count(rows * a.pitch), {}, a.use);
    } else {
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t at = row * a.pitch;
            vector_binary(binary_of(a.what.op), from_element(dst, at), from_element(src0, at), from_element(src1, at),
                VectorForm::of_count(a.what.columns), {}, a.use);
        }
    }
    next_step(a.use);
}

int64_t power_of_two(int64_t most)
{
    int64_t found = 1;
    while (2 * found <= most) {
        found *= 2;
    }
    return found;
}

void reduce_columns(const Axis& a, const TemporarySpace& space)
{
    int64_t half_of_rows = power_of_two(a.what.rows);
    const int64_t rest = a.what.rows - half_of_rows;
    LocalOperand sums = a.what.reuse ? a.src : as_elements(space, a.src.type);
    if (!a.what.reuse && a.what.rows > 1) {
        const int64_t kept = rest != 0 ? half_of_rows : half_of_rows / 2;
        require_space(a.core, space, kept * a.pitch * size_of(a.src.type), a.use);
        if (rest != 0) {
            for (int64_t row = 0; row < half_of_rows; ++row) {
                copy_elements(a, from_element(sums, row * a.pitch), from_element(a.src, row * a.pitch),
                    a.what.columns);
            }
            next_step(a.use);
        } else {
            half_of_rows /= 2;
            combine_rows(a, sums, a.src, from_element(a.src, half_of_rows * a.pitch), half_of_rows);
        }
    } else if (!a.what.reuse) {
        sums = a.src;
    }
    if (rest != 0) {
        combine_rows(a, sums, sums, from_element(a.src, power_of_two(a.what.rows) * a.pitch), rest);
    }
    while (half_of_rows > 1) {
        half_of_rows /= 2;
        combine_rows(a, sums, sums, from_element(sums, half_of_rows * a.pitch), half_of_rows);
    }
    copy_elements(a, a.dst, sums, a.what.columns);
    next_step(a.use);
}

// Strides from repeat to repeat have eight bits: longer rows are done one by one.
int64_t rows_of_one_instruction(const Axis& a, int64_t pitch, int64_t rows)
{
    return blocks(a, pitch) > 255 ? 1 : rows;
}

// One number for each of the rows, of which the first `count` elements take part: not more than one repeat has.
void reduce_short_rows(const Axis& a, LocalOperand dst, LocalOperand src, int64_t pitch, int64_t rows, int64_t count)
{
    const int64_t at_once = rows_of_one_instruction(a, pitch, rows);
    for (int64_t row = 0; row < rows; row += at_once) {
        vector_reduce(a.what.op, ReduceSpan::repeat, from_element(dst, row), from_element(src, row * pitch),
            lanes(count, at_once), {1, 1, at_once == 1 ? 8 : blocks(a, pitch)}, ReduceOrder::ORDER_ONLY_VALUE, a.use);
    }
}

// acc[row, 0:count] = acc[row, 0:count] op src[row, from:from+count]
void accumulate(const Axis& a, LocalOperand acc, int64_t acc_pitch, LocalOperand src, int64_t from, int64_t rows,
    int64_t count)
{
    const int64_t at_once = rows_of_one_instruction(a, a.pitch, rows);
    const uint32_t acc_stride = at_once == 1 ? 8 : blocks(a, acc_pitch);
    const uint32_t src_stride = at_once == 1 ? 8 : blocks(a, a.pitch);
    const AscendC::BinaryRepeatParams strides(1, 1, 1, acc_stride, acc_stride, src_stride);
    for (int64_t row = 0; row < rows; row += at_once) {
        for (int64_t done = 0; done < count; done += a.repeat) {
            const LocalOperand part = from_element(acc, row * acc_pitch + done);
            vector_binary(binary_of(a.what.op), part, part, from_element(src, row * a.pitch + from + done),
                lanes(std::min(a.repeat, count - done), at_once), strides, a.use);
        }
    }
    next_step(a.use);
}

void copy_rows(const Axis& a, LocalOperand acc, LocalOperand src, int64_t rows, int64_t count)
{
    copy_local(acc, src,
        {static_cast<uint32_t>(rows), blocks(a, count), blocks(a, a.pitch - count), 0}, a.use);
    next_step(a.use);
}

// Extrema: one repeat of accumulators for each row.
void extrema_of_rows(const Axis& a, LocalOperand dst, LocalOperand src, LocalOperand acc, int64_t rows)
{
    const int64_t acc_pitch = a.what.reuse ? a.pitch : a.repeat;
    if (!a.what.reuse) {
        copy_rows(a, acc, src, rows, a.repeat);
    }
    for (int64_t from = a.repeat; from < a.what.columns; from += a.repeat) {
        accumulate(a, acc, acc_pitch, src, from, rows, std::min(a.repeat, a.what.columns - from));
    }
    reduce_short_rows(a, dst, acc, acc_pitch, rows, a.repeat);
}

// Sums: a power of two of accumulators for each row, which come together pair by pair down to one repeat.
void sums_of_rows(const Axis& a, LocalOperand dst, LocalOperand src, LocalOperand acc, int64_t rows, int64_t width)
{
    const int64_t acc_pitch = a.what.reuse ? a.pitch : width;
    if (!a.what.reuse) {
        copy_rows(a, acc, src, rows, width);
    }
    accumulate(a, acc, acc_pitch, src, width, rows, a.what.columns - width);
    if (a.what.reuse) {
        copy_local(acc, acc, {static_cast<uint32_t>(rows), blocks(a, width), blocks(a, a.pitch - width), 0}, a.use);
        next_step(a.use);
    }
    for (; width > a.repeat; width /= 2) {
        const int64_t repeats = rows * width / a.repeat;
        for (int64_t done = 0; done < repeats; done += rows_at_once) {
            vector_reduce(ReduceOp::sum, ReduceSpan::pair, from_element(acc, done * a.repeat / 2),
                from_element(acc, done * a.repeat), lanes(a.repeat, std::min(rows_at_once, repeats - done)),
                {1, 1, 8}, ReduceOrder::ORDER_ONLY_VALUE, a.use);
            next_step(a.use);
        }
    }
    vector_reduce(ReduceOp::sum, ReduceSpan::block, acc, acc, lanes(a.repeat, rows), {1, 1, 8},
        ReduceOrder::ORDER_ONLY_VALUE, a.use);
    next_step(a.use);
    const int64_t whole = rows / 8;
    if (whole > 0) {
        vector_reduce(ReduceOp::sum, ReduceSpan::block, dst, acc, lanes(a.repeat, whole), {1, 1, 8},
            ReduceOrder::ORDER_ONLY_VALUE, a.use);
    }
    if (rows % 8 != 0) {
        vector_reduce(ReduceOp::sum, ReduceSpan::block, from_element(dst, whole * 8),
            from_element(acc, whole * a.repeat), lanes(rows % 8 * a.block, 1), {1, 1, 8},
            ReduceOrder::ORDER_ONLY_VALUE, a.use);
    }
}

void reduce_rows(const Axis& a, const TemporarySpace& space)
{
    const bool sums = a.what.op == ReduceOp::sum;
    const bool is_short = a.what.columns <= a.repeat;
    const int64_t power = power_of_two(a.what.columns);
    const int64_t width = !sums ? a.repeat : power == a.what.columns ? power / 2 : power;
    const int64_t at_once = std::min<int64_t>(rows_at_once, a.what.rows);
    const LocalOperand work = as_elements(space, a.src.type);
    if (!is_short && !a.what.reuse) {
        require_space(a.core, space, at_once * width * size_of(a.src.type), a.use);
    }
    for (int64_t row = 0; row < a.what.rows; row += at_once) {
        const int64_t rows = std::min<int64_t>(at_once, a.what.rows - row);
        const LocalOperand src = from_element(a.src, row * a.pitch);
        const LocalOperand dst = from_element(a.dst, row);
        const LocalOperand acc = a.what.reuse ? src : work;
        if (is_short) {
            reduce_short_rows(a, dst, src, a.pitch, rows, a.what.columns);
        } else if (sums) {
            sums_of_rows(a, dst, src, acc, rows, width);
        } else {
            extrema_of_rows(a, dst, src, acc, rows);
        }
        next_step(a.use);
    }
}

}  // namespace

void reduce_axis(LocalOperand dst, LocalOperand src, const TemporarySpace& space, const AxisReduction& what, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv)) {
        return;
    }
    if (core.device_checks && !what.padded) {
        raise("bad-argument", use, text_of("%s: srcInnerPad is false, and rows begin on 32 B here", use.api));
    }
    require_range(core, "srcShape[0]", what.rows, 1, INT32_MAX, use);
    require_range(core, "srcShape[1]", what.columns, 1, INT32_MAX, use);
    const ComposedCall call(core);
    const int64_t block = 32 / size_of(src.type);
    const Axis a{core, dst, src, what, block, 8 * block, (what.columns + block - 1) / block * block, use};
    if (what.along_rows) {
        reduce_rows(a, space);
    } else {
        reduce_columns(a, space);
    }
}

}  // namespace tile_simulator
