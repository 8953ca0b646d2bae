#include "wire/quantity.h"

#include <gtest/gtest.h>

#include <csignal>

#include "tests/values/generator.h"

namespace keel {
namespace {

TEST(Quantity, durations_are_read_as_people_write_them) {
  EXPECT_EQ(parse_duration("90s"), seconds(90));
  EXPECT_EQ(parse_duration("2h30m"), minutes(150));
  EXPECT_EQ(parse_duration("1d"), hours(24));
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("1m1ms1us"), minutes(1) + milliseconds(1) + microseconds(1));
  EXPECT_EQ(parse_duration("0s"), Duration{});
  EXPECT_EQ(parse_duration("9223372036854775807us"), Duration{INT64_MAX});
}

TEST(Quantity, what_is_no_duration_is_refused) {
  for (const char* text : {"",
                           "90",
                           "s",
                           "-1s",
                           "+1s",
                           "1.5h",
                           " 1s",
                           "1s ",
                           "1 s",
                           "1e3s",
                           "0x10s",
                           "30m2h",
                           "1h1h",
                           "１s",
                           "1_000s",
                           "01s",
                           "1x",
                           "1H",
                           "1sm",
                           "9223372036854775808us",
                           "99999999999999999999s",
                           "106751992d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(Quantity, sizes_are_exact) {
  EXPECT_EQ(parse_bytes("16Gi"), gibibytes(16));
  EXPECT_EQ(parse_bytes("512M"), Bytes{512'000'000});
  EXPECT_EQ(parse_bytes("1024"), Bytes{1024});
  EXPECT_EQ(parse_bytes("1.5Gi"), mebibytes(1536));
  EXPECT_EQ(parse_bytes("0"), Bytes{});
  EXPECT_EQ(parse_bytes("0.50Ki"), Bytes{512});
  EXPECT_EQ(parse_bytes("1Ti"), gibibytes(1024));
  for (const char* text :
       {"", "Gi", "-1", "+1", "1.5", "0.1Gi", "1.Gi", ".5Gi", "1 Gi", "16gi", "16GB", "1e3", "0x10",
        "8388608Ti", "9223372036854775808", "1,5Gi", "0.00000000000000000001Ti"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Quantity, cores_are_exact_to_the_thousandth) {
  EXPECT_EQ(parse_millicores("4"), Millicores{4000});
  EXPECT_EQ(parse_millicores("500m"), Millicores{500});
  EXPECT_EQ(parse_millicores("0.5"), Millicores{500});
  EXPECT_EQ(parse_millicores("1.250"), Millicores{1250});
  for (const char* text : {"", "m", "0.0005", "1.5m", "1.0m", "-1", "4cores", "4 ", "1e3",
                           "9223372036854775807", "00"}) {
    EXPECT_EQ(parse_millicores(text), std::nullopt) << text;
  }
}

TEST(Quantity, signals_have_their_usual_names) {
  EXPECT_EQ(parse_stop_signal("TERM"), SIGTERM);
  EXPECT_EQ(parse_stop_signal("SIGUSR1"), SIGUSR1);
  for (const char* text : {"", "SIG", "KILL", "STOP", "term", "SIGSIGTERM", "15"}) {
    EXPECT_EQ(parse_stop_signal(text), std::nullopt) << text;
  }
  EXPECT_EQ(print_stop_signal(SIGHUP), "HUP");
}

TEST(Quantity, whole_numbers_are_digits_and_nothing_else) {
  EXPECT_EQ(parse_whole("0"), 0u);
  EXPECT_EQ(parse_whole("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "-1", "+1", "1e3", "0x10", " 1", "1 ", "１", "1_000", "007", "1.0",
                           "18446744073709551616"}) {
    EXPECT_EQ(parse_whole(text), std::nullopt) << text;
  }
}

TEST(Quantity, the_canonical_form_is_the_largest_exact_one) {
  EXPECT_EQ(print(hours(24)), "24h");
  EXPECT_EQ(print(minutes(90)), "1h30m");
  EXPECT_EQ(print(Duration{}), "0s");
  EXPECT_EQ(print(microseconds(1'000'001)), "1s1us");
  EXPECT_EQ(print(Duration{} - seconds(90)), "-1m30s");
  EXPECT_EQ(print(Duration{INT64_MIN}).front(), '-');
  EXPECT_EQ(print(gibibytes(16)), "16Gi");
  EXPECT_EQ(print(mebibytes(1536)), "1536Mi");
  EXPECT_EQ(print(Bytes{1000}), "1000");
  EXPECT_EQ(print(Bytes{}), "0");
  EXPECT_EQ(print(Millicores{500}), "500m");
  EXPECT_EQ(print(Millicores{4000}), "4");
}

TEST(Quantity, what_is_printed_is_read_back) {
  Generator make(seed_for_test());
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t amount = make.amount() >> (make.number(62));
    EXPECT_EQ(parse_duration(print(Duration{amount})), Duration{amount});
    EXPECT_EQ(parse_bytes(print(Bytes{amount})), Bytes{amount});
    const Millicores cpu{amount / 1000};
    EXPECT_EQ(parse_millicores(print(cpu)), cpu);
  }
}

}  // namespace
}  // namespace keel
