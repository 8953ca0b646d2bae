#include "adapters/processes/task_files.h"

#include <fcntl.h>
#include <google/protobuf/descriptor.h>
#include <unistd.h>

#include "base/check.h"

namespace keel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor& format_of(const Message& message) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName("format");
  check(field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32,
        "every local file has a format");
  return *field;
}

struct flock whole_file(int type) {
  struct flock lock {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  return lock;
}

Descriptor open_lock(int directory) {
  return Descriptor(::openat(directory, lock_file, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

std::string describe(Reading reading) {
  switch (reading) {
    case Reading::good: return "is good";
    case Reading::absent: return "is absent";
    case Reading::damaged: return "is damaged";
    case Reading::newer: return "was written by a newer version";
  }
  check(false, "every reading is described");
  return {};
}

Reading read_message(int directory, const char* name, Message& message) {
  const auto bytes = read_file(directory, name);
  if (!bytes) return Reading::damaged;
  if (!*bytes) return Reading::absent;
  if (!message.ParseFromString(**bytes)) return Reading::damaged;
  const auto format = message.GetReflection()->GetUInt32(message, &format_of(message));
  if (format == 0) return Reading::damaged;
  return format > local_format ? Reading::newer : Reading::good;
}

Result<Done, std::string> write_message(int directory, const char* name, Message& message,
                                        Lasting lasting) {
  message.GetReflection()->SetUInt32(&message, &format_of(message), local_format);
  std::string bytes;
  check(message.SerializeToString(&bytes), "a complete message can be written");
  return write_file(directory, name, bytes, lasting);
}

Result<Done, std::string> make_lock(int directory) {
  const Descriptor fd(
      ::openat(directory, lock_file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return failure(lock_file);
  return Done{};
}

Result<Descriptor, std::string> take_lock(int directory) {
  Descriptor fd = open_lock(directory);
  struct flock lock = whole_file(F_WRLCK);
  if (!fd || ::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) return failure(lock_file);
  return fd;
}

bool is_locked(int directory) {
  const Descriptor fd = open_lock(directory);
  struct flock lock = whole_file(F_WRLCK);
  if (!fd || ::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0) return false;
  return lock.l_type != F_UNLCK;
}

}  // namespace keel
