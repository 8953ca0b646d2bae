#include "apps/keel/request.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "apps/keel/local_files.h"
#include "model/limits.h"
#include "wire/path.h"
#include "wire/text.h"
#include "wire/tree.h"

namespace keel::cli {
namespace {

using Faults = std::vector<FieldError>;
namespace fs = std::filesystem;

constexpr std::string_view here = "./";

// Files to take along by where they lie: as a person wrote them, for errors.
using WrittenPaths = std::map<std::string, std::string>;

FieldError fault(std::string field, std::string_view value, std::string limit, std::string help) {
  return {.field = std::move(field),
          .value = shortened(value),
          .limit = std::move(limit),
          .help = std::move(help)};
}

v1::TakenFile& file_at(v1::JobSpec& spec, const std::string& path) {
  for (v1::TakenFile& file : *spec.mutable_files()) {
    if (file.path() == path) return file;
  }
  v1::TakenFile& file = *spec.add_files();
  file.set_path(path);
  return file;
}

// The options that are fields, through the same door as a job file: same types, same errors.
Result<Done, Faults> add_fields(v1::JobSpec& spec, const Said& said) {
  Tree tree{.kind = Tree::Kind::map};
  Tree gang{.kind = Tree::Kind::map};
  constexpr std::string_view inner = "gang.";
  for (const auto& [field, text] : said.fields) {
    const Tree value{.kind = Tree::Kind::scalar, .text = text};
    if (field.starts_with(inner)) {
      gang.members.emplace_back(field.substr(inner.size()), value);
    } else {
      tree.members.emplace_back(field, value);
    }
  }
  if (!gang.members.empty()) tree.members.emplace_back("gang", std::move(gang));
  return fill(spec, tree);
}

// Which of two values is meant, nobody can tell.
bool is_repeated(std::string_view option, const std::string& name, const std::string& pair,
                 std::set<std::string>& names, Faults& faults) {
  if (names.insert(name).second) return false;
  faults.push_back(fault(std::string(option), pair, "each name once",
                         "\"" + shortened(name) + "\" is given twice."));
  return true;
}

void add_pairs(v1::JobSpec& spec, const Said& said, Faults& faults) {
  std::set<std::string> variables, labels;
  for (const std::string& pair : said.env) {
    const std::size_t equals = pair.find('=');
    const std::string name = pair.substr(0, equals);
    if (is_repeated("--env", name, pair, variables, faults)) continue;
    const char* ours = equals == pair.npos ? std::getenv(name.c_str()) : nullptr;
    if (equals != pair.npos) {
      (*spec.mutable_env())[name] = pair.substr(equals + 1);
    } else if (ours != nullptr) {
      (*spec.mutable_env())[name] = ours;
    } else {
      faults.push_back(fault("env." + shortened(name), "",
                             "NAME=VALUE, or NAME of a variable set here", "It is not set here."));
    }
  }
  for (const std::string& pair : said.labels) {
    const std::size_t equals = pair.find('=');
    if (is_repeated("--label", pair.substr(0, equals), pair, labels, faults)) continue;
    if (equals == pair.npos) {
      faults.push_back(fault("labels", pair, "NAME=VALUE", "Write \"=\" between name and value."));
    } else {
      (*spec.mutable_labels())[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
  }
}

// Faults of what options said, under the options' names. A number has bounds even where it could
// not be read as one.
Faults as_typed(Faults faults, const Said& said) {
  for (FieldError& one : faults) {
    const std::string limit = number_limit(one.field);
    for (const auto& [field, text] : said.fields) {
      if (field != one.field) continue;
      one.field = option_for(field);
      if (text.empty()) one.help = "It is empty. " + one.help;
      if (!limit.empty()) one.limit = limit;
    }
  }
  return faults;
}

void take_along(v1::JobSpec& spec, const std::string& path, const fs::path& from, Faults& faults) {
  v1::TakenFile& file = file_at(spec, path);
  const bool is_taken = !file.from().empty() || !file.digest().empty();
  if (is_taken && file.from() != from.string()) {
    faults.push_back(fault("files", from.string(), "one file for each path",
                           "Another file would lie at \"" + shortened(path) + "\" too."));
    return;
  }
  file.set_from(from.string());
}

// The program behind "--".
void add_program(v1::JobSpec& spec, const std::string& program, const Surroundings& around,
                 Faults& faults) {
  spec.set_program(program);
  if (program.find('/') == program.npos) {
    if (is_in_path(program, around.path)) return;
    const bool lies_here = is_file(around.directory / program);
    faults.push_back(fault("program", program, "a program in PATH, or a path to a file",
                           lies_here ? "It is not in PATH; write ./" + shortened(program) +
                                           " for the file in this directory."
                                     : "No such program is found in PATH here."));
    return;
  }
  const fs::path file = (around.directory / program).lexically_normal();
  if (!is_file(file)) {
    faults.push_back(
        fault("program", program, "a program that exists",
              fs::is_directory(file) ? "It is a directory." : "There is no such file."));
    return;
  }
  const bool is_system = fs::path(program).is_absolute() && is_system_path(file) &&
                         !path_below(around.directory, file);
  if (is_system) return;  // it is on the node too
  const std::string name = file.filename().string();
  take_along(spec, name, file, faults);
  spec.set_program(std::string(here) + name);
}

// Arguments that name files below the current directory are taken along, and found under the same
// name there.
void add_arguments(v1::JobSpec& spec, const std::vector<std::string>& words,
                   const Surroundings& around, Faults& faults) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    spec.add_args(word);
    const std::string path = word.starts_with(here) ? word.substr(here.size()) : word;
    if (!is_inside_path(path) || !is_file(around.directory / path)) continue;
    take_along(spec, path, (around.directory / path).lexically_normal(), faults);
  }
}

void add_files(v1::JobSpec& spec, const Said& said, const Surroundings& around,
               WrittenPaths& written, Faults& faults) {
  for (const std::string& name : said.files) {
    const fs::path file = (around.directory / name).lexically_normal();
    const auto path = path_below(around.directory, file);
    written.emplace(file.string(), name);
    take_along(spec, path.value_or(file.filename().string()), file, faults);
  }
}

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text[first] == '[');
}

// `directory` becomes what `from` and `program` of the file are relative to.
Result<Done, Faults> read_job_file(v1::JobSpec& spec, const std::string& name,
                                   const Surroundings& around, fs::path& directory) {
  const fs::path path = name == "-" ? fs::path(name) : around.directory / name;
  // One byte more than is allowed, so that the parser says what is.
  const auto text = read_stream(path, limits::spec_bytes_max + 1);
  if (!text) {
    return Faults{fault("-f", name,
                        "a job file in YAML or JSON of at most " +
                            std::to_string(limits::spec_bytes_max) + " bytes",
                        text.error().why)};
  }
  // Nothing lies beside a pipe, nor beside what has a name in /dev only.
  const bool is_beside = is_file(path) && !path.string().starts_with("/dev/");
  directory = is_beside ? path.lexically_normal().parent_path() : around.directory;
  const auto tree = looks_like_json(*text) ? parse_json(*text) : parse_yaml(*text);
  if (!tree) return tree.error();
  return fill(spec, *tree);
}

// Paths of a job file: `from` is relative to it, and where only one of `path` and `from` is said,
// it is both. A program "./x" is taken along without being listed.
void resolve_files(v1::JobSpec& spec, const fs::path& directory, WrittenPaths& written) {
  const auto resolved = [&](const std::string& name) {
    std::string file = (directory / name).lexically_normal().string();
    written.emplace(file, name);
    return file;
  };
  for (v1::TakenFile& file : *spec.mutable_files()) {
    if (!file.digest().empty()) continue;  // uploaded before
    if (file.from().empty()) file.set_from(file.path());
    if (file.path().empty()) file.set_path(fs::path(file.from()).filename().string());
    file.set_from(resolved(file.from()));
  }
  const std::string& program = spec.program();
  if (!program.starts_with(here)) return;
  const std::string path = program.substr(here.size());
  const bool listed = std::any_of(spec.files().begin(), spec.files().end(),
                                  [&](const v1::TakenFile& file) { return file.path() == path; });
  if (!listed && is_inside_path(path)) {
    file_at(spec, path).set_from(resolved(program));
  }
}

// Reads what is taken along, and puts digests where paths were.
std::vector<Upload> look_at_files(v1::JobSpec& spec, const WrittenPaths& written, Faults& faults) {
  std::vector<Upload> uploads;
  for (int i = 0; i < spec.files_size(); ++i) {
    v1::TakenFile& file = *spec.mutable_files(i);
    if (file.from().empty()) continue;
    const bool is_program = spec.program() == std::string(here) + file.path();
    const auto content = read_content(file.from(), limits::file_bytes_max);
    if (!content) {
      FieldError unread =
          fault(is_program ? "program" : "files[" + std::to_string(i) + "]", file.from(),
                "a file of at most " + std::to_string(limits::file_bytes_max >> 20) + " MiB",
                content.error().why);
      const auto as_written = written.find(file.from());
      if (as_written != written.end() && as_written->second != file.from()) {
        unread.value = shortened(as_written->second);
        unread.help = file.from() + ": " + unread.help;
      }
      faults.push_back(std::move(unread));
      continue;
    }
    const Digest digest = sha256(content->bytes);
    uploads.push_back({.from = file.from(), .digest = digest});
    file.set_digest(print(digest));
    file.set_executable(file.executable() || content->executable || is_program);
    file.clear_from();
  }
  return uploads;
}

}  // namespace

Result<Plan, Faults> plan_submission(const Said& said, const Surroundings& surroundings) {
  Plan plan;
  WrittenPaths written;
  Faults faults;
  if (!said.file.empty()) {
    fs::path directory;
    TRY(read, read_job_file(plan.spec, said.file, surroundings, directory));
    resolve_files(plan.spec, directory, written);
  }
  if (const auto added = add_fields(plan.spec, said); !added) return as_typed(added.error(), said);
  add_pairs(plan.spec, said, faults);
  if (!said.words.empty()) {
    add_program(plan.spec, said.words[0], surroundings, faults);
    add_arguments(plan.spec, said.words, surroundings, faults);
  }
  add_files(plan.spec, said, surroundings, written, faults);
  if (!faults.empty()) return faults;
  plan.uploads = look_at_files(plan.spec, written, faults);
  if (!faults.empty()) return faults;
  // The control plane checks all of it again; this spares an upload in vain.
  const auto checked = parse_spec(plan.spec);
  if (!checked) return as_typed(checked.error(), said);
  return plan;
}

}  // namespace keel::cli
