// The kill matrix with real processes: docs/kill-matrix.md says who is killed at which step of a
// task's life and what has to come of it; this does it. Steps are hit exactly, by gates.cpp.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace keel::e2e {

// Bits, so that several can be.
enum Victim : unsigned {
  keeld_dies = 1,
  agent_dies = 2,
  shim_dies = 4,
  task_dies = 8,
  guard_dies = 16,
};

struct Cell {
  std::string step;
  std::string victims;   // as the table's head names them: "agent + shim"
  unsigned who{};        // the same in bits
  std::string expected;  // a word of the table, or "-" where there is no such process at this step
};

// The table in docs/kill-matrix.md, row by row. Throws where it is not the one that is done here:
// each step once, each set of victims once.
std::vector<Cell> kill_matrix();

// The names of the steps, in the order of a task's life.
std::vector<std::string> kill_steps();

// Does these cells one after another, on one platform as long as all is well, and adds a failure
// for each promise that is broken.
void do_cells(const std::vector<Cell>& cells);

}  // namespace keel::e2e
