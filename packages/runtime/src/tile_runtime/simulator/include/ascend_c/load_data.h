// L1 to L0A / L0B: LoadData 2D, LoadDataWithTranspose, LoadData 3D v2, and constant fill.
#pragma once

#include "tensor.h"

namespace AscendC {

// Fractals of 512 B; srcStride start to start, dstGap end to start.
struct LoadData2DParams {
    LoadData2DParams() = default;
    LoadData2DParams(uint32_t start, uint32_t repeats, uint32_t src_stride, uint32_t sid_in, uint32_t dst_gap,
        bool transpose, uint32_t address_mode)
        : startIndex(start),
          dstGap(dst_gap),
          srcStride(src_stride),
          ifTranspose(transpose),
          repeatTimes(repeats),
          sid(sid_in),
          addrMode(address_mode)
    {
    }

    uint32_t startIndex = 0;
    uint32_t dstGap = 0;
    uint32_t srcStride = 0;
    bool ifTranspose = false;
    uint32_t repeatTimes = 0;
    uint32_t sid = 0;
    uint32_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

// Squares of 16x16 (16- and 32-bit) or 32x32 (8-bit) elements.
struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() = default;
    LoadData2dTransposeParams(uint32_t start, uint32_t repeats, uint32_t src_stride, uint32_t dst_gap,
        uint32_t dst_fractal_gap, uint32_t address_mode = 0)
        : startIndex(start),
          repeatTimes(repeats),
          srcStride(src_stride),
          dstGap(dst_gap),
          dstFracGap(dst_fractal_gap),
          addrMode(address_mode)
    {
    }

    uint32_t startIndex = 0;
    uint32_t repeatTimes = 0;
    uint32_t srcStride = 0;
    uint32_t dstGap = 0;
    uint32_t dstFracGap = 0;
    uint32_t addrMode = 0;
};

template <class T>
struct LoadData3DParamsV2 {
    LoadData3DParamsV2() = default;
    LoadData3DParamsV2(const uint8_t pads[4], uint32_t height, uint32_t width, uint32_t channels, uint32_t k_extension,
        uint32_t m_extension, uint32_t k_start, uint32_t m_start, uint32_t stride_w, uint32_t stride_h,
        uint32_t filter_w, uint32_t filter_h, uint32_t dilation_w, uint32_t dilation_h, bool transpose, bool small_k,
        T pad_value, bool filter_size_w = false, bool filter_size_h = false, bool f_matrix = false)
        : padList{pads[0], pads[1], pads[2], pads[3]},
          l1H(height),
          l1W(width),
          channelSize(channels),
          kExtension(k_extension),
          mExtension(m_extension),
          kStartPt(k_start),
          mStartPt(m_start),
          strideW(stride_w),
          strideH(stride_h),
          filterW(filter_w),
          filterH(filter_h),
          dilationFilterW(dilation_w),
          dilationFilterH(dilation_h),
          enTranspose(transpose),
          enSmallK(small_k),
          padValue(pad_value),
          filterSizeW(filter_size_w),
          filterSizeH(filter_size_h),
          fMatrixCtrl(f_matrix)
    {
    }

    uint8_t padList[4] = {0, 0, 0, 0};
    uint32_t l1H = 0;
    uint32_t l1W = 0;
    uint32_t channelSize = 0;
    uint32_t kExtension = 0;
    uint32_t mExtension = 0;
    uint32_t kStartPt = 0;
    uint32_t mStartPt = 0;
    uint32_t strideW = 1;
    uint32_t strideH = 1;
    uint32_t filterW = 1;
    uint32_t filterH = 1;
    uint32_t dilationFilterW = 1;
    uint32_t dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

template <class T>
struct InitConstValueParams {
    InitConstValueParams() = default;
    InitConstValueParams(uint32_t repeats, uint32_t blocks, uint32_t gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value)
    {
    }
    InitConstValueParams(uint32_t repeats, T value) : repeatTimes(repeats), initValue(value) {}

    uint32_t repeatTimes = 0;
    uint32_t blockNum = 0;
    uint32_t dstGap = 0;
    T initValue = T(0);
};

// The 3D load with everything but the kind of matrix packed into two words.
struct LoadData3DParamsV2Pro {
    LoadData3DParamsV2Pro() = default;
    LoadData3DParamsV2Pro(uint32_t channels, bool transpose, bool small_k, bool filter_size_w, bool filter_size_h,
        bool f_matrix, uint64_t extension, uint64_t filter)
        : channelSize(channels),
          enTranspose(transpose),
          enSmallK(small_k),
          filterSizeW(filter_size_w),
          filterSizeH(filter_size_h),
          fMatrixCtrl(f_matrix),
          extConfig(extension),
          filterConfig(filter)
    {
    }

    uint32_t channelSize = 0;
    bool enTranspose = false;
    bool enSmallK = false;
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
    uint64_t extConfig = 0;                 // kExtension, mExtension, kStartPt, mStartPt: 16 bits each
    uint64_t filterConfig = 0x10101010101;  // strideW, strideH, filterW, filterH, dilation W and H: 8 bits each
};

struct LoadDataRepeatParam {
    LoadDataRepeatParam() = default;
    LoadDataRepeatParam(uint16_t stride, uint8_t times, uint8_t mode)
        : repeatStride(stride), repeatTime(times), repeatMode(mode)
    {
    }

    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1;
    uint8_t repeatMode = 0;
};

// Of other chips, so that a kernel that names them compiles and is told so when it runs. The constructors keep brace
// initialisers of the structs above unambiguous.
struct LoadData2DParamsV2 {
    LoadData2DParamsV2() = default;
    LoadData2DParamsV2(uint32_t m_start, uint32_t k_start, uint32_t m_step, uint32_t k_step, int32_t src_stride,
        uint32_t dst_stride, bool transpose, uint32_t sid_in)
        : mStartPosition(m_start),
          kStartPosition(k_start),
          mStep(m_step),
          kStep(k_step),
          srcStride(src_stride),
          dstStride(dst_stride),
          ifTranspose(transpose),
          sid(sid_in)
    {
    }

    uint32_t mStartPosition = 0;
    uint32_t kStartPosition = 0;
    uint32_t mStep = 0;
    uint32_t kStep = 0;
    int32_t srcStride = 0;
    uint32_t dstStride = 0;
    bool ifTranspose = false;
    uint32_t sid = 0;
};
template <class T>
struct LoadData3DParamsV1 {
    LoadData3DParamsV1() {}  // provided, so that it is no aggregate

    uint8_t padList[4] = {0, 0, 0, 0};
    uint8_t strideW = 0, strideH = 0, filterW = 0, filterH = 0, dilationFilterW = 0, dilationFilterH = 0;
    uint8_t jumpStride = 0, repeatMode = 0, repeatTime = 0, cSize = 0;
    T padValue = T(0);
    uint8_t fetchFilterW = 0, fetchFilterH = 0;
    uint16_t l1H = 0, l1W = 0, c1Index = 0;
    int16_t leftTopW = 0, leftTopH = 0;
};
struct LoadData2dTransposeParamsV2 {
    LoadData2dTransposeParamsV2() = default;
    LoadData2dTransposeParamsV2(uint32_t start, uint32_t repeats, uint32_t src_stride, uint32_t dst_gap,
        uint32_t dst_fractal_gap, uint32_t src_fractal_gap, uint32_t address_mode)
        : startIndex(start),
          repeatTimes(repeats),
          srcStride(src_stride),
          dstGap(dst_gap),
          dstFracGap(dst_fractal_gap),
          srcFracGap(src_fractal_gap),
          addrMode(address_mode)
    {
    }

    uint32_t startIndex = 0;
    uint32_t repeatTimes = 0;
    uint32_t srcStride = 0;
    uint32_t dstGap = 0;
    uint32_t dstFracGap = 0;
    uint32_t srcFracGap = 0;
    uint32_t addrMode = 0;
};
struct LoadImageToLocalParams {
    LoadImageToLocalParams() = default;

    uint16_t horizSize = 0, vertSize = 0, horizStartPos = 0, vertStartPos = 0, srcHorizSize = 0;
    uint8_t topPadSize = 0, botPadSize = 0;
    uint16_t leftPadSize = 0, rightPadSize = 0;
    uint8_t sid = 0;
};

struct IsResetLoad3dConfig {
    constexpr IsResetLoad3dConfig(bool matrix, bool padding) : isSetFMatrix(matrix), isSetPadding(padding) {}
    bool isSetFMatrix = true;
    bool isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

}  // namespace AscendC

namespace tile_simulator {

// What the 3D load uses of its parameters, without the element type.
struct Load3d {
    uint8_t pads[4];  // left, right, top, bottom
    uint32_t height, width, channels, k_extension, m_extension, k_start, m_start;
    uint32_t stride_w, stride_h, filter_w, filter_h, dilation_w, dilation_h;
    bool transpose;
    bool set_matrix;   // height, width and pads are given, and stay set; otherwise those of SetFmatrix count
    bool set_padding;  // the same of pad_bits and SetLoadDataPaddingValue
    bool right_matrix;  // of the two that SetFmatrix keeps
    uint64_t pad_bits;
};

void load_2d(LocalOperand dst, LocalOperand src, const AscendC::LoadData2DParams& params, Use use);
void load_2d_from_global(LocalOperand dst, GlobalOperand src, const AscendC::LoadData2DParams& params, Use use);
void load_transposed(LocalOperand dst, LocalOperand src, const AscendC::LoadData2dTransposeParams& params, Use use);
void load_3d(LocalOperand dst, LocalOperand src, const Load3d& params, Use use);
void fill_constant(LocalOperand dst, uint64_t bits, uint32_t repeats, uint32_t blocks, uint32_t gap, Use use);
void set_feature_matrix(uint32_t height, uint32_t width, const uint8_t pads[4]);
void set_right_feature_matrix(uint32_t height, uint32_t width, const uint8_t pads[4]);
void set_load_padding(uint64_t bits);
void set_load_boundary(uint32_t bytes);
void set_load_repeat(const AscendC::LoadDataRepeatParam& params);
[[noreturn]] void raise_not_on_chip(Use use, const char* instead);

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void LoadData(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params, Where at = Where::here())
{
    tile_simulator::load_2d(dst.operand(), src.operand(), params, {"LoadData", at});
}
template <class T>
inline void LoadData(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params, Where at = Where::here())
{
    tile_simulator::load_2d_from_global(dst.operand(), src.operand(), params, {"LoadData", at});
}
template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
inline void LoadData(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2<T>& p, Where at = Where::here())
{
    const tile_simulator::Load3d load = {{p.padList[0], p.padList[1], p.padList[2], p.padList[3]}, p.l1H, p.l1W,
        p.channelSize, p.kExtension, p.mExtension, p.kStartPt, p.mStartPt, p.strideW, p.strideH,
        p.filterW + (p.filterSizeW ? 256u : 0u), p.filterH + (p.filterSizeH ? 256u : 0u), p.dilationFilterW,
        p.dilationFilterH, p.enTranspose, config.isSetFMatrix, config.isSetPadding, p.fMatrixCtrl,
        tile_simulator::scalar_of(p.padValue).bits};
    tile_simulator::load_3d(dst.operand(), src.operand(), load, {"LoadData(3D)", at});
}
template <class T>
inline void LoadData(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p, Where at = Where::here())
{
    const auto word = [&](int i) { return static_cast<uint32_t>(p.extConfig >> 16 * i & 0xffff); };
    const auto byte = [&](int i) { return static_cast<uint32_t>(p.filterConfig >> 8 * i & 0xff); };
    const tile_simulator::Load3d load = {{0, 0, 0, 0}, 0, 0, p.channelSize, word(0), word(1), word(2), word(3), byte(0),
        byte(1), byte(2) + (p.filterSizeW ? 256u : 0u), byte(3) + (p.filterSizeH ? 256u : 0u), byte(4), byte(5),
        p.enTranspose, false, false, p.fMatrixCtrl, 0};
    tile_simulator::load_3d(dst.operand(), src.operand(), load, {"LoadData(3D)", at});
}
template <class T, class Source>
inline void LoadData(const LocalTensor<T>&, const Source&, const LoadData2DParamsV2&, Where at = Where::here())
{
    tile_simulator::raise_not_on_chip({"LoadData(2D V2)", at}, "LoadData2DParams");
}
template <class T, const IsResetLoad3dConfig& config = IS_RESER_LOAD3D_DEFAULT_CONFIG>
inline void LoadData(
    const LocalTensor<T>&, const LocalTensor<T>&, const LoadData3DParamsV1<T>&, Where at = Where::here())
{
    tile_simulator::raise_not_on_chip({"LoadData(3D V1)", at}, "LoadData3DParamsV2");
}
template <class T>
inline void LoadDataWithTranspose(
    const LocalTensor<T>&, const LocalTensor<T>&, const LoadData2dTransposeParamsV2&, Where at = Where::here())
{
    tile_simulator::raise_not_on_chip({"LoadDataWithTranspose(V2)", at}, "LoadData2dTransposeParams");
}
template <class T>
inline void LoadDataUnzip(const LocalTensor<T>&, const GlobalTensor<T>&, Where at = Where::here())
{
    tile_simulator::raise_not_on_chip({"LoadDataUnzip", at}, "LoadData on plain data");
}
template <class T>
inline void LoadImageToLocal(const LocalTensor<T>&, const LoadImageToLocalParams&, Where at = Where::here())
{
    tile_simulator::raise_not_on_chip({"LoadImageToLocal (not simulated)", at}, "DataCopy");
}
template <class T>
inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
    const LoadData2dTransposeParams& params, Where at = Where::here())
{
    tile_simulator::load_transposed(dst.operand(), src.operand(), params, {"LoadDataWithTranspose", at});
}

template <class T>
inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, Where at = Where::here())
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "InitConstValue: 16- and 32-bit types only");
    tile_simulator::fill_constant(dst.operand(), tile_simulator::scalar_of(params.initValue).bits, params.repeatTimes,
        params.blockNum, params.dstGap, {"InitConstValue", at});
}
template <class T>
inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& params, Where at = Where::here())
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Fill: 16- and 32-bit types only");
    tile_simulator::fill_constant(dst.operand(), tile_simulator::scalar_of(params.initValue).bits, params.repeatTimes,
        params.blockNum, params.dstGap, {"Fill", at});
}

inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& mode)
{
    if (mode == FmatrixMode::FMATRIX_RIGHT) {
        tile_simulator::set_right_feature_matrix(l1H, l1W, padList);
    } else {
        tile_simulator::set_feature_matrix(l1H, l1W, padList);
    }
}
template <class T>
inline void SetLoadDataPaddingValue(const T value)
{
    tile_simulator::set_load_padding(tile_simulator::scalar_of(value).bits);
}
inline void SetLoadDataBoundary(uint32_t bytes)
{
    tile_simulator::set_load_boundary(bytes);
}
inline void SetLoadDataRepeat(const LoadDataRepeatParam& params)
{
    tile_simulator::set_load_repeat(params);
}

}  // namespace AscendC
