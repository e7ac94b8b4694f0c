// 4:2 structured sparsity: of every four values of B along k two are stored, with two bits each that say which.
#pragma once

#include "load_data.h"
#include "mmad.h"

namespace tile_simulator {

void load_sparse(
    LocalOperand dst, LocalOperand src, LocalOperand index, const AscendC::LoadData2DParams& params, Use use);
void mmad_sparse(LocalOperand c, LocalOperand a, LocalOperand b, const AscendC::MmadParams& params, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T = int8_t, class U = uint8_t>
inline void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<U>& idx,
    const LoadData2DParams& params, Where at = Where::here())
{
    static_assert(std::is_same_v<T, int8_t> && std::is_same_v<U, uint8_t>, "LoadDataWithSparse: int8 and uint8 only");
    tile_simulator::load_sparse(dst.operand(), src.operand(), idx.operand(), params, {"LoadDataWithSparse", at});
}
template <class C = int32_t, class T = int8_t>
inline void MmadWithSparse(const LocalTensor<C>& dst, const LocalTensor<T>& fm, const LocalTensor<T>& filter,
    const MmadParams& params, Where at = Where::here())
{
    static_assert(std::is_same_v<C, int32_t> && std::is_same_v<T, int8_t>, "MmadWithSparse: int8 into int32 only");
    tile_simulator::mmad_sparse(dst.operand(), fm.operand(), filter.operand(), params, {"MmadWithSparse", at});
}

}  // namespace AscendC
