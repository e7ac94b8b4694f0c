// Copies to and from another rank by way of UB: put and get (vendor: shmem, include/device/gm2gm/engine/
// shmem_device_mte.h, include/device/ub2gm/engine/shmem_device_mte.h, include/device/gm2gm/shmem_device_rma.h).
//
// The destination stands first. The last transfer of a call is left open: who uses the buffer next waits for it.
#pragma once

#include "order.h"
#include "signal.h"

// Rows of `length` elements; from the start of one to the next, `src_ld` and `dst_ld` elements.
struct non_contiguous_copy_param {
    uint32_t repeat;
    uint32_t length;
    uint32_t src_ld;
    uint32_t dst_ld;
};

namespace tile_simulator {

struct RankBuffer {
    uint32_t offset;
    uint32_t bytes;
    uint32_t event;
};

RankBuffer rank_buffer(Use use);
uint32_t offset_in_ub(const void* pointer, Use use);

// Bytes of GM and of UB.
using GlobalBytes = AscendC::GlobalTensor<uint8_t>;
using LocalBytes = AscendC::LocalTensor<uint8_t>;

inline GlobalBytes global_bytes(uint64_t address)
{
    GlobalBytes tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<uint8_t*>(address));
    return tensor;
}
template <class T>
GlobalBytes global_bytes(const AscendC::GlobalTensor<T>& tensor)
{
    return global_bytes(reinterpret_cast<uint64_t>(tensor.GetPhyAddr()));
}
inline GlobalBytes remote_bytes(const GlobalBytes& own, int pe, Use use)
{
    return global_bytes(remote_address(reinterpret_cast<uint64_t>(own.GetPhyAddr()), pe, use));
}
inline LocalBytes local_bytes(uint32_t offset, uint32_t bytes)
{
    return LocalBytes(AscendC::TPosition::VECIN, offset, bytes);
}
template <class T>
LocalBytes local_bytes(const T* pointer, uint32_t bytes, Use use)
{
    return local_bytes(offset_in_ub(pointer, use), bytes);
}

inline void order_transfers(AscendC::HardEvent event, uint32_t id, AscendC::Where at)
{
    tile_simulator::set_flag(event, id, {"SetFlag", at});
    tile_simulator::wait_flag(event, id, {"WaitFlag", at});
}

// Piece by piece through the buffer.
inline void copy_through(
    const GlobalBytes& dst, const GlobalBytes& src, const LocalBytes& buffer, uint64_t bytes, uint32_t event, Use use)
{
    const SiteScope site(use.at);
    const uint64_t piece = buffer.GetSize();
    if (piece == 0) {
        return;
    }
    for (uint64_t done = 0; done < bytes; done += piece) {
        const auto length = static_cast<uint32_t>(bytes - done < piece ? bytes - done : piece);
        if (done != 0) {
            order_transfers(AscendC::HardEvent::MTE3_MTE2, event, use.at);
        }
        copy_in_padded(buffer.operand(), src[done].operand(), {1, length, 0, 0, 0}, {}, use);
        order_transfers(AscendC::HardEvent::MTE2_MTE3, event, use.at);
        copy_out_padded(dst[done].operand(), buffer.operand(), {1, length, 0, 0, 0}, use);
    }
}

inline AscendC::DataCopyExtParams rows_in(const non_contiguous_copy_param& p, uint32_t size)
{
    return {p.repeat, p.length * size, (p.src_ld - p.length) * size, 0, 0};
}
inline AscendC::DataCopyExtParams rows_out(const non_contiguous_copy_param& p, uint32_t size)
{
    return {p.repeat, p.length * size, 0, (p.dst_ld - p.length) * size, 0};
}
inline void copy_rows_through(const GlobalBytes& dst, const GlobalBytes& src, const LocalBytes& buffer,
    const non_contiguous_copy_param& p, uint32_t size, uint32_t event, Use use)
{
    const SiteScope site(use.at);
    copy_in_padded(buffer.operand(), src.operand(), rows_in(p, size), {}, use);
    order_transfers(AscendC::HardEvent::MTE2_MTE3, event, use.at);
    copy_out_padded(dst.operand(), buffer.operand(), rows_out(p, size), use);
}

}  // namespace tile_simulator

// GM to GM through a buffer in UB, which is given, or the one of aclshmemx_set_mte_config.
template <class T>
inline void aclshmemx_mte_put_nbi(__gm__ T* dst, __gm__ T* src, __ubuf__ T* buf, uint32_t ub_size, uint32_t elem_size,
    int pe, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_put_nbi", at};
    tile_simulator::copy_through(
        tile_simulator::global_bytes(tile_simulator::remote_address(reinterpret_cast<uint64_t>(dst), pe, use)),
        tile_simulator::global_bytes(reinterpret_cast<uint64_t>(src)),
        tile_simulator::local_bytes(buf, ub_size / sizeof(T) * sizeof(T), use), uint64_t(elem_size) * sizeof(T), sync_id,
        use);
}
template <class T>
inline void aclshmemx_mte_get_nbi(__gm__ T* dst, __gm__ T* src, __ubuf__ T* buf, uint32_t ub_size, uint32_t elem_size,
    int pe, uint32_t sync_id, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_get_nbi", at};
    tile_simulator::copy_through(tile_simulator::global_bytes(reinterpret_cast<uint64_t>(dst)),
        tile_simulator::global_bytes(tile_simulator::remote_address(reinterpret_cast<uint64_t>(src), pe, use)),
        tile_simulator::local_bytes(buf, ub_size / sizeof(T) * sizeof(T), use), uint64_t(elem_size) * sizeof(T), sync_id,
        use);
}
template <class T>
inline void aclshmemx_mte_put_nbi(AscendC::GlobalTensor<T> dst, AscendC::GlobalTensor<T> src,
    AscendC::LocalTensor<T> buf, uint32_t elem_size, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_put_nbi", at};
    tile_simulator::copy_through(tile_simulator::remote_bytes(tile_simulator::global_bytes(dst), pe, use),
        tile_simulator::global_bytes(src), buf.template ReinterpretCast<uint8_t>(), uint64_t(elem_size) * sizeof(T),
        sync_id, use);
}
template <class T>
inline void aclshmemx_mte_get_nbi(AscendC::GlobalTensor<T> dst, AscendC::GlobalTensor<T> src,
    AscendC::LocalTensor<T> buf, uint32_t elem_size, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_get_nbi", at};
    tile_simulator::copy_through(tile_simulator::global_bytes(dst),
        tile_simulator::remote_bytes(tile_simulator::global_bytes(src), pe, use),
        buf.template ReinterpretCast<uint8_t>(), uint64_t(elem_size) * sizeof(T), sync_id, use);
}
template <class T>
inline void aclshmemx_mte_put_nbi(AscendC::GlobalTensor<T> dst, AscendC::GlobalTensor<T> src,
    AscendC::LocalTensor<T> buf, const non_contiguous_copy_param& copy_params, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_put_nbi", at};
    tile_simulator::copy_rows_through(tile_simulator::remote_bytes(tile_simulator::global_bytes(dst), pe, use),
        tile_simulator::global_bytes(src), buf.template ReinterpretCast<uint8_t>(), copy_params, sizeof(T), sync_id,
        use);
}
template <class T>
inline void aclshmemx_mte_get_nbi(AscendC::GlobalTensor<T> dst, AscendC::GlobalTensor<T> src,
    AscendC::LocalTensor<T> buf, const non_contiguous_copy_param& copy_params, int pe, uint32_t sync_id,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_get_nbi", at};
    tile_simulator::copy_rows_through(tile_simulator::global_bytes(dst),
        tile_simulator::remote_bytes(tile_simulator::global_bytes(src), pe, use),
        buf.template ReinterpretCast<uint8_t>(), copy_params, sizeof(T), sync_id, use);
}

// Between UB and the memory of another rank.
template <class T>
inline void aclshmemx_mte_put_nbi(AscendC::GlobalTensor<T> dst, AscendC::LocalTensor<T> src, uint32_t elem_size, int pe,
    uint32_t, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_put_nbi", at};
    tile_simulator::copy_out_padded(
        tile_simulator::remote_bytes(tile_simulator::global_bytes(dst), pe, use).operand(),
        src.template ReinterpretCast<uint8_t>().operand(), {1, elem_size * uint32_t(sizeof(T)), 0, 0, 0}, use);
}
template <class T>
inline void aclshmemx_mte_get_nbi(AscendC::LocalTensor<T> dst, AscendC::GlobalTensor<T> src, uint32_t elem_size, int pe,
    uint32_t, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_get_nbi", at};
    tile_simulator::copy_in_padded(dst.template ReinterpretCast<uint8_t>().operand(),
        tile_simulator::remote_bytes(tile_simulator::global_bytes(src), pe, use).operand(),
        {1, elem_size * uint32_t(sizeof(T)), 0, 0, 0}, {}, use);
}
template <class T>
inline void aclshmemx_mte_put_nbi(AscendC::GlobalTensor<T> dst, AscendC::LocalTensor<T> src,
    const non_contiguous_copy_param& copy_params, int pe, uint32_t, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_put_nbi", at};
    tile_simulator::copy_out_padded(
        tile_simulator::remote_bytes(tile_simulator::global_bytes(dst), pe, use).operand(),
        src.template ReinterpretCast<uint8_t>().operand(), tile_simulator::rows_out(copy_params, sizeof(T)), use);
}
template <class T>
inline void aclshmemx_mte_get_nbi(AscendC::LocalTensor<T> dst, AscendC::GlobalTensor<T> src,
    const non_contiguous_copy_param& copy_params, int pe, uint32_t, AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmemx_mte_get_nbi", at};
    tile_simulator::copy_in_padded(dst.template ReinterpretCast<uint8_t>().operand(),
        tile_simulator::remote_bytes(tile_simulator::global_bytes(src), pe, use).operand(),
        tile_simulator::rows_in(copy_params, sizeof(T)), {}, use);
}

inline void aclshmem_putmem_nbi(__gm__ void* dst, __gm__ void* src, uint32_t elem_size, int32_t pe,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmem_putmem_nbi", at};
    const tile_simulator::RankBuffer buffer = tile_simulator::rank_buffer(use);
    tile_simulator::copy_through(
        tile_simulator::global_bytes(tile_simulator::remote_address(reinterpret_cast<uint64_t>(dst), pe, use)),
        tile_simulator::global_bytes(reinterpret_cast<uint64_t>(src)),
        tile_simulator::local_bytes(buffer.offset, buffer.bytes), elem_size, buffer.event, use);
}
inline void aclshmem_getmem_nbi(__gm__ void* dst, __gm__ void* src, uint32_t elem_size, int32_t pe,
    AscendC::Where at = AscendC::Where::here())
{
    const tile_simulator::Use use = {"aclshmem_getmem_nbi", at};
    const tile_simulator::RankBuffer buffer = tile_simulator::rank_buffer(use);
    tile_simulator::copy_through(tile_simulator::global_bytes(reinterpret_cast<uint64_t>(dst)),
        tile_simulator::global_bytes(tile_simulator::remote_address(reinterpret_cast<uint64_t>(src), pe, use)),
        tile_simulator::local_bytes(buffer.offset, buffer.bytes), elem_size, buffer.event, use);
}
inline void aclshmem_putmem(__gm__ void* dst, __gm__ void* src, uint32_t elem_size, int32_t pe,
    AscendC::Where at = AscendC::Where::here())
{
    aclshmem_putmem_nbi(dst, src, elem_size, pe, at);
    aclshmem_quiet(at);
}
inline void aclshmem_getmem(__gm__ void* dst, __gm__ void* src, uint32_t elem_size, int32_t pe,
    AscendC::Where at = AscendC::Where::here())
{
    aclshmem_getmem_nbi(dst, src, elem_size, pe, at);
    aclshmem_quiet(at);
}
// The signal arrives after the bytes.
inline void aclshmem_putmem_signal(__gm__ void* dst, __gm__ void* src, size_t elem_size, __gm__ int32_t* sig_addr,
    int32_t signal, int sig_op, int pe, AscendC::Where at = AscendC::Where::here())
{
    aclshmem_putmem_nbi(dst, src, static_cast<uint32_t>(elem_size), pe, at);
    aclshmem_quiet(at);
    aclshmemx_signal_op(sig_addr, signal, sig_op, pe, at);
}

#define shmem_putmem aclshmem_putmem
#define shmem_getmem aclshmem_getmem
#define shmem_putmem_nbi aclshmem_putmem_nbi
#define shmem_getmem_nbi aclshmem_getmem_nbi
#define shmem_putmem_signal aclshmem_putmem_signal
#define shmem_mte_put_mem_nbi aclshmemx_mte_put_nbi
#define shmem_mte_get_mem_nbi aclshmemx_mte_get_nbi
