// Prints, and turns the report of a job into an exit status.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "results/deliver.h"

namespace aggregate_power {

// Prints a text. Whether stderr can be written never changes the exit status; main() checks stdout
// once at the end.
void print(std::FILE* stream, const std::string& text);

// Prints a line for people on stderr, after the program's name.
void print_message(const std::string& line);

// Runs a job, prints its lines and returns its exit status. No input may make a benchmark script
// fail with some other status: a job that throws counts as a run that is not valid.
int report(bool require_power, const std::function<CommandOutput()>& job);

}  // namespace aggregate_power
