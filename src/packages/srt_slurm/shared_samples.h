// The samples of one package, read once for all of its windows. For callers that ask about several
// of them, one after the other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "packages/srt_slurm/srt_slurm.h"
#include "packages/srt_slurm/window_power.h"

namespace aggregate_power {

class SharedSamples {
 public:
  // What `request` asks for, with what was measured over `window`; `extended` as in WindowPower.
  // The file is read only if the last one was another, or was read for other windows. Returns
  // nullopt if that does not serve `window`: it is not one of the request's, it was served before,
  // or rows are faulty, which concern one window more than another. Throws FileError.
  struct Served {
    const PackageSamples& samples;  // until the next call
    WindowPower power;
  };
  std::optional<Served> serve(const OpenedFile& file, const PackageSamplesRequest& request,
                              Window window, bool extended);

 private:
  bool has_read(const OpenedFile& file, const PackageSamplesRequest& request, bool extended) const;
  void read(const OpenedFile& file, const PackageSamplesRequest& request, bool extended);

  std::string file_;  // empty: none was read
  FileFacts facts_;
  bool extended_ = false;
  int newest_version_ = 0;
  double gap_budget_s_ = 0;
  std::size_t most_devices_ = 0;
  PackageSamples samples_;
  std::vector<std::optional<WindowPower>> powers_;  // by window; nullopt: served
};

}  // namespace aggregate_power
