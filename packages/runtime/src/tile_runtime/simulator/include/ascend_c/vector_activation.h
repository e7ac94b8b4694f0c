// Sigmoid and Silu: 1 / (1 + e^-x) and x / (1 + e^-x). half and float, on UB, PIPE_V; several instructions each.
#pragma once

#include "temporary_space.h"

namespace tile_simulator {

void vector_sigmoid(LocalOperand dst, LocalOperand src, const TemporarySpace& space, int64_t count, Use use);
void vector_silu(LocalOperand dst, LocalOperand src, int64_t count, Use use);

template <class T>
inline void sigmoid(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const TemporarySpace& space, int64_t count, Use use)
{
    static_assert(is_one_of<T, half, float>, "Sigmoid: half and float only");
    vector_sigmoid(dst.operand(), src.operand(), space, count, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isReuseSource = false>
inline void Sigmoid(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::sigmoid(
        dstTensor, srcTensor, tile_simulator::temporary_space(sharedTmpBuffer), calCount, {"Sigmoid", at});
}
template <class T, bool isReuseSource = false>
inline void Sigmoid(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    Sigmoid<T, isReuseSource>(dstTensor, srcTensor, sharedTmpBuffer, srcTensor.GetSize(), at);
}
template <class T, bool isReuseSource = false>
inline void Sigmoid(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount,
    Where at = Where::here())
{
    tile_simulator::sigmoid(dstTensor, srcTensor, tile_simulator::free_space(at), calCount, {"Sigmoid", at});
}
template <class T, bool isReuseSource = false>
inline void Sigmoid(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, Where at = Where::here())
{
    Sigmoid<T, isReuseSource>(dstTensor, srcTensor, srcTensor.GetSize(), at);
}

template <class T, bool isReuseSource = false>
inline void Silu(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, uint32_t dataSize,
    Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Silu: half and float only");
    tile_simulator::vector_silu(dstLocal.operand(), srcLocal.operand(), dataSize, {"Silu", at});
}

}  // namespace AscendC
