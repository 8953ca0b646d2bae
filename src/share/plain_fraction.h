// A rational written as plainly as can be, for tests: what other numbers are compared with.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <string>

namespace keel::share {

class PlainFraction {
 public:
  using Whole = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>,
                                              boost::multiprecision::et_off>;

  PlainFraction(std::int64_t n = 0) : n_(n) {}  // NOLINT(google-explicit-constructor)
  PlainFraction(Whole n, Whole d) : n_(n), d_(d) {
    const Whole divisor = gcd(n_, d_) * (d_ < 0 ? -1 : 1);
    n_ /= divisor;
    d_ /= divisor;
  }

  using Self = PlainFraction;
  friend Self operator+(const Self& a, const Self& b) {
    return {a.n_ * b.d_ + b.n_ * a.d_, a.d_ * b.d_};
  }
  friend Self operator-(const Self& a, const Self& b) {
    return {a.n_ * b.d_ - b.n_ * a.d_, a.d_ * b.d_};
  }
  friend Self operator*(const Self& a, const Self& b) { return {a.n_ * b.n_, a.d_ * b.d_}; }
  friend Self operator/(const Self& a, const Self& b) { return {a.n_ * b.d_, a.d_ * b.n_}; }
  Self& operator+=(const Self& b) { return *this = *this + b; }
  Self& operator-=(const Self& b) { return *this = *this - b; }
  friend bool operator==(const Self& a, const Self& b) { return a.n_ == b.n_ && a.d_ == b.d_; }
  friend bool operator<(const Self& a, const Self& b) { return a.n_ * b.d_ < b.n_ * a.d_; }
  friend bool operator>(const Self& a, const Self& b) { return b < a; }
  friend bool operator>=(const Self& a, const Self& b) { return !(a < b); }

  int sign() const { return n_.sign(); }
  std::int64_t floor() const { return static_cast<std::int64_t>(n_ / d_); }  // of none below 0
  std::string str() const { return d_ == 1 ? n_.str() : n_.str() + "/" + d_.str(); }

 private:
  Whole n_;
  Whole d_ = 1;
};

}  // namespace keel::share
