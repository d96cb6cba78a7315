// Tables of other locales, read as the CSV that they would be.
#include "base/text/csv_dialect.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/system/byte_source.h"
#include "base/text/csv.h"
#include "test_util.h"

namespace aggregate_power {
namespace {

std::string usual(std::string_view text) {
  const CsvDialect dialect = csv_dialect(text, true);
  return read_all(*as_usual_csv(std::make_unique<MemorySource>(text), dialect));
}

TEST(CsvDialect, IsRecognizedByTheFirstRows) {
  const struct {
    const char* text;
    char separator;
    bool decimal_comma;
  } cases[] = {
      {"time,power\n1,2\n", ',', false},
      {"time;power\n1;2\n", ';', false},
      {"time\tpower\n1\t2\n", '\t', false},
      {"time,\tpower\n1,\t2\n", ',', false},  // tabs that align
      {"time;power\n1;2,5\n", ';', true},
      {"time;power\n1;100,234\n", ';', true},
      {"time;power_mw\n1;100,234\n", ';', false},  // a hundred thousand, or a hundred
      {"time;power [mW]\n1;100,234\n", ';', false},
      {"time;power_mw\n1;100,234\n2;99,5\n", ';', true},
      {"time,power\n1,\"100,234\"\n", ',', false},
      {"time;power\n1;1,234\n2;2,5\n", ';', true},
      {"time;power\n1;0,234\n", ';', true},
      {"time;power;limit\n1;2,5;3.5\n", ';', false},  // they do not agree
      {"time,power\n1,\"2,5\"\n", ',', true},
      {"sep=;\ntime;power\n1;2\n", ';', false},
      {"# a; b\n\ntime;power\n1;2,5\n", ';', true},
      {"time;power\n1;2\n3\n4;5\n", ',', false},  // a row without the cells
      {"time;power\n", ',', false},               // no row
      {"", ',', false},
      {"\"Time\";\"P{a=\"\"1\"\", b=\"\"2\"\"}\"\n1;90,5\n", ';', true},
  };
  for (const auto& c : cases) {
    const CsvDialect dialect = csv_dialect(c.text, true);
    EXPECT_EQ(dialect.separator, c.separator) << c.text;
    EXPECT_EQ(dialect.decimal_comma, c.decimal_comma) << c.text;
    EXPECT_EQ(dialect.divided_time, std::nullopt) << c.text;
  }
}

TEST(CsvDialect, BecomesCsvRowByRow) {
  const struct {
    const char* text;
    const char* csv;
  } cases[] = {
      {"a;b\r\n1;2,5\r\n", "a,b\r\n1,2.5\r\n"},
      {"a;b\n1;2,5 W", "a,b\n1,2.5 W"},
      {"a\tb\n1\tx, y\n", "a,b\n1,\"x, y\"\n"},
      {"a;b\n\"x \"\"y\"\"; z\";-2,5\n", "a,b\n\"x \"\"y\"\"; z\",-2.5\n"},
      {"a;b\n\n1;\n2;2,25\n", "a,b\n\n1,\n2,2.25\n"},
      {"a;b\n\"1\n2\";2,5\n", "a,b\n\"1\n2\",2.5\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(usual(c.text), c.csv) << c.text;
}

TEST(CsvDialect, PutsDividedTimesTogether) {
  const std::string header = "time,power\n";
  const std::string time = "2026-09-08T07:20:00";
  for (const char* fraction : {"123456", "123456789", "123Z", "123456789+00:00", "012"}) {
    EXPECT_EQ(usual(header + time + "," + fraction + ",300\n"),
              header + time + "." + fraction + ",300\n");
  }
  // Three digits without a zero before them may be a power.
  for (const std::string& row :
       {time + ",312,0\n", time + ",0,300\n", std::string("1,123456,300\n")}) {
    EXPECT_EQ(usual(header + row), header + row);
  }
  // Python leaves out a fraction of zero.
  EXPECT_EQ(usual(header + time + ",300\n" + time + ",000001,300\n"),
            header + time + ",300\n" + time + ".000001,300\n");
}

TEST(CsvDialect, RefusesAPointAfterDecimalCommas) {
  CsvDialect dialect;
  dialect.separator = ';';
  dialect.decimal_comma = true;
  const auto source = as_usual_csv(std::make_unique<MemorySource>("a;b\n1;2,5\n2;3.5\n"), dialect);
  EXPECT_THROW(read_all(*source), CsvError);
}

TEST(CsvDialect, RefusesPointsThatMayBeBetweenThousands) {
  for (const std::string header : {"time;power_mw", "time;power [mW]", "time;PowerMilliwatts"}) {
    const std::string text = header + "\n1;82.292\n2;604.185\n";
    EXPECT_THROW(usual(text), CsvError) << header;
    EXPECT_EQ(usual(header + "\n1;82.292\n2;604.18\n").substr(header.size()),
              "\n1,82.292\n2,604.18\n");
  }
  EXPECT_EQ(usual("time;power_w\n1;82.292\n2;604.185\n"), "time,power_w\n1,82.292\n2,604.185\n");
}

}  // namespace
}  // namespace aggregate_power
