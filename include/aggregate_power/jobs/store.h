// An artifact store to runs: where each run's aggregate is, and what can be its telemetry and its
// benchmark result. Layouts are those of contract.md E.3.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/base/tree.h"

namespace aggregate_power {

// A file or folder of a store. An archive in it is a folder of its name.
struct Place {
  std::shared_ptr<const Tree> tree;     // nothing: there is no such file
  std::string path;                     // in the tree
  std::string shown;                    // for people: the store as it was named, and what is below
  std::string below;                    // the store
  std::shared_ptr<const Place> folder;  // that holds it; nothing above the store
  std::optional<FileFacts> facts = {};  // of a file, when it was looked for
};

enum class Layout { power_audit, bmk, folder, multinode, agentic };
std::string_view layout_name(Layout layout);

// One aggregate, or what should have one.
struct StoredRun {
  std::string name;  // what stands behind "agg_"; of an agentic run the whole name
  // What stands behind "bmk_" or "power_audit_" around it, of an archive before that of a folder;
  // else the name. The same for all that lies in one artifact.
  std::string artifact;
  Layout layout = Layout::folder;
  Place folder;     // that holds the aggregate, or should
  Place aggregate;  // perhaps nothing
};

// What can be a piece of a run: its telemetry, its benchmark result.
enum class PieceKind : std::uint8_t { telemetry, benchmark_result };

// What a walk over a store meets, in no particular order.
struct StoreVisitor {
  std::function<void(const StoredRun&)> run;
  // A file that can be a piece of the run of that name, wherever that is.
  std::function<void(PieceKind, const std::string& name, const Place&)> piece;
  // To be walked with walk_archive(), now or later, here or in another thread. `artifact` as in
  // StoredRun; empty: it is none.
  std::function<void(const Place& archive, const std::string& artifact)> archive;
  // A folder that cannot be read.
  std::function<void(const Place&, const std::string& what)> fault;
  std::function<void()> folder_link;  // not followed
};

// A store as it was named: a folder or an archive. Nothing when it is neither.
std::optional<Place> find_store(const std::string& path, std::string below);

// Visits all below a store or a folder in it. Memory grows with the depth of folders alone.
void walk_store(const Place& store, const StoreVisitor& visitor);
// The same for an archive. Throws FileError when it cannot be read or trusted.
void walk_archive(const Place& archive, const std::string& artifact, const StoreVisitor& visitor);

// The nearest files that can be this piece of the run. Of an agentic run: anywhere in its results,
// the records of a profile standing for its benchmark result; on several nodes the formal results
// of its load, and no telemetry. Of others: in its own folder, else in
// the sibling gpu_metrics_NAME, else in the sibling power_audit_NAME, else in archives of these
// names, else in the folder above. A plain file goes before a compressed one of its name. Throws
// FileError when an archive there cannot be read.
struct Nearby {
  std::vector<Place> pieces;
  bool is_own = true;  // not just somewhere above
};
Nearby nearby_pieces(const StoredRun& run, PieceKind kind);

// The package of a run of several nodes: LOGS/power in its own folder, or in the artifact
// power_audit_R (of agents also agentic_R), which may be an archive. Nothing when there is none.
// Throws FileError when an archive there cannot be read.
struct PackageFolders {
  Place power;
  Place logs;
};
std::optional<PackageFolders> find_package(const StoredRun& run);

// A file some folders below another; nothing when there is none.
std::optional<Place> file_below(const Place& folder, const std::string& path);

// A file beside another one; nothing when there is none of that name.
std::optional<Place> find_beside(const Place& file, const std::string& name);

// Where the results of an agentic run are, unpacked where they lie in an archive: agentic_NAME
// around its aggregate, in the folder of that, or beside it. Throws FileError.
std::optional<Place> agentic_results(const StoredRun& run);
// LOGS of a run of agents on several nodes, where LOGS/agentic is; preferably one with a package.
// Nothing: it ran on one. Throws FileError.
std::optional<Place> agentic_logs(const StoredRun& run);

// What counts beside the records of an AIPerf profile; nothing where it is not there.
struct ProfileFiles {
  std::optional<Place> summary;
  std::optional<Place> captured_zone;  // in the result folder
};
// Nothing at all: `place` is no such records.
std::optional<ProfileFiles> profile_files(const Place& place);

// Of a place in an archive: the outermost one, on disk. Else the place's own path.
std::string path_on_disk(const Place& place);

// A place as a text, to be kept outside memory, and back. The latter throws FileError when an
// archive on the way cannot be read.
std::string place_text(const Place& place);
Place place_of(std::string_view text);
std::string shown_of(std::string_view text);  // Place::shown of the place, however it is

}  // namespace aggregate_power
