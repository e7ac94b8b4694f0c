// GET_TILING_DATA: a tiling struct copied out of GM, where the host put it; and the operator's workspace.
//
// Kernels that take the struct by value, or read its fields through a __gm__ pointer, need nothing of this.
#pragma once

#include "operand.h"

namespace tile_simulator {

void read_tiling(void* target, uint64_t bytes, const void* source, Use use);

}  // namespace tile_simulator

namespace AscendC {

// A simulation has no system part before the user's: the workspace it is given is all the user's.
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace)
{
    return workspace;
}
inline void SetSysWorkspace(GM_ADDR) {}
inline void SetSysWorkspaceForce(GM_ADDR) {}

}  // namespace AscendC

// First names the struct of the kernel; the other declares a variable of it and fills it. Where the kernel names none, its
// struct is found in the source (source_kernel/tiling_struct.py).
#define REGISTER_TILING_DEFAULT(tiling) using TileDefaultTiling [[maybe_unused]] = tiling
#define REGISTER_TILING_FOR_TILINGKEY(condition, tiling)
// Which of an operator's variants is built, and run: -D TILING_KEY_VAR=<key>.
#define TILING_KEY_IS(key) (TILING_KEY_VAR == (key))
#define TILING_KEY_LIST(first, second) (TILING_KEY_VAR == (first) || TILING_KEY_VAR == (second))
#define GET_TILING_DATA(variable, address) GET_TILING_DATA_WITH_STRUCT(TileDefaultTiling, variable, address)
#define GET_TILING_DATA_WITH_STRUCT(tiling, variable, address) \
    tiling variable;                                           \
    ::tile_simulator::read_tiling(                             \
        &variable, sizeof(variable), (const void*)(address), {"GET_TILING_DATA", ::tile_simulator::Where::here()})
#define GET_TILING_DATA_PTR_WITH_STRUCT(tiling, pointer, address)  \
    GET_TILING_DATA_WITH_STRUCT(tiling, pointer##_struct, address); \
    tiling* pointer = &pointer##_struct
#define GET_TILING_DATA_MEMBER(tiling, member, variable, address)                                      \
    decltype(tiling::member) variable;                                                                  \
    ::tile_simulator::read_tiling(&variable, sizeof(variable),                                          \
        reinterpret_cast<const uint8_t*>(address) + reinterpret_cast<uint64_t>(&((tiling*)0)->member), \
        {"GET_TILING_DATA_MEMBER", ::tile_simulator::Where::here()})
