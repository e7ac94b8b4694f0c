// What kernels compute with at compile time: sizes, rounding of sizes, a choice between types.
#pragma once

#include <cstdint>
#include <type_traits>

namespace AscendC {

constexpr int32_t BLOCK_CUBE = 16;  // rows of a fractal
constexpr uint8_t PAD_SIZE = 4;     // sides of an image
constexpr int32_t K_MAX_DIM = 8;    // dimensions of a sliced copy

// Bytes of the memories.
constexpr int32_t TOTAL_L1_SIZE = 512 * 1024;
constexpr int32_t TOTAL_L0A_SIZE = 64 * 1024;
constexpr int32_t TOTAL_L0B_SIZE = 64 * 1024;
constexpr int32_t TOTAL_L0C_SIZE = 128 * 1024;
constexpr int32_t TOTAL_UB_SIZE = 192 * 1024;
constexpr uint32_t CACHE_LINE_SIZE = 64;  // of a core's data cache

template <bool condition, class A, class B>
using Conditional = std::conditional<condition, A, B>;

constexpr inline uint32_t DivCeil(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}
constexpr inline uint32_t AlignUp(uint32_t a, uint32_t b)
{
    return DivCeil(a, b) * b;
}

}  // namespace AscendC
