// Text and numbers as HTML, links and CSV have them: whatever a text is, it stays text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

// ---- Numbers as people read them in tables

// Four digits that say something, and no exponent where it can be: "0.4123", "12.35", "1235",
// "123456".
std::string shown_number(double value);

// With half the width of its interval, both to the second digit of that: "0.4123 ± 0.0021". An
// interval that is far from symmetric is shown itself: "0.41 (0.40 to 0.47)".
std::string shown_interval(double value, double low, double high);

// "2026-09-08 07:20 UTC"; empty if it is not in the years 1 to 9999.
std::string shown_minute(double unix_s);

// ---- Text of files as HTML, links and CSV have it: whatever it is, it stays text

// Appends a text on one line, also within attributes in double quotes. What could be markup is
// escaped, control characters become '?', and bytes that are not UTF-8 U+FFFD.
void append_html(std::string& out, std::string_view text);
std::string html(std::string_view text);

// At most so many characters of a text, on one line of valid UTF-8: its beginning and, since what
// tells paths apart is at their end, more of its end, with an ellipsis between them.
std::string cut_text(std::string_view text, std::size_t most_characters);

// A path as a relative link has it.
std::string link_text(std::string_view path);

// The relative path from a folder to a file; both are absolute and without links.
std::string path_between(std::string_view from_folder, std::string_view to_file);

// A file as a link: nothing is fetched.
std::string data_link(std::string_view media_type, std::string_view bytes);

}  // namespace aggregate_power
