// Rows as Python 3.11's csv.reader gives them: `list(csv.reader(open(path, newline="")))`.
#include "aggregate_power/base/python_csv.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(const std::string& text, std::size_t most = test::kWhole) {
  test::StutterSource source(text, most);
  PythonCsv csv(source);
  Rows rows;
  std::vector<std::string> cells;
  while (csv.next(cells)) rows.push_back(cells);
  return rows;
}

TEST(PythonCsv, CutsRowsAsPythonDoes) {
  const struct {
    const char* text;
    Rows rows;
  } cases[] = {
      {"", {}},
      {"a,b\n1,2\n", {{"a", "b"}, {"1", "2"}}},
      {"a,b\r\n1,2\r\n", {{"a", "b"}, {"1", "2"}}},
      {"a,b\r1,2", {{"a", "b"}, {"1", "2"}}},
      {"a\n\nb\n\n", {{"a"}, {}, {"b"}, {}}},
      {"a\r\n\r\nb", {{"a"}, {}, {"b"}}},
      {"a\r\rb", {{"a"}, {}, {"b"}}},
      {" a, b \n", {{" a", " b "}}},
      {",\n", {{"", ""}}},
      {"a,", {{"a", ""}}},
      {"\"a,b\",c\n", {{"a,b", "c"}}},
      {"\"a\"\"b\"\n", {{"a\"b"}}},
      {"a\"b\",c\n", {{"a\"b\"", "c"}}},
      {" \"a\",b\n", {{" \"a\"", "b"}}},
      {"\"a\"b\",c\n", {{"ab\"", "c"}}},
      {"\"a\nb\",c\n", {{"a\nb", "c"}}},
      {"\"a\r\nb\"\r\nc\n", {{"a\r\nb"}, {"c"}}},
      {"\"a,b\nc", {{"a,b\nc"}}},
      {"\"", {{""}}},
      {"\"\"\n", {{""}}},
      {"caf\u00E9\n", {{"caf\u00E9"}}},
      {"\xEF\xBB\xBF"
       "a\n",
       {{"\xEF\xBB\xBF"
         "a"}}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(rows_of(c.text), c.rows) << c.text;
    EXPECT_EQ(rows_of(c.text, 1), c.rows) << c.text;
  }
}

TEST(PythonCsv, RefusesWhatPythonRefuses) {
  const std::string longest(131072, 'a');
  EXPECT_EQ(rows_of(longest + "\n").size(), 1u);
  std::string characters;
  for (int i = 0; i < 131072; ++i) characters += "\u00E9";
  EXPECT_EQ(rows_of(characters).size(), 1u);
  EXPECT_THROW(rows_of(longest + "a\n"), PythonCsvError);
  EXPECT_THROW(rows_of("a\n\"" + longest + longest), PythonCsvError);
  EXPECT_THROW(rows_of("a,b\nc,\xFF\n"), PythonCsvError);
  EXPECT_THROW(rows_of("caf\xC3"), PythonCsvError);
}

}  // namespace
}  // namespace aggregate_power
