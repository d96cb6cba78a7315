// The table of all commands of the program.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/options/command.h"
#include "commands/options/options.h"
#include "store/backfill/tally.h"

namespace aggregate_power {

// What people want when they look for a command.
enum class CommandGroup { measure, look, decide, past, pipelines };

struct CommandRow {
  std::string_view name;  // "backfill"
  CommandGroup group;
  std::string_view summary;  // a few words
  // The names of the options that people use, with blanks between them; empty: all of them.
  std::string_view common;
  std::string_view usage;  // after the name, on one line
  std::string_view sentence;
  Command (*make)();  // creates its options, its help and its function
};

// Sorted by name. Options without a name are the options of "patch".
std::span<const CommandRow> command_rows();

// The names of the commands.
std::vector<std::string_view> command_names();

// The named one; null if there is none.
const CommandRow* find_command(std::string_view name);

// A command, completed from its row.
Command make_command(const CommandRow& row);

std::vector<Command> all_commands();

// ---- The parts of `backfill`: its summary, and the manifest of a sweep.

// ---- The summary of a backfill: how many runs had each outcome, and the reasons with the first
// names of the runs that have them.

// As a table for people, in lines of at most 80 columns except longer words.
std::string summary_text(const BackfillCounts& counts, bool dry_run);

// The same as one JSON object.
std::string summary_json(const BackfillCounts& counts, bool dry_run);

// ---- aggregate-power backfill --sweep-manifest: writes the manifest of a sweep instead

struct SweepManifestRequest {
  std::string out;          // empty: no manifest is wanted
  std::string description;  // of the sweep
};

void add_sweep_manifest_options(Options& options, SweepManifestRequest& request);
// Throws Error if something else is asked for that would then have no effect.
void settle_sweep_manifest(const Options& options, const SweepManifestRequest& request,
                           const std::vector<std::string>& stores);
// Returns the exit status: 0 written, 1 not, with the reasons on stderr. Nothing else is changed.
int write_sweep_manifest(const SweepManifestRequest& request, const std::string& store,
                         unsigned jobs);

// ---- Which part of a store's runs this process works on, by an option or by its scheduler.

// Part `index`, counted from 0, of `count`.
struct Shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool operator==(const Shard&) const = default;
};

// Works like getenv().
using Variables = std::function<const char*(const char* name)>;

// Parses "I/N", or "auto": the variables of Slurm arrays, indexed Kubernetes jobs, AWS Batch
// arrays, Google Batch, Cloud Run jobs or Open MPI decide. An empty variable counts as not set.
// Throws Error, also if the variables are missing, incomplete or contradictory.
Shard shard_of(const std::string& text, const Variables& variables);

}  // namespace aggregate_power
