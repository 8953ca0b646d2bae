// A SQLite VFS (https://www.sqlite.org/vfs.html) around the default one. Every method but xWrite
// and xSync goes straight through.
#include "tests/contract/faulty_disk.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <new>

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
    return of(file).real->pMethods->xWrite(of(file).real, bytes, size, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    if (disk->syncs_left_ <= 0) return SQLITE_IOERR_FSYNC;
    disk->syncs_left_ -= 1;
    disk->syncs_ += 1;
    remember(of(file));
    return of(file).real->pMethods->xSync(of(file).real, flags);
  }
  static void remember(FaultyFile& file) {
    if (file.path == nullptr) return;
    sqlite3_int64 size = 0;
    check(file.real->pMethods->xFileSize(file.real, &size) == SQLITE_OK, "a file has a size");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (size > 0) {
      check(file.real->pMethods->xRead(file.real, bytes.data(), static_cast<int>(size), 0) ==
                SQLITE_OK,
            "what was written can be read");
    }
    disk->synced_[file.path] = std::move(bytes);
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
    .xTruncate = [](sqlite3_file* f,
                    sqlite3_int64 size) { return real_methods(f).xTruncate(real_file(f), size); },
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
  check(sqlite3_vfs_register(&faulty_vfs, 1) == SQLITE_OK, "SQLite takes another disk");
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&faulty_vfs);
  sqlite3_vfs_register(real_, 1);
  FaultyFile::disk = nullptr;
}

void FaultyDisk::save_synced(const std::string& directory, const std::string& target) const {
  for (const auto& [path, bytes] : synced_) {
    const std::filesystem::path file(path);
    if (file.parent_path() != directory || !std::filesystem::exists(file)) continue;
    std::ofstream(target + "/" + file.filename().string(), std::ios::binary) << bytes;
  }
}

}  // namespace keel
