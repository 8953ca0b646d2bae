// Fair shares against a slow second answer, over clusters drawn by chance. KEEL_SHARE_SEEDS says
// how many (default 10,000), KEEL_SHARE_SEED names one.
#include "share/fair_oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "share/fair.h"
#include "share/plain_fraction.h"
#include "share/random_cluster.h"

namespace keel::share {
namespace {

struct TooLong {};

// A rational of 64 bits that gives up rather than wrap.
class Short {
 public:
  Short(std::int64_t n = 0) : n_(n) {}  // NOLINT(google-explicit-constructor)

  friend Short operator+(Short a, Short b) {
    return made(Wide{a.n_} * b.d_ + Wide{b.n_} * a.d_, Wide{a.d_} * b.d_);
  }
  friend Short operator-(Short a, Short b) { return a + made(-Wide{b.n_}, b.d_); }
  friend Short operator*(Short a, Short b) { return made(Wide{a.n_} * b.n_, Wide{a.d_} * b.d_); }
  friend Short operator/(Short a, Short b) { return made(Wide{a.n_} * b.d_, Wide{a.d_} * b.n_); }
  Short& operator+=(Short b) { return *this = *this + b; }
  Short& operator-=(Short b) { return *this = *this - b; }
  friend bool operator==(Short a, Short b) = default;
  friend bool operator<(Short a, Short b) { return Wide{a.n_} * b.d_ < Wide{b.n_} * a.d_; }
  friend bool operator>(Short a, Short b) { return b < a; }
  friend bool operator>=(Short a, Short b) { return !(a < b); }
  std::string str() const {
    return d_ == 1 ? std::to_string(n_) : std::to_string(n_) + "/" + std::to_string(d_);
  }

 private:
  __extension__ using Wide = __int128;
  static Short made(Wide n, Wide d) {
    if (d < 0) {
      n = -n;
      d = -d;
    }
    constexpr Wide most = INT64_MAX;
    if (n > most || n < -most || d > most) {
      Wide a = n < 0 ? -n : n;
      Wide b = d;
      while (b != 0) a = std::exchange(b, a % b);
      n /= a;
      d /= a;
    }
    if (n > most || n < -most || d > most) throw TooLong{};
    Short result;
    const std::int64_t divisor =
        std::gcd(static_cast<std::int64_t>(n), static_cast<std::int64_t>(d));
    result.n_ = static_cast<std::int64_t>(n) / divisor;
    result.d_ = static_cast<std::int64_t>(d) / divisor;
    return result;
  }
  std::int64_t n_ = 0;
  std::int64_t d_ = 1;
};

// "3 12 | 6 2": by node and resource.
template <class Q>
std::string texts(const std::vector<std::vector<Q>>& amounts) {
  std::string text;
  for (const std::vector<Q>& row : amounts) {
    for (const Q& amount : row) text += amount.str() + " ";
    text += "| ";
  }
  return text;
}

struct Answer {
  std::string held, guaranteed;
  std::vector<bool> cut;
};

template <class Q>
Answer ask(const Cluster& cluster) {
  FairOracle<Q> oracle(cluster);
  Answer answer{.held = texts(oracle.run()), .guaranteed = texts(oracle.guaranteed()), .cut = {}};
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) answer.cut.push_back(oracle.was_cut(i));
  return answer;
}

Answer by_oracle(const Cluster& cluster) {
  try {
    return ask<Short>(cluster);
  } catch (const TooLong&) {
    return ask<PlainFraction>(cluster);
  }
}

Answer by_code(const Cluster& cluster) {
  const auto shares = fair_shares(cluster);
  if (!shares) return {.held = describe(shares.error()), .guaranteed = {}, .cut = {}};
  Answer answer{.held = {}, .guaranteed = {}, .cut = {}};
  for (const Node& node : cluster.nodes) {
    const FairShare& share = shares->of(node.id);
    for (const Part& part : share.parts) {
      answer.held += part.total().text() + " ";
      answer.guaranteed += part.guarantee.text() + " ";
    }
    answer.held += "| ";
    answer.guaranteed += "| ";
    answer.cut.push_back(share.scaled);
  }
  return answer;
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool agree(std::uint64_t seed) {
  Random random(seed);
  const Cluster cluster = draw_cluster(random);
  SCOPED_TRACE(testing::Message() << "KEEL_SHARE_SEED=" << seed << " " << text_of(cluster));
  const Answer expected = by_oracle(cluster);
  const Answer got = by_code(cluster);
  EXPECT_EQ(got.held, expected.held);
  EXPECT_EQ(got.guaranteed, expected.guaranteed);
  EXPECT_EQ(got.cut, expected.cut);
  return !testing::Test::HasFailure();
}

TEST(FairOracle, agrees_on_clusters_drawn_by_chance) {
  const std::uint64_t one = number_from("KEEL_SHARE_SEED", 0);
  const std::uint64_t seeds = number_from("KEEL_SHARE_SEEDS", 10'000);
  if (one != 0) {
    EXPECT_TRUE(agree(one));
    return;
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!agree(seed)) break;
  }
}

}  // namespace
}  // namespace keel::share
