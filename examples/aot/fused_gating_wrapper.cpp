#include <stdexcept>

#include "wrappers.h"

namespace example {
namespace {

using namespace tile_ascend;
#include XLLM_TL_FUSED_GATING_REGISTRY_INC

}  // namespace

void fused_gating(const GatingInputs& in, uint8_t* g, uint8_t* beta, int64_t num_tokens, int32_t num_heads,
    aclrtStream stream)
{
    const auto* entry = find_fused_gating_kernel_entry(make_fused_gating_specialization(FusedGatingNumHeads{num_heads}));
    if (entry == nullptr) {
        throw std::invalid_argument("fused_gating has no variant for " + std::to_string(num_heads) +
                                    " heads; there are " + available_fused_gating_variant_keys());
    }
    entry->fn(in.a_log, in.bias, in.a, in.b, g, beta, num_tokens, stream);
}

}  // namespace example
