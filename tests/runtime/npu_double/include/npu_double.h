// What the doubles of the device's compiler and of CANN's runtime library agree on.
#pragma once

#include <functional>

#include "tile_simulator.h"

// The place of `kernel<<<blocks, nullptr, stream>>>(...)`: notes it and puts the work into the stream's queue.
void npu_double_queue(const char* kernel, uint32_t blocks, void* stream, const uint64_t* words, size_t count,
    std::function<void()> work);

namespace npu_double {

template <class T>
uint64_t word(T value)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "arguments of kernels are at most eight bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    return bits;
}

// Arguments are taken when the kernel is queued; the simulator runs it when the stream gets to it.
template <class... P, class... A>
void launch(const char* name, void (*kernel)(P...), uint32_t blocks, void* stream, A... args)
{
    const uint64_t words[] = {word(args)...};
    npu_double_queue(
        name, blocks, stream, words, sizeof...(A), [=] { tile_simulator::launch(name, blocks, kernel, args...); });
}

}  // namespace npu_double
