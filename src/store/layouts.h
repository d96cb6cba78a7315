// How runs are laid out in an artifact store, contract.md E.3. A new layout is one row of the table
// in layouts.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "store/artifact_names.h"
#include "store/run_pieces.h"
#include "store/stored_run.h"

namespace aggregate_power {

// What tells which layouts a folder can hold.
struct FolderMarks {
  Artifact artifact;  // by the folder's name
  // Of a folder power_audit_NAME: what its LOGS are.
  bool has_package = false;
  bool has_agents = false;
};

// A folder of agents' results: their aggregates are in it, and nothing else is looked at.
bool is_agents_folder(const FolderMarks& marks);

struct LayoutRow {
  Layout layout;
  std::string_view name;        // in reports
  char letter;                  // in texts kept on disk
  bool is_of_agents;            // agents made the load, not a benchmark
  std::string_view before_run;  // an aggregate is called BEFORE_RUN, the run's name, ".json"
  // Whether the aggregate of this run, in such a folder, makes it a run of this layout.
  bool (*holds)(const FolderMarks& folder, std::string_view run);
  // Whether such a folder, without an aggregate in it, is a run of this layout that lacks it.
  bool (*lacks)(const FolderMarks& folder);
  // The pieces of such a run, which has an aggregate. Without `namesakes` those near it are looked
  // for; nothing: not all are there, and what else there is in the store counts. Throws FileError.
  std::optional<RunPieces> (*find_pieces)(const StoredRun& run, const Namesakes* namesakes);
};

const LayoutRow& layout_row(Layout layout);
Layout layout_of_letter(char letter);

std::string aggregate_name(const StoredRun& run);

// A run's name and its layout, by the name of its aggregate and the folder that holds it. Nothing:
// the file is not an aggregate.
struct NamedRun {
  std::string name;
  Layout layout = Layout::folder;
};
std::optional<NamedRun> run_of_aggregate(const FolderMarks& folder, std::string_view file);

// The layout of the run that a folder without an aggregate stands for. Nothing: it is not a run.
std::optional<Layout> layout_without_aggregate(const FolderMarks& folder);

}  // namespace aggregate_power
