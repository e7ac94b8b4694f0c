// The arithmetic of Mmad on panels of floats.
#pragma once

#include <cstddef>

namespace tile_simulator {

// Rows and 16-wide column blocks one register tile holds, by the host's vector registers.
#if defined(__AVX512F__)
constexpr size_t tile_rows = 8;
constexpr size_t tile_blocks = 2;
#else
constexpr size_t tile_rows = 4;
constexpr size_t tile_blocks = 1;
#endif
constexpr size_t block_width = 16;

// c[r][16 * blocks] (+)= a[k][tile_rows] * b[block][k][16]. `b_step` floats lie between the blocks of b, `c_step`
// between those of c; rows of c are 16 floats apart. With `accumulate` the tile starts from c, else from zero.
void multiply_tile(
    const float* a, const float* b, size_t b_step, size_t k, float* c, size_t c_step, size_t blocks, bool accumulate);

}  // namespace tile_simulator
