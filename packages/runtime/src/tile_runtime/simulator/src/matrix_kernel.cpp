#include "matrix_kernel.h"

#include <cstring>

namespace tile_simulator {
namespace {

// The widest vector the host has in one register; a block of 16 floats takes `parts` of them.
#if defined(__AVX512F__)
constexpr size_t lanes = 16;
#elif defined(__AVX__)
constexpr size_t lanes = 8;
#else
constexpr size_t lanes = 4;
#endif
constexpr size_t parts = block_width / lanes;

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));

Vector load(const float* from)
{
    Vector value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

void store(float* to, Vector value)
{
    std::memcpy(to, &value, sizeof(value));
}

template <size_t blocks>
void multiply(const float* a, const float* b, size_t b_step, size_t k, float* c, size_t c_step, bool accumulate)
{
    constexpr size_t columns = blocks * parts;  // vectors per row of the tile
    const auto at = [](size_t column, size_t step) { return column / parts * step + column % parts * lanes; };
    Vector sum[tile_rows][columns];
    for (size_t r = 0; r < tile_rows; ++r) {
        for (size_t j = 0; j < columns; ++j) {
            sum[r][j] = accumulate ? load(c + at(j, c_step) + r * block_width) : Vector{};
        }
    }
    for (size_t i = 0; i < k; ++i) {
        Vector right[columns];
        for (size_t j = 0; j < columns; ++j) {
            right[j] = load(b + at(j, b_step) + i * block_width);
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < tile_rows; ++r) {
            const float left = a[i * tile_rows + r];
#pragma GCC unroll 4
            for (size_t j = 0; j < columns; ++j) {
                sum[r][j] += right[j] * left;
            }
        }
    }
    for (size_t r = 0; r < tile_rows; ++r) {
        for (size_t j = 0; j < columns; ++j) {
            store(c + at(j, c_step) + r * block_width, sum[r][j]);
        }
    }
}

}  // namespace

void multiply_tile(
    const float* a, const float* b, size_t b_step, size_t k, float* c, size_t c_step, size_t blocks, bool accumulate)
{
    if (blocks == tile_blocks) {
        multiply<tile_blocks>(a, b, b_step, k, c, c_step, accumulate);
    } else {
        multiply<1>(a, b, b_step, k, c, c_step, accumulate);
    }
}

}  // namespace tile_simulator
