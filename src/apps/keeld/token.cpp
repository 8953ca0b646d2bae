#include "apps/keeld/token.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "model/ids.h"

namespace keel {
namespace {

std::string failure(const std::string& what) { return what + ": " + std::strerror(errno); }

Result<OperatorToken, std::string> read_token(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return failure(path);
  std::array<char, 256> buffer{};
  const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
  if (count < 0) return failure(path);
  std::string text(buffer.data(), static_cast<std::size_t>(count));
  while (text.ends_with('\n')) text.pop_back();
  if (!parse_digest(text)) {
    return path + " holds no token of 64 hexadecimal digits; remove it to have a new one made";
  }
  return OperatorToken{std::move(text)};
}

// Whole or not at all: the file gets its name once its bytes are safe.
Result<Done, std::string> write_token(const std::string& path) {
  Digest random;
  if (::getrandom(random.bytes.data(), random.bytes.size(), 0) !=
      static_cast<ssize_t>(random.bytes.size())) {
    return failure("no random numbers for the operator token");
  }
  const std::string text = print(random) + "\n";
  const std::string unfinished = path + ".new";
  const Descriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return failure(unfinished);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 || ::rename(unfinished.c_str(), path.c_str()) != 0) {
    return failure(path);
  }
  return Done{};
}

}  // namespace

Result<Descriptor, std::string> hold_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return failure(directory);
  const std::string path = directory + "/lock";
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) return failure(path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return directory + " is in use by another keeld";
    return failure(path);
  }
  return lock;
}

Result<OperatorToken, std::string> operator_token(const std::string& directory) {
  const std::string path = directory + "/operator.token";
  if (::access(path.c_str(), F_OK) != 0) {
    TRY(written, write_token(path));
  }
  return read_token(path);
}

}  // namespace keel
