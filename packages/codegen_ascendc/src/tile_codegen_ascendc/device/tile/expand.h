// One value per row against the whole row. Sizes and pitches are in elements; rows start at multiples of 32 bytes.
#ifndef TILE_EXPAND_H
#define TILE_EXPAND_H

namespace tile {

// Block r of `blocks` holds column[r] in all its elements. `blocks` has one block for each of ceil8(rows) rows and, for
// values behind the last whole block of the column, one more, so that nothing behind the column is read.
template <class T>
__aicore__ inline void expand_column(
    const AscendC::LocalTensor<T>& blocks, const AscendC::LocalTensor<T>& column, uint32_t rows)
{
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t per_repeat = 8;                      // values that Brcb expands at once
    constexpr uint32_t most = kMaxRepeats / 2 * 2;          // an even number: 8 values of 16 bits are half a block
    const auto to = as_bits(blocks);
    const auto from = as_bits(column);
    const uint32_t tail = rows % block;
    const uint32_t whole = rows - tail;
    using U = typename Bits<T>::type;
    if (tail != 0) {
        const auto rest = to[ceil_to(rows, per_repeat) * block];
        AscendC::Duplicate(rest, static_cast<U>(0), static_cast<int32_t>(block));
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Copy(rest, from[whole], static_cast<uint64_t>(tail), 1, {1, 1, 8, 8});
        AscendC::PipeBarrier<PIPE_V>();
    }
    for (uint32_t group = 0; group < whole / per_repeat; group += most) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(whole / per_repeat - group, most));
        AscendC::Brcb(to[group * per_repeat * block], from[group * per_repeat], repeats, {1, 8});
    }
    if (tail != 0) {
        const uint8_t repeats = static_cast<uint8_t>((tail + per_repeat - 1) / per_repeat);
        AscendC::Brcb(to[whole * block], to[ceil_to(rows, per_repeat) * block], repeats, {1, 8});
    }
    AscendC::PipeBarrier<PIPE_V>();
}

// One value per row repeated across the row. `scratch` holds what expand_column needs.
template <class T>
__aicore__ inline void broadcast_column(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    const uint16_t row_blocks = static_cast<uint16_t>(pitch * sizeof(T) / kBlockBytes);
    const auto to = as_bits(dst);
    const auto blocks = as_bits(scratch);
    expand_column(scratch, src, rows);
    for (uint32_t column = 0; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        for (uint32_t row = 0; row < rows; row += kMaxRepeats) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, kMaxRepeats));
            AscendC::Copy(to[row * pitch + column], blocks[row * block], mask, repeats, {1, 0, row_blocks, 1});
        }
    }
}

struct Product {
    template <class T>
    __aicore__ static void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, uint64_t mask, uint8_t repeats, const AscendC::BinaryRepeatParams& strides)
    {
        AscendC::Mul(d, a, b, mask, repeats, strides);
    }
};

struct Difference {
    template <class T>
    __aicore__ static void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, uint64_t mask, uint8_t repeats, const AscendC::BinaryRepeatParams& strides)
    {
        AscendC::Sub(d, a, b, mask, repeats, strides);
    }
};

struct Quotient {
    template <class T>
    __aicore__ static void apply(const AscendC::LocalTensor<T>& d, const AscendC::LocalTensor<T>& a,
        const AscendC::LocalTensor<T>& b, uint64_t mask, uint8_t repeats, const AscendC::BinaryRepeatParams& strides)
    {
        AscendC::Div(d, a, b, mask, repeats, strides);
    }
};

// dst[r, c] = src[r, c] op blocks[r], where every block holds one value in all its elements.
template <class Binary, class T>
__aicore__ inline void with_row_blocks(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& blocks, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t farthest = 255;  // repeat strides are bytes, in blocks
    const uint32_t dst_step = dst_pitch / block;
    const uint32_t src_step = src_pitch / block;
    const bool far = dst_step > farthest || src_step > farthest;
    const uint32_t at_once = far ? 1u : kMaxRepeats;
    const AscendC::BinaryRepeatParams strides(1, 1, 0, static_cast<uint8_t>(far ? 0u : dst_step),
        static_cast<uint8_t>(far ? 0u : src_step), 1);
    for (uint32_t column = 0; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        for (uint32_t row = 0; row < rows; row += at_once) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, at_once));
            Binary::apply(dst[row * dst_pitch + column], src[row * src_pitch + column], blocks[row * block], mask,
                repeats, strides);
        }
    }
}

// dst[r, c] = src[r, c] op column[r]. `scratch` holds what expand_column needs.
template <class Binary, class T>
__aicore__ inline void with_column(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& column, const AscendC::LocalTensor<T>& scratch, uint32_t rows, uint32_t columns,
    uint32_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    expand_column(scratch, column, rows);
    with_row_blocks<Binary>(dst, src, scratch, rows, columns, dst_pitch, src_pitch, site);
}

}  // namespace tile

#endif
