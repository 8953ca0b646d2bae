#include "functions.h"

#include "pattern.h"

namespace keel::tidy {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// A `{` that gives a member its value in a constructor's list: `Foo() : a_{1} {}`.
bool starts_member_value(const std::string& statement) {
  static const Pattern list(R"(\)\s*(noexcept)?\s*:[^:])");
  static const Pattern named(R"([[:alnum:]_>]\s*$)");
  static const Pattern qualified(R"(\b(const|noexcept|override|final|try)\s*$)");
  return list.is_in(statement) && named.is_in(statement) && !qualified.is_in(statement);
}

enum class Block { scope, function, value };

Block kind_of(const std::string& statement) {
  if (starts_member_value(statement)) return Block::value;
  static const Pattern space(R"(\b(namespace|extern)\b)");
  static const Pattern type(R"(^(template\s*<[^{]*>\s*)?(class|struct|union|enum)\b)");
  static const Pattern called(R"(\)\s*(const)?\s*$)");
  if (space.is_in(statement)) return Block::scope;
  if (type.is_in(statement) && !called.is_in(statement)) return Block::scope;
  return statement.find('(') != std::string::npos ? Block::function : Block::value;
}

Function describe_function(const std::string& statement) {
  static const Pattern test(R"(\b(TEST|TEST_F|TEST_P|TYPED_TEST)\s*\(\s*(\w+)\s*,\s*(\w+)\s*\))");
  static const Pattern named(R"(([[:alpha:]_][[:alnum:]_:~]*)\s*\()");
  Function function;
  if (const auto found = test.find(statement)) {
    function.name = found->groups[2] + "." + found->groups[3];
    function.test = true;
  } else if (const auto called = named.find(statement)) {
    function.name = called->groups[1];
  }
  return function;
}

// Walks the code once, knowing in which block it stands.
class Walk {
 public:
  explicit Walk(std::string_view code) : code_(code) {}

  std::vector<Function> run() {
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (at_directive(i)) i = end_of_directive(i);
      if (i >= code_.size()) break;
      step(i);
      if (code_[i] == '\n') ++line_;
    }
    return functions_;
  }

 private:
  bool at_directive(std::size_t i) const {
    if (code_[i] != '#') return false;
    std::size_t before = i;
    while (before > 0 && (code_[before - 1] == ' ')) --before;
    return before == 0 || code_[before - 1] == '\n';
  }

  // The newline that ends the directive, continued lines included.
  std::size_t end_of_directive(std::size_t i) {
    while (i < code_.size() && (code_[i] != '\n' || code_[i - 1] == '\\')) {
      if (code_[i] == '\n') ++line_;
      ++i;
    }
    return i;
  }

  void step(std::size_t i) {
    const char c = code_[i];
    if (inner_ > 0) {  // within a function or a value: only its end matters
      if (c == '{') ++inner_;
      if (c == '}' && --inner_ == 0) close(i);
      return;
    }
    if (c == '{') {
      open(i);
    } else if (c == '}' || c == ';') {
      statement_.clear();
    } else if (!statement_.empty() || !is_blank(c)) {
      if (statement_.empty()) first_ = line_;
      statement_ += c;
    }
  }

  void open(std::size_t i) {
    const Block kind = kind_of(statement_);
    if (kind == Block::scope) {
      statement_.clear();
      return;
    }
    inner_ = 1;
    is_function_ = kind == Block::function;
    start_ = i;
  }

  void close(std::size_t i) {
    if (!is_function_) return;  // `a_{1}`: the statement goes on
    Function function = describe_function(statement_);
    function.first = first_;
    function.last = line_;
    function.body = code_.substr(start_, i + 1 - start_);
    functions_.push_back(function);
    statement_.clear();
  }

  std::string_view code_;
  std::vector<Function> functions_;
  std::string statement_;  // what stands before the brace
  int line_ = 1;
  int first_ = 1;
  int inner_ = 0;
  bool is_function_ = false;
  std::size_t start_ = 0;
};

}  // namespace

std::vector<Function> functions_of(std::string_view code) { return Walk(code).run(); }

}  // namespace keel::tidy
