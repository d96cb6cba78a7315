// Text of files as HTML, links and CSV have it: whatever it is, it stays text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aggregate_power {

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
