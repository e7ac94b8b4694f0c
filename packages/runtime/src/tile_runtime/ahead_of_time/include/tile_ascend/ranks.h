// Kernels over ranks that were built ahead of time, from C++: memory that every rank has, and launches on all of them.
//
// On the simulator the ranks are devices of this process, and one launch checks what they do to each other. On a device
// this process is one of them: start the vendor's SHMEM library first (aclshmemx_init_attr), compile without
// TILE_ASCEND_SIMULATOR and link it (-lshmem). Kernels find their rank in what it has left on the device.
#pragma once

#include <cstdint>

#include "tile_ascend/device_memory.h"

#ifndef TILE_ASCEND_SIMULATOR
#include "shmem.h"
#endif

namespace tile_ascend {

// `count` ranks; of them `own` are launched by this process.
class Ranks {
public:
    explicit Ranks(uint32_t count) : count_(count)
    {
#ifndef TILE_ASCEND_SIMULATOR
        if (aclshmemx_init_status() != ACLSHMEM_STATUS_IS_INITIALIZED) {
            throw std::runtime_error("ranks: SHMEM is not initialised: call aclshmemx_init_attr first");
        }
        if (static_cast<uint32_t>(aclshmem_n_pes()) != count) {
            throw std::runtime_error("ranks: " + std::to_string(count) + " are asked for where SHMEM has " +
                                     std::to_string(aclshmem_n_pes()));
        }
#endif
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    uint32_t count() const { return count_; }
    // The first rank of this process, and the one after its last.
    uint32_t first() const
    {
#ifdef TILE_ASCEND_SIMULATOR
        return 0;
#else
        return static_cast<uint32_t>(aclshmem_my_pe());
#endif
    }
    uint32_t end() const
    {
#ifdef TILE_ASCEND_SIMULATOR
        return count_;
#else
        return first() + 1;
#endif
    }

    // Calls `entry(rank)`, which calls the entry of a kernel, for each rank of this process. All ranks call the same.
    template <class Entry>
    void launch(Entry&& entry)
    {
#ifdef TILE_ASCEND_SIMULATOR
        KnownMemory::instance().tell();
        tile_simulator_begin_ranks(count_, symmetric_.data(), symmetric_.size());
        try {
            for (uint32_t rank = 0; rank < count_; ++rank) {
                tile_simulator_next_rank();
                entry(rank);
            }
        } catch (...) {
            tile_simulator_begin_ranks(0, nullptr, 0);  // nothing is launched
            throw;
        }
        tile_simulator_end_ranks();
#else
        entry(first());
#endif
    }

private:
    template <class T>
    friend class SymmetricMemory;
    uint32_t count_;
#ifdef TILE_ASCEND_SIMULATOR
    std::vector<TileSymmetric> symmetric_;
#endif
};

// `count` elements on every rank, which the others reach. Made by all ranks in one order, before the launches that use
// it, and gone before its `Ranks`.
template <class T>
class SymmetricMemory {
public:
    SymmetricMemory(Ranks& ranks, size_t count, const char* name = "symmetric") : ranks_(ranks), count_(count)
    {
#ifdef TILE_ASCEND_SIMULATOR
        for (uint32_t rank = 0; rank < ranks.count(); ++rank) {
            void* base = ::operator new(bytes() + 1, std::align_val_t(512));
            std::memset(base, 0, bytes());
            bases_.push_back(base);
        }
        ranks.symmetric_.push_back(TileSymmetric{bases_.data(), bytes(), name});
#else
        (void)name;
        bases_.assign(ranks.count(), nullptr);
        bases_[ranks.first()] = aclshmem_calloc(count, sizeof(T));
        if (bases_[ranks.first()] == nullptr) {
            throw std::runtime_error("ranks: no symmetric memory left");
        }
#endif
    }
    ~SymmetricMemory()
    {
#ifdef TILE_ASCEND_SIMULATOR
        for (size_t i = 0; i < ranks_.symmetric_.size(); ++i) {
            if (ranks_.symmetric_[i].bases == bases_.data()) {
                ranks_.symmetric_.erase(ranks_.symmetric_.begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
        }
        for (const void* base : bases_) {
            ::operator delete(const_cast<void*>(base), std::align_val_t(512));
        }
#else
        aclshmem_free(const_cast<void*>(bases_[ranks_.first()]));
#endif
    }
    SymmetricMemory(const SymmetricMemory&) = delete;
    SymmetricMemory& operator=(const SymmetricMemory&) = delete;

    // As the entry of a kernel takes it, on a rank of this process.
    uint8_t* handle(uint32_t rank) const
    {
        if (rank < ranks_.first() || rank >= ranks_.end()) {
            throw std::out_of_range("ranks: rank " + std::to_string(rank) + " is of another process");
        }
        return static_cast<uint8_t*>(const_cast<void*>(bases_[rank]));
    }
    size_t bytes() const { return count_ * sizeof(T); }

    void copy_from(uint32_t rank, const std::vector<T>& values)
    {
        copy(handle(rank), values.data(), ACL_MEMCPY_HOST_TO_DEVICE);
    }
    std::vector<T> to_host(uint32_t rank) const
    {
        std::vector<T> values(count_);
        copy(values.data(), handle(rank), ACL_MEMCPY_DEVICE_TO_HOST);
        return values;
    }

private:
    void copy(void* to, const void* from, aclrtMemcpyKind kind) const { copy_memory(to, from, bytes(), kind); }
    Ranks& ranks_;
    size_t count_;
    std::vector<const void*> bases_;
};

}  // namespace tile_ascend
