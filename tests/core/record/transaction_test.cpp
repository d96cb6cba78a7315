// The aggregate and its audit record, put in their places together: contract.md B.6, part 0 rows 9
// and 10.
#include "core/record/transaction.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace transaction_test {

namespace fs = std::filesystem;
using test::bytes_of;
using test::Folder;
using test::put;
using Names = std::vector<std::string>;

const char* const kOld = "{\"hw\": \"b200\", \"power_valid\": 1, \"avg_power_w\": 1.0}";
const char* const kValid = "{\"hw\": \"b200\", \"power_valid\": 1, \"avg_power_w\": 500.5}";
const char* const kInvalid = "{\"hw\": \"b200\", \"power_valid\": 0}";

std::string audit(const Reasons& reasons, std::string_view = {}) {
  return fmt::format("{{\"aggregate\": \"{}\"}}", reasons.text());
}
const char* const kSound = "{\"aggregate\": \"\"}";

WritePlan plan(const Folder& folder, bool valid) {
  WritePlan what;
  what.aggregate_path = folder / "agg.json";
  what.record_path = folder / "audit.json";
  what.valid = valid;
  const std::vector<JsonEdit> unaudited = {{"power_valid", "0"}, {"avg_power_w", ""}};
  what.edits =
      valid ? std::vector<JsonEdit>{{"power_valid", "1"}, {"avg_power_w", "500.5"}} : unaudited;
  what.edits_without_audit = unaudited;
  what.record = audit;
  return what;
}

// Rights as those of a user without any, while it lives: root may write anywhere.
class AsNobody {
 public:
  AsNobody() {
    if (::geteuid() == 0) is_root_ = ::seteuid(65534) == 0;
  }
  ~AsNobody() {
    if (is_root_) std::ignore = ::seteuid(0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool is_root_ = false;
};

// Makes `path` nobody's, so that only its mode decides.
void give_to_nobody(const std::string& path, mode_t mode) {
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

// The names that files were renamed to in a folder, in order; not those of temporaries, with which
// aggregates trade names.
class Renames {
 public:
  explicit Renames(const std::string& folder) : fd_(::inotify_init1(IN_NONBLOCK)) {
    EXPECT_GE(::inotify_add_watch(fd_, folder.c_str(), IN_MOVED_TO | IN_CREATE | IN_MODIFY), 0);
  }
  ~Renames() { ::close(fd_); }
  Renames(const Renames&) = delete;
  Renames& operator=(const Renames&) = delete;

  Names names(std::uint32_t kinds = IN_MOVED_TO) {
    Names found;
    alignas(inotify_event) std::array<char, 65536> buffer;
    const ssize_t size = ::read(fd_, buffer.data(), buffer.size());
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string name = buffer.data() + at + sizeof event;
      const bool is_traded = event.mask == IN_MOVED_TO && name.ends_with(".aggregate-power.tmp");
      if ((event.mask & kinds) != 0 && !is_traded) found.push_back(name);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return found;
  }

 private:
  int fd_;
};

TEST(Publish, PutsTheAuditRecordInPlaceBeforeAClaim) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  Renames renames(folder.path());
  const WriteOutcome outcome = carry_out(plan(folder, true));
  EXPECT_EQ(renames.names(), (Names{"audit.json", "agg.json"}));
  EXPECT_TRUE(outcome.reasons.empty());
  EXPECT_EQ(outcome.record_fault, "");
  EXPECT_EQ(bytes_of(folder / "agg.json"), kValid);
  EXPECT_EQ(bytes_of(folder / "audit.json"), kSound);
  EXPECT_EQ(folder.names(), (Names{"agg.json", "audit.json"}));
}

TEST(Publish, TakesAClaimBackBeforeItsAuditRecord) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  put(folder / "audit.json", kSound);
  WritePlan what = plan(folder, false);
  what.record = [&](const Reasons&, std::string_view) { return "{\"power_valid\": false}"; };
  Renames renames(folder.path());
  const WriteOutcome outcome = carry_out(what);
  EXPECT_EQ(renames.names(), (Names{"agg.json", "audit.json"}));
  EXPECT_TRUE(outcome.reasons.empty());
  EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid);
  EXPECT_EQ(bytes_of(folder / "audit.json"), "{\"power_valid\": false}");
}

TEST(Publish, DoesNotTouchWhatIsThereAlready) {
  for (const bool valid : {true, false}) {
    const Folder folder;
    put(folder / "agg.json", kOld);
    carry_out(plan(folder, valid));
    struct stat before[2];
    ASSERT_EQ(::stat((folder / "agg.json").c_str(), &before[0]), 0);
    ASSERT_EQ(::stat((folder / "audit.json").c_str(), &before[1]), 0);
    Renames renames(folder.path());
    const WriteOutcome outcome = carry_out(plan(folder, valid));
    EXPECT_TRUE(outcome.reasons.empty());
    EXPECT_EQ(outcome.record_fault, "");
    EXPECT_EQ(renames.names(IN_MOVED_TO | IN_CREATE | IN_MODIFY), Names{});
    for (int i = 0; i < 2; ++i) {
      struct stat after;
      ASSERT_EQ(::stat((folder / (i == 0 ? "agg.json" : "audit.json")).c_str(), &after), 0);
      EXPECT_EQ(after.st_ino, before[i].st_ino);
      EXPECT_EQ(after.st_mtim.tv_sec, before[i].st_mtim.tv_sec);
      EXPECT_EQ(after.st_mtim.tv_nsec, before[i].st_mtim.tv_nsec);
    }
  }
}

TEST(Publish, ReplacesOnlyTheOneThatChanges) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  carry_out(plan(folder, true));
  WritePlan what = plan(folder, true);
  what.record = [&](const Reasons&, std::string_view) { return "{\"other\": 1}"; };
  Renames renames(folder.path());
  carry_out(what);
  EXPECT_EQ(renames.names(), Names{"audit.json"});
}

TEST(Publish, RemovesLeftoversWhereTheirSignIs) {
  const struct {
    const char* before;
    const char* after;
  } cases[] = {
      {R"({"audit": {}, "extra": 1, "mine": 2, "power_valid": 0})",
       R"({"mine": 2, "power_valid": 1, "avg_power_w": 500.5})"},
      {R"({"extra": 1, "mine": 2})",
       R"({"extra": 1, "mine": 2, "power_valid": 1, "avg_power_w": 500.5})"},
  };
  for (const auto& c : cases) {
    const Folder folder;
    put(folder / "agg.json", c.before);
    WritePlan what = plan(folder, true);
    what.leftovers = {{"audit", {"extra", "audit", "avg_power_w"}}};
    const Preview changes = preview(what);
    EXPECT_TRUE(changes.changes);
    EXPECT_EQ(bytes_of(folder / "agg.json"), c.before);
    const bool has_leftovers = std::string(c.before) != R"({"extra": 1, "mine": 2})";
    EXPECT_EQ(std::ranges::count(changes.lines, folder / "agg.json: extra: 1 -> absent"),
              has_leftovers ? 1 : 0);
    EXPECT_TRUE(carry_out(what).reasons.empty());
    EXPECT_EQ(bytes_of(folder / "agg.json"), c.after);
  }
}

TEST(Publish, MakesTheFolderOfTheAuditRecord) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  WritePlan what = plan(folder, true);
  what.make_record_folder = true;
  what.record_path = folder / "a/b/audit.json";
  EXPECT_EQ(carry_out(what).record_fault, "");
  EXPECT_EQ(bytes_of(folder / "a/b/audit.json"), kSound);
  EXPECT_EQ(bytes_of(folder / "agg.json"), kValid);
}

TEST(Publish, PatchesAloneWithoutAnAuditRecord) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  WritePlan what = plan(folder, true);
  what.record_path.clear();
  what.record = nullptr;
  const WriteOutcome outcome = carry_out(what);
  EXPECT_TRUE(outcome.reasons.empty());
  EXPECT_EQ(outcome.record_fault, "");
  EXPECT_EQ(bytes_of(folder / "agg.json"), kValid);
  EXPECT_EQ(folder.names(), Names{"agg.json"});
}

TEST(Publish, TellsInTheAuditRecordWhatIsWrongWithTheAggregate) {
  const struct {
    const char* what;
    std::optional<std::string> bytes;  // nothing: a folder
    std::string reason;                // with {} for the path
  } cases[] = {
      {"missing", "", "aggregate_result_missing ({})"},
      {"a folder", std::nullopt, "aggregate_result_missing ({} is a folder)"},
      {"empty", "", "aggregate_result_unwritable ({}:1:1: expected a value, but the text ends)"},
      {"not JSON", "{\"a\" 1}", "aggregate_result_unwritable ({}:1:6: expected ':' after \"a\")"},
      {"an array", "[1, 2]", "aggregate_result_unwritable ({}:1:1: expected an object)"},
      {"a number", "5", "aggregate_result_unwritable ({}:1:1: expected an object)"},
      {"a byte-order mark", "\xEF\xBB\xBF{}", "aggregate_result_unwritable ({}:1:1: "},
      {"invalid UTF-8", "{\"a\": \"\xFF\"}", "aggregate_result_unwritable ({}:1:"},
  };
  for (const auto& c : cases) {
    for (const bool valid : {true, false}) {
      const Folder folder;
      const std::string path = folder / "agg.json";
      if (!c.bytes) fs::create_directory(path);
      if (c.bytes && std::string(c.what) != "missing") put(path, *c.bytes);
      const WriteOutcome outcome = carry_out(plan(folder, valid));
      const std::string reason =
          c.reason.substr(0, c.reason.find("{}")) + path + c.reason.substr(c.reason.find("{}") + 2);
      if (reason.ends_with(')')) {
        EXPECT_EQ(outcome.reasons.text(), reason) << c.what;
      } else {
        EXPECT_TRUE(outcome.reasons.text().starts_with(reason)) << outcome.reasons.text();
      }
      EXPECT_EQ(outcome.record_fault, "") << c.what;
      EXPECT_EQ(bytes_of(folder / "audit.json"), audit(outcome.reasons)) << c.what;
      if (c.bytes && std::string(c.what) != "missing") {
        EXPECT_EQ(bytes_of(path), *c.bytes) << c.what;
      }
      EXPECT_EQ(folder.names().size(), std::string(c.what) == "missing" ? 1u : 2u) << c.what;
    }
  }
}

TEST(Publish, KeepsTheOldBytesOfAnAggregateThatCannotBeWritten) {
  const struct {
    const char* what;
    mode_t folder_mode;
    mode_t file_mode;
    const char* reason;
  } cases[] = {
      {"a folder without write permission", 0555, 0644,
       "aggregate_result_unwritable ({}: cannot create a temporary beside it: Permission denied)"},
      {"a file without write permission", 0755, 0444,
       "aggregate_result_unwritable ({}: cannot open for writing: Permission denied)"},
      {"a file without any permission", 0755, 0000,
       "aggregate_result_unwritable ({}: cannot open for writing: Permission denied)"},
  };
  for (const auto& c : cases) {
    for (const bool valid : {true, false}) {
      const Folder folder;
      ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
      fs::create_directory(folder / "in");
      fs::create_directory(folder / "out");
      const std::string path = put(folder / "in/agg.json", kOld);
      give_to_nobody(folder / "out", 0755);
      give_to_nobody(path, c.file_mode);
      give_to_nobody(folder / "in", c.folder_mode);
      WritePlan what = plan(folder, valid);
      what.aggregate_path = path;
      what.record_path = folder / "out/audit.json";
      Preview foreseen;
      WriteOutcome outcome;
      {
        const AsNobody nobody;
        foreseen = preview(what);
        outcome = carry_out(what);
      }
      EXPECT_EQ(foreseen.reasons.text(), outcome.reasons.text()) << c.what;
      ASSERT_EQ(::chmod((folder / "in").c_str(), 0755), 0);
      ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
      EXPECT_EQ(outcome.reasons.text(), fmt::format(fmt::runtime(c.reason), path)) << c.what;
      EXPECT_EQ(outcome.record_fault, "");
      EXPECT_EQ(bytes_of(path), kOld) << c.what;
      EXPECT_EQ(bytes_of(folder / "out/audit.json"), audit(outcome.reasons)) << c.what;
    }
  }
}

// Part 0 row 10: the aggregate never says 1 without its audit record on disk.
TEST(Publish, NeverClaimsWhatIsNotAudited) {
  const struct {
    const char* what;
    const char* record;
    const char* fault;  // {} is the path
  } cases[] = {
      {"a folder that cannot be written", "locked/audit.json",
       "{}: cannot create a temporary beside it: Permission denied"},
      {"a folder", "folder", "{}: cannot replace: Is a directory"},
      {"a file for a folder", "file/audit.json", nullptr},
      {"a folder that cannot be made", "locked/more/audit.json", nullptr},
      {"a special file", "fifo", "{}: cannot replace a special file: Operation not supported"},
      {"a link into a folder that is missing", "dangling", nullptr},
      {"a link to itself", "loop", "{}: cannot inspect: Too many levels of symbolic links"},
  };
  for (const auto& c : cases) {
    for (const bool valid : {true, false}) {
      const Folder folder;
      put(folder / "agg.json", kOld);
      put(folder / "file", "x");
      fs::create_directory(folder / "folder");
      fs::create_directory(folder / "locked");
      fs::create_symlink("loop", folder / "loop");
      fs::create_symlink("nowhere/audit.json", folder / "dangling");
      ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0666), 0);
      give_to_nobody(folder / "agg.json", 0644);
      give_to_nobody(folder / "locked", 0555);
      give_to_nobody(folder.path(), 0755);
      WritePlan what = plan(folder, valid);
      what.record_path = folder / c.record;
      Preview foreseen;
      WriteOutcome outcome;
      {
        const AsNobody nobody;
        foreseen = preview(what);
        outcome = carry_out(what);
      }
      EXPECT_NE(foreseen.record_fault, "") << c.what;
      EXPECT_EQ(foreseen.lines, (Names{what.aggregate_path + ": power_valid: 1 -> 0",
                                       what.aggregate_path + ": avg_power_w: 1.0 -> absent"}))
          << c.what;
      EXPECT_TRUE(outcome.reasons.empty()) << outcome.reasons.text();
      if (c.fault != nullptr) {
        EXPECT_EQ(outcome.record_fault, fmt::format(fmt::runtime(c.fault), what.record_path))
            << c.what;
      } else {
        EXPECT_NE(outcome.record_fault, "") << c.what;
      }
      EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid) << c.what;
      EXPECT_EQ(folder.names(),
                (Names{"agg.json", "dangling", "fifo", "file", "folder", "locked", "loop"}))
          << c.what;
      EXPECT_EQ(bytes_of(folder / "file"), "x");
      ASSERT_EQ(::chmod((folder / "locked").c_str(), 0755), 0);
      EXPECT_TRUE(fs::is_empty(folder / "locked")) << c.what;
    }
  }
}

TEST(Publish, LeavesTheAggregateWithoutEditsForThatCase) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  fs::create_directory(folder / "folder");
  WritePlan what = plan(folder, true);
  what.record_path = folder / "folder";
  what.edits_without_audit.clear();
  EXPECT_NE(carry_out(what).record_fault, "");
  EXPECT_EQ(bytes_of(folder / "agg.json"), kOld);
}

TEST(Publish, TellsWhenTheAuditRecordCannotEvenBeMade) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  WritePlan what = plan(folder, true);
  what.record = [](const Reasons&, std::string_view) -> std::string {
    throw std::runtime_error("no text");
  };
  EXPECT_EQ(carry_out(what).record_fault, "no text");
  EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid);
}

TEST(Publish, NeverOverwritesAnInput) {
  for (const char* how : {"the same path", "another spelling", "a link", "a hard link"}) {
    for (const bool valid : {true, false}) {
      const Folder folder;
      put(folder / "agg.json", kOld);
      const std::string input = put(folder / "run.json", "{\"duration\": 60}");
      WritePlan what = plan(folder, valid);
      what.inputs = {folder / "no such file", input, folder / "agg.json"};
      what.record_advice = "put it elsewhere";
      if (how == std::string("the same path")) what.record_path = input;
      if (how == std::string("another spelling")) what.record_path = folder / "./run.json";
      if (how == std::string("a link")) fs::create_symlink("run.json", folder / "audit.json");
      if (how == std::string("a hard link")) fs::create_hard_link(input, folder / "audit.json");
      const WriteOutcome outcome = carry_out(what);
      EXPECT_EQ(
          outcome.record_fault,
          what.record_path + ": is an input of this run and is not overwritten; put it elsewhere")
          << how;
      EXPECT_EQ(bytes_of(input), "{\"duration\": 60}") << how;
      EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid) << how;
      EXPECT_TRUE(outcome.reasons.empty());
    }
  }
  const Folder folder;
  put(folder / "agg.json", kOld);
  WritePlan what = plan(folder, true);
  what.record_path = what.aggregate_path;
  what.inputs = {what.aggregate_path};
  EXPECT_NE(carry_out(what).record_fault, "");
  EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid);
}

TEST(Publish, NeverPatchesAnInput) {
  for (const char* how : {"the same path", "another spelling", "a link", "a hard link", "below"}) {
    for (const bool valid : {true, false}) {
      const Folder folder;
      put(folder / "agg.json", kOld);
      WritePlan what = plan(folder, valid);
      what.inputs = {what.aggregate_path, folder / "run.json"};
      if (how == std::string("the same path")) what.inputs.back() = what.aggregate_path;
      if (how == std::string("another spelling")) what.inputs.back() = folder / "./agg.json";
      if (how == std::string("a link")) fs::create_symlink("agg.json", folder / "run.json");
      if (how == std::string("a hard link")) {
        fs::create_hard_link(folder / "agg.json", folder / "run.json");
      }
      if (how == std::string("below")) {
        what.input_folders = {folder / "none", folder.path()};
        what.record_path.clear();
      }
      const char* const why = what.input_folders.empty()
                                  ? ": is an input of this run)"
                                  : ": is in a folder of inputs, where nothing is written)";
      EXPECT_EQ(preview(what).reasons.text(),
                "aggregate_result_unwritable (" + what.aggregate_path + why)
          << how;
      EXPECT_EQ(carry_out(what).reasons.text(), preview(what).reasons.text()) << how;
      EXPECT_EQ(bytes_of(folder / "agg.json"), kOld) << how;
    }
  }
}

TEST(Publish, LeavesAnAggregateForWhichTheEditsDoNotHold) {
  for (const bool valid : {true, false}) {
    const Folder folder;
    put(folder / "agg.json", kOld);
    put(folder / "audit.json", kSound);
    WritePlan what = plan(folder, valid);
    what.only_together = true;
    what.is_as_read = [](std::string_view text) { return text != kOld; };
    const std::string reason =
        "input_changed (" + what.aggregate_path + ": was changed while it was in use)";
    EXPECT_EQ(preview(what).reasons.text(), reason);
    EXPECT_EQ(carry_out(what).reasons.text(), reason);
    EXPECT_EQ(bytes_of(folder / "agg.json"), kOld);
    EXPECT_EQ(bytes_of(folder / "audit.json"), kSound);
  }
}

TEST(Publish, WritesNothingOutsideOfItsRoot) {
  for (const char* how :
       {"the record", "a record that is not there", "the aggregate", "a folder"}) {
    const Folder folder;
    fs::create_directory(folder / "store");
    fs::create_directory(folder / "other");
    put(folder / "agg.json", kOld);
    put(folder / "precious", "x");
    WritePlan what = plan(folder, true);
    what.only_together = true;
    what.root = folder / "link";  // the store itself may be reached by one
    fs::create_directory_symlink("store", what.root);
    what.aggregate_path = folder / "store/agg.json";
    what.record_path = folder / "store/audit.json";
    std::string target = folder / "precious";
    if (how == std::string("the aggregate")) {
      fs::create_symlink("../agg.json", what.aggregate_path);
      target = folder / "agg.json";
    } else {
      put(what.aggregate_path, kOld);
    }
    if (how == std::string("the record")) fs::create_symlink("../precious", what.record_path);
    if (how == std::string("a record that is not there")) {
      target = folder / "free";
      fs::create_symlink("../free", what.record_path);
    }
    if (how == std::string("a folder")) {
      fs::create_directory_symlink("../other", folder / "store/sub");
      what.record_path = folder / "store/sub/more/audit.json";
      what.make_record_folder = true;
      target = folder / "other/more/audit.json";
    }
    const bool is_aggregate = how == std::string("the aggregate");
    const std::string fault =
        fmt::format("{}: leads out of {}, to {}, and is not written",
                    is_aggregate ? what.aggregate_path : what.record_path, what.root, target);
    const Preview foreseen = preview(what);
    const WriteOutcome outcome = carry_out(what);
    for (const WritingFaults& faults : {WritingFaults(foreseen), WritingFaults(outcome)}) {
      EXPECT_EQ(faults.reasons.text(),
                is_aggregate ? "aggregate_result_unwritable (" + fault + ")" : "")
          << how;
      EXPECT_EQ(faults.record_fault, is_aggregate ? "" : fault) << how;
      EXPECT_TRUE(faults.leads_out) << how;
    }
    EXPECT_EQ(bytes_of(folder / "precious"), "x") << how;
    EXPECT_EQ(bytes_of(folder / "agg.json"), kOld) << how;
    EXPECT_EQ(bytes_of(what.aggregate_path), kOld) << how;
    EXPECT_TRUE(fs::is_empty(folder / "other")) << how;
    EXPECT_EQ(folder.names(), (Names{"agg.json", "link", "other", "precious", "store"})) << how;
  }
}

TEST(Publish, FollowsLinksWithinItsRoot) {
  const Folder folder;
  fs::create_directory(folder / "real");
  put(folder / "real/agg.json", kOld);
  fs::create_symlink("real/agg.json", folder / "agg.json");
  fs::create_symlink("real/audit.json", folder / "audit.json");
  WritePlan what = plan(folder, true);
  what.only_together = true;
  what.root = folder.path();
  EXPECT_TRUE(carry_out(what).reasons.empty());
  EXPECT_EQ(bytes_of(folder / "real/agg.json"), kValid);
  EXPECT_EQ(bytes_of(folder / "real/audit.json"), kSound);
}

TEST(Publish, SaysBothWhenNothingCanBeWritten) {
  const Folder folder;
  fs::create_directory(folder / "folder");
  WritePlan what = plan(folder, true);
  what.record_path = folder / "folder";
  const WriteOutcome outcome = carry_out(what);
  EXPECT_EQ(outcome.reasons.text(), "aggregate_result_missing (" + what.aggregate_path + ")");
  EXPECT_EQ(outcome.record_fault, what.record_path + ": cannot replace: Is a directory");
}

TEST(Publish, FollowsLinks) {
  const Folder folder;
  fs::create_directory(folder / "real");
  put(folder / "real/agg.json", kOld);
  fs::create_symlink("real/agg.json", folder / "agg.json");
  fs::create_symlink("real/audit.json", folder / "audit.json");  // leads nowhere yet
  const WriteOutcome outcome = carry_out(plan(folder, true));
  EXPECT_TRUE(outcome.reasons.empty()) << outcome.reasons.text();
  EXPECT_EQ(outcome.record_fault, "");
  EXPECT_TRUE(fs::is_symlink(folder / "agg.json"));
  EXPECT_TRUE(fs::is_symlink(folder / "audit.json"));
  EXPECT_EQ(bytes_of(folder / "real/agg.json"), kValid);
  EXPECT_EQ(bytes_of(folder / "real/audit.json"), kSound);
  EXPECT_FALSE(fs::is_symlink(folder / "real/agg.json"));
}

TEST(Publish, ReplacesNothingThroughALinkToAnotherName) {
  for (const bool valid : {true, false}) {
    const Folder folder;
    put(folder / "agg.json", kOld);
    const std::string precious = put(folder / "precious", "x");
    fs::create_symlink("precious", folder / "audit.json");
    const WritePlan what = plan(folder, valid);
    const std::string why =
        what.record_path + ": leads to " + precious + ", which is another file, and is not written";
    EXPECT_EQ(preview(what).record_fault, why);
    EXPECT_EQ(carry_out(what).record_fault, why);
    EXPECT_EQ(bytes_of(precious), "x");
    EXPECT_EQ(bytes_of(folder / "agg.json"), kInvalid);
  }
}

TEST(Publish, ReplacesOnlyARecordByARecord) {
  const char* const kRecord = R"({"record": 1})";
  for (const std::string before :
       {R"({"mine": 1})", "text", "[1]", "{\"mine\"", kRecord, "", "{}", " { } "}) {
    const Folder folder;
    put(folder / "agg.json", kOld);
    put(folder / "audit.json", before);
    WritePlan what = plan(folder, true);
    what.is_record = [&](std::string_view text) { return text == kRecord; };
    const bool is_replaced = before == kRecord || before.find_first_not_of("{} ") == before.npos;
    const std::string why = is_replaced
                                ? ""
                                : what.record_path +
                                      ": exists, is not an audit record, and is not "
                                      "replaced; move it away, or name another audit record";
    EXPECT_EQ(preview(what).record_fault, why) << before;
    EXPECT_EQ(carry_out(what).record_fault, why) << before;
    EXPECT_EQ(bytes_of(folder / "audit.json"), is_replaced ? kSound : before);
    EXPECT_EQ(bytes_of(folder / "agg.json"), is_replaced ? kValid : kInvalid) << before;
  }
}

TEST(Publish, RemovesLeftoversWhereNothingIsSet) {
  for (const bool are_alone : {true, false}) {
    const Folder folder;
    put(folder / "agg.json", R"({"audit": 1, "extra": 2, "mine": 3})");
    WritePlan what = plan(folder, false);
    what.edits.clear();
    what.leftovers = {{"audit", {"audit", "extra"}, are_alone}};
    EXPECT_TRUE(carry_out(what).reasons.empty());
    const bool has_it = bytes_of(folder / "agg.json").find("extra") != std::string::npos;
    EXPECT_EQ(has_it, !are_alone);
    EXPECT_NE(bytes_of(folder / "agg.json").find("mine"), std::string::npos);
  }
}

TEST(Publish, KeepsModes) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  put(folder / "audit.json", "{}");
  ASSERT_EQ(::chmod((folder / "agg.json").c_str(), 0640), 0);
  ASSERT_EQ(::chmod((folder / "audit.json").c_str(), 0604), 0);
  carry_out(plan(folder, true));
  const auto mode = [&](const char* name) {
    struct stat status;
    EXPECT_EQ(::stat((folder / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  EXPECT_EQ(mode("agg.json"), 0640u);
  EXPECT_EQ(mode("audit.json"), 0604u);
  fs::remove(folder / "audit.json");
  const mode_t umask_before = ::umask(027);
  carry_out(plan(folder, true));
  ::umask(umask_before);
  EXPECT_EQ(mode("audit.json"), 0640u) << "a new one: 0666 less the umask";
}

TEST(Publish, RemovesWhatKilledRunsLeft) {
  const Folder folder;
  put(folder / "agg.json", kOld);
  put(folder / ".agg.json.abcdefgh.aggregate-power.tmp", "half of i");
  put(folder / ".agg.json.tmp", "somebody's own");
  carry_out(plan(folder, true));
  EXPECT_EQ(folder.names(), (Names{".agg.json.tmp", "agg.json", "audit.json"}));
}

TEST(Publish, LetsConcurrentRunsWaitForEachOther) {
  const Folder folder;
  put(folder / "agg.json", "{}");
  constexpr int kRuns = 12;
  std::vector<pid_t> children;
  for (int i = 0; i < kRuns; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      WritePlan what = plan(folder, true);
      what.record_path = folder / fmt::format("audit{}.json", i);
      what.edits = {{fmt::format("key{}", i), fmt::format("{}", i)}};
      const WriteOutcome outcome = carry_out(what);
      ::_exit(outcome.reasons.empty() && outcome.record_fault.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const std::string text = bytes_of(folder / "agg.json");
  for (int i = 0; i < kRuns; ++i) {
    EXPECT_NE(text.find(fmt::format("\"key{}\": {}", i, i)), std::string::npos) << text;
  }
}

TEST(Preview, TellsEachChangeAndMakesNone) {
  const Folder folder;
  const std::string aggregate = put(folder / "agg.json", kOld);
  WritePlan what = plan(folder, true);
  what.edits.push_back({"total_gpu_energy_j", "8.0"});
  what.edits.push_back({"hw", ""});
  Renames renames(folder.path());
  const Preview changes = preview(what);
  EXPECT_EQ(changes.lines, (Names{aggregate + ": avg_power_w: 1.0 -> 500.5",
                                  aggregate + ": total_gpu_energy_j: absent -> 8.0",
                                  aggregate + ": hw: \"b200\" -> absent",
                                  (folder / "audit.json") + ": would be written"}));
  EXPECT_TRUE(changes.reasons.empty());
  EXPECT_EQ(renames.names(IN_MOVED_TO | IN_CREATE | IN_MODIFY), Names{});
  EXPECT_EQ(bytes_of(aggregate), kOld);

  carry_out(what);
  EXPECT_EQ(preview(what).lines,
            (Names{aggregate + ": unchanged", (folder / "audit.json") + ": unchanged"}));
  put(folder / "audit.json", "{}");
  EXPECT_EQ(preview(what).lines,
            (Names{aggregate + ": unchanged", (folder / "audit.json") + ": would be replaced"}));
}

TEST(Preview, TellsWhatIsWrong) {
  const Folder folder;
  WritePlan what = plan(folder, true);
  EXPECT_EQ(preview(what).reasons.text(), "aggregate_result_missing (" + what.aggregate_path + ")");
  put(folder / "agg.json", "[]");
  EXPECT_EQ(preview(what).reasons.text(),
            "aggregate_result_unwritable (" + what.aggregate_path + ":1:1: expected an object)");
  what.inputs = {what.aggregate_path};
  what.record_path = what.aggregate_path;
  EXPECT_EQ(preview(what).record_fault,
            what.record_path + ": is an input of this run and is not overwritten");
  EXPECT_EQ(preview(what).lines, Names{});
  what.record_path.clear();
  EXPECT_EQ(preview(what).lines, Names{});
}

}  // namespace transaction_test
}  // namespace aggregate_power
