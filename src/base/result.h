// A value, or why there is none. tl::expected underneath, with two things added: dropping a Result
// unread is a warning, hence an error, and a plain error value converts (`return
// Refusal::too_big;`).
#pragma once

#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace keel {

// For functions that give nothing but may fail: Result<Done, E>.
struct Done {
  friend constexpr bool operator==(Done, Done) = default;
};

template <class T, class E>
class [[nodiscard]] Result : public tl::expected<T, E> {
  static_assert(!std::is_same_v<T, E>, "a value and its error are told apart by type");
  using Base = tl::expected<T, E>;

 public:
  Result(const T& value) : Base(value) {}
  Result(T&& value) : Base(std::move(value)) {}
  Result(const E& error) : Base(tl::unexpect, error) {}
  Result(E&& error) : Base(tl::unexpect, std::move(error)) {}
};

}  // namespace keel

// Gives the value of a Result to a new variable, or returns its error from the function around.
//   TRY(spec, parse(text));
#define TRY(name, ...)                                             \
  auto name##_or_error = (__VA_ARGS__);                            \
  if (!name##_or_error) return std::move(name##_or_error).error(); \
  [[maybe_unused]] auto name = *std::move(name##_or_error)
