#include "adapters/http/target.h"

#include <gtest/gtest.h>

namespace keel {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(Target, a_query_is_taken_apart_and_decoded) {
  auto target = parse_target("/v1/jobs?user=a%20b+c&x=&user=%C3%A4");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/jobs");
  EXPECT_EQ(target->query, (Pairs{{"user", "a b c"}, {"x", ""}, {"user", "\xc3\xa4"}}));
  EXPECT_TRUE(parse_target("/?")->query.empty());
}

TEST(Target, what_is_not_of_the_form_is_nothing) {
  for (const char* text : {"", "*", "http://evil/", "v1", "/x#y", "/?a", "/?a=1&&b=2", "/?a=%",
                           "/?a=%1", "/?a=%1g", "/?a=%00", "/?a=%ff", "/?%ff=a", "/v1/%", "/v1/%zz",
                           "/v1/%00", "/v1/jobs/%ff", "/v1/jobs/%ff?a=1"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(Match, the_braces_stand_for_one_segment) {
  struct Row {
    const char* pattern;
    const char* path;
    std::optional<std::string> found;
  };
  for (const auto& [pattern, path, found] :
       {Row{"/v1/jobs", "/v1/jobs", ""}, Row{"/v1/jobs", "/v1/jobs/", std::nullopt},
        Row{"/v1/jobs/{job}", "/v1/jobs/x", "x"}, Row{"/v1/jobs/{job}", "/v1/jobs/", std::nullopt},
        Row{"/v1/jobs/{job}", "/v1/jobs/x/y", std::nullopt},
        Row{"/v1/jobs/{job}", "/v1/jobs/x:cancel", std::nullopt},
        Row{"/v1/jobs/{job}:cancel", "/v1/jobs/x:cancel", "x"},
        Row{"/v1/jobs/{job}:cancel", "/v1/jobs/:cancel", std::nullopt},
        Row{"/v1/jobs/{job}/logs", "/v1/jobs/x/logs", "x"},
        Row{"/v1/jobs/{job}/logs", "/v1/jobs/logs", std::nullopt},
        Row{"/v1/jobs/{job}", "/v1/jobs/a%2fb", "a/b"},
        Row{"/v1/jobs/{job}", "/v1/jobs/a+b", "a+b"},
        Row{"/v1/jobs/{job}", "/v1/jobs/%zz", std::nullopt}}) {
    EXPECT_EQ(match(pattern, path), found) << pattern << " " << path;
  }
}

}  // namespace
}  // namespace keel
