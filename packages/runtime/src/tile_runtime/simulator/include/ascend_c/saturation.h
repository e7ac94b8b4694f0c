// The saturation bits of the control register of the core.
#pragma once

#include "operand.h"

namespace AscendC {

// FLOAT: results of half and bfloat16. INT: arithmetic of integers. CAST: conversions to integers.
enum class SaturationMode : uint8_t { FLOAT, FLOAT8, INT, CAST };

}  // namespace AscendC

namespace tile_simulator {

void set_saturation(AscendC::SaturationMode mode, bool enabled, Use use);
bool saturation(AscendC::SaturationMode mode, Use use);
void set_control_bit_48(int64_t value, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <SaturationMode mode>
inline void SetSaturationFlag(bool enableSat, tile_simulator::Where at = tile_simulator::Where::here())
{
    static_assert(mode != SaturationMode::FLOAT8, "SetSaturationFlag: FLOAT8 does not exist on Ascend 910B / A3");
    tile_simulator::set_saturation(mode, enableSat, {"SetSaturationFlag", at});
}
template <SaturationMode mode>
inline bool GetSaturationFlag(tile_simulator::Where at = tile_simulator::Where::here())
{
    static_assert(mode != SaturationMode::FLOAT8, "GetSaturationFlag: FLOAT8 does not exist on Ascend 910B / A3");
    return tile_simulator::saturation(mode, {"GetSaturationFlag", at});
}

// Bit 48 alone: 0 saturates, 1 keeps inf and NaN.
template <int8_t startBit, int8_t endBit>
inline void SetCtrlSpr(int64_t value, tile_simulator::Where at = tile_simulator::Where::here())
{
    static_assert(startBit == 48 && endBit == 48, "SetCtrlSpr: Ascend 910B / A3 has bit 48 only: SetCtrlSpr<48, 48>");
    tile_simulator::set_control_bit_48(value, {"SetCtrlSpr", at});
}
template <int8_t startBit, int8_t endBit>
inline int64_t GetCtrlSpr(tile_simulator::Where at = tile_simulator::Where::here())
{
    static_assert(startBit == 48 && endBit == 48, "GetCtrlSpr: Ascend 910B / A3 has bit 48 only: GetCtrlSpr<48, 48>");
    return tile_simulator::saturation(SaturationMode::FLOAT, {"GetCtrlSpr", at}) ? 0 : 1;
}

}  // namespace AscendC
