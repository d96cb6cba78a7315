// aggregate-power export: what runs and windows used, for dashboards, databases and other tools.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "verify/bundle/bundle.h"
#include "views/export/export.h"
#include "views/export/metric_families.h"

namespace aggregate_power {
namespace {

struct ExportOptions {
  ExportRequest request;
  std::string out;  // empty: standard output
};

// Writes the text in pieces. Throws Error if the file there must not be replaced.
void write_export(const ExportText& found, const ExportOptions& options) {
  std::optional<StreamedFile> file;
  found.write([&](std::string_view piece) {
    if (!file) {
      refuse_overwriting(options.request, options.out, piece);
      file.emplace(options.out);
    }
    file->append(bundle::with_names_of_bundles(std::string(piece)));
  });
  file->commit();
}

int run_export(const ExportOptions& options) {
  try {
    const ExportText found = export_text(options.request);
    for (const std::string& note : found.notes) print_note("note: " + note);
    for (const std::string& warning : found.warnings) print_note("warning: " + warning);
    if (!found.write) {
      print_message(fmt::format("error: no run was found in {}",
                                fmt::join(options.request.question.places, ", ")));
      return 1;
    }
    if (options.out.empty()) {
      found.write([](std::string_view piece) { print(stdout, std::string(piece)); });
    } else {
      write_export(found, options);
    }
    return 0;
  } catch (const FileError& error) {
    refuse_missing({options.request.question.places}, error);
  }
}

bool is_factor(const std::string& text) {
  const auto factor = python_float(text);
  return factor && *factor >= 1 && *factor <= 100;
}

void add_boundary_options(Options& options, ExportQuestion& question) {
  const auto take_limit = [&question](const std::string& text) {
    question.wants_limit = true;
    question.limit_w = text == "auto" ? std::nullopt : python_float(text);
    return true;
  };
  add_tdp(
      options, take_limit,
      "Add the power limit of one GPU, the mean power by it, and what the limit would have used for each output token; auto: by the aggregate's GPU and the table of 'help export'");
  const Check factor = expecting("a number from 1 to 100", is_factor);
  BoundaryFactors& factors = question.factors;
  options
      .value("--node-factor", "F", into(factors.node),
             "Add what the nodes used, modelled as F times what was measured")
      .check(factor);
  options
      .value("--rack-factor", "F", into(factors.rack),
             "Add what the racks used, modelled as F times the nodes")
      .check(factor)
      .needs("--node-factor");
  options
      .value(
          "--pue", "F", into(factors.pue),
          "Add what the facility used, modelled as F times the racks, else the nodes, else what was measured; a PUE is of all IT equipment, so that without --node-factor it is the GPUs' share")
      .check(factor);
  add_rate_options(options, question.facility);
}

void settle_export(const ExportOptions& options) {
  const ExportRequest& request = options.request;
  const bool is_text =
      request.format == ExportFormat::prometheus || request.format == ExportFormat::openmetrics;
  if (request.has_timestamps && request.format != ExportFormat::openmetrics) {
    throw Error(
        "--timestamps: needs --format openmetrics; node_exporter refuses files with times, and the other formats have them anyway");
  }
  if (request.has_aipowermeter_names && !is_text) {
    throw Error("--names aipowermeter: needs --format prometheus or openmetrics");
  }
  if (request.has_aipowermeter_names) {
    refuse_facility_options(request.question.facility, "--names aipowermeter");
  }
  std::set<std::string> names;
  for (const std::string& label : request.question.labels) {
    if (!names.insert(label_name(label)).second) {
      throw Error(
          fmt::format("--labels: '{}' gives the label {} a second time", label, label_name(label)));
    }
  }
}

}  // namespace

Command export_command() {
  const auto all = std::make_shared<ExportOptions>();
  ExportRequest& request = all->request;
  request.question.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positionals(
          "RESULTS", into_paths(request.question.places),
          "Aggregates, audit records, folders or archives with them, the output of 'measure --json' or 'windows --json', the report of a backfill (.jsonl)")
      .required()
      .check(not_empty());
  options
      .choice(
          "--format", "FORMAT",
          {{"prometheus", ExportFormat::prometheus},
           {"openmetrics", ExportFormat::openmetrics},
           {"jsonl", ExportFormat::jsonl},
           {"csv", ExportFormat::csv}},
          request.format,
          "prometheus: gauges for node_exporter's textfile folder; openmetrics: the same for collectors and with times; jsonl, csv: one row for each run")
      .required();
  options
      .value("--out", "FILE", into_path(all->out),
             "Write FILE, in one step, instead of standard output")
      .check(not_empty());
  options.flag(
      "--timestamps", request.has_timestamps,
      "Give each sample the time at which its window ended, to load past runs into Prometheus; with --format openmetrics");
  options
      .value(
          "--labels", "KEY,...", into_list(request.question.labels),
          "Members of the aggregates that become labels (default: those that are known to say how a run was run)")
      .check(not_empty());
  options.choice(
      "--names", "own|aipowermeter", {{"own", false}, {"aipowermeter", true}},
      request.has_aipowermeter_names,
      "Names of the gauges; aipowermeter: the five that AIPowerMeter serves, as far as they are known; takes its recordings too (default: own)");
  add_boundary_options(options, request.question);
  add_measuring_options(options, request.question.measuring);
  add_access_options(options, request.question.access);
  command.examples =
      "aggregate-power export artifacts --format prometheus --out /var/lib/node_exporter/power.prom\n"
      "aggregate-power export artifacts --format openmetrics --timestamps --out power.om\n"
      "aggregate-power export agg_run.json --format jsonl --tdp auto --node-factor 1.4 --pue 1.2\n"
      "aggregate-power export artifacts --format csv --out runs.csv";
  command.exit_statuses =
      "0 done, runs that are not valid included; 1 no run was found, and nothing was written; 2 a file cannot be opened, or wrong options";
  command.settle = [all](const Options&) {
    all->request.question.is_by_time = all->request.has_timestamps;
    settle_export(*all);
  };
  command.run = [all] { return run_export(*all); };
  return command;
}

}  // namespace aggregate_power
