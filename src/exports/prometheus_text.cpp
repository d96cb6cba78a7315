// Writes HELP, TYPE and samples; Prometheus' exposition format 0.0.4 and OpenMetrics 1.0.
#include "exports/prometheus_text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/text/json.h"

namespace aggregate_power {
namespace {

std::string escaped_text(std::string_view text, bool has_quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && has_quotes)
      escaped += "\\\"";
    else
      escaped += c;
  }
  return escaped;
}

std::string labels_text(const GaugeLabels& labels) {
  std::string text;
  labels.for_each([&](const GaugeLabel& label) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", label.name,
                        escaped_text(label.value, true));
  });
  return text.empty() ? text : fmt::format("{{{}}}", text);
}

struct SampleLine {
  std::string series;  // its labels
  double end_unix_s;
  std::string value;
};

// Those of one series together, where its first one was.
std::vector<SampleLine> lines_of(const GaugeFamily& family, bool has_timestamps) {
  std::vector<SampleLine> lines;
  for (const GaugeSample& sample : family.samples) {
    if (has_timestamps && sample.end_unix_s <= 0) continue;
    lines.push_back(
        {labels_text(sample.labels), sample.end_unix_s,
         family.is_count ? fmt::format("{:.0f}", sample.value) : json_number(sample.value)});
  }
  if (!has_timestamps) return lines;
  std::ranges::stable_sort(lines, [](const SampleLine& a, const SampleLine& b) {
    return a.series != b.series ? a.series < b.series : a.end_unix_s < b.end_unix_s;
  });
  return lines;
}

void write_family(const GaugeFamily& family, const PrometheusForm& form, std::string& text) {
  const std::vector<SampleLine> lines = lines_of(family, form.has_timestamps);
  if (lines.empty()) return;
  const std::string name =
      fmt::format("{}{}", form.prefix, prometheus_name(family.name, family.unit));
  auto out = std::back_inserter(text);
  const std::string help = escaped_text(family.help, form.is_openmetrics);
  if (form.is_openmetrics) {
    fmt::format_to(out, "# TYPE {} gauge\n", name);
    const std::string unit = prometheus_name("", family.unit);
    if (!unit.empty()) fmt::format_to(out, "# UNIT {} {}\n", name, unit.substr(1));
    fmt::format_to(out, "# HELP {} {}\n", name, help);
  } else {
    fmt::format_to(out, "# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
  }
  for (const SampleLine& line : lines) {
    fmt::format_to(out, "{}{} {}", name, line.series, line.value);
    if (form.has_timestamps) fmt::format_to(out, " {:.3f}", line.end_unix_s);
    text += '\n';
  }
}

}  // namespace

std::string prometheus_text(std::vector<GaugeFamily> families, const PrometheusForm& form) {
  // A text that grows is there twice for a while; memory that is not used costs nothing.
  constexpr std::size_t kLongLine = 320;
  std::size_t samples = 0;
  for (const GaugeFamily& family : families) samples += family.samples.size();
  std::string text;
  text.reserve(samples * kLongLine);
  for (GaugeFamily& family : families) {
    write_family(family, form, text);
    family = {};
  }
  if (form.is_openmetrics) text += "# EOF\n";
  return text;
}

}  // namespace aggregate_power
