// Options of the commands that take a dcgm-power package.
#pragma once

#include <optional>
#include <string>

#include "commands/options.h"

namespace aggregate_power {

struct PackageOptionTexts {
  std::optional<std::string> logs_root;
  std::optional<std::string> expected_producer_sha;
  std::string expected_cpu_source;
  bool salvage = false;
};
// `root` says what lies below the logs root.
void add_package_options(Options& options, PackageOptionTexts& texts, const std::string& root);

// What is not given as an option is taken from the environment.
std::string logs_root_of(const PackageOptionTexts& texts);
std::string producer_sha_of(const PackageOptionTexts& texts);
// Given, else the variable's value unless that is empty, else `otherwise`.
std::string or_environment(const std::optional<std::string>& text, const char* variable,
                           const char* otherwise);

// What every such request has.
template <typename Request>
void set_package_options(Request& request, const PackageOptionTexts& texts) {
  request.logs_root = logs_root_of(texts);
  request.expected_producer_sha = producer_sha_of(texts);
  if (!texts.expected_cpu_source.empty()) request.expected_cpu_source = texts.expected_cpu_source;
  request.salvage = texts.salvage;
}

}  // namespace aggregate_power
