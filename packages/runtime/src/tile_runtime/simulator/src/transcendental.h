// Exp, Ln, Rsqrt and Reciprocal of float arrays: computed in double, rounded once to float.
#pragma once

#include <cstddef>

namespace tile_simulator {

void exp_array(const float* source, float* target, size_t count);
void ln_array(const float* source, float* target, size_t count);
void sqrt_array(const float* source, float* target, size_t count);
void rsqrt_array(const float* source, float* target, size_t count);
void reciprocal_array(const float* source, float* target, size_t count);

}  // namespace tile_simulator
