// The tables, as the list of steps that made them. Released steps never change; a change of the
// schema is one more step at the end.
#pragma once

#include <span>

#include "adapters/sqlite/database.h"

namespace keel::sqlite {

// Step i leads from version i to version i + 1. Version 0 is the empty file.
std::span<const char* const> migrations();

// `unreadable` where the database was written by a newer version than `steps` leads to, or is not a
// store at all. Changes nothing.
Result<Done, StoreError> check_readable(Database& database, std::span<const char* const> steps);

// Brings a readable database to the last version of `steps`, in one transaction.
Result<Done, StoreError> migrate(Database& database, std::span<const char* const> steps);

}  // namespace keel::sqlite
