// Local memories of a core: byte arrays of the hardware's sizes.
#pragma once

#include <cstdint>

namespace tile_simulator {

enum class Memory : uint8_t { gm, ub, l1, l0a, l0b, l0c, bias, fixpipe, none };
constexpr int memory_count = 8;

// Sizes of dav-c220 (NPU architecture 2201; docs/hardware/index.md#chips).
constexpr uint32_t memory_bytes[memory_count] = {0, 196608, 524288, 65536, 65536, 131072, 1024, 7168};
constexpr const char* memory_names[memory_count] = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"};

inline const char* name_of(Memory memory)
{
    return memory_names[static_cast<int>(memory)];
}

// Memory behind a TPosition, or none.
Memory memory_of(uint8_t position);

// Every fresh byte is 0xFF: a NaN in every float type, -1 in every integer type. Only what a kernel wrote is
// refilled for the next block, so that small kernels start quickly.
class LocalMemory {
public:
    LocalMemory() = default;
    ~LocalMemory();
    LocalMemory(const LocalMemory&) = delete;
    LocalMemory& operator=(const LocalMemory&) = delete;

    void create(uint32_t bytes);
    void refill();
    void mark_written(uint64_t end)
    {
        if (end > written_) {
            written_ = static_cast<uint32_t>(end);
        }
    }
    uint8_t* data() const { return data_; }
    uint32_t bytes() const { return bytes_; }

private:
    uint8_t* data_ = nullptr;
    uint32_t bytes_ = 0;
    uint32_t written_ = 0;
};

}  // namespace tile_simulator
