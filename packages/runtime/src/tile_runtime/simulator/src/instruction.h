// The one place every API passes through: what it is, on which pipe, from where, and which bytes it touches.
//
// Instruction collects the operands; issue() checks them. Later checks (order of accesses, timing) hang off issue().
#pragma once

#include <cstdint>
#include <type_traits>

#include "core.h"

namespace tile_simulator {

// Byte runs of one operand: `run` bytes, `inner` times `inner_stride` apart, all that `outer` times.
struct Region {
    uint64_t start = 0;
    uint64_t run = 0;
    uint64_t inner = 1;
    uint64_t inner_stride = 0;
    uint64_t outer = 1;
    uint64_t outer_stride = 0;

    uint64_t end() const { return start + (outer - 1) * outer_stride + (inner - 1) * inner_stride + run; }
    // The same bytes in as few runs as they can be told: runs that touch become one, a stride of 0 says nothing new.
    Region compact() const
    {
        Region region = *this;
        if (region.inner > 1 && (region.inner_stride == region.run || region.inner_stride == 0)) {
            region.run *= region.inner_stride == 0 ? 1 : region.inner;
            region.inner = 1;
        }
        if (region.outer > 1 && region.outer_stride == 0) {
            region.outer = 1;
        }
        if (region.inner == 1 && region.outer > 1) {
            region.inner = region.outer;
            region.inner_stride = region.outer_stride;
            region.outer = 1;
            return region.inner_stride == region.run ? region.compact() : region;
        }
        return region;
    }
    // Calls f(begin, end) for every run of bytes, until it returns false if it returns something.
    template <class F>
    void for_runs(const F& f) const
    {
        for (uint64_t i = 0; run != 0 && i < outer * inner; ++i) {
            const uint64_t begin = start + i / inner * outer_stride + i % inner * inner_stride;
            if constexpr (std::is_void_v<decltype(f(begin, begin))>) {
                f(begin, begin + run);
            } else if (!f(begin, begin + run)) {
                return;
            }
        }
    }
    static Region bytes(uint64_t start, uint64_t length) { return {start, length, 1, 0, 1, 0}; }
    static Region strided(uint64_t start, uint64_t run, uint64_t count, uint64_t stride)
    {
        return {start, run, count, stride, 1, 0};
    }
};

struct Operand {
    const char* name;  // as in the API's documentation: dst, src, src0, ...
    Memory memory;
    bool write;
    uint32_t alignment;  // of the start; 0 when checked elsewhere
    Region region;
    uint8_t* data;   // host address of region.start, filled by issue()
    Buffer buffer;   // the allocation a local operand was cut from
    uint64_t origin;  // of a GM operand: see GlobalOperand
    uint32_t element;  // bytes; host code reads and writes elements of a local operand as such
};

class Instruction {
public:
    Instruction(Core& core, Pipe pipe, Use use) : core(core), pipe(pipe), use(use) {}

    // Adds an operand and returns its index. A local operand must live in one of the memories the caller expects.
    int local(const char* name, bool write, const LocalOperand& tensor, Memory memory, const Region& region,
        uint32_t alignment);
    // `tensor` says which buffer the bytes of `region` are meant for.
    int global(const char* name, bool write, const GlobalOperand& tensor, const Region& region);

    // Checks every operand (bounds and elements always; alignment and order at device level) and fills the host
    // addresses.
    void issue();
    uint8_t* data(int operand) const { return operands[operand].data; }

    Core& core;
    const Pipe pipe;
    const Use use;
    uint64_t macs = 0;      // multiply-accumulates, for the rate in reports
    bool is_3d = false;     // a load that gathers from an image
    uint64_t passes = 1;    // over the operands of a vector instruction's repeat, over the squares of a load that turns them
    bool is_sum = false;    // a vector instruction whose lanes come together in fewer
    bool is_nd2nz = false;  // a load that lays rows out in fractals
    bool past_l2 = false;   // a read that L2 is told not to keep
    bool in_order = false;  // the pipe itself orders it after its own earlier instructions
    uint64_t work = 0;  // cycles the pipe is busy, where the operands' bytes do not say it (pipes V and M)
    bool polls = false;       // a load of GM by the scalar unit that no data cache answers
    bool past_cache = false;  // a store to GM by the scalar unit that goes past its data cache
    bool observes = false;    // a dump: what it reads goes nowhere but into text for the author
    bool by_engine = false;   // the engine does it when it comes to it, and no pipe of the core
    bool updates = false;     // its stores to GM are atomic whatever the mode of the core
    uint8_t unit_flag = 0;  // Mmad and Fixpipe: 2 or 3 = the hardware orders the two by the unit flags of L0C
    static constexpr int capacity = 10;  // Mmad: A and B in up to four parts each, C twice
    Operand operands[capacity];
    int count = 0;

private:
    bool reach_global(int index);
    void reach_rank(const Operand& operand);
};

// While it lives, the instructions of the core make up one call of an API of several: whether they need barriers among
// themselves is the vendor's affair, not the kernel's.
class ComposedCall {
public:
    explicit ComposedCall(Core& core) : core_(core) { core.composed_call = ++core.composed_calls; }
    ~ComposedCall() { core_.composed_call = 0; }
    ComposedCall(const ComposedCall&) = delete;
    ComposedCall& operator=(const ComposedCall&) = delete;

private:
    Core& core_;
};

// What every API of a core begins with: stops it if the launch has an error.
void enter(Core& core, Use use);
// Judges the latest store of the core by its bytes, which are in GM by the time of the next API or the end.
void settle_stores(const Core& core);
// Lets those who wait for a flag in GM look at what the core has stored since the last time.
void tell_stores(Core& core);

// True if the running core executes instructions of this kind; the other kind's APIs do nothing on it.
inline bool runs_here(const Core& core, CoreKind kind)
{
    return core.kind == kind;
}

// Memory of a local operand; an unknown position or a memory this core lacks is an error.
Memory memory_for(Core& core, LocalOperand tensor, const char* operand, Use use);
// The same, and it must be `expected`.
void require_memory(LocalOperand tensor, Memory expected, const char* operand, Use use);

// Argument checks of device level: `value` must lie in [low, high].
void require_range(const Core& core, const char* parameter, int64_t value, int64_t low, int64_t high, Use use);
// What the fields of an instruction hold, where nothing can be computed with other values: at every level.
void require_field(const char* parameter, int64_t value, int64_t low, int64_t high, Use use);
[[noreturn]] void raise_type(Use use, const char* operand, DataType found, const char* required);

// That an access lies in its GM buffer; raises out-of-bounds otherwise.
void require_global(Core& core, const Operand& operand, Use use);

}  // namespace tile_simulator
