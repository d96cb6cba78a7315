// What a page has besides the runs: its rules, its script, its summary.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "views/page/report_runs.h"

namespace aggregate_power {

// For the <style> element: light, dark, print, narrow screens; with the rules of charts.
std::string page_style();

// For the <script> element: filters, sorting, compact curves. The page is complete without it.
std::string_view page_script();
// What a Content-Security-Policy calls it: nothing else on the page may run.
std::string page_script_hash();

// Counts, and what each hardware came to.
std::string summary_section(const ReportRuns& report);

// Each reason why power is not valid, with how often, what it means and what to do; empty if all
// runs are valid.
std::string validity_section(const ReportRuns& report);

}  // namespace aggregate_power
