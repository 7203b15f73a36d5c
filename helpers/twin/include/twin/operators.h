// dst = a + b on whole tensors.
#pragma once
#include "twin/vec_binary.h"
#include "twin/vec_compare_select.h"

namespace twin {

// The right operand, converted on the spot so that it carries the line of the expression.
template <class T>
struct OperandAt {
    LocalRef ref;
    At at;
    OperandAt(const AscendC::LocalTensor<T>& t, At at_ = At::here()) : ref(t.ref()), at(at_) {}
};
template <class T> struct NotDeduced { using type = T; };
template <class T> using RightOperand = typename NotDeduced<OperandAt<T>>::type;

// What `a + b` is: nothing is computed until it is assigned to a LocalTensor.
template <class T>
struct BinaryExpression {
    using twin_expression = void;
    VecOp op;
    const char* api;
    LocalRef left;
    OperandAt<T> right;
    // And, Or of 32-bit types work on the 16-bit halves, so their count doubles.
    void assign_to(const AscendC::LocalTensor<T>& dst) const {
        constexpr DType t = dtype_of<T>();
        const bool halves = (op == VecOp::And || op == VecOp::Or) && size_of(t) == 4;
        const DType u = halves ? DType::U16 : t;
        vec_binary(vec_call(op, api, u, u, 2, by_count(int64_t(dst.GetSize()) * (halves ? 2 : 1)), right.at), dst.ref(), left, right.ref);
    }
};

template <class T>
struct CompareExpression {
    using twin_expression = void;
    AscendC::CMPMODE mode;
    LocalRef left;
    OperandAt<T> right;
    template <class U>
    void assign_to(const AscendC::LocalTensor<U>& dst) const {
        static_assert(sizeof(U) == 1, "the result of a comparison is packed bits: assign it to a LocalTensor<uint8_t>");
        constexpr DType t = dtype_of<T>();
        const LocalRef d = dst.ref();
        vec_compare(compare_call(VecOp::Compare, "Compare", t, 2, mode, by_count(static_cast<int64_t>(elements_in<T>(left.bytes))), right.at), &d, left, &right.ref);
    }
};
}  // namespace twin

namespace AscendC {

#define TWIN_OPERATOR(SYMBOL, NAME, SET, TEXT)                                                                   \
    template <class T>                                                                                           \
    inline twin::BinaryExpression<T> operator SYMBOL(const LocalTensor<T>& a, twin::RightOperand<T> b) {         \
        TWIN_VEC_TYPES("operator " #SYMBOL " (" #NAME ")", T, SET, TEXT);                                        \
        return {twin::VecOp::NAME, #NAME, a.ref(), b};                                                           \
    }
#define TWIN_COMPARE_OPERATOR(SYMBOL, MODE)                                                                      \
    template <class T>                                                                                           \
    inline twin::CompareExpression<T> operator SYMBOL(const LocalTensor<T>& a, twin::RightOperand<T> b) {        \
        TWIN_VEC_TYPES("operator " #SYMBOL " (Compare)", T, twin::kF16 | twin::kF32, TWIN_FLOAT2_TEXT);          \
        return {CMPMODE::MODE, a.ref(), b};                                                                      \
    }

// ---- operator+ operator- operator* operator/ operator& operator|
// dst = a OP b with dst.GetSize() elements: the count form of Add, Sub, Mul, Div, And, Or
// limits: both operands are named LocalTensors of dst's type, at least as long as dst
// pipe: V
TWIN_OPERATOR(+, Add, TWIN_ARITH, TWIN_ARITH_TEXT)
TWIN_OPERATOR(-, Sub, TWIN_ARITH, TWIN_ARITH_TEXT)
TWIN_OPERATOR(*, Mul, TWIN_ARITH, TWIN_ARITH_TEXT)
TWIN_OPERATOR(/, Div, twin::kF16 | twin::kF32, TWIN_FLOAT2_TEXT)
TWIN_OPERATOR(&, And, TWIN_BITS | twin::kI32 | twin::kU32, TWIN_BITS_TEXT)
TWIN_OPERATOR(|, Or, TWIN_BITS | twin::kI32 | twin::kU32, TWIN_BITS_TEXT)

// ---- operator< operator> operator== operator<= operator>= operator!=
// packed comparison of whole tensors into a LocalTensor<uint8_t>: Compare with a.GetSize() elements
// limits: half, float; the sources fill whole 256-byte repeats
// pipe: V
TWIN_COMPARE_OPERATOR(<, LT)
TWIN_COMPARE_OPERATOR(>, GT)
TWIN_COMPARE_OPERATOR(==, EQ)
TWIN_COMPARE_OPERATOR(<=, LE)
TWIN_COMPARE_OPERATOR(>=, GE)
TWIN_COMPARE_OPERATOR(!=, NE)

}  // namespace AscendC
