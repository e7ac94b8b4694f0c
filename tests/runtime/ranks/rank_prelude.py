"""What the kernels of these tests share: a tile of 64 numbers in UB, and copies of it."""

PRELUDE = """
constexpr uint32_t N = 64;
constexpr int32_t LINE = 16;  // numbers of a line of the data cache

struct Tile {
    TPipe pipe;
    TBuf<TPosition::VECCALC> data;
    LocalTensor<int32_t> tile;
    int32_t me, all, next;
    __aicore__ inline Tile()
    {
        pipe.InitBuffer(data, 4096);
        tile = data.Get<int32_t>();
        me = aclshmem_my_pe();
        all = aclshmem_n_pes();
        next = (me + 1) % all;
        aclshmemx_set_mte_config(160 * 1024, 1024, 7);
    }
    __aicore__ inline void Load(GM_ADDR from, int32_t row, Where at = Where::here())
    {
        GlobalTensor<int32_t> source;
        source.SetGlobalBuffer((__gm__ int32_t*)from + row * N);
        SetFlag<HardEvent::MTE3_MTE2>(3, at);
        WaitFlag<HardEvent::MTE3_MTE2>(3, at);
        DataCopy(tile, source, N, at);
        SetFlag<HardEvent::MTE2_MTE3>(3, at);
        WaitFlag<HardEvent::MTE2_MTE3>(3, at);
    }
    __aicore__ inline void Store(GM_ADDR to, int32_t row, int32_t pe, Where at = Where::here())
    {
        GlobalTensor<int32_t> target;
        target.SetGlobalBuffer((__gm__ int32_t*)aclshmem_ptr(to, pe, at) + row * N);
        DataCopy(target, tile, N, at);
    }
    // Nothing of the tile is under way any more, for the scalar unit.
    __aicore__ inline void Done()
    {
        SetFlag<HardEvent::MTE2_S>(4);
        WaitFlag<HardEvent::MTE2_S>(4);
        SetFlag<HardEvent::MTE3_S>(5);
        WaitFlag<HardEvent::MTE3_S>(5);
    }
};
__aicore__ inline __gm__ int32_t* Word(GM_ADDR words, int32_t i) { return (__gm__ int32_t*)words + i; }
"""
