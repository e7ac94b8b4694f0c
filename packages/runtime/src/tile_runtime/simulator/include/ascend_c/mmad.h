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

    // The older order; isBias = true accumulates onto L0C.
    MmadParams(uint32_t m_in, uint32_t n_in, uint32_t k_in, bool accumulate, int32_t offset, bool sparse,
        bool winograd_a, bool winograd_b)
        : m(m_in),
          n(n_in),
          k(k_in),
          isBias(accumulate),
          fmOffset(offset),
          enSsparse(sparse),
          enWinogradA(winograd_a),
          enWinogradB(winograd_b)
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
void set_hf32(bool enabled, Use use);
void set_hf32_rounding(bool ties_to_zero, Use use);

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

// Whether float operands are rounded to HF32 first, which doubles the rate.
enum class HF32Mode { ENABLE, DISABLE };
enum class HF32TransMode { NEAREST_ZERO, NEAREST_EVEN };
inline void SetHF32Mode(HF32Mode mode, Where at = Where::here())
{
    tile_simulator::set_hf32(mode == HF32Mode::ENABLE, {"SetHF32Mode", at});
}
inline void SetHF32Mode(bool hf32Mode, Where at = Where::here())
{
    tile_simulator::set_hf32(hf32Mode, {"SetHF32Mode", at});
}
inline void SetHF32TransMode(HF32TransMode mode, Where at = Where::here())
{
    tile_simulator::set_hf32_rounding(mode == HF32TransMode::NEAREST_ZERO, {"SetHF32TransMode", at});
}
inline void SetHF32TransMode(bool hf32TransMode, Where at = Where::here())
{
    tile_simulator::set_hf32_rounding(hf32TransMode, {"SetHF32TransMode", at});
}

// In which order an Mmad writes its fractals: nothing but a Fixpipe with unitFlag that overlaps it could tell.
inline void SetMMRowMajor() {}
inline void SetMMColumnMajor() {}
inline void SetMMLayoutTransform(bool) {}

}  // namespace AscendC
