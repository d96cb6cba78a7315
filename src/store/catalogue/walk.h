// Finds the runs in an artifact store: where each run's aggregate is, and the files that can be
// pieces of runs. Layouts are those of contract.md E.3.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/tree.h"
#include "store/catalogue/store_path.h"

namespace aggregate_power {

// Receives what a walk over a store finds, in no particular order.
struct StoreVisitor {
  std::function<void(const StoredRun&)> run;
  // A file that can be a piece of the run with that name, wherever the run is.
  std::function<void(PieceKind, const std::string& name, const StorePath&)> piece;
  // A recording of any run.
  std::function<void(const StorePath&)> recording;
  // To be walked with walk_archive(), now or later, on any thread. `artifact` as in StoredRun;
  // empty: it is not an artifact.
  std::function<void(const StorePath& archive, const std::string& artifact)> archive;
  // A folder that cannot be read.
  std::function<void(const StorePath&, const std::string& what)> fault;
  std::function<void()> folder_link;  // not followed
  // A file that a link out of the store stands for; not read. An aggregate is a run all the same.
  std::function<void(const StorePath&)> link_out;
  // A file on disk that a writer left over, or is about to put in place.
  std::function<void(const StorePath&)> temporary;
};

// A store as it was named: a folder or an archive. Returns nullopt if it is neither.
std::optional<StorePath> find_store(const std::string& path, std::string below,
                                    const StoreAccess& access = {});

// Visits everything below a store or a folder in it. Memory grows only with the depth of folders.
// Throws Interrupted after a signal. With a `route`, the path of a file below the store, visits
// only the folders that lead to it and lists none of them. What those folders lack is then
// reported, although it may be in a folder that is not visited.
void walk_store(const StorePath& store, const StoreVisitor& visitor, std::string_view route = {});
// The same for an archive. Throws FileError if it cannot be read or trusted.
void walk_archive(const StorePath& archive, const std::string& artifact,
                  const StoreVisitor& visitor, std::string_view route = {});
// Whether walk_store() reaches the folder or archive at `below` ("a/b") in a store on disk.
bool walk_meets(const StorePath& store, std::string_view below);

}  // namespace aggregate_power
