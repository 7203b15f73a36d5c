// AscendC::Std: the part of the standard library that kernels may use on the device.
#pragma once
#include "twin/qualifiers.h"

namespace AscendC {
namespace Std {

using std::add_const;
using std::add_cv;
using std::add_lvalue_reference;
using std::add_pointer;
using std::add_rvalue_reference;
using std::add_volatile;
using std::conditional;
using std::conditional_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::integral_constant;
using std::is_array;
using std::is_base_of;
using std::is_base_of_v;
using std::is_const;
using std::is_const_v;
using std::is_convertible;
using std::is_convertible_v;
using std::is_floating_point;
using std::is_integral;
using std::is_integral_v;
using std::is_pointer;
using std::is_pointer_v;
using std::is_reference;
using std::is_same;
using std::is_same_v;
using std::is_void;
using std::is_void_v;
using std::remove_const;
using std::remove_const_t;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_pointer;
using std::remove_pointer_t;
using std::remove_reference;
using std::remove_reference_t;
using std::remove_volatile;
using std::true_type;
template <class T> using remove_cvref = std::remove_cv<std::remove_reference_t<T>>;
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <size_t n> using Int = std::integral_constant<size_t, n>;

// ---- Std::index_sequence
template <class T, T... I> struct integer_sequence { static constexpr size_t size() { return sizeof...(I); } };
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <size_t N, size_t... I> struct twin_make_sequence : twin_make_sequence<N - 1, N - 1, I...> {};
template <size_t... I> struct twin_make_sequence<0, I...> { using type = index_sequence<I...>; };
template <size_t N> using make_index_sequence = typename twin_make_sequence<N>::type;

// ---- Std::tuple
template <class... T> struct tuple;
template <> struct tuple<> {};
template <class H, class... T> struct tuple<H, T...> {
    H head{};
    tuple<T...> tail{};
    constexpr tuple() = default;
    constexpr tuple(const H& h, const T&... t) : head(h), tail(t...) {}
};
template <size_t I, class T> struct tuple_element;
template <class H, class... T> struct tuple_element<0, tuple<H, T...>> { using type = H; };
template <size_t I, class H, class... T> struct tuple_element<I, tuple<H, T...>> : tuple_element<I - 1, tuple<T...>> {};
template <size_t I, class T> using tuple_element_t = typename tuple_element<I, T>::type;
template <class T> struct tuple_size;
template <class... T> struct tuple_size<tuple<T...>> : std::integral_constant<size_t, sizeof...(T)> {};
template <class T> constexpr size_t tuple_size_v = tuple_size<T>::value;
template <class T> struct is_tuple : std::false_type {};
template <class... T> struct is_tuple<tuple<T...>> : std::true_type {};
template <class T> constexpr bool is_tuple_v = is_tuple<T>::value;
template <class... T> constexpr tuple<std::decay_t<T>...> make_tuple(const T&... t) { return tuple<std::decay_t<T>...>(t...); }
template <size_t I, class H, class... T> constexpr auto& get(tuple<H, T...>& t) {
    if constexpr (I == 0) return t.head; else return get<I - 1>(t.tail);
}
template <size_t I, class H, class... T> constexpr const auto& get(const tuple<H, T...>& t) {
    if constexpr (I == 0) return t.head; else return get<I - 1>(t.tail);
}

// ---- Std::min
template <class T, class U> constexpr T min(const T a, const U b) {
    static_assert(std::is_same<T, U>::value, "UNSUPPORTED_TYPE: Std::min takes two values of one type. Fix: cast one of them");
    return a < b ? a : b;
}
// ---- Std::max
template <class T, class U> constexpr T max(const T a, const U b) {
    static_assert(std::is_same<T, U>::value, "UNSUPPORTED_TYPE: Std::max takes two values of one type. Fix: cast one of them");
    return a < b ? b : a;
}
// ---- Std::abs
template <class T> constexpr T abs(const T v) { return v < T(0) ? static_cast<T>(-v) : v; }
// ---- Std::sqrt
template <class T> T sqrt(const T v) {
    static_assert(std::is_same<T, float>::value || std::is_same<T, int64_t>::value, "UNSUPPORTED_TYPE: Std::sqrt takes float or int64_t");
    return static_cast<T>(std::sqrt(static_cast<std::conditional_t<std::is_same<T, float>::value, float, double>>(v)));
}

}  // namespace Std
}  // namespace AscendC
