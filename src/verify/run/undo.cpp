// Compares what is there with what the pass left, and takes it back.
#include "verify/run/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "base/files/lock.h"
#include "base/files/path.h"
#include "base/text/json_value.h"
#include "core/record/aggregate.h"
#include "core/record/record_read.h"
#include "core/record/transaction.h"
#include "core/record/withdrawal.h"
#include "core/telemetry/lines.h"
#include "store/catalogue/run_record.h"
#include "verify/run/metrics.h"

namespace aggregate_power {
namespace {

// What the report says of one aggregate.
struct ReportedPatch {
  std::string run;
  std::string aggregate;
  JsonValue last;                // the line of the last patch
  std::vector<JsonEdit> before;  // before the first one
  bool had_record = false;
};

std::vector<JsonEdit> members_before(const std::string& line) {
  std::vector<JsonEdit> members;
  MemorySource source(line);
  scan_json(source, [&](const JsonMember& member) {
    if (member.key != "before") return;
    const std::string before =
        line.substr(member.value_begin, member.value_end - member.value_begin);
    MemorySource inner(before);
    scan_json(inner, [&](const JsonMember& part) {
      if (part.key != "members") return;
      members = members_of_ours(
          std::string_view(before).substr(part.value_begin, part.value_end - part.value_begin));
    });
  });
  return members;
}

// Adds what a line says, if it is of an aggregate that was patched. `places`: the indices of
// patches, by their aggregates.
void add_patch(const std::string& line, std::map<std::string, std::size_t>& places,
               std::vector<ReportedPatch>& patches) {
  JsonValue content = parse_json(line);
  const std::string& outcome = content.at("outcome").text;
  if (content.find("run") == nullptr || outcome.empty()) throw Error("there is no 'outcome'");
  if (outcome != "patched" && outcome != "not_valid") return;
  if (!content.at("aggregate").is_string()) return;
  const std::string& aggregate = content.at("aggregate").text;
  const auto [place, is_new] = places.try_emplace(aggregate, patches.size());
  if (is_new) {
    patches.push_back({content.at("run").text,
                       aggregate,
                       {},
                       members_before(line),
                       content.at("before").at("record").is_true()});
  }
  patches[place->second].last = std::move(content);
}

// One for each aggregate, in the order of the report.
std::vector<ReportedPatch> reported_patches(const std::string& path) {
  std::vector<ReportedPatch> patches;
  std::map<std::string, std::size_t> places;
  std::size_t number = 0;
  for_each_line(*open_source(path), [&](std::string_view line, bool) {
    ++number;
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) return;
    try {
      add_patch(std::string(line), places, patches);
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}:{}: {}: expected a line of the report of a backfill", path,
                              number, error.what()));
    }
  });
  return patches;
}

bool same_reasons(const JsonValue& a, const JsonValue& b) {
  return std::ranges::equal(a.items, b.items, {}, &JsonValue::text, &JsonValue::text);
}

// Whether a record is the one that the pass wrote.
bool is_record_of_pass(const JsonValue& record, const JsonValue& line) {
  if (record.at("retracted").is_object()) return false;
  const bool is_patched = line.at("outcome").text == "patched";
  if (is_power_valid(record) != is_patched) return false;
  if (!same_reasons(record.at("reasons"), line.at("reasons"))) return false;
  return std::ranges::all_of(line.at("metrics").members, [&](const JsonValue::Member& metric) {
    const JsonValue& recorded = record.at("metrics").at(metric.first);
    return recorded.is_finite_number() &&
           std::fabs(recorded.as_double() - metric.second.as_double()) <=
               metric_tolerance(metric.first);
  });
}

struct UndonePatch {
  const ReportedPatch& patch;
  std::shared_ptr<const Tree> store;
  bool dry_run;
  std::string aggregate = {};
  std::string folder = {};  // of both, after all links
  std::string record = {};
  std::string text = {};  // of the aggregate
  std::vector<JsonEdit> edits = {};
  bool is_as_before = false;  // the edits change nothing
  UndoneRun done = {};
};

void end(UndonePatch& of, UndoOutcome outcome, std::string why = {}) {
  of.done.outcome = outcome;
  of.done.why = std::move(why);
}

// What the report names outside of the store; empty: nothing.
std::string way_out(const UndonePatch& of) {
  if (of.patch.run.find('/') != std::string::npos) return "its run is not the name of a run";
  const std::string out = of.store->way_out(std::filesystem::absolute(of.patch.aggregate).string());
  return out.empty() ? out : (out + ", and is not changed").append(kToFollow);
}

// Whether the record says that the pass, or one before it, replaced what the report brings back.
bool was_replaced(const UndonePatch& of, const JsonValue& record) {
  const std::vector<std::string> replaced = recorded_replacements(record);
  return std::ranges::find(replaced, hashed_text(members_text(of.patch.before)).hash) !=
         replaced.end();
}

// Empty: both files are as the pass left them, or an interrupted call of this.
std::string change_since(const UndonePatch& of) {
  if (std::filesystem::is_symlink(of.record)) return "its audit record is a link";
  const std::string text = read_file(of.record, kAuditRecordFile);
  const JsonValue& hash = of.patch.last.at("record_xxh3_128");
  if (hash.is_string() && hashed_text(text).hash != hash.text) {
    return "its audit record was changed since";
  }
  const JsonValue record = parse_json(text);
  const auto patched = recorded_patch(record);
  if (!patched || !is_record_of_pass(record, of.patch.last)) {
    return "its audit record is not the one that the pass wrote";
  }
  if (!claim_nothing(of.patch.before) && !of.is_as_before && !was_replaced(of, record)) {
    return "its audit record does not say that the members that the report would bring back were there before";
  }
  const std::vector<InputFile> inputs = recorded_inputs(record);
  const InputFile* const others = input_of_role(inputs, "aggregate_result");
  const bool is_as_left = hashed_text(of.text).hash == patched->hash;
  const bool has_same_others = others != nullptr && hashed_others(of.text).hash == others->hash;
  return is_as_left || (of.is_as_before && has_same_others) ? ""
                                                            : "the aggregate was changed since";
}

void take_back(UndonePatch& of) {
  if (std::string risk = replacement_risk(of.aggregate); !risk.empty()) {
    return end(of, UndoOutcome::failed, risk);
  }
  WritePlan plan;
  plan.aggregate_path = of.aggregate;
  plan.root = of.folder;
  plan.inputs = {of.aggregate};
  plan.edits = of.edits;
  plan.is_as_read = [&of](std::string_view now) { return now == of.text; };
  if (of.dry_run) {
    Preview found = preview(plan);
    if (!found.reasons.empty()) return end(of, UndoOutcome::failed, found.reasons.text());
    of.done.changes = std::move(found.lines);
    of.done.changes.push_back(of.record + ": would be removed");
  } else {
    const WriteOutcome outcome = carry_out(plan);
    if (!outcome.reasons.empty()) return end(of, UndoOutcome::failed, outcome.reasons.text());
    remove_file(of.record, of.folder);  // after the aggregate, which claims nothing without it
  }
  of.done.lost_record = of.patch.had_record;
  end(of, of.patch.before.empty() ? UndoOutcome::removed : UndoOutcome::restored);
}

void undo(UndonePatch& of) {
  if (const std::string out = way_out(of); !out.empty()) return end(of, UndoOutcome::failed, out);
  const auto place = place_on_disk(of.patch.aggregate, of.store);
  if (!place || !place->facts || place->tree->is_archive()) {
    return end(of, UndoOutcome::missing,
               "no such file; reports name files as seen from the folder of the backfill");
  }
  of.aggregate = place->display;
  of.folder = resolve_what_is_there(beside(of.aggregate, "."));
  of.record = beside(of.aggregate, fmt::format("power_validation_{}.json", of.patch.run));
  of.text = read_file(of.aggregate, kAggregateFile);
  of.edits = restoring_edits(of.text, of.patch.before);
  of.is_as_before = patch_json(of.text, of.edits) == of.text;
  if (!is_regular_file(of.record)) {
    return of.is_as_before ? end(of, UndoOutcome::undone_before)
                           : end(of, UndoOutcome::changed, "its audit record is not there");
  }
  const std::string fault = change_since(of);
  if (!fault.empty()) return end(of, UndoOutcome::changed, fault);
  take_back(of);
}

UndoneRun undone(UndonePatch of) {
  of.done.aggregate = of.patch.aggregate;
  try {
    undo(of);
  } catch (const std::exception& error) {
    end(of, UndoOutcome::failed, error.what());
  }
  return std::move(of.done);
}

}  // namespace

std::string_view undo_outcome_name(UndoOutcome outcome) {
  constexpr std::array<std::string_view, kUndoOutcomes> kNames = {
      "removed", "restored", "undone_before", "changed", "missing", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::vector<UndoneRun> undo_backfill(const std::string& report, const StoreAccess& access,
                                     bool dry_run) {
  const auto store = bounded_tree(std::filesystem::current_path().string(), access);
  return mapped<UndoneRun>(reported_patches(report), [&](const ReportedPatch& patch) {
    return undone({patch, store, dry_run});
  });
}

}  // namespace aggregate_power
