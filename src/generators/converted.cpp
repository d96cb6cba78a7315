// Converts results that are YAML or CSV to JSON.
//
// The YAML is what PyYAML writes of JSON-like values, and what people write by hand in its place:
// mappings and lists in blocks and in brackets, plain, quoted and block texts, comments. Anchors,
// tags, complex keys and several documents are refused.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "aggregate_power/error.h"
#include "base/report/json_parts.h"
#include "base/text/characters.h"
#include "base/text/csv.h"
#include "generators/generators.h"

namespace aggregate_power {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string json_text(std::string_view text) { return line_text(Json(std::string(text))); }

std::string_view without_leading(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

std::string_view without_trailing(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool is_blank_or_comment(std::string_view text) {
  text = without_leading(text);
  return text.empty() || text.starts_with('#');
}

// Without a comment, which begins after a blank.
std::string_view without_comment(std::string_view text) {
  if (text.starts_with('#')) return {};
  const std::size_t at = text.find(" #");
  return without_trailing(text.substr(0, at));
}

// As JSON has numbers: no sign +, no leading zeros, digits on both sides of the point.
bool is_json_number(std::string_view text) {
  const auto digits = [&] {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool begins_with_zero = text.starts_with('0');
  const std::size_t whole = digits();
  if (whole == 0 || (begins_with_zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return text.empty();
}

std::string plain_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return "null";
  }
  if (text == "true" || text == "True" || text == "TRUE") return "true";
  if (text == "false" || text == "False" || text == "FALSE") return "false";
  return is_json_number(text) ? std::string(text) : json_text(text);
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines_.push_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::string json() {
    if (!next_content() && at_ < lines_.size() && lines_[at_] != "...") {
      lines_[at_] = without_leading(lines_[at_].substr(3));
    }
    std::string json = block(0);
    const bool is_end = !next_content() && (at_ >= lines_.size() || lines_[at_] == "...");
    if (!is_end) refuse("a second document, or a wrong indent,");
    return json;
  }

 private:
  static constexpr std::size_t kMostLevels = 200;
  static constexpr std::size_t kNone = std::string_view::npos;

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(fmt::format(
        "line {}: {} is not read; write it as JSON, for example with 'yq -o=json'", at_ + 1, what));
  }

  static std::size_t indent_of(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
  }

  // The indent of the current line, and its text; after "- " they are the item's.
  std::size_t indent() const { return at_ == item_at_ ? item_indent_ : indent_of(lines_[at_]); }
  std::string_view text() const { return lines_[at_].substr(indent()); }

  // Goes to the next line with more than a comment; false at the end of the document.
  bool next_content() {
    while (at_ < lines_.size() && is_blank_or_comment(lines_[at_])) ++at_;
    return at_ < lines_.size() && !lines_[at_].starts_with("---") && lines_[at_] != "...";
  }

  static bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

  // Where the key of "key: value" ends, at its colon; npos: the text is no member.
  static std::size_t key_end(std::string_view text) {
    std::size_t at = 0;
    if (text.starts_with('"') || text.starts_with('\'')) {
      const std::size_t end = closing(text.substr(1), text.front());
      if (end == text.npos) return end;
      return end + 2 < text.size() && text[end + 2] == ':' ? end + 2 : text.npos;
    }
    for (; at < text.size(); ++at) {
      if (text.substr(at).starts_with(" #")) return text.npos;
      if (text[at] == ':' && (at + 1 == text.size() || text[at + 1] == ' ')) return at;
    }
    return text.npos;
  }

  // A value whose lines are indented by `least` blanks or more.
  std::string block(std::size_t least) {
    if (!next_content() || indent() < least) return "null";
    if (++level_ > kMostLevels) refuse("a nesting of more than 200 levels");
    const std::string_view first = text();
    const bool is_flow = first.starts_with('{') || first.starts_with('[');
    const auto is_member = [&] {
      return !is_flow && (first.starts_with("? ") || key_end(first) != first.npos);
    };
    std::string json = is_item(first) ? list(indent())
                       : is_member()  ? mapping(indent())
                                      : value(first, least);
    --level_;
    return json;
  }

  std::string list(std::size_t indent_of_list) {
    std::string json = "[";
    while (next_content() && indent() == indent_of_list && is_item(text())) {
      if (json.size() > 1) json += ',';
      const std::string_view item = text().substr(1);
      if (is_blank_or_comment(item)) {
        ++at_;
      } else {  // the item's text, as if its dash were a blank
        item_at_ = at_;
        item_indent_ = indent_of_list + 1 + indent_of(item);
      }
      json += block(indent_of_list + 1);
    }
    return json + ']';
  }

  std::string mapping(std::size_t indent_of_keys) {
    std::string json = "{";
    while (next_content() && indent() == indent_of_keys && !is_item(text())) {
      const std::string_view line = text();
      if (line.starts_with("? ")) refuse("a complex key");
      const std::size_t colon = key_end(line);
      if (colon == line.npos) refuse("a line without a key");
      if (json.size() > 1) json += ',';
      json += key(line.substr(0, colon)) + ':';
      const std::string_view rest = without_leading(line.substr(colon + 1));
      if (!is_blank_or_comment(rest)) {
        json += value(rest, indent_of_keys + 1);
        continue;
      }
      ++at_;
      const bool is_list = next_content() && indent() == indent_of_keys && is_item(text());
      json += is_list ? list(indent_of_keys) : block(indent_of_keys + 1);
    }
    return json + '}';
  }

  std::string key(std::string_view spelling) {
    if (spelling.starts_with('"') || spelling.starts_with('\'')) {
      return quoted(spelling.substr(1, spelling.size() - 2), spelling.front());
    }
    return json_text(without_trailing(spelling));
  }

  // A value that begins on this line with `rest`; its other lines are indented by `least` or more.
  std::string value(std::string_view rest, std::size_t least) {
    switch (rest.front()) {
      case '&':
      case '*':
        refuse("an anchor or an alias");
      case '!':
        refuse("a tag");
      case '%':
      case '@':
      case '`':
        refuse("a directive or a reserved sign");
      case '|':
      case '>':
        return block_text(rest, least);
      case '"':
      case '\'':
        return quoted_value(rest, least);
      case '[':
      case '{':
        return flow_value(rest, least);
      default:
        return plain_scalar(folded(without_comment(rest), least));
    }
  }

  // The next line of a text, after empty ones; kNone: it ends on this line.
  std::size_t next_of_text(std::size_t least) const {
    std::size_t next = at_ + 1;
    while (next < lines_.size() && without_leading(lines_[next]).empty()) ++next;
    return next < lines_.size() && indent_of(lines_[next]) >= least ? next : kNone;
  }

  // Goes to that line. A line break becomes a blank, and an empty line a line break.
  std::string go_on(std::size_t next) {
    const std::size_t empty = next - at_ - 1;
    at_ = next;
    return empty == 0 ? std::string(" ") : std::string(empty, '\n');
  }

  std::string folded(std::string_view first, std::size_t least) {
    std::string joined(first);
    for (auto next = next_of_text(least); next != kNone; next = next_of_text(least)) {
      const std::string_view line = without_comment(without_leading(lines_[next]));
      if (line.empty()) break;
      joined += go_on(next);
      joined += line;
    }
    ++at_;
    return joined;
  }

  // The place of the closing quote; npos: it is on another line.
  static std::size_t closing(std::string_view text, char quote) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || i + 1 == text.size() || text[i + 1] != '\'') return i;
        ++i;
      }
    }
    return text.npos;
  }

  static bool is_escaped_end(std::string_view text) {
    const std::size_t last = text.find_last_not_of('\\');
    const std::size_t slashes = text.size() - (last == text.npos ? 0 : last + 1);
    return slashes % 2 == 1;
  }

  std::string quoted_value(std::string_view rest, std::size_t least) {
    const char quote = rest.front();
    std::string joined;
    for (std::string_view line = rest.substr(1);; line = without_leading(lines_[at_])) {
      const std::size_t end = closing(line, quote);
      if (end != line.npos) {
        joined += line.substr(0, end);
        if (!without_comment(without_leading(line.substr(end + 1))).empty()) {
          refuse("text after a quoted one");
        }
        std::string json = quoted(joined, quote);
        ++at_;
        return json;
      }
      const bool joins = quote == '"' && is_escaped_end(line);
      joined += joins ? line.substr(0, line.size() - 1) : without_trailing(line);
      const std::size_t next = next_of_text(least);
      if (next == kNone) refuse("a quoted text without an end");
      const std::string between = go_on(next);
      if (!joins || between != " ") joined += between;
    }
  }

  // The JSON of what is between quotes.
  std::string quoted(std::string_view text, char quote) const {
    if (quote == '\'') {
      std::string plain;
      for (std::size_t i = 0; i < text.size(); ++i) {
        plain += text[i];
        if (text[i] == '\'') ++i;
      }
      return json_text(plain);
    }
    std::string json = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\') {
        json += escape(text, ++i);
      } else if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == '"') {
        const std::string one = json_text(text.substr(i, 1));
        json.append(one, 1, one.size() - 2);
      } else {
        json += text[i];
      }
    }
    return json + '"';
  }

  // The JSON of an escape whose letter is at `at`, which moves to its end.
  std::string escape(std::string_view text, std::size_t& at) const {
    struct Escape {
      char letter;
      std::string_view json;
    };
    constexpr Escape kEscapes[] = {
        {'0', "\\u0000"}, {'a', "\\u0007"}, {'e', "\\u001b"}, {'v', "\\u000b"}, {' ', " "},
        {'N', "\\u0085"}, {'_', "\\u00a0"}, {'L', "\\u2028"}, {'P', "\\u2029"}, {'\t', "\\t"}};
    if (at >= text.size()) refuse("a text that ends in a backslash");
    const char letter = text[at];
    for (const Escape& one : kEscapes) {
      if (one.letter == letter) return std::string(one.json);
    }
    const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits == 0) return fmt::format("\\{}", letter);
    if (at + digits >= text.size()) refuse("a cut-off escape");
    const std::string_view hex = text.substr(at + 1, digits);
    if (hex.find_first_not_of("0123456789abcdefABCDEF") != hex.npos) refuse("an escape");
    at += digits;
    const auto code = static_cast<std::uint32_t>(std::stoul(std::string(hex), nullptr, 16));
    if (code > 0x10FFFF) refuse("an escape beyond U+10FFFF");
    if (code < 0x10000) return fmt::format("\\u{:04x}", code);
    const std::uint32_t above = code - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10U), 0xDC00 + (above & 0x3FFU));
  }

  // "|" keeps line breaks, ">" folds them; a "-" after it drops the last one.
  std::string block_text(std::string_view header, std::size_t least) {
    const bool folds = header.front() == '>';
    const bool strips = header.find('-') != header.npos;
    std::string joined;
    std::size_t indent_of_text = 0;
    for (auto next = next_of_text(least); next != kNone; next = next_of_text(least)) {
      const std::string_view line = lines_[next];
      const std::string between = go_on(next);
      if (joined.empty()) {
        indent_of_text = indent_of(line);
      } else {
        joined += folds ? between : between == " " ? "\n" : between + '\n';
      }
      joined += line.substr(std::min(indent_of_text, indent_of(line)));
    }
    ++at_;
    return json_text(strips ? joined : joined + '\n');
  }

  // ---- Values in brackets.

  std::string flow_value(std::string_view first, std::size_t least) {
    constexpr std::size_t kMostLines = 1000;  // each one is looked at again with the next
    constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
    std::string whole(first);
    for (const std::size_t begin = at_;;) {
      std::size_t at = 0;
      std::string json;
      if (flow(whole, at, json)) {
        if (!without_comment(without_leading(std::string_view(whole).substr(at))).empty()) {
          refuse("text after a closing bracket");
        }
        ++at_;
        return json;
      }
      const std::size_t next = next_of_text(least);
      if (next == kNone) refuse("a bracket that is not closed");
      if (next - begin > kMostLines) refuse("a bracket over more than 1000 lines");
      whole += go_on(next);
      whole += without_leading(lines_[at_]);
      if (whole.size() > kMostBytes) refuse("a bracket over several lines of more than 1 MiB");
    }
  }

  // Appends the value at `at`; false if the text ends in it.
  bool flow(std::string_view text, std::size_t& at, std::string& json) {
    at = std::min(text.find_first_not_of(kBlanks, at), text.size());
    if (at == text.size()) return false;
    const char first = text[at];
    if (first == '[' || first == '{') return flow_items(text, at, json);
    if (first == '"' || first == '\'') {
      const std::size_t end = closing(text.substr(at + 1), first);
      if (end == text.npos) return false;
      json += quoted(text.substr(at + 1, end), first);
      at += end + 2;
      return true;
    }
    if (first == '&' || first == '*' || first == '!') refuse("an anchor, an alias or a tag");
    std::size_t end = at;
    while (end < text.size() && text.substr(end, 1).find_first_of(",]}") == text.npos &&
           !(text[end] == ':' && (end + 1 == text.size() || text[end + 1] == ' '))) {
      ++end;
    }
    if (end == text.size()) return false;
    json += plain_scalar(without_trailing(text.substr(at, end - at)));
    at = end;
    return true;
  }

  bool flow_items(std::string_view text, std::size_t& at, std::string& json) {
    if (++level_ > kMostLevels) refuse("a nesting of more than 200 levels");
    const char close = text[at] == '[' ? ']' : '}';
    json += text[at++];
    for (bool is_first = true;; is_first = false) {
      at = std::min(text.find_first_not_of(" \t,", at), text.size());
      const std::size_t before = at;
      if (at == text.size()) break;
      if (text[at] == close) {
        ++at;
        json += close;
        --level_;
        return true;
      }
      if (!is_first) json += ',';
      if (close == ']' ? !flow(text, at, json) : !flow_member(text, at, json)) break;
      if (at == before) refuse("a wrong bracket, or a colon in a list,");
    }
    --level_;
    return false;
  }

  bool flow_member(std::string_view text, std::size_t& at, std::string& json) {
    std::string name;
    if (text[at] == '[' || text[at] == '{') refuse("a complex key");
    if (!flow(text, at, name)) return false;
    json += name.starts_with('"') ? name : json_text(name);
    json += ':';
    at = std::min(text.find_first_not_of(kBlanks, at), text.size());
    if (at == text.size()) return false;
    if (text[at] != ':') {
      json += "null";
      return true;
    }
    return flow(text, ++at, json);
  }

  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::size_t item_at_ = kNone;  // the line whose last "- " was read,
  std::size_t item_indent_ = 0;  // and where the text after it begins
  std::size_t level_ = 0;
};

std::string json_of_yaml(std::string_view text) { return YamlReader(text).json(); }

// "key:" or "key: value" at the beginning of a line.
bool is_mapping_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return false;
  const auto is_of_key = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_ascii_digit(c) || c == '_' ||
           c == '-';
  };
  const bool ends_there =
      colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\r';
  return ends_there && std::ranges::all_of(line.substr(0, colon), is_of_key);
}

// The first line that is neither empty, nor a comment, nor the beginning of a document.
std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool is_content = !without_leading(line).empty() && !line.starts_with('\r') &&
                            !line.starts_with('#') && !line.starts_with("---");
    if (is_content) return line;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

bool is_yaml(std::string_view head) { return is_mapping_line(first_line(head)); }

// llm-d's reports and guidellm's begin with one of these.
bool is_report_in_yaml(std::string_view head) {
  constexpr std::string_view kKeys[] = {
      "results:", "run:", "scenario:", "version:", "metrics:", "args:", "metadata:", "benchmarks:"};
  const std::string_view line = first_line(head);
  return std::ranges::any_of(kKeys, [&](std::string_view key) { return line.starts_with(key); });
}

// A line of JSON for each row: {"row": {"column": "cell"}}.
std::string json_of_csv(std::string_view text) {
  const std::vector<CsvTextRow> rows =
      split_csv(text, std::numeric_limits<std::size_t>::max(), true);
  const std::size_t most = 8 * text.size() + (std::size_t{16} << 20U);  // names are in each row
  std::string lines;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    Json row = Json::object();
    const std::size_t cells = std::min(rows[i].cells.size(), rows.front().cells.size());
    for (std::size_t j = 0; j < cells; ++j) row[rows.front().cells[j]] = rows[i].cells[j];
    if (!rows[i].blank) lines += line_text({{"row", std::move(row)}}) + '\n';
    if (lines.size() > most) throw Error("it is too large as JSON: its header is too long");
  }
  return lines;
}

// LMDeploy's columns.
bool is_lmdeploy(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\n'));
  const auto has = [&](std::string_view text) { return line.find(text) != line.npos; };
  return (line.starts_with("backend,") && has(",completed,") && has(",duration,")) ||
         (line.starts_with("batch,num_promts,") && has(",RPM,"));
}

constexpr Conversion kConversions[] = {
    {.kind = "YAML", .fits = is_yaml, .is_result = is_report_in_yaml, .json_of = json_of_yaml},
    {.kind = "CSV", .fits = is_lmdeploy, .is_result = is_lmdeploy, .json_of = json_of_csv}};

}  // namespace

std::span<const Conversion> conversions() { return kConversions; }

}  // namespace aggregate_power
