// Reductions of a matrix in ub along one axis. Sizes and pitches are in elements; rows start at
// multiples of 32 bytes. Half sums run in float and are rounded once.
#ifndef TILE_REDUCE_H
#define TILE_REDUCE_H

namespace tile {

struct Sum {
    __aicore__ static float identity() { return 0.0f; }
    template <class T, class... Form>
    __aicore__ static void fold(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, Form... form)
    {
        AscendC::Add(d, a, b, form...);
    }
    template <class T>
    __aicore__ static void whole(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        int32_t mask, int32_t repeats, int32_t pitch_blocks)
    {
        AscendC::WholeReduceSum(d, a, mask, repeats, 1, 1, pitch_blocks);
    }
    template <class Mask>
    __aicore__ static void blocks(const AscendC::LocalTensor<float>& d, const AscendC::LocalTensor<float>& a,
        const Mask& mask, int32_t repeats, int32_t pitch_blocks, int32_t step = 1)
    {
        AscendC::BlockReduceSum(d, a, repeats, mask, 1, step, pitch_blocks);
    }
};

struct Max {
    __aicore__ static float identity() { return float_from_bits(0xff800000u); }  // -inf
    template <class T, class... Form>
    __aicore__ static void fold(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, Form... form)
    {
        AscendC::Max(d, a, b, form...);
    }
    template <class T>
    __aicore__ static void whole(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        int32_t mask, int32_t repeats, int32_t pitch_blocks)
    {
        AscendC::WholeReduceMax(
            d, a, mask, repeats, 1, 1, pitch_blocks, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
    template <class Mask>
    __aicore__ static void blocks(const AscendC::LocalTensor<float>& d, const AscendC::LocalTensor<float>& a,
        const Mask& mask, int32_t repeats, int32_t pitch_blocks, int32_t step = 1)
    {
        AscendC::BlockReduceMax(d, a, repeats, mask, 1, step, pitch_blocks);
    }
};

struct Min {
    __aicore__ static float identity() { return float_from_bits(0x7f800000u); }
    template <class T, class... Form>
    __aicore__ static void fold(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, Form... form)
    {
        AscendC::Min(d, a, b, form...);
    }
    template <class T>
    __aicore__ static void whole(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        int32_t mask, int32_t repeats, int32_t pitch_blocks)
    {
        AscendC::WholeReduceMin(
            d, a, mask, repeats, 1, 1, pitch_blocks, AscendC::ReduceOrder::ORDER_ONLY_VALUE);
    }
    template <class Mask>
    __aicore__ static void blocks(const AscendC::LocalTensor<float>& d, const AscendC::LocalTensor<float>& a,
        const Mask& mask, int32_t repeats, int32_t pitch_blocks, int32_t step = 1)
    {
        AscendC::BlockReduceMin(d, a, repeats, mask, 1, step, pitch_blocks);
    }
};

// dst[r] = a[r] op b[r] on the first `mask` lanes of every row; steps from row to row are in elements.
template <class Fold, class T>
__aicore__ inline void fold_each(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
    const AscendC::LocalTensor<T>& b, uint32_t mask, uint32_t rows, uint32_t dst_step, uint32_t a_step, uint32_t b_step)
{
    const RowSteps steps = row_steps(dst_step * sizeof(T), a_step * sizeof(T), b_step * sizeof(T));
    const AscendC::BinaryRepeatParams strides(1, 1, 1, steps.dst, steps.a, steps.b);
    for (uint32_t row = 0; row < rows; row += steps.at_once) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, steps.at_once));
        Fold::fold(dst[row * dst_step], a[row * a_step], b[row * b_step], static_cast<uint64_t>(mask), repeats,
            strides);
    }
}

// acc = fold of itself and `items` vectors, at most kMaxRepeats, by an instruction that accumulates over its repeats.
template <class Fold, class T>
__aicore__ inline void fold_onto(const AscendC::LocalTensor<T>& acc, const AscendC::LocalTensor<T>& src,
    uint32_t mask, uint32_t items, uint32_t step)
{
    const uint8_t blocks = static_cast<uint8_t>(step * sizeof(T) / kBlockBytes);
    Fold::fold(acc, src, acc, static_cast<uint64_t>(mask), static_cast<uint8_t>(items),
        AscendC::BinaryRepeatParams{1, 1, 1, 0, blocks, 0});
}

// Whether `items` vectors are folded onto each of `groups` accumulators sooner by an instruction for each accumulator
// than by one for each item, which waits for the one before: two cycles for an item, or three for an instruction, beside
// three for two groups, as half of them have bank conflicts, and 25 until a result can be used.
__aicore__ inline bool sooner_apart(uint32_t groups, uint32_t items)
{
    return groups * (items == 1 ? 3 : 2 * items) < items * (groups * 3 / 2 + 25);
}

// One value per row of `lanes` partial results.
template <class Fold, class T>
__aicore__ inline void finish_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& partial,
    uint32_t rows, uint32_t lanes, uint32_t pitch)
{
    const int32_t pitch_blocks = static_cast<int32_t>(pitch * sizeof(T) / kBlockBytes);
    constexpr uint32_t step = kMaxRepeats / 8 * 8;  // results of each group start at a block
    for (uint32_t row = 0; row < rows; row += step) {
        const int32_t repeats = static_cast<int32_t>(minimum(rows - row, step));
        Fold::whole(dst[row], partial[row * pitch], static_cast<int32_t>(lanes), repeats, pitch_blocks);
    }
}

// The same for the first `whole` rows, a multiple of eight, of at most eight floats each: a block reduction takes eight
// rows at a time.
template <class Fold>
__aicore__ inline void finish_eights(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& partial,
    uint32_t whole, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t kept = kRepeatBytes / kBlockBytes;
    const uint64_t every_block = 0x0101010101010101u;
    const uint64_t mask[2] = {((uint64_t(1) << columns) - 1) * every_block, 0};
    const int32_t step = static_cast<int32_t>(pitch * sizeof(float) / kBlockBytes);
    for (uint32_t row = 0; row < whole; row += kMaxRepeats * kept) {
        const int32_t repeats = static_cast<int32_t>(minimum((whole - row) / kept, kMaxRepeats));
        Fold::blocks(dst[row], partial[row * pitch], mask, repeats, step * static_cast<int32_t>(kept), step);
    }
}

// The same for any number of such rows.
template <class Fold>
__aicore__ inline void finish_narrow(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& partial,
    uint32_t rows, uint32_t columns, uint32_t pitch)
{
    const uint32_t whole = rows / 8 * 8;
    finish_eights<Fold>(dst, partial, whole, columns, pitch);
    if (whole < rows) {
        finish_rows<Fold>(dst[whole], partial[whole * pitch], rows - whole, columns, pitch);
    }
}

// The same for rows of 64 floats: eight values of every row in `blocks`, which may be where `partial` begins, then one.
// That is seven instructions in the time of one for each row, which takes three times as long until its results are
// there (docs/hardware/time_model.md#vector-rates). Values of rows behind the last eight go by way of `blocks`: an
// instruction for eight rows would write behind `dst`.
template <class Fold>
__aicore__ inline void finish_in_blocks(const AscendC::LocalTensor<float>& dst,
    const AscendC::LocalTensor<float>& partial, const AscendC::LocalTensor<float>& blocks, uint32_t rows,
    uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    constexpr uint32_t kept = kRepeatBytes / kBlockBytes;
    const int32_t pitch_blocks = static_cast<int32_t>(pitch * sizeof(float) / kBlockBytes);
    for (uint32_t row = 0; row < rows; row += kMaxRepeats) {
        const int32_t repeats = static_cast<int32_t>(minimum(rows - row, kMaxRepeats));
        Fold::blocks(blocks[row * kept], partial[row * pitch], lanes, repeats, pitch_blocks);
        if (row + kMaxRepeats < rows) {
            AscendC::PipeBarrier<PIPE_V>();
        }
    }
    AscendC::PipeBarrier<PIPE_V>();
    const uint32_t whole = rows / kept * kept;
    const uint32_t tail = rows - whole;
    if (tail != 0) {
        const auto values = blocks[whole * kept];
        Fold::blocks(values, values, tail * kept, 1, static_cast<int32_t>(kept));
    }
    finish_eights<Fold>(dst, blocks, whole, kept, kept);
    if (tail != 0) {
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Copy(dst[whole], blocks[whole * kept], static_cast<uint64_t>(tail), 1, {1, 1, 8, 8});
    }
}

// partial[row, lane] = fold over the columns that fall on the lane, from left to right.
template <class Fold, class T>
__aicore__ inline void fold_rows(const AscendC::LocalTensor<T>& partial, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    const uint32_t chunks = columns / lanes;
    const uint32_t tail = columns % lanes;
    const bool near = rows == 1 || pitch * sizeof(T) <= kMaxStepBytes;
    uint32_t chunk = 1;
    if (near && chunks > 1) {
        fold_each<Fold>(partial, src, src[lanes], lanes, rows, lanes, pitch, pitch);
        chunk = 2;
    } else {
        copy_rows(partial, src, lanes, rows, lanes, pitch);
    }
    AscendC::PipeBarrier<PIPE_V>();
    const bool apart = !near || sooner_apart(rows, chunks - chunk);
    while (chunk < chunks) {
        const uint32_t at_once = apart ? minimum(chunks - chunk, kMaxRepeats) : 1u;
        if (apart) {
            for (uint32_t row = 0; row < rows; ++row) {
                fold_onto<Fold>(partial[row * lanes], src[row * pitch + chunk * lanes], lanes, at_once, lanes);
            }
        } else {
            fold_each<Fold>(partial, partial, src[chunk * lanes], lanes, rows, lanes, lanes, pitch);
        }
        AscendC::PipeBarrier<PIPE_V>();
        chunk += at_once;
    }
    if (tail != 0) {
        fold_each<Fold>(partial, partial, src[chunks * lanes], tail, rows, lanes, lanes, pitch);
        AscendC::PipeBarrier<PIPE_V>();
    }
}

template <class Fold, class T>
__aicore__ inline void rows_native(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    const auto partial = scratch.ReinterpretCast<T>();
    if (columns > lanes) {
        fold_rows<Fold>(partial, src, rows, columns, pitch);
    }
    const auto folded = columns > lanes ? partial : src;
    const uint32_t step = columns > lanes ? lanes : pitch;
    if constexpr (Same<T, float>::value) {
        if (columns >= lanes) {
            finish_in_blocks<Fold>(dst, folded, partial, rows, step);
            return;
        }
        if (columns <= kBlockBytes / sizeof(float)) {
            finish_narrow<Fold>(dst, folded, rows, columns, step);
            return;
        }
    }
    finish_rows<Fold>(dst, folded, rows, minimum(columns, lanes), step);
}

// acc[r] = src[r], or acc[r] += src[r], on the first `mask` lanes of every row of floats, which are 256 bytes apart.
template <bool add>
__aicore__ inline void widen_each(const AscendC::LocalTensor<float>& acc, const AscendC::LocalTensor<half>& src,
    uint32_t mask, uint32_t rows, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    const RowSteps steps = row_steps(kRepeatBytes, pitch * sizeof(half), 0);
    const AscendC::UnaryRepeatParams strides(1, 1, steps.dst, steps.a);
    for (uint32_t row = 0; row < rows; row += steps.at_once) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, steps.at_once));
        const uint64_t active = mask;
        if constexpr (add) {  // times one: exact, and rounded once with the sum
            AscendC::Axpy(acc[row * lanes], src[row * pitch], static_cast<half>(1.0f), active, repeats, strides);
        } else {
            AscendC::Cast(
                acc[row * lanes], src[row * pitch], AscendC::RoundMode::CAST_NONE, active, repeats, strides);
        }
    }
}

// Sum of half rows in float, 64 columns at a time.
__aicore__ inline void rows_half_sum(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    const auto result = scratch[rows * lanes];
    widen_each<false>(scratch, src, minimum(columns, lanes), rows, pitch);
    for (uint32_t column = lanes; column < columns; column += lanes) {
        AscendC::PipeBarrier<PIPE_V>();
        widen_each<true>(scratch, src[column], minimum(columns - column, lanes), rows, pitch);
    }
    AscendC::PipeBarrier<PIPE_V>();
    if (columns >= lanes) {
        finish_in_blocks<Sum>(result, scratch, scratch, rows, lanes);
    } else {
        finish_rows<Sum>(result, scratch, rows, columns, lanes);
    }
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(dst, result, AscendC::RoundMode::CAST_RINT, rows);
}

// dst[row] = fold of the row.
template <class Fold, class T>
__aicore__ inline void reduce_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    if (rows == 0 || columns == 0) {
        AscendC::Duplicate(dst, static_cast<T>(Fold::identity()), static_cast<int32_t>(rows));
        return;
    }
    if constexpr (Same<T, half>::value && Same<Fold, Sum>::value) {
        rows_half_sum(dst, src, scratch, rows, columns, pitch);
    } else {
        rows_native<Fold>(dst, src, scratch, rows, columns, pitch);
    }
}

// Whether rows of floats are sooner reduced to a value for each block of 32 bytes than folded lane by lane: seven
// eighths of the work in one instruction for all of them.
__aicore__ inline bool by_blocks(uint32_t rows, uint32_t columns)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    constexpr uint32_t few = 24;  // rows that are finished by an instruction that takes seven cycles for each
    return columns % lanes == 0 && (columns >= 8 * lanes || (columns > 4 * lanes && rows < few));
}

// A value for each block of the rows, one after another, in `values`, which may be where `src` begins if its rows follow
// each other.
template <class Fold>
__aicore__ inline void values_of_blocks(const AscendC::LocalTensor<float>& values,
    const AscendC::LocalTensor<float>& src, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    constexpr uint32_t kept = kRepeatBytes / kBlockBytes;
    const uint32_t runs = columns == pitch ? 1u : rows;
    const uint32_t repeats = rows / runs * (columns / lanes);
    for (uint32_t run = 0; run < runs; ++run) {
        for (uint32_t at = 0; at < repeats; at += kMaxRepeats) {
            Fold::blocks(values[(run * repeats + at) * kept], src[run * pitch + at * lanes],
                lanes, static_cast<int32_t>(minimum(repeats - at, kMaxRepeats)), static_cast<int32_t>(kept));
            if (at + kMaxRepeats < repeats) {
                AscendC::PipeBarrier<PIPE_V>();
            }
        }
    }
}

// dst[row] = fold of the row, for matrices that are `by_blocks`: `scratch` holds a value for each block.
template <class Fold>
__aicore__ inline void reduce_rows_in_blocks(const AscendC::LocalTensor<float>& dst,
    const AscendC::LocalTensor<float>& src, const AscendC::LocalTensor<float>& scratch, uint32_t rows,
    uint32_t columns, uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    if (rows == 0) {
        return;
    }
    values_of_blocks<Fold>(scratch, src, rows, columns, pitch);
    uint32_t left = columns / 8;
    AscendC::PipeBarrier<PIPE_V>();
    for (; by_blocks(rows, left); left /= 8) {
        values_of_blocks<Fold>(scratch, scratch, rows, left, left);
        AscendC::PipeBarrier<PIPE_V>();
    }
    for (uint32_t column = lanes; column < left; column += lanes) {
        fold_each<Fold>(scratch, scratch, scratch[column], minimum(left - column, lanes), rows, left, left, left);
        AscendC::PipeBarrier<PIPE_V>();
    }
    if (left < lanes) {
        finish_rows<Fold>(dst, scratch, rows, left, left);
    } else {
        finish_in_blocks<Fold>(dst, scratch, scratch, rows, left);
    }
}

// dst[0] = sum of the first `mask` elements of every repeat. `scratch` holds a sum per repeat and what reduce_rows needs.
__aicore__ inline void masked_sum(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t mask, uint32_t repeats, uint32_t stride,
    Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::WholeReduceSum(scratch, src, static_cast<int32_t>(mask), static_cast<int32_t>(repeats), 1, 1,
        static_cast<int32_t>(stride));
    AscendC::PipeBarrier<PIPE_V>();
    reduce_rows<Sum>(dst, scratch, scratch[256], 1, repeats, repeats);
}

template <class Fold, class T>
__aicore__ inline void columns_native(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t pitch)
{
    if (rows == 1) {
        copy_ub_ub(dst, src, columns);
        return;
    }
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    Fold::fold(dst, src, src[pitch], static_cast<int32_t>(columns));
    const bool near = pitch * sizeof(T) <= kMaxStepBytes;
    const bool apart = near && sooner_apart((columns + lanes - 1) / lanes, rows - 2);
    for (uint32_t row = 2; row < rows; row += apart ? kMaxRepeats : 1u) {
        AscendC::PipeBarrier<PIPE_V>();
        if (!apart) {
            Fold::fold(dst, dst, src[row * pitch], static_cast<int32_t>(columns));
            continue;
        }
        const uint32_t items = minimum(rows - row, kMaxRepeats);
        for (uint32_t column = 0; column < columns; column += lanes) {
            fold_onto<Fold>(
                dst[column], src[row * pitch + column], minimum(columns - column, lanes), items, pitch);
        }
    }
}

__aicore__ inline void columns_half_sum(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& acc, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    AscendC::Cast(acc, src, AscendC::RoundMode::CAST_NONE, columns);
    for (uint32_t row = 1; row < rows; ++row) {
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Axpy(acc, src[row * pitch], static_cast<half>(1.0f), static_cast<int32_t>(columns));
    }
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Cast(dst, acc, AscendC::RoundMode::CAST_RINT, columns);
}

// dst[column] = fold of the column.
template <class Fold, class T>
__aicore__ inline void reduce_columns(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    if (rows == 0 || columns == 0) {
        AscendC::Duplicate(dst, static_cast<T>(Fold::identity()), static_cast<int32_t>(columns));
        return;
    }
    if constexpr (Same<T, half>::value && Same<Fold, Sum>::value) {
        columns_half_sum(dst, src, scratch, rows, columns, pitch);
    } else {
        columns_native<Fold>(dst, src, rows, columns, pitch);
    }
}

// dst = fold(dst, the reduction), which `reduce` writes to the end of the scratch.
template <class Fold, class T>
__aicore__ inline void accumulate(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& reduced,
    uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::PipeBarrier<PIPE_V>();
    Fold::fold(dst, dst, reduced, static_cast<int32_t>(count));
}

}  // namespace tile

#endif
