// The aggregate result and its audit record, put in their places together.
#include "aggregate_power/jobs/publish.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "aggregate_power/base/error.h"
#include "aggregate_power/base/file.h"

namespace aggregate_power {
namespace {

bool is_regular_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat status_a {};
  struct stat status_b {};
  return ::stat(a.c_str(), &status_a) == 0 && ::stat(b.c_str(), &status_b) == 0 &&
         status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

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

// One file on its way into its place. Does nothing when the bytes are there already.
class Step {
 public:
  Step(const std::string& path, std::string_view bytes, bool make_folders) {
    if (holds(path, bytes)) return;
    remove_stale_temporaries(path);
    file_ = std::make_unique<PendingFile>(path, bytes, make_folders);
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<PendingFile> file_;
};

std::string patched(const std::string& path, const std::vector<JsonEdit>& edits) {
  try {
    return patch_json(read_file(path), edits);
  } catch (const JsonError& error) {
    throw Error(fmt::format("{}:{}", path, error.what()));
  }
}

std::string sidecar_conflict(const Publication& publication) {
  for (const std::string& input : publication.inputs) {
    if (is_same_file(input, publication.sidecar_path)) {
      return fmt::format(
          "{}: is an input of this run and is not overwritten; give another --validation-result",
          publication.sidecar_path);
    }
  }
  return {};
}

class Publisher {
 public:
  explicit Publisher(const Publication& publication) : publication_(publication) {}

  Published run() {
    const bool with_sidecar = !publication_.sidecar_path.empty();
    if (with_sidecar) result_.sidecar_fault = sidecar_conflict(publication_);
    lock_aggregate();
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
      result_.reasons.add(Reason::aggregate_result_missing, publication_.aggregate_path);
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
      return Step(publication_.sidecar_path, publication_.sidecar(result_.reasons), true);
    } catch (const std::exception& error) {
      result_.sidecar_fault = error.what();
      return std::nullopt;
    }
  }

  bool commit_aggregate(std::optional<Step>& step) {
    try {
      if (step) step->commit();
      return true;
    } catch (const std::exception& error) {
      give_up_aggregate(error);
      return false;
    }
  }

  bool commit_sidecar(std::optional<Step>& step) {
    try {
      step->commit();
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

}  // namespace

Published publish(const Publication& publication) { return Publisher(publication).run(); }

Preview preview(const Publication& publication) {
  Preview result;
  const std::string& path = publication.aggregate_path;
  if (!is_regular_file(path)) {
    result.reasons.add(Reason::aggregate_result_missing, path);
  } else {
    try {
      const std::string text = read_file(path);
      const std::string changed = patched(path, publication.edits);
      const auto before = spelled_members(text);
      const auto after = spelled_members(changed);
      for (const JsonEdit& edit : publication.edits) {
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
  if (!publication.sidecar_path.empty()) {
    const std::string& sidecar = publication.sidecar_path;
    const std::string conflict = sidecar_conflict(publication);
    result.lines.push_back(!conflict.empty() ? conflict
                           : holds(sidecar, publication.sidecar(result.reasons))
                               ? sidecar + ": unchanged"
                               : fmt::format("{}: would be {}", sidecar,
                                             is_regular_file(sidecar) ? "replaced" : "written"));
  }
  return result;
}

}  // namespace aggregate_power
