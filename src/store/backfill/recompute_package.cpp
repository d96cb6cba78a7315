// Recomputes a stored run on several nodes from its package and a benchmark result.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/result.h"
#include "base/files/file.h"
#include "base/files/hash.h"
#include "base/files/hashing_tree.h"
#include "base/files/path.h"
#include "base/text/characters.h"
#include "packages/srt_slurm/agentic_checks.h"
#include "packages/srt_slurm/check.h"
#include "core/record/aggregate.h"
#include "core/record/record_write.h"
#include "runs/deployment/failed_requests.h"
#include "runs/deployment/native.h"
#include "runs/evaluate/option_codec.h"
#include "runs/deployment/package_run.h"
#include "store/catalogue/artifact_names.h"
#include "store/backfill/choose_pair.h"
#include "store/catalogue/multinode_logs.h"
#include "store/catalogue/package_files.h"
#include "store/backfill/recompute.h"
#include "store/backfill/up_to_date.h"

namespace aggregate_power {
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
  std::ranges::move(package_listings(read.package, files), std::back_inserter(pairing.inputs));
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
  std::ranges::move(warnings, std::back_inserter(result.warnings));
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

}  // namespace aggregate_power
