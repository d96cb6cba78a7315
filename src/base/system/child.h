// Runs another program for a bounded time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace aggregate_power {

struct ChildResult {
  bool timed_out = false;  // it was killed, with all that it had started
  int exit_status = 0;     // 128 and the signal's number if one ended it
  std::string out;         // at most 1 MiB; what it wrote on stderr is dropped
};

// The path of a program that $PATH leads to; nullopt: there is none.
std::optional<std::string> find_program(const std::string& name);

// `words` begin with the program's path. No shell is involved, and the program's standard input is
// empty. Throws Error if it cannot be started.
ChildResult run_child(const std::vector<std::string>& words, double most_s);

}  // namespace aggregate_power
