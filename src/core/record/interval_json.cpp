// Rounds bounds as the record does.
#include "core/record/interval_json.h"

#include <utility>

namespace aggregate_power {

Json metric_intervals_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics) {
    if (!metric.interval) continue;
    const auto audited = [](double value) {
      return number_or_null(rounded(value, kAuditDecimals));
    };
    Json components = Json::object();
    for (const auto& [name, half_width] : metric.interval->components) {
      components[std::string(name)] = audited(half_width);
    }
    json[std::string(metric.key)] = {{"low", audited(metric.interval->low)},
                                     {"high", audited(metric.interval->high)},
                                     {"components", std::move(components)}};
  }
  return json;
}

}  // namespace aggregate_power
