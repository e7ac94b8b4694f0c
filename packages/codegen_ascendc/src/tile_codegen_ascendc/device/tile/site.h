// The line of the kernel that a piece below is used at, so that the simulator reports that line and
// not one of these headers. On a device it is nothing.
#ifndef TILE_SITE_H
#define TILE_SITE_H

namespace tile {

#ifdef TILE_SIMULATOR
using Site = tile_simulator::Where;
using SiteScope = tile_simulator::SiteScope;
#else
struct Site {
    __aicore__ static constexpr Site here() { return {}; }
};
struct SiteScope {
    __aicore__ explicit SiteScope(Site) {}
};
#endif

}  // namespace tile

#endif
