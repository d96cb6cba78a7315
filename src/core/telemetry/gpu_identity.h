// Which GPUs of a recording count.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu.h"
#include "aggregate_power/record_facts.h"
#include "base/system/byte_source.h"

namespace aggregate_power {

struct GpuSelection {
  std::vector<std::string> names = {};  // as the user gave them, ranges expanded; empty: all GPUs

  bool is_given() const { return !names.empty(); }
  // Whether one of the names is that of the recording's `device`. `names_hosts`: a device is
  // "host/device".
  //   3                             "3", "GPU 3", rocm-smi's "card3", and the same of any host
  //   GPU-5f0c1a                    the id that begins so; eight characters at least
  //   0000:C7:00.0, C7:00.0         the PCI address
  //   node1/3                       the same text
  // Capitals, the word "GPU" and dashes in UUIDs make no difference.
  bool has(std::string_view device, bool names_hosts) const;
  // The same by any of the names that the recording has for the device.
  bool has(std::string_view device, const GpuKey& key, bool names_hosts) const;
};

// Parses "0-3,5,GPU-5f0c1a2b". Throws Error.
GpuSelection parse_gpus(std::string_view text);

// The GPUs of a recording; those `measured` have readings in or near the window.
struct SelectableGpus {
  std::vector<std::string> devices;
  std::vector<std::string> measured = {};
  SeriesFacts series = {};
  std::vector<GpuKey> keys = {};  // of `devices`, as far as they are known
};
// What is wrong with the selection for the recordings of a run: each name must be a device in one
// of them, of exactly one in each, and that device measured. Empty: nothing. If none is measured at
// all, that alone is not wrong here.
std::string selection_fault(const GpuSelection& gpus, std::span<const SelectableGpus> recordings);

// ---- Finds the names of GPUs' models in recordings and in the files beside them.

// "NVIDIA H100 80GB HBM3", "MI300X": the kind of a GPU, not its identity.
bool is_model_name(std::string_view text);

// Whether it names a board of a data centre that draws 20 W and more when it is idle.
bool is_large_gpu(std::string_view model);

// Whether it names the GPU of a module whose energy counter also has the processor and the memory.
bool is_module_gpu(std::string_view model);

// The models that labels (modelName="NVIDIA H100") and members of JSON objects ("market_name":
// "AMD Instinct MI355X") of `text` name, each once, in the order of the text.
std::vector<std::string> gpu_models_in(std::string_view text);

// Adds a model that is not yet in the list.
void note_model(std::string_view model, std::vector<std::string>& models);

// ---- Reads a file beside a recording that says which GPU each index means.

// UUIDs by index, both as spelled in the file.
using GpuIdentity = std::map<std::string, std::string>;

// Both throw Error if the file names no GPU, or names one index twice with different spellings; and
// what `source` throws.

// Rows below a header with `index` (or `gpu`) and `uuid`, as nvidia-smi writes them.
GpuIdentity read_identity_csv(std::unique_ptr<ByteSource> source);
// A list of objects, alone or as `gpu_data` of an object, as amd-smi writes them: `gpu` (or
// `index`), and the first `uuid` at any depth; if there is none, the first `asic_serial`.
GpuIdentity read_identity_json(std::unique_ptr<ByteSource> source);

}  // namespace aggregate_power
