// Running sums along one axis of a matrix. Sizes and pitches are in elements; rows start at multiples of 32 bytes.
#ifndef TILE_SCAN_H
#define TILE_SCAN_H

namespace tile {

constexpr uint32_t kScanSide = 16;   // rows that are turned at once
constexpr uint32_t kScanChunk = 64;  // columns that are turned at once, a power of two of an even power

// Row number `step` from the first one, or from the last one.
template <bool reverse>
__aicore__ inline uint32_t scan_row(uint32_t step, uint32_t rows)
{
    return reverse ? rows - 1 - step : step;
}

// dst[r] = src[r] + dst[r - 1], one row after another.
template <bool reverse, class T>
__aicore__ inline void running_sums_down(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    if (rows == 0 || columns == 0) {
        return;
    }
    const uint32_t first = scan_row<reverse>(0, rows);
    if (dst[first * dst_pitch].GetPhyAddr() != src[first * src_pitch].GetPhyAddr()) {
        copy_ub_ub(dst[first * dst_pitch], src[first * src_pitch], columns);
    }
    for (uint32_t step = 1; step < rows; ++step) {
        const uint32_t row = scan_row<reverse>(step, rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Add(dst[row * dst_pitch], src[row * src_pitch], dst[scan_row<reverse>(step - 1, rows) * dst_pitch],
            static_cast<int32_t>(columns));
    }
}

// The same for halves, with the sums in float.
template <bool reverse>
__aicore__ inline void running_sums_down(const AscendC::LocalTensor<half>& dst, const AscendC::LocalTensor<half>& src,
    const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    const auto sums = scratch;
    const auto addend = scratch[kChunk];
    for (uint32_t column = 0; column < columns; column += kChunk) {
        const uint32_t size = minimum(columns - column, kChunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Duplicate(sums, 0.0f, static_cast<int32_t>(size));
        for (uint32_t step = 0; step < rows; ++step) {
            const uint32_t row = scan_row<reverse>(step, rows);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Cast(addend, src[row * src_pitch + column], AscendC::RoundMode::CAST_NONE, size);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Add(sums, sums, addend, static_cast<int32_t>(size));
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Cast(dst[row * dst_pitch + column], sums, AscendC::RoundMode::CAST_RINT, size);
        }
    }
}

// Elements from one type to another, or as they are.
template <class To, class From>
__aicore__ inline void convert(const AscendC::LocalTensor<To>& to, const AscendC::LocalTensor<From>& from,
    uint32_t count)
{
    if constexpr (Same<To, From>::value) {
        copy_ub_ub(to, from, count);
    } else if constexpr (sizeof(To) > sizeof(From)) {
        AscendC::Cast(to, from, AscendC::RoundMode::CAST_NONE, count);
    } else {
        AscendC::Cast(to, from, AscendC::RoundMode::CAST_RINT, count);
    }
}

// Running sums down the kScanChunk rows of `turned`, a step of twice the distance after another; `other` is scratch.
template <bool reverse, class W>
__aicore__ inline void scan_turned(const AscendC::LocalTensor<W>& turned, const AscendC::LocalTensor<W>& other)
{
    auto from = turned;
    auto to = other;
    for (uint32_t distance = 1; distance < kScanChunk; distance *= 2) {
        const uint32_t shift = distance * kScanSide;
        const uint32_t rest = kScanChunk * kScanSide - shift;
        if constexpr (reverse) {
            AscendC::Add(to, from, from[shift], static_cast<int32_t>(rest));
            AscendC::DataCopy(to[rest], from[rest], shift);
        } else {
            AscendC::Add(to[shift], from[shift], from, static_cast<int32_t>(rest));
            AscendC::DataCopy(to, from, shift);
        }
        AscendC::PipeBarrier<PIPE_V>();
        const auto last = from;
        from = to;
        to = last;
    }
}

// Running sums of kScanSide rows: chunk by chunk the columns are turned to rows and back.
template <bool reverse, class T, class W>
__aicore__ inline void running_sums_of_group(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<W>& scratch, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch)
{
    const auto chunk = scratch;
    const auto turned = scratch[kScanSide * kScanChunk];
    const auto sums = scratch[2 * kScanSide * kScanChunk];
    const uint32_t chunks = (columns + kScanChunk - 1) / kScanChunk;
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Duplicate(sums, static_cast<W>(0), static_cast<int32_t>(kScanSide));
    for (uint32_t step = 0; step < chunks; ++step) {
        const uint32_t column = scan_row<reverse>(step, chunks) * kScanChunk;
        const uint32_t size = minimum(columns - column, kScanChunk);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Duplicate(chunk, static_cast<W>(0), static_cast<int32_t>(kScanSide * kScanChunk));
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t row = 0; row < rows; ++row) {
            convert(chunk[row * kScanChunk], src[row * src_pitch + column], size);
        }
        AscendC::PipeBarrier<PIPE_V>();
        transpose(turned, chunk, kScanSide, kScanChunk, kScanSide, kScanChunk);
        AscendC::PipeBarrier<PIPE_V>();
        const auto first = turned[scan_row<reverse>(0, kScanChunk) * kScanSide];
        AscendC::Add(first, first, sums, static_cast<int32_t>(kScanSide));
        AscendC::PipeBarrier<PIPE_V>();
        scan_turned<reverse>(turned, chunk);
        AscendC::DataCopy(sums, turned[scan_row<reverse>(kScanChunk - 1, kScanChunk) * kScanSide], kScanSide);
        transpose(chunk, turned, kScanChunk, kScanSide, kScanChunk, kScanSide);
        AscendC::PipeBarrier<PIPE_V>();
        for (uint32_t row = 0; row < rows; ++row) {
            convert(dst[row * dst_pitch + column], chunk[row * kScanChunk], size);
        }
    }
}

// dst[r, c] = the sum of src[r, 0] to src[r, c]. `scratch` holds two chunks and a row of sums.
template <bool reverse, class T, class W>
__aicore__ inline void running_sums_of_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<W>& scratch, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    for (uint32_t row = 0; row < rows; row += kScanSide) {
        running_sums_of_group<reverse>(dst[row * dst_pitch], src[row * src_pitch], scratch,
            minimum(rows - row, kScanSide), columns, dst_pitch, src_pitch);
    }
}

}  // namespace tile

#endif
