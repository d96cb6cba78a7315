// aggregate-power verify: whether what was published agrees with the retained files.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "commands/commands.h"
#include "commands/options/command.h"
#include "commands/options/shared_options.h"
#include "commands/options/terminal.h"
#include "store/catalogue/run_record.h"
#include "store/catalogue/store_path.h"
#include "verify/bundle/bundle.h"
#include "verify/receipt/receipt.h"
#include "verify/run/verify_runs.h"
#include "verify/sweep/sweep.h"

namespace aggregate_power {
namespace {

struct VerifyRequest {
  SweepRequest sweep;
  std::string receipt;  // normal path
  RunsRequest runs;
  bool json = false;
};

Verification verified(const VerifyRequest& request) {
  if (!request.receipt.empty()) {
    return verify_receipt(request.receipt, request.sweep.most_threads);
  }
  if (!request.sweep.manifest.empty()) return verify_sweep(request.sweep);
  RunsRequest runs = request.runs;
  runs.access.artifacts = request.sweep.artifacts;
  runs.most_threads = request.sweep.most_threads;
  const auto bundles =
      std::stable_partition(runs.places.begin(), runs.places.end(),
                            [](const std::string& place) { return !bundle::is_bundle(place); });
  const std::vector<std::string> bundled(bundles, runs.places.end());
  runs.places.erase(bundles, runs.places.end());
  Verification all;
  if (!runs.places.empty()) all = verify_runs(runs);
  for (const std::string& place : bundled) {
    Verification one = bundle::verify_bundle(place, runs.most_threads);
    all.kind = runs.places.empty() ? one.kind : all.kind;
    all.points += one.points;
    all.files += one.files;
    all.numbers += one.numbers;
    all.add(std::move(one));
  }
  return all;
}

// What was verified, as the caller named it.
std::string subject(const VerifyRequest& request) {
  if (!request.receipt.empty()) return request.receipt;
  if (!request.sweep.manifest.empty()) return request.sweep.manifest;
  return joined_text(request.runs.places, " ");
}

bool is_folder_or_link(TreeEntry::Kind kind) {
  return kind == TreeEntry::Kind::folder || kind == TreeEntry::Kind::folder_link;
}

bool has_all(const std::string& folder, const std::vector<std::string>& wanted) {
  const auto place = place_in_store(folder, {});
  if (!place || place->facts) return false;
  std::set<std::string_view> names(wanted.begin(), wanted.end());
  const auto is_wanted = [&](const TreeEntry& entry) { return names.contains(entry.name); };
  for (const StorePath& file : entries_below(*place, kMostLevels, is_wanted)) {
    names.erase(last_name(file.path));
  }
  return names.empty();
}

bool may_have_store_beside(const VerifyRequest& request) {
  return request.receipt.empty() && request.sweep.manifest.empty() &&
         request.sweep.artifacts.empty() && request.runs.places.size() == 1;
}

// The folder next to the one that was named in which all files of its runs are. Empty if there is
// none, or no file is missing.
std::string store_beside(const VerifyRequest& request, const Verification& found) {
  if (!may_have_store_beside(request) || found.points == 0 || found.missing_names.empty()) {
    return {};
  }
  const std::string& named = request.runs.places.front();
  const auto has_missing = [&](const std::string& other) {
    return !is_same_file(other, named) && has_all(other, found.missing_names);
  };
  try {
    const std::vector<std::string> others =
        paths_in(std::filesystem::path(named).parent_path().string(), is_folder_or_link);
    const auto other = std::ranges::find_if(others, has_missing);
    if (other == others.end()) return {};
    VerifyRequest with = request;
    with.sweep.artifacts = *other;
    return verified(with).holds() ? *other : std::string();
  } catch (const std::exception&) {  // the hint is left out
    return {};
  }
}

int run_verify(const VerifyRequest& request) {
  Verification found;
  try {
    found = verified(request);
  } catch (const FileError& error) {
    print_message(fmt::format("error: {}", error.what()));
    return 2;
  }
  if (request.json) {
    print(stdout, verification_json(found, subject(request)));
  } else {
    print_result(verification_text(found));
    for (const PublicationFault& fault : found.faults) {
      if (is_quiet()) print_message("error: " + fault.text());
    }
  }
  for (const std::string& warning : found.warnings) print_note("warning: " + warning);
  if (found.could_not_open) return 2;
  if (found.holds()) return 0;
  if (const std::string beside = store_beside(request, found); !beside.empty()) {
    print_note(fmt::format("note: the files are in {}: all holds with --artifacts {}",
                           printable_path(beside), shell_word(beside)));
  }
  return 1;
}

constexpr std::uint64_t kMostSampled = INT64_MAX;

void add_verify_reach(const VerifyRequest& request, Reach& reach) {
  reach.everywhere = request.runs.access.follow_links;
  if (!request.sweep.manifest.empty()) reach.reads.push_back(artifacts_of(request.sweep));
  if (!may_have_store_beside(request)) return;
  const std::string above =
      std::filesystem::path(request.runs.places.front()).parent_path().string();
  reach.reads.push_back(above.empty() ? "." : above);
}

Check lower_hex(std::size_t digits) {
  return expecting(fmt::format("{} lower-case hexadecimal digits", digits),
                   [digits](const std::string& text) { return is_lower_hex(text, digits); });
}

void add_expected_run(Options& options, ExpectedRun& expected) {
  constexpr std::uint64_t kMostNumber = INT64_MAX;
  options
      .value("--expected-run-id", "N", into(expected.run_id), "The manifest's run must be this one")
      .check(whole_number_between(1, kMostNumber))
      .needs("--sweep");
  options
      .value("--expected-head", "SHA", into(expected.head),
             "The manifest's commit must be this one")
      .check(lower_hex(40))
      .needs("--sweep");
  options
      .value("--expected-run-attempt", "N", into(expected.run_attempt),
             "The manifest's attempt must be this one or an earlier one")
      .check(whole_number_between(1, kMostNumber))
      .needs("--sweep");
}

}  // namespace

Command verify_command() {
  const auto request = std::make_shared<VerifyRequest>();
  request->sweep.most_threads = usable_processors();
  Command command;
  Options& options = command.options;
  options
      .positionals(
          "STORE|AGGREGATE|BUNDLE", into_paths(request->runs.places),
          "Verify runs by their audit records: all in a folder at any depth or in a bundle, that of an aggregate, or an audit record itself")
      .check(not_empty())
      .excludes("--sweep")
      .excludes("--receipt");
  options
      .value("--sweep", "MANIFEST", into_path(request->sweep.manifest),
             "Verify the points of a sweep manifest against the retained artifacts")
      .check(not_empty());
  options
      .value("--receipt", "FILE", into_path(request->receipt),
             "Verify a measurement receipt, or a publication record, with the archives beside it")
      .check(not_empty())
      .excludes("--sweep");
  options
      .value(
          "--artifacts", "FOLDER", into_path(request->sweep.artifacts),
          "What the manifest's paths are relative to (default: the manifest's folder, or the one above if that is required-power-sweep-manifest); of runs, where else their files may be")
      .check(not_empty())
      .excludes("--receipt");
  add_expected_run(options, request->sweep.expected);
  options
      .value("--sample", "N", into(request->runs.sample),
             "Verify N of the runs, drawn at random: the same ones each time, see --seed")
      .check(whole_number_between(1, kMostSampled))
      .excludes("--sweep")
      .excludes("--receipt");
  options
      .value("--seed", "N", into(request->runs.seed),
             "Draw another sample for each number (default: 0)")
      .check(whole_number_between(0, kMostSampled))
      .needs("--sample");
  add_access_options(options, request->runs.access);
  add_no_sandbox(options);
  options.flag("--json", request->json, "Print one JSON object");
  command.forms = {"STORE|AGGREGATE|BUNDLE... [OPTIONS]", "--sweep MANIFEST [OPTIONS]",
                   "--receipt FILE [--json]"};
  command.examples =
      "aggregate-power verify artifacts\n"
      "aggregate-power verify artifacts --sample 1000\n"
      "aggregate-power verify run.bundle.tar.zst\n"
      "aggregate-power verify --sweep artifacts/sweep_manifest.json\n"
      "aggregate-power verify --sweep artifacts/sweep_manifest.json --expected-run-id 123 --json\n"
      "aggregate-power verify --receipt receipts/receipt.json";
  command.exit_statuses =
      "0 all holds; 1 something does not, one line for each; 2 a file cannot be opened, or wrong options";
  command.settle = [](const Options& parsed) {
    for (const char* const name : {"STORE|AGGREGATE|BUNDLE", "--sweep", "--receipt"}) {
      if (parsed.is_given(name)) return;
    }
    throw Error(
        "verify: expected STORE, AGGREGATE or BUNDLE, --sweep MANIFEST or --receipt FILE; see 'aggregate-power verify --help'");
  };
  command.reach = [request](Reach& reach) { add_verify_reach(*request, reach); };
  command.run = [request] { return run_verify(*request); };
  return command;
}

}  // namespace aggregate_power
