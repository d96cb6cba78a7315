// The table of recorders, and a row that the tests add.
#include "recorders/recorder_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace recorder_test {

std::unique_ptr<ByteSource> bytes(const std::string& text) {
  return std::make_unique<test::StutterSource>(text, test::kWhole);
}

// "watts 1" and then "UNIX WATTS" lines of one GPU, in batches of two: not a CSV.
void read_words(ByteSource& source, const Telemetry::TakeStates& take, TelemetryCounts& counts) {
  counts.devices = {"0"};
  std::vector<Reading> batch;
  const std::string text = read_all(source);
  for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    ++counts.rows;
    if (line == "torn") throw TelemetryError("a torn line");
    ++counts.stamps;
    batch.push_back(
        {std::stod(line), std::stod(line.substr(line.find(' '))), 0, Reading::Kind::power});
    if (batch.size() == 2) {
      take(batch, {});
      batch.clear();
    }
  }
  take(batch, {});
}

Telemetry open_words(std::unique_ptr<ByteSource> source, const TelemetryOptions& options) {
  TelemetryHead head;
  head.facts.schema = "words";
  head.facts.lines = {{"power", "second word", "it is always there"}};
  return Telemetry(head, options.zone.value_or(Zone::fixed(0)),
                   [source = std::shared_ptr<ByteSource>(std::move(source))](
                       const Telemetry::Wants&, const Telemetry::TakeStates& take,
                       TelemetryCounts& counts) { read_words(*source, take, counts); });
}

const Recorder kWords = {
    .name = "words",
    .fits = [](std::string_view head) { return head.starts_with("watts 1\n") ? 1.0 : 0.0; },
    .open = open_words,
    .schemas = {{"words", "the second word", "one device"}}};

std::vector<Recorder> with_words() {
  std::vector<Recorder> rows(recorders().begin(), recorders().end());
  rows.push_back(kWords);
  return rows;
}

std::vector<double> watts_of(Telemetry& telemetry) {
  std::vector<double> watts;
  telemetry.read([&](std::span<const Reading> readings) {
    for (const Reading& reading : readings) watts.push_back(reading.watts);
  });
  return watts;
}

const std::string kCsv = "timestamp,index,power_w\n1777118400,0,60.5\n1777118401,0,61\n";

TEST(OpenTelemetry, OpensACsv) {
  Telemetry telemetry = open_telemetry(bytes(kCsv), {.columns = {.power = "power_w"}});
  EXPECT_EQ(telemetry.facts().schema, "generic");
  EXPECT_TRUE(telemetry.facts().reasons.empty()) << telemetry.facts().reasons.text();
  ASSERT_EQ(telemetry.facts().lines.size(), 4u);
  EXPECT_EQ(telemetry.facts().lines[1].value, "'power_w'");
  EXPECT_EQ(telemetry.facts().lines[1].why, "named by --power-column");
  EXPECT_EQ(telemetry.facts().lines[2].what, "unit");
  EXPECT_EQ(watts_of(telemetry), (std::vector<double>{60.5, 61}));
  EXPECT_EQ(telemetry.rows(), 2u);
  EXPECT_EQ(telemetry.devices(), (std::vector<std::string>{"0"}));
}

TEST(OpenTelemetry, ACsvSaysWhatItLacks) {
  const Telemetry telemetry = open_telemetry(bytes("a,b\n1,2\n"));
  EXPECT_FALSE(telemetry.facts().has_times());
  EXPECT_FALSE(telemetry.facts().has_power());
  EXPECT_FALSE(telemetry.facts().has_devices());
}

// The beginning, which is looked at first, may be all that there is, or not.
TEST(OpenTelemetry, ReadsAFileLongerThanItsBeginning) {
  std::string text = kCsv;
  for (int i = 0; i < 10000; ++i) text += "1777118402,0,62\n";
  Telemetry telemetry = open_telemetry(bytes(text));
  EXPECT_EQ(watts_of(telemetry).size(), 10002u);
}

TEST(OpenTelemetry, ANewFormatIsOneRow) {
  const std::vector<Recorder> rows = with_words();
  Telemetry telemetry =
      open_telemetry(bytes("watts 1\n1777118400 5\n1777118401 6\n1777118402 7.5\n"), {}, rows);
  EXPECT_EQ(telemetry.facts().schema, "words");
  EXPECT_TRUE(telemetry.facts().has_power());
  EXPECT_EQ(watts_of(telemetry), (std::vector<double>{5, 6, 7.5}));
  EXPECT_EQ(telemetry.stamps(), 3u);
  EXPECT_EQ(open_telemetry(bytes(kCsv), {}, rows).facts().schema, "generic");
}

TEST(OpenTelemetry, CountsUpToAFault) {
  const std::vector<Recorder> rows = with_words();
  Telemetry telemetry = open_telemetry(bytes("watts 1\n1777118400 5\ntorn\n"), {}, rows);
  EXPECT_THROW(watts_of(telemetry), TelemetryError);
  EXPECT_EQ(telemetry.rows(), 2u);
  EXPECT_EQ(telemetry.stamps(), 1u);
}

TEST(OpenTelemetry, ACellThatIsTooLongIsAFaultOfTheTelemetry) {
  Telemetry telemetry = open_telemetry(bytes(kCsv + "\"" + std::string(140000, 'x')));
  EXPECT_THROW(watts_of(telemetry), TelemetryError);
  EXPECT_EQ(telemetry.rows(), 2u);
}

}  // namespace recorder_test
}  // namespace aggregate_power
