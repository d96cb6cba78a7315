// Escapes for HTML, links and CSV.
#include "views/page/page.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text/characters.h"

namespace aggregate_power {
namespace {

bool is_plain_text(char c) {
  return c >= ' ' && c <= '~' && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

std::string_view escape_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

// Characters that XML does not allow.
bool is_unsuitable(char32_t code) { return code == 0xFFFE || code == 0xFFFF; }

// One line of text that looks like what it is.
std::string honest_line(std::string_view text) {
  const std::string line = one_line(text);
  std::string out;
  for (std::string_view rest = line; !rest.empty();) {
    const Utf8Character character = first_character(rest);
    if (is_unsuitable(character.code.value_or(0xFFFF))) {
      out += "\uFFFD";
    } else {
      out += rest.substr(0, character.size);
    }
    rest.remove_prefix(character.size);
  }
  return out;
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !is_utf8_continuation(c); }));
}

// Where the character with that number begins.
std::size_t byte_of_character(std::string_view text, std::size_t number) {
  std::size_t at = 0;
  while (number-- > 0 && at < text.size()) at += first_character(text.substr(at)).size;
  return at;
}

void append_percent(std::string& out, std::string_view text, std::string_view plain) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter || (c >= '0' && c <= '9') || plain.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace

void append_html(std::string& out, std::string_view text) {
  const auto plain_end = std::ranges::find_if_not(text, is_plain_text);
  out.append(text.begin(), plain_end);
  if (plain_end == text.end()) return;
  for (const char c : honest_line(std::string_view(plain_end, text.end()))) {
    const std::string_view escape = escape_of(c);
    if (escape.empty()) {
      out += c;
    } else {
      out += escape;
    }
  }
}

std::string html(std::string_view text) {
  std::string out;
  append_html(out, text);
  return out;
}

std::string cut_text(std::string_view text, std::size_t most_characters) {
  // No more of an endless text is looked at than can be shown.
  constexpr std::size_t kMostBytes = 4;
  std::string_view head = text;
  std::string_view tail;
  if (text.size() > 4 * kMostBytes * most_characters) {
    head = text.substr(0, 2 * kMostBytes * most_characters);
    tail = text.substr(text.size() - 2 * kMostBytes * most_characters);
  }
  std::string line = honest_line(head);
  if (!tail.empty()) line += honest_line(tail);
  const std::size_t characters = characters_of(line);
  if (characters <= most_characters) return line;
  const std::size_t before = most_characters / 3;
  const std::size_t after = most_characters - before - 1;
  return line.substr(0, byte_of_character(line, before)) + "\u2026" +
         line.substr(byte_of_character(line, characters - after));
}

std::string link_text(std::string_view path) {
  std::string link;
  // A first part with a colon would be a scheme.
  if (path.substr(0, path.find('/')).find(':') != std::string_view::npos) link = "./";
  append_percent(link, path, "/-_.~");
  return link;
}

std::string path_between(std::string_view from_folder, std::string_view to_file) {
  const std::vector<std::string_view> from = path_parts(from_folder);
  const std::vector<std::string_view> to = path_parts(to_file);
  std::size_t shared = 0;
  while (shared < from.size() && shared + 1 < to.size() && from[shared] == to[shared]) ++shared;
  std::string path;
  for (std::size_t i = shared; i < from.size(); ++i) path += "../";
  for (std::size_t i = shared; i < to.size(); ++i) {
    if (i > shared) path += '/';
    path += to[i];
  }
  return path;
}

std::string data_link(std::string_view media_type, std::string_view bytes) {
  std::string link = fmt::format("data:{};charset=utf-8,", media_type);
  append_percent(link, bytes, "-_.~,:=;/()");
  return link;
}

}  // namespace aggregate_power
