#include "adapters/nvml/xid.h"

#include <gmock/gmock.h>

namespace keel::nvml {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t volta = 5;
constexpr std::uint32_t ampere = 7;
constexpr std::uint32_t hopper = 9;

XidCatalogue built_in() {
  auto catalogue = XidCatalogue::parse(built_in_xid_catalogue());
  EXPECT_TRUE(catalogue) << catalogue.error();
  return *std::move(catalogue);
}

// RELIABILITY's G1 to G5: the code, the device's generation, what it is to mean.
TEST(XidCatalogue, tells_hardware_from_programs) {
  struct Row {
    std::uint32_t code;
    std::uint32_t generation;
    XidClass severity;
  };
  const std::vector<Row> rows{
      {79, hopper, XidClass::failed},       // G1
      {48, hopper, XidClass::draining},     // G2
      {64, ampere, XidClass::draining},     // G2
      {95, ampere, XidClass::draining},     // G2
      {63, ampere, XidClass::degraded},     // G2
      {94, ampere, XidClass::degraded},     // G2
      {13, hopper, XidClass::application},  // G3
      {31, hopper, XidClass::application},  // G3
      {43, hopper, XidClass::application},  // G3
      {45, volta, XidClass::application},   // G3
      {119, hopper, XidClass::draining},    // G4
      {120, hopper, XidClass::draining},    // G4
      {74, hopper, XidClass::degraded},     // G5
  };
  const XidCatalogue catalogue = built_in();
  for (const Row& row : rows) {
    SCOPED_TRACE(row.code);
    EXPECT_EQ(catalogue.find(row.code, row.generation).severity, row.severity);
  }
  EXPECT_GT(catalogue.size(), rows.size());
}

TEST(XidCatalogue, speaks_of_the_generation_at_hand) {
  const XidCatalogue catalogue = built_in();
  EXPECT_THAT(catalogue.find(63, volta).meaning, HasSubstr("page"));
  EXPECT_THAT(catalogue.find(63, ampere).meaning, HasSubstr("row"));
  EXPECT_THAT(catalogue.find(63, hopper).meaning, HasSubstr("row"));
  EXPECT_THAT(catalogue.find(63, 0).meaning, HasSubstr("page")) << "the generation is not known";
}

TEST(XidCatalogue, takes_no_device_away_for_a_code_that_nobody_knows) {
  for (const std::uint32_t code : {0u, 9u, 1000u, UINT32_MAX}) {
    EXPECT_EQ(built_in().find(code, hopper).severity, XidClass::note) << code;
  }
}

TEST(XidCatalogue, names_the_line_that_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> rows{
      {"13 | application | any", "line 1: it should look like CODE"},
      {"# a\n\nx | note | any | b", "line 3: 'x' is no code"},
      {"-1 | note | any | b", "'-1' is no code"},
      {"10000 | note | any | b", "'10000' is no code from 0 to 9999"},
      {"13 | bad | any | b", "'bad' is none of application, note, degraded, draining, failed"},
      {"13 | note | h100 | b", "'h100' is none of any, maxwell"},
      {"13 | note | any | ", "the meaning is missing"},
      {"13 | note | any | a\n13 | failed | any | b", "line 2: code 13 stands twice"},
  };
  for (const auto& [text, error] : rows) {
    const auto catalogue = XidCatalogue::parse(text);
    ASSERT_FALSE(catalogue) << text;
    EXPECT_THAT(catalogue.error(), HasSubstr(error));
  }
}

}  // namespace
}  // namespace keel::nvml
