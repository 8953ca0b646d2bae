#include "adapters/processes/log_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "adapters/processes/log_line.h"

namespace keel {
namespace {

constexpr std::size_t ready_bytes_max = 64 << 10;
constexpr Duration partial_after = seconds(1);
constexpr std::int64_t segment_bytes_min = 2 * (log_text_bytes_max + log_head_bytes + 1);

}  // namespace

LogWriter::LogWriter(int directory, std::int64_t bytes_max)
    : directory_(directory),
      segment_bytes_max_(std::max(bytes_max / log_segments_max, segment_bytes_min)) {}

void LogWriter::add(bool error, std::string_view bytes, Instant wall) {
  Stream& stream = streams_[error ? 1 : 0];
  while (!bytes.empty()) {
    const std::size_t room = log_text_bytes_max - stream.line.size();
    const std::string_view part = bytes.substr(0, room);
    const std::size_t end = part.find('\n');
    if (end == std::string_view::npos) {
      if (stream.line.empty()) stream.since = wall;
      stream.line += part;
      bytes.remove_prefix(part.size());
      // A line of exactly the limit is whole: what follows decides.
      if (stream.line.size() < log_text_bytes_max || bytes.empty()) continue;
      if (bytes.front() == '\n') {
        put_line(error, false, stream.line, wall);
        bytes.remove_prefix(1);
      } else {
        put_line(error, true, stream.line, wall);
      }
      stream.line.clear();
      continue;
    }
    stream.line += part.substr(0, end);
    put_line(error, false, stream.line, wall);
    stream.line.clear();
    bytes.remove_prefix(end + 1);
  }
  flush();
  confess(wall);
}

void LogWriter::note(std::string_view text, Instant wall) {
  put_line(true, false, "keel-shim: " + std::string(text), wall);
  flush();
}

void LogWriter::tick(Instant wall) {
  for (const bool error : {false, true}) {
    Stream& stream = streams_[error ? 1 : 0];
    if (stream.line.empty() || wall - stream.since < partial_after) continue;
    put_line(error, true, stream.line, wall);
    stream.line.clear();
  }
  flush();
  confess(wall);
}

void LogWriter::finish(Instant wall) {
  for (const bool error : {false, true}) {
    Stream& stream = streams_[error ? 1 : 0];
    if (!stream.line.empty()) put_line(error, true, stream.line, wall);
    stream.line.clear();
  }
  flush();
  confess(wall);
  if (segment_) (void)::fdatasync(segment_.get());  // The lines can be read in any case.
}

void LogWriter::put_line(bool error, bool partial, std::string_view text, Instant wall) {
  const auto bytes = static_cast<std::int64_t>(log_head_bytes + text.size() + 1);
  const std::int64_t end = offset_ + static_cast<std::int64_t>(ready_.size()) + bytes;
  if (end - segment_begin_ > segment_bytes_max_ || ready_.size() > ready_bytes_max) flush();
  if (offset_ + bytes - segment_begin_ > segment_bytes_max_) (void)rotate();  // flush() tells.
  if (wall != time_at_) time_ = print_time(time_at_ = wall);
  ready_ += time_;
  ready_ += log_mark(error, partial);
  ready_ += text;
  ready_ += '\n';
  ++ready_lines_;
}

void LogWriter::flush() {
  if (ready_.empty()) return;
  if (!write_out()) {
    lost_.error = errno;
    lost_.lines += ready_lines_;
    lost_.bytes += static_cast<std::int64_t>(ready_.size());
  }
  ready_.clear();
  ready_lines_ = 0;
}

// All of it or nothing: a torn line is cut off again.
bool LogWriter::write_out() {
  if (!segment_ && !rotate()) return false;
  std::string_view rest = ready_;
  while (!rest.empty()) {
    const ssize_t n = ::write(segment_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n == 0 ? ENOSPC : errno;
      (void)::ftruncate(segment_.get(), offset_ - segment_begin_);  // Readers skip torn lines.
      (void)::lseek(segment_.get(), offset_ - segment_begin_, SEEK_SET);
      errno = error;
      return false;
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  offset_ += static_cast<std::int64_t>(ready_.size());
  return true;
}

// Begins the next segment, having made room for it first.
bool LogWriter::rotate() {
  std::vector<std::string> segments;
  for (const std::string& name : names_in(directory_)) {
    if (parse_segment_name(name)) segments.push_back(name);
  }
  for (std::size_t i = 0; i + log_segments_max <= segments.size(); ++i) {
    (void)::unlinkat(directory_, segments[i].c_str(), 0);  // Tried again at the next rotation.
  }
  segment_ = Descriptor(::openat(directory_, segment_name(offset_).c_str(),
                                 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  segment_begin_ = offset_;
  return static_cast<bool>(segment_);
}

void LogWriter::confess(Instant wall) {
  if (lost_.lines == 0) return;
  const Lost lost = lost_;
  lost_ = {};
  note(std::to_string(lost.lines) + " lines (" + std::to_string(lost.bytes) +
           " bytes) of output were lost: " + std::strerror(lost.error),
       wall);
  if (lost_.lines == 0) return;
  // It could not be said yet; the note itself is no loss.
  lost_ = lost;
}

}  // namespace keel
