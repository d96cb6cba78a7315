// What the terminal allows: the width of lines, and colour.
#pragma once

#include <cstddef>
#include <cstdio>

namespace aggregate_power {

// The columns of the terminal behind `stream`: $COLUMNS, else what the terminal says, else 80.
std::size_t terminal_columns(std::FILE* stream);

// The width of text for people on stdout: the terminal's, at most 100, because longer lines are
// hard to read.
std::size_t text_width();

bool is_terminal(std::FILE* stream);

// Whether the locale's characters are UTF-8, by $LC_ALL, else $LC_CTYPE, else $LANG.
bool is_utf8_locale();

// Whether what goes to `stream` may be coloured: it is a terminal, and neither NO_COLOR nor
// TERM=dumb speaks against it.
bool has_colour(std::FILE* stream);

}  // namespace aggregate_power
