// Broadcast (BroadCast before CANN 8.1): one row or one column repeated over a matrix, or one element over a row.
// int8, uint8, half and float, on UB; PIPE_V, and PIPE_S for one element.
#pragma once

#include "temporary_space.h"

namespace tile_simulator {

struct BroadcastShape {
    uint32_t rows;
    uint32_t columns;
    uint32_t src_rows;
    uint32_t src_columns;
};

void vector_broadcast(LocalOperand dst, LocalOperand src, const BroadcastShape& shape, int axis,
    const TemporarySpace& space, Use use);

template <class T, int32_t dim, int32_t axis>
inline void broadcast(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src,
    const uint32_t* dst_shape, const uint32_t* src_shape, const TemporarySpace& space, Use use)
{
    static_assert(is_one_of<T, int8_t, uint8_t, half, float>, "Broadcast: int8, uint8, half and float only");
    static_assert(dim == 1 || dim == 2, "Broadcast: one or two dimensions");
    static_assert(axis == 0 || axis == 1, "Broadcast: axis 0 or 1");
    const BroadcastShape shape = dim == 1 ? BroadcastShape{1, dst_shape[0], 1, src_shape[0]}
                                          : BroadcastShape{dst_shape[0], dst_shape[dim - 1], src_shape[0],
                                                src_shape[dim - 1]};
    vector_broadcast(dst.operand(), src.operand(), shape, dim == 1 ? 1 : axis, space, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
    const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    tile_simulator::broadcast<T, dim, axis>(dstLocal, srcLocal, dstShape, srcShape,
        tile_simulator::temporary_space(sharedTmpBuffer), {"Broadcast", at});
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
    const uint32_t srcShape[dim], Where at = Where::here())
{
    tile_simulator::broadcast<T, dim, axis>(
        dstLocal, srcLocal, dstShape, srcShape, tile_simulator::free_space(at), {"Broadcast", at});
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
    const uint32_t srcShape[dim], const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    tile_simulator::broadcast<T, dim, axis>(dstLocal, srcLocal, dstShape, srcShape,
        tile_simulator::temporary_space(sharedTmpBuffer), {"BroadCast", at});
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T>& dstLocal, const LocalTensor<T>& srcLocal, const uint32_t dstShape[dim],
    const uint32_t srcShape[dim], Where at = Where::here())
{
    tile_simulator::broadcast<T, dim, axis>(
        dstLocal, srcLocal, dstShape, srcShape, tile_simulator::free_space(at), {"BroadCast", at});
}

}  // namespace AscendC
