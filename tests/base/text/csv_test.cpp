// Lines to cells. Rows in the tables are what CPython 3.11's
// csv.reader(io.StringIO(text, newline=""), skipinitialspace=True) gives.
#include "base/text/csv.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace csv_test {

using namespace std::string_literals;
using test::kWhole;
using test::StutterSource;

using Cells = std::vector<std::string>;
using Table = std::vector<Cells>;

// A row as CsvReader tells it, but for what is not selected.
struct Row {
  Cells cells;
  std::uint32_t cell_count = 0;
  std::uint32_t filled_count = 0;
  bool blank = false;
  bool terminated = true;

  bool operator==(const Row&) const = default;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << fmt::format("{} count {} filled {}{}{}", row.cells, row.cell_count, row.filled_count,
                      row.blank ? " blank" : "", row.terminated ? "" : " unterminated");
}

struct Columns {
  std::vector<std::size_t> indices = {0, 1, 2, 3, 4, 5, 6, 7};
  std::size_t header_cells = 1000000;
};

std::vector<Row> read_rows(ByteSource& source, const Columns& columns, const std::string& head = {},
                           CsvBlanks blanks = CsvBlanks::skipped) {
  CsvReader reader(source, head, blanks);
  reader.select(columns.indices, columns.header_cells);
  std::vector<Row> rows;
  while (true) {
    const std::span<const CsvRow> batch = reader.next_batch();
    if (batch.empty()) return rows;
    for (const CsvRow& row : batch) {
      Row copy{{}, row.cell_count, row.filled_count, row.blank, row.terminated};
      for (std::size_t i = 0; i < columns.indices.size(); ++i)
        copy.cells.emplace_back(row.cells[i]);
      rows.push_back(std::move(copy));
    }
  }
}

std::vector<Row> read_rows(const std::string& text, const Columns& columns = {},
                           std::size_t most = kWhole, std::size_t head = 0) {
  StutterSource source(text.substr(head), most);
  return read_rows(source, columns, text.substr(0, head));
}

// The whole of each row, as far as eight columns reach.
Table cells_of(const std::string& text, std::size_t most = kWhole, std::size_t head = 0) {
  Table table;
  for (Row& row : read_rows(text, {}, most, head)) {
    EXPECT_LE(row.cell_count, row.cells.size()) << "this test wants short rows";
    row.cells.resize(row.cell_count);
    table.push_back(std::move(row.cells));
  }
  return table;
}

Table split(const std::string& text) {
  Table table;
  for (CsvTextRow& row : split_csv(text, text.size() + 1, true)) table.push_back(row.cells);
  return table;
}

struct Case {
  std::string text;
  Table rows;
};

const Case kPython[] = {
    {"a,b\n", {{"a", "b"}}},
    {"a,b", {{"a", "b"}}},
    {"a,b\r\n", {{"a", "b"}}},
    {"a,b\rc,d\r", {{"a", "b"}, {"c", "d"}}},
    {"a,b\n\nc\n", {{"a", "b"}, {}, {"c"}}},
    {"a\r\n\r\nb\r\n", {{"a"}, {}, {"b"}}},
    {"\n", {{}}},
    {"", {}},
    {"\r\n", {{}}},
    {"   \n", {{""}}},
    {" \t \n", {{"\t "}}},
    {" a,  b\n", {{"a", "b"}}},
    {"a ,b \n", {{"a ", "b "}}},
    {"\ta,\tb\n", {{"\ta", "\tb"}}},
    {"\"a,b\",c\n", {{"a,b", "c"}}},
    {"\"a\"\"b\",c\n", {{"a\"b", "c"}}},
    {"\"\"\"\"\n", {{"\""}}},
    {"\"\",b\n", {{"", "b"}}},
    {"a\"b,c\n", {{"a\"b", "c"}}},
    {"5\"00,x\n", {{"5\"00", "x"}}},
    {"a,\"b\nc\",d\n", {{"a", "b\nc", "d"}}},
    {"\"a\r\nb\",c\n", {{"a\r\nb", "c"}}},
    {"\"a\rb\"\n", {{"a\rb"}}},
    {", \"500 W\",x\n", {{"", "500 W", "x"}}},
    {"\"a\"b,c\n", {{"ab", "c"}}},
    {"\"a\" ,b\n", {{"a ", "b"}}},
    {"\"a\" \"b,c\",d\n", {{"a \"b", "c\"", "d"}}},
    {"\"a\"b\"c,d\"\n", {{"ab\"c", "d\""}}},
    {"\"\" \"x,y\"\n", {{" \"x", "y\""}}},
    {"\"a\nb", {{"a\nb"}}},
    {"a,\"b", {{"a", "b"}}},
    {"a,", {{"a", ""}}},
    {"a,\n", {{"a", ""}}},
    {",\n", {{"", ""}}},
    {",,\n", {{"", "", ""}}},
    {"\"a\"", {{"a"}}},
    {"\"a\"\n\"b\"\n", {{"a"}, {"b"}}},
    {"a\n\rb\n", {{"a"}, {}, {"b"}}},
    {"a\r\r\nb\n", {{"a"}, {}, {"b"}}},
    {"a,'b,c'\n", {{"a", "'b", "c'"}}},
    {"\"a\"\r\n", {{"a"}}},
    {"\"a\"\"\nb\"\"\"\n", {{"a\"\nb\""}}},
    {"x,\"\n\",y\n", {{"x", "\n", "y"}}},
    {"a\vb,c\fd\034\n", {{"a\vb", "c\fd\034"}}},
    {"a\302\205b\n", {{"a\302\205b"}}},
    {"\302\240a,b\n", {{"\302\240a", "b"}}},
    {"\" a \",b\n", {{" a ", "b"}}},
    {"\"a\",   \"b\"\n", {{"a", "b"}}},
    {"a,   \n", {{"a", ""}}},
    {"   ,b\n", {{"", "b"}}},
    {"a;b\n", {{"a;b"}}},
    {"\\\"a,b\\\"\n", {{"\\\"a", "b\\\""}}},
    {"a,\"b\"\"c\"\n", {{"a", "b\"c"}}},
    {"a\n   ", {{"a"}, {""}}},
    {"a\n\"", {{"a"}, {""}}},
    {"a\n\"\"", {{"a"}, {""}}},
    {"\"a\n\n\nb\"\n", {{"a\n\n\nb"}}},
    {"a,b\n\n\n", {{"a", "b"}, {}, {}}},
    {"\"x\"y\nz\n", {{"xy"}, {"z"}}},
    {"\"x\r", {{"x\r"}}},
    {"a\r", {{"a"}}},
    {"a\r\n", {{"a"}}},
};

TEST(SplitCsv, CutsRowsAsPythonDoes) {
  for (const Case& c : kPython) EXPECT_EQ(split(c.text), c.rows) << c.text;
}

TEST(CsvReader, CutsRowsAsPythonDoes) {
  for (const Case& c : kPython) EXPECT_EQ(cells_of(c.text), c.rows) << c.text;
}

TEST(CsvReader, GivesTheSameRowsInAnyPieces) {
  for (const Case& c : kPython) {
    for (const std::size_t most : {1, 2, 3}) {
      EXPECT_EQ(cells_of(c.text, most), c.rows) << c.text << ", " << most << " at a time";
    }
    for (std::size_t head = 0; head <= c.text.size(); ++head) {
      EXPECT_EQ(cells_of(c.text, 1, head), c.rows) << c.text << ", the first " << head << " before";
    }
  }
}

// A quoted cell that is not selected still has to be read right: it says where the others are.
TEST(CsvReader, CutsRowsAsPythonDoesWhenOnlyTheLastCellIsWanted) {
  for (const Case& c : kPython) {
    const std::string text = c.text.ends_with('\n') ? c.text : c.text + '\n';
    const std::size_t lines = split(text).size();
    for (std::size_t column = 0; column < 4; ++column) {
      const std::vector<Row> rows = read_rows(text, {{column}, 1000000});
      const Table expected = split(text);
      ASSERT_EQ(rows.size(), lines) << text;
      for (std::size_t i = 0; i < lines; ++i) {
        EXPECT_EQ(rows[i].cell_count, expected[i].size()) << text << ", column " << column;
        EXPECT_EQ(rows[i].cells[0], column < expected[i].size() ? expected[i][column] : "")
            << text << ", column " << column;
      }
    }
  }
}

TEST(CsvReader, KnowsBlankRows) {
  const std::vector<Row> rows = read_rows("\n  \n\t\n\302\240\r\n\"\"\n\" \"\n,\nx\n  ", {{0}, 2});
  std::vector<bool> blank;
  for (const Row& row : rows) blank.push_back(row.blank);
  // An empty line, blanks, a tab, a no-break space, empty quotes, a quoted blank: nothing in them.
  // Two empty cells are a row.
  EXPECT_EQ(blank, (std::vector<bool>{true, true, true, true, true, true, false, false, true}));
  EXPECT_EQ(rows[0].cell_count, 0u);
  EXPECT_EQ(rows[1].cell_count, 1u);
}

TEST(CsvReader, KnowsAnUnterminatedLastRow) {
  const struct {
    std::string text;
    std::vector<bool> terminated;
  } cases[] = {
      {"a,b\nc,d\n", {true, true}},
      {"a,b\nc,d", {true, false}},
      {"a,b\nc,d\r", {true, true}},
      {"a,b\n\"c\nd", {true, false}},
      {"a", {false}},
      {"a\n ", {true, false}},
      {"a\n\0\0"s, {true}},
  };
  for (const auto& c : cases) {
    std::vector<bool> terminated;
    for (const Row& row : read_rows(c.text)) terminated.push_back(row.terminated);
    EXPECT_EQ(terminated, c.terminated) << c.text;
    terminated.clear();
    for (const CsvTextRow& row : split_csv(c.text, 9, true)) terminated.push_back(row.terminated);
    EXPECT_EQ(terminated, c.terminated) << c.text << ", split";
  }
}

TEST(CsvReader, CountsFilledCellsOfRowsLongerThanTheHeader) {
  const struct {
    std::string text;
    std::uint32_t cells;
    std::uint32_t filled;
  } cases[] = {
      {"1,2,3\n", 3, 3},
      {"1,2,3,\n", 4, 3},  // a trailing comma
      {"1,2,3,  \n", 4, 3},
      {"1,2,3,\t\n", 4, 3},
      {"1,2,3,\302\240\n", 4, 3},  // a no-break space
      {"1,2,3,4\n", 4, 4},
      {"1,,,4\n", 4, 4},  // up to the last one that is filled
      {"1,\"2\",,\n", 4, 2},
      {",,,,,\n", 6, 0},
      {"1,\"2,2\",3,4\n", 4, 4},
      {"1,2,3,\"\"\n", 4, 3},
      {"1,2,3,\" \"\n", 4, 3},
      {"1,2,3,\"4\n\"\n", 4, 4},
      {"1,2,3,\0"s + "\n", 4, 3},
      {"1,2,3,4,5,6,7,8,9", 9, 9},
      {"1,2\n", 2, 2},  // not longer: not counted
      {"1, \n", 2, 2},
  };
  for (const auto& c : cases) {
    for (const std::size_t most : {kWhole, std::size_t{1}}) {
      const std::vector<Row> rows = read_rows(c.text, {{1}, 3}, most);
      ASSERT_EQ(rows.size(), 1u) << c.text;
      EXPECT_EQ(rows[0].cell_count, c.cells) << c.text;
      EXPECT_EQ(rows[0].filled_count, c.filled) << c.text;
    }
  }
}

TEST(CsvReader, DropsNulsAndCountsThem) {
  const std::string text = "a\0,b\n\0\0c,\"d\0\0\",\0e\n\0\n"s;
  for (const std::size_t most : {kWhole, std::size_t{1}}) {
    StutterSource source(text, most);
    CsvReader reader(source, "");
    reader.select(std::vector<std::size_t>{0, 1, 2}, 3);
    Table table;
    while (true) {
      const auto batch = reader.next_batch();
      if (batch.empty()) break;
      for (const CsvRow& row : batch) {
        table.push_back({row.cells.begin(), row.cells.begin() + row.cell_count});
      }
    }
    EXPECT_EQ(table, (Table{{"a", "b"}, {"c", "d", "e"}, {}}));
    EXPECT_EQ(reader.dropped_nuls(), 1u + 2 + 2 + 1 + 1);
  }
  EXPECT_EQ(split(text), (Table{{"a", "b"}, {"c", "d", "e"}, {}}));
}

TEST(CsvReader, EndsAtAHole) {
  const std::string hole(kMaxNulsInRow + 1, '\0');
  for (const char* const begin : {"", "a,", "a,b\n", "a,b\r", "a,\""}) {
    StutterSource source(begin + hole + "c,d\n", kWhole);
    CsvReader reader(source, "");
    reader.select(std::vector<std::size_t>{0}, 2);
    EXPECT_THROW(
        {
          while (!reader.next_batch().empty()) continue;
        },
        CsvError)
        << begin;
    const std::string most = begin + hole.substr(1);
    StutterSource shorter(most, kWhole);
    CsvReader other(shorter, "");
    other.select(std::vector<std::size_t>{0}, 2);
    while (!other.next_batch().empty()) continue;
    EXPECT_EQ(other.dropped_nuls(), kMaxNulsInRow) << begin;
  }
}

TEST(CsvReader, CountsNulsBehindTheLastRow) {
  // What a crash leaves of a file: its size grew, its bytes never came.
  StutterSource source("a,b\n" + std::string(4096, '\0'), kWhole);
  CsvReader reader(source, "");
  reader.select(std::vector<std::size_t>{0}, 2);
  EXPECT_EQ(reader.next_batch().size(), 1u);
  EXPECT_TRUE(reader.next_batch().empty());
  EXPECT_EQ(reader.dropped_nuls(), 4096u);
}

TEST(CsvReader, ANulBetweenCarriageReturnAndLineFeedChangesNothing) {
  EXPECT_EQ(cells_of("a\0\r\nb\r\n\0c\n"s), (Table{{"a"}, {"b"}, {"c"}}));
}

TEST(CsvReader, GivesCellsInAnyOrderAskedFor) {
  const std::vector<Row> rows = read_rows("0,1,2,3,4\n\"a\",b\n", {{4, 0, 0, 2, 9}, 5});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].cells, (Cells{"4", "0", "0", "2", ""}));
  EXPECT_EQ(rows[1].cells, (Cells{"", "a", "a", "", ""}));
}

TEST(CsvReader, ReadsEveryCellOfAWideFile) {
  constexpr std::size_t kWidth = 3000;  // some 16 KiB a row
  std::string plain;
  std::string quoted;
  for (std::size_t i = 0; i < kWidth; ++i) {
    plain += fmt::format("{}{}", i == 0 ? "" : ",", i);
    quoted += fmt::format("{}\"{},{}\"", i == 0 ? "" : ",", i, i);
  }
  const std::string text = plain + "\n" + quoted + "\r\n" + plain + "\n";
  for (std::size_t i = 0; i < kWidth; i += 7) {
    const std::size_t other = kWidth - 1 - i;
    const std::vector<Row> rows = read_rows(text, {{i, other}, kWidth});
    ASSERT_EQ(rows.size(), 3u);
    const std::string a = std::to_string(i);
    const std::string b = std::to_string(other);
    EXPECT_EQ(rows[0], (Row{{a, b}, kWidth, kWidth, false, true}));
    EXPECT_EQ(rows[1], (Row{{a + "," + a, b + "," + b}, kWidth, kWidth, false, true}));
    EXPECT_EQ(rows[2], rows[0]);
  }
}

TEST(CsvReader, ReadsEveryRowOfALongFile) {
  constexpr std::size_t kRows = 60000;  // 1.4 MB: several buffers
  std::string text;
  for (std::size_t i = 0; i < kRows; ++i)
    text += fmt::format("row,{},\"{}\",x{}", i, i, i % 7 == 0 ? "\r\n" : "\n");
  for (const std::size_t most : {kWhole, std::size_t{4093}}) {
    const std::vector<Row> rows = read_rows(text, {{2, 1}, 4}, most);
    ASSERT_EQ(rows.size(), kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::string number = std::to_string(i);
      ASSERT_EQ(rows[i], (Row{{number, number}, 4, 4, false, true})) << i;
    }
  }
}

TEST(CsvReader, ReadsRowsLongerThanItsBuffer) {
  // Four cells of 100,000 characters: more than the 256 KiB that are read at once.
  const std::string cell(100000, 'x');
  for (const bool quoted : {false, true}) {
    const std::string written = quoted ? '"' + cell + '"' : cell;
    const std::string row = written + "," + written + "," + written + "," + written;
    const std::string text = "a,b\n" + row + "\n" + "c,d\n" + row + "\r\n" + row;
    for (const std::size_t most : {kWhole, std::size_t{65536}, std::size_t{1000}}) {
      const std::vector<Row> rows = read_rows(text, {{3, 1}, 4}, most);
      ASSERT_EQ(rows.size(), 5u);
      EXPECT_EQ(rows[0], (Row{{"", "b"}, 2, 2, false, true}));
      EXPECT_EQ(rows[1], (Row{{cell, cell}, 4, 4, false, true}));
      EXPECT_EQ(rows[2], (Row{{"", "d"}, 2, 2, false, true}));
      EXPECT_EQ(rows[3], rows[1]);
      EXPECT_EQ(rows[4], (Row{{cell, cell}, 4, 4, false, false}));
    }
  }
}

TEST(CsvReader, TakesAHeadLargerThanItsBuffer) {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += fmt::format("{},b\n", i);
  const std::vector<Row> rows = read_rows(text, {{0}, 2}, kWhole, text.size() - 3);
  ASSERT_EQ(rows.size(), 50000u);
  EXPECT_EQ(rows[49999].cells, (Cells{"49999"}));
}

// 131,072 characters are Python's csv.field_size_limit().
TEST(CsvReader, RefusesACellOfTooManyCharacters) {
  const struct {
    const char* what;
    std::string cell;  // without its last character it is short enough
  } cases[] = {
      {"bare", std::string(131073, 'x')},
      {"quoted", "\"" + std::string(131072, 'x') + "y\""},
      {"with line breaks", "\"" + std::string(131072, '\n') + "y\""},
  };
  for (const auto& c : cases) {
    std::string fits = c.cell;
    fits.erase(fits.size() - (fits.back() == '"' ? 2 : 1), 1);
    for (const char* end : {"\n", ""}) {
      const std::string before = "a,b\nc,";
      EXPECT_EQ(read_rows(before + fits + end, {{1}, 2}).size(), 2u) << c.what;
      EXPECT_EQ(split_csv(before + fits + end, 9, true).size(), 2u) << c.what;
      StutterSource source(before + c.cell + end, kWhole);
      CsvReader reader(source, "");
      reader.select(std::vector<std::size_t>{0}, 2);
      ASSERT_EQ(reader.next_batch().size(), 1u) << c.what << ": the row before the fault";
      EXPECT_THROW(reader.next_batch(), CsvError) << c.what;
      EXPECT_THROW(split_csv(before + c.cell + end, 9, true), CsvError) << c.what;
    }
  }
  EXPECT_STREQ(CsvError().what(), "a cell of more than 131072 characters");
}

TEST(CsvReader, CountsCharactersNotBytes) {
  std::string cell;
  for (int i = 0; i < 131072; ++i) cell += "\xE2\x82\xAC";  // a euro sign
  EXPECT_EQ(read_rows(cell + ",b\n", {{1}, 2}).at(0).cells, (Cells{"b"}));
  EXPECT_THROW(read_rows(cell + "x,b\n", {{1}, 2}), CsvError);
}

TEST(CsvReader, AnOpenQuoteCannotSwallowALongFile) {
  std::string text = "a,\"b\n";
  while (text.size() < 400000) text += "1,2\n";
  for (const std::size_t most : {kWhole, std::size_t{999}}) {
    EXPECT_THROW(read_rows(text, {{0}, 2}, most), CsvError);
  }
}

TEST(SplitCsv, SaysWhereRowsAre) {
  const std::string text = "a,b\r\n\n\"c\n\"\rlast";
  const std::vector<CsvTextRow> rows = split_csv(text, 9, true);
  ASSERT_EQ(rows.size(), 4u);
  const std::size_t begins[] = {0, 5, 6, 11};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].begin, begins[i]) << i;
    EXPECT_EQ(rows[i].end, i < 3 ? begins[i + 1] : text.size()) << i;
  }
  EXPECT_EQ(rows[1].cells, Cells{});
  EXPECT_TRUE(rows[1].blank);
  EXPECT_FALSE(rows[3].terminated);
}

TEST(SplitCsv, StopsBeforeARowWhoseEndIsNotThere) {
  for (const char* text : {"a,b\nc,d", "a,b\n\"c\n", "a,b\nc\r", "a,b\n"}) {
    EXPECT_EQ(split_csv(text, 9, false).size(), 1u) << text;
  }
  EXPECT_EQ(split_csv("a,b\nc\rx", 9, false).size(), 2u) << "a lone CR is an end once more follows";
  EXPECT_EQ(split_csv("", 9, false).size(), 0u);
}

TEST(SplitCsv, GivesNoMoreRowsThanAskedFor) {
  EXPECT_EQ(split_csv("a\nb\nc\n", 2, true).size(), 2u);
  EXPECT_EQ(split_csv("a\rb\rc", 2, true).size(), 2u);
  EXPECT_EQ(split_csv("a\nb\nc\n", 0, true).size(), 0u);
}

// A text full of what gives a CSV its shape.
std::string generated_text(test::Dice& dice) {
  static const std::string kPieces[] = {
      ",",        ",",    ",",  "\n",    "\r\n",  "\r",     "\"",    "\"",
      "\"\"",     " ",    "  ", "\0"s,   "\t",    "a",      "bc",    "12.5",
      "\xC2\xA0", "\xFF", "\v", "\"x\"", "\",\"", "\"\n\"", "\" \"", "2026/01/01 00:00:00.000"};
  // Few pieces, so that many texts are of one kind.
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < 2 + dice.below(8); ++i)
    chosen.push_back(dice.below(std::size(kPieces)));
  std::string text;
  const std::size_t count = dice.below(dice.one_in(5) ? 400 : 40);
  for (std::size_t i = 0; i < count; ++i) text += kPieces[chosen[dice.below(chosen.size())]];
  return text;
}

TEST(CsvReader, AgreesWithSplitCsvOnGeneratedTexts) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  for (int round = 0; round < test::rounds(20000); ++round) {
    const std::string text = generated_text(dice);
    Columns columns{{}, dice.below(6)};
    for (std::size_t i = 0; i < dice.below(kMaxWantedColumns + 1); ++i) {
      columns.indices.push_back(dice.below(dice.one_in(4) ? 80 : 5));
    }
    std::vector<Row> expected;
    for (const CsvTextRow& row : split_csv(text, text.size() + 1, true)) {
      Row all{{}, static_cast<std::uint32_t>(row.cells.size()), 0, row.blank, row.terminated};
      for (const std::size_t index : columns.indices) {
        all.cells.push_back(index < row.cells.size() ? row.cells[index] : "");
      }
      for (std::uint32_t i = 0; i < row.cells.size(); ++i) {
        const std::string& cell = row.cells[i];
        if (cell.find_first_not_of(" \t\v\r\n") != std::string::npos && cell != "\xC2\xA0") {
          all.filled_count = i + 1;
        }
      }
      expected.push_back(std::move(all));
    }
    const std::size_t most = dice.one_in(2) ? kWhole : 1 + dice.below(70);
    const std::size_t head = dice.one_in(2) ? 0 : dice.below(text.size() + 1);
    std::vector<Row> rows = read_rows(text, columns, most, head);
    const auto skip_uncounted = [&](std::vector<Row>& all) {
      for (Row& row : all) {
        // No-break spaces may stand side by side; the reader has its own idea of those.
        if (row.cell_count <= columns.header_cells || text.find("\xC2\xA0") != std::string::npos) {
          row.filled_count = 0;
        }
      }
    };
    skip_uncounted(rows);
    skip_uncounted(expected);
    ASSERT_EQ(rows, expected) << "TEST_SEED=" << seed << ", round " << round << ": " << text
                              << "\ncolumns " << fmt::format("{}", columns.indices) << " of "
                              << columns.header_cells << ", " << most << " at a time, " << head
                              << " before";
  }
}

// Expected: csv.reader(io.StringIO(text, newline="")).
// As amd-smi writes them; the header has four cells.
TEST(CsvReader, JoinsListsWithoutQuotesWhereTheirBracketsBalance) {
  const struct {
    const char* line;
    Cells cells;
    std::uint32_t count;
  } cases[] = {
      {"0,600,['0', '0'],[0, 0]\n", {"0", "600", "['0', '0']", "[0, 0]"}, 4},
      {"0,['0', '0', '0'],600,x\r\n", {"0", "['0', '0', '0']", "600", "x"}, 4},
      {"0,{'a': [0, 1], 'b': [2]},600,x\n", {"0", "{'a': [0, 1], 'b': [2]}", "600", "x"}, 4},
      {"0,[[1, 2], [3]],600,[]\n", {"0", "[[1, 2], [3]]", "600", "[]"}, 4},
      {"0,600,\"[0, 0]\",[1, 2]\n", {"0", "600", "[0, 0]", "[1, 2]"}, 4},
      {"0,600,[0],[1]", {"0", "600", "[0]", "[1]"}, 4},
      // Not balanced, not as many as the header, not at a cell's beginning.
      {"0,600,[0, 0,1\n", {"0", "600", "[0", "0"}, 5},
      {"0,600,[0, 0],1,2\n", {"0", "600", "[0", "0]"}, 6},
      {"0,600,a[0, 0],1\n", {"0", "600", "a[0", "0]"}, 5}};
  for (const auto& c : cases) {
    MemorySource source(c.line);
    const auto rows = read_rows(source, {{0, 1, 2, 3}, 4});
    ASSERT_EQ(rows.size(), 1u) << c.line;
    EXPECT_EQ(rows[0].cells, c.cells) << c.line;
    EXPECT_EQ(rows[0].cell_count, c.count) << c.line;
  }
  MemorySource strict("0,600,[0, 0],1\n");
  EXPECT_EQ(read_rows(strict, {{0, 1, 2, 3}, 4}, {}, CsvBlanks::kept)[0].cell_count, 5u);
}

TEST(CsvReader, KeepsBlanksWhereTheyAreWanted) {
  const struct {
    const char* text;
    Table rows;
  } cases[] = {
      {"a, b,c\n", {{"a", " b", "c"}}},
      {" \"a\",b\n", {{" \"a\"", "b"}}},
      {"a, \"b,c\"\n", {{"a", " \"b", "c\""}}},
      {"a,\t\"b\"\n", {{"a", "\t\"b\""}}},
      {"\"a\"b,c\n", {{"ab", "c"}}},
      {"\"a,b\" ,c\n", {{"a,b ", "c"}}},
      {"a,\"b\"\"c\"\n", {{"a", "b\"c"}}},
      {"\"x\ny\",1\r\n2,3\r", {{"x\ny", "1"}, {"2", "3"}}},
      {"\n", {{}}},
      {"  \n", {{"  "}}},
      {" , \n", {{" ", " "}}},
      {",\n", {{"", ""}}},
      {"a\n\nb", {{"a"}, {}, {"b"}}},
      {"a,b ", {{"a", "b "}}},
  };
  for (const auto& c : cases) {
    for (const std::size_t most : {std::size_t{1}, std::size_t{3}, kWhole}) {
      StutterSource source(c.text, most);
      Table found;
      for (Row& row : read_rows(source, {}, {}, CsvBlanks::kept)) {
        row.cells.resize(row.cell_count);
        found.push_back(std::move(row.cells));
      }
      EXPECT_EQ(found, c.rows) << c.text << most;
    }
  }
}

// Rows around the sizes of the reader's blocks and buffer.
TEST(CsvReader, KeepsBlanksInRowsOfAnyLength) {
  for (const std::size_t size : {61u, 62u, 63u, 64u, 65u, 127u, 128u, 70000u}) {
    const std::string filling(size, 'x');
    const std::string text = " \"" + filling + "\", \"y\",\"" + filling + "\"\r\n z,\" q\"";
    for (const std::size_t most : {std::size_t{4096}, kWhole}) {
      StutterSource source(text, most);
      const std::vector<Row> rows = read_rows(source, {}, {}, CsvBlanks::kept);
      ASSERT_EQ(rows.size(), 2u);
      EXPECT_EQ(rows[0].cells[0], " \"" + filling + "\"");
      EXPECT_EQ(rows[0].cells[1], " \"y\"");
      EXPECT_EQ(rows[0].cells[2], filling);
      EXPECT_EQ(rows[1].cells[0], " z");
      EXPECT_EQ(rows[1].cells[1], " q");
    }
  }
}

// The same masks by hand.
ByteMasks plain_masks(const char* block) {
  ByteMasks masks{};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (block[i] == ',') masks.commas |= bit;
    if (block[i] == '"') masks.quotes |= bit;
    if (static_cast<unsigned char>(block[i]) <= 13) masks.controls |= bit;
  }
  return masks;
}

TEST(ByteMasks, AreRight) {
  test::Dice dice(1);
  for (int round = 0; round < 2000; ++round) {
    // The first rounds: one byte value all over, then random ones among those that matter.
    char block[64];
    for (char& c : block) {
      c = static_cast<char>(round < 256 ? static_cast<std::size_t>(round)
                            : round % 2 == 0
                                ? dice.below(256)
                                : std::size_t("\0\n\r,\"\x0E!#+-\x80\xFF\x8D\xAC"[dice.below(14)]));
    }
    const ByteMasks found = masks_of(block);
    const ByteMasks wanted = plain_masks(block);
    ASSERT_EQ(found.commas, wanted.commas) << round;
    ASSERT_EQ(found.quotes, wanted.quotes) << round;
    ASSERT_EQ(found.controls, wanted.controls) << round;
    std::uint32_t bits = 0;
    for (int i = 0; i < 64; ++i) bits += (wanted.controls >> i & 1) != 0 ? 1 : 0;
    ASSERT_EQ(count_bits(wanted.controls), bits);
  }
  EXPECT_EQ(count_bits(0), 0u);
  EXPECT_EQ(count_bits(~std::uint64_t{0}), 64u);
  EXPECT_EQ(count_bits(0x8000000000000001U), 2u);
}

TEST(RunningParity, IsOneFromAnOpeningBitToBeforeTheClosingOne) {
  EXPECT_EQ(running_parity(0), 0u);
  EXPECT_EQ(running_parity(0b00100100), 0b00011100u);
  EXPECT_EQ(running_parity(1), ~std::uint64_t{0});
  EXPECT_EQ(running_parity(std::uint64_t{1} << 63), std::uint64_t{1} << 63);
}

TEST(CsvCell, IsInQuotesWhereAReaderNeedsThem) {
  const std::pair<const char*, const char*> kCells[] = {
      {"", ""},
      {"plain", "plain"},
      {"a b", "a b"},
      {"a,b", "\"a,b\""},
      {"say \"so\"", "\"say \"\"so\"\"\""},
      {"a\nb", "\"a\nb\""},
      {"a\r", "\"a\r\""},
      {" a", "\" a\""},
      {"\ta", "\"\ta\""},
  };
  for (const auto& [text, cell] : kCells) {
    EXPECT_EQ(csv_cell(text), cell);
    EXPECT_EQ(cells_of_line(std::string(cell) + ",x").at(0), text);
  }
}

TEST(SpreadsheetCell, IsNeverAFormula) {
  const std::pair<const char*, const char*> kCells[] = {
      {"", ""},
      {"plain", "plain"},
      {"a,\"b\"", "\"a,\"\"b\"\"\""},
      {"=HYPERLINK(1)", "'=HYPERLINK(1)"},
      {"=1+1,2", "\"'=1+1,2\""},
      {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
      {"-x", "'-x"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"\uFF1D1+1", "'\uFF1D1+1"},  // full-width
      {"\t=1", "?=1"},
      {"\r=1", "?=1"},
      {"a\n=1", "a?=1"},
      {"-1.5", "-1.5"},
      {"+2e3", "'+2e3"},  // we write no plus
      {"-", "'-"},
  };
  for (const auto& [text, cell] : kCells) EXPECT_EQ(spreadsheet_cell(text), cell) << text;
}

}  // namespace csv_test
}  // namespace aggregate_power
