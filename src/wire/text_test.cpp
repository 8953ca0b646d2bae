#include "wire/text.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

TEST(Text, utf8_is_told_from_what_only_looks_like_it) {
  for (const char* good : {"", "a", "é", "漢", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xff", "a\xe2\x82", "\xf0\x8f\xbf\xbf"}) {
    EXPECT_FALSE(is_utf8(bad)) << printable(bad);
  }
}

TEST(Text, bad_bytes_are_replaced_one_by_one) {
  EXPECT_EQ(as_utf8("a\xff\xc3z é"), "a\uFFFD\uFFFDz é");
  EXPECT_TRUE(is_utf8(as_utf8("\xf0\x9f\x98")));
}

TEST(Text, a_cut_never_splits_a_character) {
  EXPECT_EQ(cut("aé", 2), "a");
  EXPECT_EQ(cut("aé", 3), "aé");
  EXPECT_EQ(cut("😀", 3), "");
  EXPECT_EQ(cut("abc", 0), "");
}

TEST(Text, nothing_that_steers_a_terminal_is_printable) {
  EXPECT_EQ(printable("a\x1b[31m\r\n\t\x7f"), "a\\x1b[31m\\r\\n\\t\\x7f");
  EXPECT_EQ(printable("\u202eevil\u0085\ufeff"), "\\u202eevil\\x85\\ufeff");
  EXPECT_EQ(printable("é漢😀"), "é漢😀");
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\U000E0041"), "\\U000e0041");
}

TEST(Text, long_values_are_shortened) {
  EXPECT_EQ(shortened("abc"), "abc");
  EXPECT_EQ(shortened(std::string(80, 'a')), std::string(80, 'a'));
  EXPECT_EQ(shortened(std::string(81, 'a')), std::string(80, 'a') + "…");
  EXPECT_EQ(shortened(std::string(80, '\x1b')).size(), 80 + std::string("…").size());
}

}  // namespace
}  // namespace keel
