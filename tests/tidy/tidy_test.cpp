// Holds the source tree to the rules. What each rule catches, rules_test.cpp shows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ratchet.h"
#include "rules.h"

namespace keel::tidy {
namespace {

const std::vector<Source>& tree() {
  static const std::vector<Source> sources = read_tree(SOURCE_DIR);
  return sources;
}

void expect_none(const Findings& findings) {
  for (const Finding& finding : findings) ADD_FAILURE() << print(finding);
}

using Rule = Findings (*)(const Source&);

void expect_kept(Rule rule) {
  for (const Source& source : tree()) expect_none(rule(source));
}

TEST(Tidy, the_tree_was_found) { EXPECT_GT(tree().size(), 50u) << "in " << SOURCE_DIR; }

TEST(Tidy, no_include_points_upward) { expect_kept(upward_includes); }

TEST(Tidy, heavy_headers_stay_in_adapters) { expect_kept(heavy_includes); }

TEST(Tidy, pure_layers_hold_no_world) { expect_kept(impure_code); }

TEST(Tidy, pure_layers_hold_no_floating_numbers) { expect_kept(floating_numbers); }

TEST(Tidy, no_line_is_longer_than_100_columns) { expect_kept(long_lines); }

TEST(Tidy, no_tabs_and_no_blanks_at_the_end_of_lines) { expect_kept(stray_blanks); }

TEST(Tidy, every_header_has_pragma_once) { expect_kept(headers_without_pragma_once); }

TEST(Tidy, no_file_is_too_long) { expect_none(long_files(tree(), long_files_for_now)); }

TEST(Tidy, no_function_is_too_long) { expect_none(long_functions(tree(), long_functions_for_now)); }

TEST(Tidy, no_unfinished_thoughts) { expect_kept(leftover_markers); }

TEST(Tidy, no_empty_words_in_names) { expect_kept(empty_words_in_names); }

TEST(Tidy, no_paths_of_one_machine) { expect_kept(developers_paths); }

TEST(Tidy, every_document_has_one_title) { expect_kept(documents_without_one_title); }

TEST(Tidy, every_enumerator_of_the_model_has_words) {
  expect_none(undescribed_enumerators(tree()));
}

TEST(Tidy, every_test_can_fail) { expect_none(tests_that_check_nothing(tree())); }

TEST(Tidy, every_folder_has_content) {
  expect_none(empty_folders(read_folders(SOURCE_DIR, "src"), tree()));
}

}  // namespace
}  // namespace keel::tidy
