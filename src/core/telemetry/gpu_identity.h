// Which GPUs of a recording count.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu_key.h"
#include "aggregate_power/record_facts.h"

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

}  // namespace aggregate_power
