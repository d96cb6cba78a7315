// The aggregate result and its audit record, put in their places together.
#include "aggregate_power/jobs/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/file.h"

namespace aggregate_power {
namespace {

// `path` holds just these bytes. A file that cannot be read does not.
bool holds(const std::string& path, std::string_view bytes) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) != bytes.size()) {
    return false;
  }
  try {
    return read_file(path) == bytes;
  } catch (const FileError&) {
    return false;
  }
}

// One file on its way into its place. Bytes that are there already are left alone, but synced: the
// run that wrote them may have been killed before it could.
class Step {
 public:
  Step(std::string path, std::string_view bytes, bool make_folders) : path_(std::move(path)) {
    remove_stale_temporaries(path_);
    if (!holds(path_, bytes)) file_ = std::make_unique<PendingFile>(path_, bytes, make_folders);
  }

  // Throws when the bytes are not in place. What is in place but may not outlast a power cut is a
  // warning.
  void commit(std::vector<std::string>& warnings) {
    try {
      if (file_) {
        file_->commit();
      } else {
        sync_in_place(path_);
      }
    } catch (const FileError& error) {
      if (file_ && !file_->in_place()) throw;
      warnings.push_back(fmt::format("{}; it may not outlast a power cut", error.what()));
    }
  }

 private:
  std::string path_;
  std::unique_ptr<PendingFile> file_;
};

std::string patched(const std::string& path, const std::vector<JsonEdit>& edits) {
  try {
    return patch_json(read_file(path), edits);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", path, error.what()));
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  struct stat status_a {};
  struct stat status_b {};
  return ::stat(a.c_str(), &status_a) == 0 && ::stat(b.c_str(), &status_b) == 0 &&
         status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

// Why the audit record must not be written where it shall be; empty: it may.
std::string sidecar_conflict(const Publication& publication) {
  struct stat status {};
  if (::stat(publication.sidecar_path.c_str(), &status) != 0 && errno != ENOENT &&
      errno != ENOTDIR) {
    return FileError(publication.sidecar_path, "inspect", errno).what();
  }
  for (const std::string& input : publication.inputs) {
    if (is_same_file(input, publication.sidecar_path)) {
      return fmt::format(
          "{}: is an input of this run and is not overwritten; give another --validation-result",
          publication.sidecar_path);
    }
  }
  return {};
}

// A path that does not lead to a regular file: there is none, or it cannot be told.
void add_missing(const std::string& path, Reasons& reasons) {
  struct stat status {};
  const bool is_hidden = ::stat(path.c_str(), &status) != 0 && errno != ENOENT && errno != ENOTDIR;
  if (is_hidden) {
    reasons.add(Reason::aggregate_result_unwritable, FileError(path, "inspect", errno).what());
  } else {
    reasons.add(Reason::aggregate_result_missing,
                S_ISDIR(status.st_mode) ? path + " is a folder" : path);
  }
}

class Publisher {
 public:
  explicit Publisher(const Publication& publication) : publication_(publication) {}

  Published run() {
    const bool with_sidecar = !publication_.sidecar_path.empty();
    if (with_sidecar) result_.sidecar_fault = sidecar_conflict(publication_);
    if (with_sidecar || !publication_.edits.empty()) lock_aggregate();
    if (!with_sidecar) {
      patch_alone(publication_.edits);
    } else if (!result_.sidecar_fault.empty() || !publish_both()) {
      // One of the two could not be written; the other is told.
      if (result_.sidecar_fault.empty()) {
        write_sidecar();
      } else {
        patch_alone(publication_.edits_without_audit);
      }
    }
    return std::move(result_);
  }

 private:
  void lock_aggregate() {
    if (!is_regular_file(publication_.aggregate_path)) {
      add_missing(publication_.aggregate_path, result_.reasons);
      return;
    }
    try {
      lock_.emplace(publication_.aggregate_path);
    } catch (const std::exception& error) {
      give_up_aggregate(error);
    }
  }

  void give_up_aggregate(const std::exception& error) {
    result_.reasons.add(Reason::aggregate_result_unwritable, error.what());
  }

  std::optional<Step> prepare_aggregate(const std::vector<JsonEdit>& edits) {
    if (!result_.reasons.empty() || edits.empty()) return std::nullopt;
    try {
      return Step(publication_.aggregate_path, patched(publication_.aggregate_path, edits), false);
    } catch (const std::exception& error) {
      give_up_aggregate(error);
      return std::nullopt;
    }
  }

  std::optional<Step> prepare_sidecar() {
    try {
      return Step(publication_.sidecar_path, publication_.sidecar(result_.reasons),
                  publication_.make_sidecar_folder);
    } catch (const std::exception& error) {
      result_.sidecar_fault = error.what();
      return std::nullopt;
    }
  }

  bool commit_aggregate(std::optional<Step>& step) {
    try {
      if (step) step->commit(result_.warnings);
      return true;
    } catch (const std::exception& error) {
      give_up_aggregate(error);
      return false;
    }
  }

  bool commit_sidecar(std::optional<Step>& step) {
    try {
      step->commit(result_.warnings);
      return true;
    } catch (const std::exception& error) {
      result_.sidecar_fault = error.what();
      return false;
    }
  }

  // False when something could not be written that this order of steps had counted on.
  bool publish_both() {
    std::optional<Step> aggregate = prepare_aggregate(publication_.edits);
    std::optional<Step> sidecar = prepare_sidecar();
    if (!sidecar) {
      // What an unaudited aggregate may say was not prepared; without a claim it is as good.
      return !publication_.valid && commit_aggregate(aggregate);
    }
    const bool claims = publication_.valid && result_.reasons.empty();
    if (claims) return commit_sidecar(sidecar) && commit_aggregate(aggregate);
    return commit_aggregate(aggregate) && (commit_sidecar(sidecar) || true);
  }

  void write_sidecar() {
    std::optional<Step> sidecar = prepare_sidecar();
    if (sidecar) commit_sidecar(sidecar);
  }

  void patch_alone(const std::vector<JsonEdit>& edits) {
    std::optional<Step> aggregate = prepare_aggregate(edits);
    commit_aggregate(aggregate);
  }

  const Publication& publication_;
  std::optional<FileLock> lock_;
  Published result_;
};

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

// Whether the audit record could be written; empty: it could.
std::string sidecar_obstacle(const Publication& publication) {
  std::string conflict = sidecar_conflict(publication);
  if (!conflict.empty()) return conflict;
  try {
    require_replaceable(publication.sidecar_path, publication.make_sidecar_folder);
  } catch (const FileError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

Published publish(const Publication& publication) { return Publisher(publication).run(); }

Preview preview(const Publication& publication) {
  Preview result;
  const bool has_sidecar = !publication.sidecar_path.empty();
  if (has_sidecar) result.sidecar_fault = sidecar_obstacle(publication);
  const std::vector<JsonEdit>& edits =
      result.sidecar_fault.empty() ? publication.edits : publication.edits_without_audit;
  const std::string& path = publication.aggregate_path;
  if (!is_regular_file(path)) {
    add_missing(path, result.reasons);
  } else if (!edits.empty()) {
    try {
      if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
        throw FileError(path, "open for writing", errno);
      }
      require_replaceable(path);
      const std::string text = read_file(path);
      const std::string changed = patched(path, edits);
      const auto before = spelled_members(text);
      const auto after = spelled_members(changed);
      for (const JsonEdit& edit : edits) {
        const auto spelling = [&](const auto& members) {
          const auto member = members.find(edit.key);
          return member == members.end() ? std::string("absent") : member->second;
        };
        if (spelling(before) != spelling(after)) {
          result.lines.push_back(
              fmt::format("{}: {}: {} -> {}", path, edit.key, spelling(before), spelling(after)));
        }
      }
      if (changed == text) result.lines.push_back(path + ": unchanged");
    } catch (const std::exception& error) {
      result.reasons.add(Reason::aggregate_result_unwritable, error.what());
    }
  }
  if (has_sidecar && result.sidecar_fault.empty()) {
    const std::string& sidecar = publication.sidecar_path;
    result.lines.push_back(holds(sidecar, publication.sidecar(result.reasons))
                               ? sidecar + ": unchanged"
                               : fmt::format("{}: would be {}", sidecar,
                                             is_regular_file(sidecar) ? "replaced" : "written"));
  }
  return result;
}

}  // namespace aggregate_power
