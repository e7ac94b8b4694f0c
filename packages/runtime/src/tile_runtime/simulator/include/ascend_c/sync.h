// Order within one core: flags between pipes, and barriers.
#pragma once

#include "operand.h"

namespace tile_simulator {

void set_flag(AscendC::HardEvent event, int64_t id, Use use);
void wait_flag(AscendC::HardEvent event, int64_t id, Use use);
void pipe_barrier(pipe_t pipe, Use use);
void data_sync_barrier(Use use);

}  // namespace tile_simulator

namespace AscendC {

using tile_simulator::Where;
using TEventID = int8_t;

template <HardEvent event>
inline void SetFlag(int32_t eventID, Where at = Where::here())
{
    tile_simulator::set_flag(event, eventID, {"SetFlag", at});
}
template <HardEvent event>
inline void WaitFlag(int32_t eventID, Where at = Where::here())
{
    tile_simulator::wait_flag(event, eventID, {"WaitFlag", at});
}
template <pipe_t pipe>
inline void PipeBarrier(Where at = Where::here())
{
    tile_simulator::pipe_barrier(pipe, {"PipeBarrier", at});
}
template <MemDsbT scope>
inline void DataSyncBarrier(Where at = Where::here())
{
    tile_simulator::data_sync_barrier({"DataSyncBarrier", at});
}

}  // namespace AscendC
