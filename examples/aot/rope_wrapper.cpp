#include <stdexcept>

#include "wrappers.h"

namespace example {
namespace {

using namespace tile_ascend;
#include XLLM_TL_ROPE_REGISTRY_INC

}  // namespace

void rope(uint8_t* x, uint8_t* cos, uint8_t* sin, uint8_t* y, int64_t num_tokens, int32_t rope_dim,
    TilelangDType dtype, aclrtStream stream)
{
    const auto wanted = make_rope_specialization(RopeRopeDim{rope_dim}, RopeDType{dtype});
    const auto* entry = find_rope_kernel_entry(wanted);
    if (entry == nullptr) {
        throw std::invalid_argument("rope has no variant for rope_dim " + std::to_string(rope_dim) +
                                    "; there are " + available_rope_variant_keys());
    }
    entry->fn(x, cos, sin, y, num_tokens, stream);
}

}  // namespace example
