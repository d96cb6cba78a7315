// Reads what is to be exported and hands it to the writer of the format.
#include "exports/export_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/files/file.h"
#include "base/files/path.h"
#include "exports/aipowermeter_gauges.h"
#include "exports/metric_families.h"
#include "exports/prometheus_text.h"
#include "exports/run_rows.h"

namespace aggregate_power {
namespace {

// Samples without a time cannot be placed in a history.
void warn_of_lost_times(const std::vector<GaugeFamily>& families,
                        std::vector<std::string>& warnings) {
  std::set<std::string> known;
  std::string first;
  for (const GaugeFamily& family : families) {
    for (const GaugeSample& sample : family.samples) {
      const std::string& run = sample.labels.common->front().value;
      if (sample.end_unix_s > 0) continue;
      if (known.empty()) first = run;
      known.insert(run);
    }
  }
  if (known.empty()) return;
  warnings.push_back(fmt::format(
      "{} of the runs {} no time and {} left out; the first is {}: it has no audit record with a window",
      known.size(), known.size() == 1 ? "has" : "have", known.size() == 1 ? "was" : "were", first));
}

ExportText gauges_text(const ExportRequest& request, std::vector<GaugeFamily> families,
                       ExportText written) {
  if (request.has_timestamps) warn_of_lost_times(families, written.warnings);
  PrometheusForm form;
  form.prefix = request.has_aipowermeter_names ? "" : "aggregate_power_";
  form.is_openmetrics = request.format == ExportFormat::openmetrics;
  form.has_timestamps = request.has_timestamps;
  written.text = prometheus_text(std::move(families), form);
  return written;
}

ExportText aipowermeter_text(const ExportRequest& request) {
  ExportQuestion question = request.question;
  std::vector<std::string> recordings;
  std::erase_if(question.places, [&](const std::string& place) {
    if (!is_aipowermeter_recording(place)) return false;
    recordings.push_back(place);
    return true;
  });
  Exported exported;
  if (!question.places.empty()) exported = read_exported(question);
  if (exported.is_empty() && recordings.empty()) return {{}, std::move(exported.warnings)};
  return gauges_text(request, aipowermeter_gauges(exported, recordings),
                     {{}, std::move(exported.warnings)});
}

}  // namespace

ExportText export_text(const ExportRequest& request) {
  if (request.has_aipowermeter_names) return aipowermeter_text(request);
  Exported exported = read_exported(request.question);
  ExportText written{{}, std::move(exported.warnings)};
  if (exported.is_empty()) return written;
  switch (request.format) {
    case ExportFormat::csv:
      written.text = rows_csv(exported);
      return written;
    case ExportFormat::jsonl:
      written.text = rows_jsonl(exported);
      return written;
    default:
      return gauges_text(request, gauge_families(std::move(exported)), std::move(written));
  }
}

std::string overwriting_fault(const ExportRequest& request, const std::string& path,
                              std::string_view text) {
  const std::vector<std::string>& places = request.question.places;
  const auto is_same = [&](const std::string& place) { return is_same_file(place, path); };
  if (std::ranges::any_of(places, is_same)) return "is read by this export";
  if (!is_regular_file(path)) return {};
  const std::string target = resolve_what_is_there(path);
  const auto is_around = [&](const std::string& place) {
    return is_in(target, resolve_what_is_there(place));
  };
  if (std::ranges::none_of(places, is_around)) return {};
  constexpr std::size_t kBegin = 16;
  const auto source = open_source(path);
  const bool is_export = read_up_to(*source, kBegin) == text.substr(0, kBegin);
  return is_export ? std::string() : "is in a folder of runs, and is no earlier export";
}

}  // namespace aggregate_power
