// Puts the aggregate result and its audit record in place together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/reason.h"
#include "base/files/file.h"
#include "base/text/json_patch.h"

namespace aggregate_power {

struct WritePlan {
  std::string aggregate_path;
  // The original aggregate, if it is elsewhere and only its patched copy goes to `aggregate_path`.
  std::optional<std::string> aggregate_text;
  std::string record_path;  // empty: there is none
  bool make_record_folder = false;
  Reason missing_aggregate = Reason::aggregate_result_missing;  // if there is no such file
  // If one of the two files cannot be written, the other is left alone or put back as it was,
  // instead of saying so.
  bool only_together = false;
  // Both files must be in this folder after following links; empty: they may be anywhere.
  std::string root = {};
  // Whether the edits claim a valid measurement. Such an aggregate is never on disk before its
  // audit record: the record is put in place first. In all other cases the aggregate goes first.
  bool valid = false;
  std::vector<JsonEdit> edits;
  // Whether the edits hold for the current aggregate; empty: they hold for any. If they do not
  // hold, the aggregate was changed.
  std::function<bool(std::string_view aggregate)> is_as_read = {};
  // What to write instead if the audit record cannot be written; empty: leave the aggregate alone.
  std::vector<JsonEdit> edits_without_audit;
  // What an earlier run may have left in the aggregate. If the aggregate has the member `sign`, the
  // members in `keys` that are not set are removed; with `are_alone` also where no member is set.
  struct Leftovers {
    std::string sign;
    std::vector<std::string> keys;
    bool are_alone = false;
    std::string sign_text = {};  // the value that `sign` must have; empty: any
  };
  std::vector<Leftovers> leftovers = {};
  // Builds the text of the audit record from what is wrong with the aggregate and from the
  // aggregate's text as it will be (empty if it is not available).
  std::function<std::string(const Reasons& aggregate_reasons, std::string_view aggregate)> record;
  // Files that were read; none is overwritten. An aggregate patched in place is listed once as
  // itself; if another input leads to it, it is not patched.
  std::vector<std::string> inputs;
  std::vector<std::string> input_folders = {};  // nothing is written below these either
  std::string record_advice = {};               // what to do if the audit record conflicts with an
                                                // input
  // Whether the text of a file is an audit record, which alone is replaced by one; empty: any file
  // is.
  std::function<bool(std::string_view text)> is_record = {};
  // The aggregate whose valid numbers the audit record with this text proves, if it is there and
  // the plan has another; empty: there is none. Such a record is not replaced by one that only says
  // that there is no aggregate to patch.
  std::function<std::string(std::string_view text)> other_aggregate = {};
};

// Why something was not written, or in a dry run would not be.
struct WritingFaults {
  // aggregate_result_missing, aggregate_result_unwritable, aggregate_result_locked (nothing was
  // written), input_changed (for the aggregate).
  Reasons reasons;
  std::string record_fault;  // why the audit record is not on disk; empty: it is
  Obstacle record_obstacle = Obstacle::none;
  // One of the two is a link out of the store or to another file, or the record's place is taken by
  // a file that is not a record.
  bool leads_out = false;
};

struct WriteOutcome : WritingFaults {
  std::vector<std::string> warnings;  // what may not survive a power cut
  bool changed = false;               // some file got different bytes
  // Keys of the aggregate that an earlier run had set and that are no longer in it.
  std::vector<std::string> removed;
};

// What a dry run found: one line per change, for people.
struct Preview : WritingFaults {
  bool changes = false;  // some file would get different bytes
  std::vector<std::string> lines;
};

// Both temporaries are written and synced before either is renamed; a file whose bytes would not
// change is not touched. The aggregate is locked meanwhile, so that concurrent patchers wait. On
// any failure the aggregate keeps its old bytes, or contains no claim that is not audited.
//
// What others write to the aggregate without that lock is kept, up to the instant of the
// replacement: the aggregate is read again and patched in its new state. After ten tries the reason
// is input_changed. If an audit record was put in place for a claim that could not be written, it
// is replaced by one that says so, or put back as it was (only_together).
WriteOutcome carry_out(const WritePlan& plan);

// The same in steps, so that many plans can share their syncs. Between two steps the caller syncs
// the file systems of folders(). The object may be dropped at any time; steps not begun are not
// done. An aggregate that was changed is not read again: the reason is input_changed.
class WriteTransaction {
 public:
  // `plan` must outlive this object.
  WriteTransaction(const WritePlan& plan, Sync sync, bool dry_run = false);
  ~WriteTransaction();
  WriteTransaction(WriteTransaction&&) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) noexcept;

  // Takes the lock. Returns false if someone else has it. With `wait` it waits instead, and throws
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

// The same transaction, stopped before it writes anything.
Preview preview(const WritePlan& plan);

}  // namespace aggregate_power
