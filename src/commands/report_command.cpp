// aggregate-power report: a page about runs.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "verify/bundle/bundle.h"
#include "views/page/page.h"

namespace aggregate_power {
namespace {

constexpr const char* kPageOnStandardOutput = "-";

// What is there already is replaced only if it is a page, and not an input.
void check_page_output(const std::string& out) {
  const auto refuse = [&](std::string_view why) {
    throw Error(fmt::format("--out {}: {}: give another file", printable_path(out), why));
  };
  if (disk_tree()->has_folder(out)) refuse("is a folder");
  if (!is_regular_file(out)) return;
  const auto source = open_source(out);
  constexpr std::string_view kBegin = "<!doctype html";
  const std::string begin = lower_ascii(read_up_to(*source, kBegin.size()));
  if (!begin.empty() && begin != kBegin) refuse("exists already, and is not an HTML page");
}

// The same of the table next to a page. `csv` begins it.
void check_csv_output(const std::string& path, std::string_view csv) {
  if (!is_regular_file(path)) return;
  constexpr std::size_t kBegin = 16;
  const auto source = open_source(path);
  if (read_up_to(*source, kBegin) == csv.substr(0, kBegin)) return;
  throw Error(fmt::format(
      "--out: {} would be the table of all runs, but exists already and is none: name another page",
      printable_path(path)));
}

// What is written, created before the command is confined.
struct ReportFiles {
  std::unique_ptr<StreamedFile> page;  // nullptr: it goes to standard output
  std::unique_ptr<StreamedFile> csv;   // only a page about many runs has one
};

ReportFiles opened_files(const std::string& out) {
  if (out == kPageOnStandardOutput) return {};
  check_page_output(out);
  ReportFiles files{std::make_unique<StreamedFile>(out), nullptr};
  try {
    files.csv = std::make_unique<StreamedFile>(csv_of_page(out));
  } catch (const FileError&) {  // thrown again if it is needed
  }
  return files;
}

void write_csv(const Report& report, const std::string& path, ReportFiles& files) {
  bool is_checked = false;
  if (!files.csv) files.csv = std::make_unique<StreamedFile>(path);
  report.write_csv([&](std::string_view piece) {
    if (!std::exchange(is_checked, true)) check_csv_output(path, piece);
    files.csv->append(bundle::with_names_of_bundles(std::string(piece)));
  });
  files.csv->commit();
}

std::string counts_text(const Report& report) {
  std::string text =
      fmt::format("{} {}, {} valid", report.runs, report.runs == 1 ? "run" : "runs", report.valid);
  for (const auto& [count, what] : {std::pair(report.sweeps - report.clock_sweeps, "power limits"),
                                    std::pair(report.clock_sweeps, "clocks")}) {
    if (count == 0) continue;
    text += fmt::format(", {} {} over {}", count, count == 1 ? "sweep" : "sweeps", what);
  }
  return text;
}

Report report_or_hint(const ReportRequest& request) {
  try {
    return make_report(request);
  } catch (const FileError& error) {
    refuse_missing({request.places}, error);
  }
}

int run_report_command(const ReportRequest& request, ReportFiles& files) {
  ReportRequest wanted = request;
  if (!files.page) wanted.out.clear();
  const Report report = report_or_hint(wanted);
  for (const std::string& warning : report.warnings) print_note("warning: " + warning);
  for (const std::string& note : report.notes) print_note("note: " + note);
  if (files.page) {
    const std::string csv = csv_of_page(request.out);
    if (report.write_csv) write_csv(report, csv, files);
    files.page->append(bundle::with_names_of_bundles(report.html));
    files.page->commit();
    print_result(fmt::format("aggregate-power: {} -> {}{}\n", counts_text(report),
                             printable_path(request.out),
                             report.write_csv ? " and " + printable_path(csv) : ""));
  } else {
    print(stdout, report.html);
  }
  if (report.runs > 0 || report.sweeps > 0) return 0;
  print_message("no run was found: name a folder with aggregates or audit records of runs");
  return 1;
}

bool take_curves(const std::string& text, std::optional<std::size_t>& curves) {
  if (text == "all") {
    curves = static_cast<std::size_t>(-1);
  } else if (text == "none") {
    curves = 0;
  } else {
    const auto count = python_int(text);
    if (!count || *count < 0) return false;
    curves = static_cast<std::size_t>(*count);
  }
  return true;
}

}  // namespace

Command report_command() {
  const auto request = std::make_shared<ReportRequest>();
  request->most_threads = usable_processors();
  Command command;
  command.called_here = {{"--output", "--out"}};
  Options& options = command.options;
  options
      .positionals(
          "STORE|RESULT", into_paths(request->places),
          "Folders and archives of runs, at any depth; aggregates, arrays of them, audit records, reports of a backfill, outputs of 'measure --json'; CSVs of power-limit sweeps")
      .required()
      .check(not_empty());
  options.value("--out", "FILE", into_path(request->out), "The page to write; - is standard output")
      .required()
      .writes()
      .check(not_empty());
  options.value("--title", "TEXT", into(request->title),
                "What the page is called (default: by the places)");
  options
      .value(
          "--group-by", "KEYS", into_keys(request->keys),
          "Members of the aggregates that make a configuration, separated by commas; runs with equal ones are repeats (default: all that say how a run was run, and its power limit)")
      .check(not_empty());
  options
      .value("--limit-key", "KEY", into(request->limit_key),
             "Member of the aggregates with the power limit (default: those that usually mean it)")
      .check(not_empty());
  const auto take_tdp = [request](const std::string& text) {
    request->otherwise_limit_w = text == "auto" ? 0 : python_float(text);
    return true;
  };
  add_tdp(
      options, take_tdp,
      "Power limit of the GPUs where no file states it; auto: what the maker states, see 'help export' (default: it stays unknown)");
  const auto take = [request](const std::string& text) {
    return take_curves(text, request->curves);
  };
  options
      .value(
          "--curves", "all|none|N", take,
          "Of how many runs the power curve is read from the recording (default: all of up to 200 runs, else none)")
      .check(expecting("all, none or a whole number from 0",
                       [](const std::string& text) {
                         std::optional<std::size_t> ignored;
                         return take_curves(text, ignored);
                       }))
      .offer({"all", "none"});
  add_slo(options, request->slo).help =
      "A service level objective, as in ttft=500ms,p90:tpot=30ms: also shows which configurations keep it, by energy and latency, and what it costs; see 'help good-work'";
  add_facility_options(options, request->facility);
  add_measuring_options(options, request->measuring);
  add_access_options(options, request->access);
  add_no_sandbox(options);
  command.examples =
      "aggregate-power report artifacts --out report.html\n"
      "aggregate-power report h100 mi355x --out report.html --title 'H100 and MI355X'\n"
      "aggregate-power report results --out report.html --group-by hw,tp,conc --curves all\n"
      "aggregate-power report inference_stats.csv --out sweep.html";
  command.exit_statuses =
      "0 written; 1 written, but no run was found; 2 a file cannot be opened or written, or wrong options";
  const auto files = std::make_shared<ReportFiles>();
  command.settle = [request, files](const Options&) { *files = opened_files(request->out); };
  command.reach = [request](Reach& reach) {
    reach.everywhere = request->access.follow_links;
    reach.reads.push_back(csv_of_page(request->out));
  };
  command.run = [request, files] { return run_report_command(*request, *files); };
  return command;
}

}  // namespace aggregate_power
