// The file store as the doors know it.
#pragma once

#include <string>
#include <utility>

#include "adapters/blobs/file_store.h"
#include "adapters/front/files.h"

namespace keel {

class StoredFiles final : public Files {
 public:
  explicit StoredFiles(FileStore& store) : store_(store) {}

  bool has(const Digest& digest) override { return store_.has(digest); }

  Result<Digest, FilesError> put(std::string_view content) override {
    auto digest = store_.put(content);
    if (!digest) return error_of(digest.error());
    return *digest;
  }

  Result<std::string, FilesError> read(const Digest& digest, std::int64_t offset,
                                       std::size_t limit) override {
    auto bytes = store_.read(digest, offset, limit);
    if (!bytes) return error_of(bytes.error());
    return *std::move(bytes);
  }

 private:
  static FilesError error_of(const FileStoreError& error) {
    using enum FileStoreError::Code;
    switch (error.code) {
      case too_large:
      case full: return {FilesError::Code::full, error.detail};
      case missing: return {FilesError::Code::not_found, error.detail};
      case unavailable: return {FilesError::Code::unavailable, error.detail};
    }
    return {FilesError::Code::unavailable, error.detail};
  }

  FileStore& store_;
};

}  // namespace keel
