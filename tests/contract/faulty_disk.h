// A disk for SQLite that can be full, fail to sync, and lose what was not synced. It sits between
// SQLite and the real files for as long as it lives; one at a time.
#pragma once

#include <map>
#include <string>

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

  // Writes each file of `directory` as it was when it was last synced, which is the least that a
  // power cut leaves, into `target`.
  void save_synced(const std::string& directory, const std::string& target) const;

 private:
  friend struct FaultyFile;
  static constexpr int forever = 1'000'000'000;

  int writes_left_ = forever;
  int syncs_left_ = forever;
  int syncs_ = 0;
  std::map<std::string, std::string> synced_;  // path, bytes
  sqlite3_vfs* real_;
};

}  // namespace keel
