// What a timed launch takes and gives: the constants of a chip, and the modelled timeline (docs/hardware/time_model.md#published-rates).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Constants of the time model, in core cycles, bytes per cycle and core, and GB/s of the chip. The table with values
// and sources is tile_ir/timing.py; fields are passed by name.
#define TILE_TIMING_FIELDS(X)                                                                                    \
    X(mhz) X(cube_cores) X(vector_cores) X(l2_bytes) X(warm_l2) X(queue_depth)                                    \
    X(scalar_issue) X(scalar_issue_cube) X(scalar_flag) X(flag_latency) X(scalar_gm) X(scalar_local)                                                   \
    X(vector_issue) X(vector_latency) X(sum_latency) X(cube_least) X(cube_issue) X(cube_addition) X(cube_latency)  \
    X(load_issue) X(load_latency) X(load_3d_latency) X(l0a_rate) X(l0b_rate) X(table_issue) X(table_latency) X(table_rate) \
    X(fill_rate) X(fix_issue) X(fix_l1_rate)                                                                      \
    X(dma_issue) X(gm_ub_rate) X(gm_ub_cold_rate) X(gm_l1_rate) X(gm_l1_cold_rate) X(ub_gm_rate)                                     \
    X(ub_gm_new_rate) X(l1_gm_rate) X(l0c_gm_rate)                                                                \
    X(gm_load_latency) X(gm_store_latency) X(gm_miss_latency)                                                                \
    X(nd2nz_row) X(nd2nz_row_least) X(nd2nz_row_miss) X(nd2nz_rate) X(nd2nz_miss_rate) X(nd2nz_unaligned_rate)                       \
    X(hbm_bandwidth) X(hbm_write_bandwidth) X(l2_bandwidth) X(uncached_burst)                                     \
    X(same_line_rate) X(cross_flag_latency) X(launch_us) X(launch_core_us) X(start_core_us) X(block_us)           \
    X(topology) X(link_write_bandwidth) X(link_read_bandwidth) X(link_ports) X(link_load_us) X(link_store_us)     \
    X(signal_store_us) X(signal_poll_us) X(network_bandwidth) X(network_us)  \
    X(sdma_bandwidth) X(sdma_us)

struct TileTiming {
#define TILE_TIMING_FIELD(name) double name;
    TILE_TIMING_FIELDS(TILE_TIMING_FIELD)
#undef TILE_TIMING_FIELD
};

// One instruction on the timeline; times in cycles since the launch.
struct TileTimeEvent {
    double begin;
    double end;         // the pipe is free for the next instruction
    double complete;    // others may use the result
    double waited;      // cycles the pipe stood still before, for the reason below
    double slowed;      // cycles between `begin` and `end` that are lost: of a transfer, because others share L2 and HBM
                        // with it; of a vector instruction, because its operands meet in a bank of UB
    uint64_t bytes;     // moved from or to GM
    int64_t cause;      // index of the event that decided when this one began or went on, or -1
    uint32_t api;       // index of its name in the timeline's strings
    uint32_t file;
    uint32_t line;
    uint32_t block;
    uint8_t core;       // 0 aic, 1 aiv0, 2 aiv1
    uint8_t pipe;       // S V M MTE1 MTE2 MTE3 FIX SDMA
    uint8_t kind;       // TileTimeKind
    uint8_t reason;     // TileStall
    uint8_t source;     // of a flag: the pipe that sets it
    uint8_t flag;       // its id
    uint8_t mode;       // of a cross-core set
    uint8_t peer;       // 1 + the rank it moves bytes to or from, signals, or has waited for; 0: none
};

// What one instruction reads or writes: the bytes from the first to the last of an operand.
struct TileTimeAccess {
    uint64_t begin;  // offset in the memory; an address in GM
    uint64_t end;
    uint32_t event;   // index of the instruction
    uint32_t made;    // line at which the kernel made the buffer, or 0
    uint32_t buffer_begin;
    uint32_t buffer_end;
    uint8_t memory;   // GM UB L1 L0A L0B L0C BT FB
    uint8_t kind;     // 0 read, 1 write, 2 atomic update
    uint8_t off_line;  // of rows in GM: whether not all of them start on a line of L2 from the start of the buffer
    uint8_t unused;
    uint32_t rows;    // runs of bytes in GM, 0 in other memories
};

enum TileTimeKind : uint8_t {
    TILE_TIME_WORK, TILE_TIME_SET, TILE_TIME_WAIT, TILE_TIME_BARRIER, TILE_TIME_BARRIER_ALL, TILE_TIME_CROSS_SET,
    TILE_TIME_CROSS_WAIT,
    TILE_TIME_SIGNAL,        // to a word of a rank; arrives at `complete`
    TILE_TIME_WORD_WAIT,     // for a value of an own word
    TILE_TIME_RANK_BARRIER,  // of all ranks
    TILE_TIME_LOOK,          // at a word that other cores store; in logs it is work of the scalar unit
    TILE_TIME_ENGINE_WAIT,   // for what the core has given to the engine that copies without cores
};

enum TileStall : uint8_t {
    TILE_STALL_NONE,
    TILE_STALL_SCALAR,    // nothing was issued to the pipe
    TILE_STALL_FLAG,      // a flag of another pipe was not set
    TILE_STALL_BARRIER,   // earlier work of the pipe was not complete
    TILE_STALL_CROSS,     // a cross-core counter was 0
    TILE_STALL_QUEUE,     // the scalar unit: the queue of a pipe was full
    TILE_STALL_MEMORY,    // a transfer got less than its own rate; its cycles are `slowed`, not `waited`
    TILE_STALL_BANK,      // operands of a vector instruction met in a bank; its cycles are `slowed`, not `waited`
    TILE_STALL_RANK,      // another rank had not signalled, or not come to a barrier
    TILE_STALL_WORD,      // another core had not stored to a word of GM that this one looks at
    TILE_STALL_ENGINE,    // the engine that copies without cores had not done what it was given
};

// How devices are connected.
enum TileTopology { TILE_TOPOLOGY_MESH, TILE_TOPOLOGY_RING, TILE_TOPOLOGY_TWO_SERVERS };

// More room in UB, by which operands no longer meet in a bank.
struct TileBankChange {
    uint32_t file;          // index of a string; with `made` where the kernel made the buffer
    uint32_t made;          // line, or 0
    uint32_t buffer_begin;  // offset of the buffer in UB
    uint32_t at;            // where the room comes before, with all that lies behind; of a row pitch the buffer's begin
    uint32_t pitch;         // bytes from row to row that become more, or 0 if the room comes before `at`
    uint32_t bytes;         // of the room, or by which a row becomes longer; 0: no change
    uint32_t element;       // bytes of an element of the buffer
    uint32_t unused;
};

// Bank conflicts of the vector instructions of one line, and the changes that leave the fewest; cycles are summed over
// all cores.
struct TileBankPadding {
    double cycles;
    double left;       // of these with the changes
    double elsewhere;  // that the changes add at other lines; below 0 if they remove some
    uint32_t file;
    uint32_t line;
    TileBankChange changes[2];
};

struct TileTimeline {
    const TileTimeEvent* events;
    size_t count;
    const TileTimeAccess* accesses;
    size_t access_count;
    const TileBankPadding* paddings;
    size_t padding_count;
    const char* const* strings;
    size_t string_count;
    double cycles;         // from the start of the first block to the end of the last; infinite if the launch would hang
    double start_cycles;   // of them, until the first block's first instruction
    double scalar_cycles[2];  // for which the scalar units of AICs and of AIVs are busy, summed over cores
    double launch_us;      // head cost of the launch, not in cycles
    uint64_t macs;         // multiply-accumulates of the cube units
    uint64_t read_bytes;   // from GM by DMA
    uint64_t write_bytes;
    uint64_t hbm_bytes;    // of both, what the L2 cache did not hold
    uint64_t owed_bytes;   // written, and still in L2 only: whoever needs the room pays for the way to HBM
};

// One rank of a launch over several, as the fields of TileTimeline of the same names say.
struct TileRankTime {
    uint64_t first_event;  // of its own; those of the next rank follow
    uint64_t first_access;
    double cycles;
    double start_cycles;
    double scalar_cycles[2];
    double launch_us;
    uint64_t macs;
    uint64_t read_bytes;
    uint64_t write_bytes;
    uint64_t hbm_bytes;
    uint64_t owed_bytes;
};

// What went from one rank to another.
struct TileLinkTime {
    uint32_t source;
    uint32_t target;
    uint64_t bytes;      // of transfers
    uint64_t signals;    // beside them
    double busy_cycles;  // in which bytes are under way
    double least_cycles;  // that the bytes take where nothing else limits them
};

struct TileRankTimes {
    const TileRankTime* ranks;
    size_t rank_count;
    const TileLinkTime* links;
    size_t link_count;
    uint32_t blocks;              // of a rank
    double cycles_without_links;  // what the launch would take if nothing between ranks took time
};
}
