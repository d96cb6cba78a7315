// The aggregate result and its audit record, put in their places together.
#include "results/transaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/files/byte_source.h"
#include "base/files/file.h"

namespace aggregate_power {
namespace {

// One file on its way into its place. Bytes that are there already are left alone, but synced: the
// run that wrote them may have been killed before it could.
class Step {
 public:
  struct Options {
    bool make_folders = false;
    Sync sync = Sync::at_once;
    // What it is made of, and must still be in its place; nothing: that does not matter.
    std::optional<std::string> before = {};
  };

  Step(std::string path, std::string_view bytes, Options options)
      : path_(std::move(path)), options_(std::move(options)) {
    remove_stale_temporaries(path_);
    if (holds(path_, bytes)) return;
    file_ = std::make_unique<PendingFile>(path_, bytes, options_.make_folders, options_.sync);
  }

  // Throws when the bytes are not in place. What is in place but may not outlast a power cut is a
  // warning.
  void commit(Published& published) {
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
      published.warnings.push_back(fmt::format("{}; it may not outlast a power cut", error.what()));
    }
    if (file_) published.changed = true;
  }

 private:
  std::string path_;
  Options options_;
  std::unique_ptr<PendingFile> file_;
};

// What is to be patched. Throws FileError; FileChanged when the edits do not hold for it.
std::string current_text(const Publication& publication) {
  std::string text = publication.aggregate_text ? *publication.aggregate_text
                                                : read_file(publication.aggregate_path);
  if (publication.is_as_read && !publication.is_as_read(text)) {
    throw FileChanged(publication.aggregate_path);
  }
  return text;
}

// `edits`, and the removal of leftovers. Throws JsonError.
std::vector<JsonEdit> with_leftovers(const Publication& publication, std::string_view text,
                                     std::vector<JsonEdit> edits) {
  if (publication.leftovers.empty() || edits.empty()) return edits;
  std::vector<std::string> signs;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    for (const Publication::Leftovers& some : publication.leftovers) {
      if (member.key == some.sign) signs.push_back(some.sign);
    }
  });
  for (const Publication::Leftovers& some : publication.leftovers) {
    if (std::ranges::find(signs, some.sign) == signs.end()) continue;
    for (const std::string& key : some.keys) {
      if (std::ranges::find(edits, key, &JsonEdit::key) == edits.end()) edits.push_back({key, ""});
    }
  }
  return edits;
}

std::string patched(const Publication& publication, std::string_view text,
                    const std::vector<JsonEdit>& edits) {
  try {
    return patch_json(text, with_leftovers(publication, text, edits));
  } catch (const JsonError& error) {
    // Someone may have been writing to it while it was read.
    const std::string& path = publication.aggregate_path;
    if (!publication.aggregate_text && !holds(path, text)) throw FileChanged(path);
    throw Error(fmt::format("{}:{}", path, error.what()));
  }
}

Obstacle obstacle_of(const std::exception& error) {
  const auto* const system = dynamic_cast<const FileError*>(&error);
  return system == nullptr ? Obstacle::none : aggregate_power::obstacle_of(system->code().value());
}

bool is_change(const std::exception& error) {
  return dynamic_cast<const FileChanged*>(&error) != nullptr;
}

void note_aggregate_fault(const std::exception& error, WritingFaults& faults) {
  faults.reasons.add(is_change(error) ? Reason::input_changed : Reason::aggregate_result_unwritable,
                     error.what(), obstacle_of(error));
}

// What is not there yet counts too: it may be made.
bool is_below_any(const std::vector<std::string>& folders, const std::string& path) {
  if (folders.empty()) return false;
  const std::string target = resolve_what_is_there(path);
  return std::ranges::any_of(folders, [&](const std::string& folder) {
    return is_in(target, resolve_what_is_there(folder));
  });
}

// That `path` leads out of the folder in which all must lie; empty: it does not.
std::string way_out(const Publication& publication, const std::string& path) {
  if (publication.root.empty()) return {};
  const std::string target = resolve_what_is_there(path);
  if (is_in(target, resolve_what_is_there(publication.root))) return {};
  return fmt::format("{}: leads out of {}, to {}, and is not written", path, publication.root,
                     target);
}

// That `path` is a link to a file that is not what it is the name of: another run's aggregate, or
// no audit record; empty: it is not.
std::string stray_link(const Publication& publication, const std::string& path, bool is_record) {
  std::error_code ignored;
  if (publication.root.empty() || !std::filesystem::is_symlink(path, ignored)) return {};
  const std::string target = resolve_what_is_there(path);
  const auto name_of = [](std::string_view text) { return text.substr(text.rfind('/') + 1); };
  if (name_of(target) == name_of(path) || !is_regular_file(target)) return {};
  if (is_record) {
    const std::string text = read_file(target);
    const auto has = [&](const char* key) { return text.find(key) != std::string::npos; };
    if (has("\"power_valid\"") && has("\"computed_from\"")) return {};
  }
  return fmt::format("{}: leads to {}, which is another file, and is not written", path, target);
}

std::ptrdiff_t count_same(const std::vector<std::string>& inputs, const std::string& path) {
  const std::string identity = file_identity(path);
  return std::ranges::count_if(inputs, [&](const std::string& input) {
    return input == path || file_identity(input) == identity;
  });
}

// Why the audit record must not be written where it shall be; empty: it may.
std::string sidecar_conflict(const Publication& publication) {
  struct stat status {};
  if (::stat(publication.sidecar_path.c_str(), &status) != 0 && errno != ENOENT &&
      errno != ENOTDIR) {
    return FileError(publication.sidecar_path, "inspect", errno).what();
  }
  const auto conflict = [&](const char* what) {
    const std::string& advice = publication.sidecar_advice;
    return fmt::format("{}: {}{}{}", publication.sidecar_path, what, advice.empty() ? "" : "; ",
                       advice);
  };
  if (count_same(publication.inputs, publication.sidecar_path) > 0) {
    return conflict("is an input of this run and is not overwritten");
  }
  if (is_below_any(publication.input_folders, publication.sidecar_path)) {
    return conflict("is in a folder of inputs, where nothing is written");
  }
  return {};
}

// Why the aggregate must not be written where it shall be; empty: it may.
std::string aggregate_conflict(const Publication& publication) {
  const std::string& path = publication.aggregate_path;
  const std::ptrdiff_t itself = publication.aggregate_text ? 0 : 1;
  if (count_same(publication.inputs, path) > itself) {
    return path + ": is an input of this run";
  }
  if (is_below_any(publication.input_folders, path)) {
    return path + ": is in a folder of inputs, where nothing is written";
  }
  return {};
}

// A path that does not lead to a regular file: there is none, or it cannot be told.
void add_missing(const std::string& path, Reasons& reasons) {
  struct stat status {};
  const bool is_hidden = ::stat(path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR;
  if (is_hidden) {
    const FileError error(path, "inspect", errno);
    reasons.add(Reason::aggregate_result_unwritable, error.what(), obstacle_of(error));
  } else {
    reasons.add(Reason::aggregate_result_missing,
                S_ISDIR(status.st_mode) ? path + " is a folder" : path);
  }
}

void check_sidecar(const Publication& publication, WritingFaults& faults) {
  faults.sidecar_fault = sidecar_conflict(publication);
  if (!faults.sidecar_fault.empty()) return;
  faults.sidecar_fault = way_out(publication, publication.sidecar_path);
  if (faults.sidecar_fault.empty()) {
    faults.sidecar_fault = stray_link(publication, publication.sidecar_path, true);
  }
  faults.leads_out |= !faults.sidecar_fault.empty();
}

// Whether the aggregate may be written where it shall be, as far as names tell.
bool check_aggregate(const Publication& publication, WritingFaults& faults) {
  const std::string& path = publication.aggregate_path;
  if (!publication.aggregate_text && !is_regular_file(path)) {
    add_missing(path, faults.reasons);
    return false;
  }
  std::string fault = aggregate_conflict(publication);
  if (fault.empty()) {
    fault = way_out(publication, path);
    if (fault.empty()) fault = stray_link(publication, path, false);
    faults.leads_out |= !fault.empty();
  }
  if (fault.empty()) return true;
  faults.reasons.add(Reason::aggregate_result_unwritable, std::move(fault));
  return false;
}

}  // namespace

class Publishing::State {
 public:
  State(const Publication& publication, Sync sync) : publication_(publication), sync_(sync) {}

  bool lock(bool wait) {
    if (has_sidecar()) check_sidecar(publication_, published_);
    if (!is_elsewhere() && !has_sidecar() && publication_.edits.empty()) return true;
    if (!check_aggregate(publication_, published_)) return true;
    if (is_elsewhere()) return true;  // its lock is that of the store's own
    try {
      lock_ = FileLock::take(publication_.aggregate_path, wait);
      return lock_.has_value();
    } catch (const std::exception& error) {
      note_aggregate_fault(error, published_);
      return true;
    }
  }

  void prepare() {
    if (publication_.only_together) return prepare_both();
    const bool is_alone = !has_sidecar();
    const bool is_audited = has_sidecar() && published_.sidecar_fault.empty();
    aggregate_ = prepare_aggregate(is_alone || is_audited ? publication_.edits
                                                          : publication_.edits_without_audit);
    if (!is_audited) return;
    sidecar_ = prepare_sidecar(sync_);
    // Without a claim what was prepared is as good as what an unaudited aggregate may say.
    if (!sidecar_ && publication_.valid) {
      aggregate_ = prepare_aggregate(publication_.edits_without_audit);
    }
  }

  void commit_first() {
    if (publication_.only_together && !sidecar_) return;
    if (claims()) {
      is_sound_ = commit_sidecar(sidecar_);
    } else {
      is_sound_ = commit_aggregate(aggregate_);
    }
  }

  // When one of the two could not be written, the other says so, or is put back.
  void commit_second() {
    if (!sidecar_ || (publication_.only_together && !is_sound_)) return;
    if (claims() && !is_sound_) {
      aggregate_ = prepare_aggregate(publication_.edits_without_audit);
      commit_aggregate(aggregate_);
      return;
    }
    if (claims()) is_sound_ = commit_aggregate(aggregate_);
    if (publication_.only_together && !is_sound_) return put_sidecar_back();
    if (!is_sound_) {
      sidecar_ = prepare_sidecar(Sync::at_once);
    } else if (claims()) {
      return;
    }
    if (sidecar_) commit_sidecar(sidecar_);
  }

  std::vector<std::string> folders() const {
    std::vector<std::string> folders = {folder_behind(publication_.aggregate_path)};
    if (has_sidecar()) folders.push_back(folder_behind(publication_.sidecar_path));
    return folders;
  }

  const Published& published() const { return published_; }

 private:
  bool is_elsewhere() const { return publication_.aggregate_text.has_value(); }
  bool has_sidecar() const { return !publication_.sidecar_path.empty(); }
  bool claims() const { return publication_.valid && sidecar_ && is_whole_; }

  void prepare_both() {
    if (!published_.reasons.empty() || !published_.sidecar_fault.empty()) return;
    aggregate_ = prepare_aggregate(publication_.edits);
    if (published_.reasons.empty()) sidecar_ = prepare_sidecar(sync_);
    if (!sidecar_) aggregate_.reset();
  }

  void give_up_sidecar(const std::exception& error) {
    published_.sidecar_fault = error.what();
    published_.sidecar_obstacle = obstacle_of(error);
  }

  std::optional<Step> prepare_aggregate(const std::vector<JsonEdit>& edits) {
    if (!published_.reasons.empty() || (edits.empty() && !is_elsewhere())) return std::nullopt;
    try {
      std::string before = current_text(publication_);
      text_ = patched(publication_, before, edits);
      Step::Options options{is_elsewhere(), sync_};
      if (!is_elsewhere()) options.before = std::move(before);
      return Step(publication_.aggregate_path, text_, std::move(options));
    } catch (const std::exception& error) {
      text_.clear();
      note_aggregate_fault(error, published_);
      return std::nullopt;
    }
  }

  std::optional<Step> prepare_sidecar(Sync sync) {
    try {
      is_whole_ = published_.reasons.empty();
      if (publication_.only_together && publication_.valid) {
        former_sidecar_.emplace(publication_.sidecar_path);
      }
      return Step(publication_.sidecar_path, publication_.sidecar(published_.reasons, text_),
                  {publication_.make_sidecar_folder, sync});
    } catch (const std::exception& error) {
      give_up_sidecar(error);
      return std::nullopt;
    }
  }

  bool commit_aggregate(std::optional<Step>& step) {
    try {
      if (step) step->commit(published_);
      return true;
    } catch (const std::exception& error) {
      step.reset();  // frees a descriptor for the audit record
      note_aggregate_fault(error, published_);
      return false;
    }
  }

  void put_sidecar_back() {
    try {
      former_sidecar_->put_back();
    } catch (const std::exception& error) {
      give_up_sidecar(error);
    }
  }

  bool commit_sidecar(std::optional<Step>& step) {
    try {
      step->commit(published_);
      return true;
    } catch (const std::exception& error) {
      give_up_sidecar(error);
      return false;
    }
  }

  const Publication& publication_;
  Sync sync_;
  std::optional<FileLock> lock_;
  std::string text_;  // the aggregate's, as it will be
  std::optional<Step> aggregate_;
  std::optional<Step> sidecar_;
  std::optional<FormerFile> former_sidecar_;
  bool is_whole_ = false;  // nothing was wrong with the aggregate when the record was written
  bool is_sound_ = true;   // all that was to be in place by now is
  Published published_;
};

namespace {

// The aggregate's members as they are spelled.
std::map<std::string, std::string> spelled_members(const std::string& text) {
  std::map<std::string, std::string> members;
  MemorySource source(text);
  scan_json(source, [&](const JsonMember& member) {
    members.try_emplace(std::string(member.key),
                        text.substr(member.value_begin, member.value_end - member.value_begin));
  });
  return members;
}

// Whether the audit record could be written.
void foresee_sidecar_fault(const Publication& publication, Preview& result) {
  check_sidecar(publication, result);
  if (!result.sidecar_fault.empty()) return;
  try {
    require_replaceable(publication.sidecar_path, publication.make_sidecar_folder);
  } catch (const FileError& error) {
    result.sidecar_fault = error.what();
    result.sidecar_obstacle = obstacle_of(error);
  }
}

void preview_sidecar(const Publication& publication, std::string_view aggregate, Preview& result) {
  const std::string& path = publication.sidecar_path;
  const bool is_same = holds(path, publication.sidecar(result.reasons, aggregate));
  result.changes |= !is_same;
  result.lines.push_back(is_same ? path + ": unchanged"
                                 : fmt::format("{}: would be {}", path,
                                               is_regular_file(path) ? "replaced" : "written"));
}

}  // namespace

Publishing::Publishing(const Publication& publication, Sync sync)
    : state_(std::make_unique<State>(publication, sync)) {}
Publishing::~Publishing() = default;
Publishing::Publishing(Publishing&&) noexcept = default;
Publishing& Publishing::operator=(Publishing&&) noexcept = default;
bool Publishing::lock(bool wait) { return state_->lock(wait); }
void Publishing::prepare() { state_->prepare(); }
void Publishing::commit_first() { state_->commit_first(); }
void Publishing::commit_second() { state_->commit_second(); }
std::vector<std::string> Publishing::folders() const { return state_->folders(); }
const Published& Publishing::published() const { return state_->published(); }

Published publish(const Publication& publication) {
  constexpr int kMostTries = 10;
  for (int tries = 1;; ++tries) {
    Publishing publishing(publication, Sync::at_once);
    publishing.lock(true);
    publishing.prepare();
    publishing.commit_first();
    publishing.commit_second();
    const Published& published = publishing.published();
    const bool is_changed = published.reasons.contains(Reason::input_changed);
    if (!is_changed || tries == kMostTries) return published;
  }
}

Preview preview(const Publication& publication) {
  Preview result;
  const bool has_sidecar = !publication.sidecar_path.empty();
  if (has_sidecar) foresee_sidecar_fault(publication, result);
  const std::vector<JsonEdit>& edits =
      result.sidecar_fault.empty() ? publication.edits : publication.edits_without_audit;
  const std::string& path = publication.aggregate_path;
  const bool is_elsewhere = publication.aggregate_text.has_value();
  std::string changed;
  if (check_aggregate(publication, result) && (!edits.empty() || is_elsewhere)) {
    try {
      if (!is_elsewhere && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
        throw FileError(path, "open for writing", errno);
      }
      require_replaceable(path, is_elsewhere);
      const std::string text = current_text(publication);
      changed = patched(publication, text, edits);
      const auto before = spelled_members(text);
      const auto after = spelled_members(changed);
      for (const JsonEdit& edit : with_leftovers(publication, text, edits)) {
        const auto spelling = [&](const auto& members) {
          const auto member = members.find(edit.key);
          return member == members.end() ? std::string("absent") : member->second;
        };
        if (spelling(before) != spelling(after)) {
          result.lines.push_back(
              fmt::format("{}: {}: {} -> {}", path, edit.key, spelling(before), spelling(after)));
        }
      }
      result.changes = is_elsewhere ? !holds(path, changed) : changed != text;
      if (!result.changes) result.lines.push_back(path + ": unchanged");
    } catch (const std::exception& error) {
      note_aggregate_fault(error, result);
    }
  }
  if (has_sidecar && result.sidecar_fault.empty()) {
    try {
      preview_sidecar(publication, changed, result);
    } catch (const std::exception& error) {
      result.sidecar_fault = error.what();
    }
  }
  return result;
}

}  // namespace aggregate_power
