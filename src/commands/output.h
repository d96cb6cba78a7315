// Printing, and the exit status of a job that reports what it did.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "results/deliver.h"

namespace aggregate_power {

// Prints a text. Whether anyone can read stderr never changes the exit status; main() looks at
// stdout once at the end.
void print(std::FILE* stream, const std::string& text);

// Prints a line for people on stderr, after the program's name.
void print_message(const std::string& line);

// Does a job, prints its lines and returns its exit status. No input may break a benchmark script
// with another one: a job that throws counts as a run that is not valid.
int report(bool require_power, const std::function<CommandOutput()>& job);

}  // namespace aggregate_power
