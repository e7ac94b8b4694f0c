// Arange (ArithProgression before CANN 9): first, first + step, first + 2 step, ... on UB. PIPE_S and PIPE_V.
//
// Scalar stores make the first block, every other part is an earlier one plus a number: floats are rounded on the way.
#pragma once

#include "tensor.h"

namespace tile_simulator {

void arithmetic_progression(LocalOperand dst, Scalar first, Scalar step, int64_t count, Use use);

template <class T>
inline void progression(const AscendC::LocalTensor<T>& dst, T first, T step, int64_t count, Use use)
{
    static_assert(is_one_of<T, int16_t, half, int32_t, float>, "Arange: int16, half, int32 and float only");
    arithmetic_progression(dst.operand(), scalar_of(first), scalar_of(step), count, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void ArithProgression(const LocalTensor<T>& dstLocal, const T firstValue, const T diffValue,
    const int32_t count, Where at = Where::here())
{
    tile_simulator::progression(dstLocal, firstValue, diffValue, count, {"ArithProgression", at});
}
template <class T>
inline void Arange(const LocalTensor<T>& dst, const T firstValue, const T diffValue, const int32_t count,
    Where at = Where::here())
{
    tile_simulator::progression(dst, firstValue, diffValue, count, {"Arange", at});
}

}  // namespace AscendC
