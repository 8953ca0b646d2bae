// How single values of messages are written in trees: shared by tree_fill.cpp and tree_print.cpp.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <string_view>

namespace keel {

// "queued" for QUEUED.
std::string enum_word(const google::protobuf::EnumValueDescriptor& value);

// Bytes are digests, and shown in hex; only a program's own output is shown as the text it is.
bool is_shown_as_text(const google::protobuf::FieldDescriptor& field);

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace keel
