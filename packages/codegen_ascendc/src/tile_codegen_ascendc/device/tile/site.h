// What the simulator is told, and a device is not: the line of the kernel that a piece below is used at, so that reports
// name that line and not one of these headers; and that a part of a buffer must lie inside one of its dimensions.
#ifndef TILE_SITE_H
#define TILE_SITE_H

namespace tile {

#ifdef TILE_SIMULATOR
using Site = tile_simulator::Where;
using SiteScope = tile_simulator::SiteScope;
#define TILE_INSIDE(buffer, dimension, offset, extent, size)                                     \
    {                                                                                            \
        const tile_simulator::Unobserved quiet;                                                  \
        tile_simulator::check_window(#buffer, dimension, offset, extent, size,                   \
            {"window", tile_simulator::Where::here(__FILE__, __LINE__)});                        \
    }
#else
struct Site {
    __aicore__ static constexpr Site here() { return {}; }
};
struct SiteScope {
    __aicore__ explicit SiteScope(Site) {}
};
#define TILE_INSIDE(...)
#endif

}  // namespace tile

#endif
