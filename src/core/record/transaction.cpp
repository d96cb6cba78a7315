// Locks, checks, prepares and commits the aggregate result and its audit record.
#include "core/record/transaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/lock.h"
#include "base/system/byte_source.h"
#include "base/text/json.h"

namespace aggregate_power {
namespace {

// One file on its way to its place. If its bytes are there already, they are left alone but synced:
// the run that wrote them may have been killed before it could sync.
class Step {
 public:
  struct Options {
    bool make_folders = false;
    Sync sync = Sync::at_once;
    bool dry_run = false;  // write nothing, but throw as if writing
    // The content it was made from, which must still be in its place; nullopt: that does not
    // matter.
    std::optional<std::string> before = {};
    std::string within = {};  // as for a PendingFile
  };

  Step(std::string path, std::string_view bytes, Options options)
      : path_(std::move(path)), options_(std::move(options)) {
    if (options_.dry_run) {
      require_replaceable(path_, options_.make_folders);
      return;
    }
    remove_stale_temporaries(path_);
    if (holds(path_, bytes)) return;
    file_ = std::make_unique<PendingFile>(path_, bytes, options_.make_folders, options_.sync,
                                          options_.within);
  }

  // Throws if the bytes are not in place. Bytes in place that may not survive a power cut are only
  // a warning.
  void commit(WriteOutcome& outcome) {
    if (!file_ && options_.before && !holds(path_, *options_.before)) throw FileChanged(path_);
    try {
      if (file_ && options_.before) {
        file_->commit_over(*options_.before);
      } else if (file_) {
        file_->commit();
      } else if (options_.sync == Sync::at_once) {
        sync_in_place(path_);
      }
    } catch (const FileError& error) {
      if (file_ && !file_->in_place()) throw;
      outcome.warnings.push_back(
          fmt::format("{}; it may not survive a power failure", error.what()));
    }
    if (file_) outcome.changed = true;
  }

 private:
  std::string path_;
  Options options_;
  std::unique_ptr<PendingFile> file_;
};

// The text to patch. Throws FileError; FileChanged if the edits do not hold for it.
std::string current_text(const WritePlan& plan) {
  std::string text =
      plan.aggregate_text ? *plan.aggregate_text : read_file(plan.aggregate_path, kAggregateFile);
  if (plan.is_as_read && !plan.is_as_read(text)) {
    throw FileChanged(plan.aggregate_path);
  }
  return text;
}

bool may_remove_alone(const WritePlan& plan) {
  return std::ranges::any_of(plan.leftovers, &WritePlan::Leftovers::are_alone);
}

// `edits` plus the removal of leftovers. Throws JsonError.
std::vector<JsonEdit> with_leftovers(const WritePlan& plan, std::string_view text,
                                     std::vector<JsonEdit> edits) {
  const bool is_alone = edits.empty();
  if (is_alone && !may_remove_alone(plan)) return edits;
  std::vector<std::string> signs;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    for (const WritePlan::Leftovers& some : plan.leftovers) {
      const bool is_ours = some.sign_text.empty() || member.text == some.sign_text;
      if (is_ours && member.key == some.sign) signs.push_back(some.sign);
    }
  });
  for (const WritePlan::Leftovers& some : plan.leftovers) {
    if (std::ranges::find(signs, some.sign) == signs.end()) continue;
    if (is_alone && !some.are_alone) continue;
    for (const std::string& key : some.keys) {
      if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) edits.push_back({key, ""});
    }
  }
  return edits;
}

std::string patched(const WritePlan& plan, std::string_view text,
                    const std::vector<JsonEdit>& edits) {
  try {
    return patch_json(text, with_leftovers(plan, text, edits));
  } catch (const JsonError& error) {
    // Someone may have been writing to the file while it was read.
    const std::string& path = plan.aggregate_path;
    if (!plan.aggregate_text && !holds(path, text)) throw FileChanged(path);
    throw Error(fmt::format("{}:{}", path, error.what()));
  }
}

Obstacle obstacle_of(const std::exception& error) {
  const auto* const system = dynamic_cast<const FileError*>(&error);
  return system == nullptr ? Obstacle::none : aggregate_power::obstacle_of(system->code().value());
}

Reason aggregate_reason(const std::exception& error) {
  if (dynamic_cast<const FileChanged*>(&error) != nullptr) return Reason::input_changed;
  if (dynamic_cast<const LockTimeout*>(&error) != nullptr) return Reason::aggregate_result_locked;
  return Reason::aggregate_result_unwritable;
}

void note_aggregate_fault(const std::exception& error, WritingFaults& faults) {
  faults.reasons.add(aggregate_reason(error), error_text(error), obstacle_of(error));
}

bool is_locked(const WritingFaults& faults) {
  return faults.reasons.contains(Reason::aggregate_result_locked);
}

// Works for a path that does not exist yet, too: it may be created.
bool is_below_any(const std::vector<std::string>& folders, const std::string& path) {
  if (folders.empty()) return false;
  const std::string target = resolve_what_is_there(path);
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    return is_in(target, resolve_what_is_there(folder));
  });
}

// Says that `path` leads out of the folder in which both files must be; empty: it does not.
std::string way_out(const WritePlan& plan, const std::string& path) {
  if (plan.root.empty()) return {};
  const std::string target = resolve_what_is_there(path);
  if (is_in(target, resolve_what_is_there(plan.root))) return {};
  return fmt::format("{}: leads out of {}, to {}, and is not written", path, plan.root, target);
}

bool is_link(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}

// The file to replace. In a store, a link may also lead to a free name in it, or to a record.
std::string written_file(const WritePlan& plan, const std::string& path) {
  return plan.root.empty() || !is_link(path) ? path : resolve_what_is_there(path);
}

// Says that `path` is a link to a file of another name, which is not ours; empty: it is not.
std::string stray_link(const WritePlan& plan, const std::string& path, bool is_record) {
  if (!is_link(path)) return {};
  const bool may_be_free = !plan.root.empty();
  const std::string target = resolve_what_is_there(path);
  if (may_be_free && (is_record || !is_regular_file(target))) return {};  // see stranger()
  try {
    std::ignore = replaced_file(path);
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

// Whether it is an empty file or object, which loses nothing.
bool holds_nothing(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return true;
  text = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  return text.starts_with('{') && text.find_first_not_of(" \t\r\n", 1) == text.size() - 1 &&
         text.ends_with('}');
}

// Says that the audit record would replace a file that is something else; empty: it would not.
std::string stranger(const WritePlan& plan) {
  const std::string& path = plan.record_path;
  if (!plan.is_record || !is_regular_file(path)) return {};
  const auto refusal = [&](std::string_view what) {
    return fmt::format("{}: {}, and is not replaced; move it away, or name another audit record",
                       path, what);
  };
  try {
    const std::string text = read_file(path, kAuditRecordFile);
    if (holds_nothing(text) || plan.is_record(text)) return {};
    return refusal("exists, is not an audit record");
  } catch (const FileError& error) {
    return refusal(std::string(error.what()).substr(path.size() + 2));
  }
}

std::ptrdiff_t count_same(const std::vector<std::string>& inputs, const std::string& path) {
  const std::string identity = file_identity(path);
  return std::ranges::count_if(inputs, [&](const std::string& input) {
    return input == path || file_identity(input) == identity;
  });
}

// Why the audit record must not be written to its path; empty: it may be.
std::string record_conflict(const WritePlan& plan) {
  struct stat status {};
  if (::stat(plan.record_path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR) {
    return FileError(plan.record_path, "inspect", errno).what();
  }
  const auto conflict = [&](const char* what) {
    const std::string& advice = plan.record_advice;
    return fmt::format("{}: {}{}{}", plan.record_path, what, advice.empty() ? "" : "; ", advice);
  };
  if (count_same(plan.inputs, plan.record_path) > 0) {
    return conflict("is an input of this run and is not overwritten");
  }
  if (is_below_any(plan.input_folders, plan.record_path)) {
    return conflict("is in a folder of inputs, where nothing is written");
  }
  return {};
}

// Why the aggregate must not be written to its path; empty: it may be.
std::string aggregate_conflict(const WritePlan& plan) {
  const std::string& path = plan.aggregate_path;
  const std::ptrdiff_t itself = plan.aggregate_text ? 0 : 1;
  if (count_same(plan.inputs, path) > itself) {
    return path + ": is an input of this run";
  }
  if (is_below_any(plan.input_folders, path)) {
    return path + ": is in a folder of inputs, where nothing is written";
  }
  return {};
}

// Adds the reason for a path that is not a regular file: it is missing, or cannot be inspected.
void add_missing(const std::string& path, Reason missing, Reasons& reasons) {
  struct stat status {};
  const bool is_hidden = ::stat(path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR;
  if (is_hidden) {
    const FileError error(path, "inspect", errno);
    reasons.add(Reason::aggregate_result_unwritable, error.what(), obstacle_of(error));
  } else {
    reasons.add(missing, S_ISDIR(status.st_mode) ? path + " is a folder" : path);
  }
}

void check_record(const WritePlan& plan, WritingFaults& faults) {
  faults.record_fault = record_conflict(plan);
  if (!faults.record_fault.empty()) return;
  faults.record_fault = way_out(plan, plan.record_path);
  if (faults.record_fault.empty()) faults.record_fault = stray_link(plan, plan.record_path, true);
  if (faults.record_fault.empty()) faults.record_fault = stranger(plan);
  faults.leads_out |= !faults.record_fault.empty();
}

// Whether the aggregate may be written to its path, judged by names only.
bool check_aggregate(const WritePlan& plan, WritingFaults& faults) {
  const std::string& path = plan.aggregate_path;
  if (!plan.aggregate_text && !is_regular_file(path)) {
    add_missing(path, plan.missing_aggregate, faults.reasons);
    return false;
  }
  std::string fault = aggregate_conflict(plan);
  if (fault.empty()) {
    fault = way_out(plan, path);
    if (fault.empty()) fault = stray_link(plan, path, false);
    faults.leads_out |= !fault.empty();
  }
  if (fault.empty()) return true;
  faults.reasons.add(Reason::aggregate_result_unwritable, std::move(fault));
  return false;
}

// The aggregate's members, spelled as in its text.
std::map<std::string, std::string> spelled_members(std::string_view text) {
  std::map<std::string, std::string> members;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    members.try_emplace(
        std::string(member.key),
        std::string(text.substr(member.value_begin, member.value_end - member.value_begin)));
  });
  return members;
}

// What `edits` change, one line per change. Throws JsonError.
std::vector<std::string> changes_of(std::string_view before, std::string_view after,
                                    const std::vector<JsonEdit>& edits) {
  const auto old_members = spelled_members(before);
  const auto new_members = spelled_members(after);
  std::vector<std::string> changes;
  for (const JsonEdit& edit : edits) {
    const auto spelling = [&](const auto& members) {
      const auto member = members.find(edit.key);
      return member == members.end() ? std::string("absent") : member->second;
    };
    const std::string was = spelling(old_members);
    const std::string becomes = spelling(new_members);
    if (was != becomes) changes.push_back(fmt::format("{}: {} -> {}", edit.key, was, becomes));
  }
  return changes;
}

// The members of `before` that `edits` remove. Throws JsonError.
std::vector<std::string> removed_members(std::string_view before,
                                         const std::vector<JsonEdit>& edits) {
  std::vector<std::string> removed;
  MemorySource source(before);
  scan_json(source, [&](const JsonMember& member) {
    const auto edit = std::ranges::find(edits, member.key, &JsonEdit::key);
    if (edit == edits.end() || !edit->value.empty()) return;
    if (std::ranges::find(removed, member.key) == removed.end()) removed.emplace_back(member.key);
  });
  return removed;
}

// Throws what taking the lock would throw.
void require_writable(const std::string& path) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    throw FileError(path, "open for writing", errno);
  }
}

}  // namespace

class WriteTransaction::State {
 public:
  State(const WritePlan& plan, Sync sync, bool dry_run)
      : plan_(plan), sync_(sync), dry_run_(dry_run) {}

  bool lock(bool wait) {
    if (has_record()) check_record(plan_, outcome_);
    if (!is_elsewhere() && !has_record() && plan_.edits.empty()) return true;
    if (!check_aggregate(plan_, outcome_)) return true;
    if (is_elsewhere()) return true;  // only an aggregate in its own store is locked
    try {
      if (dry_run_) {
        require_writable(plan_.aggregate_path);
        return true;
      }
      lock_ = FileLock::take(plan_.aggregate_path, wait);
      return lock_.has_value();
    } catch (const std::exception& error) {
      note_aggregate_fault(error, outcome_);
      return true;
    }
  }

  void prepare() {
    if (is_locked(outcome_)) return;  // whoever has the lock may be writing both files
    if (plan_.only_together) return prepare_both();
    const bool is_alone = !has_record();
    const bool is_audited = has_record() && outcome_.record_fault.empty();
    if (plan_.edits.empty() && !is_elsewhere() && !(is_audited && may_remove_alone(plan_))) {
      if (is_audited) record_ = prepare_record(sync_);
      return;
    }
    aggregate_ =
        prepare_aggregate(is_alone || is_audited ? plan_.edits : plan_.edits_without_audit);
    if (!is_audited) return;
    record_ = prepare_record(sync_);
    // Without a claim, the prepared aggregate may do without an audit record.
    if (!record_ && plan_.valid) {
      aggregate_ = prepare_aggregate(plan_.edits_without_audit);
    }
  }

  void commit_first() {
    if (plan_.only_together && !record_) return;
    if (claims()) {
      is_sound_ = commit_record(record_);
    } else {
      is_sound_ = commit_aggregate(aggregate_);
    }
  }

  // If one of the two files could not be written, the other says so or is put back.
  void commit_second() {
    if (!record_ || (plan_.only_together && !is_sound_)) return;
    if (claims() && !is_sound_) {
      aggregate_ = prepare_aggregate(plan_.edits_without_audit);
      commit_aggregate(aggregate_);
      return;
    }
    if (claims()) is_sound_ = commit_aggregate(aggregate_);
    if (plan_.only_together && !is_sound_) return put_record_back();
    if (!is_sound_) {
      record_ = prepare_record(Sync::at_once);
    } else if (claims()) {
      return;
    }
    if (record_) commit_record(record_);
  }

  std::vector<std::string> folders() const {
    std::vector<std::string> folders = {folder_behind(plan_.aggregate_path)};
    if (has_record()) folders.push_back(folder_behind(plan_.record_path));
    return folders;
  }

  const WriteOutcome& outcome() const { return outcome_; }

  Preview preview() const {
    Preview preview{outcome_, false, {}};
    if (aggregate_) {
      const std::string& path = plan_.aggregate_path;
      for (const std::string& change : changes_) {
        preview.lines.push_back(fmt::format("{}: {}", path, change));
      }
      preview.changes = !is_same_aggregate_;
      if (is_same_aggregate_) preview.lines.push_back(path + ": unchanged");
    }
    if (record_) {
      const std::string& path = plan_.record_path;
      preview.changes |= !is_same_record_;
      preview.lines.push_back(is_same_record_
                                  ? path + ": unchanged"
                                  : fmt::format("{}: would be {}", path,
                                                is_regular_file(path) ? "replaced" : "written"));
    }
    return preview;
  }

 private:
  bool is_elsewhere() const { return plan_.aggregate_text.has_value(); }
  bool has_record() const { return !plan_.record_path.empty(); }
  bool claims() const { return plan_.valid && record_ && is_whole_; }

  void prepare_both() {
    if (!outcome_.reasons.empty() || !outcome_.record_fault.empty()) return;
    aggregate_ = prepare_aggregate(plan_.edits);
    if (outcome_.reasons.empty()) record_ = prepare_record(sync_);
    if (!record_) aggregate_.reset();
  }

  void give_up_record(const std::exception& error) {
    outcome_.record_fault = error_text(error);
    outcome_.record_obstacle = obstacle_of(error);
  }

  std::optional<Step> prepare_aggregate(const std::vector<JsonEdit>& edits) {
    const bool is_idle = edits.empty() && !is_elsewhere() && !may_remove_alone(plan_);
    if (!outcome_.reasons.empty() || is_idle) return std::nullopt;
    try {
      std::string before = current_text(plan_);
      text_ = patched(plan_, before, edits);
      outcome_.removed = removed_members(before, with_leftovers(plan_, before, edits));
      if (dry_run_) {
        changes_ = changes_of(before, text_, with_leftovers(plan_, before, edits));
        is_same_aggregate_ = is_elsewhere() ? holds(plan_.aggregate_path, text_) : text_ == before;
      }
      Step::Options options{is_elsewhere(), sync_, dry_run_, {}, plan_.root};
      if (!is_elsewhere()) options.before = std::move(before);
      return Step(written_file(plan_, plan_.aggregate_path), text_, std::move(options));
    } catch (const std::exception& error) {
      text_.clear();
      note_aggregate_fault(error, outcome_);
      return std::nullopt;
    }
  }

  // An aggregate that was mistyped must not cost the record of the one that was meant.
  void require_replaceable_record() const {
    const std::string& path = plan_.record_path;
    if (outcome_.reasons.empty() || !plan_.other_aggregate || !is_regular_file(path)) return;
    const std::string other = plan_.other_aggregate(read_file(path, kAuditRecordFile));
    if (other.empty()) return;
    throw Error(fmt::format(
        "{}: is the audit record of {}, and is not replaced; name that aggregate, or another audit record",
        path, other));
  }

  std::optional<Step> prepare_record(Sync sync) {
    try {
      is_whole_ = outcome_.reasons.empty();
      require_replaceable_record();
      if (plan_.only_together && plan_.valid && !dry_run_) {
        former_record_.emplace(plan_.record_path, plan_.root);
      }
      const std::string text = plan_.record(outcome_.reasons, text_);
      is_same_record_ = dry_run_ && holds(plan_.record_path, text);
      return Step(written_file(plan_, plan_.record_path), text,
                  {plan_.make_record_folder, sync, dry_run_, {}, plan_.root});
    } catch (const std::exception& error) {
      give_up_record(error);
      return std::nullopt;
    }
  }

  bool commit_aggregate(std::optional<Step>& step) {
    try {
      if (step) step->commit(outcome_);
      return true;
    } catch (const std::exception& error) {
      step.reset();  // frees a descriptor for the audit record
      note_aggregate_fault(error, outcome_);
      return false;
    }
  }

  void put_record_back() {
    try {
      former_record_->put_back();
    } catch (const std::exception& error) {
      give_up_record(error);
    }
  }

  bool commit_record(std::optional<Step>& step) {
    try {
      step->commit(outcome_);
      return true;
    } catch (const std::exception& error) {
      give_up_record(error);
      return false;
    }
  }

  const WritePlan& plan_;
  Sync sync_;
  bool dry_run_;
  std::optional<FileLock> lock_;
  std::string text_;                  // the aggregate's text as it will be
  std::vector<std::string> changes_;  // dry run: "power_valid: absent -> 1"
  bool is_same_aggregate_ = false;    // dry run: these bytes are there already
  bool is_same_record_ = false;       // dry run: these bytes are there already
  std::optional<Step> aggregate_;
  std::optional<Step> record_;
  std::optional<FormerFile> former_record_;
  bool is_whole_ = false;  // nothing was wrong with the aggregate when the record was written
  bool is_sound_ = true;   // everything due by now is in place
  WriteOutcome outcome_;
};

WriteTransaction::WriteTransaction(const WritePlan& plan, Sync sync, bool dry_run)
    : state_(std::make_unique<State>(plan, sync, dry_run)) {}
WriteTransaction::~WriteTransaction() = default;
WriteTransaction::WriteTransaction(WriteTransaction&&) noexcept = default;
WriteTransaction& WriteTransaction::operator=(WriteTransaction&&) noexcept = default;
bool WriteTransaction::lock(bool wait) { return state_->lock(wait); }
void WriteTransaction::prepare() { state_->prepare(); }
void WriteTransaction::commit_first() { state_->commit_first(); }
void WriteTransaction::commit_second() { state_->commit_second(); }
std::vector<std::string> WriteTransaction::folders() const { return state_->folders(); }
const WriteOutcome& WriteTransaction::outcome() const { return state_->outcome(); }
Preview WriteTransaction::preview() const { return state_->preview(); }

WriteOutcome carry_out(const WritePlan& plan) {
  constexpr int kMostTries = 10;
  for (int tries = 1;; ++tries) {
    WriteTransaction transaction(plan, Sync::at_once);
    transaction.lock(true);
    transaction.prepare();
    transaction.commit_first();
    transaction.commit_second();
    const WriteOutcome& outcome = transaction.outcome();
    const bool is_changed = outcome.reasons.contains(Reason::input_changed);
    if (!is_changed || tries == kMostTries) return outcome;
  }
}

Preview preview(const WritePlan& plan) {
  WriteTransaction transaction(plan, Sync::at_once, true);
  transaction.lock(true);
  transaction.prepare();
  return transaction.preview();
}

}  // namespace aggregate_power
