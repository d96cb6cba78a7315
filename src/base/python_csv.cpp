// Rows exactly as Python's csv.reader gives them.
#include "aggregate_power/base/python_csv.h"

#include <algorithm>

#include "aggregate_power/base/csv.h"
#include "aggregate_power/base/unicode.h"

namespace aggregate_power {
namespace {

constexpr int kEnd = -1;

bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

}  // namespace

int PythonCsv::get() {
  if (at_ == end_) {
    at_ = 0;
    end_ = source_.read(buffer_);
    if (end_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[at_++]);
}

void PythonCsv::check(const std::string& cell) const {
  if (!std::ranges::all_of(cell, is_ascii) && replace_invalid_utf8(cell) != cell) {
    throw PythonCsvError("bytes that are no UTF-8");
  }
}

bool PythonCsv::next(std::vector<std::string>& cells) {
  enum class State { cell_start, plain, quoted, quote_in_quoted };
  State state = State::cell_start;
  std::size_t count = 0;
  std::size_t characters = 0;
  std::string cell;
  bool has_any = false;
  const auto finish_cell = [&] {
    check(cell);
    if (count == cells.size()) cells.emplace_back();
    cells[count++].swap(cell);
    cell.clear();
    characters = 0;
    state = State::cell_start;
  };
  const auto put = [&](int byte) {
    cell += static_cast<char>(byte);
    const bool begins_character = (byte & 0xC0) != 0x80;
    if (begins_character && ++characters > kMaxCellCharacters) {
      throw PythonCsvError("a cell of more than 131072 characters");
    }
  };
  while (true) {
    const int byte = get();
    if (byte == '\n' && after_cr_) {
      after_cr_ = false;
      if (state == State::quoted) put(byte);
      continue;
    }
    after_cr_ = byte == '\r';
    if (byte == kEnd) {
      if (has_any) finish_cell();
      break;
    }
    const bool ends_line = byte == '\n' || byte == '\r';
    if (ends_line && state != State::quoted) {
      if (has_any) finish_cell();
      cells.resize(count);
      return true;
    }
    has_any = true;
    if (state == State::quoted) {
      if (byte == '"') {
        state = State::quote_in_quoted;
      } else {
        put(byte);
      }
    } else if (byte == ',') {
      finish_cell();
    } else if (byte == '"' && state == State::cell_start) {
      state = State::quoted;
    } else {
      put(byte);
      state = byte == '"' && state == State::quote_in_quoted ? State::quoted : State::plain;
    }
  }
  cells.resize(count);
  return has_any;
}

}  // namespace aggregate_power
