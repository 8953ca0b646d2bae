#include "adapters/processes/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace keel {
namespace {

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";
constexpr int child_failed = 127;

// All that the child needs, made before the fork so that it only has to ask the kernel.
struct Plan {
  const v1::Launch& launch;
  std::vector<std::string> programs;  // to try, in this order
  std::vector<char*> argv;
  std::vector<char*> envp;
  pid_t shim{};
  int out{};
  int error{};
  int report{};
};

std::string variable(const v1::Launch& launch, const std::string& name) {
  for (const std::string& entry : launch.env()) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

std::vector<std::string> programs_of(const v1::Launch& launch) {
  const std::string& program = launch.program();
  if (program.find('/') != std::string::npos || program.empty()) return {program};
  std::string path = variable(launch, "PATH");
  if (path.empty()) path = default_path;
  std::vector<std::string> programs;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string directory = path.substr(begin, end - begin);
    programs.push_back((directory.empty() ? "." : directory) + "/" + program);
    begin = end + 1;
  }
  return programs;
}

char* as_argument(const std::string& text) { return const_cast<char*>(text.c_str()); }

Plan plan_for(const v1::Launch& launch) {
  Plan plan{.launch = launch, .programs = programs_of(launch), .argv = {}, .envp = {}};
  plan.argv.push_back(as_argument(launch.program()));
  for (const std::string& arg : launch.args()) plan.argv.push_back(as_argument(arg));
  plan.argv.push_back(nullptr);
  for (const std::string& entry : launch.env()) plan.envp.push_back(as_argument(entry));
  plan.envp.push_back(nullptr);
  plan.shim = ::getpid();
  return plan;
}

void say(const Plan& plan, char kind, const std::string& text) {
  const std::string line = std::string{kind, ' '} + text + "\n";
  (void)!::write(plan.report, line.data(), line.size());  // Nobody else could be told.
}

[[noreturn]] void give_up(const Plan& plan, const std::string& text) {
  say(plan, 'E', text);
  ::_exit(child_failed);
}

void enter_groups(const Plan& plan) {
  for (const std::string& group : plan.launch.cgroups()) {
    const Descriptor file(::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), "0", 1) != 1) {
      give_up(plan, failure("control group: " + group));
    }
  }
}

void become_user(const Plan& plan) {
  const uid_t uid = plan.launch.uid();
  const gid_t gid = plan.launch.gid();
  // -1 means "as it is" to the calls below, which would leave root in place.
  const bool nobody = uid == static_cast<uid_t>(-1) || gid == static_cast<gid_t>(-1);
  if (nobody) give_up(plan, "user: " + std::to_string(uid) + " is no user");
  const std::string who = "user: " + std::to_string(uid);
  if (::geteuid() == 0) {
    const std::vector<gid_t> groups(plan.launch.groups().begin(), plan.launch.groups().end());
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
        ::setresuid(uid, uid, uid) != 0) {
      give_up(plan, failure(who));
    }
  }
  uid_t real{}, effective{}, saved{};
  if (::getresuid(&real, &effective, &saved) != 0 || real != uid || effective != uid ||
      saved != uid) {
    give_up(plan, who + ": this host's agent is not root and cannot become another user");
  }
}

void lay_descriptors(const Plan& plan) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(plan.out, 1) < 0 ||
      ::dup2(plan.error, 2) < 0) {
    give_up(plan, failure("standard input and output"));
  }
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) give_up(plan, failure("close_range"));
}

// By the kernel's own call: the C library keeps two signals to itself, which whoever started us may
// have set to be ignored.
void reset_signals() {
  constexpr std::size_t mask_bytes = 8;
  const std::uint64_t default_action[4] = {};
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, default_action, nullptr, mask_bytes);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Tries each place; what is there but cannot be executed is worth more words than what is not
// there.
[[noreturn]] void become_program(const Plan& plan) {
  int worst = ENOENT;
  std::string tried = plan.launch.program();
  for (const std::string& program : plan.programs) {
    ::execve(program.c_str(), plan.argv.data(), plan.envp.data());
    const int error = errno;
    if (error == ENOENT && ::access(program.c_str(), F_OK) == 0) {
      give_up(plan, "program: " + program + ": the interpreter that it names does not exist");
    }
    if (error == ENOENT || error == ENOTDIR) continue;
    worst = error;
    tried = program;
    if (error != EACCES) break;
  }
  give_up(plan, failure("program: " + tried, worst));
}

[[noreturn]] void run_child(const Plan& plan) {
  enter_groups(plan);
  ::setsid();
  const rlimit no_core{0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_core) != 0) {
    say(plan, 'N', failure("the limit on core files is not in force"));
  }
  lay_descriptors(plan);
  become_user(plan);
  // After the change of user, which clears it. The shim may have died before this line.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.shim) {
    give_up(plan, "its shim is gone");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(plan, failure("no_new_privs"));
  ::umask(022);
  if (::chdir(plan.launch.work_dir().c_str()) != 0) {
    give_up(plan, failure("working directory: " + plan.launch.work_dir()));
  }
  reset_signals();
  become_program(plan);
}

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe, std::string> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failure("pipe");
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Of the reading end alone: the task's own end blocks, as programs expect.
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return failure("pipe");
  return pipe;
}

}  // namespace

Result<Spawned, std::string> spawn(const v1::Launch& launch) {
  TRY(out, make_pipe());
  TRY(error, make_pipe());
  TRY(report, make_pipe());
  // Its owner may open /dev/stdout and /dev/stderr again. Not root: it is the owner's already.
  (void)!::fchown(out.write.get(), launch.uid(), launch.gid());
  (void)!::fchown(error.write.get(), launch.uid(), launch.gid());
  Plan plan = plan_for(launch);
  plan.out = out.write.get();
  plan.error = error.write.get();
  plan.report = report.write.get();
  const pid_t pid = ::fork();
  if (pid < 0) return failure("fork");
  if (pid == 0) run_child(plan);
  return Spawned{pid, std::move(out.read), std::move(error.read), std::move(report.read)};
}

}  // namespace keel
