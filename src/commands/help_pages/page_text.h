// Help pages as text for a terminal, and as man pages.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "commands/help_pages/markdown.h"

namespace aggregate_power {

// Lines of at most `width` columns, except longer words; long lines of code are folded. Code in
// sentences keeps its backticks.
std::string page_text(std::span<const markdown::Block> blocks, std::size_t width);

// The same for troff's man macros: everything after .TH and NAME.
std::string page_roff(std::span<const markdown::Block> blocks);
// Text without markup, escaped for troff.
std::string roff_escaped(std::string_view text);

// The topic that a link such as "backfill.md#layouts" leads to; empty: not another page.
std::string_view linked_topic(std::string_view target);

// A table as columns; empty: it does not fit into `width`. The widest column may take two lines or
// three.
std::vector<std::string> aligned(const markdown::Table& table, std::size_t width);

}  // namespace aggregate_power
