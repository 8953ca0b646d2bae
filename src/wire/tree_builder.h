// Builds a Tree from the events of a parser, within the bounds that tree.h promises.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/tree.h"

namespace keel {

// Every call gives the error that ends the parse, or nothing. `line` is 1-based, 0 where unknown.
class TreeBuilder {
 public:
  using Verdict = std::optional<FieldError>;

  Verdict null(int line);
  Verdict scalar(std::string text, bool quoted, int line);
  Verdict open(Tree::Kind kind, int line);  // list or map
  Verdict key(std::string text, int line);
  void close();

  // True inside a map, between two members: what comes next is a key.
  bool expects_key() const;

  // Where the next value goes: "env.A", "args[3]"; empty at the root.
  std::string path() const;

  Tree take() { return std::move(root_); }

 private:
  struct Frame {
    Tree tree;
    std::optional<std::string> key;    // waiting for its value
    std::map<std::string, int> lines;  // of the keys so far
  };

  Verdict count_node(int line);
  void attach(Tree tree);

  Tree root_;
  std::vector<Frame> frames_;
  int nodes_ = 0;
};

// "line 3", or "the file" where the line is unknown.
std::string place(int line);

// The checks that come before any parser sees the text.
std::optional<FieldError> unreadable(std::string_view text);

}  // namespace keel
