#include "ascend_c/fill_output.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "atomic_write.h"
#include "instruction.h"

namespace tile_simulator {

// The device's function goes through UB behind the buffers of the TPipe, which no kernel sees.
void fill_global(GlobalOperand dst, uint64_t elements, Scalar value, Use use)
{
    Core& core = core_of(use);
    if (!runs_here(core, CoreKind::aiv) || elements == 0) {
        return;
    }
    const uint64_t size = size_of(dst.type);
    Instruction instruction(core, Pipe::mte3, use);
    const int to = instruction.global("dst", true, dst, Region::bytes(dst.address, elements * size));
    instruction.issue();
    constexpr uint64_t chunk = 4096;
    std::vector<uint8_t> bytes(std::min(elements, chunk) * size);
    for (uint64_t i = 0; i < bytes.size(); i += size) {
        std::memcpy(bytes.data() + i, &value.bits, size);
    }
    for (uint64_t done = 0; done < elements; done += chunk) {
        write_global(core, instruction.data(to) + done * size, bytes.data(), std::min(chunk, elements - done) * size);
    }
}

}  // namespace tile_simulator
