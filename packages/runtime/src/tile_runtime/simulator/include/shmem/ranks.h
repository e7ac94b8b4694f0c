// Which rank this is, and addresses of others (vendor: shmem, include/device/team/shmem_device_team.h and
// include/device/gm2gm/engine/shmem_device_mte.h).
#pragma once

#include "kernel_operator.h"

namespace tile_simulator {

int rank_number();
int rank_count();
uint64_t remote_address(uint64_t address, int pe, Use use);
void set_rank_scratch(uint64_t offset, uint32_t bytes, uint32_t event);

}  // namespace tile_simulator

using aclshmem_team_t = int;
constexpr aclshmem_team_t ACLSHMEM_TEAM_WORLD = 0;

inline int aclshmem_my_pe()
{
    return tile_simulator::rank_number();
}
inline int aclshmem_n_pes()
{
    return tile_simulator::rank_count();
}

// The address on another rank of what is at `ptr` on this one.
inline __gm__ void* aclshmem_ptr(__gm__ void* ptr, int pe, AscendC::Where at = AscendC::Where::here())
{
    return reinterpret_cast<void*>(
        tile_simulator::remote_address(reinterpret_cast<uint64_t>(ptr), pe, {"aclshmem_ptr", at}));
}

// The bytes of UB and the event that functions take which are given none; at first 16 KB from 0 on, and 0.
inline void aclshmemx_set_mte_config(uint64_t offset, uint32_t ub_size, uint32_t sync_id)
{
    tile_simulator::set_rank_scratch(offset, ub_size, sync_id);
}
inline void util_set_ffts_config(uint64_t) {}

#define shmem_my_pe aclshmem_my_pe
#define shmem_n_pes aclshmem_n_pes
#define shmem_ptr aclshmem_ptr
#define shmem_mte_set_ub_params aclshmemx_set_mte_config
#define shmemx_set_ffts_config util_set_ffts_config
