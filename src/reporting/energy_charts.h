// The charts of energy per token against speed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drawing/chart.h"
#include "reporting/chart_figure.h"
#include "reporting/report_runs.h"

namespace aggregate_power {

struct EnergyChart {
  Chart chart;
  FigureTable table;
  std::size_t points = 0;
  std::size_t without_speed = 0;  // points that cannot be drawn
};

// `speed` is throughput or interactivity. A dot is tagged with its point's number, and a line with
// those of all its points. `source` says where the runs are from. Nullopt: no point has a speed.
std::optional<EnergyChart> energy_chart(const ReportRuns& report, ReportQuantity speed,
                                        std::string_view source);

// An axis that holds all values: logarithmic if they differ by more than a factor of 30, else from
// 0 if they differ by more than half. `values` is not empty and finite.
Axis axis_for(std::string title, const std::vector<double>& values, std::size_t most_ticks);

// What an interval of the means of repeats is, for captions.
inline constexpr const char* kIntervalCaption =
    "n: runs of one configuration, whose mean is drawn. Bars: 95 % interval of the mean, by Student's t from the repeats, or as a single run's audit record states it for repeats on the same boards; without a bar neither is known. Sensors of different boards may differ by some 5 % beyond it.";

}  // namespace aggregate_power
