#include <algorithm>
#include <nlohmann/json.hpp>

#include "wire/text.h"
#include "wire/tree.h"
#include "wire/tree_builder.h"

namespace keel {
namespace {

// The parser's callbacks; false ends the parse.
class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonEvents(std::string_view text) : text_(text) {}

  bool null() override { return obey(builder_.null(0)); }
  bool boolean(bool value) override { return plain(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) override { return plain(std::to_string(value)); }
  bool number_unsigned(std::uint64_t value) override { return plain(std::to_string(value)); }
  // Also integers too large for 64 bits: kept as they were written, for the field to judge.
  bool number_float(nlohmann::json::number_float_t, const std::string& text) override {
    return plain(text);
  }
  bool string(std::string& text) override { return obey(builder_.scalar(text, true, 0)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return obey(builder_.open(Tree::Kind::map, 0)); }
  bool start_array(std::size_t) override { return obey(builder_.open(Tree::Kind::list, 0)); }
  bool key(std::string& text) override { return obey(builder_.key(text, 0)); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception&) override {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    error_ = FieldError{.field = place(static_cast<int>(line)),
                        .value = shortened(token),
                        .limit = "JSON",
                        .help = "It is not JSON from here on."};
    return false;
  }

  const std::optional<FieldError>& error() const { return error_; }
  Tree take() { return builder_.take(); }

 private:
  bool plain(std::string text) { return obey(builder_.scalar(std::move(text), false, 0)); }
  bool close() {
    builder_.close();
    return true;
  }
  bool obey(std::optional<FieldError> error) {
    error_ = std::move(error);
    return !error_;
  }

  std::string_view text_;
  TreeBuilder builder_;
  std::optional<FieldError> error_;
};

}  // namespace

Result<Tree, std::vector<FieldError>> parse_json(std::string_view text) {
  if (auto error = unreadable(text)) return std::vector{*std::move(error)};
  JsonEvents events(text);
  const bool read = nlohmann::json::sax_parse(text.begin(), text.end(), &events);
  if (read) return events.take();
  const FieldError unknown{.field = "the file", .value = "", .limit = "JSON", .help = "Not JSON."};
  return std::vector{events.error().value_or(unknown)};
}

}  // namespace keel
