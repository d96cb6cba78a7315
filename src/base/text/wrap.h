// Breaks text into lines of a given width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

// The width of UTF-8 text in characters: those that this program writes are one column wide.
std::size_t columns(std::string_view text);

// `text` as lines, each with its line end: the first begins with `first`, the others with `indent`
// blanks. Lines are broken at blanks; a word that is longer than a line stays whole.
std::string wrapped(std::string_view text, std::string first, std::size_t indent,
                    std::size_t width);

// A command as lines that a shell reads as one: all but the last end with a backslash. It is broken
// before options only.
std::string wrapped_command(std::string_view command, std::size_t indent, std::size_t width);

}  // namespace aggregate_power
