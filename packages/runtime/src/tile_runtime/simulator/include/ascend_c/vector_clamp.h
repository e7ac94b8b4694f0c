// ClampMax, ClampMin: a tensor cut off at a number, above or below. half and float, on UB, PIPE_V.
//
// The vendor's pages ask for temporary space; the device headers (9.x) are one Mins or Maxs, and leave it alone.
#pragma once

#include "vector_scalar.h"

namespace AscendC {

template <class T, bool isReuseSource = false>
inline void ClampMax(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const T scalar,
    const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::mins, half, float>(
        dstTensor, srcTensor, scalar, tile_simulator::VectorForm::of_count(calCount), {}, {"ClampMax", at});
}
template <class T, bool isReuseSource = false>
inline void ClampMax(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount, Where at = Where::here())
{
    (void)sharedTmpBuffer;
    ClampMax<T, isReuseSource>(dstTensor, srcTensor, scalar, calCount, at);
}

template <class T, bool isReuseSource = false>
inline void ClampMin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const T scalar,
    const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::maxs, half, float>(
        dstTensor, srcTensor, scalar, tile_simulator::VectorForm::of_count(calCount), {}, {"ClampMin", at});
}
template <class T, bool isReuseSource = false>
inline void ClampMin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const T scalar, const uint32_t calCount, Where at = Where::here())
{
    (void)sharedTmpBuffer;
    ClampMin<T, isReuseSource>(dstTensor, srcTensor, scalar, calCount, at);
}

}  // namespace AscendC
