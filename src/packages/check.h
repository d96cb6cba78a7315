// Checks a package against a processed benchmark result and computes its energy: the gates of
// contract.md C.3, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "packages/windows.h"

namespace aggregate_power {

// How many GPUs of each role there should be.
struct RoleCounts {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
  std::int64_t aggregate = 0;  // workers that do both
  // Of one role, whichever the package has: aggregate workers, else prefill. Instead of the others.
  std::int64_t any = 0;
};

struct PackageQuestion {
  PackagePlace place;
  std::string result_name;           // of the processed benchmark result, for messages
  std::optional<OpenedFile> result;  // nothing: it cannot be opened
  std::string result_fault;          // why
  RoleCounts gpus;
  std::string expected_producer_sha;  // empty: nobody said
  bool is_pin_of_package = false;     // the package itself says it, not the caller
  bool salvage = false;               // what concerns other windows only does not void this one
  bool extended = false;              // with all that --extended asks for
  bool with_power = false;            // with the power of all GPUs at every instant
  std::optional<std::string> expected_cpu_source;
  Reasons refusal;               // why the package is not looked at; empty: it is
  std::string window_file = {};  // which window alone may be the result's; empty: any
};

// The package's result. Never throws for what is wrong with the files.
Result check_package(const PackageQuestion& question);

}  // namespace aggregate_power
