// Reads the files in a package's `cpu` folder.
#include "packages/cpu_power.h"

#include <exception>
#include <utility>

#include "base/files/file.h"
#include "base/text/json.h"
#include "packages/cpu_samples.h"

namespace aggregate_power {
namespace {

// The manifest is the recorder's own account of its run; it only has to exist as an object.
void check_manifest(const Tree& tree, const std::string& path, Reasons& reasons) {
  try {
    const auto source = tree.open(path).source();
    const JsonDocument document = scan_json(*source, [](const JsonMember&) {});
    if (document.kind != JsonKind::object) {
      reasons.add(Reason::cpu_manifest_invalid, path + ": expected an object");
    }
  } catch (const JsonError& error) {
    reasons.add(Reason::cpu_manifest_invalid, path + ':' + error.what());
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_manifest_invalid, error.what());
  }
}

void gather_cpu_samples(const Tree& tree, const std::string& path, CpuPowerGatherer& gatherer,
                        Reasons& reasons) {
  if (!tree.find_file(path)) {
    reasons.add(Reason::cpu_samples_missing, path);
    return;
  }
  try {
    const auto source = tree.open(path).source();
    const auto take = [&](const CpuSample& sample) { gatherer.take(sample); };
    const Reasons found = read_cpu_samples(*source, take);
    for (const Reasons::Entry& entry : found.entries()) {
      reasons.add(entry.reason, path + ": " + entry.detail);
    }
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_samples_malformed, error.what());
  }
}

}  // namespace

std::optional<CpuPower> measure_cpu_power(const Tree& tree, const std::string& folder,
                                          const CpuPowerRequest& request) {
  if (!tree.has_folder(folder)) {
    if (!request.expected_source) return std::nullopt;
    CpuPower nothing;
    nothing.reasons.add(Reason::cpu_artifacts_missing, folder);
    return nothing;
  }
  Reasons faults;
  CpuPowerGatherer gatherer;
  check_manifest(tree, folder + "/cpu_manifest.json", faults);
  gather_cpu_samples(tree, folder + "/samples.csv", gatherer, faults);
  return gatherer.finish(request, faults);
}

}  // namespace aggregate_power
