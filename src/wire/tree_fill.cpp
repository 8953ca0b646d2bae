#include <google/protobuf/descriptor.h>

#include <limits>

#include "wire/quantity.h"
#include "wire/suggest.h"
#include "wire/text.h"
#include "wire/tree.h"
#include "wire/tree_words.h"

namespace keel {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> field_names(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

// What was meant by an unknown field: one of this message, or one a level below ("tasks" for
// "gang.tasks").
std::string meant_field(const std::string& given, const Descriptor& type) {
  if (std::string name = nearest(given, field_names(type)); !name.empty()) return name;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const Descriptor* inner = field.message_type();
    if (inner == nullptr || field.is_repeated()) continue;
    const std::string name = nearest(given, field_names(*inner));
    if (!name.empty()) return field.name() + "." + name;
  }
  return {};
}

struct Whole {
  std::uint64_t size{};
  bool negative{};
};

std::optional<Whole> whole_of(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  const auto size = parse_whole(negative ? text.substr(1) : text);
  if (!size || (negative && *size == 0)) return std::nullopt;
  return Whole{*size, negative};
}

// The number as a signed one within [-max - 1, max].
std::optional<std::int64_t> signed_of(const Whole& whole, std::int64_t max) {
  const auto bound = static_cast<std::uint64_t>(max) + (whole.negative ? 1 : 0);
  if (whole.size > bound) return std::nullopt;
  return static_cast<std::int64_t>(whole.negative ? 0 - whole.size : whole.size);
}

class Filler {
 public:
  void fill_message(Message& message, const Tree& tree, const std::string& path) {
    const Descriptor& type = *message.GetDescriptor();
    if (tree.kind != Tree::Kind::map) {
      refuse(path, tree, "fields", "Write it as fields: " + joined(field_names(type)) + ".");
      return;
    }
    for (const auto& [key, value] : tree.members) {
      const std::string inner = path.empty() ? shortened(key) : path + "." + shortened(key);
      const FieldDescriptor* field = type.FindFieldByName(key);
      if (field == nullptr) {
        refuse_unknown(inner, key, value, type);
      } else {
        fill_field(message, *field, value, inner);
      }
    }
  }

  std::vector<FieldError> take() { return std::move(errors_); }

 private:
  void refuse(const std::string& path, const Tree& tree, std::string limit, std::string help) {
    std::string value;
    if (tree.kind == Tree::Kind::scalar) value = shortened(tree.text);
    if (tree.kind == Tree::Kind::list) value = "a list";
    if (tree.kind == Tree::Kind::map) value = "a map";
    if (tree.line != 0) help += " (" + std::string("line ") + std::to_string(tree.line) + ")";
    errors_.push_back(FieldError{.field = path.empty() ? "the file" : path,
                                 .value = std::move(value),
                                 .limit = std::move(limit),
                                 .help = std::move(help)});
  }

  void refuse_unknown(const std::string& path, const std::string& key, const Tree& value,
                      const Descriptor& type) {
    const std::string meant = meant_field(key, type);
    const std::string help = meant.empty()
                                 ? "There is no such field."
                                 : "There is no such field; did you mean \"" + meant + "\"?";
    refuse(path, value, "one of " + joined(field_names(type)), help);
  }

  void fill_field(Message& message, const FieldDescriptor& field, const Tree& tree,
                  const std::string& path) {
    if (tree.kind == Tree::Kind::null) {
      refuse(path, tree, "a value", "It has no value: give it one, or leave the field out.");
    } else if (field.is_map()) {
      fill_map(message, field, tree, path);
    } else if (field.is_repeated()) {
      fill_list(message, field, tree, path);
    } else if (field.message_type() != nullptr) {
      fill_message(*message.GetReflection()->MutableMessage(&message, &field), tree, path);
    } else {
      fill_scalar(message, field, tree, path);
    }
  }

  void fill_list(Message& message, const FieldDescriptor& field, const Tree& tree,
                 const std::string& path) {
    if (tree.kind != Tree::Kind::list) {
      refuse(path, tree, "a list", "Write each item behind a \"-\", or all of them in [ ].");
      return;
    }
    for (std::size_t i = 0; i < tree.items.size(); ++i) {
      const std::string inner = path + "[" + std::to_string(i) + "]";
      if (tree.items[i].kind == Tree::Kind::null) {
        refuse(inner, tree.items[i], "a value", "It has no value; write \"\" for empty text.");
      } else if (field.message_type() != nullptr) {
        fill_message(*message.GetReflection()->AddMessage(&message, &field), tree.items[i], inner);
      } else {
        fill_scalar(message, field, tree.items[i], inner);
      }
    }
  }

  // Maps of ours are from text to text.
  void fill_map(Message& message, const FieldDescriptor& field, const Tree& tree,
                const std::string& path) {
    if (tree.kind != Tree::Kind::map) {
      refuse(path, tree, "a map", "Write each entry as NAME: value.");
      return;
    }
    const Descriptor& entry_type = *field.message_type();
    for (const auto& [key, value] : tree.members) {
      const std::string inner = path + "." + shortened(key);
      if (value.kind != Tree::Kind::scalar) {
        refuse(inner, value, "text", "Write it as text; \"\" stands for empty text.");
        continue;
      }
      Message& entry = *message.GetReflection()->AddMessage(&message, &field);
      entry.GetReflection()->SetString(&entry, entry_type.map_key(), key);
      entry.GetReflection()->SetString(&entry, entry_type.map_value(), value.text);
    }
  }

  void fill_scalar(Message& message, const FieldDescriptor& field, const Tree& tree,
                   const std::string& path) {
    if (tree.kind != Tree::Kind::scalar) {
      refuse(path, tree, "one value", "One value belongs here.");
      return;
    }
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: fill_text(message, field, tree, path); return;
      case FieldDescriptor::CPPTYPE_BOOL: fill_bool(message, field, tree, path); return;
      case FieldDescriptor::CPPTYPE_ENUM: fill_enum(message, field, tree, path); return;
      default: fill_number(message, field, tree, path); return;
    }
  }

  void fill_text(Message& message, const FieldDescriptor& field, const Tree& tree,
                 const std::string& path) {
    if (field.type() != FieldDescriptor::TYPE_BYTES || is_shown_as_text(field)) {
      put_text(message, field, tree.text);
      return;
    }
    const auto bytes = from_hex(tree.text);
    if (bytes) {
      put_text(message, field, *bytes);
    } else {
      refuse(path, tree, "hexadecimal digits", "Write two digits 0-9 a-f for each byte.");
    }
  }

  static void put_text(Message& message, const FieldDescriptor& field, const std::string& text) {
    if (field.is_repeated()) {
      message.GetReflection()->AddString(&message, &field, text);
    } else {
      message.GetReflection()->SetString(&message, &field, text);
    }
  }

  void fill_bool(Message& message, const FieldDescriptor& field, const Tree& tree,
                 const std::string& path) {
    const bool given = !tree.quoted && (tree.text == "true" || tree.text == "false");
    if (!given || field.is_repeated()) {
      refuse(path, tree, "true or false", "Write true or false, without quotes.");
      return;
    }
    message.GetReflection()->SetBool(&message, &field, tree.text == "true");
  }

  void fill_enum(Message& message, const FieldDescriptor& field, const Tree& tree,
                 const std::string& path) {
    const EnumDescriptor& type = *field.enum_type();
    std::vector<std::string> words;
    for (int i = 0; i < type.value_count(); ++i) {
      const auto& value = *type.value(i);
      if (value.number() == 0) continue;  // "unspecified" is said by saying nothing
      words.push_back(enum_word(value));
      if (words.back() != tree.text) continue;
      if (field.is_repeated()) {
        message.GetReflection()->AddEnumValue(&message, &field, value.number());
      } else {
        message.GetReflection()->SetEnumValue(&message, &field, value.number());
      }
      return;
    }
    const std::string meant = nearest(tree.text, words);
    refuse(path, tree, "one of " + joined(words),
           meant.empty() ? "There is no such value." : "Did you mean \"" + meant + "\"?");
  }

  void fill_number(Message& message, const FieldDescriptor& field, const Tree& tree,
                   const std::string& path) {
    const auto whole = tree.quoted ? std::nullopt : whole_of(tree.text);
    if (!whole) {
      refuse(path, tree, "a whole number",
             "Write digits only: no quotes, unit, exponent, point or leading zeros.");
    } else if (!put_number(message, field, *whole)) {
      refuse(path, tree, "a number that fits " + std::string(field.cpp_type_name()),
             "The number is out of range.");
    }
  }

  static bool put_number(Message& message, const FieldDescriptor& field, const Whole& whole) {
    const auto& reflection = *message.GetReflection();
    if (field.is_repeated())
      return false;  // the contract has no lists of numbers that people write
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64: {
        const auto number = signed_of(whole, std::numeric_limits<std::int64_t>::max());
        if (number) reflection.SetInt64(&message, &field, *number);
        return number.has_value();
      }
      case FieldDescriptor::CPPTYPE_INT32: {
        const auto number = signed_of(whole, std::numeric_limits<std::int32_t>::max());
        if (number) reflection.SetInt32(&message, &field, static_cast<std::int32_t>(*number));
        return number.has_value();
      }
      case FieldDescriptor::CPPTYPE_UINT64:
        if (!whole.negative) reflection.SetUInt64(&message, &field, whole.size);
        return !whole.negative;
      case FieldDescriptor::CPPTYPE_UINT32: {
        const bool fits = !whole.negative && whole.size <= UINT32_MAX;
        if (fits) reflection.SetUInt32(&message, &field, static_cast<std::uint32_t>(whole.size));
        return fits;
      }
      default: return false;
    }
  }

  std::vector<FieldError> errors_;
};

}  // namespace

Result<Done, std::vector<FieldError>> fill(Message& message, const Tree& tree) {
  Filler filler;
  filler.fill_message(message, tree, "");
  std::vector<FieldError> errors = filler.take();
  if (!errors.empty()) return errors;
  return Done{};
}

}  // namespace keel
