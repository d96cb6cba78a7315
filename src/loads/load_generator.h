// Load generators: one row for each, with how its files are recognized and read. A new one is a
// file that reads it, and a row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "loads/load_files.h"

namespace aggregate_power {

struct LoadGenerator {
  const char* name;
  // A load of several files is recognized by the name of the file that identifies it. Null: the
  // load is one file.
  bool (*is_named)(std::string_view file_name);
  // A load of one file is recognized by the file's beginning, at most 64 KiB. Returns how certain
  // that is, from 0 (not at all) to 1. Null: the load is several files.
  double (*fits)(std::string_view head);
  // Faults are reasons, never exceptions, except what the files throw.
  LoadReading (*read)(const LoadFiles& files);
};

std::span<const LoadGenerator> load_generators();

// Reads a load with the row that its files fit best. Throws what the files throw.
LoadReading read_load(const LoadFiles& files,
                      std::span<const LoadGenerator> generators = load_generators());

// Reads a load of one file, which may be compressed. Throws FileError.
LoadReading read_load_of_one_file(const std::string& path, LoadRules rules = LoadRules::schema_2);

// The same, but errors of the system become reasons too.
LoadReading read_load_file(const std::string& path, LoadRules rules = LoadRules::schema_2);

}  // namespace aggregate_power
