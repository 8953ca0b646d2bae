// Arithmetic that notices. Sizes and counts come from outside; a sum that wraps would turn a huge
// request into a small one.
#pragma once

#include <concepts>
#include <optional>

namespace keel {

// a + b, or nothing where the type cannot hold it.
template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T sum{};
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// a - b, or nothing where the type cannot hold it.
template <std::integral T>
constexpr std::optional<T> checked_sub(T a, T b) {
  T difference{};
  if (__builtin_sub_overflow(a, b, &difference)) return std::nullopt;
  return difference;
}

// a * b, or nothing where the type cannot hold it.
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T product{};
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

}  // namespace keel
