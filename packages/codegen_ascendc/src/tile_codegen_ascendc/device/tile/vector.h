// Vector pieces of more than one instruction. Sizes are in elements.
#ifndef TILE_VECTOR_H
#define TILE_VECTOR_H

namespace tile {

constexpr uint32_t kRepeatBytes = 256;
constexpr uint32_t kMaxRepeats = 255;

// The unsigned type of the same width: moves do not care what the bits mean.
template <class T>
struct Bits {
    using type = typename Choose<sizeof(T) == 4, uint32_t, uint16_t>::type;
};

template <class T>
__aicore__ inline AscendC::LocalTensor<typename Bits<T>::type> as_bits(const AscendC::LocalTensor<T>& t)
{
    return t.template ReinterpretCast<typename Bits<T>::type>();
}

// The address of a tensor as the vector unit's registers hold it.
template <class T>
__aicore__ inline uint32_t address_of(const AscendC::LocalTensor<T>& t)
{
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(t.GetPhyAddr()));
}

// `count` consecutive elements; neither a whole number of blocks nor of repeats is needed.
template <class T>
__aicore__ inline void copy_ub_ub(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    if (count * sizeof(T) % kBlockBytes == 0) {
        AscendC::DataCopy(dst, src, count);
        return;
    }
    if constexpr (sizeof(T) == 2 || sizeof(T) == 4) {
        constexpr uint32_t lanes = kRepeatBytes / sizeof(T);
        const auto to = as_bits(dst);
        const auto from = as_bits(src);
        for (uint32_t start = 0; start < count; start += lanes * kMaxRepeats) {
            const uint32_t left = minimum(count - start, lanes * kMaxRepeats);
            const uint32_t repeats = left / lanes;
            if (repeats > 0) {
                AscendC::Copy(to[start], from[start], static_cast<uint64_t>(lanes),
                    static_cast<uint8_t>(repeats), {1, 1, 8, 8});
            }
            if (left % lanes != 0) {
                const uint32_t tail = start + repeats * lanes;
                AscendC::Copy(to[tail], from[tail], static_cast<uint64_t>(left % lanes), 1, {1, 1, 8, 8});
            }
        }
    } else if constexpr (sizeof(T) == 1) {
        if (count >= 2) {
            copy_ub_ub(dst.template ReinterpretCast<uint16_t>(), src.template ReinterpretCast<uint16_t>(), count / 2);
        }
        if (count % 2 != 0) {  // half a lane: only the scalar unit leaves its neighbour alone
            AscendC::PipeBarrier<PIPE_ALL>();
            dst.SetValue(count - 1, src.GetValue(count - 1));
            AscendC::PipeBarrier<PIPE_ALL>();
        }
    } else {
        copy_ub_ub(dst.template ReinterpretCast<uint32_t>(), src.template ReinterpretCast<uint32_t>(),
            count * (sizeof(T) / sizeof(uint32_t)));
    }
}

// The first `count` elements, at most a repeat, of every row.
template <class T>
__aicore__ inline void copy_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, uint32_t count,
    uint32_t rows, uint32_t dst_pitch, uint32_t src_pitch)
{
    const uint16_t dst_blocks = static_cast<uint16_t>(dst_pitch * sizeof(T) / kBlockBytes);
    const uint16_t src_blocks = static_cast<uint16_t>(src_pitch * sizeof(T) / kBlockBytes);
    for (uint32_t row = 0; row < rows; row += kMaxRepeats) {
        const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, kMaxRepeats));
        AscendC::Copy(as_bits(dst)[row * dst_pitch], as_bits(src)[row * src_pitch], static_cast<uint64_t>(count),
            repeats, {1, 1, dst_blocks, src_blocks});
    }
}

// Types the fill instruction does not have: bytes in pairs, 64-bit zeros as halves.
template <class T>
__aicore__ inline void fill(const AscendC::LocalTensor<T>& dst, T value, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    if constexpr (sizeof(T) == 1) {
        const uint16_t pair = static_cast<uint16_t>(static_cast<uint8_t>(value) * 0x0101u);
        AscendC::Duplicate(dst.template ReinterpretCast<uint16_t>(), pair, static_cast<int32_t>(count / 2));
    } else {
        const int32_t words = static_cast<int32_t>(count * (sizeof(T) / sizeof(int32_t)));
        AscendC::Duplicate(dst.template ReinterpretCast<int32_t>(), static_cast<int32_t>(value), words);
    }
}

// Zeros in elements of four bits, a multiple of four of them.
template <class T>
__aicore__ inline void clear_packed(const AscendC::LocalTensor<T>& dst, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::Duplicate(
        dst.template ReinterpretCast<uint16_t>(), static_cast<uint16_t>(0), static_cast<int32_t>(count / 4));
}

// Rows of dst from blocks of src, which are `inner` blocks apart in a repeat, `across` blocks from one repeat of a row
// to the next, and `down` blocks from row to row.
template <class U>
__aicore__ inline void spread(const AscendC::LocalTensor<U>& dst, const AscendC::LocalTensor<U>& src, uint32_t rows,
    uint32_t columns, uint32_t pitch, uint16_t inner, uint16_t down, uint16_t across)
{
    constexpr uint32_t lanes = kRepeatBytes / sizeof(U);
    constexpr uint32_t block = kBlockBytes / sizeof(U);
    const uint16_t row_blocks = static_cast<uint16_t>(pitch / block);
    const uint32_t whole = columns / lanes;
    uint32_t column = 0;
    if (rows < whole && whole <= kMaxRepeats) {  // an instruction for each row, not for each repeat of the rows
        for (uint32_t row = 0; row < rows; ++row) {
            AscendC::Copy(dst[row * pitch], src[row * down * block], static_cast<uint64_t>(lanes),
                static_cast<uint8_t>(whole), {1, inner, 8, across});
        }
        column = whole * lanes;
    }
    for (; column < columns; column += lanes) {
        const uint64_t mask = minimum(columns - column, lanes);
        for (uint32_t row = 0; row < rows; row += kMaxRepeats) {
            const uint8_t repeats = static_cast<uint8_t>(minimum(rows - row, kMaxRepeats));
            AscendC::Copy(dst[row * pitch + column], src[(row * down + column / lanes * across) * block], mask,
                repeats, {1, inner, row_blocks, down});
        }
    }
}

// One row repeated over all rows of dst, which are `pitch` elements apart.
template <class T>
__aicore__ inline void broadcast_row(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t pitch, Site site = Site::here())
{
    SiteScope scope(site);
    spread(as_bits(dst), as_bits(src), rows, columns, pitch, 1, 0, 8);
}

// dst = min(max(src, low), high).
template <class T>
__aicore__ inline void clamp(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, T low, T high,
    uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::Maxs(dst, src, low, static_cast<int32_t>(count));
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Mins(dst, dst, high, static_cast<int32_t>(count));
}

// Values to the nearest integer, ties to even. Halves go through float: `scratch` holds kChunk of them.
constexpr uint32_t kChunk = 1024;

__aicore__ inline void round_even(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& src,
    const AscendC::LocalTensor<float>&, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::Cast(dst, src, AscendC::RoundMode::CAST_RINT, count);
}

__aicore__ inline void round_even(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    for (uint32_t start = 0; start < count; start += kChunk) {
        const uint32_t size = minimum(count - start, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(scratch, src[start], AscendC::RoundMode::CAST_NONE, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(scratch, scratch, AscendC::RoundMode::CAST_RINT, size);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Cast(dst[start], scratch, AscendC::RoundMode::CAST_RINT, size);
    }
}

}  // namespace tile

#endif
