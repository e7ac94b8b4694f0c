// Order between cores: cross-core flags (modes 0, 1, 2), SyncAll and the scalar data cache.
#pragma once

#include "tensor.h"

namespace tile_simulator {

void cross_core_set(uint32_t mode, pipe_t pipe, int64_t id, Use use);
void cross_core_wait(int64_t id, Use use);
void sync_all(bool vector_cores_only, Use use);
void clean_data_cache(uint64_t address, bool entire, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <uint8_t modeId, pipe_t pipe>
inline void CrossCoreSetFlag(int32_t flagId, Where at = Where::here())
{
    static_assert(modeId <= 2, "CrossCoreSetFlag: modes 0, 1 and 2 exist on 910B");
    static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "CrossCoreSetFlag: PIPE_S and PIPE_ALL cannot set a flag");
    tile_simulator::cross_core_set(modeId, pipe, flagId, {"CrossCoreSetFlag", at});
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
inline void CrossCoreWaitFlag(int32_t flagId, Where at = Where::here())
{
    tile_simulator::cross_core_wait(flagId, {"CrossCoreWaitFlag", at});
}

template <bool isAIVOnly = true>
inline void SyncAll(Where at = Where::here())
{
    tile_simulator::sync_all(isAIVOnly, {"SyncAll", at});
}

inline void SetSyncBaseAddr(uint64_t) {}

template <class T, CacheLine entireType, DcciDst dcciDst = DcciDst::CACHELINE_ALL>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor, Where at = Where::here())
{
    tile_simulator::clean_data_cache(reinterpret_cast<uint64_t>(tensor.address_),
        entireType == CacheLine::ENTIRE_DATA_CACHE, {"DataCacheCleanAndInvalid", at});
}

}  // namespace AscendC
