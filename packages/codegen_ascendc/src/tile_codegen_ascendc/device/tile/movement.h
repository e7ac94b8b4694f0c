// Tiles between global memory and the chip. Sizes and pitches are in elements.
#ifndef TILE_MOVEMENT_H
#define TILE_MOVEMENT_H

namespace tile {

constexpr uint32_t kBlockBytes = 32;
constexpr uint32_t kMaxBlocksPerCopy = 4095;  // blockCount of DataCopyExtParams
constexpr uint32_t kMaxStride = 65535;        // srcStride of DataCopyParams
constexpr uint32_t kMaxNdRows = 16384;        // nValue of Nd2NzParams
constexpr uint32_t kMaxNdPitch = 65535;       // srcDValue of Nd2NzParams

// Rows that touch are one run of bytes, whatever its length.
template <class A, class B>
__aicore__ inline void join_rows(uint32_t& rows, uint32_t& columns, A& src_pitch, B& dst_pitch)
{
    if (src_pitch == columns && dst_pitch == columns) {
        columns *= rows;
        src_pitch = dst_pitch = columns;
        rows = 1;
    }
}

// How many rows of gm one copy has, `apart` bytes from the end of one to the start of the next: more than the field of
// 32 bits says go one by one, where the stride does not matter.
__aicore__ inline uint32_t rows_at_once(uint64_t apart)
{
    return apart <= 0xFFFFFFFFu ? kMaxBlocksPerCopy : 1u;
}

// Rows of gm into ub; each row starts at a block boundary of ub, and what is left of its last block
// becomes `pad`.
template <class T>
__aicore__ inline void copy_gm_ub(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src,
    uint32_t rows, uint32_t columns, int64_t src_pitch, uint32_t dst_pitch, T pad = static_cast<T>(0),
    Site site = Site::here())
{
    SiteScope scope(site);
    join_rows(rows, columns, src_pitch, dst_pitch);
    const uint32_t step = rows_at_once((src_pitch - columns) * sizeof(T));
    for (uint32_t row = 0; row < rows; row += step) {
        const uint32_t count = minimum(rows - row, step);
        AscendC::DataCopyExtParams params;
        params.blockCount = static_cast<uint16_t>(count);
        params.blockLen = static_cast<uint32_t>(columns * sizeof(T));
        params.srcStride = static_cast<uint32_t>((src_pitch - columns) * sizeof(T));
        params.dstStride = static_cast<uint32_t>((dst_pitch - columns) * sizeof(T) / kBlockBytes);
        const uint32_t used = columns * sizeof(T) % kBlockBytes;
        const uint8_t missing = used == 0 ? 0 : static_cast<uint8_t>((kBlockBytes - used) / sizeof(T));
        AscendC::DataCopyPadExtParams<T> padding{true, 0, missing, pad};
        AscendC::DataCopyPad(dst[row * dst_pitch], src[row * src_pitch], params, padding);
    }
}

// The same with `left` times `pad` before each row, and so many behind it that it has `width` elements: at most a block
// of them on either side.
template <class T>
__aicore__ inline void copy_gm_ub_padded(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src,
    uint32_t rows, uint32_t columns, int64_t src_pitch, uint32_t dst_pitch, uint32_t left, uint32_t width,
    T pad = static_cast<T>(0), Site site = Site::here())
{
    SiteScope scope(site);
    const uint32_t step = rows_at_once((src_pitch - columns) * sizeof(T));
    for (uint32_t row = 0; row < rows; row += step) {
        const uint32_t count = minimum(rows - row, step);
        AscendC::DataCopyExtParams params;
        params.blockCount = static_cast<uint16_t>(count);
        params.blockLen = static_cast<uint32_t>(columns * sizeof(T));
        params.srcStride = static_cast<uint32_t>((src_pitch - columns) * sizeof(T));
        params.dstStride = static_cast<uint32_t>((dst_pitch - width) * sizeof(T) / kBlockBytes);
        const uint32_t right = width - left - columns;
        AscendC::DataCopyPadExtParams<T> padding{true, static_cast<uint8_t>(left), static_cast<uint8_t>(right), pad};
        AscendC::DataCopyPad(dst[row * dst_pitch], src[row * src_pitch], params, padding);
    }
}

// Elements of four bits: gm holds bytes, and so many go. Sizes and pitches are in elements all the same.
constexpr uint32_t kPerByte = 2;

__aicore__ inline void copy_gm_ub(const AscendC::LocalTensor<AscendC::int4b_t>& dst,
    const AscendC::GlobalTensor<int8_t>& src, uint32_t rows, uint32_t columns, int64_t src_pitch, uint32_t dst_pitch,
    Site site = Site::here())
{
    copy_gm_ub(dst.template ReinterpretCast<int8_t>(), src, rows, whole_bytes(columns, kPerByte, site),
        src_pitch / kPerByte, dst_pitch / kPerByte, static_cast<int8_t>(0), site);
}

template <class T>
__aicore__ inline void copy_ub_gm(const AscendC::GlobalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    uint32_t rows, uint32_t columns, int64_t dst_pitch, uint32_t src_pitch, Site site = Site::here())
{
    SiteScope scope(site);
    join_rows(rows, columns, src_pitch, dst_pitch);
    const uint32_t step = rows_at_once((dst_pitch - columns) * sizeof(T));
    for (uint32_t row = 0; row < rows; row += step) {
        const uint32_t count = minimum(rows - row, step);
        AscendC::DataCopyExtParams params;
        params.blockCount = static_cast<uint16_t>(count);
        params.blockLen = static_cast<uint32_t>(columns * sizeof(T));
        params.srcStride = static_cast<uint32_t>((src_pitch - columns) * sizeof(T) / kBlockBytes);
        params.dstStride = static_cast<uint32_t>((dst_pitch - columns) * sizeof(T));
        AscendC::DataCopyPad(dst[row * dst_pitch], src[row * src_pitch], params);
    }
}

__aicore__ inline void copy_ub_gm(const AscendC::GlobalTensor<int8_t>& dst,
    const AscendC::LocalTensor<AscendC::int4b_t>& src, uint32_t rows, uint32_t columns, int64_t dst_pitch,
    uint32_t src_pitch, Site site = Site::here())
{
    copy_ub_gm(dst, src.template ReinterpretCast<int8_t>(), rows, whole_bytes(columns, kPerByte, site),
        dst_pitch / kPerByte, src_pitch / kPerByte, site);
}

// Rows of gm into an l1 matrix in NZ order: columns of 32 bytes, `l1_rows` rows each. `dst` is the
// first element of the tile, at a column that starts such a block.
template <class T>
__aicore__ inline void copy_gm_l1(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src,
    uint32_t rows, uint32_t columns, int64_t src_pitch, uint32_t l1_rows, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = kBlockBytes / sizeof(T);
    if (rows > 0 && columns == k0 && src_pitch == k0) {  // a column of fractals is one run, in gm too
        AscendC::DataCopy(dst, src, AscendC::DataCopyParams{1, static_cast<uint16_t>(rows), 0, 0});
        return;
    }
    // A pitch that does not fit the field goes row by row, where the pitch does not matter.
    const uint32_t step = src_pitch <= kMaxNdPitch ? kMaxNdRows : 1;
    for (uint32_t row = 0; row < rows; row += step) {
        AscendC::Nd2NzParams params;
        params.ndNum = 1;
        params.nValue = static_cast<uint16_t>(minimum(rows - row, step));
        params.dValue = static_cast<uint16_t>(columns);
        params.srcNdMatrixStride = 0;
        params.srcDValue = static_cast<uint16_t>(step == 1 ? columns : src_pitch);
        params.dstNzC0Stride = static_cast<uint16_t>(l1_rows);
        params.dstNzNStride = 1;
        params.dstNzMatrixStride = 0;
        AscendC::DataCopy(dst[row * k0], src[row * src_pitch], params);
    }
}

__aicore__ inline void copy_gm_l1(const AscendC::LocalTensor<AscendC::int4b_t>& dst,
    const AscendC::GlobalTensor<int8_t>& src, uint32_t rows, uint32_t columns, int64_t src_pitch, uint32_t l1_rows,
    Site site = Site::here())
{
    copy_gm_l1(dst.template ReinterpretCast<int8_t>(), src, rows, whole_bytes(columns, kPerByte, site),
        src_pitch / kPerByte, l1_rows, site);
}

// The same of a matrix that gm has in NZ order too, `src_rows` rows in all: a run of bytes for each
// column of 32 bytes.
template <class T>
__aicore__ inline void copy_gm_l1_nz(const AscendC::LocalTensor<T>& dst, const AscendC::GlobalTensor<T>& src,
    uint32_t rows, uint32_t columns, int64_t src_rows, uint32_t l1_rows, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = kBlockBytes / sizeof(T);
    const uint32_t blocks = columns / k0;
    // A distance that does not fit the field goes column by column, where it does not matter.
    const uint32_t step = src_rows - rows <= kMaxStride ? kMaxBlocksPerCopy : 1;
    for (uint32_t block = 0; block < blocks; block += step) {
        AscendC::DataCopyParams params;
        params.blockCount = static_cast<uint16_t>(minimum(blocks - block, step));
        params.blockLen = static_cast<uint16_t>(rows);
        params.srcStride = static_cast<uint16_t>(step == 1 ? 0 : src_rows - rows);
        params.dstStride = static_cast<uint16_t>(step == 1 ? 0 : l1_rows - rows);
        AscendC::DataCopy(dst[block * l1_rows * k0], src[block * src_rows * k0], params);
    }
}

__aicore__ inline void copy_gm_l1_nz(const AscendC::LocalTensor<AscendC::int4b_t>& dst,
    const AscendC::GlobalTensor<int8_t>& src, uint32_t rows, uint32_t columns, int64_t src_rows, uint32_t l1_rows,
    Site site = Site::here())
{
    copy_gm_l1_nz(dst.template ReinterpretCast<int8_t>(), src, rows, whole_bytes(columns, kPerByte, site),
        src_rows, l1_rows, site);
}

// Zero `bytes` of l1, a multiple of 32.
template <class T>
__aicore__ inline void clear_l1(const AscendC::LocalTensor<T>& dst, uint32_t bytes, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t max_blocks = 32767;
    const AscendC::LocalTensor<half> halves = dst.template ReinterpretCast<half>();
    const uint32_t blocks = bytes / kBlockBytes;
    for (uint32_t block = 0; block < blocks; block += max_blocks) {
        AscendC::InitConstValueParams<half> params;
        params.repeatTimes = 1;
        params.blockNum = static_cast<uint16_t>(minimum(blocks - block, max_blocks));
        params.dstGap = 0;
        params.initValue = static_cast<half>(0.0f);
        AscendC::InitConstValue(halves[block * (kBlockBytes / sizeof(half))], params);
    }
}

// Zero a part of an l1 matrix of `l1_rows` rows: blocks of 32 bytes from `dst` on, the last one of each row included.
template <class T>
__aicore__ inline void clear_l1_part(const AscendC::LocalTensor<T>& dst, uint32_t rows, uint32_t columns,
    uint32_t l1_rows, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t k0 = kBlockBytes / sizeof(T);
    AscendC::InitConstValueParams<half> params;
    params.repeatTimes = static_cast<uint16_t>((columns + k0 - 1) / k0);
    params.blockNum = static_cast<uint16_t>(rows);
    params.dstGap = static_cast<uint16_t>(l1_rows - rows);
    params.initValue = static_cast<half>(0.0f);
    if (rows > 0 && columns > 0) {
        AscendC::InitConstValue(dst.template ReinterpretCast<half>(), params);
    }
}

__aicore__ inline void clear_l1_part(const AscendC::LocalTensor<AscendC::int4b_t>& dst, uint32_t rows,
    uint32_t columns, uint32_t l1_rows, Site site = Site::here())
{
    clear_l1_part(dst.template ReinterpretCast<int8_t>(), rows, (columns + 1) / kPerByte, l1_rows, site);
}

// `count` elements of l1, one after another, into a bias table, in whole units; half becomes float.
template <class To, class From>
__aicore__ inline void copy_l1_bt(const AscendC::LocalTensor<To>& dst, const AscendC::LocalTensor<From>& src,
    uint32_t count, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t unit = 64;  // blockLen of DataCopy to C2
    AscendC::DataCopyParams params;
    params.blockCount = 1;
    params.blockLen = static_cast<uint16_t>(ceil_to(static_cast<uint32_t>(count * sizeof(From)), unit) / unit);
    params.srcStride = 0;
    params.dstStride = 0;
    AscendC::DataCopy(dst, src, params);
}

// The accumulator tile at `src` (l0c, `l0c_rows` rows per column of fractals) into rows of gm.
template <class To, class From>
__aicore__ inline void copy_l0c_gm(const AscendC::GlobalTensor<To>& dst, const AscendC::LocalTensor<From>& src,
    uint32_t rows, uint32_t columns, int64_t dst_pitch, uint32_t l0c_rows, bool relu, uint8_t unit_flag = 0,
    Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::FixpipeParamsV220 params;
    params.nSize = static_cast<uint16_t>(columns);
    params.mSize = static_cast<uint16_t>(rows);
    params.srcStride = static_cast<uint16_t>(l0c_rows);
    params.dstStride = static_cast<uint32_t>(dst_pitch);
    params.reluEn = relu;
    if constexpr (Same<To, half>::value) {
        params.quantPre = QuantMode_t::F322F16;
    } else if constexpr (Same<To, bfloat16_t>::value) {
        params.quantPre = QuantMode_t::F322BF16;
    } else {
        params.quantPre = QuantMode_t::NoQuant;
    }
    params.ndNum = 1;
    params.srcNdStride = 0;
    params.dstNdStride = 0;
    params.unitFlag = unit_flag;
    AscendC::Fixpipe<To, From, AscendC::CFG_ROW_MAJOR>(dst, src, params);
}

// The accumulator tile at `src` (l0c, `l0c_rows` rows per column of fractals) into an l1 matrix of `l1_rows` rows, in
// whole columns of fractals.
template <class To, class From>
__aicore__ inline void copy_l0c_l1(const AscendC::LocalTensor<To>& dst, const AscendC::LocalTensor<From>& src,
    uint32_t rows, uint32_t columns, uint32_t l1_rows, uint32_t l0c_rows, bool relu, Site site = Site::here())
{
    SiteScope scope(site);
    constexpr uint32_t fractal = 16;
    AscendC::FixpipeParamsV220 params;
    params.nSize = static_cast<uint16_t>(ceil_to(columns, fractal));
    params.mSize = static_cast<uint16_t>(rows);
    params.srcStride = static_cast<uint16_t>(l0c_rows);
    params.dstStride = static_cast<uint32_t>(l1_rows * fractal * sizeof(To) / kBlockBytes);
    params.reluEn = relu;
    params.quantPre = Same<To, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
    params.ndNum = 1;
    params.srcNdStride = 0;
    params.dstNdStride = 0;
    params.unitFlag = 0;
    AscendC::Fixpipe<To, From, AscendC::CFG_NZ>(dst, src, params);
}

}  // namespace tile

#endif
