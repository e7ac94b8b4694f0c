#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "ascend_c/enums.h"

namespace tile_simulator {

Memory memory_of(uint8_t position)
{
    using AscendC::TPosition;
    switch (static_cast<TPosition>(position)) {
        case TPosition::VECIN:
        case TPosition::VECOUT:
        case TPosition::VECCALC:
            return Memory::ub;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM:
            return Memory::l1;
        case TPosition::A2:
            return Memory::l0a;
        case TPosition::B2:
            return Memory::l0b;
        case TPosition::CO1:
            return Memory::l0c;
        case TPosition::C2:
            return Memory::bias;
        case TPosition::C2PIPE2GM:
            return Memory::fixpipe;
        case TPosition::GM:
            return Memory::gm;
        default:
            return Memory::none;
    }
}

LocalMemory::~LocalMemory()
{
    std::free(data_);
}

void LocalMemory::create(uint32_t bytes)
{
    // The slack lets vector code of the host load whole registers at the very end of a memory.
    data_ = static_cast<uint8_t*>(std::aligned_alloc(4096, (bytes + 4096u + 4095u) / 4096u * 4096u));
    if (data_ == nullptr) {
        throw std::bad_alloc();
    }
    bytes_ = bytes;
    written_ = bytes;
    refill();
}

void LocalMemory::refill()
{
    std::memset(data_, 0xff, written_);
    written_ = 0;
}

}  // namespace tile_simulator
