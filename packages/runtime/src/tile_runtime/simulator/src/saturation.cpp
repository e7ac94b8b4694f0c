// SetSaturationFlag, GetSaturationFlag, SetCtrlSpr and GetCtrlSpr: registers of each core's scalar unit.
#include "ascend_c/saturation.h"

#include "instruction.h"

namespace tile_simulator {
namespace {

using AscendC::SaturationMode;

Register register_of(SaturationMode mode)
{
    return mode == SaturationMode::FLOAT ? Register::float_saturation
           : mode == SaturationMode::INT ? Register::integer_saturation
                                         : Register::cast_saturation;
}

bool& flag_of(Core& core, SaturationMode mode)
{
    return mode == SaturationMode::FLOAT ? core.saturation.floats
           : mode == SaturationMode::INT ? core.saturation.integers
                                         : core.saturation.casts;
}

}  // namespace

void set_saturation(SaturationMode mode, bool enabled, Use use)
{
    Core& core = core_of(use);
    flag_of(core, mode) = enabled;
    record_setting(core, register_of(mode), use);
}

bool saturation(SaturationMode mode, Use use)
{
    return flag_of(core_of(use), mode);
}

void set_control_bit_48(int64_t value, Use use)
{
    require_range(core_of(use), "value", value, 0, 1, use);
    set_saturation(SaturationMode::FLOAT, value == 0, use);
}

}  // namespace tile_simulator
