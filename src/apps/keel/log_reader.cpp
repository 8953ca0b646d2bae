#include "apps/keel/log_reader.h"

#include <algorithm>
#include <ostream>

#include "apps/keel/patience.h"
#include "apps/keel/words.h"

namespace keel::cli {
namespace {

struct WrittenLine {
  std::uint32_t task{};
  v1::LogLine line;
};

}  // namespace

void LineWriter::end_open_line() {
  if (!open_) return;
  (open_->error ? session_.err : session_.out) << "\n";
  open_.reset();
}

void LineWriter::write(std::uint32_t task, const v1::LogLine& line) {
  const Open source{task, line.error()};
  const bool goes_on = open_ == source;
  if (!goes_on) end_open_line();
  // Where both go to one place, each line comes there in its turn.
  if (line.error()) session_.out.flush();
  std::ostream& to = line.error() ? session_.err : session_.out;
  const bool is_terminal = line.error() ? session_.err_is_terminal : session_.out_is_terminal;
  if (!goes_on) {
    if (options_.timestamps) to << utc_stamp(Instant{line.at_us()}) << " ";
    if (options_.prefix) to << "[" << task << "] ";
  }
  // A file gets what the program wrote; a terminal gets nothing that would steer it.
  to << (is_terminal ? tamed(line.text()) : line.text());
  if (line.partial()) {
    open_ = source;
  } else {
    to << "\n";
    open_.reset();
  }
}

void LineWriter::note(const std::string& words) {
  end_open_line();
  session_.out.flush();
  session_.err << words << "\n";
}

void LineWriter::flush() {
  session_.out.flush();
  session_.err.flush();
}

LogReader::LogReader(UsersClient& client, std::string job, std::uint32_t attempt,
                     const std::vector<std::uint32_t>& tasks)
    : client_(client), job_(std::move(job)), attempt_(attempt) {
  for (const std::uint32_t task : tasks) sources_.push_back({.task = task});
}

Result<LogReader::Part, ClientError> LogReader::read(LineWriter& writer, int wait_ms) {
  std::vector<WrittenLine> written;
  std::vector<Source> sources = sources_;
  std::optional<ClientError> error;
  for (Source& source : sources) {
    if (source.end) continue;
    v1::ReadLogRequest request;
    request.set_job(job_);
    request.set_task(source.task);
    request.set_attempt(attempt_);
    request.set_offset(source.offset);
    request.set_wait_ms(sources.size() == 1 ? wait_ms : 0);
    auto part = client_.read_log(request);
    if (!part) {
      const bool is_refused = part.error().code == ClientError::Code::refused;
      source.end = !is_passing(part.error());
      if (!error || source.end) error = part.error();
      if (!is_refused) break;  // the others would not be answered either
      continue;
    }
    count_gap(source, *part, writer);
    for (v1::LogLine& line : *part->mutable_lines()) {
      written.push_back({.task = source.task, .line = std::move(line)});
    }
    source.offset = part->next();
    if (is_bounded_ && source.until == 0) source.until = part->size();
    source.end = part->end() || (source.until != 0 && source.offset >= source.until);
  }
  // What was read of other tasks is shown even where one could not be read.
  std::stable_sort(written.begin(), written.end(), [](const WrittenLine& a, const WrittenLine& b) {
    return a.line.at_us() < b.line.at_us();
  });
  for (const WrittenLine& one : written) writer.write(one.task, one.line);
  writer.flush();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    if (sources_[i].end || !source.end || source.gaps < 2) continue;
    writer.note("keel: lines of task " + std::to_string(source.task) + " were rotated away in " +
                std::to_string(source.gaps) + " places");
  }
  sources_ = std::move(sources);
  if (error) return *error;
  return Part{.any = !written.empty()};
}

// A flood that is rotated faster than it is read has hundreds.
void LogReader::count_gap(Source& source, const v1::ReadLogResponse& part, LineWriter& writer) {
  if (part.dropped() && !source.in_gap && ++source.gaps == 1) {
    writer.note("keel: older lines of task " + std::to_string(source.task) + " were rotated away");
  }
  source.in_gap = part.lines().empty() && (source.in_gap || part.dropped());
}

bool LogReader::ended() const {
  return std::all_of(sources_.begin(), sources_.end(), [](const Source& s) { return s.end; });
}

}  // namespace keel::cli
