// Options of the commands that take a dcgm-power package.
#include "commands/package_options.h"

#include <cstdlib>

#include "base/files/path.h"

namespace aggregate_power {

void add_package_options(Options& options, PackageOptionTexts& texts, const std::string& root) {
  options
      .value("--logs-root", "FOLDER", into(texts.logs_root),
             root + " (default: $POWER_RESULT_ROOT, else LOGS)")
      .check(not_empty());
  options.value("--expected-producer-sha", "SHA", into(texts.expected_producer_sha),
                "Commit of the package's recorder that is trusted (default: $POWER_PRODUCER_SHA)");
  options.flag("--salvage", texts.salvage,
               "What is wrong with other windows of the package, or with rows far from this one, "
               "does not void this one; the record counts it");
  options.value("--expected-cpu-source", "SOURCE", into(texts.expected_cpu_source),
                "Source that CPU power of the package must come from, such as acpi; without the "
                "option it may hold none");
}

std::string or_environment(const std::optional<std::string>& text, const char* variable,
                           const char* otherwise) {
  if (text) return *text;
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string logs_root_of(const PackageOptionTexts& texts) {
  return normal_path(or_environment(texts.logs_root, "POWER_RESULT_ROOT", "LOGS"));
}

std::string producer_sha_of(const PackageOptionTexts& texts) {
  return or_environment(texts.expected_producer_sha, "POWER_PRODUCER_SHA", "");
}

}  // namespace aggregate_power
