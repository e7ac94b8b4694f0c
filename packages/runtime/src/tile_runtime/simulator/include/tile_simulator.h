// C interface of libtile_simulator.so for launchers, and the launch entry for host stubs of kernels.
//
// A launcher registers the GM buffers and options of the next launch for its own host thread, calls the host stub
// of a kernel (which calls tile_simulator::launch), and then fetches the error and the printed text.
#pragma once

// Tells device headers that they are compiled for this simulator.
#define TILE_SIMULATOR 1

#include <cstddef>
#include <cstdint>

#include "tile_timing.h"

extern "C" {

// One GM allocation the kernel may access. The name appears in error texts; it must outlive the launch.
struct TileBuffer {
    const void* base;
    uint64_t bytes;
    const char* name;
    uint32_t fresh = 0;  // 1: nothing has written its bytes, all 0xFF; reading what the launch did not write is a fault
    int32_t rank = -1;   // whose memory it is, in a launch over several ranks
};

// Memory that every rank has and the others can reach: one instance a rank, all of one size.
struct TileSymmetric {
    const void* const* bases;  // by rank
    uint64_t bytes;
    const char* name;
};

// Elements of a fresh buffer of which a byte was not written: how many, and the first run of them.
struct TileUnwritten {
    uint64_t count;
    uint64_t first;
    uint64_t end;
};

// When what a rank stores to the memory of another arrives there, of the moments at which it may.
enum TileDelivery : uint32_t {
    TILE_DELIVERY_SEED = 0,  // as the seed says, store by store; at once if it is 0
    TILE_DELIVERY_PROMPT = 1,
    TILE_DELIVERY_LATE = 2,  // once the storing core waits for it, or ends
};

enum TileChecks : uint32_t {
    TILE_CHECKS_OFF = 0,     // only what protects the process: accesses outside memories and buffers
    TILE_CHECKS_DEVICE = 1,  // what breaks on the device as kernels are compiled by default
    TILE_CHECKS_STRICT = 2,  // also what works only because the vendor's compiler inserts barriers and flags
};

// Of a launch over ranks in which each has a process: the number of this one, how often each has come to a barrier, in
// words so far `apart`, and 1 + the number of a rank that has given up. The words are shared by all processes, or kept up
// to date by messages.
struct TileMessages;
// What launches over ranks have left in words: signals that a later one may overtake.
struct TileWords;

struct TileProcesses {
    uint32_t rank;
    uint32_t* came;
    uint32_t apart;
    const uint32_t* given_up;
    uint32_t* lock = nullptr;  // who adds to shared memory, or 0
    TileMessages* messages = nullptr;  // null: the memory of all ranks is shared; else what carries it
};

struct TileOptions {
    uint32_t checks;        // TileChecks
    uint32_t threads;       // host threads for blocks; 0 = all
    uint64_t seed;          // 0 = natural order; otherwise permutes blocks and cores; the same seed, the same order
    uint32_t starved;       // core that runs only when no other of its block can: 0 none, 1 aic, 2 aiv0, 3 aiv1
    uint32_t cube_cores;    // AICs of the SoC (24 on 910B1)
    uint32_t vector_cores;  // AIVs of the SoC (48 on 910B1)
    const TileTiming* timing;  // constants of the time model; null: launches are not timed
    double timeout;            // seconds a launch may take; 0: no limit. Seen at the next API call of a core
    uint32_t first;            // 1: a launch ends at its first error; else it goes on where it can
    uint32_t starved_rank;     // rank whose cores run only when no other can, from 1 on; 0: none
    uint32_t delivery;         // TileDelivery
    uint32_t node_ranks;       // ranks of a node, which reach those of others over RoCE; 0: all are one node
    const TileProcesses* processes = nullptr;  // null: all ranks are of this process
    TileWords* words = nullptr;  // of the launches before on the same ranks; null: each stands alone
};

// The error of a launch: of all blocks that failed, the first of the first to start. Strings live until the next launch
// of this host thread.
struct TileError {
    const char* kind;  // slug: out-of-bounds, misaligned, bad-argument, deadlock, flag-..., ...
    const char* text;
    const char* file;  // C++ position of the call in the kernel
    uint32_t line;
    uint32_t block;
    const char* core;  // aic, aiv0, aiv1
    const char* api;
    const char* hint;  // an action, or empty
    int32_t rank;      // whose block it is, in a launch over several ranks; else -1
};

// The core a host thread simulates at this moment.
struct TileRunningCore {
    uint32_t block;   // among those of its rank
    uint32_t core;    // 0 aic, 1 aiv0, 2 aiv1
    const char* api;  // the one it entered last; null if it has entered none
    const char* file;
    uint32_t line;
};

void tile_simulator_default_options(TileOptions* options);
// From now on a kernel that ends in a signal, or runs on after its time without a call, is an error of its launch, and
// the process lives. Whoever has handlers of its own does not call it.
void tile_simulator_guard(void);
// Both apply to later launches of the calling host thread, until set again.
void tile_simulator_set_buffers(const TileBuffer* buffers, size_t count);
void tile_simulator_set_options(const TileOptions* options);
// Runs `blocks` blocks of `entry(closure)` on every core that takes part; returns 0, or 1 with an error to fetch.
int tile_simulator_run(const char* kernel_name, uint32_t blocks, void (*entry)(void*), void* closure);
// A launch over ranks: host stubs called from now on, once a rank in the order of their numbers, launch nothing yet;
// the end runs what they asked for, all ranks together, and returns as tile_simulator_run does.
void tile_simulator_begin_ranks(uint32_t ranks, const TileSymmetric* memory, size_t count);
void tile_simulator_next_rank(void);
int tile_simulator_end_ranks(void);
// For TileOptions::words, of ranks whose symmetric memory stays where it is. To forget them: all ranks have met since.
TileWords* tile_simulator_new_words(void);
void tile_simulator_forget_words(TileWords* words);
void tile_simulator_delete_words(TileWords* words);
// Messages between processes that share no memory: `sockets` lead to the others (-1: to itself), `instances` are `bytes`
// of each rank, its own memory and a picture of the others'. Whoever gives up is told in `given_up` and `text`. Served by
// a thread until the end, which waits so long at most for the others to end as well.
TileMessages* tile_simulator_open_messages(uint32_t ranks, const TileProcesses* words, const int* sockets,
    uint8_t* const* instances, uint64_t bytes, char* text, uint32_t text_bytes);
void tile_simulator_fail_messages(TileMessages* messages, const char* text);
// Waits until the others have all that was sent to them.
void tile_simulator_settle_messages(TileMessages* messages);
void tile_simulator_close_messages(TileMessages* messages, double seconds);
// Whether launches are to be recorded; what is recorded owns its closure.
int tile_simulator_recording(void);
void tile_simulator_record(
    const char* kernel_name, uint32_t blocks, void (*entry)(void*), void* closure, void (*destroy)(void*));
// What the latest launches of this thread left: the first error since the last clear (or null) and all text
// printed by kernels, in block order.
const TileError* tile_simulator_error(void);
const char* tile_simulator_output(size_t* length);
// What the latest launches of this thread did that works on a device but is waste, or relies on what no document says,
// by line; of one with an error, its further errors instead. An array of `count`, which lives until the next call of this
// function.
const TileError* tile_simulator_others(size_t* count);
// The timeline of the latest launch of this thread, if it was timed and had no error; else null.
const TileTimeline* tile_simulator_timeline(void);
// Its ranks and the links between them; null of a launch on one device.
const TileRankTimes* tile_simulator_rank_times(void);
// What the launches since the buffers were set have left out of the fresh buffer at `base`. Nothing is known of what
// ran without checks.
TileUnwritten tile_simulator_unwritten(const void* base, uint64_t element_bytes);
// Names of the fields of TileTiming in their order, separated by spaces.
const char* tile_simulator_timing_names(void);
void tile_simulator_clear(void);
// What the calling thread simulates; returns 0 if it runs no core. May be called in a signal handler.
int tile_simulator_running_core(TileRunningCore* core);
}

namespace tile_simulator {

// Runs a kernel function as `kernel<<<blocks, ...>>>(args...)` would on a device, and returns when it is done.
// Arguments are converted to the parameter types with a C cast, as uint8_t* handles become typed pointers.
template <class... P, class... A>
inline void launch(const char* kernel_name, uint32_t blocks, void (*kernel)(P...), A... args)
{
    static_assert(sizeof...(P) == sizeof...(A), "launch: the number of arguments differs from the kernel's parameters");
    auto body = [=] { kernel((P)args...); };
    using Body = decltype(body);
    const auto entry = [](void* closure) { (*static_cast<Body*>(closure))(); };
    if (tile_simulator_recording() != 0) {
        const auto destroy = [](void* closure) { delete static_cast<Body*>(closure); };
        return tile_simulator_record(kernel_name, blocks, entry, new Body(body), destroy);
    }
    tile_simulator_run(kernel_name, blocks, entry, &body);
}

}  // namespace tile_simulator
