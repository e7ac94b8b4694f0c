// Starting a kernel from the host part of the emitted file. The last argument of every kernel is the
// address through which its cores signal each other.
#ifndef TILE_LAUNCH_H
#define TILE_LAUNCH_H

#if defined(TILE_SIMULATOR) || defined(ASCENDC_CPU_DEBUG)
namespace tile {
inline uint64_t cross_core_address() { return 0; }
}  // namespace tile
#else
#include "acl/acl.h"
#include "runtime/rt_ffts.h"
namespace tile {
// 0 if the runtime has none to give: the error of the thread says why.
inline uint64_t cross_core_address()
{
    uint64_t address = 0;
    uint32_t length = 0;
    return rtGetC2cCtrlAddr(&address, &length) == 0 ? address : 0;
}
}  // namespace tile
#endif

// A device refuses a launch of no blocks, and so does the simulator. It is nothing to do: the call of
// a kernel whose tensors are empty.
#if defined(TILE_SIMULATOR)
#define TILE_LAUNCH(kernel, blocks, stream, ...) \
    do { \
        (void)(stream); \
        if ((blocks) != 0) { \
            tile_simulator::launch(#kernel, blocks, kernel, __VA_ARGS__); \
        } \
    } while (false)
#elif defined(ASCENDC_CPU_DEBUG)
// Type-checking with the vendor's headers: the kernel is an ordinary function.
#define TILE_LAUNCH(kernel, blocks, stream, ...) ((void)(stream), (void)(blocks), kernel(__VA_ARGS__))
typedef void* aclrtStream;
#else
// Cores that can not signal would wait for ever.
#define TILE_LAUNCH(kernel, blocks, stream, ...) \
    do { \
        if ((blocks) != 0 && tile::cross_core_address() != 0) { \
            kernel<<<blocks, nullptr, stream>>>(__VA_ARGS__); \
        } \
    } while (false)
#endif

#endif
