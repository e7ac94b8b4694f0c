// What a registry.inc is made of: element types, entries of variants, and the search for one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#if __has_include("acl/acl.h")
#include "acl/acl.h"
#else
using aclrtStream = void*;
#endif

namespace tile_ascend {

enum class TilelangDType { kBF16, kFP16, kFP32, kFloat16, kFloat32, kInt8, kInt32, kUInt8 };

// The function a pointer points to, for declarations.
template <class Pointer>
using function_type_t = std::remove_pointer_t<Pointer>;

template <class Specialization, class Function>
struct KernelEntry {
    Specialization spec;
    const char* variant_key;
    Function fn;
};

// The entry of exactly this specialization; null if there is none.
template <class Specialization, class Function, size_t count>
constexpr const KernelEntry<Specialization, Function>* find_kernel_entry(
    const std::array<KernelEntry<Specialization, Function>, count>& registry, const Specialization& wanted)
{
    for (const KernelEntry<Specialization, Function>& entry : registry) {
        if (entry.spec == wanted) {
            return &entry;
        }
    }
    return nullptr;
}

// The keys of all variants, for messages.
template <class Specialization, class Function, size_t count>
std::string available_variant_keys(const std::array<KernelEntry<Specialization, Function>, count>& registry)
{
    std::string keys;
    for (const KernelEntry<Specialization, Function>& entry : registry) {
        keys += keys.empty() ? "" : ", ";
        keys += entry.variant_key;
    }
    return keys;
}

}  // namespace tile_ascend
