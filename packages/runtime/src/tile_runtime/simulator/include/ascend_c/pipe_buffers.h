// TPipe and TBuf: linear allocation of the local memories of a core.
#pragma once

#include "tensor.h"

namespace tile_simulator {

// Buffer cursors of one TPipe, one per memory.
struct PipeState {
    uint32_t next[9];
    bool live;
};

void pipe_create(PipeState& state);
void pipe_destroy(PipeState& state) noexcept;
void pipe_reset(PipeState& state);
uint32_t pipe_allocate(PipeState& state, uint8_t position, uint32_t bytes, Use use);
void check_buffer_range(uint64_t offset, uint64_t bytes, uint32_t length, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <TPosition position = TPosition::LCM>
class TBuf {
public:
    template <class T>
    LocalTensor<T> Get(Where at = Where::here())
    {
        return LocalTensor<T>(address_, at);
    }
    template <class T>
    LocalTensor<T> Get(uint32_t elements, Where at = Where::here())
    {
        return GetWithOffset<T>(elements, 0, at);
    }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t byte_offset, Where at = Where::here())
    {
        tile_simulator::check_buffer_range(
            byte_offset, uint64_t(elements) * sizeof(T), address_.dataLen, {"TBuf::Get", at});
        TBuffAddr part = address_;
        part.bufferAddr += byte_offset;
        part.dataLen = elements * static_cast<uint32_t>(sizeof(T));
        return LocalTensor<T>(part, at);
    }

private:
    friend class TPipe;
    TBuffAddr address_;
};

class TPipe {
public:
    TPipe() { Init(); }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    void Init() { tile_simulator::pipe_create(state_); }
    void Destroy() { tile_simulator::pipe_destroy(state_); }
    void Reset() { tile_simulator::pipe_reset(state_); }
    template <TPosition position>
    bool InitBuffer(TBuf<position>& buffer, uint32_t bytes, Where at = Where::here())
    {
        buffer.address_.logicPos = static_cast<uint8_t>(position);
        buffer.address_.dataLen = (bytes + 31u) / 32u * 32u;
        buffer.address_.bufferAddr = tile_simulator::pipe_allocate(
            state_, buffer.address_.logicPos, buffer.address_.dataLen, {"TPipe::InitBuffer", at});
        return true;
    }

private:
    tile_simulator::PipeState state_ = {};
};

}  // namespace AscendC
