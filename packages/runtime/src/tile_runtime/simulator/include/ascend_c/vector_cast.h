// Cast between data types, on UB, PIPE_V. Legal pairs and rounding modes: the table in the vendor's Cast page.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

void vector_cast(LocalOperand dst, LocalOperand src, AscendC::RoundMode mode, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T, class U, bool isSetMask = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& round_mode,
    tile_simulator::Mask mask, int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::vector_cast(dst.operand(), src.operand(), round_mode,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Cast", at});
}
template <class T, class U>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& round_mode,
    const uint32_t count, Where at = Where::here())
{
    tile_simulator::vector_cast(
        dst.operand(), src.operand(), round_mode, tile_simulator::VectorForm::of_count(count), {}, {"Cast", at});
}

}  // namespace AscendC
