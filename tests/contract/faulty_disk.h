// A disk for SQLite that can be full, fail to sync, and lose or tear what was not synced. It sits
// between SQLite and the real files for as long as it lives; one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

struct sqlite3_vfs;

namespace keel {

class FaultyDisk {
 public:
  FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  ~FaultyDisk();

  // From now on: how many more writes or syncs succeed. After them each one fails.
  void be_full_after(int writes) { writes_left_ = writes; }
  void fail_syncs_after(int syncs) { syncs_left_ = syncs; }
  void heal() { writes_left_ = syncs_left_ = forever; }

  int syncs() const { return syncs_; }
  int failed_syncs() const { return failed_syncs_; }

  // Called after each step that changes a file: a write, a truncation, a sync, a removal. What is
  // done to files meanwhile is not looked at.
  void after_each_step(std::function<void()> then) { then_ = std::move(then); }

  // What becomes of the steps that were not synced when the power goes.
  enum class Unsynced : std::uint8_t {
    kept,     // all happen, as after a kill
    dropped,  // none does
    torn,     // of each write some sectors do, in any order; of the other steps some
  };

  // Writes each file of `directory` as a power cut at this moment could leave it into `target`,
  // which is empty. `random` decides what tears.
  void save_image(const std::string& directory, const std::string& target, Unsynced unsynced,
                  Random& random) const;

  // The same with everything dropped, which is the least that a power cut leaves.
  void save_synced(const std::string& directory, const std::string& target) const;

 private:
  friend struct FaultyFile;
  static constexpr int forever = 1'000'000'000;

  struct Step {
    std::int64_t at{};                   // of a write: the first byte; else the new size
    std::optional<std::string> bytes{};  // none: a truncation
  };
  struct File {
    bool is_durable{};   // its name was synced with its first sync
    bool is_removed{};   // and the directory was not synced since
    std::string synced;  // as it was then
    std::vector<Step> unsynced;
  };

  static std::optional<std::string> after_power_cut(const File& file, Unsynced unsynced,
                                                    Random& random);
  static void tear(std::string& bytes, const Step& step, Random& random);
  void write(const char* path, const void* bytes, int size, std::int64_t at);
  void truncate(const char* path, std::int64_t size);
  void sync(const char* path);
  void remove(const char* path, bool synced);
  void step();

  int writes_left_ = forever;
  int syncs_left_ = forever;
  int syncs_ = 0;
  int failed_syncs_ = 0;
  std::map<std::string, File> files_;
  std::function<void()> then_;
  bool looks_away_ = false;
  sqlite3_vfs* real_;
};

}  // namespace keel
