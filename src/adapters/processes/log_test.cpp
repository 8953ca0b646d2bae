// What a task writes is in its log: whole, in order, bounded, however it is written.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "adapters/processes/log_line.h"
#include "adapters/processes/log_reader.h"
#include "adapters/processes/log_writer.h"
#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::HasSubstr;

constexpr Instant noon{1'796'000'000'123'456};

struct LogDirectory {
  std::string path = new_directory();
  Descriptor fd = *open_directory(path);
  ~LogDirectory() { (void)remove_tree(AT_FDCWD, path); }

  std::string bytes() const {
    std::string all;
    for (const std::string& name : names_in(fd.get())) all += contents(path + "/" + name);
    return all;
  }
  std::vector<std::string> segments() const { return names_in(fd.get()); }
};

// Every line from `offset` on, in portions of about `limit` bytes.
std::vector<LogLine> read_all(const LogDirectory& log, std::int64_t limit = 1 << 20) {
  std::vector<LogLine> lines;
  for (std::int64_t at = 0;;) {
    LogPart part = read_log_lines(log.fd.get(), at, limit);
    lines.insert(lines.end(), part.lines.begin(), part.lines.end());
    if (part.end) return lines;
    EXPECT_GT(part.next, at);
    if (part.next <= at) return lines;
    at = part.next;
  }
}

TEST(Log, a_line_reads_like_its_grammar) {
  const LogDirectory log;
  LogWriter writer(log.fd.get(), 1 << 20);
  writer.add(false, "one\n", Instant{1'796'140'906'123'456});
  writer.add(true, "two", noon);
  writer.finish(noon);
  EXPECT_EQ(log.bytes(), "2026-12-01T16:01:46.123456Z O F one\n" + print_time(noon) + " E P two\n");
  EXPECT_EQ(log.segments(), std::vector<std::string>{"00000000000000000000"});
}

TEST(Log, what_was_printed_is_parsed_and_nothing_else) {
  for (const std::int64_t us :
       {std::int64_t{0}, std::int64_t{1}, noon.us, std::int64_t{4'102'444'799'999'999}}) {
    const std::string line = print_time(Instant{us}) + std::string(log_mark(true, false)) + "x y";
    const auto parsed = parse_log_line(line);
    ASSERT_TRUE(parsed) << line;
    EXPECT_EQ(parsed->at.us, us);
    EXPECT_EQ(parsed->text, "x y");
    EXPECT_TRUE(parsed->error && !parsed->partial);
  }
  for (const char* line :
       {"", "x", "2026-13-29T16:28:26.123456Z O F x", "2026-11-29T16:28:26.123456Z X F x",
        "2026-11-29T16:28:26.123456Z O X x", "2026-11-29 16:28:26.123456Z O F x",
        "2026-11-29T-6:28:26.123456Z O F x", "2026-11-29T16:28:26.123456Z O F"}) {
    EXPECT_FALSE(parse_log_line(line)) << line;
  }
}

TEST(Log, the_text_is_the_same_however_it_arrives) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(static_cast<std::size_t>(i % 97), 'a') + "\n";
  text += std::string(log_text_bytes_max, 'b') + "\n" + std::string(log_text_bytes_max + 1, 'c') +
          "\n\n" + std::string(3 * log_text_bytes_max, 'd');
  for (const std::size_t chunk :
       {std::size_t{1}, std::size_t{7}, log_text_bytes_max, text.size()}) {
    SCOPED_TRACE(chunk);
    const LogDirectory log;
    LogWriter writer(log.fd.get(), 64 << 20);
    for (std::size_t at = 0; at < text.size(); at += chunk) {
      writer.add(false, std::string_view(text).substr(at, chunk), noon);
    }
    writer.finish(noon);
    std::string read;
    for (const LogLine& line : read_all(log, 1000)) {
      EXPECT_LE(line.text.size(), log_text_bytes_max);
      read += line.text + (line.partial ? "" : "\n");
    }
    EXPECT_TRUE(read == text);
  }
}

TEST(Log, a_line_without_an_end_shows_after_a_second) {
  const LogDirectory log;
  LogWriter writer(log.fd.get(), 1 << 20);
  writer.add(false, "progress 5%", noon);
  writer.tick(noon + milliseconds(999));
  EXPECT_TRUE(read_all(log).empty());
  writer.tick(noon + seconds(1));
  writer.add(false, "\n", noon + seconds(2));
  const auto lines = read_all(log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].partial);
  EXPECT_EQ(lines[0].text + lines[1].text, "progress 5%");
  EXPECT_FALSE(lines[1].partial);
}

TEST(Log, the_two_streams_do_not_mix_within_a_line) {
  const LogDirectory log;
  LogWriter writer(log.fd.get(), 1 << 20);
  writer.add(false, "out ", noon);
  writer.add(true, "err\n", noon);
  writer.add(false, "put\n", noon);
  const auto lines = read_all(log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text, "err");
  EXPECT_EQ(lines[1].text, "out put");
}

TEST(Log, the_oldest_segments_go_and_a_reader_is_told) {
  const LogDirectory log;
  constexpr std::int64_t bytes_max = 512 << 10;
  LogWriter writer(log.fd.get(), bytes_max);
  const std::string line(1000, 'x');
  std::int64_t behind_first = 0;
  for (int i = 0; i < 2000; ++i) {
    writer.add(false, std::to_string(i) + " " + line + "\n", noon);
    if (i == 0) behind_first = read_log_lines(log.fd.get(), 0, 1).next;
  }
  EXPECT_EQ(log.segments().size(), std::size_t{log_segments_max});
  EXPECT_LE(static_cast<std::int64_t>(log.bytes().size()), bytes_max);
  EXPECT_GT(static_cast<std::int64_t>(log.bytes().size()), bytes_max / 2);

  const LogPart part = read_log_lines(log.fd.get(), behind_first, 1 << 20);
  EXPECT_TRUE(part.dropped);
  const int first = std::stoi(part.lines.at(0).text);
  for (std::size_t i = 0; i < part.lines.size(); ++i) {
    EXPECT_EQ(std::stoi(part.lines[i].text), first + static_cast<int>(i));
  }
  EXPECT_EQ(std::stoi(part.lines.back().text), 1999);
  EXPECT_FALSE(read_log_lines(log.fd.get(), part.next, 1000).dropped);
  EXPECT_TRUE(read_log_lines(log.fd.get(), part.next, 1000).lines.empty());
}

TEST(Log, a_reader_is_told_how_much_there_is_now) {
  const LogDirectory log;
  EXPECT_EQ(read_log_lines(log.fd.get(), 0, 1000).size, 0);
  LogWriter writer(log.fd.get(), 512 << 10);
  const std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i) {
    writer.add(false, line + "\n", noon);
    const auto written = static_cast<std::int64_t>((log_head_bytes + line.size() + 1)) * (i + 1);
    if (i % 100 != 0) continue;
    EXPECT_EQ(read_log_lines(log.fd.get(), 0, 1).size, written);
    EXPECT_EQ(read_log_lines(log.fd.get(), written, 1).next, written);
  }
}

TEST(Log, a_torn_line_is_left_out) {
  const LogDirectory log;
  std::ofstream(log.path + "/00000000000000000000") << print_time(noon) << " O F one\n2026-11";
  std::ofstream(log.path + "/00000000000000000100") << "rubbish\n"
                                                    << print_time(noon) << " O F two\n";
  std::ofstream(log.path + "/not-a-segment") << print_time(noon) << " O F three\n";
  const auto lines = read_all(log);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text, "one");
  EXPECT_EQ(lines[1].text, "two");
}

TEST(Log, a_full_disk_costs_lines_and_says_how_many) {
  if (!is_root()) GTEST_SKIP() << "only root can mount a small file system";
  const LogDirectory outer;
  if (::mount("keel-test", outer.path.c_str(), "tmpfs", 0, "size=128k") != 0) {
    GTEST_SKIP() << "no mounts here";
  }
  {
    const Descriptor fd = *open_directory(outer.path);
    constexpr std::size_t lines = 300;
    LogWriter writer(fd.get(), 16 << 20);
    const std::string line(999, 'x');
    std::ofstream(outer.path + "/filler") << std::string(64 << 10, 'f');
    for (std::size_t i = 0; i < lines; ++i) writer.add(false, line + "\n", noon);
    EXPECT_EQ(::unlink((outer.path + "/filler").c_str()), 0);
    writer.add(false, "there is room again\n", noon);
    writer.finish(noon);
    const LogPart part = read_log_lines(fd.get(), 0, 1 << 20);
    std::size_t kept = 0;
    std::size_t lost = 0;  // as the log itself says, once or in several notes
    std::string said;
    for (const LogLine& read : part.lines) {
      kept += read.text == line ? 1U : 0U;
      if (!read.error) continue;
      said += read.text + "\n";
      constexpr std::string_view before = "keel-shim: ";
      if (read.text.starts_with(before)) lost += std::stoul(read.text.substr(before.size()));
    }
    EXPECT_GT(kept, 10U);
    EXPECT_LT(kept, lines);
    EXPECT_EQ(lost, lines - kept) << said;
    EXPECT_THAT(said, HasSubstr("No space left on device"));
    EXPECT_THAT(part.lines.back().text + part.lines.at(part.lines.size() - 2).text,
                HasSubstr("there is room again"));
  }
  ::umount2(outer.path.c_str(), MNT_DETACH);
}

TEST(Log, a_flood_stays_within_its_bounds) {
  Host host({.log_bytes_max = mebibytes(1)});
  host.start(host.order("head -c 209715200 /dev/zero | tr '\\0' 'x'; echo; echo the end; exit 7"));
  const pid_t shim = host.shim().pid;
  std::string status;
  while (host.observe()->phase != Observed::Phase::ended) {
    const std::string now = contents("/proc/" + std::to_string(shim) + "/status");
    if (now.find("VmHWM") != std::string::npos) status = now;
    (void)host.runtime().read_log(first_task, 0, 1 << 20);
    ::usleep(20'000);
  }
  EXPECT_EQ(host.await_end().code, 7);
  const std::size_t at = status.find("VmHWM:");
  ASSERT_NE(at, std::string::npos);
  EXPECT_LT(std::stol(status.substr(at + 6)), 150'000) << "kB, the sanitizers' part included";
  std::size_t bytes = 0;
  for (const std::string& name : names_in(open_directory(host.path(first_task, "log"))->get())) {
    bytes += contents(host.path(first_task, "log/" + name)).size();
  }
  EXPECT_LE(bytes, std::size_t{1} << 20);
  const std::string output = host.output();
  EXPECT_TRUE(output.ends_with("x\nthe end\n")) << output.substr(output.size() - 12);
}

TEST(Log, a_flooding_task_can_be_stopped) {
  Host host;
  host.start(host.order("exec yes"));
  EXPECT_TRUE(eventually([&] { return host.runtime().read_log(first_task, 0, 100)->dropped; }));
  host.runtime().stop(first_task, StopCause::canceled);
  EXPECT_EQ(host.await_end().code, SIGTERM);
}

TEST(Log, nothing_is_lost_of_what_was_written_just_before_the_end) {
  Host host;
  host.run(host.order("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done"));
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += "line " + std::to_string(i) + "\n";
  EXPECT_TRUE(host.output() == expected);
}

}  // namespace
}  // namespace keel
