// Reads a stored benchmark result or profile.
#include "store/stored_load.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/files/archive.h"
#include "base/files/hash.h"
#include "loads/aiperf.h"
#include "loads/aiperf_folder.h"
#include "loads/load_generator.h"
#include "store/pieces.h"

namespace aggregate_power {
namespace {

// Opens another file of a profile; all are few and short except the records.
LoadFile open_profile_file(const StorePath& records, const ProfileFiles& profile,
                           std::string_view role, PairInputs& inputs) {
  const bool is_summary = role == kProfileSummaryRole;
  const std::optional<StorePath>& place = is_summary ? profile.summary : profile.captured_zone;
  if (!place) {
    return {nullptr, is_summary ? fmt::format("no {} beside {}", kProfileSummary, records.display)
                                : fmt::format("no {} with {}", kCapturedZone, records.display)};
  }
  const OpenedFile file =
      inputs.open_and_hash(*place, std::string(role), is_summary ? kSummaryFile : kContextFile);
  // The zone is never compressed.
  return {is_summary ? decompressed(file.source(), place->display) : file.source(), place->display};
}

}  // namespace

StoredLoad read_stored_load(const StorePath& place, const RecomputeOptions& options,
                            PairInputs& inputs) {
  const std::string& name = place.display;
  const auto profile = profile_files(place);
  std::optional<OpenedFile> file;
  ContentHash hash;  // of the file that identifies the load, as it is read
  LoadFiles files;
  files.name = name;
  files.open = [&] {
    file = inputs.open(place);
    return decompressed(std::make_unique<HashingSource>(file->source(), hash), name);
  };
  if (profile) {
    files.other = [&](std::string_view role) {
      return open_profile_file(place, *profile, role, inputs);
    };
  }
  files.rules = options.schema_version == 2 ? LoadRules::schema_2 : LoadRules::schema_1;
  if (!profile) files.zone = options.zone;  // a profile's clock need not be the recorder's
  StoredLoad load{read_selected_load(files, options.select)};
  if (!file) return load;
  const bool is_whole = hash.bytes() == file->size();  // a faulty one is not read to its end
  inputs.files.push_back(
      {"benchmark_result", file->size(), is_whole ? hash.hex() : hash_of(*file)});
  if (!profile) return load;
  FailedRequestsRequest& failed = load.failed_requests.emplace();
  failed.count = load.reading.failed_requests;
  failed.records = [file = *file, name] { return decompressed(file.source(), name); };
  return load;
}

}  // namespace aggregate_power
