#include "pipe_handover.h"

#include "ascend_c/sync.h"

namespace tile_simulator {
namespace {

void hand_over(Core& core, AscendC::HardEvent event, Pipe source, Pipe target, Use use)
{
    // The first id no flag of this kind is pending on, as TPipe::FetchEventID finds one.
    int64_t id = 0;
    while (id + 1 < documented_event_ids && core.flags[int(source)][int(target)][id].set) {
        ++id;
    }
    set_flag(event, id, use);
    wait_flag(event, id, use);
}

}  // namespace

void vector_to_scalar(Core& core, Use use)
{
    hand_over(core, AscendC::HardEvent::V_S, Pipe::v, Pipe::s, use);
}

void scalar_to_vector(Core& core, Use use)
{
    hand_over(core, AscendC::HardEvent::S_V, Pipe::s, Pipe::v, use);
}

void scalar_to_mte3(Core& core, Use use)
{
    hand_over(core, AscendC::HardEvent::S_MTE3, Pipe::s, Pipe::mte3, use);
}

}  // namespace tile_simulator
