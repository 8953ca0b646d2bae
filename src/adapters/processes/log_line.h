// One line of a task's log as it stands on disk:
//
//   line  = time " " stream " " whole " " text "\n"
//   time  = "2026-11-29T16:28:26.123456Z"
//   stream = "O" (stdout) | "E" (stderr)
//   whole = "F" (a full line) | "P" (it goes on in the stream's next line)
//   text  = any bytes but "\n"
//
// Lines lie in segments, files named by the 20-digit offset of their first byte. Offsets count the
// bytes of the whole log, those already rotated away included.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/units.h"
#include "ports/runtime.h"

namespace keel {

constexpr std::size_t log_text_bytes_max = 16 << 10;  // a longer line becomes several partial ones
constexpr std::size_t log_head_bytes = 32;            // all that comes before the text
constexpr int log_segments_max = 8;

// "2026-11-29T16:28:26.123456Z"
std::string print_time(Instant wall);

// What stands between time and text.
std::string_view log_mark(bool error, bool partial);

// `line` without its end. Nothing where it is no such line, e.g. torn by a full disk.
std::optional<LogLine> parse_log_line(std::string_view line);

std::string segment_name(std::int64_t offset);
std::optional<std::int64_t> parse_segment_name(std::string_view name);

}  // namespace keel
