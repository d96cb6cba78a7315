// The layouts of runs in an artifact store, contract.md E.3. A new layout is one row of the table
// in layouts.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/catalogue/artifact_names.h"
#include "store/catalogue/run_pieces.h"
#include "store/catalogue/stored_run.h"

namespace aggregate_power {

// The facts about a folder that decide which layouts it can have.
struct FolderMarks {
  Artifact artifact;  // from the folder's name
  // For a folder power_audit_NAME: whether its LOGS contain a package.
  bool has_package = false;
  bool has_agents = false;
};

// Whether a folder contains agents' results: their aggregates are in it, and nothing else is
// searched.
bool is_agents_folder(const FolderMarks& marks);

struct LayoutRow {
  Layout layout;
  std::string_view name;        // in reports
  char letter;                  // in texts kept on disk
  bool is_of_agents;            // the load came from agents, not from a benchmark
  std::string_view before_run;  // an aggregate's name is BEFORE_RUN, the run's name, ".json"
  // Whether the aggregate of this run, in such a folder, makes it a run of this layout.
  bool (*holds)(const FolderMarks& folder, std::string_view run);
  // Whether such a folder, without an aggregate in it, is a run of this layout that lacks it.
  bool (*lacks)(const FolderMarks& folder);
  // The pieces of such a run, which has an aggregate. Without `namesakes`, only those near the run
  // are searched for; then nullopt means that some are missing, and that the rest of the store
  // matters. Throws FileError.
  std::optional<RunPieces> (*find_pieces)(const StoredRun& run, const Namesakes* namesakes);
};

const LayoutRow& layout_row(Layout layout);
Layout layout_of_letter(char letter);

std::string aggregate_name(const StoredRun& run);

// The name and layout of a run, from the name of its aggregate and the folder that contains it.
// Returns nullopt if the file is not an aggregate.
struct NamedRun {
  std::string name;
  Layout layout = Layout::folder;
};
std::optional<NamedRun> run_of_aggregate(const FolderMarks& folder, std::string_view file);

// The layout of the run that a folder without an aggregate represents. Returns nullopt if it is not
// a run.
std::optional<Layout> layout_without_aggregate(const FolderMarks& folder);

}  // namespace aggregate_power
