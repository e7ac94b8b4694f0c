// One value per row or per column against a whole matrix. Sizes and pitches are in elements; rows start at multiples of 32 bytes.
#ifndef TILE_EXPAND_H
#define TILE_EXPAND_H

namespace tile {

// Every `step`-th block of `blocks` holds a value of the column in all its elements. `blocks` has room for ceil8(rows) of
// them and, for values behind the last whole block of the column, for one more, so that nothing behind it is read.
template <class T>
__aicore__ inline void begin_column(const AscendC::LocalTensor<T>& blocks, const AscendC::LocalTensor<T>& column,
    uint32_t rows, uint16_t step = 1)
{
    constexpr uint32_t block = kBlockBytes / sizeof(T);
    constexpr uint32_t per_repeat = 8;                      // values that Brcb expands at once
    constexpr uint32_t most = kMaxRepeats / 2 * 2;          // an even number: 8 values of 16 bits are half a block
    const auto to = as_bits(blocks);
    const auto from = as_bits(column);
    const uint32_t next = step * block;
    const uint16_t group_step = static_cast<uint16_t>(step * per_repeat);
    const uint32_t tail = rows % block;
    const uint32_t whole = rows - tail;
    using U = typename Bits<T>::type;
    if (tail != 0) {
        const auto rest = to[ceil_to(rows, per_repeat) * next];
        uint64_t behind[2] = {(uint64_t(1) << block) - (uint64_t(1) << tail), 0};
        AscendC::Duplicate(rest, static_cast<U>(0), behind, 1, 1, 8);
        AscendC::Copy(rest, from[whole], static_cast<uint64_t>(tail), 1, {1, 1, 8, 8});
        AscendC::PipeBarrier<PIPE_V>();
    }
    for (uint32_t group = 0; group < whole / per_repeat; group += most) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(whole / per_repeat - group, most));
        AscendC::Brcb(to[group * per_repeat * next], from[group * per_repeat], repeats, {step, group_step});
    }
    if (tail != 0) {
        const uint8_t repeats = static_cast<uint8_t>((tail + per_repeat - 1) / per_repeat);
        AscendC::Brcb(to[whole * next], to[ceil_to(rows, per_repeat) * next], repeats, {step, group_step});
    }
}

// The same, and the blocks can be read.
template <class T>
__aicore__ inline void expand_column(
    const AscendC::LocalTensor<T>& blocks, const AscendC::LocalTensor<T>& column, uint32_t rows)
{
    begin_column(blocks, column, rows);
    AscendC::PipeBarrier<PIPE_V>();
}

// One value per row repeated across the row. `scratch` holds what expand_column needs.
template <class T>
__aicore__ inline void broadcast_column(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& scratch, uint32_t rows, uint32_t columns, uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    expand_column(scratch, src, rows);
    spread(as_bits(dst), as_bits(scratch), rows, columns, pitch, 0, 1, 0);
}

// dst[r, c] = src[r, c] op blocks[r], where every block holds one value in all its elements.
template <class Binary, class T>
__aicore__ inline void with_row_blocks(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& blocks, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    against_rows<Binary>(dst, src, blocks, {0, 0, kBlockBytes / sizeof(T)}, rows, columns, dst_pitch, src_pitch);
}

// dst[r, c] = src[r, c] op values[c].
template <class Binary, class T>
__aicore__ inline void with_row(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& values, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    against_rows<Binary>(dst, src, values, {1, 8, 0}, rows, columns, dst_pitch, src_pitch);
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

// The same without bank conflicts, for rows of `src` that are whole multiples of 512 bytes apart: two blocks for each
// row, one for each half of the groups of banks, of which a strip of columns meets the one in the half it does not read.
// `scratch` holds 512 bytes for each of ceil8(rows) + 1 rows, and 224 to begin as far from a group of banks as `src`.
template <class Binary, class T>
__aicore__ inline void with_column_apart(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<T>& column, const AscendC::LocalTensor<T>& scratch, uint32_t rows, uint32_t columns,
    uint32_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t half = kRepeatBytes / sizeof(T);
    constexpr uint16_t step = 2 * kRepeatBytes / kBlockBytes;
    constexpr uint32_t next = step * kBlockBytes / sizeof(T);
    const auto blocks = scratch[(address_of(src) - address_of(scratch)) % kRepeatBytes / sizeof(T)];
    const uint32_t other = (address_of(src) - address_of(blocks)) / kRepeatBytes + 1;
    begin_column(blocks, column, rows, step);
    begin_column(blocks[half], column, rows, step);
    AscendC::PipeBarrier<PIPE_V>();
    for (uint32_t at = 0; at < columns; at += half) {
        against_rows<Binary>(dst[at], src[at], blocks[(at / half + other) % 2 * half], {0, 0, next}, rows,
            minimum(columns - at, half), dst_pitch, src_pitch);
    }
}

}  // namespace tile

#endif
