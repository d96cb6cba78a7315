// Small conversions to JSON.
#include "results/json_parts.h"

#include <cmath>

namespace aggregate_power {

Json number_or_null(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

Json text_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

}  // namespace aggregate_power
