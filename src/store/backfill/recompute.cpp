// Checks a stored run's aggregate, and recomputes the run by its kind.
#include "store/backfill/recompute.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "core/record/aggregate.h"
#include "core/record/record_write.h"
#include "core/record/withdrawal.h"
#include "generators/aiperf.h"
#include "packages/srt_slurm/agentic_checks.h"
#include "packages/srt_slurm/check.h"
#include "runs/deployment/agentic.h"
#include "runs/deployment/native.h"
#include "runs/deployment/package.h"
#include "runs/evaluate/option_codec.h"
#include "store/backfill/backfill.h"
#include "store/catalogue/layouts.h"
#include "store/catalogue/multinode_logs.h"

namespace aggregate_power {
namespace {

void add_missing(const StoredRun& run, Reason reason, const std::string& name, bool is_searched,
                 Reasons& missing) {
  missing.add(reason,
              fmt::format("no {} in {} or beside it{}", name, run.folder.display,
                          is_searched ? ", or by the run's name in the store"
                                      : "; the rest of the store was not searched"),
              is_searched ? Obstacle::none : Obstacle::not_searched);
}

void add_missing_result(const StoredRun& run, bool is_searched, Reasons& missing) {
  add_missing(run, Reason::benchmark_result_missing, run.name + ".json", is_searched, missing);
}

std::string why_no_profile(const StoredRun& run) {
  const auto results = agentic_results(run);
  return results ? fmt::format("no {} in {}", kProfileRecords, results->display)
                 : fmt::format("no agentic_{} in {} or beside it", run.name, run.folder.display);
}

std::string why_no_package(const StoredRun& run, const PackagePieces& pieces) {
  return pieces.logs.empty()
             ? fmt::format("no LOGS/power in {} or in power_audit_{} in it or beside it",
                           run.folder.display, run.artifact)
             : fmt::format("no power in {}", pieces.logs[0].logs.display);
}

std::string why_no_formal_result(const StoredRun& run, const PackagePieces& pieces) {
  const MultinodeLogs& logs = pieces.logs[0];
  return logs.agentic ? fmt::format("{} formal results of {} in {}", pieces.results.places.size(),
                                    run.name, logs.agentic->display)
                      : fmt::format("no agentic in {}", logs.logs.display);
}

// Empty: nothing is missing. May throw FileError.
Reasons missing_pieces(const StoredRun& run, const OneNodePieces& pieces,
                       const RecomputeOptions& options) {
  const bool is_searched = options.is_searched;
  Reasons missing;
  if (pieces.telemetry.places.empty()) {
    add_missing(run, Reason::telemetry_file_missing, "gpu_metrics.csv", is_searched, missing);
  }
  if (!pieces.loads.places.empty()) return missing;
  if (pieces.of_agents) {
    missing.add(Reason::profile_artifacts_missing, why_no_profile(run));
  } else {
    add_missing_result(run, is_searched, missing);
  }
  return missing;
}

Reasons missing_pieces(const StoredRun& run, const PackagePieces& pieces,
                       const RecomputeOptions& options) {
  Reasons missing;
  if (pieces.package() == nullptr) {
    missing.add(Reason::power_artifacts_missing, why_no_package(run, pieces));
  }
  const std::size_t results = pieces.results.places.size();
  if (pieces.of_agents && results != 1) {
    missing.add(Reason::formal_benchmark_result_missing, why_no_formal_result(run, pieces));
  } else if (!pieces.of_agents && results == 0) {
    add_missing_result(run, options.is_searched, missing);
  }
  return missing;
}

void drop_trees(StoredRun& run) {
  for (StorePath* place : {&run.folder, &run.aggregate}) {
    place->tree.reset();
    place->folder.reset();
  }
}

std::string first_of(const Candidates& candidates) {
  return candidates.places.empty() ? std::string() : candidates.places[0].display;
}

Recomputed begin(const StoredRun& run, const OneNodePieces& pieces) {
  Recomputed begun;
  begun.run = run;
  begun.telemetry = first_of(pieces.telemetry);
  begun.benchmark = first_of(pieces.loads);
  return begun;
}

Recomputed begin(const StoredRun& run, const PackagePieces& pieces) {
  Recomputed begun;
  begun.run = run;
  if (!pieces.of_agents) begun.run.layout = Layout::multinode;
  if (const MultinodeLogs* const package = pieces.package()) {
    begun.telemetry = package->power->display;
  }
  begun.benchmark = first_of(pieces.results);
  return begun;
}

// May throw FileError or Error.
template <typename Pieces>
Recomputed recompute_or_throw(const StoredRun& run, const Pieces& pieces,
                              const RecomputeOptions& options, const OtherWitnesses* witnesses) {
  Recomputed begun = begin(run, pieces);
  begun.reasons = missing_pieces(begun.run, pieces, options);
  if (!begun.reasons.empty()) {
    begun.outcome = Outcome::not_recomputable;
    return begun;
  }
  const StoredAggregate aggregate = read_aggregate(begun.run, options);
  if (!options.republish && is_retracted(begun.run, aggregate)) {
    return ended(std::move(begun), {Outcome::unchanged, Reason::retracted, ""});
  }
  try {
    return recompute_kind(std::move(begun), pieces, {aggregate, options, witnesses});
  } catch (const JsonError& error) {
    // Someone may have been writing to the file while it was read.
    const RunTarget& target = aggregate.target;
    const bool is_changed = !target.is_elsewhere && !holds(target.aggregate, aggregate.text);
    return ended(
        begin(run, pieces),
        {Outcome::failed, is_changed ? Reason::input_changed : Reason::aggregate_result_unwritable,
         fmt::format("{}:{}", run.aggregate.display, error.what())});
  }
}

template <typename Pieces>
Recomputed recompute_pieces(const StoredRun& run, const Pieces& pieces,
                            const RecomputeOptions& options, const OtherWitnesses* witnesses) {
  try {
    return recompute_or_throw(run, pieces, options, witnesses);
  } catch (const std::exception& error) {
    return ended(begin(run, pieces),
                 {Outcome::failed, Reason::input_unreadable, error_text(error)});
  }
}

void note_outcome(Recomputed& run, const Metrics& metrics) {
  run.valid = run.reasons.empty();
  run.outcome = run.valid ? Outcome::patched : Outcome::not_valid;
  if (!run.valid) return;
  for (const Metric& metric : metrics) {
    run.metrics.emplace_back(metric.key, rounded(metric.value, metric.decimals));
  }
}

}  // namespace

Recomputed ended(Recomputed run, Ending ending) {
  run.outcome = ending.outcome;
  run.reasons.add(ending.reason, std::move(ending.detail));
  return run;
}

std::optional<Ending> unusable(const StoredRun& run, const StoredAggregate& aggregate) {
  const std::string& name = run.aggregate.display;
  if (const auto fault = replacement_fault(aggregate)) {
    return Ending{Outcome::not_writable, Reason::replacement_unsafe,
                  fmt::format("{}: {}", name, *fault)};
  }
  if (is_object(aggregate)) return std::nullopt;
  return Ending{Outcome::failed, Reason::aggregate_result_unwritable,
                name + ": is not a JSON object"};
}

Recomputed unchanged(Recomputed run, const StoredRecord& record, const StoredAggregate& aggregate) {
  run.outcome = Outcome::unchanged;
  run.valid = record.valid;
  run.timezone = record.timezone;
  if (const auto& evidence = record.zone_evidence) {
    run.zone_report = evidence->report;
    run.zone_case = past_zone_case(run.run, *evidence);
  }
  for (const std::string& code : record.reasons) {
    if (const auto reason = reason_of(code)) run.reasons.add(*reason);
  }
  if (record.valid) {
    const RunTarget& target = aggregate.target;
    run.metrics = metrics_in(target.is_elsewhere ? read_file(target.aggregate, kAggregateFile)
                                                 : aggregate.text);
  }
  return run;
}

Recomputed planned(Recomputed run, Result result, const InputFile& others,
                   const RecomputeContext& context) {
  MemorySource aggregate(context.aggregate.text);
  std::string failure = benchmark_failure_in(aggregate);
  if (rules_of(result.contract).refuses_failed_benchmark && !failure.empty()) {
    result.reasons.add(Reason::benchmark_failed, std::move(failure));
    accept_reasons(result);
    run.reasons = result.reasons;
  }
  note_outcome(run, result.metrics);
  if (const RunTarget& target = context.aggregate.target; !target.is_elsewhere) {
    run.before = members_of_ours(context.aggregate.text);
    run.had_record = is_regular_file(target.record);
    run.record_path = target.record;
  }
  run.plan =
      plan_of(run.run, context.aggregate, others, run.inputs, context.options, std::move(result));
  return run;
}

std::optional<Recomputed> refused(const StoredRun& run, const RecomputeOptions& options) {
  const bool has_aggregate = run.aggregate.tree != nullptr;
  const std::string out = has_aggregate ? run.aggregate.tree->way_out(run.aggregate.path) : "";
  if (out.empty() && has_aggregate &&
      (!run.aggregate.tree->is_archive() || !options.output.empty())) {
    return std::nullopt;
  }
  Recomputed refused;
  refused.run = run;
  if (!out.empty()) {
    refused.outcome = Outcome::not_writable;
    refused.reasons.add(Reason::aggregate_result_unwritable,
                        fmt::format("{}: {}", run.aggregate.display, not_read(out)));
  } else if (has_aggregate) {
    refused.outcome = Outcome::not_writable;
    refused.reasons.add(Reason::aggregate_in_archive, run.aggregate.display);
  } else {
    refused.outcome = Outcome::not_recomputable;
    refused.reasons.add(Reason::aggregate_result_missing, run.folder.display);
  }
  drop_trees(refused.run);
  return refused;
}

Recomputed recompute(const StoredRun& run, const RunPieces& pieces, const RecomputeOptions& options,
                     const OtherWitnesses* witnesses) {
  Recomputed recomputed = std::visit(
      [&](const auto& found) { return recompute_pieces(run, found, options, witnesses); }, pieces);
  drop_trees(recomputed.run);
  return recomputed;
}

// ---- Recomputes a stored run on one node from a recording and a load.

namespace {

std::optional<StoredRecord> past_pair(const StoredRun& run, const OneNodePieces& pieces,
                                      const RecomputeContext& context) {
  const std::vector<StorePath>& telemetry = pieces.telemetry.places;
  const std::vector<StorePath>& loads = pieces.loads.places;
  const RecomputeOptions& options = context.options;
  if (options.force || telemetry.size() != 1 || loads.size() != 1) return std::nullopt;
  const auto is_as_read = [&](const Sources& sources, std::int64_t record_ns) {
    const PastInputs inputs{telemetry[0], loads[0], !options.zone.has_value(),
                            options.may_need_interval(), options.calibration};
    return options.verify ? have_the_hashes(inputs, sources)
                          : have_the_sizes(inputs, sources, record_ns);
  };
  return previous_record(run, context.aggregate,
                         {options.contract, options_for_record(options, RunKind::stored_recording),
                          telemetry[0].below, loads[0].below, is_as_read});
}

// A run that has to wait for the others of its recorder.
Recomputed waiting(Recomputed run, const Pairing& pairing, bool are_own) {
  run.aggregate_text = store_path_text(run.run.aggregate);
  run.zone_case->waiting_telemetry = store_path_text(pairing.telemetry);
  run.zone_case->waiting_benchmark = store_path_text(pairing.benchmark);
  run.zone_case->are_own = are_own;
  return run;
}

// The result as the record shows it: with its files, its zone and its options.
Result completed(const Recomputed& run, bool of_agents, Pairing pairing,
                 const RecomputeOptions& options) {
  Result result = std::move(pairing.result);
  const std::string& folder = run.run.folder.below;
  result.telemetry_source = relative_path(folder, pairing.telemetry.below);
  result.benchmark_result = relative_path(folder, pairing.benchmark.below);
  if (pairing.zone_report) {
    result.zone_evidence = {*pairing.zone_report, run.zone_case ? run.zone_case->recorder : "",
                            run.zone_case ? run.zone_case->vote : std::nullopt};
  }
  if (of_agents) result.window_source = kProfileWindowSource;
  result.sources = {true, "", std::move(pairing.inputs),
                    options_for_record(options, RunKind::stored_recording)};
  return result;
}

Recomputed concluded_node(Recomputed run, bool of_agents, Pairing pairing, const InputFile& others,
                          const RecomputeContext& context) {
  const Result& result = pairing.result;
  run.telemetry = pairing.telemetry.display;
  run.benchmark = pairing.benchmark.display;
  run.reasons = result.reasons;
  run.inputs = std::move(pairing.opened);
  if (!pairing.has_window || !pairing.has_zone) {
    run.outcome = pairing.has_window ? Outcome::ambiguous : Outcome::not_recomputable;
    return run;
  }
  if (result.telemetry) run.timezone = result.telemetry->timezone;
  for (const std::string& hint : result.hints) {
    run.warnings.push_back(fmt::format("{}: {}", run.telemetry, hint));
  }
  append(run.warnings, result.warnings);
  run.zone_report = pairing.zone_report;
  Result all = completed(run, of_agents, std::move(pairing), context.options);
  return planned(std::move(run), std::move(all), others, context);
}

}  // namespace

Recomputed recompute_kind(Recomputed begun, const OneNodePieces& pieces,
                          const RecomputeContext& context) {
  const auto& [aggregate, options, witnesses] = context;
  if (const auto past = past_pair(begun.run, pieces, context)) {
    return unchanged(std::move(begun), *past, aggregate);
  }
  if (auto ending = unusable(begun.run, aggregate)) return ended(std::move(begun), *ending);
  const InputFile others = hashed_others(aggregate.text);
  const StatedGpus stated = gpus_stated_in(aggregate.text);
  PairRequest request{options, options.expected_num_gpus};
  request.witnesses = witnesses;
  request.aggregate = aggregate.text;
  request.aggregate_name = last_name(begun.run.aggregate.path);
  if (!options.expected_num_gpus) {
    request.expected_num_gpus = stated.count;
    request.gpus_fault = stated.fault;
  }
  std::optional<std::string> hardware;
  if (options.may_need_interval() || !options.idle.empty() || !options.calibration.empty()) {
    hardware = hardware_of(aggregate.text);
  }
  // Of several candidates only the chosen one needs an interval and idle power.
  const bool is_only = pieces.telemetry.places.size() == 1 && pieces.loads.places.size() == 1;
  if (is_only) request.hardware = hardware;
  PairChoice choice =
      choose_pair(begun.run, pieces, [&](const StorePath& telemetry, const StorePath& load) {
        return try_pair(telemetry, load, request);
      });
  if (choice.pairing && hardware && !is_only) {
    request.hardware = hardware;
    choice.pairing = try_pair(choice.pairing->telemetry, choice.pairing->benchmark, request);
  }
  if (!choice.pairing) {
    return ended(std::move(begun),
                 {Outcome::ambiguous, Reason::pairing_ambiguous, std::move(choice.why_none)});
  }
  Pairing& pairing = *choice.pairing;
  if (!options.zone) begun.zone_case = zone_case_of(begun.run, aggregate.text, pairing);
  const bool is_open = !pairing.has_zone && pairing.zone_finding && witnesses == nullptr;
  if (is_open) return waiting(std::move(begun), pairing, choice.are_own);
  return concluded_node(std::move(begun), pieces.of_agents, std::move(pairing), others, context);
}

// ---- Recomputes a stored run on several nodes from its package and a benchmark result.

namespace {

struct PackagePairing {
  Result result;
  std::vector<InputFile> inputs;
  std::vector<std::pair<std::string, FileFacts>> opened;  // on disk, as they were then
};

// All of these require logs with a package.

RoleCounts counts_of(const std::string& run, std::string_view aggregate) {
  RoleCounts counts;
  if (const auto named = gpus_in_name(run)) {
    counts.prefill = named->prefill.value_or(0);
    counts.decode = named->decode.value_or(0);
    counts.any = named->prefill ? 0 : named->all;
    return counts;
  }
  const RoleGpus roles = role_gpus_of(aggregate);
  counts.prefill = roles.prefill.value_or(0);
  counts.decode = roles.decode.value_or(0);
  if (counts.prefill + counts.decode == 0) counts.any = gpus_of(aggregate).value_or(0);
  return counts;
}

// All that a store says about a run's GPUs must agree, otherwise some of it is wrong.
std::optional<std::string> doubt_about_gpus(const std::string& run, std::string_view aggregate) {
  const auto named = gpus_in_name(run);
  if (!named) return std::nullopt;
  if (named->prefill && *named->prefill + *named->decode != named->all) {
    return fmt::format("the name says {} GPUs, but {} for prefill and {} for decode", named->all,
                       *named->prefill, *named->decode);
  }
  const RoleGpus reported = role_gpus_of(aggregate);
  if (!reported.prefill || !reported.decode) return std::nullopt;
  const bool agree =
      named->prefill ? *named->prefill == *reported.prefill && *named->decode == *reported.decode
                     : named->all - *reported.prefill == *reported.decode;
  if (agree) return std::nullopt;
  return fmt::format(
      "the name says {} GPUs{}, its aggregate {} for prefill and {} for decode", named->all,
      named->prefill
          ? fmt::format(", {} for prefill and {} for decode", *named->prefill, *named->decode)
          : "",
      *reported.prefill, *reported.decode);
}

std::string pin_of(const MultinodeLogs& package) {
  constexpr std::size_t kMostBytes = 4096;
  const auto place = file_below(*package.power, kPinFile);
  if (!place) return {};
  const std::string text = read_up_to(*place->tree->open(place->path).source(), kMostBytes);
  return std::string(strip(text));
}

// A package and its benchmark result in trees that hash what is read.
struct HashedPackage {
  HashedPackage(MultinodeLogs its_logs, StorePath its_result)
      : package(std::move(its_logs)),
        benchmark(std::move(its_result)),
        logs_tree(std::make_shared<const HashingTree>(package.logs.tree)),
        benchmark_tree(benchmark.tree == package.logs.tree
                           ? logs_tree
                           : std::make_shared<const HashingTree>(benchmark.tree)) {
    package.logs.tree = package.power->tree = logs_tree;
    if (package.agentic) package.agentic->tree = logs_tree;
    benchmark.tree = benchmark_tree;
    StorePath folder = *benchmark.folder;
    folder.tree = benchmark_tree;
    benchmark.folder = std::make_shared<const StorePath>(std::move(folder));
  }

  HashedFile hashed(const StorePath& file) const {
    return (file.tree == logs_tree ? logs_tree : benchmark_tree)->hashed(file.path);
  }

  MultinodeLogs package;
  StorePath benchmark;
  std::shared_ptr<const HashingTree> logs_tree;
  std::shared_ptr<const HashingTree> benchmark_tree;
};

// Notes what was read for the verdict, and what the verdict depends on without being read.
void note_inputs(const HashedPackage& read, const PackageFiles& files, PackagePairing& pairing) {
  for (const auto& [role, place] : files) {
    try {
      const auto [facts, hash] = read.hashed(place);
      pairing.inputs.push_back({role, facts.bytes, hash});
      // A file in an archive is as old as the archive, and has no other facts on disk.
      pairing.opened.emplace_back(
          path_on_disk(place), place.tree->is_archive() ? FileFacts{0, facts.modified_ns} : facts);
    } catch (const FileError&) {
      if (!is_records_role(role)) throw;
      // Not recorded, so that it is tried again each time; but it must not be overwritten.
      pairing.opened.emplace_back(path_on_disk(place), FileFacts{0, place.facts->modified_ns});
    }
  }
  append(pairing.inputs, package_listings(read.package, files));
}

// Adds the questions that concern only agents. Returns their failed requests, if these can be
// known.
std::optional<FailedRequestsRequest> ask_of_agents(const StorePath& benchmark, const StoredRun& run,
                                                   std::string_view aggregate,
                                                   PackageQuestion& question,
                                                   std::vector<std::string>& warnings) {
  AgenticChecks checks =
      check_agentic_load({.tree = question.place.tree,
                          .result_dir = benchmark.folder->path,
                          .logs_root = question.place.logs_root,
                          .aggregate = std::string(aggregate),
                          .aggregate_fault = {},
                          .expected_producer_sha = question.expected_producer_sha,
                          .finds_gpus_of_node = rules_of(question.contract).finds_gpus_of_node,
                          .aggregate_name = run.aggregate.display});
  question.role_gpus = checks.gpus;
  question.window_file = std::move(checks.window_file);
  question.refusal = std::move(checks.reasons);
  if (!question.refusal.empty()) return std::nullopt;
  auto failed = failed_requests_in(benchmark.tree, benchmark.folder->path, warnings);
  question.with_power = failed && failed->count > 0;
  if (failed) question.failure = failed->failure;
  return failed;
}

Result checked(const MultinodeLogs& package, const StorePath& benchmark, const StoredRun& run,
               std::string_view aggregate, const RecomputeOptions& options) {
  std::vector<std::string> warnings;
  PackageQuestion question = package_question(options);
  question.place = package_place(package);
  question.result_name = benchmark.display;
  question.result = benchmark.tree->open(benchmark.path);
  question.is_pin_of_package = options.expected_producer_sha.empty();
  if (question.is_pin_of_package) question.expected_producer_sha = pin_of(package);
  std::optional<FailedRequestsRequest> failed;
  if (package.agentic) {
    failed = ask_of_agents(benchmark, run, aggregate, question, warnings);
  } else {
    question.role_gpus = counts_of(run.name, aggregate);
    if (auto doubt = doubt_about_gpus(run.name, aggregate)) warnings.push_back(std::move(*doubt));
  }
  const std::string hardware = options.may_need_interval() ? hardware_of(aggregate) : "";
  Result result = evaluate_package(options, hardware, std::move(question));
  if (failed) result.failed_requests = failed_requests(*failed, result, result.curve);
  append(result.warnings, std::move(warnings));
  return result;
}

Result checked_native(const MultinodeLogs& package, const StorePath& benchmark,
                      const StoredRun& run, std::string_view aggregate,
                      const RecomputeOptions& options) {
  NativeQuestion question;
  question.place = {package.power->tree, package.power->path};
  question.result_name = benchmark.display;
  question.result = benchmark.tree->open(benchmark.path);
  question.gpus = counts_of(run.name, aggregate);
  question.run = options;
  if (options.may_need_interval()) question.hardware = hardware_of(aggregate);
  Result result = check_native(question);
  if (auto doubt = doubt_about_gpus(run.name, aggregate)) {
    result.warnings.push_back(std::move(*doubt));
  }
  return result;
}

// The number of GPUs comes from the run's name; for agentic runs, or if the name lacks it, from
// `aggregate`, the aggregate's text. Throws FileError.
PackagePairing try_package(const MultinodeLogs& package, const StorePath& benchmark,
                           const StoredRun& run, std::string_view aggregate,
                           const RecomputeOptions& options) {
  const HashedPackage read(package, benchmark);
  const PackageFiles files = package_files(read.package, read.benchmark);
  PackagePairing pairing;
  try {
    const auto check = package.is_native ? checked_native : checked;
    pairing.result = check(read.package, read.benchmark, run, aggregate, options);
  } catch (const FileError&) {
    note_inputs(read, files, pairing);  // throws the error of the first faulty file
    throw;
  }
  note_inputs(read, files, pairing);
  return pairing;
}

// Whether exactly its files exist, with their recorded sizes, and none was modified at `record_ns`
// or later; or, with `verify`, with their recorded contents. May throw FileError.
bool package_is_as_read(const MultinodeLogs& package, const StorePath& benchmark,
                        const Sources& sources, std::int64_t record_ns, bool verify) {
  const PackageFiles files = package_files(package, benchmark);
  const auto listings = package_listings(package, files);
  // The aggregate is also among the inputs.
  if (sources.inputs.size() != files.size() + listings.size() + 1) return false;
  const auto is_as_listed = [&](const InputFile& listing) {
    const InputFile* const input = input_of_role(sources.inputs, listing.role);
    return input != nullptr && input->hash == listing.hash;
  };
  return std::ranges::all_of(listings, is_as_listed) &&
         std::ranges::all_of(files, [&](const auto& entry) {
           const auto& [role, place] = entry;
           const InputFile* const input = input_of_role(sources.inputs, role);
           if (input == nullptr) return false;
           if (verify) {
             const OpenedFile file = place.tree->open(place.path);
             return file.size() == input->bytes && hash_of(file) == input->hash;
           }
           const auto facts = place.facts ? place.facts : place.tree->find_file(place.path);
           return facts && facts->bytes == input->bytes && facts->modified_ns < record_ns;
         });
}

// Whether two packages of a run give the same result, by the contents of everything that a verdict
// depends on. They share the benchmark result, except that agents' packages have one each. Throws
// FileError.
bool is_same_package(const MultinodeLogs& a, const MultinodeLogs& b, const StorePath& benchmark) {
  const auto files = [&](const MultinodeLogs& package) {
    PackageFiles all =
        package_files(package, package.agentic ? package.formal_results[0] : benchmark);
    std::erase_if(all, [](const auto& entry) { return is_records_role(entry.first); });
    return all;
  };
  const PackageFiles of_a = files(a);
  const PackageFiles of_b = files(b);
  const auto are_listed_alike = std::ranges::equal(
      package_listings(a, of_a), package_listings(b, of_b), {}, &InputFile::hash, &InputFile::hash);
  return are_listed_alike && std::ranges::equal(of_a, of_b, [](const auto& one, const auto& other) {
           if (one.first != other.first) return false;
           const OpenedFile file = one.second.tree->open(one.second.path);
           const OpenedFile twin = other.second.tree->open(other.second.path);
           return file.size() == twin.size() && hash_of(file) == hash_of(twin);
         });
}

// Packages have no other options.
std::vector<RecordedOption> package_options(const RecomputeOptions& options) {
  RunSpec of_package;
  static_cast<PackageOptions&>(of_package) = options;
  of_package.idle = options.idle;
  of_package.uncertainty = options.uncertainty;
  of_package.salvage = options.salvage;
  return options_for_record(of_package, RunKind::stored_package);
}

std::optional<StoredRecord> past_package(const StoredRun& run, const PackagePieces& pieces,
                                         const RecomputeContext& context) {
  const std::vector<StorePath>& results = pieces.results.places;
  const RecomputeOptions& options = context.options;
  if (options.force || results.size() != 1 || pieces.logs.size() != 1) return std::nullopt;
  const MultinodeLogs& package = *pieces.package();
  if (package.has_both) return std::nullopt;
  const auto is_as_read = [&](const Sources& sources, std::int64_t record_ns) {
    return package_is_as_read(package, results[0], sources, record_ns, options.verify);
  };
  return previous_record(run, context.aggregate,
                         {options.contract, package_options(options), package.power->below,
                          results[0].below, is_as_read});
}

// Logs with packages of both kinds do not say which is the run's. Empty: there are none.
std::string two_kinds(const PackagePieces& pieces) {
  const auto logs = std::ranges::find_if(pieces.logs, &MultinodeLogs::has_both);
  if (logs == pieces.logs.end()) return {};
  return fmt::format("{} has both power and native_power; remove the one that is not this run's",
                     logs->logs.display);
}

// Packages that exist several times must be equal. Empty: they are.
std::string difference(const PackagePieces& pieces, const StorePath& benchmark) {
  const MultinodeLogs& package = *pieces.package();
  for (const MultinodeLogs& other : pieces.logs) {
    if (&other == &package || is_same_package(package, other, benchmark)) continue;
    return fmt::format("{} and {} differ", package.power->display, other.power->display);
  }
  return {};
}

// A package's window may have another concurrency than the run's name. Empty: it does not.
std::string contradiction(const std::string& run, const StorePath& benchmark,
                          const Result& result) {
  const auto named = concurrency_in_name(run);
  if (!named || !result.package || !result.package->window) return {};
  const std::int64_t found = result.package->window->concurrency;
  return found == *named ? std::string()
                         : fmt::format("{}: max_concurrency is {}, the run's name says {}",
                                       benchmark.display, found, *named);
}

Recomputed concluded_package(Recomputed run, const PackagePieces& pieces,
                             const StorePath& benchmark, PackagePairing pairing,
                             const InputFile& others, const RecomputeContext& context) {
  Result result = std::move(pairing.result);
  run.benchmark = benchmark.display;
  run.reasons = result.reasons;
  run.inputs = std::move(pairing.opened);
  run.warnings = result.warnings;
  if (!result.load) {
    run.outcome = Outcome::not_recomputable;
    return run;
  }
  run.timezone = "UTC";
  const std::string& folder = run.run.folder.below;
  result.telemetry_source = relative_path(folder, pieces.package()->power->below);
  result.benchmark_result = relative_path(folder, benchmark.below);
  if (pieces.of_agents) result.window_source = kFormalWindowSource;
  result.sources = {true, "", std::move(pairing.inputs), package_options(context.options)};
  return planned(std::move(run), std::move(result), others, context);
}

}  // namespace

Recomputed recompute_kind(Recomputed begun, const PackagePieces& pieces,
                          const RecomputeContext& context) {
  const auto& [aggregate, options, witnesses] = context;
  if (const auto past = past_package(begun.run, pieces, context)) {
    return unchanged(std::move(begun), *past, aggregate);
  }
  if (auto ending = unusable(begun.run, aggregate)) return ended(std::move(begun), *ending);
  const InputFile others = hashed_others(aggregate.text);
  const auto ambiguous = [&](std::string why) {
    return ended(std::move(begun), {Outcome::ambiguous, Reason::pairing_ambiguous, std::move(why)});
  };
  if (std::string why = two_kinds(pieces); !why.empty()) return ambiguous(std::move(why));
  const std::vector<StorePath> results = distinct_files(pieces.results.places);
  if (pieces.results.are_too_many || results.size() != 1) {
    return ambiguous(
        fmt::format("{} different files are named {}.json", results.size(), begun.run.name));
  }
  if (std::string why = difference(pieces, results[0]); !why.empty()) {
    return ambiguous(std::move(why));
  }
  PackagePairing pairing =
      try_package(*pieces.package(), results[0], begun.run, aggregate.text, options);
  if (rules_of(options.contract).checks_run_name && !pieces.of_agents) {
    if (std::string why = contradiction(begun.run.name, results[0], pairing.result); !why.empty()) {
      return ambiguous(std::move(why));
    }
  }
  return concluded_package(std::move(begun), pieces, results[0], std::move(pairing), others,
                           context);
}

// ---- Outcomes by name, and whether a run's inputs are still the same.

std::string_view outcome_name(Outcome outcome) {
  constexpr std::array<std::string_view, kOutcomes> kNames = {
      "patched",      "unchanged", "not_valid", "not_recomputable",
      "not_writable", "ambiguous", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

bool inputs_are_unchanged(const Recomputed& recomputed) {
  return std::ranges::all_of(recomputed.inputs, [](const auto& input) {
    const auto& [path, facts] = input;
    const auto now = disk_tree()->find_file(path);
    return now && now->modified_ns == facts.modified_ns &&
           (facts.bytes == 0 || now->bytes == facts.bytes);
  });
}

}  // namespace aggregate_power
