// Running sums along one axis of a matrix. Sizes and pitches are in elements; rows start at multiples of 32 bytes.
#ifndef TILE_SCAN_H
#define TILE_SCAN_H

namespace tile {

constexpr uint32_t kScanSide = 16;   // rows that are turned at once
constexpr uint32_t kScanChunk = 64;  // columns that are turned at once, a power of two of an even power
constexpr uint8_t kScanRowsOfRepeat = 4;  // rows of kScanSide words in one repeat

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

// What goes before each of the kScanSide sums of `totals`, one row of a square: their running sums from `carry` on,
// which becomes the last of them, one for each row of a repeat. `scratch` has room for three squares.
template <bool reverse, class W>
__aicore__ inline void scan_totals(const AscendC::LocalTensor<W>& before, const AscendC::LocalTensor<W>& totals,
    const AscendC::LocalTensor<W>& carry, const AscendC::LocalTensor<W>& scratch)
{
    constexpr uint32_t size = kScanSide * kScanSide;
    const auto square = scratch;
    const auto column = scratch[size];
    const auto row = scratch[2 * size];
    AscendC::Duplicate(square, static_cast<W>(0), static_cast<int32_t>(size));
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::DataCopy(square, totals, kScanSide);
    AscendC::PipeBarrier<PIPE_V>();
    transpose(column, square, kScanSide, kScanSide, kScanSide, kScanSide);
    AscendC::PipeBarrier<PIPE_V>();
    const auto first = column[scan_row<reverse>(0, kScanSide) * kScanSide];
    AscendC::Add(first, first, carry, static_cast<int32_t>(kScanSide));
    auto from = column;
    auto to = square;
    for (uint32_t distance = 1; distance < kScanSide; distance *= 2) {
        const uint32_t shift = distance * kScanSide;
        AscendC::PipeBarrier<PIPE_V>();
        if constexpr (reverse) {
            AscendC::Add(to, from, from[shift], static_cast<int32_t>(size - shift));
            AscendC::DataCopy(to[size - shift], from[size - shift], shift);
        } else {
            AscendC::Add(to[shift], from[shift], from, static_cast<int32_t>(size - shift));
            AscendC::DataCopy(to, from, shift);
        }
        const auto last = from;
        from = to;
        to = last;
    }
    // After an even number of steps the sums are in `column`; those before each are a row behind.
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::DataCopy(square[reverse ? 0 : kScanSide], column[reverse ? kScanSide : 0], size - kScanSide);
    AscendC::DataCopy(square[scan_row<reverse>(0, kScanSide) * kScanSide], carry, kScanSide);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::DataCopy(carry, column[scan_row<reverse>(kScanSide - 1, kScanSide) * kScanSide], kScanSide);
    transpose(row, square, kScanSide, kScanSide, kScanSide, kScanSide);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Copy(before, row, static_cast<uint64_t>(kScanSide), kScanRowsOfRepeat,
        {1, 1, kScanSide / (kBlockBytes / sizeof(W)), 0});
}

// Running sums of one row: chunks of kScanSide pieces, which are turned and summed at once, and then what goes before
// each piece is added to it.
template <bool reverse, class T, class W>
__aicore__ inline void running_sums_of_run(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<W>& scratch, uint32_t columns)
{
    constexpr uint32_t size_of_chunk = kScanSide * kScanChunk;
    const auto chunk = scratch;
    const auto turned = scratch[size_of_chunk];
    const auto carry = scratch[2 * size_of_chunk];
    const auto before = chunk[3 * kScanSide * kScanSide];
    const uint32_t chunks = (columns + size_of_chunk - 1) / size_of_chunk;
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Duplicate(carry, static_cast<W>(0), static_cast<int32_t>(kScanSide));
    for (uint32_t step = 0; step < chunks; ++step) {
        const uint32_t start = scan_row<reverse>(step, chunks) * size_of_chunk;
        const uint32_t size = minimum(columns - start, size_of_chunk);
        AscendC::PipeBarrier<PIPE_V>();
        if (size < size_of_chunk) {
            AscendC::Duplicate(chunk, static_cast<W>(0), static_cast<int32_t>(size_of_chunk));
            AscendC::PipeBarrier<PIPE_V>();
        }
        convert(chunk, src[start], size);
        AscendC::PipeBarrier<PIPE_V>();
        transpose(turned, chunk, kScanSide, kScanChunk, kScanSide, kScanChunk);
        AscendC::PipeBarrier<PIPE_V>();
        scan_turned<reverse>(turned, chunk);
        scan_totals<reverse>(
            before, turned[scan_row<reverse>(kScanChunk - 1, kScanChunk) * kScanSide], carry, chunk);
        AscendC::PipeBarrier<PIPE_V>();
        constexpr uint8_t blocks = kRepeatBytes / kBlockBytes;
        AscendC::Add(turned, turned, before, static_cast<uint64_t>(kScanRowsOfRepeat * kScanSide),
            static_cast<uint8_t>(kScanChunk / kScanRowsOfRepeat), {1, 1, 1, blocks, blocks, 0});
        AscendC::PipeBarrier<PIPE_V>();
        transpose(chunk, turned, kScanChunk, kScanSide, kScanChunk, kScanSide);
        AscendC::PipeBarrier<PIPE_V>();
        convert(dst[start], chunk, size);
    }
}

// dst[r, c] = the sum of src[r, 0] to src[r, c]. `scratch` holds two chunks and a row of sums. Few long rows are summed
// one after another, many short ones kScanSide at a time.
template <bool reverse, class T, class W>
__aicore__ inline void running_sums_of_rows(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const AscendC::LocalTensor<W>& scratch, uint32_t rows, uint32_t columns, uint32_t dst_pitch, uint32_t src_pitch,
    Site site = Site::here())
{
    SiteScope scope(site);
    const uint32_t pieces = (columns + kScanChunk - 1) / kScanChunk;
    const uint32_t groups = (rows + kScanSide - 1) / kScanSide;
    if (rows * ((pieces + kScanSide - 1) / kScanSide) <= groups * pieces) {
        for (uint32_t row = 0; row < rows; ++row) {
            running_sums_of_run<reverse>(dst[row * dst_pitch], src[row * src_pitch], scratch, columns);
        }
        return;
    }
    for (uint32_t row = 0; row < rows; row += kScanSide) {
        running_sums_of_group<reverse>(dst[row * dst_pitch], src[row * src_pitch], scratch,
            minimum(rows - row, kScanSide), columns, dst_pitch, src_pitch);
    }
}

}  // namespace tile

#endif
