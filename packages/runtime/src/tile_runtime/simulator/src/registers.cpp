#include "registers.h"

#include "launch.h"

namespace tile_simulator {
namespace {

// What the messages say about a register.
struct Description {
    const char* left;    // how the core ends, and what the next kernel makes of it
    const char* restore; // the call that restores the register
    const char* needed;  // the register in plain words
    const char* set;     // the call that sets it
};

const Description& description_of(Register which)
{
    static const Description descriptions[register_count] = {
        {"this mask is still in the mask register when the kernel ends, and the next kernel on this core would compute "
         "these lanes only",
            "ResetMask()", "the lanes in the mask register", "SetVectorMask"},
        {"the mask is still in counter mode when the kernel ends, and the next kernel on this core would take its "
         "masks for element counts",
            "SetMaskNorm()", "the mode of the mask", "SetMaskNorm or SetMaskCount"},
        {"the core is still in atomic mode when the kernel ends, and the next kernel on this core would update GM "
         "instead of storing to it",
            "SetAtomicNone()", "the atomic mode", "SetAtomicNone"},
        {"HF32 mode is still on when the kernel ends, and the next kernel on this core would round its float operands "
         "to HF32",
            "SetHF32Mode(HF32Mode::DISABLE)", "HF32 mode", "SetHF32Mode"},
        {"HF32 mode still rounds to zero when the kernel ends, and the next kernel on this core would do so too",
            "SetHF32TransMode(HF32TransMode::NEAREST_EVEN)", "the rounding of HF32 mode", "SetHF32TransMode"},
        {"", "", "the scale of SetDeqScale", "SetDeqScale"},
        {"", "", "the compare mask register", "SetCmpMask, or Compare without a destination,"},
        {"", "", "the ND matrices of SetFixpipeNz2ndFlag", "SetFixpipeNz2ndFlag"},
        {"", "", "the scale of SetFixpipePreQuantFlag", "SetFixpipePreQuantFlag"},
        {"the saturation of half and bfloat16 differs from the start when the kernel ends, and the next kernel on this "
         "core would get other results",
            "SetSaturationFlag<SaturationMode::FLOAT>(false)", "the saturation of floats", "SetSaturationFlag"},
        {"the saturation of integers differs from the start when the kernel ends, and the next kernel on this core "
         "would get other results",
            "SetSaturationFlag<SaturationMode::INT>(false)", "the saturation of integers", "SetSaturationFlag"},
        {"the saturation of casts differs from the start when the kernel ends, and the next kernel on this core would "
         "get other results",
            "SetSaturationFlag<SaturationMode::CAST>(true)", "the saturation of casts", "SetSaturationFlag"},
    };
    return descriptions[int(which)];
}

// Whether the register holds another value than a kernel finds at its start. An API that takes a mask leaves it in the
// register: such a mask differs from the one that the kernel set.
bool left_set(const Core& core, Register which)
{
    const uint64_t* mask = core.settings.kernel_mask;
    constexpr uint64_t all = ~uint64_t(0);
    switch (which) {
        case Register::mask:
            return core.is_vector() && core.mask.low == mask[0] && core.mask.high == mask[1] &&
                   (mask[0] != all || mask[1] != all);
        case Register::mask_mode:
            return core.is_vector() && core.mask.counter;
        case Register::atomic:
            return core.atomic != AtomicKind::none;
        case Register::hf32:
            return !core.is_vector() && core.cube.hf32;
        case Register::hf32_rounding:
            return !core.is_vector() && core.cube.hf32_to_zero;
        case Register::float_saturation:
            return core.saturation.floats != Saturation{}.floats;
        case Register::integer_saturation:
            return core.saturation.integers != Saturation{}.integers;
        case Register::cast_saturation:
            return core.saturation.casts != Saturation{}.casts;
        default:
            return false;
    }
}

}  // namespace

void record_setting(Core& core, Register which, Use use)
{
    if (core.site.file != nullptr) {
        use.at = core.site;
    }
    core.settings.set_by[int(which)] = use;
    mark_known(core, which);
}

void mark_known(Core& core, Register which)
{
    core.settings.known.set(size_t(which));
}

void require_setting(Core& core, Register which, Use use)
{
    if (!core.device_checks || core.settings.known.test(size_t(which))) {
        return;
    }
    const Description& words = description_of(which);
    Fault fault = fault_of("register-not-set", use,
        text_of("%s depends on %s, which this kernel has not set: it holds what an earlier kernel on this core left",
            use.api, words.needed));
    fault.hint = text_of("call %s before this line", words.set);
    if (which == Register::mask || which == Register::mask_mode) {
        fault.hint += ", or InitSocState() at the start of the kernel";
    }
    warn_below_strict(core, std::move(fault));
}

void require_mask(Core& core, Use use)
{
    if (!core.mask.mode_known) {
        require_setting(core, Register::mask_mode, use);
    }
    if (!core.mask.lanes_known) {
        require_setting(core, Register::mask, use);
    }
}

void check_registers_at_exit(Core& core)
{
    for (int i = 0; core.device_checks && i < register_count; ++i) {
        const Register which = static_cast<Register>(i);
        const Use& by = core.settings.set_by[i];
        if (by.api != nullptr && left_set(core, which)) {
            const Description& words = description_of(which);
            Fault fault = fault_of("register-left-set", by, text_of("%s: %s", by.api, words.left));
            fault.hint = text_of("call %s after the last instruction that needs the setting", words.restore);
            warn_below_strict(core, std::move(fault));
        }
    }
}

}  // namespace tile_simulator
