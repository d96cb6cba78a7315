// Finds the records that match, and writes record and aggregate as one.
#include "decide/retract/retract.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/system/parallel.h"
#include "base/text/characters.h"
#include "base/text/json_value.h"
#include "core/record/edits.h"
#include "core/record/transaction.h"
#include "core/record/withdrawal.h"
#include "store/catalogue/published_runs.h"
#include "store/catalogue/run_record.h"

namespace aggregate_power {
namespace {

// What an option calls it, and the member of computed_from.
constexpr std::pair<std::string_view, std::string_view> kRetractKeys[] = {
    {"collector", "collector"},
    {"sensor", "sensor"},
    {"scope", "scope"},
    {"averaging", "averaging"},
    {"schema", "schema"},
    {"power_column", "power_column"},
    {"power_unit", "power_unit"},
    {"timezone", "timezone"},
    {"timezone_source", "timezone_source"},
    {"window_source", "window_source"},
    {"contract", "contract"},
    {"version", "tool_version"},
};
constexpr std::string_view kVerdictKey = "verdict";  // of --uncertainty

bool fits_glob(const std::string& glob, const std::string& text) {
  return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

// What a record states of one recording; what that does not say itself is said for all.
std::vector<std::string> values_stated(const std::string& key, const JsonValue& record,
                                       const JsonValue& recording) {
  if (key == kVerdictKey) return recorded_verdicts(record);
  const auto row =
      std::ranges::find(kRetractKeys, key, &std::pair<std::string_view, std::string_view>::first);
  const JsonValue& own = recording.at(row->second);
  const JsonValue& stated = own.is_null() ? recorded_origin(record).at(row->second) : own;
  return stated.is_string() ? std::vector{stated.text} : std::vector<std::string>();
}

bool is_met(const RetractCondition& condition, const std::vector<std::string>& stated) {
  return std::ranges::any_of(
      stated, [&](const std::string& value) { return fits_glob(condition.value, value); });
}

// Compares a record with the conditions.
void match(const std::vector<RetractCondition>& conditions, const JsonValue& record,
           RetractedRun& done) {
  for (const JsonValue* const recording : recorded_recordings(record)) {
    bool are_met = true;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const auto values = values_stated(conditions[i].key, record, *recording);
      are_met = is_met(conditions[i], values) && are_met;
      append(done.stated[i], values);
    }
    done.is_matching = done.is_matching || are_met;
  }
}

// "no record states collector=x; they state DCGM, NVML"
std::string unstated_text(const RetractCondition& condition, std::size_t i,
                          const std::vector<RetractedRun>& runs) {
  constexpr std::size_t kMostShown = 8;
  std::set<std::string> all;
  for (const RetractedRun& run : runs) all.insert(run.stated[i].begin(), run.stated[i].end());
  if (is_met(condition, {all.begin(), all.end()})) return {};
  const std::string key = condition.key;
  if (all.empty()) return fmt::format("no record states a value of {}", key);
  std::vector<std::string> shown;
  for (const std::string& value : all) {
    if (shown.size() < kMostShown) shown.push_back(printable(value));
  }
  if (all.size() > kMostShown) shown.push_back(fmt::format("{} more", all.size() - kMostShown));
  return fmt::format("no record states {}={}; they state {}", key, printable(condition.value),
                     fmt::join(shown, ", "));
}

std::string why_none_matches(const std::vector<RetractCondition>& conditions,
                             const std::vector<RetractedRun>& runs) {
  if (runs.empty() || std::ranges::any_of(runs, &RetractedRun::is_matching)) return {};
  std::vector<std::string> unstated;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    std::string text = unstated_text(conditions[i], i, runs);
    if (!text.empty()) unstated.push_back(std::move(text));
  }
  if (unstated.empty()) return "no record states all of --where together";
  return joined_text(unstated, "; ");
}

// The folder in which both files must be: the store around the record.
std::string root_around(const std::string& record, const std::vector<std::string>& stores) {
  const std::string folder = record.substr(0, record.rfind('/'));
  const std::string resolved = resolve_what_is_there(folder);
  for (const std::string& store : stores) {
    if (is_in(resolved, resolve_what_is_there(store))) return store;
  }
  return resolved;
}

std::string faults_text(const WritingFaults& faults) {
  std::string text = faults.reasons.empty() ? "" : faults.reasons.text();
  if (!faults.record_fault.empty()) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", faults.record_fault);
  }
  return text;
}

struct Retracting {
  const RetractRequest& request;
  RetractedRun done;
};

void leave(Retracting& of, std::string why) {
  of.done.outcome = RetractOutcome::left_alone;
  of.done.why = std::move(why);
}

WritePlan plan_of(const Retracting& of, const RunRecord& record, const std::string& text,
                  const std::string& aggregate, const std::string& before) {
  WritePlan plan;
  plan.aggregate_path = aggregate;
  plan.record_path = record.place.display;
  plan.only_together = true;
  plan.root = root_around(record.place.path, of.request.stores);
  plan.inputs = {aggregate};
  plan.edits = withdrawing_edits(parse_json(before), record.content);
  plan.leftovers = leftovers_of(Way::one_node);
  plan.is_as_read = [before](std::string_view now) { return now == before; };
  const auto where = mapped(of.request.conditions, [](const RetractCondition& condition) {
    return fmt::format("{}={}", condition.key, condition.value);
  });
  plan.record = [where, text, path = record.place.display](const Reasons&, std::string_view now) {
    if (!holds(path, text)) throw FileChanged(path);
    return withdrawn_record(text, where, now);
  };
  return plan;
}

void write(Retracting& of, const WritePlan& plan) {
  const WriteOutcome outcome = carry_out(plan);
  const std::string faults = faults_text(outcome);
  if (!faults.empty()) return leave(of, faults);
  of.done.outcome = RetractOutcome::retracted;
}

void show(Retracting& of, const WritePlan& plan) {
  Preview found = preview(plan);
  const std::string faults = faults_text(found);
  if (!faults.empty()) return leave(of, faults);
  of.done.outcome = RetractOutcome::retracted;
  of.done.changes = std::move(found.lines);
}

void withdraw(Retracting& of, const PublishedRun& run, const RunRecord& record,
              const std::string& text) {
  const auto aggregate = record.find_aggregate();
  if (!aggregate || !aggregate->facts) {
    const auto out = record.aggregate_way_out();
    return leave(of, out ? "its aggregate " + out->text : "its aggregate is not there");
  }
  if (aggregate->tree->is_archive() || record.place.tree->is_archive()) {
    return leave(of, "files in archives are not replaced: unpack the archive");
  }
  if (!run.doubt.empty() && !run.is_impossible) {
    return leave(of, run.doubt + ": its numbers are not those of its record");
  }
  if (std::string risk = replacement_risk(aggregate->path); !risk.empty()) return leave(of, risk);
  const std::string before = read_file(aggregate->path, kAggregateFile);
  const WritePlan plan = plan_of(of, record, text, aggregate->display, before);
  of.request.dry_run ? show(of, plan) : write(of, plan);
}

void retract(Retracting& of, const PublishedRun& run) {
  const StorePath place = run.record.place();
  const std::string text = read_whole(place.tree->open(place.path), kAuditRecordFile);
  const RunRecord record{place, parse_json(text)};
  match(of.request.conditions, record.content, of.done);
  if (record.content.at("retracted").is_object()) {
    of.done.outcome = RetractOutcome::already_retracted;
  } else if (!record.is_valid()) {
    of.done.outcome = RetractOutcome::not_valid;
  } else if (!of.done.is_matching) {
    of.done.outcome = RetractOutcome::not_matching;
  } else {
    withdraw(of, run, record, text);
  }
}

RetractedRun retracted(const RetractRequest& request, const PublishedRun& run) {
  Retracting of{request, {}};
  of.done.name = run.name;
  of.done.stated.resize(request.conditions.size());
  try {
    retract(of, run);
  } catch (const std::exception& error) {
    leave(of, error.what());
  }
  return std::move(of.done);
}

}  // namespace

std::vector<std::string> retract_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, member] : kRetractKeys) keys.emplace_back(key);
  keys.emplace_back(kVerdictKey);
  return keys;
}

std::string_view retract_outcome_name(RetractOutcome outcome) {
  constexpr std::array<std::string_view, kRetractOutcomes> kNames = {
      "retracted", "already_retracted", "not_matching", "not_valid", "left_alone"};
  return kNames[static_cast<std::size_t>(outcome)];
}

RetractResult retract_runs(const RetractRequest& request) {
  PublishedRuns published =
      read_published_runs(request.stores, request.most_threads, request.access);
  std::erase_if(published.runs, [](const PublishedRun& run) { return !run.record; });
  std::vector<std::optional<RetractedRun>> done(published.runs.size());
  in_parallel(done.size(), request.most_threads,
              [&](std::size_t i) { done[i] = retracted(request, published.runs[i]); });
  RetractResult result;
  for (std::optional<RetractedRun>& run : done) result.runs.push_back(std::move(*run));
  result.warnings = std::move(published.warnings);
  result.why_none = why_none_matches(request.conditions, result.runs);
  return result;
}

}  // namespace aggregate_power
