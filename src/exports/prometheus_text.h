// Families of gauges in the text formats of Prometheus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exports/metric_families.h"

namespace aggregate_power {

struct PrometheusForm {
  std::string_view prefix;      // of all names
  bool is_openmetrics = false;  // with units, and a mark at the end
  bool has_timestamps = false;  // only in OpenMetrics; samples without a time are left out
};

// The text for a scrape, or for node_exporter's textfile folder. Samples of one series are
// together, in the order of their times.
std::string prometheus_text(std::vector<GaugeFamily> families, const PrometheusForm& form);

}  // namespace aggregate_power
