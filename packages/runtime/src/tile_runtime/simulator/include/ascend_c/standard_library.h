// AscendC::Std, the part of C++'s library that kernels may use: here the names of the host's own.
#pragma once

#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "numbers.h"

namespace AscendC::Std {

using std::add_const;
using std::add_const_t;
using std::add_cv;
using std::add_cv_t;
using std::add_lvalue_reference;
using std::add_lvalue_reference_t;
using std::add_pointer;
using std::add_pointer_t;
using std::add_rvalue_reference;
using std::add_rvalue_reference_t;
using std::add_volatile;
using std::add_volatile_t;
using std::bool_constant;
using std::conditional;
using std::conditional_t;
using std::decay;
using std::decay_t;
using std::declval;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_array;
using std::is_array_v;
using std::is_base_of;
using std::is_base_of_v;
using std::is_class;
using std::is_class_v;
using std::is_const;
using std::is_const_v;
using std::is_convertible;
using std::is_convertible_v;
using std::is_function;
using std::is_function_v;
using std::is_integral;
using std::is_integral_v;
using std::is_pointer;
using std::is_pointer_v;
using std::is_reference;
using std::is_reference_v;
using std::is_same;
using std::is_same_v;
using std::is_union;
using std::is_union_v;
using std::is_void;
using std::is_void_v;
using std::remove_const;
using std::remove_const_t;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_extent;
using std::remove_extent_t;
using std::remove_pointer;
using std::remove_pointer_t;
using std::remove_reference;
using std::remove_reference_t;
using std::remove_volatile;
using std::remove_volatile_t;
using std::true_type;

using std::forward;
using std::get;
using std::index_sequence;
using std::make_index_sequence;
using std::make_tuple;
using std::move;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

template <class T, T... values>
using IntegerSequence = std::integer_sequence<T, values...>;
template <class T, T count>
using MakeIntegerSequence = std::make_integer_sequence<T, count>;
template <class A, class B>
using IsSame = std::is_same<A, B>;
template <class T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;
template <class T>
struct is_floating_point : std::bool_constant<std::is_floating_point_v<T> || std::is_same_v<std::remove_cv_t<T>, half>> {
};
template <class T>
inline constexpr bool is_floating_point_v = is_floating_point<T>::value;
template <class T, class... Others>
struct is_one_of : std::bool_constant<(std::is_same_v<T, Others> || ...)> {};
template <class T, class... Others>
inline constexpr bool is_one_of_v = is_one_of<T, Others...>::value;

// Of any two types, unlike C++'s own.
template <class A, class B>
constexpr auto min(const A& a, const B& b)
{
    return b < a ? b : a;
}
template <class A, class B>
constexpr auto max(const A& a, const B& b)
{
    return a < b ? b : a;
}
template <class T>
inline T sqrt(const T value)
{
    return static_cast<T>(std::sqrt(static_cast<float>(value)));
}
template <class T>
constexpr T abs(const T value)
{
    return value < T(0) ? T(-value) : value;
}
template <class A, class B>
constexpr auto ceil_division(const A& a, const B& b)
{
    return (a + b - 1) / b;
}
template <class A, class B>
constexpr auto ceil_align(const A& a, const B& b)
{
    return ceil_division(a, b) * b;
}

}  // namespace AscendC::Std
