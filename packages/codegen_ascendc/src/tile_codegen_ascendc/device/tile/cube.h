// L1 matrices (NZ order) into the operand registers, and the product.
#ifndef TILE_CUBE_H
#define TILE_CUBE_H

namespace tile {

constexpr uint32_t kFractalRows = 16;
constexpr uint32_t kFractalBytes = 512;

// Where a tile starts in an l1 matrix and how large the matrix is stored.
struct L1Tile {
    uint32_t stored_rows;
    uint32_t stored_columns;
    uint32_t row;
    uint32_t column;
};

template <class T>
__aicore__ inline AscendC::LoadData3DParamsV2<T> plain_image(
    const L1Tile& tile, uint32_t rows, uint32_t columns, bool transpose)
{
    // A matrix is an image one pixel high, `stored_rows` wide, with a 1x1 filter.
    AscendC::LoadData3DParamsV2<T> params;
    params.l1H = 1;
    params.l1W = static_cast<uint16_t>(tile.stored_rows);
    params.channelSize = static_cast<uint16_t>(tile.stored_columns);
    params.mExtension = static_cast<uint16_t>(rows);
    params.kExtension = static_cast<uint16_t>(columns);
    params.mStartPt = static_cast<uint16_t>(tile.row);
    params.kStartPt = static_cast<uint16_t>(tile.column);
    params.strideW = 1;
    params.strideH = 1;
    params.filterW = 1;
    params.filterH = 1;
    params.dilationFilterW = 1;
    params.dilationFilterH = 1;
    params.enTranspose = transpose;
    params.enSmallK = false;
    params.padValue = static_cast<T>(0);
    return params;
}

// An image of `height` x `width` pixels, 32 bytes of channels each, and the windows that are taken of it.
struct Windows {
    uint16_t height;
    uint16_t width;
    uint8_t kernel_h;
    uint8_t kernel_w;
    uint8_t stride_h;
    uint8_t stride_w;
    uint8_t dilation_h;
    uint8_t dilation_w;
    uint8_t left;
    uint8_t right;
    uint8_t top;
    uint8_t bottom;
};

// Elements in the 32 bytes of a fractal row.
template <class T>
struct FractalRow {
    static constexpr uint32_t elements = kBlockBytes / sizeof(T);
};
template <>
struct FractalRow<AscendC::int4b_t> {
    static constexpr uint32_t elements = kBlockBytes * kPerByte;
};

// Bytes are transposed in squares of 32 x 32, each two fractals of the register; four bits in squares of 64 x 64, four
// fractals each.
template <class T>
__aicore__ inline void load_squares(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const L1Tile& tile, uint32_t rows, uint32_t columns, bool squares_along_rows)
{
    constexpr uint32_t side = FractalRow<T>::elements;
    constexpr uint16_t fractals = side / kFractalRows;
    const uint32_t row_squares = ceil_to(rows, side) / side;
    const uint32_t column_squares = ceil_to(columns, side) / side;
    const uint32_t pitch = tile.stored_rows / side;
    const uint32_t first = tile.column / side * pitch + tile.row / side;
    // l0a runs over the rows of l1 (its k), l0b over the columns (its n).
    const uint32_t outer = squares_along_rows ? column_squares : row_squares;
    const uint32_t inner = squares_along_rows ? row_squares : column_squares;
    // The product counts fractals of 16 columns. Where these fill no whole squares, the last fractals of the last
    // square are too many: they land where the next row of squares starts, which then overwrites them.
    const uint32_t columns_stored = ceil_to(columns, kFractalRows);
    const uint32_t step = squares_along_rows ? inner * side * side : columns_stored * side;
    const bool overwrites = !squares_along_rows && columns_stored % side != 0;
    for (uint32_t i = 0; i < outer; ++i) {
        if (overwrites && i != 0) {
            AscendC::PipeBarrier<PIPE_MTE1>();
        }
        AscendC::LoadData2dTransposeParams params;
        params.startIndex = static_cast<uint16_t>(first + (squares_along_rows ? i * pitch : i));
        params.repeatTimes = static_cast<uint8_t>(inner);
        params.srcStride = static_cast<uint16_t>(squares_along_rows ? 1 : pitch);
        // In l0a the fractals of a square are rows of fractals apart, in l0b neighbours.
        params.dstGap = static_cast<uint16_t>(squares_along_rows ? 0 : fractals - 1);
        params.dstFracGap = static_cast<uint16_t>(squares_along_rows ? inner - 1 : 0);
        AscendC::LoadDataWithTranspose(dst[i * step], src, params);
    }
}

// l0a gets a tile of m rows and k columns; with `transpose` l1 holds it as k rows and m columns.
template <class T>
__aicore__ inline void copy_l1_l0a(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    L1Tile tile, uint32_t m, uint32_t k, bool transpose, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = kBlockBytes / sizeof(T);
    if constexpr (sizeof(T) == 1) {
        if (transpose) {
            load_squares(dst, src, tile, k, m, true);
            return;
        }
    }
    const uint32_t columns = transpose ? ceil_to(m, kFractalRows) : ceil_to(k, maximum(k0, kFractalRows));
    const uint32_t rows = ceil_to(transpose ? k : m, kFractalRows);
    AscendC::LoadData(dst, src, plain_image<T>(tile, rows, columns, transpose));
}

// Four bits as bytes: pairs along k stay pairs.
__aicore__ inline void copy_l1_l0a(const AscendC::LocalTensor<AscendC::int4b_t>& dst,
    const AscendC::LocalTensor<AscendC::int4b_t>& src, L1Tile tile, uint32_t m, uint32_t k, bool transpose,
    Site site = Site::here())
{
    const L1Tile bytes{tile.stored_rows, tile.stored_columns / kPerByte, tile.row, tile.column / kPerByte};
    copy_l1_l0a(dst.template ReinterpretCast<int8_t>(), src.template ReinterpretCast<int8_t>(), bytes, m, k / kPerByte,
        transpose, site);
}

// l0b gets a tile of k rows and n columns; with `transpose` l1 holds it as n rows and k columns,
// which is the order of the register already.
template <class T>
__aicore__ inline void copy_l1_l0b(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    L1Tile tile, uint32_t k, uint32_t n, bool transpose, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = FractalRow<T>::elements;
    if (transpose) {
        const uint32_t row_fractals = ceil_to(n, kFractalRows) / kFractalRows;
        const uint32_t pitch = tile.stored_rows / kFractalRows;
        const uint32_t k_fractals = ceil_to(k, maximum(k0, kFractalRows)) / k0;
        // Columns of fractals that l1 holds whole follow each other there as in l0b, which has 128 fractals.
        const uint32_t joined = row_fractals == pitch ? k_fractals : 1;
        for (uint32_t i = 0; i < k_fractals; i += joined) {
            AscendC::LoadData2DParams params;
            params.startIndex =
                static_cast<uint16_t>((tile.column / k0 + i) * pitch + tile.row / kFractalRows);
            params.repeatTimes = static_cast<uint8_t>(joined * row_fractals);
            params.srcStride = 1;
            params.dstGap = 0;
            params.ifTranspose = false;
            AscendC::LoadData(dst[i * row_fractals * kFractalRows * k0], src, params);
        }
        return;
    }
    if constexpr (sizeof(T) == 1) {
        load_squares(dst, src, tile, k, n, false);
    } else {
        AscendC::LoadData(
            dst, src, plain_image<T>(tile, ceil_to(k, kFractalRows), ceil_to(n, kFractalRows), true));
    }
}

// Zero `bytes` of l0a or l0b, whole fractals.
template <class T>
__aicore__ inline void zero_l0(const AscendC::LocalTensor<T>& dst, uint32_t bytes, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::InitConstValueParams<half> params;
    params.repeatTimes = 1;
    params.blockNum = static_cast<uint16_t>(bytes / kFractalBytes);
    params.dstGap = 0;
    params.initValue = static_cast<half>(0.0f);
    AscendC::InitConstValue(dst.template ReinterpretCast<half>(), params);
}

// Results along one axis of an image.
__aicore__ inline uint32_t window_count(
    uint32_t pixels, uint32_t before, uint32_t behind, uint32_t taps, uint32_t dilation, uint32_t stride)
{
    return (pixels + before + behind - (taps - 1) * dilation - 1) / stride + 1;
}

// l0a gets a row for each of m_ext windows from m_pos on, and columns (kh, kw, c) from k_pos on; zeros outside the image
// and behind the last window, which the instruction does not take.
template <class T>
__aicore__ inline void im2col(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const Windows& w, uint32_t m_pos, uint32_t k_pos, uint32_t m_ext, uint32_t k_ext, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = kBlockBytes / sizeof(T);
    // The product takes float by steps of 16 along k.
    const uint32_t columns = ceil_to(k_ext, maximum(k0, kFractalRows));
    const uint32_t windows = window_count(w.height, w.top, w.bottom, w.kernel_h, w.dilation_h, w.stride_h)
        * window_count(w.width, w.left, w.right, w.kernel_w, w.dilation_w, w.stride_w);
    const uint32_t stored = ceil_to(windows, kFractalRows);
    const uint32_t rows = minimum(m_ext, stored - minimum(m_pos, stored));
    const uint32_t there = ceil_to(rows, kFractalRows), wanted = ceil_to(m_ext, kFractalRows);
    if (there < wanted) {
        zero_l0(dst[there * columns], (wanted - there) * columns * static_cast<uint32_t>(sizeof(T)), site);
    }
    if (rows == 0) {
        return;
    }
    AscendC::LoadData3DParamsV2<T> params;
    params.padList[0] = w.left;
    params.padList[1] = w.right;
    params.padList[2] = w.top;
    params.padList[3] = w.bottom;
    params.l1H = w.height;
    params.l1W = w.width;
    params.channelSize = static_cast<uint16_t>(k0);
    params.mExtension = static_cast<uint16_t>(rows);
    params.kExtension = static_cast<uint16_t>(columns);
    params.mStartPt = static_cast<uint16_t>(m_pos);
    params.kStartPt = static_cast<uint16_t>(k_pos);
    params.strideW = w.stride_w;
    params.strideH = w.stride_h;
    params.filterW = w.kernel_w;
    params.filterH = w.kernel_h;
    params.dilationFilterW = w.dilation_w;
    params.dilationFilterH = w.dilation_h;
    params.enTranspose = false;
    params.enSmallK = false;
    params.padValue = static_cast<T>(0);
    AscendC::LoadData(dst, src, params);
}

template <class A>
__aicore__ inline AscendC::MmadParams product_of(uint32_t m, uint32_t n, uint32_t k, bool from_zero)
{
    AscendC::MmadParams params;
    // One row would switch the unit to its vector mode, which reads a in another order.
    params.m = static_cast<uint16_t>(m == 1 ? kFractalRows : m);
    params.n = static_cast<uint16_t>(n);
    params.k = static_cast<uint16_t>(k);
    params.cmatrixInitVal = from_zero;
    params.cmatrixSource = false;
    if constexpr (sizeof(A) == 4) {
        params.kDirectionAlign = true;  // float tiles are loaded with k in steps of 16
    }
    return params;
}

// A small result comes back too late for the next product, be it added to or overwritten (vendor's page on Mmad).
__aicore__ inline void wait_for_small(uint32_t m, uint32_t n)
{
    constexpr uint32_t kFractalsInFlight = 10;
    if (ceil_to(m, kFractalRows) / kFractalRows * (ceil_to(n, kFractalRows) / kFractalRows) < kFractalsInFlight) {
        AscendC::PipeBarrier<PIPE_M>();
    }
}

// c[m, n] (+)= a[m, k] * b[k, n].
template <class C, class A>
__aicore__ inline void mma(const AscendC::LocalTensor<C>& c, const AscendC::LocalTensor<A>& a,
    const AscendC::LocalTensor<A>& b, uint32_t m, uint32_t n, uint32_t k, bool init, uint8_t unit_flag = 0,
    Site site = Site::here())
{
    SiteScope scope(site);
    wait_for_small(m, n);
    AscendC::MmadParams params = product_of<A>(m, n, k, init);
    params.unitFlag = unit_flag;
    AscendC::Mmad(c, a, b, params);
}

// The same, but where `init` holds every row of c starts from the bias.
template <class C, class A>
__aicore__ inline void mma_bias(const AscendC::LocalTensor<C>& c, const AscendC::LocalTensor<A>& a,
    const AscendC::LocalTensor<A>& b, const AscendC::LocalTensor<C>& bias, uint32_t m, uint32_t n, uint32_t k,
    bool init, Site site = Site::here())
{
    SiteScope scope(site);
    wait_for_small(m, n);
    if (init) {
        AscendC::Mmad(c, a, b, bias, product_of<A>(m, n, k, false));
    } else {
        AscendC::Mmad(c, a, b, product_of<A>(m, n, k, false));
    }
}

}  // namespace tile

#endif
