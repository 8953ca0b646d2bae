#include "wire/tree_builder.h"

#include "model/limits.h"
#include "wire/text.h"

namespace keel {
namespace {

constexpr int nodes_max = 10'000;
constexpr std::size_t levels_max = 32;

// The file is UTF-8, but yaml-cpp makes single bytes of the escapes \N and \_.
std::optional<FieldError> not_text(std::string_view text, int line) {
  if (is_utf8(text)) return std::nullopt;
  return FieldError{.field = place(line),
                    .value = shortened(text),
                    .limit = "UTF-8 text",
                    .help = "Write the character itself instead of its escape."};
}

}  // namespace

std::string place(int line) { return line == 0 ? "the file" : "line " + std::to_string(line); }

std::optional<FieldError> unreadable(std::string_view text) {
  if (text.size() > limits::spec_bytes_max) {
    return FieldError{.field = "the file",
                      .value = std::to_string(text.size()) + " bytes",
                      .limit = "at most " + std::to_string(limits::spec_bytes_max) + " bytes",
                      .help =
                          "Files that the job needs are taken along under `files`, or read on "
                          "the node."};
  }
  int line = 1;
  for (std::string_view rest = text; !rest.empty();) {
    const auto character = first_character(rest);
    if (!character || character->code == 0) {
      return FieldError{.field = place(line),
                        .value = shortened(rest.substr(0, 16)),
                        .limit = "UTF-8 text without NUL",
                        .help = "Save the file as UTF-8."};
    }
    if (character->code == '\n') ++line;
    rest.remove_prefix(character->length);
  }
  return std::nullopt;
}

TreeBuilder::Verdict TreeBuilder::null(int line) {
  if (auto error = count_node(line)) return error;
  attach(Tree{.kind = Tree::Kind::null, .line = line});
  return std::nullopt;
}

TreeBuilder::Verdict TreeBuilder::scalar(std::string text, bool quoted, int line) {
  if (auto error = count_node(line)) return error;
  if (auto error = not_text(text, line)) return error;
  attach(Tree{.kind = Tree::Kind::scalar, .quoted = quoted, .text = std::move(text), .line = line});
  return std::nullopt;
}

TreeBuilder::Verdict TreeBuilder::open(Tree::Kind kind, int line) {
  if (auto error = count_node(line)) return error;
  if (frames_.size() >= levels_max) {
    return FieldError{.field = path(),
                      .value = "more than " + std::to_string(levels_max) + " levels",
                      .limit = "at most " + std::to_string(levels_max) + " levels",
                      .help = "It is nested too deeply (" + place(line) + ")."};
  }
  frames_.push_back(Frame{.tree = {.kind = kind, .line = line}, .key = std::nullopt, .lines = {}});
  return std::nullopt;
}

TreeBuilder::Verdict TreeBuilder::key(std::string text, int line) {
  if (auto error = not_text(text, line)) return error;
  Frame& top = frames_.back();
  const auto [earlier, is_new] = top.lines.emplace(text, line);
  top.key = std::move(text);
  if (is_new) return std::nullopt;
  const std::string where =
      line == 0 ? "twice" : "on " + place(earlier->second) + " and again on " + place(line);
  return FieldError{.field = path(),
                    .value = "given " + where,
                    .limit = "once",
                    .help = "Remove one of the two."};
}

void TreeBuilder::close() {
  Tree tree = std::move(frames_.back().tree);
  frames_.pop_back();
  attach(std::move(tree));
}

bool TreeBuilder::expects_key() const {
  return !frames_.empty() && frames_.back().tree.kind == Tree::Kind::map && !frames_.back().key;
}

std::string TreeBuilder::path() const {
  std::string path;
  for (const Frame& frame : frames_) {
    if (frame.tree.kind == Tree::Kind::list) {
      path += "[" + std::to_string(frame.tree.items.size()) + "]";
    } else if (frame.key) {
      path += (path.empty() ? "" : ".") + shortened(*frame.key);
    }
  }
  return path;
}

TreeBuilder::Verdict TreeBuilder::count_node(int line) {
  if (++nodes_ <= nodes_max) return std::nullopt;
  return FieldError{.field = place(line),
                    .value = "more than " + std::to_string(nodes_max) + " values",
                    .limit = "at most " + std::to_string(nodes_max) + " values",
                    .help = "Split the job, or let its program read the list from a file."};
}

void TreeBuilder::attach(Tree tree) {
  if (frames_.empty()) {
    root_ = std::move(tree);
    return;
  }
  Frame& top = frames_.back();
  if (top.tree.kind == Tree::Kind::list) {
    top.tree.items.push_back(std::move(tree));
  } else {
    top.tree.members.emplace_back(std::move(*top.key), std::move(tree));
    top.key.reset();
  }
}

}  // namespace keel
