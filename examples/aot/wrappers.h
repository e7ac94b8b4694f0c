// Kernels as a program of C++ calls them: whichever variant fits, or an error that names those there are.
#pragma once

#include "tile_ascend/dispatch_registry.h"

namespace example {

using tile_ascend::TilelangDType;

// y = x with its rows turned; x and y are (num_tokens, rope_dim), cos and sin half as wide.
// Throws std::invalid_argument where no variant fits.
void rope(uint8_t* x, uint8_t* cos, uint8_t* sin, uint8_t* y, int64_t num_tokens, int32_t rope_dim,
    TilelangDType dtype, aclrtStream stream);

struct GatingInputs {
    uint8_t* a_log;  // (num_heads)
    uint8_t* bias;   // (num_heads)
    uint8_t* a;      // (num_tokens, num_heads)
    uint8_t* b;      // (num_tokens, num_heads)
};

// g = -exp(a_log) * softplus(a + bias) and beta = sigmoid(b), all of float32.
// Throws std::invalid_argument where no variant fits.
void fused_gating(const GatingInputs& in, uint8_t* g, uint8_t* beta, int64_t num_tokens, int32_t num_heads,
    aclrtStream stream);

}  // namespace example
