// Sin and Cos, by a polynomial after the multiples of pi are taken off. half and float, on UB, PIPE_V; some thirty
// instructions for each part that fits the temporary space. Inputs lie within +-65504.
#pragma once

#include "temporary_space.h"

namespace AscendC {

enum class SinAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION };
enum class CosAlgo { POLYNOMIAL_APPROXIMATION = 0, RADIAN_REDUCTION };
struct SinConfig {
    SinAlgo algo = SinAlgo::POLYNOMIAL_APPROXIMATION;
};
struct CosConfig {
    CosAlgo algo = CosAlgo::POLYNOMIAL_APPROXIMATION;
};
constexpr SinConfig defaultSinConfig{};
constexpr CosConfig defaultCosConfig{};

}  // namespace AscendC

namespace tile_simulator {

enum class Wave : uint8_t { sine, cosine };

// `reuse`: the source, of float, may be overwritten.
void vector_wave(Wave wave, LocalOperand dst, LocalOperand src, const TemporarySpace& space, bool reuse,
    int64_t count, Use use);

template <Wave kind, bool reuse, class T>
inline void wave(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const TemporarySpace& space,
    int64_t count, Use use)
{
    static_assert(is_one_of<T, half, float>, "Sin, Cos: half and float only");
    vector_wave(kind, dst.operand(), src.operand(), space, reuse && std::is_same_v<T, float>, count, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isReuseSource = false, const SinConfig& config = defaultSinConfig>
inline void Sin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::wave<tile_simulator::Wave::sine, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::temporary_space(sharedTmpBuffer), calCount, {"Sin", at});
}
template <class T, bool isReuseSource = false, const SinConfig& config = defaultSinConfig>
inline void Sin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    Sin<T, isReuseSource, config>(dstTensor, srcTensor, sharedTmpBuffer, srcTensor.GetSize(), at);
}
template <class T, bool isReuseSource = false, const SinConfig& config = defaultSinConfig>
inline void Sin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount,
    Where at = Where::here())
{
    tile_simulator::wave<tile_simulator::Wave::sine, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::free_space(at), calCount, {"Sin", at});
}
template <class T, bool isReuseSource = false, const SinConfig& config = defaultSinConfig>
inline void Sin(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, Where at = Where::here())
{
    Sin<T, isReuseSource, config>(dstTensor, srcTensor, srcTensor.GetSize(), at);
}

template <class T, bool isReuseSource = false, const CosConfig& config = defaultCosConfig>
inline void Cos(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, const uint32_t calCount, Where at = Where::here())
{
    tile_simulator::wave<tile_simulator::Wave::cosine, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::temporary_space(sharedTmpBuffer), calCount, {"Cos", at});
}
template <class T, bool isReuseSource = false, const CosConfig& config = defaultCosConfig>
inline void Cos(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    Cos<T, isReuseSource, config>(dstTensor, srcTensor, sharedTmpBuffer, srcTensor.GetSize(), at);
}
template <class T, bool isReuseSource = false, const CosConfig& config = defaultCosConfig>
inline void Cos(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, const uint32_t calCount,
    Where at = Where::here())
{
    tile_simulator::wave<tile_simulator::Wave::cosine, isReuseSource>(
        dstTensor, srcTensor, tile_simulator::free_space(at), calCount, {"Cos", at});
}
template <class T, bool isReuseSource = false, const CosConfig& config = defaultCosConfig>
inline void Cos(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor, Where at = Where::here())
{
    Cos<T, isReuseSource, config>(dstTensor, srcTensor, srcTensor.GetSize(), at);
}

}  // namespace AscendC
