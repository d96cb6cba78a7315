// Compares files by their identity, whatever they are called.
#include "runs/repeated_recordings.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/text/unicode.h"
#include "recorders/gpu_names.h"

namespace aggregate_power {
namespace {

constexpr std::size_t kFewestSamples = 5;

struct GpuOfFile {
  const GpusOfFile* file;
  const std::pair<std::string, GpuKey>* gpu;
};

std::string in_two_files(const GpuOfFile& a, const GpuOfFile& b, const char* verb) {
  const std::string& uuid = b.gpu->second.uuid;
  const bool adds_uuid = !uuid.empty() && uuid != b.gpu->first && !a.gpu->second.uuid.empty();
  return fmt::format("GPU {} of {} {} GPU {} of {}{} and would count twice: give one of them",
                     printable(a.gpu->first), printable_path(a.file->path), verb,
                     printable(b.gpu->first), printable_path(b.file->path),
                     adds_uuid ? fmt::format(", with the UUID {},", printable(uuid)) : "");
}

// Two hosts are recorded in one way, and name their GPUs alike.
bool may_be_one_host(const GpuOfFile& a, const GpuOfFile& b) {
  return a.file->schema != b.file->schema || is_spelled_otherwise(a.gpu->second, b.gpu->second);
}

bool has_same_readings(const PowerTrace& a, const PowerTrace& b) {
  return std::ranges::equal(a.samples(), b.samples(), [](const Sample& x, const Sample& y) {
    return x.unix_s == y.unix_s && x.watts == y.watts;
  });
}

bool changes(const PowerTrace& trace) {
  const auto [low, high] = std::ranges::minmax(trace.samples(), {}, &Sample::watts);
  return low.watts != high.watts;
}

}  // namespace

void refuse_repeated_recordings(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const bool is_same =
          paths[i] == paths[j] || (is_regular_file(paths[i]) && is_regular_file(paths[j]) &&
                                   file_identity(paths[i]) == file_identity(paths[j]));
      if (!is_same) continue;
      throw Error(fmt::format("{} and {} are one recording: give it once", printable_path(paths[j]),
                              printable_path(paths[i])));
    }
  }
}

RepeatedGpus repeated_gpus(std::span<const GpusOfFile> files) {
  RepeatedGpus repeated;
  std::multimap<std::string, GpuOfFile> known;  // by all that may be equal
  for (const GpusOfFile& file : files) {
    std::vector<std::pair<std::string, GpuOfFile>> own;
    for (const auto& gpu : file.gpus) {
      const GpuOfFile here{&file, &gpu};
      std::vector<std::string>* into = nullptr;
      std::string text;
      for (const std::string& name : comparable_names(gpu.second)) {
        own.emplace_back(name, here);
        for (auto [at, end] = known.equal_range(name); at != end; ++at) {
          const GpuOfFile& other = at->second;
          const SameGpu same = same_gpu(other.gpu->second, gpu.second);
          if (same == SameGpu::yes && into != &repeated.sure) {
            into = &repeated.sure;
            text = in_two_files(other, here, "is");
          } else if (same == SameGpu::maybe && into == nullptr && may_be_one_host(other, here)) {
            into = &repeated.possible;
            text = in_two_files(other, here, "may be");
          }
        }
      }
      if (into != nullptr) into->push_back(std::move(text));
    }
    known.insert(own.begin(), own.end());
  }
  return repeated;
}

void refuse_repeated_devices(std::span<const RecordedDevice> devices) {
  std::map<std::pair<std::size_t, double>, std::vector<const RecordedDevice*>> by_shape;
  for (const RecordedDevice& device : devices) {
    const std::span<const Sample> samples = device.trace->samples();
    if (samples.size() < kFewestSamples || !changes(*device.trace)) continue;
    auto& alike = by_shape[{samples.size(), samples.front().unix_s}];
    for (const RecordedDevice* const other : alike) {
      if (other->path == device.path || !has_same_readings(*other->trace, *device.trace)) continue;
      throw Error(fmt::format(
          "GPU {} of {} and GPU {} of {} have the same readings at the same times: one is a copy of the other; give one of them",
          printable(other->trace->device()), printable_path(std::string(other->path)),
          printable(device.trace->device()), printable_path(std::string(device.path))));
    }
    alike.push_back(&device);
  }
}

}  // namespace aggregate_power
