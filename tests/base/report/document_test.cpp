// Lines that were laid out by hand.
#include "base/report/document.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace document_test {

std::string line(const TextTable& table, std::initializer_list<TextCell> cells) {
  std::string text;
  table.add(cells, text);
  return text;
}

TEST(TextTable, PadsTitlesTextsAndNumbers) {
  const TextTable table("[GPU <5] [mean W >8.2f] \u00B1 [W <6.1f]  [note <]");
  EXPECT_EQ(table.head(), "GPU     mean W \u00B1 W       note\n");
  EXPECT_EQ(line(table, {"0", 412.345, 1.25, "steady"}), "0       412.35 \u00B1 1.2     steady\n");
  EXPECT_EQ(line(table, {3, "none", "", ""}), "3         none \u00B1\n");
}

TEST(TextTable, EndsALineEarlyAndLetsLongCellsStick) {
  const TextTable table("[window <6] [joules >7.1f]");
  EXPECT_EQ(line(table, {"w"}), "w\n");
  EXPECT_EQ(line(table, {"warm-up", "not measured"}), "warm-up not measured\n");
}

TEST(TextTable, ShowsUnknownNumbersAndSigns) {
  const TextTable table("[a >6.1f] [b >+7.2f]");
  EXPECT_EQ(line(table, {std::optional<double>(), 2.5}), "     -   +2.50\n");
  EXPECT_EQ(line(table, {{std::nullopt, ""}, -2.5}), "         -2.50\n");
}

// An accented letter is two bytes and one column.
TEST(TextTable, CountsColumnsNotBytes) {
  EXPECT_EQ(line(TextTable("[name <6] [n >3]"), {"d\u00E9but", 7}), "d\u00E9but    7\n");
}

TEST(TextTable, RepeatsItsLastColumn) {
  EXPECT_EQ(line(TextTable("[s <2] [J >4.1f]"), {"a", 1.0, 2.0}), "a   1.0  2.0\n");
}

TEST(Fact, PutsItsValueAtOneColumn) {
  EXPECT_EQ(fact("rows", "12"), "rows       12\n");
  EXPECT_EQ(fact("a long name of it", "12"), "a long name of it 12\n");
  EXPECT_EQ(fact("note", "one two three", 6, 12), "note  one\n      two\n      three\n");
}

// ---- Rows

const Json kRow = {{"name", "a, b"},  {"formula", "=1+1"}, {"joules", 600.0},
                   {"none", nullptr}, {"count", 3},        {"exact", true}};

TEST(Rows, AreLinesOfACsvForSpreadsheets) {
  const auto& row = kRow.get_ref<const Json::object_t&>();
  EXPECT_EQ(csv_names(row), "name,formula,joules,none,count,exact");
  std::string real;
  add_csv_cells(row, real);
  EXPECT_EQ(real, "\"a, b\",'=1+1,600.0,,3,true");
  std::string shortest;
  add_csv_cells(row, shortest, CsvNumbers::shortest);
  EXPECT_EQ(shortest, "\"a, b\",'=1+1,600,,3,true");
}

// What json.dumps() of Python 3.11 writes.
TEST(Rows, AreSpacedJsonAsInPython) {
  const Json json = {
      {"a", Json::array({1, 1e16, 1e-5, nullptr})}, {"b", kRow}, {"c", "\u00e9\"\n"}};
  std::string text;
  add_spaced_json(json, text);
  EXPECT_EQ(text,
            R"({"a": [1, 1e+16, 1e-05, null], "b": {"name": "a, b", "formula": "=1+1", )"
            R"("joules": 600.0, "none": null, "count": 3, "exact": true}, "c": "\u00e9\"\n"})");
  EXPECT_EQ(spaced_json_head({{"a", 1}, {"b", "x"}}, "rows"),
            "{\n\"a\": 1,\n\"b\": \"x\",\n\"rows\": [");
}

// A text that fits its line stays as it is; a longer one is broken at blanks.
TEST(Facts, KeepBlanksWhereTheyFit) {
  EXPECT_EQ(fact("name", "a  b", 6, 10), "name  a  b\n");
  EXPECT_EQ(fact("name", "a  b c", 6, 10), "name  a b\n      c\n");
}

}  // namespace document_test
}  // namespace aggregate_power
