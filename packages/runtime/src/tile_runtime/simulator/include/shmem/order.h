// Completion of what a core stores to other ranks, and barriers of all ranks (vendor: shmem,
// include/device/gm2gm/shmem_device_mo.h and shmem_device_cc.h).
#pragma once

#include "ranks.h"

namespace tile_simulator {

void rank_quiet(Use use);
void rank_fence(Use use);
void barrier_of_ranks(Use use);
void sync_of_ranks(Use use);
void vector_barrier_of_ranks(Use use);

}  // namespace tile_simulator

inline void aclshmem_quiet(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::rank_quiet({"aclshmem_quiet", at});
}
inline void aclshmemx_mte_quiet(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::rank_quiet({"aclshmemx_mte_quiet", at});
}
inline void aclshmem_fence(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::rank_fence({"aclshmem_fence", at});
}
inline void aclshmem_barrier_all(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::barrier_of_ranks({"aclshmem_barrier_all", at});
}
inline void aclshmem_sync_all(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::sync_of_ranks({"aclshmem_sync_all", at});
}
inline void aclshmemx_barrier_all_vec(AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::vector_barrier_of_ranks({"aclshmemx_barrier_all_vec", at});
}

#define shmem_quiet aclshmem_quiet
#define shmem_fence aclshmem_fence
#define shmem_barrier_all aclshmem_barrier_all
#define shmemx_barrier_all_vec aclshmemx_barrier_all_vec
