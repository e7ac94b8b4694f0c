// The bytes of UB that an API of many instructions keeps intermediate values in: handed over by the kernel, or all that
// is behind the buffers of its TPipe.
#pragma once

#include "pipe_buffers.h"
#include "tensor.h"

namespace tile_simulator {

struct TemporarySpace {
    LocalOperand tensor;
    uint32_t bytes;
};

inline TemporarySpace temporary_space(const AscendC::LocalTensor<uint8_t>& tensor)
{
    return {tensor.operand(), tensor.GetLength()};
}
inline TemporarySpace free_space(Where at)
{
    AscendC::LocalTensor<uint8_t> rest;
    AscendC::PopStackBuffer<uint8_t, AscendC::TPosition::LCM>(rest, at);
    return temporary_space(rest);
}

}  // namespace tile_simulator
