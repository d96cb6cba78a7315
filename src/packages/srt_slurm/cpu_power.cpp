// Chooses the recording of CPU power, and reads its files.
#include "packages/srt_slurm/cpu_power.h"

#include <exception>
#include <utility>

#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/json.h"
#include "packages/srt_slurm/cpu_samples.h"

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

// One recording of CPU power.
struct CpuRecording {
  CpuRecorder recorder;
  std::string folder;
  const char* manifest;

  std::string samples() const { return folder + "/samples.csv"; }
};

CpuRecording of_head_node(const CpuFolders& folders) {
  return {CpuRecorder::head_node, folders.of_package, "cpu_manifest.json"};
}
CpuRecording of_hosts(const CpuFolders& folders) {
  return {CpuRecorder::hosts, folders.of_hosts, "manifest.json"};
}

bool has_samples(const Tree& tree, const CpuRecording& recording) {
  return !recording.folder.empty() && tree.find_file(recording.samples()).has_value();
}

// Returns nullopt if there is none.
std::optional<CpuRecording> choose_recording(const Tree& tree, const CpuFolders& folders) {
  const CpuRecording recordings[] = {of_head_node(folders), of_hosts(folders)};
  for (const CpuRecording& recording : recordings) {
    if (has_samples(tree, recording)) return recording;
  }
  return tree.has_folder(folders.of_package) ? std::optional(recordings[0]) : std::nullopt;
}

void gather_cpu_samples(const Tree& tree, const CpuRecording& recording, CpuPowerGatherer& gatherer,
                        Reasons& reasons) {
  const std::string path = recording.samples();
  if (!has_samples(tree, recording)) {
    reasons.add(Reason::cpu_samples_missing, path);
    return;
  }
  try {
    const auto source = tree.open(path).source();
    const auto take = [&](const CpuSample& sample) { gatherer.take(sample); };
    const Reasons found = read_cpu_samples(*source, recording.recorder, take);
    for (const Reasons::Entry& entry : found.entries()) {
      reasons.add(entry.reason, path + ": " + entry.detail);
    }
  } catch (const FileError& error) {
    reasons.add(Reason::cpu_samples_malformed, error.what());
  }
}

}  // namespace

std::vector<std::string> cpu_files_of_hosts(const CpuFolders& folders) {
  const CpuRecording recording = of_hosts(folders);
  return {recording.samples(), path_below(recording.folder, recording.manifest)};
}

std::optional<CpuPower> measure_cpu_power(const Tree& tree, const CpuFolders& folders,
                                          const CpuPowerRequest& request) {
  const std::optional<CpuRecording> recording = choose_recording(tree, folders);
  if (!recording) {
    if (!request.expected_source) return std::nullopt;
    CpuPower nothing;
    nothing.reasons.add(Reason::cpu_artifacts_missing, folders.of_package);
    return nothing;
  }
  const bool is_of_hosts = recording->recorder == CpuRecorder::hosts;
  Reasons faults;
  CpuPowerGatherer gatherer(is_of_hosts);
  check_manifest(tree, path_below(recording->folder, recording->manifest), faults);
  gather_cpu_samples(tree, *recording, gatherer, faults);
  CpuPower power = gatherer.finish(request, faults);
  if (has_samples(tree, of_hosts(folders))) {
    const std::string folder(last_name(recording->folder));
    power.samples_file = (is_of_hosts ? "" : "power/") + folder + "/samples.csv";
  }
  return power;
}

}  // namespace aggregate_power
