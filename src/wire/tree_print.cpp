#include <google/protobuf/descriptor.h>

#include <map>

#include "wire/text.h"
#include "wire/tree.h"
#include "wire/tree_words.h"

namespace keel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

Tree text_tree(std::string text) {
  return Tree{.kind = Tree::Kind::scalar, .quoted = true, .text = std::move(text)};
}

Tree plain_tree(std::string text) {
  return Tree{.kind = Tree::Kind::scalar, .quoted = false, .text = std::move(text)};
}

Tree tree_of(const Message& message);

Tree tree_of_text(const FieldDescriptor& field, const std::string& text) {
  const bool hex = field.type() == FieldDescriptor::TYPE_BYTES && !is_shown_as_text(field);
  return text_tree(hex ? to_hex(text) : as_utf8(text));
}

Tree tree_of_enum(const FieldDescriptor& field, int number) {
  const auto* value = field.enum_type()->FindValueByNumber(number);
  return value == nullptr ? plain_tree(std::to_string(number)) : text_tree(enum_word(*value));
}

Tree tree_of_single(const Message& message, const FieldDescriptor& field) {
  const Reflection& from = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return tree_of_text(field, from.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE: return tree_of(from.GetMessage(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return tree_of_enum(field, from.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return plain_tree(from.GetBool(message, &field) ? "true" : "false");
    case FieldDescriptor::CPPTYPE_INT32:
      return plain_tree(std::to_string(from.GetInt32(message, &field)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return plain_tree(std::to_string(from.GetUInt32(message, &field)));
    case FieldDescriptor::CPPTYPE_INT64:
      return plain_tree(std::to_string(from.GetInt64(message, &field)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return plain_tree(std::to_string(from.GetUInt64(message, &field)));
    default: return Tree{};  // the contract has no floating-point numbers
  }
}

// Lists are of messages, texts, enum values and numbers without a sign.
Tree tree_of_list(const Message& message, const FieldDescriptor& field) {
  const Reflection& from = *message.GetReflection();
  Tree list{.kind = Tree::Kind::list};
  for (int i = 0; i < from.FieldSize(message, &field); ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      list.items.push_back(tree_of(from.GetRepeatedMessage(message, &field, i)));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      list.items.push_back(tree_of_enum(field, from.GetRepeatedEnumValue(message, &field, i)));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      list.items.push_back(tree_of_text(field, from.GetRepeatedString(message, &field, i)));
    } else {
      list.items.push_back(plain_tree(std::to_string(from.GetRepeatedUInt32(message, &field, i))));
    }
  }
  return list;
}

Tree tree_of_map(const Message& message, const FieldDescriptor& field) {
  const Reflection& from = *message.GetReflection();
  std::map<std::string, std::string> sorted;
  for (int i = 0; i < from.FieldSize(message, &field); ++i) {
    const Message& entry = from.GetRepeatedMessage(message, &field, i);
    const auto& type = *field.message_type();
    sorted[entry.GetReflection()->GetString(entry, type.map_key())] =
        entry.GetReflection()->GetString(entry, type.map_value());
  }
  Tree map{.kind = Tree::Kind::map};
  for (const auto& [key, value] : sorted) map.members.emplace_back(key, text_tree(as_utf8(value)));
  return map;
}

bool is_said(const Message& message, const FieldDescriptor& field) {
  if (field.is_repeated()) return true;
  const Reflection& from = *message.GetReflection();
  if (field.has_presence()) return from.HasField(message, &field);
  const bool is_enum = field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
  return !is_enum || from.GetEnumValue(message, &field) != 0;
}

Tree tree_of(const Message& message) {
  Tree map{.kind = Tree::Kind::map};
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!is_said(message, field)) continue;
    if (field.is_map()) {
      map.members.emplace_back(field.name(), tree_of_map(message, field));
    } else if (field.is_repeated()) {
      map.members.emplace_back(field.name(), tree_of_list(message, field));
    } else {
      map.members.emplace_back(field.name(), tree_of_single(message, field));
    }
  }
  return map;
}

void add_escape(std::string& to, char32_t code) {
  switch (code) {
    case '"': to += "\\\""; return;
    case '\\': to += "\\\\"; return;
    case '\n': to += "\\n"; return;
    case '\r': to += "\\r"; return;
    case '\t': to += "\\t"; return;
    default: break;
  }
  to += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) to += base16[(code >> shift) & 15];
}

// In double quotes: the same for JSON and YAML, and harmless to terminals.
std::string double_quoted(std::string_view text) {
  std::string to = "\"";
  while (!text.empty()) {
    const auto character = first_character(text);
    const std::size_t length = character ? character->length : 1;
    const char32_t code = character ? character->code : 0xfffd;
    const bool plain = printable(text.substr(0, length)) == text.substr(0, length);
    // Escapes of four digits do for all that needs one: what lies above U+FFFF is written as it is.
    if (code == '"' || code == '\\' || (!plain && code <= 0xffff)) {
      add_escape(to, code);
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return to + "\"";
}

bool needs_no_quotes(std::string_view text) {
  constexpr std::string_view first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ./_";
  constexpr std::string_view other = "0123456789-";
  if (text.empty() || first.find(text[0]) == first.npos) return false;
  for (const char c : text) {
    if (first.find(c) == first.npos && other.find(c) == other.npos) return false;
  }
  // Other readers of YAML take these for something else than text, and so do "..." and ".5".
  const std::string lower = lower_case(text);
  for (const char* word : {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}) {
    if (lower == word) return false;
  }
  return text[0] != '.' || text.starts_with("./");
}

void print_json_tree(std::string& to, const Tree& tree, std::size_t indent) {
  const std::string inner(indent + 2, ' ');
  const bool is_list = tree.kind == Tree::Kind::list;
  if (tree.kind == Tree::Kind::null) {
    to += "null";
  } else if (tree.kind == Tree::Kind::scalar) {
    to += tree.quoted ? double_quoted(tree.text) : tree.text;
  } else if (tree.items.empty() && tree.members.empty()) {
    to += is_list ? "[]" : "{}";
  } else {
    to += is_list ? "[" : "{";
    std::string_view separator = "\n";
    for (const Tree& item : tree.items) {
      to.append(separator).append(inner);
      print_json_tree(to, item, indent + 2);
      separator = ",\n";
    }
    for (const auto& [key, value] : tree.members) {
      to.append(separator).append(inner).append(double_quoted(key)).append(": ");
      print_json_tree(to, value, indent + 2);
      separator = ",\n";
    }
    to.append("\n").append(indent, ' ').append(is_list ? "]" : "}");
  }
}

std::string yaml_scalar(const Tree& tree) {
  if (tree.kind == Tree::Kind::null) return "null";
  if (tree.kind == Tree::Kind::list) return "[]";
  if (tree.kind == Tree::Kind::map) return "{}";
  return tree.quoted && !needs_no_quotes(tree.text) ? double_quoted(tree.text) : tree.text;
}

std::string yaml_key(std::string_view key) {
  return needs_no_quotes(key) ? std::string(key) : double_quoted(key);
}

// The lines of a list or map that is not empty. The first line goes on where the caller stands,
// which is behind "- " for items of lists.
void print_yaml_tree(std::string& to, const Tree& tree, std::size_t indent) {
  bool first = true;
  const auto begin_line = [&] {
    if (!first) to.append(indent, ' ');
    first = false;
  };
  for (const Tree& item : tree.items) {
    begin_line();
    to += "- ";
    if (item.items.empty() && item.members.empty()) {
      to += yaml_scalar(item) + "\n";
    } else {
      print_yaml_tree(to, item, indent + 2);
    }
  }
  for (const auto& [key, value] : tree.members) {
    begin_line();
    to += yaml_key(key) + ":";
    if (value.items.empty() && value.members.empty()) {
      to += " " + yaml_scalar(value) + "\n";
    } else {
      to.append("\n").append(indent + 2, ' ');
      print_yaml_tree(to, value, indent + 2);
    }
  }
}

}  // namespace

std::string enum_word(const google::protobuf::EnumValueDescriptor& value) {
  return lower_case(value.name());
}

bool is_shown_as_text(const FieldDescriptor& field) {
  return field.full_name() == "keel.v1.LogLine.text";
}

std::string to_hex(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) {
    digits += base16[static_cast<unsigned char>(byte) >> 4];
    digits += base16[static_cast<unsigned char>(byte) & 15];
  }
  return digits;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::size_t high = base16.find(digits[i]);
    const std::size_t low = base16.find(digits[i + 1]);
    if (high == base16.npos || low == base16.npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string print_yaml(const Message& message) {
  const Tree tree = tree_of(message);
  std::string text;
  if (tree.members.empty()) return "{}\n";
  print_yaml_tree(text, tree, 0);
  return text;
}

std::string print_json(const Message& message) {
  std::string text;
  print_json_tree(text, tree_of(message), 0);
  return text + "\n";
}

}  // namespace keel
