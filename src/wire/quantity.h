// Quantities as people write them, exactly or not at all: nothing is rounded, nothing wraps. ASCII
// digits only; no sign, no exponent, no spaces, no leading zeros.
//
//   duration   1*(number unit)               unit: d h m s ms us, each once, largest first
//   size       number ["." digits] [unit]    unit: Ki Mi Gi Ti (of 1024), K M G T (of 1000)
//   cpu        number ["." digits] | number "m"  cores | thousandths of a core
//   signal     ["SIG"] ("TERM" | "INT" | "USR1" | "USR2" | "HUP")
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/units.h"

namespace keel {

std::optional<Duration> parse_duration(std::string_view text);
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<Millicores> parse_millicores(std::string_view text);
std::optional<int> parse_stop_signal(std::string_view text);

// A whole number, in the same strict form.
std::optional<std::uint64_t> parse_whole(std::string_view text);

// Canonical: equal quantities give equal text, and parse gives the quantity back. Durations in the
// largest units that are exact ("1h30m", "0s"), sizes likewise ("16Gi", "1000"), whole cores
// without "m". A negative duration has "-" in front and is not parsed back.
std::string print(Duration duration);
std::string print(Bytes bytes);
std::string print(Millicores cpu);

// "TERM"; a signal that no spec may name is given by its number.
std::string print_stop_signal(int signal);

}  // namespace keel
