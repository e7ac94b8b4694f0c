// Mmad: matrix multiply and accumulate on L0A, L0B and L0C, PIPE_M.
#pragma once

#include "tensor.h"

namespace AscendC {

struct MmadParams {
    MmadParams() = default;
    MmadParams(uint32_t m_in, uint32_t n_in, uint32_t k_in, uint8_t unit_flag, bool c_source, bool c_init)
        : m(m_in), n(n_in), k(k_in), unitFlag(unit_flag), cmatrixSource(c_source), cmatrixInitVal(c_init)
    {
    }

    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    bool isBias = false;
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false;  // f32 only: K of L0A and L0B is padded to 16
    bool cmatrixSource = false;    // accumulate from the bias table instead of L0C
    bool cmatrixInitVal = true;    // start from zero
};

}  // namespace AscendC

namespace tile_simulator {

void mmad(LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& params, Use use);
void mmad_with_bias(
    LocalOperand c, LocalOperand a, LocalOperand b, LocalOperand bias, const AscendC::MmadParams& params, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class C, class A, class B>
inline void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
    const MmadParams& params, Where at = Where::here())
{
    tile_simulator::mmad(dst.operand(), fm.operand(), filter.operand(), params, {"Mmad", at});
}
template <class C, class A, class B, class Bias>
inline void Mmad(const LocalTensor<C>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
    const LocalTensor<Bias>& bias, const MmadParams& params, Where at = Where::here())
{
    tile_simulator::mmad_with_bias(dst.operand(), fm.operand(), filter.operand(), bias.operand(), params, {"Mmad", at});
}

}  // namespace AscendC
