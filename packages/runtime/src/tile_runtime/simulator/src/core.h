// State of one simulated core: an AIC or an AIV of a block.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ascend_c/atomic.h"
#include "ascend_c/pipe_buffers.h"
#include "cube_state.h"
#include "coroutine.h"
#include "fault.h"
#include "memory.h"
#include "awaited.h"
#include "polling.h"
#include "registers.h"
#include "engine_queue.h"
#include "remote_stores.h"
#include "saturation.h"
#include "scalar_cache.h"
#include "vector_registers.h"

namespace tile_simulator {

class Block;
class Launch;
class TimeLog;

enum class CoreKind : uint8_t { aic, aiv };

// The part of UB that functions of the library for ranks use as they like, and their event (aclshmemx_set_mte_config).
struct RankScratch {
    uint32_t offset = 0;
    uint32_t bytes = 16 * 1024;
    uint32_t event = 0;
};

// Pipes in the order of the flag table.
enum class Pipe : uint8_t { s, v, m, mte1, mte2, mte3, fix };
constexpr int pipe_count = 7;
extern const char* const pipe_names[pipe_count];

constexpr int event_ids = 16;            // flags of their own, per event
constexpr int documented_event_ids = 8;  // those every document names
constexpr int cross_flags = 16;
constexpr uint32_t cross_flag_limit = 15;

struct MaskRegister {
    bool counter = false;
    uint64_t low = ~uint64_t(0);
    uint64_t high = ~uint64_t(0);
    // False until an API or the kernel has set them: an earlier kernel on the core may have left anything.
    bool mode_known = true;
    bool lanes_known = true;

    void set_lanes(uint64_t low_lanes, uint64_t high_lanes)
    {
        low = low_lanes;
        high = high_lanes;
        lanes_known = true;
    }
};

struct Flag {
    bool set = false;
    Where at{};
};

struct CrossFlag {
    uint32_t count = 0;
    uint32_t rounds_seen = 0;  // completed grid-wide rounds already counted
    uint32_t rounds_set = 0;   // grid-wide sets of this core
    uint32_t rounds_waited = 0;  // completed rounds this core has waited for
};

class Core {
public:
    Core(Block& block, CoreKind kind, uint32_t sub);
    ~Core();

    // Back to the state of a core at kernel start.
    void begin();

    LocalMemory& memory(Memory which) { return memories[static_cast<int>(which)]; }
    bool has(Memory which) const { return memories[static_cast<int>(which)].data() != nullptr; }
    bool is_vector() const { return kind == CoreKind::aiv; }
    std::string name() const;
    bool stopped() const;

    Block& block;
    const CoreKind kind;
    const uint32_t sub;

    LocalMemory memories[memory_count];
    MaskRegister mask;
    AtomicKind atomic = AtomicKind::none;
    DataType atomic_type = DataType::other;
    float dequantization_scale = 1.0f;
    Saturation saturation;
    RegisterSettings settings;
    CubeState cube;  // what a TPipe and the cube APIs set and keep
    uint64_t compare_mask[2] = {0, 0};
    VectorRegisters vector_registers;
    uint32_t feature_matrix[2] = {0, 0};  // height, width for 3D loads
    uint8_t feature_pads[4] = {0, 0, 0, 0};
    Flag flags[pipe_count][pipe_count][event_ids];
    uint32_t flags_set = 0;  // of `flags`
    CrossFlag cross[cross_flags];

    // Where the core waits for a cross-core flag; waiting_id < 0 when it does not.
    int waiting_id = -1;
    Use waiting_use{};
    // Where it waits, without the checks of the device, for room in a counter it wants to set; -1 when it does not.
    int full_id = -1;
    uint32_t full_mode = 0;

    // An error found where none may be thrown (a destructor); raised at the next instruction or at the end.
    bool has_pending = false;
    Fault pending;

    // The API the core entered last, for those who find it dead.
    Use last_use{};

    // Set by SiteScope: the place in the kernel that stands for whatever the core does now.
    Where site{};

    bool stored_to_gm = false;  // since the last API
    // What stands for operands that are not all in their buffers of GM, and whether the latest instruction has such.
    std::map<int, std::vector<uint8_t>> beyond_gm;
    bool astray = false;
    Polling polling;            // of flags in GM
    uint8_t polled[8] = {};     // what the latest look showed
    Awaited awaited;            // signal or barrier over ranks
    RemoteStores remote;
    EngineQueue engine;
    RankScratch rank_scratch;
    uint32_t collectives = 0;   // barriers over ranks so far

    uint32_t composed_call = 0;  // number of the ComposedCall that runs, or 0
    uint32_t composed_calls = 0;

    bool takes_part = true;
    bool device_checks = true;
    bool unobserved = false;  // loads of single elements take no time: see Unobserved
    ScalarCache cache;
    std::unique_ptr<TimeLog> time_log;  // null if the launch is not timed
    uint64_t instructions = 0;
    std::string output;
    Coroutine coroutine;
};

// Of the cores of a block.
constexpr const char* core_names[] = {"aic", "aiv0", "aiv1"};

// The core whose co-routine runs on this thread, or null outside a launch.
extern thread_local Core* current_core __attribute__((tls_model("initial-exec")));

// The running core; an API used outside a kernel is a FaultError.
Core& core_of(Use use);

}  // namespace tile_simulator
