// Dynamic lists of inputs: one GM block holds shapes and pointers of all tensors.
#pragma once
#include "twin/global_tensor.h"

namespace AscendC {

// ---- TensorDesc
// Shape and address of one tensor of a list. limits: SetShapeAddr(buffer of dim uint64) before GetDesc. pipe: S
template <class T>
class TensorDesc {
public:
    void SetShapeAddr(uint64_t* shape) { shape_ = shape; }
    uint64_t GetDim() const { return dim_; }
    uint64_t GetIndex() const { return index_; }
    uint64_t GetShape(uint32_t k) const { return k < dim_ ? shape_[k] : 0; }
    __gm__ T* GetDataPtr() const { return data_; }
    GlobalTensor<T> GetDataObj() const {
        uint64_t n = 1;
        for (uint64_t k = 0; k < dim_; ++k) n *= shape_[k];
        GlobalTensor<T> g;
        g.SetGlobalBuffer(data_, dim_ ? n : 0);
        return g;
    }

private:
    friend class ListTensorDesc;
    uint64_t* shape_ = nullptr;
    uint64_t dim_ = 0, index_ = 0;
    T* data_ = nullptr;
};

// ---- ListTensorDesc
// Words of the block: [0] byte offset of the pointer array; per tensor {dim, count or index; dim words}; then the pointers.
// limits: every tensor has the same number of dims. pipe: S
class ListTensorDesc {
public:
    ListTensorDesc() = default;
    ListTensorDesc(__gm__ void* data, uint32_t length = 0xffffffff, uint32_t shapeSize = 0xffffffff) { Init(data, length, shapeSize); }
    void Init(__gm__ void* data, uint32_t = 0xffffffff, uint32_t = 0xffffffff) {
        words_ = static_cast<const uint64_t*>(data);
        pointers_ = words_ + words_[0] / 8;
        dim_ = static_cast<uint32_t>(words_[1]);
        const uint64_t stride = 1 + dim_;
        const uint64_t records = (words_[0] / 8 - 1) / stride;
        const uint32_t first = static_cast<uint32_t>(words_[1] >> 32);
        if (words_[2] == 0xffffffff && dim_ == 0) count_ = first;                          // pointers only
        else count_ = first ? first : static_cast<uint32_t>(words_[1 + (records - 1) * stride] >> 32) + 1;
    }
    uint32_t GetSize() const { return count_; }
    template <class T>
    __gm__ T* GetDataPtr(uint32_t i) const { return i < count_ ? reinterpret_cast<T*>(pointers_[i]) : nullptr; }
    template <class T>
    void GetDesc(TensorDesc<T>& d, uint32_t i) const {
        d.dim_ = dim_;
        d.index_ = i;
        d.data_ = GetDataPtr<T>(i);
        if (d.shape_)
            for (uint32_t k = 0; k < dim_; ++k) d.shape_[k] = words_[2 + i * (1 + dim_) + k];
    }

private:
    const uint64_t* words_ = nullptr;
    const uint64_t* pointers_ = nullptr;
    uint32_t dim_ = 0, count_ = 0;
};

}  // namespace AscendC
