#include "flags.h"

#include <gtest/gtest.h>

#include <map>

#include "failure.h"
#include "rendezvous.h"

namespace keel::digits {
namespace {

Lookup lookup_in(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(flags, both_ways_of_writing_a_value_are_read) {
  const Flags flags =
      parse_flags({"--epochs", "3", "--lr=0.5", "--no-all-reduce", "--pause-ms=20"});
  EXPECT_EQ(flags.epochs, 3U);
  EXPECT_EQ(flags.rate, 0.5);
  EXPECT_EQ(flags.pause, std::chrono::milliseconds(20));
  EXPECT_FALSE(flags.all_reduce);
  EXPECT_EQ(flags.batch, Flags{}.batch);
}

// Arguments and the words of the refusal.
TEST(flags, a_bad_one_is_refused_with_its_name_its_value_and_the_limit) {
  const struct {
    std::vector<std::string> arguments;
    const char* words;
  } rows[] = {
      {{"--epochs", "0"}, "--epochs is '0': it must be a whole number from 1 to 100000"},
      {{"--epochs", "many"}, "--epochs is 'many': it must be a whole number from 1 to 100000"},
      {{"--epochs", "5x"}, "--epochs is '5x': it must be a whole number from 1 to 100000"},
      {{"--batch", "-1"}, "--batch is '-1': it must be a whole number from 1 to 65536"},
      {{"--hidden=5000"}, "--hidden is '5000': it must be a whole number from 1 to 4096"},
      {{"--lr", "0"}, "--lr is '0': it must be a number above 0, at most 10"},
      {{"--lr", "nan"}, "--lr is 'nan': it must be a number above 0, at most 10"},
      {{"--lr="}, "--lr is '': it must be a number above 0, at most 10"},
      {{"--pause-ms", "600001"},
       "--pause-ms is '600001': it must be a whole number from 0 to 600000"},
      {{"--epochs"}, "--epochs needs a value (N)"},
      {{"--no-all-reduce=yes"}, "--no-all-reduce takes no value"},
      {{"--epoch", "1"}, "there is no flag '--epoch'; --help lists them"},
      {{"digits.bin"}, "there is no flag 'digits.bin'; --help lists them"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.words);
    try {
      (void)parse_flags(row.arguments);
      ADD_FAILURE() << "accepted";
    } catch (const Failure& failure) {
      EXPECT_STREQ(failure.what(), row.words);
      EXPECT_EQ(failure.exit_code(), exit_usage);
    }
  }
}

TEST(rendezvous, without_variables_there_is_one_task) {
  const Rendezvous alone = read_rendezvous(lookup_in({}));
  EXPECT_EQ(alone.world, 1U);
  EXPECT_EQ(alone.rank, 0U);
}

TEST(rendezvous, the_variables_of_torchrun_are_read) {
  const Rendezvous its = read_rendezvous(lookup_in({{"MASTER_ADDR", "node-a"},
                                                    {"MASTER_PORT", "29500"},
                                                    {"WORLD_SIZE", "4"},
                                                    {"RANK", "3"},
                                                    {"NODE_RANK", "1"},
                                                    {"LOCAL_RANK", "1"},
                                                    {"LOCAL_WORLD_SIZE", "2"}}));
  EXPECT_EQ(its.address, "node-a");
  EXPECT_EQ(its.port, 29500);
  EXPECT_EQ(its.world, 4U);
  EXPECT_EQ(its.rank, 3U);
  EXPECT_EQ(its.node_rank, 1U);
  EXPECT_EQ(its.local_rank, 1U);
  EXPECT_EQ(its.local_world, 2U);
}

TEST(rendezvous, what_is_missing_or_makes_no_sense_is_named) {
  const std::map<std::string, std::string> good = {
      {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}, {"WORLD_SIZE", "2"}, {"RANK", "1"}};
  EXPECT_NO_THROW((void)read_rendezvous(lookup_in(good)));
  for (const char* const name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"}) {
    auto without = good;
    without.erase(name);
    try {
      (void)read_rendezvous(lookup_in(without));
      ADD_FAILURE() << "accepted without " << name;
    } catch (const Failure& failure) {
      EXPECT_NE(std::string(failure.what()).find(name), std::string::npos) << failure.what();
    }
  }
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"RANK", "2"}, {"WORLD_SIZE", "65"}, {"MASTER_PORT", "65536"}, {"LOCAL_RANK", "1"}}) {
    auto odd = good;
    odd[name] = value;
    EXPECT_THROW((void)read_rendezvous(lookup_in(odd)), Failure) << name;
  }
}

}  // namespace
}  // namespace keel::digits
