// Copies to and from another rank by the SDMA engine, which needs no core (vendor: shmem,
// include/device/gm2gm/engine/shmem_device_sdma.h).
//
// A core has a queue of its own there. A transfer is complete once the core has waited for the queue, and not
// otherwise: aclshmem_quiet waits for pipes alone. The functions post their requests by way of 64 bytes of UB.
#pragma once

#include "transfer.h"

namespace tile_simulator {

// `scratch`: 64 bytes of UB; `event`: what the functions use between MTE3 and MTE2.
void engine_copy(
    uint64_t target, uint64_t source, uint64_t bytes, const LocalBytes& scratch, uint32_t event, int pe, Use use);
void engine_quiet(const LocalBytes& scratch, uint32_t event, Use use);

}  // namespace tile_simulator


template <class T>
inline void aclshmemx_sdma_put_nbi(__gm__ T* dst, __gm__ T* src, __ubuf__ T* buf, uint32_t ub_size, uint32_t elem_size,
    int pe, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_sdma_put_nbi", at};
    tile_simulator::engine_copy(tile_simulator::remote_address(reinterpret_cast<uint64_t>(dst), pe, use),
        reinterpret_cast<uint64_t>(src), uint64_t(elem_size) * sizeof(T), tile_simulator::local_bytes(buf, ub_size, use),
        sync_id, pe, use);
}
template <class T>
inline void aclshmemx_sdma_get_nbi(__gm__ T* dst, __gm__ T* src, __ubuf__ T* buf, uint32_t ub_size, uint32_t elem_size,
    int pe, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_sdma_get_nbi", at};
    tile_simulator::engine_copy(reinterpret_cast<uint64_t>(dst),
        tile_simulator::remote_address(reinterpret_cast<uint64_t>(src), pe, use), uint64_t(elem_size) * sizeof(T),
        tile_simulator::local_bytes(buf, ub_size, use), sync_id, pe, use);
}
template <class T>
inline void aclshmemx_sdma_put_nbi(AscendC::GlobalTensor<T>& dst, AscendC::GlobalTensor<T>& src,
    AscendC::LocalTensor<T>& buf, uint32_t elem_size, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_sdma_put_nbi", at};
    tile_simulator::engine_copy(
        tile_simulator::remote_address(reinterpret_cast<uint64_t>(dst.GetPhyAddr()), pe, use),
        reinterpret_cast<uint64_t>(src.GetPhyAddr()), uint64_t(elem_size) * sizeof(T),
        buf.template ReinterpretCast<uint8_t>(), sync_id, pe, use);
}
template <class T>
inline void aclshmemx_sdma_get_nbi(AscendC::GlobalTensor<T>& dst, AscendC::GlobalTensor<T>& src,
    AscendC::LocalTensor<T>& buf, uint32_t elem_size, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_sdma_get_nbi", at};
    tile_simulator::engine_copy(reinterpret_cast<uint64_t>(dst.GetPhyAddr()),
        tile_simulator::remote_address(reinterpret_cast<uint64_t>(src.GetPhyAddr()), pe, use),
        uint64_t(elem_size) * sizeof(T), buf.template ReinterpretCast<uint8_t>(), sync_id, pe, use);
}

// All that this core has given to the engine is done.
template <class T>
inline void aclshmemx_sdma_quiet(
    AscendC::LocalTensor<T>& buf, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    tile_simulator::engine_quiet(buf.template ReinterpretCast<uint8_t>(), sync_id, {"aclshmemx_sdma_quiet", at});
}
template <class T>
inline void aclshmemx_sdma_quiet(
    __ubuf__ T* buf, uint32_t ub_size, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_sdma_quiet", at};
    tile_simulator::engine_quiet(tile_simulator::local_bytes(buf, ub_size, use), sync_id, use);
}
