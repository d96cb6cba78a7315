// The forms of a comparison's report; see compare_report.h.
#pragma once

#include <string>
#include <vector>

#include "decide/compare/compare.h"
#include "decide/compare/gate_self_test.h"

namespace aggregate_power {

std::string comparison_json(const RunComparisons& compared);
std::string summary_json(const RunComparisons& compared);
std::string gate_test_json(const RunComparisons& compared, const std::vector<GateTest>& tests);

// A report as people read it: a table with lines before and after it.
struct ReportColumn {
  std::string title;
  bool is_name = false;  // as found in a file; else a number or a word of ours
};

struct TabularReport {
  std::string heading;
  std::vector<std::string> before;
  std::vector<ReportColumn> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> after;
};

TabularReport comparison_report(const RunComparisons& compared);
TabularReport summary_report(const RunComparisons& compared);
TabularReport gate_test_report(const RunComparisons& compared, const std::vector<GateTest>& tests);

std::string as_plain_table(const TabularReport& report);
// A table of GitHub's Markdown, without HTML; what is found in files is quoted.
std::string as_markdown(const TabularReport& report);

}  // namespace aggregate_power
