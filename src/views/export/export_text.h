// What `export` prints or writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "views/export/exported.h"

namespace aggregate_power {

enum class ExportFormat { prometheus, openmetrics, jsonl, csv };

struct ExportRequest {
  ExportQuestion question;
  ExportFormat format = ExportFormat::prometheus;
  bool has_timestamps = false;          // OpenMetrics only
  bool has_aipowermeter_names = false;  // Prometheus and OpenMetrics only
};

struct ExportText {
  std::string text;                   // empty: nothing was found
  std::vector<std::string> warnings;  // for people
};

// Throws Error and FileError.
ExportText export_text(const ExportRequest& request);

// Why `text` must not replace the file at `path`: it is a file that the export reads, or another
// file in a folder of runs. Empty: it may. An earlier export of the same format is replaced.
std::string overwriting_fault(const ExportRequest& request, const std::string& path,
                              std::string_view text);

}  // namespace aggregate_power
