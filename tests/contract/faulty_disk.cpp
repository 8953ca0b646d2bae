// A SQLite VFS (https://www.sqlite.org/vfs.html) around the default one. Every method but xWrite,
// xTruncate, xSync and xDelete goes straight through.
#include "tests/contract/faulty_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

#include "base/check.h"

namespace keel {

// Lies in the memory that SQLite gives: first our part, then the real file.
struct FaultyFile : sqlite3_file {
  const char* path;  // SQLite's own, which lives as long as the file is open
  sqlite3_file* real;

  static FaultyDisk* disk;

  static FaultyFile& of(sqlite3_file* file) { return *static_cast<FaultyFile*>(file); }

  static int close(sqlite3_file* file) {
    sqlite3_file* real = of(file).real;
    return real->pMethods != nullptr ? real->pMethods->xClose(real) : SQLITE_OK;
  }
  static int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    if (disk->writes_left_ <= 0) return SQLITE_FULL;
    disk->writes_left_ -= 1;
    const int code = of(file).real->pMethods->xWrite(of(file).real, bytes, size, offset);
    if (code == SQLITE_OK) disk->write(of(file).path, bytes, size, offset);
    return code;
  }
  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const int code = of(file).real->pMethods->xTruncate(of(file).real, size);
    if (code == SQLITE_OK) disk->truncate(of(file).path, size);
    return code;
  }
  // A sync that is to fail does not reach the file, and what it should have saved stays unsynced.
  static int sync(sqlite3_file* file, int flags) {
    if (disk->syncs_left_ <= 0) {
      disk->failed_syncs_ += 1;
      return SQLITE_IOERR_FSYNC;
    }
    disk->syncs_left_ -= 1;
    disk->syncs_ += 1;
    const int code = of(file).real->pMethods->xSync(of(file).real, flags);
    if (code == SQLITE_OK) disk->sync(of(file).path);
    return code;
  }
  static int remove(sqlite3_vfs* vfs, const char* path, int sync_directory) {
    auto* real_vfs = static_cast<sqlite3_vfs*>(vfs->pAppData);
    const int code = real_vfs->xDelete(real_vfs, path, sync_directory);
    if (code == SQLITE_OK) disk->remove(path, sync_directory != 0);
    return code;
  }
};

FaultyDisk* FaultyFile::disk = nullptr;

namespace {

const sqlite3_io_methods& real_methods(sqlite3_file* file) {
  return *FaultyFile::of(file).real->pMethods;
}
sqlite3_file* real_file(sqlite3_file* file) { return FaultyFile::of(file).real; }

const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = FaultyFile::close,
    .xRead = [](sqlite3_file* f, void* to, int size,
                sqlite3_int64 at) { return real_methods(f).xRead(real_file(f), to, size, at); },
    .xWrite = FaultyFile::write,
    .xTruncate = FaultyFile::truncate,
    .xSync = FaultyFile::sync,
    .xFileSize = [](sqlite3_file* f,
                    sqlite3_int64* size) { return real_methods(f).xFileSize(real_file(f), size); },
    .xLock = [](sqlite3_file* f, int lock) { return real_methods(f).xLock(real_file(f), lock); },
    .xUnlock = [](sqlite3_file* f,
                  int lock) { return real_methods(f).xUnlock(real_file(f), lock); },
    .xCheckReservedLock =
        [](sqlite3_file* f, int* held) {
          return real_methods(f).xCheckReservedLock(real_file(f), held);
        },
    .xFileControl =
        [](sqlite3_file* f, int what, void* argument) {
          return real_methods(f).xFileControl(real_file(f), what, argument);
        },
    .xSectorSize = [](sqlite3_file* f) { return real_methods(f).xSectorSize(real_file(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return real_methods(f).xDeviceCharacteristics(real_file(f)); },
    .xShmMap =
        [](sqlite3_file* f, int page, int size, int extend, void volatile** to) {
          return real_methods(f).xShmMap(real_file(f), page, size, extend, to);
        },
    .xShmLock = [](sqlite3_file* f, int offset, int n,
                   int flags) { return real_methods(f).xShmLock(real_file(f), offset, n, flags); },
    .xShmBarrier = [](sqlite3_file* f) { real_methods(f).xShmBarrier(real_file(f)); },
    .xShmUnmap = [](sqlite3_file* f,
                    int remove) { return real_methods(f).xShmUnmap(real_file(f), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
              int* out_flags) {
  auto* real_vfs = static_cast<sqlite3_vfs*>(vfs->pAppData);
  auto* ours = new (file) FaultyFile{};
  ours->path = path;
  ours->real = reinterpret_cast<sqlite3_file*>(ours + 1);
  ours->real->pMethods = nullptr;
  const int code = real_vfs->xOpen(real_vfs, path, ours->real, flags, out_flags);
  ours->pMethods = code == SQLITE_OK ? &methods : nullptr;
  return code;
}

sqlite3_vfs faulty_vfs;

}  // namespace

FaultyDisk::FaultyDisk() : real_(sqlite3_vfs_find(nullptr)) {
  check(FaultyFile::disk == nullptr, "one faulty disk at a time");
  FaultyFile::disk = this;
  faulty_vfs = *real_;
  faulty_vfs.zName = "faulty";
  faulty_vfs.pNext = nullptr;
  faulty_vfs.pAppData = real_;
  faulty_vfs.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_->szOsFile;
  faulty_vfs.xOpen = open_file;
  faulty_vfs.xDelete = FaultyFile::remove;
  check(sqlite3_vfs_register(&faulty_vfs, 1) == SQLITE_OK, "SQLite takes another disk");
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&faulty_vfs);
  sqlite3_vfs_register(real_, 1);
  FaultyFile::disk = nullptr;
}

void FaultyDisk::step() {
  if (!then_) return;
  looks_away_ = true;
  then_();
  looks_away_ = false;
}

// Temporary files have no name, and nobody misses them after a power cut.
void FaultyDisk::write(const char* path, const void* bytes, int size, std::int64_t at) {
  if (path == nullptr || looks_away_) return;
  std::string copy(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  if (files_[path].is_removed) files_[path] = {};
  files_[path].unsynced.push_back({at, std::move(copy)});
  step();
}

void FaultyDisk::truncate(const char* path, std::int64_t size) {
  if (path == nullptr || looks_away_) return;
  files_[path].unsynced.push_back({size, std::nullopt});
  step();
}

void FaultyDisk::sync(const char* path) {
  if (path == nullptr || looks_away_) return;
  Random unused(0);  // nothing tears
  File& file = files_[path];
  file.is_durable = true;
  file.synced = *after_power_cut(file, Unsynced::kept, unused);
  file.unsynced.clear();
  // Whichever names were new or gone: SQLite syncs the directory with a log's first sync.
  std::erase_if(files_, [](const auto& entry) { return entry.second.is_removed; });
  step();
}

void FaultyDisk::remove(const char* path, bool synced) {
  if (looks_away_) return;
  if (synced) {
    files_.erase(path);
  } else {
    files_[path].is_removed = true;
  }
  step();
}

void FaultyDisk::tear(std::string& bytes, const Step& step, Random& random) {
  constexpr std::int64_t sector = 512;
  const auto size = static_cast<std::int64_t>(step.bytes->size());
  for (std::int64_t first = 0; first < size;) {
    const std::int64_t end = std::min(size, ((step.at + first) / sector + 1) * sector - step.at);
    if (random.one_in(2)) {
      const auto to = static_cast<std::size_t>(step.at + first);
      const auto count = static_cast<std::size_t>(end - first);
      if (bytes.size() < to + count) bytes.resize(to + count, '\0');
      bytes.replace(to, count, *step.bytes, static_cast<std::size_t>(first), count);
    }
    first = end;
  }
}

// Nothing where the file is not there.
std::optional<std::string> FaultyDisk::after_power_cut(const File& file, Unsynced unsynced,
                                                       Random& random) {
  const bool kept = unsynced == Unsynced::kept;
  const auto happens = [&] { return kept || (unsynced == Unsynced::torn && random.one_in(2)); };
  if (file.is_removed && happens()) return std::nullopt;
  if (!file.is_durable && !happens()) return std::nullopt;
  std::string bytes = file.synced;
  for (const Step& step : file.unsynced) {
    if (unsynced == Unsynced::dropped) break;
    const auto at = static_cast<std::size_t>(step.at);
    if (!step.bytes) {
      if (happens()) bytes.resize(at, '\0');
    } else if (kept) {
      if (bytes.size() < at + step.bytes->size()) bytes.resize(at + step.bytes->size(), '\0');
      bytes.replace(at, step.bytes->size(), *step.bytes);
    } else {
      tear(bytes, step, random);
    }
  }
  return bytes;
}

void FaultyDisk::save_image(const std::string& directory, const std::string& target,
                            Unsynced unsynced, Random& random) const {
  for (const auto& [path, file] : files_) {
    const std::filesystem::path name(path);
    if (name.parent_path() != directory) continue;
    const auto bytes = after_power_cut(file, unsynced, random);
    if (bytes) std::ofstream(target + "/" + name.filename().string(), std::ios::binary) << *bytes;
  }
}

void FaultyDisk::save_synced(const std::string& directory, const std::string& target) const {
  Random unused(0);  // nothing tears
  save_image(directory, target, Unsynced::dropped, unused);
}

}  // namespace keel
