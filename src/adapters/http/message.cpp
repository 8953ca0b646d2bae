#include "adapters/http/message.h"

#include <algorithm>
#include <string>

#include "wire/tree.h"

namespace keel {
namespace {

using google::protobuf::FieldDescriptor;

pb::ApiError not_of_this_path(const std::string& name) {
  return refuse(ErrorCode::invalid,
                {name, name, "the path has said it", "Say it once, in the path."});
}

Tree scalar(const FieldDescriptor* field, const std::string& text) {
  Tree value{Tree::Kind::scalar};
  // A query has no quotes: a name of digits is a name where a name is due.
  value.quoted = field && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  value.text = text;
  return value;
}

}  // namespace

std::optional<pb::ApiError> fill_from_query(google::protobuf::Message& request,
                                            const Target& target, std::string_view path_field) {
  Tree tree{Tree::Kind::map};
  for (const auto& [name, text] : target.query) {
    if (name == path_field) return not_of_this_path(name);
    const FieldDescriptor* field = request.GetDescriptor()->FindFieldByName(name);
    auto before = std::find_if(tree.members.begin(), tree.members.end(),
                               [&](const auto& member) { return member.first == name; });
    if (field && field->is_repeated()) {
      if (before == tree.members.end()) {
        before = tree.members.insert(before, {name, Tree{Tree::Kind::list}});
      }
      before->second.items.push_back(scalar(field, text));
    } else if (before != tree.members.end()) {
      return refuse(ErrorCode::invalid, {name, text, "once", "Say it once."});
    } else {
      tree.members.emplace_back(name, scalar(field, text));
    }
  }
  auto filled = fill(request, tree);
  if (!filled) return refuse(filled.error());
  return std::nullopt;
}

std::optional<pb::ApiError> fill_from_body(google::protobuf::Message& request,
                                           std::string_view body) {
  auto tree = parse_json(body);
  if (!tree) return refuse(tree.error());
  if (tree->kind != Tree::Kind::map) {
    return refuse(ErrorCode::invalid,
                  {"", body, "a JSON object", "Send an object, like {\"spec\": {…}}."});
  }
  auto filled = fill(request, *tree);
  if (!filled) return refuse(filled.error());
  return std::nullopt;
}

}  // namespace keel
