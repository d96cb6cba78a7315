// What a recording says about who a GPU is.
#pragma once

#include <string>

namespace aggregate_power {

// An empty part is not stated.
struct GpuKey {
  std::string host = {};   // shown in each name of the recording
  std::string place = {};  // a host, pod, container or rank of a further column
  std::string index = {};  // or another name that is unique there
  std::string uuid = {};   // as written
  std::string pci = {};    // as written

  bool operator==(const GpuKey&) const = default;
};

}  // namespace aggregate_power
