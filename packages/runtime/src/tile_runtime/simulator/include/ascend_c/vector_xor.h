// Xor: bits that differ. int16_t and uint16_t, on UB, PIPE_V; four instructions.
#pragma once

#include "temporary_space.h"

namespace tile_simulator {

void vector_xor(LocalOperand dst, LocalOperand src0, LocalOperand src1, const TemporarySpace& space, int64_t count,
    Use use);

template <class T>
inline void exclusive_or(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
    const AscendC::LocalTensor<T>& src1, const TemporarySpace& space, int64_t count, Use use)
{
    static_assert(is_one_of<T, int16_t, uint16_t>, "Xor: int16_t and uint16_t only");
    vector_xor(dst.operand(), src0.operand(), src1.operand(), space, count, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isReuseSource = false>
inline void Xor(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::exclusive_or(dstTensor, src0Tensor, src1Tensor,
        tile_simulator::temporary_space(sharedTmpBuffer), calCount, {"Xor", at});
}
template <class T, bool isReuseSource = false>
inline void Xor(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    Xor<T, isReuseSource>(dstTensor, src0Tensor, src1Tensor, sharedTmpBuffer, src0Tensor.GetSize(), at);
}
template <class T, bool isReuseSource = false>
inline void Xor(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor,
    const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::exclusive_or(
        dstTensor, src0Tensor, src1Tensor, tile_simulator::free_space(at), calCount, {"Xor", at});
}
template <class T, bool isReuseSource = false>
inline void Xor(const LocalTensor<T>& dstTensor, const LocalTensor<T>& src0Tensor, const LocalTensor<T>& src1Tensor,
    Where at = Where::here())
{
    Xor<T, isReuseSource>(dstTensor, src0Tensor, src1Tensor, src0Tensor.GetSize(), at);
}

}  // namespace AscendC
