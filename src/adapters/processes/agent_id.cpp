#include "adapters/processes/agent_id.h"

#include <sys/random.h>

#include <array>

#include "adapters/processes/files.h"

namespace keel {
namespace {

constexpr const char* id_file = "agent-id";
constexpr const char* hexadecimal = "0123456789abcdef";
constexpr std::size_t digits_needed = 32;

Result<AgentId, std::string> draw() {
  std::array<unsigned char, digits_needed / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failure("getrandom");
  }
  AgentId id;
  for (const unsigned char byte : bytes) {
    id.digits += hexadecimal[byte >> 4];
    id.digits += hexadecimal[byte & 15];
  }
  return id;
}

}  // namespace

Result<AgentId, std::string> agent_id(const std::string& state) {
  TRY(directory, open_directory(state));
  TRY(kept, read_file(directory.get(), id_file));
  if (kept) {
    const bool whole =
        kept->size() == digits_needed && kept->find_first_not_of(hexadecimal) == std::string::npos;
    if (whole) return AgentId{*kept};
    // A new one would disown the claims that lie beside it.
    return state + "/" + id_file + ": is not 32 hexadecimal digits";
  }
  TRY(id, draw());
  TRY(written, write_file(directory.get(), id_file, id.digits, Lasting::power));
  return id;
}

}  // namespace keel
