// Tiling structs of which no default is registered, read in every way, and an operator's choice of
// templates; correct as it stands.
#include "ascendc/host_api/tiling/template_argument.h"
#include "kernel_operator.h"
#include "register/tilingdata_base.h"

using namespace AscendC;

BEGIN_TILING_DATA_DEF(Piece)
TILING_DATA_FIELD_DEF(uint32_t, tiles);
TILING_DATA_FIELD_DEF_ARR(int32_t, 3, steps);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(PieceOp, Piece)

BEGIN_TILING_DATA_DEF(TourTilingData)
TILING_DATA_FIELD_DEF(uint32_t, total);
TILING_DATA_FIELD_DEF(float, factor);
TILING_DATA_FIELD_DEF_STRUCT(Piece, piece);
TILING_DATA_FIELD_DEF_ARR(uint64_t, 2, mask);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(TilingTour, TourTilingData)
REGISTER_TILING_DATA_CLASS(TemplateTour, TourTilingData)

ASCENDC_TPL_ARGS_DECL(TemplateTour, ASCENDC_TPL_DATATYPE_DECL(T, C_DT_FLOAT, C_DT_INT32),
    ASCENDC_TPL_UINT_DECL(TILE, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_MIX, 2, 0, 2, 3, 5, 64, 128),
    ASCENDC_TPL_BOOL_DECL(MASKED, 0, 1), );
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT),
    ASCENDC_TPL_UINT_SEL(TILE, ASCENDC_TPL_UI_LIST, 64, 128), ASCENDC_TPL_BOOL_SEL(MASKED, 0, 1),
    ASCENDC_TPL_TILING_STRUCT_SEL(TourTilingData)));

template <typename T>
struct Steps {
    GlobalTensor<T> x, z;
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    uint32_t tile;

    __aicore__ inline void Init(GM_ADDR from, GM_ADDR to, uint32_t total, uint32_t tiles)
    {
        const uint32_t share = total / GetBlockNum();
        tile = share / tiles;
        x.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(from) + GetBlockIdx() * share, share);
        z.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(to) + GetBlockIdx() * share, share);
        pipe.InitBuffer(in, 2, tile * sizeof(T));
        pipe.InitBuffer(out, 2, tile * sizeof(T));
    }

    template <typename Action>
    __aicore__ inline void Run(uint32_t at, Action action)
    {
        LocalTensor<T> a = in.template AllocTensor<T>();
        DataCopy(a, x[at * tile], tile);
        in.EnQue(a);
        LocalTensor<T> b = in.template DeQue<T>();
        LocalTensor<T> c = out.template AllocTensor<T>();
        action(c, b);
        in.FreeTensor(b);
        out.EnQue(c);
        LocalTensor<T> d = out.template DeQue<T>();
        DataCopy(z[at * tile], d, tile);
        out.FreeTensor(d);
    }
};

extern "C" __global__ __aicore__ void tiling_tour(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA(data, tiling);
    GET_TILING_DATA_MEMBER(TourTilingData, piece, piece, tiling);
    GET_TILING_DATA_MEMBER(TourTilingData, factor, factor, tiling);
    GET_TILING_DATA_WITH_STRUCT(Piece, other, tiling + 8);
    GET_TILING_DATA_PTR_WITH_STRUCT(TourTilingData, whole, tiling);
    Steps<float> steps;
    steps.Init(x, z, data.total, piece.tiles);
    for (uint32_t i = 0; i < other.tiles; ++i) {
        const float step = whole->piece.steps[i % 3];
        steps.Run(i, [&](const LocalTensor<float>& to, const LocalTensor<float>& from) {
            Muls(to, from, factor, steps.tile);
            PipeBarrier<PIPE_V>();
            Adds(to, to, step, data.mask, steps.tile / 64, {1, 1, 8, 8});
        });
    }
}

template <typename T, int TILE, int MASKED>
__global__ __aicore__ void template_tour(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GET_TILING_DATA(data, tiling);
    Steps<T> steps;
    steps.Init(x, z, data.total, data.total / GetBlockNum() / TILE);
    for (uint32_t i = 0; i < data.piece.tiles; ++i) {
        const T step = data.piece.steps[i % 3];
        steps.Run(i, [&](const LocalTensor<T>& to, const LocalTensor<T>& from) {
            Adds(to, from, step, TILE);
            if constexpr (MASKED != 0) {
                PipeBarrier<PIPE_V>();
                Muls(to, to, (T)data.factor, data.mask, TILE / 64, {1, 1, 8, 8});
            }
        });
    }
}
