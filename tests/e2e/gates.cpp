// Gates: a library that a test puts in front of the C library of a program (LD_PRELOAD), so that
// the program stops exactly before or after one of its steps on disk. The programs know nothing of
// it. A program that arrives at a closed gate opens it, says so, and stops itself as by SIGSTOP;
// whoever wants it to go on sends SIGCONT.
//
//   $PRELOADED/LABEL   a closed gate; its text is the number of the arrival that it holds, from 1
//   $PRELOADED/held    who stands at a gate: its pid
//
// Labels: before-rename-NAME, after-rename-NAME (NAME is what the file is called then),
// before-remove-NAME, begin-PROGRAM.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

const char* last_part(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

void put_number(const char* path, int flags, int number) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  char text[16];
  const int size = snprintf(text, sizeof text, "%d\n", number);
  if (fd < 0 || write(fd, text, static_cast<size_t>(size)) != size) _exit(99);
  close(fd);
}

int get_number(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[16] = {};
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size > 0 ? atoi(text) : 0;
}

void pass(const char* where, const char* name) {
  const char* gates = getenv("PRELOADED");
  if (gates == nullptr) return;
  const int error = errno;
  char gate[512], held[512];
  snprintf(gate, sizeof gate, "%s/%s%s", gates, where, name);
  snprintf(held, sizeof held, "%s/held", gates);
  const int passes = get_number(gate);
  if (passes > 1) put_number(gate, O_TRUNC, passes - 1);
  if (passes == 1) {
    unlink(gate);
    put_number(held, O_EXCL, getpid());
    kill(getpid(), SIGSTOP);
  }
  errno = error;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void begin() { pass("begin-", program_invocation_short_name); }

}  // namespace

extern "C" {

int renameat(int from, const char* old_name, int to, const char* new_name) {
  static const auto real = next<int (*)(int, const char*, int, const char*)>("renameat");
  pass("before-rename-", last_part(new_name));
  const int result = real(from, old_name, to, new_name);
  if (result == 0) pass("after-rename-", last_part(new_name));
  return result;
}

int renameat2(int from, const char* old_name, int to, const char* new_name, unsigned flags) {
  static const auto real = next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  pass("before-rename-", last_part(new_name));
  const int result = real(from, old_name, to, new_name, flags);
  if (result == 0) pass("after-rename-", last_part(new_name));
  return result;
}

int unlinkat(int directory, const char* name, int flags) {
  static const auto real = next<int (*)(int, const char*, int)>("unlinkat");
  pass("before-remove-", last_part(name));
  return real(directory, name, flags);
}

}  // extern "C"
