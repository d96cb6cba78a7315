// aggregate-power bundle: runs and all files that they were computed from, in one archive.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/nameless_file.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "base/text/shown_number.h"
#include "commands/help_pages/help_pages.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "runs/deployment/run_kinds.h"
#include "runs/measure/measure.h"
#include "runs/measure/named_files.h"
#include "store/catalogue/published_runs.h"
#include "verify/bundle/bundle.h"

namespace aggregate_power::commands {
namespace {

namespace fs = std::filesystem;

struct BundleOptions {
  bundle::Request request;
  std::string out;
};

// What is there already is replaced only if it is a bundle.
void check_bundle_output(const std::string& out) {
  const auto refuse = [&](std::string_view why) {
    throw Error(fmt::format("--out {}: {}: give another file", printable_path(out), why));
  };
  if (!out.ends_with(".tar.zst")) {
    throw Error(
        fmt::format("--out {}: expected a name that ends in .tar.zst, as in run.bundle.tar.zst",
                    printable_path(out)));
  }
  if (disk_tree()->has_folder(out)) refuse("is a folder");
  if (is_regular_file(out) && !bundle::is_bundle(out))
    refuse("exists already, and is not a bundle");
}

// ---- A run that nobody has patched

bool is_file(TreeEntry::Kind kind) { return kind == TreeEntry::Kind::file; }

// The aggregate of a result: the one with its name, else the only one in its folder; empty: none.
std::string aggregate_of(const std::string& result) {
  const std::string own = beside(result, fmt::format("agg_{}.json", plain_stem(result)));
  if (is_regular_file(own)) return own;
  std::vector<std::string> all = paths_in(fs::path(own).parent_path().string(), is_file);
  std::erase_if(all, [](const std::string& path) { return !is_aggregate_name(last_name(path)); });
  return all.size() == 1 ? all.front() : std::string();
}

// Patches a run with the count of its GPUs, without writing; what failed, or nothing.
std::string failure_of(RunSpec run) {
  run.dry_run = true;
  run.require_power = true;
  const CommandOutput tried = run.agg_result.empty() ? CommandOutput() : deliver_run(run);
  return tried.exit_status == 0 ? std::string() : tried.err.empty() ? "?" : tried.err.front();
}

// The only run of a folder, or the one of a result; nullopt: there is not one.
std::optional<RunSpec> run_at(const std::string& place) {
  const bool is_folder = disk_tree()->has_folder(place);
  const std::string folder =
      is_folder ? place : normal_path(fs::path(place).parent_path().string());
  std::vector<RunSpec> runs = runs::runs_of_folder({}, folder);
  if (runs.size() > 1) {
    std::erase_if(runs, [&](const RunSpec& run) {
      return !is_same_file(run.bench_result, place) && aggregate_of(run.bench_result) != place;
    });
  }
  if (runs.size() != 1) return std::nullopt;
  RunSpec run = std::move(runs.front());
  run.telemetry = runs::recordings_near(run, true);
  run.agg_result = aggregate_of(run.bench_result);
  return run;
}

std::optional<std::int64_t> count_of_gpus(RunSpec run) {
  run.json = true;
  run.finds_gpus = false;
  try {
    const JsonValue measured = parse_json(measure_run(run).out);
    const std::vector<JsonValue>& runs = measured.at("runs").items;
    return runs.empty() ? std::nullopt : runs[0].at("gpu_count").as_integer();
  } catch (const JsonError&) {  // nothing was measured
    return std::nullopt;
  }
}

// The command that publishes a run, as it was tried, and why one is not valid.
std::string publishing_command(RunSpec run) {
  const std::string& recording = run.telemetry.front();
  if (run.agg_result.empty()) {
    const MeasureReport tried = measure_run(run);
    return fmt::format("aggregate-power measure {} {} --out {}{}", shell_word(run.bench_result),
                       shell_word(recording),
                       shell_word(beside(run.bench_result,
                                         fmt::format("agg_{}.json", plain_stem(run.bench_result)))),
                       tried.refusals.empty() ? "" : "; it says: " + tried.refusals.front());
  }
  run.finds_gpus = true;
  std::string said = failure_of(run);
  const auto seen = said.empty() ? std::nullopt : count_of_gpus(run);
  if (seen && *seen > 0) {
    run.finds_gpus = false;
    run.expected_num_gpus = seen;
    said = failure_of(run);
  }
  const std::string count = run.finds_gpus ? "auto" : std::to_string(*seen);
  return fmt::format(
      "aggregate-power patch --csv {} --bench-result {} --agg-result {} --expected-num-gpus {}{}",
      shell_word(recording), shell_word(run.bench_result), shell_word(run.agg_result), count,
      said.empty() ? "" : "; it says: " + said);
}

std::string how_to_publish(const std::string& place) {
  try {
    if (auto run = run_at(place)) return publishing_command(std::move(*run));
  } catch (const std::runtime_error&) {  // results of several generators, or nothing to read
  }
  return fmt::format("aggregate-power backfill {}", shell_word(place));
}

// "; replaced: 2 hosts, 1 folder"
std::string replaced_text(const Json& replaced) {
  std::string text;
  for (const auto& [kind, count] : replaced.items()) {
    if (count == 0) continue;
    std::string name = kind;
    std::ranges::replace(name, '_', ' ');
    if (count == 1) name.resize(name.size() - (name.ends_with("sses") ? 2 : 1));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count.get<std::size_t>(), name);
  }
  if (replaced.is_null()) return {};
  return text.empty() ? "; nothing was to be replaced" : "; replaced: " + text;
}

void write_bundle(const std::string& out, const NamelessFile& bytes) {
  StreamedFile file(out);
  std::array<char, 65536> chunk;
  const auto source = OpenedFile(out, bytes.file(), 0, {bytes.size(), 0}).source();
  while (const std::size_t count = source->read(chunk)) file.append({chunk.data(), count});
  file.commit();
}

int run_bundle(const BundleOptions& options) {
  check_bundle_output(options.out);
  bundle::Made made;
  try {
    made = bundle::make_bundle(options.request);
  } catch (const FileError& error) {
    const std::vector<std::string> places = {options.request.place};
    refuse_missing({places}, error);
  }
  for (const std::string& warning : made.found.warnings) print_note("warning: " + warning);
  if (made.is_unpublished) {
    print_message(fmt::format(
        "error: {}: nothing is published yet, so there is nothing to bundle; publish it first: {}",
        printable_path(options.request.place), how_to_publish(options.request.place)));
    return 1;
  }
  if (!made.bytes) {
    print_result(verification_text(made.found));
    print_message(fmt::format(
        "error: {}: what is published does not hold, and was not bundled; see 'help verify'",
        printable_path(options.request.place)));
    return 1;
  }
  write_bundle(options.out, *made.bytes);
  print_result(fmt::format("aggregate-power: {} of {} and {} -> {}{}\n",
                           counted(made.found.numbers, "number"), counted(made.found.points, "run"),
                           counted(made.files, "file"), printable_path(options.out),
                           replaced_text(made.replaced)));
  return 0;
}

}  // namespace
}  // namespace aggregate_power::commands

namespace aggregate_power {

Command bundle_command() {
  const auto all = std::make_shared<commands::BundleOptions>();
  bundle::Request& request = all->request;
  request.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positional("RUN|STORE", into_path(request.place),
                  "A folder with runs at any depth, or a run's result, aggregate or audit record")
      .required()
      .check(not_empty());
  options
      .value(
          "--out", "FILE", into_path(all->out),
          "The bundle to write; a name that ends in .tar.zst. A bundle that is there is replaced")
      .required()
      .check(not_empty());
  options.flag(
      "--redact", request.redaction.is_wanted,
      "Replace hosts, users, serials, UUIDs, PCI bus ids, addresses and folders by other words, and drop prompts and answers; numbers stay");
  options
      .flag("--keep-texts", request.redaction.keep_texts,
            "Keep prompts and answers in results, which --redact drops")
      .needs("--redact");
  add_access_options(options, request.access);
  command.examples =
      "aggregate-power bundle run/ --out run.bundle.tar.zst\n"
      "aggregate-power bundle artifacts --redact --out paper.bundle.tar.zst\n"
      "aggregate-power verify run.bundle.tar.zst";
  command.exit_statuses =
      "0 written; 1 nothing is published, or what is does not hold, and nothing was written; 2 a file cannot be opened or written, or wrong options";
  command.run = [all] {
    all->request.schemas = schema_titles();
    if (all->request.redaction.is_wanted) all->request.redaction.common_words = words_of_help();
    return commands::run_bundle(*all);
  };
  return command;
}

}  // namespace aggregate_power
