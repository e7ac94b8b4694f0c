// GlobalTensor and LocalTensor: typed views of GM and of a core's local memories.
#pragma once

#include "operand.h"

namespace tile_simulator {

uint8_t* local_pointer(LocalOperand tensor, uint64_t offset, uint32_t bytes, Use use);
void local_load(LocalOperand tensor, uint64_t offset, uint32_t bytes, void* value, Use use);
void local_store(LocalOperand tensor, uint64_t offset, uint32_t bytes, const void* value, Use use);
void global_load(GlobalOperand element, uint32_t bytes, void* value, Use use);
void global_store(GlobalOperand element, uint32_t bytes, const void* value, Use use);
uint8_t* global_pointer(GlobalOperand element, uint32_t bytes, Use use);

}  // namespace tile_simulator

namespace AscendC {

using tile_simulator::Where;
using TBufHandle = uint8_t*;
using TTagType = int32_t;

// Placement of a local tensor, with the field names of the device headers (kernels set it through SetAddr).
struct TBuffAddr {
    uint32_t dataLen = 0;
    uint32_t bufferAddr = 0;
    TBufHandle bufferHandle = nullptr;
    uint8_t logicPos = 0;
};

template <class T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(TPosition position, uint32_t address, uint32_t elements, Where at = Where::here())
    {
        address_.logicPos = static_cast<uint8_t>(position);
        address_.bufferAddr = address;
        address_.dataLen = bytes(elements);
        own(at);
    }
    explicit LocalTensor(const TBuffAddr& address, Where at = Where::here()) : address_(address) { own(at); }

    void SetAddr(const TBuffAddr& address, Where at = Where::here())
    {
        address_ = address;
        own(at);
    }
    T GetValue(const uint32_t index, Where at = Where::here()) const
    {
        static_assert(!std::is_same_v<T, int4b_t>, "GetValue: an element of four bits has no address");
        T value;
        tile_simulator::local_load(operand(), uint64_t(index) * sizeof(T), sizeof(T), &value, {"GetValue", at});
        return value;
    }
    template <class V>
    void SetValue(const uint32_t index, const V value, Where at = Where::here()) const
    {
        static_assert(!std::is_same_v<T, int4b_t>, "SetValue: an element of four bits has no address");
        const T typed = static_cast<T>(value);
        tile_simulator::local_store(operand(), uint64_t(index) * sizeof(T), sizeof(T), &typed, {"SetValue", at});
    }
    T& operator()(const uint32_t index, Where at = Where::here()) const
    {
        return *reinterpret_cast<T*>(
            tile_simulator::local_pointer(operand(), uint64_t(index) * sizeof(T), sizeof(T), {"operator()", at}));
    }
    T* GetPhyAddr(const uint32_t index = 0, Where at = Where::here()) const
    {
        return reinterpret_cast<T*>(
            tile_simulator::local_pointer(operand(), uint64_t(index) * sizeof(T), 0, {"GetPhyAddr", at}));
    }
    LocalTensor operator[](const uint32_t elements) const
    {
        LocalTensor result = *this;
        const uint32_t skipped = bytes(elements);
        result.address_.bufferAddr += skipped;
        result.address_.dataLen = skipped < address_.dataLen ? address_.dataLen - skipped : 0;
        return result;
    }
    template <class U>
    LocalTensor<U> ReinterpretCast() const
    {
        LocalTensor<U> result;
        result.address_ = address_;
        result.buffer_ = buffer_;
        return result;
    }
    // Of two whole tensors, as vector_operators.h makes it from operators.
    template <class E, class = typename E::OfTensors>
    void operator=(const E& expression)
    {
        expression.into(*this);
    }
    int32_t GetPosition() const { return address_.logicPos; }
    void SetSize(const uint32_t elements) { address_.dataLen = bytes(elements); }
    uint32_t GetSize() const
    {
        return std::is_same_v<T, int4b_t> ? address_.dataLen * 2 : address_.dataLen / static_cast<uint32_t>(sizeof(T));
    }
    void SetBufferLen(const uint32_t elements) { SetSize(elements); }
    TBufHandle GetBufferHandle() const { return address_.bufferHandle; }
    // A number of the kernel's own; nothing reads it.
    void SetUserTag(TTagType tag) { tag_ = tag; }
    TTagType GetUserTag() const { return tag_; }
    template <class S>
    void SetAddrWithOffset(LocalTensor<S>& source, uint32_t elements)
    {
        address_ = source.address_;
        address_.bufferAddr += bytes(elements);
        buffer_ = source.buffer_;
    }
    uint32_t GetLength() const { return address_.dataLen; }

    tile_simulator::LocalOperand operand() const
    {
        return {address_.bufferAddr, address_.logicPos, tile_simulator::type_code<T>::value, buffer_};
    }

    TBuffAddr address_;
    tile_simulator::Buffer buffer_;  // not of the device headers: what accesses are checked against

private:
    TTagType tag_ = -1;

    static constexpr uint32_t bytes(uint32_t elements)
    {
        return static_cast<uint32_t>(tile_simulator::bytes_of<T>(elements));
    }
    // The bytes the tensor has now are all that it and its parts may touch. DMA moves whole 32 B blocks. Of a tensor
    // without a length nothing is known.
    void own(Where at)
    {
        buffer_ = {};
        if (address_.dataLen != 0) {
            buffer_ = {address_.bufferAddr, address_.bufferAddr + (address_.dataLen + 31u) / 32u * 32u, at};
        }
    }
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements = 0)
    {
        address_ = origin_ = buffer;
        bufferSize_ = elements;
    }
    __gm__ T* GetPhyAddr(const uint64_t elements = 0) const { return reinterpret_cast<T*>(byte_address(elements)); }
    T GetValue(const uint64_t index, Where at = Where::here()) const
    {
        T value;
        tile_simulator::global_load(element(index), sizeof(T), &value, {"GetValue", at});
        return value;
    }
    void SetValue(const uint64_t index, T value, Where at = Where::here())
    {
        tile_simulator::global_store(element(index), sizeof(T), &value, {"SetValue", at});
    }
    __gm__ T& operator()(const uint64_t index, Where at = Where::here()) const
    {
        return *reinterpret_cast<T*>(
            tile_simulator::global_pointer(element(index), sizeof(T), {"operator()", at}));
    }
    GlobalTensor operator[](const uint64_t elements) const
    {
        GlobalTensor result = *this;
        result.address_ = reinterpret_cast<T*>(byte_address(elements));
        result.bufferSize_ = elements < bufferSize_ ? bufferSize_ - elements : 0;
        return result;
    }
    uint64_t GetSize() const { return bufferSize_; }
    // Of the time model only, and for reads: what is written stays in L2.
    template <CacheRwMode mode = CacheRwMode::RW>
    void SetL2CacheHint([[maybe_unused]] CacheMode hint)
    {
        if constexpr (mode != CacheRwMode::WRITE) {
            past_l2_ = hint == CacheMode::CACHE_MODE_DISABLE;
        }
    }

    tile_simulator::GlobalOperand operand() const
    {
        return element(0);
    }

    T* address_ = nullptr;
    uint64_t bufferSize_ = 0;

private:
    tile_simulator::GlobalOperand element(uint64_t index) const
    {
        return {byte_address(index), tile_simulator::type_code<T>::value, reinterpret_cast<uint64_t>(origin_),
            past_l2_};
    }

    bool past_l2_ = false;

    // Integer arithmetic: an offset outside the array must reach the bounds check, not be undefined behaviour.
    uint64_t byte_address(uint64_t index) const
    {
        return reinterpret_cast<uint64_t>(address_) + tile_simulator::bytes_of<T>(index);
    }

    T* origin_ = nullptr;  // what SetGlobalBuffer was given
};

}  // namespace AscendC
