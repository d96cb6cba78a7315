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

// One for each aggregate, in the order of the report.
class ReportedPatches {
 public:
  explicit ReportedPatches(const std::string& path) {
    std::size_t number = 0;
    for_each_line(*open_source(path), [&](std::string_view line, bool) {
      ++number;
      if (line.find_first_not_of(" \r\t") == std::string_view::npos) return;
      try {
        add(std::string(line));
      } catch (const std::exception& error) {
        throw Error(fmt::format("{}:{}: {}: expected a line of the report of a backfill", path,
                                number, error.what()));
      }
    });
  }
  std::vector<ReportedPatch> take() && { return std::move(patches_); }

 private:
  void add(const std::string& line) {
    JsonValue content = parse_json(line);
    const std::string& outcome = content.at("outcome").text;
    if (content.find("run") == nullptr || outcome.empty()) throw Error("there is no 'outcome'");
    if (outcome != "patched" && outcome != "not_valid") return;
    if (!content.at("aggregate").is_string()) return;
    const std::string& aggregate = content.at("aggregate").text;
    const auto [place, is_new] = places_.try_emplace(aggregate, patches_.size());
    if (is_new) {
      patches_.push_back({content.at("run").text,
                          aggregate,
                          {},
                          members_before(line),
                          content.at("before").at("record").is_true()});
    }
    patches_[place->second].last = std::move(content);
  }

  std::vector<ReportedPatch> patches_;
  std::map<std::string, std::size_t> places_;
};

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

class PatchUndo {
 public:
  PatchUndo(const ReportedPatch& patch, std::shared_ptr<const Tree> store, bool dry_run)
      : patch_(patch), store_(std::move(store)), dry_run_(dry_run) {
    done_.aggregate = patch.aggregate;
    try {
      undo();
    } catch (const std::exception& error) {
      end(UndoOutcome::failed, error.what());
    }
  }
  UndoneRun take() && { return std::move(done_); }

 private:
  void end(UndoOutcome outcome, std::string why = {}) {
    done_.outcome = outcome;
    done_.why = std::move(why);
  }

  void undo() {
    if (const std::string out = way_out(); !out.empty()) return end(UndoOutcome::failed, out);
    const auto place = place_on_disk(patch_.aggregate, store_);
    if (!place || !place->facts || place->tree->is_archive()) {
      return end(UndoOutcome::missing,
                 "no such file; reports name files as seen from the folder of the backfill");
    }
    aggregate_ = place->display;
    folder_ = resolve_what_is_there(beside(aggregate_, "."));
    record_ = beside(aggregate_, fmt::format("power_validation_{}.json", patch_.run));
    text_ = read_file(aggregate_, kAggregateFile);
    edits_ = restoring_edits(text_, patch_.before);
    is_as_before_ = patch_json(text_, edits_) == text_;
    if (!is_regular_file(record_)) {
      return is_as_before_ ? end(UndoOutcome::undone_before)
                           : end(UndoOutcome::changed, "its audit record is not there");
    }
    const std::string fault = change_since();
    if (!fault.empty()) return end(UndoOutcome::changed, fault);
    take_back();
  }

  // What the report names outside of the store; empty: nothing.
  std::string way_out() const {
    if (patch_.run.find('/') != std::string::npos) return "its run is not the name of a run";
    const std::string out = store_->way_out(std::filesystem::absolute(patch_.aggregate).string());
    return out.empty() ? out : (out + ", and is not changed").append(kToFollow);
  }

  // Whether the record says that the pass, or one before it, replaced what the report brings back.
  bool was_replaced(const JsonValue& record) const {
    const std::vector<std::string> replaced = recorded_replacements(record);
    return std::ranges::find(replaced, hashed_text(members_text(patch_.before)).hash) !=
           replaced.end();
  }

  // Empty: both files are as the pass left them, or an interrupted call of this.
  std::string change_since() const {
    if (std::filesystem::is_symlink(record_)) return "its audit record is a link";
    const std::string text = read_file(record_, kAuditRecordFile);
    const JsonValue& hash = patch_.last.at("record_xxh3_128");
    if (hash.is_string() && hashed_text(text).hash != hash.text) {
      return "its audit record was changed since";
    }
    const JsonValue record = parse_json(text);
    const auto patched = recorded_patch(record);
    if (!patched || !is_record_of_pass(record, patch_.last)) {
      return "its audit record is not the one that the pass wrote";
    }
    if (!claim_nothing(patch_.before) && !is_as_before_ && !was_replaced(record)) {
      return "its audit record does not say that the members that the report would bring back were there before";
    }
    const std::vector<InputFile> inputs = recorded_inputs(record);
    const InputFile* const others = input_of_role(inputs, "aggregate_result");
    const bool is_as_left = hashed_text(text_).hash == patched->hash;
    const bool has_same_others = others != nullptr && hashed_others(text_).hash == others->hash;
    return is_as_left || (is_as_before_ && has_same_others) ? ""
                                                            : "the aggregate was changed since";
  }

  void take_back() {
    if (std::string risk = replacement_risk(aggregate_); !risk.empty()) {
      return end(UndoOutcome::failed, risk);
    }
    WritePlan plan;
    plan.aggregate_path = aggregate_;
    plan.root = folder_;
    plan.inputs = {aggregate_};
    plan.edits = edits_;
    plan.is_as_read = [this](std::string_view now) { return now == text_; };
    if (dry_run_) {
      Preview found = preview(plan);
      if (!found.reasons.empty()) return end(UndoOutcome::failed, found.reasons.text());
      done_.changes = std::move(found.lines);
      done_.changes.push_back(record_ + ": would be removed");
    } else {
      const WriteOutcome outcome = carry_out(plan);
      if (!outcome.reasons.empty()) return end(UndoOutcome::failed, outcome.reasons.text());
      remove_file(record_, folder_);  // after the aggregate, which claims nothing without it
    }
    done_.lost_record = patch_.had_record;
    end(patch_.before.empty() ? UndoOutcome::removed : UndoOutcome::restored);
  }

  const ReportedPatch& patch_;
  std::shared_ptr<const Tree> store_;
  bool dry_run_;
  std::string aggregate_;
  std::string folder_;  // of both, after all links
  std::string record_;
  std::string text_;  // of the aggregate
  std::vector<JsonEdit> edits_;
  bool is_as_before_ = false;  // the edits change nothing
  UndoneRun done_;
};

}  // namespace

std::string_view undo_outcome_name(UndoOutcome outcome) {
  constexpr std::array<std::string_view, kUndoOutcomes> kNames = {
      "removed", "restored", "undone_before", "changed", "missing", "failed"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::vector<UndoneRun> undo_backfill(const std::string& report, const StoreAccess& access,
                                     bool dry_run) {
  const auto store = bounded_tree(std::filesystem::current_path().string(), access);
  std::vector<UndoneRun> done;
  for (const ReportedPatch& patch : ReportedPatches(report).take()) {
    done.push_back(PatchUndo(patch, store, dry_run).take());
  }
  return done;
}

}  // namespace aggregate_power
