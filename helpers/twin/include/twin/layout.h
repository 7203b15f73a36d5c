// Layouts: the shape of a tensor and the steps of its dimensions, known to the compiler as far as their types say so.
#pragma once
#include "twin/std.h"
#include "twin/types.h"

namespace AscendC {

// ---- Shape Stride
// Tuples of extents and of steps in elements, outermost first; read with Std::get<i>.
// No limits.
// not an instruction
template <class... T> using Shape = Std::tuple<T...>;
template <class... T> using Stride = Std::tuple<T...>;

// ---- MakeShape MakeStride
// MakeShape(2, 16, 64), MakeStride(1024, 64, 1), or none: MakeStride() is empty.
// No limits.
// not an instruction
template <class... T> constexpr Shape<T...> MakeShape(const T&... extents) { return {extents...}; }
template <class... T> constexpr Stride<T...> MakeStride(const T&... steps) { return {steps...}; }

// ---- Layout
// A shape with its steps; layout(i, j, …) is the place of an element, layout.Size() the number of elements.
// as many indices as dimensions; without steps the elements lie side by side, the last index fastest
// not an instruction
template <class ShapeT, class StrideT = Stride<>>
struct Layout {
    ShapeT shape{};
    StrideT stride{};
    constexpr Layout() = default;
    constexpr Layout(const ShapeT& shape_, const StrideT& stride_ = {}) : shape(shape_), stride(stride_) {}
    constexpr const ShapeT& GetShape() const { return shape; }
    constexpr const StrideT& GetStride() const { return stride; }
    constexpr uint64_t Size() const { return size_<0>(); }
    template <class... I> constexpr uint64_t operator()(const I&... index) const {
        static_assert(sizeof...(I) == Std::tuple_size<ShapeT>::value, "A layout takes one index for each dimension of its shape.");
        return at_<0>(index...);
    }

private:
    template <size_t k> constexpr uint64_t size_() const {
        if constexpr (k < Std::tuple_size<ShapeT>::value) return static_cast<uint64_t>(Std::get<k>(shape)) * size_<k + 1>();
        else return 1;
    }
    template <size_t k, class... I> constexpr uint64_t at_(uint64_t first, const I&... more) const {
        if constexpr (Std::tuple_size<StrideT>::value == 0) first *= size_<k + 1>();
        else first *= static_cast<uint64_t>(Std::get<k>(stride));
        if constexpr (sizeof...(I) > 0) first += at_<k + 1>(more...);
        return first;
    }
};

// ---- MakeLayout
// Layout of a shape and its steps.
// as many steps as dimensions, or none
// not an instruction
template <class ShapeT, class StrideT = Stride<>>
constexpr Layout<ShapeT, StrideT> MakeLayout(const ShapeT& shape, const StrideT& stride = {}) {
    static_assert(Std::tuple_size<StrideT>::value == 0 || Std::tuple_size<StrideT>::value == Std::tuple_size<ShapeT>::value, "A layout has one step for each dimension of its shape, or none.");
    return {shape, stride};
}

}  // namespace AscendC
