// The files of a store, from sections of an input, to a report. Its page must have no elements but
// ours, however the files name things.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "aggregate_power/error.h"
#include "base/files/file.h"
#include "fuzz/fuzz_util.h"
#include "views/page/page.h"

namespace {

using namespace aggregate_power;
using fuzz::require;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The names of all elements, outside of scripts and styles.
std::set<std::string> elements_of(std::string_view page) {
  std::set<std::string> names;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at + 1)) {
    std::size_t begin = at + 1;
    if (begin < page.size() && page[begin] == '/') ++begin;
    std::size_t end = begin;
    while (end < page.size() && is_letter(page[end])) ++end;
    const std::string name(page.substr(begin, end - begin));
    names.insert(name);
    if (name != "script" && name != "style") continue;
    const std::size_t close = page.find("</" + name, end);
    require(close != page.npos);
    at = close;
  }
  return names;
}

std::size_t count_of(std::string_view page, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = page.find(what); at != page.npos; at = page.find(what, at + 1)) ++count;
  return count;
}

void require_harmless(const std::string& page) {
  static const std::set<std::string> known = {
      "",         "DOCTYPE", "a",          "b",      "body",   "circle",  "clipPath", "defs",
      "desc",     "details", "div",        "figure", "footer", "form",    "g",        "h1",
      "h2",       "head",    "html",       "label",  "li",     "line",    "main",     "meta",
      "noscript", "option",  "output",     "p",      "path",   "polygon", "polyline", "rect",
      "script",   "section", "select",     "span",   "style",  "summary", "svg",      "table",
      "tbody",    "td",      "text",       "th",     "thead",  "title",   "tr",       "tspan",
      "ul",       "input",   "button",     "code",   "h3",     "use",     "dl",       "dt",
      "dd",       "caption", "figcaption", "small",  "wbr"};
  for (const std::string& name : elements_of(page)) require(known.contains(name));
  require(std::ranges::all_of(
      page, [](char c) { return c == '\n' || c < 0 || (c >= ' ' && c != 0x7F); }));
  require(count_of(page, "<script") <= 1 && count_of(page, "href=\"javascript:") == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  folder.clear();
  folder.put_sections(fuzz::text_of(data, size));
  try {
    require_harmless(make_report({.places = {folder.path()}, .out = folder.at("page.html")}).html);
  } catch (const FileError&) {
  } catch (const Error&) {
  }
  return 0;
}
