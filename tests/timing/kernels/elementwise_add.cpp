// z = x + y on f16, the rows of a matrix dealt to AIVs: scalar, one buffer, two buffers, two buffers apart in banks.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/00_vector_compute/add_high_performance
// (cases 0 to 6): statically placed tensors, and every flag where the sample has it.
#include "kernel_operator.h"
using namespace AscendC;

namespace elementwise_add {

constexpr uint32_t slot = 32768;  // bytes of a buffer of the largest tile

// What one AIV works on: rows as even as they go, the first cores one row more.
struct Share {
    __aicore__ inline Share(GM_ADDR x_address, GM_ADDR y_address, GM_ADDR z_address, uint32_t rows, uint32_t columns,
        uint32_t tile_elements)
        : tile(tile_elements)
    {
        const uint32_t cores = GetBlockNum();
        const uint32_t core = GetBlockIdx();
        const uint32_t more = rows % cores;
        const uint32_t mine = rows / cores + (core < more ? 1 : 0);
        const uint64_t first = uint64_t(rows / cores) * core + (core < more ? core : more);
        elements = mine * columns;
        x.SetGlobalBuffer((__gm__ half*)x_address + first * columns, elements);
        y.SetGlobalBuffer((__gm__ half*)y_address + first * columns, elements);
        z.SetGlobalBuffer((__gm__ half*)z_address + first * columns, elements);
    }
    __aicore__ inline uint32_t tiles() const { return (elements + tile - 1) / tile; }
    __aicore__ inline uint32_t length(uint32_t i) const
    {
        return elements - i * tile < tile ? elements - i * tile : tile;
    }

    GlobalTensor<half> x;
    GlobalTensor<half> y;
    GlobalTensor<half> z;
    uint32_t tile;
    uint32_t elements;
};

struct Buffers {
    __aicore__ inline Buffers(uint32_t x_byte, uint32_t y_byte, uint32_t z_byte)
        : x(TPosition::VECCALC, x_byte, slot / 2),
          y(TPosition::VECCALC, y_byte, slot / 2),
          z(TPosition::VECCALC, z_byte, slot / 2)
    {
    }
    LocalTensor<half> x;
    LocalTensor<half> y;
    LocalTensor<half> z;
};

__aicore__ inline void add_by_element(const Buffers& to, uint32_t n)
{
    SetFlag<HardEvent::MTE2_S>(0);
    WaitFlag<HardEvent::MTE2_S>(0);
    for (uint32_t i = 0; i < n; ++i) {
        const float sum = float(to.x.GetValue(i)) + float(to.y.GetValue(i));
        to.z.SetValue(i, half(sum));
    }
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

__aicore__ inline void one_buffer(const Share& share, bool by_element)
{
    Buffers to(0, slot, 2 * slot);
    const uint32_t tiles = share.tiles();
    for (uint32_t i = 0; i < tiles; ++i) {
        const uint32_t n = share.length(i);
        if (i != 0) {
            WaitFlag<HardEvent::V_MTE2>(0);
        }
        DataCopy(to.x, share.x[i * share.tile], n);
        DataCopy(to.y, share.y[i * share.tile], n);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        if (i != 0) {
            WaitFlag<HardEvent::MTE3_V>(0);
        }
        if (by_element) {
            // The sample relies on the compiler for these scalar flags; here they stand in the source.
            SetFlag<HardEvent::V_S>(0);
            WaitFlag<HardEvent::V_S>(0);
            add_by_element(to, n);
        } else {
            Add(to.z, to.x, to.y, n);
        }
        if (i + 1 != tiles) {
            SetFlag<HardEvent::V_MTE2>(0);
        }
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(share.z[i * share.tile], to.z, n);
        if (i + 1 != tiles) {
            SetFlag<HardEvent::MTE3_V>(0);
        }
    }
}

__aicore__ inline void two_buffers(const Share& share, Buffers (&buffers)[2])
{
    for (int32_t id = 0; id < 2; ++id) {
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    const uint32_t tiles = share.tiles();
    for (uint32_t i = 0; i < tiles; ++i) {
        const int32_t id = i & 1;
        const uint32_t n = share.length(i);
        Buffers& to = buffers[id];
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopy(to.x, share.x[i * share.tile], n);
        DataCopy(to.y, share.y[i * share.tile], n);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
        Add(to.z, to.x, to.y, n);
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(share.z[i * share.tile], to.z, n);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    for (int32_t id = 0; id < 2; ++id) {
        WaitFlag<HardEvent::V_MTE2>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
    }
}

}  // namespace elementwise_add

// Cases 0 (by element), 1, 2 and 3.
extern "C" __global__ __aicore__ void add_one_buffer(
    GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t rows, int32_t columns, int32_t tile, bool by_element)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    elementwise_add::Share share(x, y, z, rows, columns, tile);
    elementwise_add::one_buffer(share, by_element);
    PipeBarrier<PIPE_ALL>();
}

// Cases 4, 5 (inputs bypass L2) and 6 (and x and y of a pair stand 8 bank groups apart: `apart` bytes between them).
extern "C" __global__ __aicore__ void add_two_buffers(
    GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t rows, int32_t columns, int32_t tile, bool bypass, int32_t apart)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    using namespace elementwise_add;
    Share share(x, y, z, rows, columns, tile);
    if (bypass) {
        share.x.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
        share.y.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    }
    if (apart == 0) {
        Buffers buffers[2] = {{0, slot, 2 * slot}, {3 * slot, 4 * slot, 5 * slot}};
        two_buffers(share, buffers);
    } else {
        const uint32_t next = apart;
        Buffers buffers[2] = {{0, next, 4 * slot}, {2 * slot, 2 * slot + next, 4 * slot + next}};
        two_buffers(share, buffers);
    }
    PipeBarrier<PIPE_ALL>();
}
