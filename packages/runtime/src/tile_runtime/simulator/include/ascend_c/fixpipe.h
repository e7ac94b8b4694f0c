// Fixpipe: L0C to GM or L1, with conversion, ReLU and NZ to row-major, PIPE_FIX.
#pragma once

#include "tensor.h"

namespace AscendC {

struct FixpipeConfig {
    CO2Layout format;
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

}  // namespace AscendC

namespace tile_simulator {

void fixpipe_to_global(
    GlobalOperand dst, LocalOperand src, const AscendC::FixpipeParamsV220& params, AscendC::CO2Layout layout, Use use);
void fixpipe_to_l1(
    LocalOperand dst, LocalOperand src, const AscendC::FixpipeParamsV220& params, AscendC::CO2Layout layout, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const GlobalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    tile_simulator::fixpipe_to_global(dst.operand(), src.operand(), params, config.format, {"Fixpipe", at});
}
template <class D, class S, const FixpipeConfig& config = CFG_ROW_MAJOR>
inline void Fixpipe(
    const LocalTensor<D>& dst, const LocalTensor<S>& src, const FixpipeParamsV220& params, Where at = Where::here())
{
    static_assert(config.format != CO2Layout::COLUMN_MAJOR, "Fixpipe: column major does not exist on 910B");
    tile_simulator::fixpipe_to_l1(dst.operand(), src.operand(), params, config.format, {"Fixpipe", at});
}

}  // namespace AscendC
