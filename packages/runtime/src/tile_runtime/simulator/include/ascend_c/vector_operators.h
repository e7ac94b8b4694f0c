// Whole tensors: dst = src0 + src1 and the like. As many elements as dst has; of a comparison as many as src0 has.
//
// The vendor's pages on Add, Sub, Mul, Div, And, Or and Compare.
#pragma once

#include "vector_binary.h"
#include "vector_select.h"

namespace tile_simulator {

// What a local tensor can be assigned: an action on the destination.
template <class Action>
struct TensorExpression {
    using OfTensors = Action;
    Action into;
};
template <class Action>
TensorExpression(Action) -> TensorExpression<Action>;

// The right side of an operator, and where the operator stands: an operator has no parameter more.
template <class T>
struct PlacedTensor {
    PlacedTensor(const AscendC::LocalTensor<T>& tensor, Where at = Where::here()) : tensor(tensor), at(at) {}

    AscendC::LocalTensor<T> tensor;
    Where at;
};
template <class T>
struct KnownElsewhere {
    using type = T;
};
// A parameter that a tensor is converted to: its T is that of the left side.
template <class T>
using RightSide = typename KnownElsewhere<PlacedTensor<T>>::type;

template <class T>
inline auto comparison(const AscendC::LocalTensor<T>& src0, const PlacedTensor<T>& src1, AscendC::CMPMODE mode)
{
    return TensorExpression{[=](const auto& dst) {
        AscendC::Compare(dst, src0, src1.tensor, mode, src0.GetSize(), src1.at);
    }};
}

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline auto operator+(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        Add(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator-(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        Sub(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator*(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        Mul(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator/(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        Div(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator&(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        And(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator|(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::TensorExpression{[=](const LocalTensor<T>& dst) {
        Or(dst, src0, src1.tensor, static_cast<int32_t>(dst.GetSize()), src1.at);
    }};
}
template <class T>
inline auto operator<(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::LT);
}
template <class T>
inline auto operator>(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::GT);
}
template <class T>
inline auto operator<=(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::LE);
}
template <class T>
inline auto operator>=(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::GE);
}
template <class T>
inline auto operator==(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::EQ);
}
template <class T>
inline auto operator!=(const LocalTensor<T>& src0, tile_simulator::RightSide<T> src1)
{
    return tile_simulator::comparison<T>(src0, src1, CMPMODE::NE);
}

}  // namespace AscendC
