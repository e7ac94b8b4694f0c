// Transposition of a matrix in ub, 16 rows at a time, and its blocks by columns. Sizes and pitches are in elements.
#ifndef TILE_TRANSPOSE_H
#define TILE_TRANSPOSE_H

namespace tile {

// dst[c, r] = src[r, c]; both sizes are multiples of 16. One instruction turns the blocks of 16 rows that stand one
// below the other in a column of blocks, or beside each other in 16 rows: a block of 16-bit elements gives 16 rows of
// one block, a block of 32-bit elements 8 rows of two.
template <class T>
__aicore__ inline void transpose(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, uint32_t rows,
    uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    using U = typename Bits<T>::type;
    constexpr uint32_t side = 16;
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t per_row = side / block;  // blocks of a row of the result
    const auto to = as_bits(dst);
    const auto from = as_bits(src);
    // Repeats go down the rows or along them, whichever way has more.
    const bool down = rows / side >= columns / block;
    const uint32_t steps = down ? rows / side : columns / block;
    const uint32_t lines = down ? columns / block : rows / side;
    const uint32_t dst_step = down ? per_row : dst_pitch;
    const uint32_t src_step = down ? side * src_pitch / block : 1;
    for (uint32_t line = 0; line < lines; ++line) {
        for (uint32_t step = 0; step < steps; step += kMaxRepeats) {
            const uint32_t row = (down ? step : line) * side;
            const uint32_t column = (down ? line : step) * block;
            AscendC::LocalTensor<U> target[side];
            AscendC::LocalTensor<U> source[side];
            for (uint32_t i = 0; i < side; ++i) {
                source[i] = from[(row + i) * src_pitch + column];
                target[i] = to[(column + i / per_row) * dst_pitch + row + i % per_row * block];
            }
            const uint32_t repeats = minimum(steps - step, kMaxRepeats);
            AscendC::TransDataTo5HDParams parameters;
            parameters.repeatTimes = static_cast<uint8_t>(repeats);
            parameters.dstRepStride = static_cast<uint16_t>(repeats == 1 ? 0 : dst_step);
            parameters.srcRepStride = static_cast<uint16_t>(repeats == 1 ? 0 : src_step);
            AscendC::TransDataTo5HD<U>(target, source, parameters);
        }
    }
}

// The blocks of a matrix, a column of them after the other, `dst_pitch` apart. A repeat moves eight blocks of a row.
template <class T>
__aicore__ inline void blocks_by_columns(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t lanes = kBlockBytes / sizeof(uint16_t);
    const auto to = dst.template ReinterpretCast<uint16_t>();
    const auto from = src.template ReinterpretCast<uint16_t>();
    const uint32_t across = dst_pitch / block;
    const uint32_t down = src_pitch / block;
    for (uint32_t column = 0; column < columns / block; column += (kRepeatBytes / kBlockBytes)) {
        const uint64_t mask = minimum(columns / block - column, (kRepeatBytes / kBlockBytes)) * lanes;
        for (uint32_t row = 0; row < rows; row += kMaxRepeats) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, kMaxRepeats));
            AscendC::Copy(to[(column * across + row) * lanes], from[(row * down + column) * lanes], mask, repeats,
                {static_cast<uint16_t>(across), 1, 1, static_cast<uint16_t>(down)});
        }
    }
}

}  // namespace tile

#endif
