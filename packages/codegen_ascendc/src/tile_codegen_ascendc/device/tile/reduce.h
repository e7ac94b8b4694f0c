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
};

// One value per row of `lanes` partial results, 256 bytes apart.
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

// partial[row, lane] = fold over the columns that fall on the lane. A row is folded by one
// instruction that accumulates over its repeats.
template <class Fold, class T>
__aicore__ inline void fold_rows(const AscendC::LocalTensor<T>& partial, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    const uint32_t chunks = columns / lanes;
    const uint32_t tail = columns % lanes;
    for (uint32_t row = 0; row < rows; ++row) {
        AscendC::Copy(as_bits(partial)[row * lanes], as_bits(src)[row * pitch], static_cast<uint64_t>(lanes), 1,
            {1, 1, 8, 8});
    }
    AscendC::PipeBarrier<PIPE_V>();
    for (uint32_t row = 0; row < rows; ++row) {
        const auto acc = partial[row * lanes];
        for (uint32_t chunk = 1; chunk < chunks; chunk += kMaxRepeats) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(chunks - chunk, kMaxRepeats));
            Fold::fold(acc, src[row * pitch + chunk * lanes], acc, static_cast<uint64_t>(lanes), repeats,
                AscendC::BinaryRepeatParams{1, 1, 1, 0, 8, 0});
            AscendC::PipeBarrier<PIPE_V>();
        }
        if (tail != 0) {
            Fold::fold(acc, src[row * pitch + chunks * lanes], acc, static_cast<uint64_t>(tail), 1,
                AscendC::BinaryRepeatParams{1, 1, 1, 8, 8, 8});
        }
    }
    AscendC::PipeBarrier<PIPE_V>();
}

template <class Fold, class T>
__aicore__ inline void rows_native(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    if (columns <= lanes) {
        finish_rows<Fold>(dst, src, rows, columns, pitch);
        return;
    }
    const auto partial = scratch.ReinterpretCast<T>();
    fold_rows<Fold>(partial, src, rows, columns, pitch);
    finish_rows<Fold>(dst, partial, rows, lanes, lanes);
}

// Sum of half rows in float: 64 columns of a row are converted at a time and added up.
__aicore__ inline void rows_half_sum(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(float);
    const auto acc = scratch;
    const auto wide = scratch[rows * lanes];
    const auto result = scratch[2 * rows * lanes];
    for (uint32_t column = 0; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        const auto& target = column == 0 ? acc : wide;
        for (uint32_t row = 0; row < rows; ++row) {
            AscendC::Cast(target[row * lanes], src[row * pitch + column], AscendC::RoundMode::CAST_NONE, mask, 1,
                {1, 1, 8, 4});
        }
        AscendC::PipeBarrier<PIPE_V>();
        if (column != 0) {
            for (uint32_t row = 0; row < rows; ++row) {
                AscendC::Add(acc[row * lanes], acc[row * lanes], wide[row * lanes], mask, 1,
                    AscendC::BinaryRepeatParams{1, 1, 1, 8, 8, 8});
            }
            AscendC::PipeBarrier<PIPE_V>();
        }
    }
    finish_rows<Sum>(result, acc, rows, minimum(columns, lanes), lanes);
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
    copy_ub_ub(dst, src, columns);
    for (uint32_t row = 1; row < rows; ++row) {
        AscendC::PipeBarrier<PIPE_V>();
        Fold::fold(dst, dst, src[row * pitch], static_cast<int32_t>(columns));
    }
}

__aicore__ inline void columns_half_sum(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    const auto acc = scratch;
    const auto wide = scratch[ceil_to(columns, uint32_t(16))];
    AscendC::Cast(acc, src, AscendC::RoundMode::CAST_NONE, columns);
    for (uint32_t row = 1; row < rows; ++row) {
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(wide, src[row * pitch], AscendC::RoundMode::CAST_NONE, columns);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(acc, acc, wide, static_cast<int32_t>(columns));
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
