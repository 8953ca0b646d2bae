#include "adapters/processes/agent_id.h"

#include "adapters/processes/test_host.h"

namespace keel {
namespace {

TEST(AgentId, is_drawn_once_for_each_state_directory) {
  const std::string one = new_directory();
  const std::string other = new_directory();
  const auto id = agent_id(one);
  ASSERT_TRUE(id) << id.error();
  EXPECT_EQ(id->digits.size(), 32U);
  EXPECT_EQ(agent_id(one)->digits, id->digits);
  EXPECT_NE(agent_id(other)->digits, id->digits);
  for (const std::string& state : {one, other}) (void)remove_tree(AT_FDCWD, state);
}

TEST(AgentId, a_damaged_one_is_not_replaced) {
  for (const std::string content : {"", "12", "g0000000000000000000000000000000"}) {
    const std::string state = new_directory();
    std::ofstream(state + "/agent-id") << content;
    EXPECT_FALSE(agent_id(state)) << content;
    EXPECT_EQ(contents(state + "/agent-id"), content);
    (void)remove_tree(AT_FDCWD, state);
  }
}

}  // namespace
}  // namespace keel
