// Opens the manifest, and says why it cannot be used.
#include "packages/srt_slurm/read_manifest.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/files/path.h"
#include "base/files/whole_file.h"

namespace aggregate_power::packages {
namespace {

constexpr std::uint64_t kMostManifestBytes = 32 << 20;

}  // namespace

std::optional<JsonValue> read_manifest(const PackagePlace& place, Findings& findings) {
  if (!place.tree->has_folder(place.power_dir)) {
    findings.add(Reason::power_artifacts_missing,
                 fmt::format("{}: no such folder", place.power_dir));
    return std::nullopt;
  }
  const std::string path = path_below(place.power_dir, "manifest.json");
  if (!place.tree->find_file(path)) {
    findings.add(Reason::manifest_missing, fmt::format("{}: no such file", path));
    return std::nullopt;
  }
  try {
    const OpenedFile file = place.tree->open(path);
    if (file.size() > kMostManifestBytes) throw FileError(path, "is too large for a manifest");
    JsonValue manifest = parse_json(read_whole(file, kPackageFile));
    if (manifest.is_object()) return manifest;
    findings.add(Reason::manifest_malformed, path + ": expected a JSON object");
  } catch (const FileError& error) {
    findings.add(Reason::manifest_malformed, error.what());
  } catch (const JsonError& error) {
    findings.add(Reason::manifest_malformed, fmt::format("{}:{}", path, error.what()));
  }
  return std::nullopt;
}

}  // namespace aggregate_power::packages
