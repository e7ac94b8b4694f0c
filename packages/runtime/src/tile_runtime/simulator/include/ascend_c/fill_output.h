// InitOutput: one value all over a part of GM.
#pragma once

#include "tensor.h"

namespace tile_simulator {

void fill_global(GlobalOperand dst, uint64_t elements, Scalar value, Use use);

}  // namespace tile_simulator

namespace AscendC {

// On AIVs; MTE3 does it, as a DataCopy would.
template <class T>
inline void InitOutput(GlobalTensor<T> gmWorkspaceAddr, uint32_t size, T value = 0, Where at = Where::here())
{
    tile_simulator::fill_global(
        gmWorkspaceAddr.operand(), size, tile_simulator::scalar_of(value), {"InitOutput", at});
}
// The same by its name of 9.x.
template <class T>
inline void Fill(GlobalTensor<T> gmWorkspaceAddr, uint64_t size, T value, Where at = Where::here())
{
    tile_simulator::fill_global(gmWorkspaceAddr.operand(), size, tile_simulator::scalar_of(value), {"Fill", at});
}

}  // namespace AscendC
