// Fixpipe: L0C to GM or L1, with conversion, ReLU and NZ to row-major, PIPE_FIX. DataCopy with DataCopyCO12DstParams is
// the same without the registers, which SetFixPipeConfig and its siblings write.
#pragma once

#include "tensor.h"

namespace AscendC {

struct FixpipeConfig {
    CO2Layout format;

    constexpr FixpipeConfig(CO2Layout format_) : format(format_) {}
    // Whether the result goes to UB is a question of other chips: here it never does.
    constexpr FixpipeConfig(CO2Layout format_, bool) : format(format_) {}
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_COLUMN_MAJOR = {CO2Layout::COLUMN_MAJOR};

struct FixpipeParamsV220 {
    FixpipeParamsV220() = default;
    FixpipeParamsV220(uint32_t n, uint32_t m, uint32_t src_stride, uint32_t dst_stride, bool relu)
        : nSize(n), mSize(m), srcStride(src_stride), dstStride(dst_stride), reluEn(relu)
    {
    }
    FixpipeParamsV220(uint32_t n, uint32_t m, uint32_t src_stride, uint32_t dst_stride, bool relu, QuantMode_t quant,
        int64_t scale, uint32_t nd, uint32_t src_nd_stride, uint32_t dst_nd_stride, uint8_t unit_flag,
        bool channel_split = false)
        : nSize(n),
          mSize(m),
          srcStride(src_stride),
          dstStride(dst_stride),
          quantPre(quant),
          deqScalar(static_cast<uint64_t>(scale)),
          ndNum(nd),
          srcNdStride(src_nd_stride),
          dstNdStride(dst_nd_stride),
          reluEn(relu),
          unitFlag(unit_flag),
          isChannelSplit(channel_split)
    {
    }

    uint32_t nSize = 0;
    uint32_t mSize = 0;
    uint32_t srcStride = 0;  // rows between 16-wide column blocks in L0C: m rounded up to 16
    uint32_t dstStride = 0;  // row pitch in elements (row major), column-block pitch in 32 B (NZ)
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint32_t ndNum = 1;
    uint32_t srcNdStride = 0;
    uint32_t dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};

// The headers of CANN 8.1 have the same struct under these names.
using FixpipeParamsM300 = FixpipeParamsV220;
using FixpipeParamsM310 = FixpipeParamsV220;

struct DataCopyCO12DstParams {
    DataCopyCO12DstParams() = default;
    DataCopyCO12DstParams(uint32_t n, uint32_t m, uint32_t dst_stride, uint32_t src_stride, QuantMode_t quant,
        uint8_t relu, bool channel_split, bool row_major)
        : nSize(n),
          mSize(m),
          dstStride(dst_stride),
          srcStride(src_stride),
          quantPre(quant),
          reluPre(relu),
          channelSplit(channel_split),
          nz2ndEn(row_major)
    {
    }

    uint8_t sid = 0;
    uint32_t nSize = 0;
    uint32_t mSize = 0;
    uint32_t dstStride = 0;
    uint32_t srcStride = 0;
    uint8_t unitFlag = 0;
    uint8_t clipReluPre = 0;
    uint8_t eltWiseOp = 0;
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false;
    bool nz2ndEn = false;
};

}  // namespace AscendC

namespace tile_simulator {

// `scales`: the tensor of quantisation words in L1, or null.
void fixpipe_to_global(GlobalOperand dst, LocalOperand src, const LocalOperand* scales,
    const AscendC::FixpipeParamsV220& params, AscendC::CO2Layout layout, Use use);
void fixpipe_to_l1(LocalOperand dst, LocalOperand src, const LocalOperand* scales,
    const AscendC::FixpipeParamsV220& params, AscendC::CO2Layout layout, Use use);
void copy_l0c_to_global(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyCO12DstParams& params, Use use);
void copy_l0c_to_l1(LocalOperand dst, LocalOperand src, const AscendC::DataCopyCO12DstParams& params, Use use);
void set_fixpipe_tables(const LocalOperand* relu, const LocalOperand* quant, bool reset_unit_flags, Use use);
void set_fixpipe_matrices(uint32_t count, uint32_t src_stride, uint32_t dst_stride, Use use);
void set_fixpipe_scale(uint64_t word, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const GlobalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    tile_simulator::fixpipe_to_global(dst.operand(), src.operand(), nullptr, params, config.format, {"Fixpipe", at});
}
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const LocalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    tile_simulator::fixpipe_to_l1(dst.operand(), src.operand(), nullptr, params, config.format, {"Fixpipe", at});
}

// With a scale per column: a tensor of uint64 words in L1, which the call moves to FB.
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<D>& dst, const LocalTensor<S>& src, const LocalTensor<uint64_t>& scales,
    const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    const tile_simulator::LocalOperand words = scales.operand();
    tile_simulator::fixpipe_to_global(dst.operand(), src.operand(), &words, params, config.format, {"Fixpipe", at});
}
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(const LocalTensor<D>& dst, const LocalTensor<S>& src, const LocalTensor<uint64_t>& scales,
    const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    const tile_simulator::LocalOperand words = scales.operand();
    tile_simulator::fixpipe_to_l1(dst.operand(), src.operand(), &words, params, config.format, {"Fixpipe", at});
}

template <class D, class S>
inline void DataCopy(const GlobalTensor<D>& dst, const LocalTensor<S>& src, const DataCopyCO12DstParams& params,
    Where at = Where::here())
{
    tile_simulator::copy_l0c_to_global(dst.operand(), src.operand(), params, {"DataCopy(L0C)", at});
}
template <class D, class S>
inline void DataCopy(const LocalTensor<D>& dst, const LocalTensor<S>& src, const DataCopyCO12DstParams& params,
    Where at = Where::here())
{
    tile_simulator::copy_l0c_to_l1(dst.operand(), src.operand(), params, {"DataCopy(L0C)", at});
}

template <class T>
inline void SetFixPipeConfig(const LocalTensor<T>& relu, const LocalTensor<T>& quant, bool isUnitFlag = false,
    Where at = Where::here())
{
    const tile_simulator::LocalOperand tables[2] = {relu.operand(), quant.operand()};
    tile_simulator::set_fixpipe_tables(&tables[0], &tables[1], isUnitFlag, {"SetFixPipeConfig", at});
}
template <class T, bool setRelu = false>
inline void SetFixPipeConfig(const LocalTensor<T>& table, bool isUnitFlag = false, Where at = Where::here())
{
    const tile_simulator::LocalOperand operand = table.operand();
    tile_simulator::set_fixpipe_tables(
        setRelu ? &operand : nullptr, setRelu ? nullptr : &operand, isUnitFlag, {"SetFixPipeConfig", at});
}
inline void SetFixpipeNz2ndFlag(uint32_t ndNum, uint32_t srcNdStride, uint32_t dstNdStride, Where at = Where::here())
{
    tile_simulator::set_fixpipe_matrices(ndNum, srcNdStride, dstNdStride, {"SetFixpipeNz2ndFlag", at});
}
inline void SetFixpipePreQuantFlag(uint64_t config, Where at = Where::here())
{
    tile_simulator::set_fixpipe_scale(config, {"SetFixpipePreQuantFlag", at});
}

}  // namespace AscendC
