// ListTensorDesc: a list of tensors that a kernel gets as one argument (dynamic inputs).
//
// In GM, as words of 64 bits: the distance in bytes to the pointers; for every tensor a word of its number of dimensions
// (low 32 bits) and its index (high 32 bits), and its dimensions; then the pointers. A list without shapes has one word
// of 0 dimensions (low) and the number of pointers (high), and a filler.
#pragma once

#include "tensor.h"

namespace tile_simulator {

struct TensorList {
    uint64_t address = 0;   // of the list
    uint64_t pointers = 0;  // address of the first
    uint32_t dimensions = 0;
    uint32_t count = 0;
};

TensorList read_tensor_list(const void* data, uint32_t length, uint32_t count, Use use);
// `size` is that of an element. The pointer of a list without shapes may be null.
uint64_t tensor_pointer(const TensorList& list, uint32_t index, uint64_t size, Use use);
// Writes the dimensions to `shape`.
void tensor_shape(const TensorList& list, uint32_t index, uint64_t* shape, Use use);
void require_dimension(uint32_t offset, uint32_t dimensions, bool has_shape, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T>
class TensorDesc {
public:
    // Where GetDesc writes the shape: room for all its dimensions.
    void SetShapeAddr(uint64_t* shapePtr) { shape_ = shapePtr; }
    uint64_t GetDim() const { return dimensions_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t offset, Where at = Where::here()) const
    {
        tile_simulator::require_dimension(offset, dimensions_, shape_ != nullptr, {"TensorDesc::GetShape", at});
        return shape_[offset];
    }
    __gm__ T* GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj() const
    {
        uint64_t elements = 1;
        for (uint32_t i = 0; i < dimensions_ && shape_ != nullptr; ++i) {
            elements *= shape_[i];
        }
        GlobalTensor<T> tensor;
        tensor.SetGlobalBuffer(data_, elements);
        return tensor;
    }

private:
    friend class ListTensorDesc;

    uint64_t* shape_ = nullptr;
    uint32_t dimensions_ = 0;
    uint32_t index_ = 0;
    T* data_ = nullptr;
};

class ListTensorDesc {
public:
    ListTensorDesc() = default;
    // `length` in bytes and `shapeSize`, the number of tensors, are checked if given.
    ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff,
        Where at = Where::here())
    {
        Init(data, length, shapeSize, at);
    }
    void Init(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff,
        Where at = Where::here())
    {
        list_ = tile_simulator::read_tensor_list(data, length, shapeSize, {"ListTensorDesc", at});
    }
    template <class T>
    void GetDesc(TensorDesc<T>& desc, uint32_t index, Where at = Where::here())
    {
        const tile_simulator::Use use = {"ListTensorDesc::GetDesc", at};
        tile_simulator::tensor_shape(list_, index, desc.shape_, use);
        desc.dimensions_ = list_.dimensions;
        desc.index_ = index;
        desc.data_ = reinterpret_cast<T*>(tile_simulator::tensor_pointer(list_, index, sizeof(T), use));
    }
    template <class T>
    __gm__ T* GetDataPtr(uint32_t index, Where at = Where::here())
    {
        return reinterpret_cast<T*>(
            tile_simulator::tensor_pointer(list_, index, sizeof(T), {"ListTensorDesc::GetDataPtr", at}));
    }
    uint32_t GetSize() const { return list_.count; }

private:
    tile_simulator::TensorList list_;
};

}  // namespace AscendC
