#include "source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace keel::tidy {
namespace {

namespace fs = std::filesystem;

bool left_out(const std::string& name) {
  return name == ".git" || name == ".cache" || name == "build" || name.starts_with("build-");
}

bool holds_text(const std::string& text) {
  return text.substr(0, 8192).find('\0') == std::string::npos;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

enum class Part { code, line_comment, block_comment, text, character, raw_text };

// Tells code from comments and literals, one character at a time. `)tag"` ends a raw string.
class Parts {
 public:
  explicit Parts(std::string_view text) : text_(text) {}

  // The part that the character at `i` belongs to; quotes belong to the code. Call in order.
  Part at(std::size_t i) {
    if (i < skip_to_) return held_;
    switch (part_) {
      case Part::code: return from_code(i);
      case Part::line_comment:
        if (text_[i] == '\n') return part_ = Part::code;
        return part_;
      case Part::block_comment:
        if (starts("*/", i)) return leave(i, 2, Part::block_comment);
        return part_;
      case Part::text:
      case Part::character: return from_literal(i);
      case Part::raw_text:
        if (starts(raw_end_, i)) return leave(i, raw_end_.size(), Part::code);
        return part_;
    }
    return part_;
  }

 private:
  bool starts(std::string_view word, std::size_t i) const {
    return text_.substr(i, word.size()) == word;
  }

  // The next `count` characters belong to `held`; what follows them to the code.
  Part leave(std::size_t i, std::size_t count, Part held) {
    skip_to_ = i + count;
    held_ = held;
    part_ = Part::code;
    return held;
  }

  Part from_code(std::size_t i) {
    if (starts("//", i)) return part_ = Part::line_comment;
    if (starts("/*", i)) {
      leave(i, 2, Part::block_comment);
      return part_ = Part::block_comment;
    }
    if (starts("R\"", i)) {
      const std::size_t open = text_.find('(', i);
      if (open == std::string_view::npos) return Part::code;
      raw_end_ = ")" + std::string(text_.substr(i + 2, open - i - 2)) + "\"";
      leave(i, open + 1 - i, Part::code);
      part_ = Part::raw_text;
      return Part::code;
    }
    if (text_[i] == '"') part_ = Part::text;
    if (text_[i] == '\'' && !inside_number(i)) part_ = Part::character;
    return Part::code;
  }

  Part from_literal(std::size_t i) {
    const Part now = part_;
    if (text_[i] == '\\') {
      skip_to_ = i + 2;
      held_ = now;
    } else if (text_[i] == (now == Part::text ? '"' : '\'') || text_[i] == '\n') {
      part_ = Part::code;
      return Part::code;
    }
    return now;
  }

  // 1'000'000 holds no character literal.
  bool inside_number(std::size_t i) const {
    return i > 0 && std::isxdigit(static_cast<unsigned char>(text_[i - 1])) != 0 &&
           i + 1 < text_.size() && std::isxdigit(static_cast<unsigned char>(text_[i + 1])) != 0;
  }

  std::string_view text_;
  Part part_ = Part::code;
  std::size_t skip_to_ = 0;
  Part held_ = Part::code;
  std::string raw_end_;
};

}  // namespace

std::string print(const Finding& finding) {
  const std::string line = finding.line == 0 ? "" : ":" + std::to_string(finding.line);
  return finding.path + line + ": " + finding.what;
}

std::vector<Source> read_tree(const std::string& root) {
  std::vector<Source> sources;
  for (auto entry = fs::recursive_directory_iterator(root);
       entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && left_out(entry->path().filename().string())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      std::string text = read_file(entry->path());
      if (!holds_text(text)) continue;
      sources.push_back({fs::relative(entry->path(), root).generic_string(), std::move(text)});
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

std::vector<std::string> read_folders(const std::string& root, const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / folder)) {
    if (entry.is_directory()) folders.push_back(fs::relative(entry.path(), root).generic_string());
  }
  std::ranges::sort(folders);
  return folders;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

int line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, position), '\n'));
}

std::string code_of(std::string_view text) {
  Parts parts(text);
  std::string code(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (parts.at(i) != Part::code && text[i] != '\n') code[i] = ' ';
  }
  return code;
}

bool is_cpp(const Source& source) {
  return source.path.ends_with(".h") || source.path.ends_with(".cpp");
}

bool is_script(const Source& source) {
  return source.text.starts_with("#!") || source.path.ends_with(".sh") ||
         source.path.ends_with(".cmake") || source.path.ends_with("CMakeLists.txt");
}

bool is_test(const Source& source) {
  return source.path.ends_with("_test.cpp") || source.path.starts_with("tests/");
}

}  // namespace keel::tidy
