// Round: to the nearest integer, halves to the even one. half and float, on UB, PIPE_V.
#pragma once

#include "temporary_space.h"

namespace tile_simulator {

void vector_round(LocalOperand dst, LocalOperand src, const TemporarySpace& space, int64_t count, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isReuseSource = false>
inline void Round(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Round: half and float only");
    tile_simulator::vector_round(dstTensor.operand(), srcTensor.operand(),
        tile_simulator::temporary_space(sharedTmpBuffer), calCount, {"Round", at});
}
template <class T, bool isReuseSource = false>
inline void Round(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount,
    Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Round: half and float only");
    tile_simulator::vector_round(
        dstTensor.operand(), srcTensor.operand(), tile_simulator::free_space(at), calCount, {"Round", at});
}

}  // namespace AscendC
