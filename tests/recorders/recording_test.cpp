// A telemetry file as a run finds it: whether it can be read, and its zone.
#include "recorders/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/files/file.h"
#include "recorders/recorder_table.h"
#include "test_util.h"

namespace aggregate_power {
namespace recording_test {

namespace fs = std::filesystem;
using test::Folder;
using test::put;

constexpr double kNoon = 1777118400;  // 2026-04-25T12:00:00Z

const char* const kNaive = "timestamp, index, power.draw [W]\n2026/04/25 12:00:00.000, 0, 5 W\n";

std::vector<double> stamps_of(const Recording& recording) {
  Telemetry telemetry = recording.open();
  std::vector<double> stamps;
  telemetry.read([&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) stamps.push_back(reading.unix_s);
  });
  return stamps;
}

// A recorder may still be at work: each reading gives the same rows.
TEST(Recording, ReadsNoFurtherThanTheFileWentAtFirst) {
  const Folder folder;
  const std::string row = "2026/04/25 12:00:0";
  put(folder / "a.csv", kNaive + row + "1.000, 0, 6 W\n" + row);
  const Recording recording(folder / "a.csv", Zone::fixed(0), {});
  EXPECT_EQ(recording.bytes(), fs::file_size(folder / "a.csv"));
  EXPECT_EQ(stamps_of(recording), (std::vector<double>{kNoon, kNoon + 1}));
  std::ofstream(folder / "a.csv", std::ios::app) << "2.000, 0, 7 W\n" << row << "3.000, 0, 7 W\n";
  EXPECT_EQ(stamps_of(recording), (std::vector<double>{kNoon, kNoon + 1}));
  const Recording later(folder / "a.csv", Zone::fixed(0), {});
  EXPECT_EQ(stamps_of(later), (std::vector<double>{kNoon, kNoon + 1, kNoon + 2, kNoon + 3}));
}

// It is refused, but the energy counters beside it are compared with what it has: nothing.
TEST(Recording, OpensAnEmptyFile) {
  const Folder folder;
  put(folder / "empty.csv", "");
  const Recording recording(folder / "empty.csv", Zone::fixed(0), {});
  EXPECT_EQ(recording.faults().text(), "telemetry_file_empty (" + folder / "empty.csv" + ")");
  EXPECT_FALSE(recording.open().facts().has_power());
}

TEST(Recording, StaysWithItsFileWhenAnotherTakesItsName) {
  const Folder folder;
  put(folder / "a.csv", kNaive);
  const Recording recording(folder / "a.csv", Zone::fixed(0), {});
  put(folder / "b.csv", "nothing of the kind");
  fs::rename(folder / "b.csv", folder / "a.csv");
  EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
  fs::remove(folder / "a.csv");
  EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
}

TEST(Recording, KnowsWhetherAFileCanBeRead) {
  const Folder folder;
  put(folder / "good.csv", kNaive);
  put(folder / "empty.csv", "");
  put(folder / "empty.csv.gz", "");
  // `printf '' | gzip -n`, and twice; `printf '' | zstd`
  const std::string nothing("\x1F\x8B\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20);
  put(folder / "nothing.csv.gz", nothing);
  put(folder / "nothing-twice.csv.gz", nothing + nothing);
  put(folder / "nothing.csv.zst",
      std::string("\x28\xB5\x2F\xFD\x24\0\x01\0\0\x99\xE9\xD8\x51", 13));
  put(folder / "cut.csv.gz", nothing.substr(0, 15));
  fs::create_directory(folder / "folder.csv");
  ASSERT_EQ(::mkfifo((folder / "fifo.csv").c_str(), 0600), 0);
  fs::create_symlink("good.csv", folder / "link.csv");
  fs::create_symlink("nowhere", folder / "dangling.csv");
  const struct {
    const char* name;
    const char* code;
    const char* what = "";
  } cases[] = {
      {"good.csv", ""},
      {"link.csv", ""},
      {"missing.csv", "telemetry_file_missing"},
      {"folder.csv", "telemetry_file_missing", " is a folder"},
      {"fifo.csv", "telemetry_file_missing", " is not a regular file: pass a pipe as '-'"},
      {"dangling.csv", "telemetry_file_missing"},
      {"good.csv/x", "telemetry_file_missing"},
      {"empty.csv", "telemetry_file_empty"},
      {"empty.csv.gz", "telemetry_file_empty"},
      {"nothing.csv.gz", "telemetry_file_empty"},
      {"nothing-twice.csv.gz", "telemetry_file_empty"},
      {"nothing.csv.zst", "telemetry_file_empty"},
      {"cut.csv.gz", ""},  // as will be said when it is read
  };
  for (const auto& c : cases) {
    const std::string path = folder / c.name;
    const Recording recording(path, std::nullopt, {});
    EXPECT_EQ(recording.faults().text(),
              *c.code == '\0' ? "" : c.code + (" (" + path + c.what + ")"))
        << c.name;
    EXPECT_EQ(recording.path(), path);
  }
}

TEST(Recording, MayBeOpenedAgainAndAgain) {
  const Folder folder;
  const Recording recording(put(folder / "a.csv", kNaive), Zone::fixed(0), {});
  EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
  EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
}

TEST(Recording, PassesNamedColumnsOn) {
  const Folder folder;
  const Recording recording(put(folder / "a.csv", "timestamp,P0,P1\n1777118400,5,6\n"),
                            Zone::fixed(0), {"", "P1", ""});
  EXPECT_EQ(recording.open().facts().power_column, "P1");
}

TEST(Recording, ReadsStandardInputAsOftenAsNeeded) {
  const Folder folder;
  const int kept = ::dup(STDIN_FILENO);
  const auto with_input = [&](const std::string& text, auto&& check) {
    const int fd = ::open(put(folder / "in", text).c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(::dup2(fd, STDIN_FILENO), STDIN_FILENO);
    ::close(fd);
    const Recording recording("-", Zone::fixed(0), {});
    check(recording);
  };
  with_input(kNaive, [](const Recording& recording) {
    EXPECT_TRUE(recording.faults().empty());
    EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
    EXPECT_EQ(stamps_of(recording), std::vector<double>{kNoon});
  });
  with_input("", [](const Recording& recording) {
    EXPECT_EQ(recording.faults().text(), "telemetry_file_empty (standard input)");
  });
  ASSERT_EQ(::dup2(kept, STDIN_FILENO), STDIN_FILENO);
  ::close(kept);
}

TEST(Recording, TakesTheZoneFromTheOptionOrTheFileBeside) {
  const Folder folder;
  const std::string csv = put(folder / "gpu_metrics.csv", kNaive);
  EXPECT_EQ(Recording(csv, std::nullopt, {}).zone_source(), "default");
  EXPECT_TRUE(Recording(csv, std::nullopt, {}).lacks_zone());

  put(folder / "gpu_metrics_context.json", "{\"x\": 1, \"timestamp_timezone\": \"+05:30\"}");
  const Recording from_file(csv, std::nullopt, {});
  EXPECT_EQ(from_file.zone_source(), "file");
  EXPECT_FALSE(from_file.lacks_zone());
  EXPECT_EQ(stamps_of(from_file), std::vector<double>{kNoon - 5.5 * 3600});

  const Recording from_option(csv, Zone::parse("America/New_York"), {});
  EXPECT_EQ(from_option.zone_source(), "option");
  EXPECT_EQ(stamps_of(from_option), std::vector<double>{kNoon + 4 * 3600});

  put(folder / "gpu_metrics_context.json", "{\"timestamp_timezone\": \"Asia/Tokyo\"}");
  EXPECT_EQ(stamps_of(Recording(csv, std::nullopt, {})), std::vector<double>{kNoon - 9 * 3600});
  // With a byte-order mark.
  put(folder / "gpu_metrics_context.json", "\xEF\xBB\xBF{\"timestamp_timezone\": \"+01:00\"}");
  EXPECT_EQ(stamps_of(Recording(csv, std::nullopt, {})), std::vector<double>{kNoon - 3600});
}

// What is wrong with a zone file that is needed, after reading; "" for nothing.
std::string needed_fault(const Recording& recording) {
  Telemetry telemetry = recording.open();
  telemetry.read([](std::span<const Reading>) {});
  const auto* const fault = recording.needed_zone_fault(telemetry);
  return fault == nullptr ? "" : fault->text;
}

std::string doubt(const Recording& recording) {
  Telemetry telemetry = recording.open();
  telemetry.read([](std::span<const Reading>) {});
  return recording.zone_doubt(telemetry).value_or("");
}

TEST(Recording, NeedsAZoneFileThatCannotBeUsedForStampsWithoutAnOffset) {
  const Folder folder;
  const std::string csv = put(folder / "gpu_metrics.csv", kNaive);
  const std::string beside = folder / "gpu_metrics_context.json";
  const std::string unknown =
      "; give 'UTC', a name such as 'America/Los_Angeles' or an offset such as '-07:00'";
  const struct {
    const char* text;
    std::string fault;
  } cases[] = {
      {"{", "it is not a JSON object"},
      {"", "it is not a JSON object"},
      {"[]", "it is not a JSON object"},
      {"{}", "it has no 'timestamp_timezone'"},
      {"{\"timezone\": \"PDT\"}", "it has no 'timestamp_timezone'"},
      {"{\"timestamp_timezone\": 5}", "its 'timestamp_timezone' is not a string"},
      {"{\"timestamp_timezone\": null}", "its 'timestamp_timezone' is not a string"},
      {"{\"timestamp_timezone\": \"PDT\"}",
       "unknown time zone 'PDT'; give 'America/Los_Angeles' or '-07:00'"},
  };
  for (const auto& c : cases) {
    put(beside, c.text);
    put(csv, kNaive);
    const Recording recording(csv, std::nullopt, {});
    EXPECT_FALSE(recording.lacks_zone()) << c.text;
    EXPECT_EQ(needed_fault(recording), beside + ": " + c.fault) << c.text;
    EXPECT_EQ(doubt(recording), "") << c.text;
    EXPECT_EQ(needed_fault(Recording(csv, Zone::fixed(0), {})), "") << "not looked at";
    EXPECT_EQ(doubt(Recording(csv, Zone::fixed(0), {})), "") << "not looked at";
    put(csv, "timestamp,gpu,power_w\n2026-04-25T12:00:00Z,0,5\n");
    const Recording own(csv, std::nullopt, {});
    EXPECT_EQ(needed_fault(own), "") << c.text;
    EXPECT_EQ(doubt(own),
              beside + ": " + c.fault + "; it is not needed: every timestamp has an offset");
  }
}

TEST(Recording, DoubtsAZoneFileThatDiffersFromTheStamps) {
  const Folder folder;
  const std::string csv = folder / "gpu_metrics.csv";
  const std::string beside = folder / "gpu_metrics_context.json";
  put(beside, "{\"timestamp_timezone\": \"Europe/Berlin\"}");  // +02:00 in April
  const struct {
    const char* stamp;
    std::string doubt;
  } cases[] = {
      {"2026-04-25T12:00:00+02:00", ""},
      {"2026-04-25T12:00:00+0100",
       "it says Europe/Berlin, but the timestamps themselves say +01:00, which is used"},
      {"2026-04-25 12:00:00.5Z",
       "it says Europe/Berlin, but the timestamps themselves say +00:00, which is used"},
      {"2026-04-25 12:00:00", ""},
      {"1777118400", ""},
  };
  for (const auto& c : cases) {
    put(csv, std::string("timestamp,gpu,power_w\n") + c.stamp + ",0,5\n");
    EXPECT_EQ(doubt(Recording(csv, std::nullopt, {})),
              c.doubt.empty() ? "" : beside + ": " + c.doubt)
        << c.stamp;
  }
}

// ---- Hints.

std::optional<std::string> hint(Span span, Window window, const Zone& zone = Zone::fixed(0),
                                const std::string& text = kNaive) {
  Telemetry telemetry =
      open_telemetry(std::make_unique<test::StutterSource>(text, test::kWhole), {zone});
  telemetry.read([](std::span<const Reading>) {});
  return zone_hint(telemetry, span, window);
}

// A window of 60 s, and recordings that cover it but for their zone.
constexpr Window kWindow = {kNoon, kNoon + 60};

TEST(HashedInput, IsOfWhatWasReadThoughTheRecorderIsStillWriting) {
  const Folder folder;
  const std::string path = folder / "gpu.csv";
  put(path, kNaive);
  const std::string hash = hash_of(OpenedFile(path));
  Recording recording(path, Zone::fixed(0), {});
  recording.hash_while_read();
  EXPECT_EQ(recording.hashed_input(), std::nullopt) << "nothing was read";
  std::ofstream(path, std::ios::app) << "2026/04/25 12:00:01.000, 0, 5 W\n";
  ASSERT_EQ(stamps_of(recording).size(), 1U);
  const auto input = recording.hashed_input();
  ASSERT_TRUE(input.has_value());
  EXPECT_EQ(input->hash, hash);
  EXPECT_EQ(input->bytes, std::string_view(kNaive).size());
  EXPECT_EQ(input->role, path);
}

TEST(ZoneHint, NamesTheZoneThatWouldFit) {
  const struct {
    double late_s;  // how far the recording, read in UTC, lies behind the truth
    const char* zone;
  } cases[] = {
      {5.5 * 3600, "+05:30"}, {-7 * 3600, "-07:00"},  {5.75 * 3600, "+05:45"},
      {14 * 3600, "+14:00"},  {-11 * 3600, "-11:00"},
  };
  for (const auto& c : cases) {
    const Span span = {kNoon - 10 + c.late_s, kNoon + 70 + c.late_s};
    EXPECT_EQ(hint(span, kWindow),
              std::string("the recording would cover the window if its timestamps were in ") +
                  c.zone + ": pass --timezone " + c.zone)
        << c.zone;
  }
}

TEST(ZoneHint, CountsFromTheZoneThatWasUsed) {
  // Read in +05:30 though it was UTC: too early by 5.5 h.
  const Span span = {kNoon - 10 - 5.5 * 3600, kNoon + 70 - 5.5 * 3600};
  EXPECT_EQ(
      hint(span, kWindow, Zone::parse("+05:30")),
      "the recording would cover the window if its timestamps were in +00:00: pass --timezone "
      "+00:00");
}

TEST(ZoneHint, NamesARangeForALongRecording) {
  // Two hours long: +03:00, +03:30, +04:00 and +04:30 fit.
  const Span span = {kNoon + 3 * 3600, kNoon + 5 * 3600};
  EXPECT_EQ(hint(span, kWindow),
            "the recording would cover the window in another time zone, between +03:00 and +04:30: "
            "pass the recorder's zone with --timezone");
}

TEST(ZoneHint, IsNothingWhereAZoneDoesNotHelp) {
  EXPECT_EQ(hint({kNoon + 400, kNoon + 480}, kWindow), std::nullopt) << "no quarter of an hour";
  EXPECT_EQ(hint({kNoon - 10 + 3600, kNoon + 50 + 3600}, kWindow), std::nullopt) << "too short";
  EXPECT_EQ(hint({kNoon - 10 + 86400, kNoon + 70 + 86400}, kWindow), std::nullopt) << "another day";
  EXPECT_EQ(hint({kNoon - 10 + 15 * 3600, kNoon + 70 + 15 * 3600}, kWindow), std::nullopt)
      << "no such zone on earth";
  EXPECT_EQ(hint({kNoon - 10 + 3600, kNoon + 70 + 3600}, kWindow, Zone::fixed(0),
                 "timestamp,gpu,power_w\n1777118400,0,5\n"),
            std::nullopt)
      << "stamps that say it themselves";
  EXPECT_EQ(hint({kNoon - 8000, kNoon + 8000}, kWindow), std::nullopt) << "it covers the window";
}

}  // namespace recording_test
}  // namespace aggregate_power
