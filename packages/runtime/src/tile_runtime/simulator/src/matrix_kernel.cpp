#include "matrix_kernel.h"

#include <cstring>

namespace tile_simulator {
namespace {

typedef float Vector __attribute__((vector_size(64)));

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
    Vector sum[tile_rows][blocks];
    for (size_t r = 0; r < tile_rows; ++r) {
        for (size_t j = 0; j < blocks; ++j) {
            sum[r][j] = accumulate ? load(c + j * c_step + r * block_width) : Vector{};
        }
    }
    for (size_t i = 0; i < k; ++i) {
        Vector right[blocks];
        for (size_t j = 0; j < blocks; ++j) {
            right[j] = load(b + j * b_step + i * block_width);
        }
#pragma GCC unroll 16
        for (size_t r = 0; r < tile_rows; ++r) {
            const float left = a[i * tile_rows + r];
#pragma GCC unroll 4
            for (size_t j = 0; j < blocks; ++j) {
                sum[r][j] += right[j] * left;
            }
        }
    }
    for (size_t r = 0; r < tile_rows; ++r) {
        for (size_t j = 0; j < blocks; ++j) {
            store(c + j * c_step + r * block_width, sum[r][j]);
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
