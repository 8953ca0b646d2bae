#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "wire/text.h"
#include "wire/tree.h"
#include "wire/tree_builder.h"

namespace keel {
namespace {

// Thrown out of the parser's callbacks, which have no other way to end it; caught in this file.
struct Refused {
  FieldError error;
};

int line_of(const YAML::Mark& mark) { return mark.is_null() ? 0 : mark.line + 1; }

[[noreturn]] void refuse(const std::string& field, std::string value, std::string limit,
                         std::string help) {
  throw Refused{{.field = field,
                 .value = std::move(value),
                 .limit = std::move(limit),
                 .help = std::move(help)}};
}

class YamlEvents : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    if (builder_.expects_key()) {
      refuse(place(line_of(mark)), "", "a key before \":\"", "A value has no key.");
    }
    obey(builder_.null(line_of(mark)));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(place(line_of(mark)), "an alias (*name)", "plain values",
           "Aliases are not read; write the value out.");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    // The parser gives "?" for a plain scalar and "!" for a quoted one.
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark, tag);
    const bool quoted = tag == "!";
    const int line = line_of(mark);
    if (builder_.expects_key()) {
      if (value == "<<" && !quoted) {
        refuse(place(line), "<<", "plain keys", "Merge keys are not read; write the fields out.");
      }
      obey(builder_.key(value, line));
    } else {
      obey(builder_.scalar(value, quoted, line));
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Tree::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { builder_.close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Tree::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { builder_.close(); }

  Tree take() { return builder_.take(); }

 private:
  void open(Tree::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    if (builder_.expects_key()) {
      refuse(place(line_of(mark)), "a list or map as key", "text as key", "Keys are plain words.");
    }
    obey(builder_.open(kind, line_of(mark)));
  }

  static void obey(const std::optional<FieldError>& error) {
    if (error) throw Refused{*error};
  }

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    refuse(place(line_of(mark)), "an anchor (&name)", "plain values",
           "Anchors are not read; write the value out where it is needed.");
  }

  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    refuse(place(line_of(mark)), shortened(tag), "plain values",
           "Tags are not read; the field decides what a value means.");
  }

  TreeBuilder builder_;
};

Tree parse_one_document(std::string_view text) {
  std::istringstream input{std::string(text)};
  YAML::Parser parser(input);
  YamlEvents events;
  if (!parser.HandleNextDocument(events)) return Tree{};
  YamlEvents more;
  if (parser.HandleNextDocument(more)) {
    refuse("the file", "more than one document (---)", "one document",
           "Put each job into a file of its own.");
  }
  return events.take();
}

}  // namespace

Result<Tree, std::vector<FieldError>> parse_yaml(std::string_view text) {
  if (auto error = unreadable(text)) return std::vector{*std::move(error)};
  try {
    return parse_one_document(text);
  } catch (const Refused& refused) {
    return std::vector{refused.error};
  } catch (const YAML::Exception& error) {
    return std::vector{FieldError{.field = place(line_of(error.mark)),
                                  .value = "",
                                  .limit = "YAML or JSON",
                                  .help = "It cannot be read: " + printable(error.msg) + "."}};
  }
}

}  // namespace keel
