// From the rows of a power-limit sweep to what was measured at each limit. Pure arithmetic.
#pragma once

#include <optional>
#include <string_view>

#include "decisions/limit_sweep.h"
#include "decisions/sweep_rows.h"

namespace aggregate_power {

enum class RowOutliers { none, zscore, mad };
std::optional<RowOutliers> row_outliers(std::string_view name);
std::string_view name(RowOutliers outliers);

struct RowRules {
  RowOutliers outliers = RowOutliers::zscore;
  bool is_cumulative = false;  // a rate is the mean since the load began, not that of the moment
};

// `rows` are settled. Power and rate are linear between two rows of a stretch. A stretch ends where
// the limit changes, and at a gap of more than ten median steps; what is between two stretches is
// not counted.
LimitScenario scenario_of_rows(const SweepRows& rows, const RowRules& rules);

}  // namespace aggregate_power
