// Instructions run in program order here, so a wait for a flag that is not there never ends.
#include "unit_flags.h"

namespace tile_simulator {
namespace {

void check_value(const Core& core, uint32_t unit_flag, Use use)
{
    if (core.device_checks && unit_flag != 2 && unit_flag != 3) {
        raise("bad-argument", use, text_of("%s: unitFlag is %u, but must be 0, 2 or 3", use.api, unit_flag));
    }
}

// Calls visit(unit) for every unit a region touches.
template <class Visit>
void for_units(const Region& region, Visit visit)
{
    for (uint64_t i = 0; i < region.inner; ++i) {
        const uint64_t start = region.start + i * region.inner_stride;
        for (uint64_t unit = start / unit_flag_bytes; unit * unit_flag_bytes < start + region.run; ++unit) {
            if (unit < unit_flags) {
                visit(unit);
            }
        }
    }
}

void require_all(Core& core, const Region& region, bool full, Use use)
{
    if (!core.device_checks) {
        return;
    }
    for_units(region, [&](uint64_t unit) {
        if (core.cube.full_units[unit] != full) {
            raise("unit-flag", use,
                full ? text_of("%s: unitFlag is set, but no Mmad with unitFlag 3 wrote bytes [%llu, %llu) of L0C since "
                               "they were last read, so this waits for ever",
                           use.api, static_cast<unsigned long long>(unit * unit_flag_bytes),
                           static_cast<unsigned long long>((unit + 1) * unit_flag_bytes))
                     : text_of("%s: unitFlag is set, and bytes [%llu, %llu) of L0C hold the result of an Mmad with "
                               "unitFlag 3 that no Fixpipe with unitFlag 3 read, so this waits for ever",
                           use.api, static_cast<unsigned long long>(unit * unit_flag_bytes),
                           static_cast<unsigned long long>((unit + 1) * unit_flag_bytes)));
        }
    });
}

void pass_on(Core& core, const Region& region, bool full)
{
    for_units(region, [&](uint64_t unit) { core.cube.full_units[unit] = full; });
}

}  // namespace

void unit_flags_write(Core& core, const Region& region, uint32_t unit_flag, Use use)
{
    if (unit_flag == 0) {
        return;
    }
    check_value(core, unit_flag, use);
    require_all(core, region, false, use);
    if (unit_flag == 3) {
        pass_on(core, region, true);
    }
}

void unit_flags_read(Core& core, const Region& region, uint32_t unit_flag, Use use)
{
    if (unit_flag == 0) {
        return;
    }
    check_value(core, unit_flag, use);
    require_all(core, region, true, use);
    if (unit_flag == 3) {
        pass_on(core, region, false);
    }
}

}  // namespace tile_simulator
