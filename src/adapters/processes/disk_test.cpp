// A disk without room: what has to be written is written all the same, and the host says so.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "adapters/processes/disk_gauge.h"
#include "adapters/processes/test_host.h"

namespace keel {
namespace {

using testing::HasSubstr;

// A file system of its own, of so many MiB.
class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes) {
    const std::string options = "mode=711,size=" + std::to_string(mebibytes) + "m";
    EXPECT_EQ(::mount("keel-test", path.c_str(), "tmpfs", 0, options.c_str()), 0);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    ::umount2(path.c_str(), MNT_DETACH);
    ::rmdir(path.c_str());
  }
  void fill() const {
    const Descriptor fd(::open((path + "/filler").c_str(), O_WRONLY | O_CREAT, 0600));
    const std::string much(64 << 10, 'f');
    for (const std::size_t size : {much.size(), std::size_t{1}}) {
      while (::write(fd.get(), much.data(), size) > 0) continue;
    }
  }
  void free() const { ::unlink((path + "/filler").c_str()); }

  const std::string path = new_directory();
};

TEST(Disk, the_end_of_a_task_that_fills_it_is_recorded) {
  if (!is_root()) GTEST_SKIP() << "only root can mount a small file system";
  const SmallDisk disk(4);
  Host host({.log_bytes_max = mebibytes(64), .state = disk.path + "/state"});
  host.start(
      host.order("yes | head -c 3000000; cat /dev/zero > all; echo $? > code; "
                 "yes | head -c 3000000; exit 3"));
  const Exit exit = host.await_end();
  EXPECT_EQ(exit, (Exit{.kind = ExitKind::exited, .code = 3, .clean = true}));
  EXPECT_EQ(disk_room(disk.path).free, Bytes{0}) << "else it proves nothing";
  host.runtime().release(first_task);
  EXPECT_FALSE(host.observe());
  EXPECT_GT(disk_room(disk.path).free, Bytes{0}) << "what filled it is gone";
}

TEST(Disk, a_lease_is_extended_while_it_is_full) {
  if (!is_root()) GTEST_SKIP() << "only root can mount a small file system";
  const SmallDisk disk(4);
  Host host({.state = disk.path + "/state"});
  PrepareOrder order = host.order("exec sleep 1000");
  host.start(order, boot_now() + seconds(2));
  ASSERT_TRUE(eventually([&] { return host.observe()->phase == Observed::Phase::running; }));
  const pid_t task = host.shim_identity().task_pid();
  disk.fill();
  for (int i = 0; i < 5; ++i) {
    host.runtime().extend(first_task, boot_now() + seconds(2));
    ::usleep(1'000'000);  // in all, longer than the first lease and its grace
    ASSERT_EQ(host.observe()->phase, Observed::Phase::running);
    ASSERT_TRUE(look_at(task)) << "its end only cannot be told";
  }
  disk.free();
}

TEST(Disk, a_file_that_has_room_is_replaced_again_and_again_while_it_is_full) {
  if (!is_root()) GTEST_SKIP() << "only root can mount a small file system";
  const SmallDisk disk(1);
  const Descriptor directory = *open_directory(disk.path);
  ASSERT_TRUE(write_file(directory.get(), "a", "first", Lasting::process));
  ASSERT_TRUE(make_room(directory.get(), "a", 100));
  ASSERT_TRUE(make_room(directory.get(), "b", 4096));
  disk.fill();
  EXPECT_FALSE(write_file(directory.get(), "c", "x", Lasting::process)) << "it is full";
  for (int i = 0; i < 3; ++i) {
    const std::string text = "round " + std::to_string(i);
    EXPECT_TRUE(write_file(directory.get(), "a", text, Lasting::power));
    EXPECT_EQ(contents(disk.path + "/a"), text);
  }
  EXPECT_TRUE(write_file(directory.get(), "b", std::string(3000, 'b'), Lasting::power));
  EXPECT_EQ(contents(disk.path + "/b"), std::string(3000, 'b'));
}

TEST(DiskGauge, full_is_below_what_is_wanted_until_a_quarter_more_is_free) {
  DiskGauge gauge(mebibytes(100));
  const std::pair<DiskRoom, bool> rows[] = {
      {{.free = mebibytes(100)}, false}, {{.free = mebibytes(99)}, true},
      {{.free = mebibytes(124)}, true},  {{.free = mebibytes(125)}, false},
      {{.free = mebibytes(100)}, false}, {{.free = mebibytes(500), .files_free = 9}, true},
      {{.free = mebibytes(500)}, false},
  };
  for (const auto& [room, full] : rows) {
    EXPECT_EQ(gauge.look(room).has_value(), full) << room.free.count << " " << room.files_free;
  }
}

TEST(DiskGauge, its_words_stay_as_they_were_when_it_became_full) {
  DiskGauge gauge(mebibytes(100));
  const auto first = gauge.look({.free = mebibytes(7)});
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, HasSubstr("7 MiB"));
  EXPECT_THAT(*first, HasSubstr("100 MiB"));
  EXPECT_EQ(gauge.look({.free = mebibytes(8)}), first) << "else each look would be news";
}

TEST(DiskGauge, nothing_wanted_is_never_full) {
  DiskGauge gauge(Bytes{0});
  EXPECT_FALSE(gauge.look({.free = Bytes{0}}));
}

}  // namespace
}  // namespace keel
