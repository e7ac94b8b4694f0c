// LocalMemAllocator: tensors one behind the other in one memory, without a TPipe (9.x).
//
// Bytes are handed out as they come: nothing rounds the start of a tensor up, so a kernel whose sizes are not
// multiples of the memory's alignment meets the alignment check at the first use.
#pragma once

#include "positions.h"
#include "tensor.h"

namespace tile_simulator {

// Address of `bytes` more bytes of the memory behind a position; raises when they do not fit.
uint32_t take_local_memory(uint32_t& head, uint8_t position, uint64_t bytes, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <Hardware memory = Hardware::UB>
class LocalMemAllocator {
    static_assert(memory != Hardware::GM && memory != Hardware::MAX, "LocalMemAllocator: a local memory");

public:
    uint32_t GetCurAddr() const { return head_; }

    template <TPosition position, class T, uint32_t elements>
    LocalTensor<T> Alloc(Where at = Where::here())
    {
        return Alloc<position, T>(elements, at);
    }
    template <TPosition position, class T>
    LocalTensor<T> Alloc(uint32_t elements, Where at = Where::here())
    {
        static_assert(GetPhyType(position) == memory, "LocalMemAllocator: the position is in another memory");
        const uint32_t address = tile_simulator::take_local_memory(head_, static_cast<uint8_t>(position),
            tile_simulator::bytes_of<T>(elements), {"LocalMemAllocator::Alloc", at});
        return LocalTensor<T>(position, address, elements, at);
    }
    template <class T, uint32_t elements>
    LocalTensor<T> Alloc(Where at = Where::here())
    {
        return Alloc<default_position(), T>(elements, at);
    }
    template <class T>
    LocalTensor<T> Alloc(uint32_t elements, Where at = Where::here())
    {
        return Alloc<default_position(), T>(elements, at);
    }

private:
    static constexpr TPosition default_position()
    {
        switch (memory) {
            case Hardware::L1:
                return TPosition::A1;
            case Hardware::L0A:
                return TPosition::A2;
            case Hardware::L0B:
                return TPosition::B2;
            case Hardware::L0C:
                return TPosition::CO1;
            case Hardware::BIAS:
                return TPosition::C2;
            case Hardware::FIXBUF:
                return TPosition::C2PIPE2GM;
            default:
                return TPosition::VECCALC;
        }
    }

    uint32_t head_ = 0;
};

}  // namespace AscendC
