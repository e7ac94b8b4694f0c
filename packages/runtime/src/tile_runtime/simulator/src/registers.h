// Registers of a core that keep what a kernel sets: those it leaves set when it ends, and those it relies on unset.
//
// The values at the start of a kernel are those of InitSocState, which the constructor of TPipe calls (the vendor's
// page InitSocState, table 3). InitSocState does not reset HF32 mode. The other registers have no initial value.
#pragma once

#include <bitset>
#include <cstdint>

#include "ascend_c/operand.h"

namespace tile_simulator {

class Core;

enum class Register : uint8_t {
    mask,
    mask_mode,
    atomic,
    hf32,
    hf32_rounding,
    dequantization,    // SetDeqScale
    compare_mask,      // SetCmpMask, or Compare without a destination
    nd_matrices,       // SetFixpipeNz2ndFlag
    pre_quantization,  // SetFixpipePreQuantFlag
    float_saturation,  // SetSaturationFlag
    integer_saturation,
    cast_saturation,
};
constexpr int register_count = 12;

struct RegisterSettings {
    Use set_by[register_count] = {};     // the latest call of the kernel; without an API if there was none
    std::bitset<register_count> known;   // set by the kernel, by InitSocState or by another API
    uint64_t kernel_mask[2] = {0, 0};    // low and high lanes that the kernel set last
};

// Records that the kernel sets the register by a call of its own.
void record_setting(Core& core, Register which, Use use);
// Records that the register has a defined value, whichever API gave it.
void mark_known(Core& core, Register which);

// Reports register-not-set if the instruction depends on a register that still holds what an earlier kernel left.
void require_setting(Core& core, Register which, Use use);
// The same for the mask register and its mode.
void require_mask(Core& core, Use use);

// Reports register-left-set for every register in which the kernel leaves another value than it found.
void check_registers_at_exit(Core& core);

}  // namespace tile_simulator
