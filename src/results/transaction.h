// The aggregate result and its audit record, put in their places together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/files/file.h"
#include "base/text/json.h"

namespace aggregate_power {

struct WritePlan {
  std::string aggregate_path;
  // The aggregate as it was, when it is to be written to `aggregate_path` patched but lies
  // elsewhere.
  std::optional<std::string> aggregate_text;
  std::string record_path;  // empty: there is none
  bool make_record_folder = false;
  // When one of the two cannot be written, the other is left alone, or put back as it was, instead
  // of being told.
  bool only_together = false;
  // Both must lie in this folder, links followed; empty: they may be anywhere.
  std::string root = {};
  // Whether the edits claim a valid measurement. Such an aggregate is never on disk before its
  // audit record: the record is put in place first. Any other goes the other way round.
  bool valid = false;
  std::vector<JsonEdit> edits;
  // Whether the edits hold for the aggregate as it is now; nothing: for any. Where they do not, the
  // aggregate was changed.
  std::function<bool(std::string_view aggregate)> is_as_read = {};
  // What to write instead when the audit record cannot be written; nothing: leave the aggregate.
  std::vector<JsonEdit> edits_without_audit;
  // What an earlier run may have left in the aggregate. Where it has the member `sign`, those of
  // `keys` that are not set are removed.
  struct Leftovers {
    std::string sign;
    std::vector<std::string> keys;
  };
  std::vector<Leftovers> leftovers = {};
  // The text of the audit record, given what is wrong with the aggregate, and the aggregate's text
  // as it will be (empty where it cannot be had).
  std::function<std::string(const Reasons& aggregate_reasons, std::string_view aggregate)> record;
  // Files that were read: nothing overwrites them. The aggregate is among them once as itself,
  // where it is patched in place; when another of them leads to it, it is not patched.
  std::vector<std::string> inputs;
  std::vector<std::string> input_folders = {};  // nor is anything written below these
  std::string record_advice = {};               // what to do when the audit record would be there
};

// Why not all was written, or would not be.
struct WritingFaults {
  // aggregate_result_missing, aggregate_result_unwritable, input_changed (of the aggregate).
  Reasons reasons;
  std::string record_fault;  // why the audit record is not on disk; empty: it is
  Obstacle record_obstacle = Obstacle::none;
  bool leads_out = false;  // one of the two is a link out of the store, or to another file
};

struct WriteOutcome : WritingFaults {
  std::vector<std::string> warnings;  // what may not outlast a power cut
  bool changed = false;               // some file got other bytes
};

// What a dry run found: one line per change, for people.
struct Preview : WritingFaults {
  bool changes = false;  // some file would get other bytes
  std::vector<std::string> lines;
};

// Both temporaries are written and synced before either is renamed; a file whose bytes would not
// change is not touched. The aggregate is locked meanwhile, so that concurrent patchers wait. On
// any failure the aggregate has its old bytes, or says nothing that is not audited.
//
// Whatever others write to the aggregate without that lock, up to the instant in which it is
// replaced, stays: then it is read again and patched as it is now. After ten tries input_changed is
// the reason. An audit record that was put in place for a claim that did not come is replaced by
// one that says so, or put back as it was (only_together).
WriteOutcome carry_out(const WritePlan& plan);

// The same in steps, so that many plans can share their syncs. Between two steps the caller
// syncs the file systems of folders(). To be dropped at any time: what was not begun is not done.
// An aggregate that was changed is not read again: input_changed.
class WriteTransaction {
 public:
  // `plan` must live on.
  WriteTransaction(const WritePlan& plan, Sync sync, bool dry_run = false);
  ~WriteTransaction();
  WriteTransaction(WriteTransaction&&) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) noexcept;

  // Takes the lock. False: someone else has it, and with `wait` that cannot be; then it throws
  // Interrupted after a signal.
  bool lock(bool wait);
  // Writes the temporaries.
  void prepare();
  // Puts the first of the two files in place, then the second.
  void commit_first();
  void commit_second();

  std::vector<std::string> folders() const;
  const WriteOutcome& outcome() const;
  Preview preview() const;  // of a dry run, after prepare()

 private:
  class State;
  std::unique_ptr<State> state_;
};

// A dry run: the same transaction, which stops before it writes anything.
Preview preview(const WritePlan& plan);

}  // namespace aggregate_power
