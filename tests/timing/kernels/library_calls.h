// What calls of the vendor's high-level library come down to on this chip, for kernels whose sources make them: the same
// instructions in the same order with the same barriers (asc-devkit impl/adv_api/detail/reduce, .../pad/broadcast). f32.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace library {

// to[row] = the largest element, or the sum, of each row of 64 or 128: ReduceMax, ReduceSum of pattern AR.
template <bool maximum>
__aicore__ inline void reduce_rows(
    const LocalTensor<float>& to, const LocalTensor<float>& from, const LocalTensor<float>& scratch, uint32_t rows, uint32_t columns)
{
    const uint8_t pitch = columns / 8;
    Adds(scratch, from, 0.0f, 64, rows, UnaryRepeatParams(1, 1, 8, pitch));
    PipeBarrier<PIPE_V>();
    for (uint32_t i = 64; i < columns; i += 64) {
        const BinaryRepeatParams fold(1, 1, 1, 8, 8, pitch);
        if constexpr (maximum) {
            Max(scratch, scratch, from[i], 64, rows, fold);
        } else {
            Add(scratch, scratch, from[i], 64, rows, fold);
        }
        PipeBarrier<PIPE_V>();
    }
    if constexpr (maximum) {
        BlockReduceMax(scratch, scratch, rows, 64, 1, 1, 8);
        PipeBarrier<PIPE_V>();
        BlockReduceMax(to, scratch, rows / 8, 64, 1, 1, 8);
    } else {
        BlockReduceSum(scratch, scratch, rows, 64, 1, 1, 8);
        PipeBarrier<PIPE_V>();
        BlockReduceSum(to, scratch, rows / 8, 64, 1, 1, 8);
    }
}

// to[column] = the sum of each column of a power of two of rows: ReduceSum of pattern RA.
__aicore__ inline void sum_columns(
    const LocalTensor<float>& to, const LocalTensor<float>& from, const LocalTensor<float>& scratch, uint32_t rows, uint32_t columns)
{
    LocalTensor<float> left = from;
    for (uint32_t half_rows = rows / 2; half_rows > 0; half_rows /= 2) {
        Add(scratch, left, left[half_rows * columns], half_rows * columns);
        PipeBarrier<PIPE_V>();
        left = scratch;
    }
    Adds(to, scratch, 0.0f, columns);
    PipeBarrier<PIPE_V>();
}

// to[row][:] = of[row], for columns of 32 or a multiple of 64: Broadcast of the last axis. `scratch` holds a block a row.
__aicore__ inline void spread_along_rows(
    const LocalTensor<float>& to, const LocalTensor<float>& of, const LocalTensor<float>& scratch, uint32_t rows, uint32_t columns)
{
    Brcb(scratch, of, (rows + 7) / 8, BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
    const uint32_t once = columns < 64 ? columns : 64;
    for (uint32_t j = 0; j < columns; j += once) {
        Copy(to[j], scratch, once, rows, CopyRepeatParams(1, 0, columns / 8, 1));
    }
    PipeBarrier<PIPE_V>();
}

// to[row][:] = of[:]: Broadcast of the first axis, each 64 columns with one instruction.
__aicore__ inline void repeat_row(const LocalTensor<float>& to, const LocalTensor<float>& of, uint32_t rows, uint32_t columns)
{
    for (uint32_t j = 0; j < columns; j += 64) {
        Copy(to[j], of[j], 64, rows, CopyRepeatParams(1, 1, columns / 8, 0));
    }
    PipeBarrier<PIPE_V>();
}

}  // namespace library
