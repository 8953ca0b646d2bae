#include "adapters/processes/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/processes/files.h"
#include "adapters/processes/log_line.h"

namespace keel {
namespace {

std::vector<std::int64_t> segments_in(int directory) {
  std::vector<std::int64_t> begins;
  for (const std::string& name : names_in(directory)) {
    if (const auto begin = parse_segment_name(name)) begins.push_back(*begin);
  }
  return begins;
}

// Up to `limit` bytes at `at`; nothing where the segment is gone.
std::optional<std::string> read_at(int directory, std::int64_t begin, std::int64_t at,
                                   std::size_t limit) {
  const Descriptor fd(::openat(directory, segment_name(begin).c_str(),
                               O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::string bytes(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t n =
        ::pread(fd.get(), bytes.data() + size, limit - size, at - begin + static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

std::int64_t end_of(int directory, const std::vector<std::int64_t>& begins) {
  if (begins.empty()) return 0;
  struct stat status {};
  // Rotated away since it was listed: then more than its beginning was written.
  const bool there =
      ::fstatat(directory, segment_name(begins.back()).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  return begins.back() + (there ? status.st_size : 0);
}

// Adds the whole lines of `bytes`; gives how many bytes those were.
std::int64_t add_lines(std::string_view bytes, std::vector<LogLine>& lines) {
  std::size_t used = 0;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos;
       end = bytes.find('\n', used)) {
    if (auto line = parse_log_line(bytes.substr(used, end - used))) {
      lines.push_back(*std::move(line));
    }
    used = end + 1;
  }
  return static_cast<std::int64_t>(used);
}

}  // namespace

LogPart read_log_lines(int directory, std::int64_t offset, std::int64_t limit) {
  constexpr std::int64_t limit_min = log_text_bytes_max + log_head_bytes + 1;  // one line
  constexpr std::int64_t limit_max = 4 << 20;
  std::int64_t room = std::clamp(limit, limit_min, limit_max);
  LogPart part{.lines = {}, .next = std::max<std::int64_t>(offset, 0)};
  const std::vector<std::int64_t> begins = segments_in(directory);
  part.size = end_of(directory, begins);
  if (!begins.empty() && part.next < begins.front()) {
    part.next = begins.front();
    part.dropped = true;
  }
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const bool last = i + 1 == begins.size();
    if (!last && begins[i + 1] <= part.next) continue;
    const auto bytes = read_at(directory, begins[i], part.next, static_cast<std::size_t>(room));
    if (!bytes) {  // Rotated away since it was listed.
      part.dropped = true;
      if (!last) part.next = begins[i + 1];
      continue;
    }
    part.next += add_lines(*bytes, part.lines);
    room -= static_cast<std::int64_t>(bytes->size());
    // What follows the last whole line of a closed segment is torn, and nothing will complete it.
    const bool all_read = room > 0;
    if (!all_read) return part;
    if (!last) part.next = begins[i + 1];
  }
  part.end = true;
  return part;
}

}  // namespace keel
