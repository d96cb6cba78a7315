// A help page as text for a terminal, and as a man page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/text/markdown.h"

namespace aggregate_power {

// Lines of at most 80 columns, but for code, words that are longer, and tables of up to 100. Code
// keeps its backticks.
std::string page_text(std::span<const markdown::Block> blocks);

// The same for troff's man macros: everything below .TH and NAME.
std::string page_roff(std::span<const markdown::Block> blocks);
// Text without markup, as troff's input.
std::string roff_escaped(std::string_view text);

// The topic that a link such as "backfill.md#layouts" leads to; empty: not another page.
std::string_view linked_topic(std::string_view target);

// A table narrow enough for columns, a line for each row; empty: too wide for `width`.
std::vector<std::string> aligned(const markdown::Table& table, std::size_t width);

}  // namespace aggregate_power
