// A chart on a page: the picture, and its numbers as a table and as a CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "chart/chart.h"

namespace aggregate_power {

struct FigureTable {
  std::vector<std::string> titles = {};
  std::vector<std::vector<std::string>> rows = {};
  // Columns from here on are numbers.
  std::size_t first_number = 0;
};

// The table has at most so many rows; the CSV has all.
inline constexpr std::size_t kMostFigureRows = 500;

// `id` begins the ids of the charts, and is the name of the CSV. Several charts are side by side.
std::string chart_figure(const std::vector<Chart>& charts, const FigureTable& table,
                         const std::string& id);

// A table of its own.
std::string html_table(const FigureTable& table, std::string_view attributes);

}  // namespace aggregate_power
