// ReduceSum, ReduceMax, ReduceMin along one axis of a matrix: Pattern::Reduce::AR along the rows, RA along the columns.
// float, and half for the extrema, on UB, PIPE_V; several instructions each. Rows begin on 32 B.
#pragma once

#include "temporary_space.h"
#include "vector_reduce.h"

namespace AscendC::Pattern::Reduce {

struct AR {};
struct RA {};

}  // namespace AscendC::Pattern::Reduce

namespace tile_simulator {

// `reuse`: the source may be overwritten, and no temporary space is needed. `padded`: every row begins on 32 B.
struct AxisReduction {
    ReduceOp op;
    bool along_rows;
    bool reuse;
    bool padded;
    uint32_t rows;
    uint32_t columns;
};

void reduce_axis(LocalOperand dst, LocalOperand src, const TemporarySpace& space, const AxisReduction& what, Use use);

template <class Pattern>
constexpr bool reduces_an_axis = is_one_of<Pattern, AscendC::Pattern::Reduce::AR, AscendC::Pattern::Reduce::RA>;

template <ReduceOp op, class Pattern, bool reuse, class T>
inline void along_axis(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const TemporarySpace& space, const uint32_t* shape, bool inner_pad, Use use)
{
    static_assert(op == ReduceOp::sum ? std::is_same_v<T, float> : reducible<T>,
        "reductions along an axis on 910B: sums of float, extrema of half and float");
    constexpr bool along_rows = std::is_same_v<Pattern, AscendC::Pattern::Reduce::AR>;
    reduce_axis(dst.operand(), src.operand(), space, {op, along_rows, reuse, inner_pad, shape[0], shape[1]}, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceSum(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[],
    bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::sum, pattern, isReuseSource>(dstTensor, srcTensor,
        tile_simulator::temporary_space(sharedTmpBuffer), srcShape, srcInnerPad, {"ReduceSum", at});
}
template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceSum(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const uint32_t srcShape[], bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::sum, pattern, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::free_space(at), srcShape, srcInnerPad, {"ReduceSum", at});
}
template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceMax(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[],
    bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::max, pattern, isReuseSource>(dstTensor, srcTensor,
        tile_simulator::temporary_space(sharedTmpBuffer), srcShape, srcInnerPad, {"ReduceMax", at});
}
template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceMax(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const uint32_t srcShape[], bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::max, pattern, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::free_space(at), srcShape, srcInnerPad, {"ReduceMax", at});
}
template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceMin(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t srcShape[],
    bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::min, pattern, isReuseSource>(dstTensor, srcTensor,
        tile_simulator::temporary_space(sharedTmpBuffer), srcShape, srcInnerPad, {"ReduceMin", at});
}
template <class T, class pattern, bool isReuseSource = false>
inline std::enable_if_t<tile_simulator::reduces_an_axis<pattern>> ReduceMin(const LocalTensor<T>& dstTensor,
    const LocalTensor<T>& srcTensor, const uint32_t srcShape[], bool srcInnerPad, Where at = Where::here())
{
    tile_simulator::along_axis<tile_simulator::ReduceOp::min, pattern, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::free_space(at), srcShape, srcInnerPad, {"ReduceMin", at});
}

}  // namespace AscendC
