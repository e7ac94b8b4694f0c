// What APIs of several vector instructions have in common: places in a tensor, and the temporary space they may use.
#pragma once

#include "ascend_c/sync.h"
#include "ascend_c/temporary_space.h"
#include "instruction.h"

namespace tile_simulator {

// The tensor from one of its elements on.
inline LocalOperand from_element(LocalOperand tensor, int64_t element)
{
    tensor.address += static_cast<uint32_t>(element * size_of(tensor.type));
    return tensor;
}

// The temporary space as elements of a type.
inline LocalOperand as_elements(const TemporarySpace& space, DataType type)
{
    LocalOperand tensor = space.tensor;
    tensor.type = type;
    return tensor;
}

// An error unless the space holds so many bytes: the device would overwrite what is behind it.
inline void require_space(const Core& core, const TemporarySpace& space, int64_t bytes, Use use)
{
    if (core.device_checks && static_cast<int64_t>(space.bytes) < bytes) {
        raise("bad-argument", use,
            text_of("%s: the temporary space has %u bytes, of which %lld are needed", use.api, space.bytes,
                static_cast<long long>(bytes)));
    }
}

// Elements of a type that fit the space in whole blocks; an error if there is not one block.
inline int64_t elements_at_once(const Core& core, const TemporarySpace& space, int64_t size, int64_t step, Use use)
{
    require_space(core, space, step * size, use);
    const int64_t fitting = static_cast<int64_t>(space.bytes) / size / step * step;
    return fitting < step ? step : fitting;
}

inline void next_step(Use use)
{
    pipe_barrier(PIPE_V, use);
}

}  // namespace tile_simulator
