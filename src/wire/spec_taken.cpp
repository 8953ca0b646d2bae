// What a job brings along: environment, files, and the program among them.
#include <algorithm>
#include <array>
#include <set>

#include "model/limits.h"
#include "wire/path.h"
#include "wire/spec_check.h"
#include "wire/text.h"

namespace keel {
namespace {

// Set by the platform for every task (DESIGN §6), hence not by jobs.
constexpr std::array<std::string_view, 8> platform_names{"CUDA_VISIBLE_DEVICES",
                                                         "LOCAL_RANK",
                                                         "LOCAL_WORLD_SIZE",
                                                         "MASTER_ADDR",
                                                         "MASTER_PORT",
                                                         "NODE_RANK",
                                                         "RANK",
                                                         "WORLD_SIZE"};
constexpr std::string_view platform_prefix = "KEEL_";
constexpr std::string_view here = "./";

bool is_env_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool is_platform_name(std::string_view name) {
  return name.starts_with(platform_prefix) ||
         std::find(platform_names.begin(), platform_names.end(), name) != platform_names.end();
}

std::optional<Digest> check_file(FieldErrors& errors, const v1::TakenFile& file,
                                 const std::string& field) {
  const std::size_t before = errors.size();
  const bool is_text = check_text(errors, field + ".path", file.path(),
                                  {.bytes_min = 1, .bytes_max = limits::path_bytes_max});
  if (is_text && !is_inside_path(file.path())) {
    add_error(errors, field + ".path", file.path(),
              "a relative path without \"..\", \".\", empty segments or backslashes",
              "It is where the file will lie in the task's working directory.");
  }
  const auto digest = parse_digest(file.digest());
  if (!digest && file.from().empty()) {
    add_error(errors, field + ".digest", file.digest(), "64 digits 0-9 a-f",
              "It is the SHA-256 of the file's content, as PutFile answered it.");
  }
  if (!file.from().empty()) {
    add_error(errors, field + ".from", file.from(), "not given",
              "Only the command line reads local files: use `keel submit -f`, or upload the file "
              "and give its digest.");
  }
  return errors.size() == before ? digest : std::nullopt;
}

// A file cannot lie where another file needs a directory.
void check_nesting(FieldErrors& errors, const std::set<std::string>& paths) {
  for (const std::string& path : paths) {
    for (std::size_t slash = path.find('/'); slash != path.npos;
         slash = path.find('/', slash + 1)) {
      if (!paths.contains(path.substr(0, slash))) continue;
      add_error(errors, "files", path, "no file inside another file",
                "\"" + shortened(path.substr(0, slash)) + "\" is a file of this job too.");
      break;
    }
  }
}

}  // namespace

void check_env(FieldErrors& errors, const std::map<std::string, std::string>& env) {
  if (env.size() > limits::env_max) {
    add_error(errors, "env", std::to_string(env.size()) + " variables",
              "at most " + std::to_string(limits::env_max), "Let the program read a file.");
  }
  for (const auto& [name, value] : env) {
    const std::string field = "env." + shortened(name);
    if (!is_env_name(name)) {
      add_error(errors, field, name, "letters, digits and _, not beginning with a digit",
                "It is no name of an environment variable.");
      continue;
    }
    if (is_platform_name(name)) {
      add_error(errors, field, value, "not given", "The platform sets this variable itself.");
      continue;
    }
    // Linux counts "NAME=value" and its NUL as one string, bounded like an argument.
    const std::size_t taken = std::min(name.size() + 2, limits::arg_bytes_max);
    check_text(errors, field, value, {.bytes_max = limits::arg_bytes_max - taken});
  }
}

std::vector<TakenFile> check_files(FieldErrors& errors, const v1::JobSpec& spec) {
  if (static_cast<std::size_t>(spec.files_size()) > limits::files_max) {
    add_error(errors, "files", std::to_string(spec.files_size()) + " files",
              "at most " + std::to_string(limits::files_max),
              "Pack them into an archive that the program unpacks.");
    return {};
  }
  std::vector<TakenFile> files;
  std::set<std::string> paths;
  for (int i = 0; i < spec.files_size(); ++i) {
    const v1::TakenFile& file = spec.files(i);
    const std::string field = "files[" + std::to_string(i) + "]";
    const auto digest = check_file(errors, file, field);
    if (!paths.insert(file.path()).second) {
      add_error(errors, field + ".path", file.path(), "each path once",
                "Two files cannot lie at one place.");
    } else if (digest) {
      files.push_back(
          TakenFile{.path = file.path(), .digest = *digest, .executable = file.executable()});
    }
  }
  check_nesting(errors, paths);
  std::sort(files.begin(), files.end(),
            [](const TakenFile& a, const TakenFile& b) { return a.path < b.path; });
  return files;
}

void check_program(FieldErrors& errors, const v1::JobSpec& spec) {
  const std::string& program = spec.program();
  if (program.empty()) {
    add_error(errors, "program", "", "a program",
              "Say what to run: \"./x\" for a file taken along, \"/x\" for a path on the node, "
              "\"x\" for a program in the node's PATH.");
    return;
  }
  if (!check_text(errors, "program", program, {.bytes_max = limits::path_bytes_max})) return;
  if (program.starts_with(here)) {
    const std::string path = program.substr(here.size());
    const auto named = std::find_if(spec.files().begin(), spec.files().end(),
                                    [&](const v1::TakenFile& file) { return file.path() == path; });
    if (named == spec.files().end()) {
      add_error(errors, "program", program, "\"./\" and the path of one of `files`",
                "No file of this job has that path; `keel submit` takes local programs along.");
    } else if (!named->executable()) {
      add_error(errors, "program", program, "a file with `executable: true`",
                "The file is taken along without being executable.");
    }
    return;
  }
  const bool is_bare = program.find('/') == program.npos && program != "." && program != "..";
  if (program.front() == '/' || is_bare) return;
  add_error(errors, "program", program, "\"./x\", \"/x\" or \"x\"",
            "Write \"./\" in front of a file that is taken along.");
}

}  // namespace keel
