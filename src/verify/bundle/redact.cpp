// Replaces what identifies people, machines and folders in the files of a bundle.
//
// First all files are searched: by the names of members, columns and labels (hostname, user,
// serial), and by form (UUIDs, PCI bus ids, addresses, paths). Then each name that was found is
// replaced wherever it is a word of its own. The words have the form of what they replace, and its
// order, so that readers understand them and add up in the same order.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/hash.h"
#include "base/files/path.h"
#include "base/files/tree.h"
#include "base/text/characters.h"
#include "base/text/decimal.h"
#include "base/text/json.h"
#include "core/record/aggregate.h"
#include "verify/bundle/bundle.h"

namespace aggregate_power::bundle {
namespace {

enum class Kind { host, domain, user, serial, uuid, bus, address, mac, folder };
constexpr std::pair<Kind, const char*> kKinds[] = {
    {Kind::host, "hosts"},           {Kind::domain, "domains"},    {Kind::user, "users"},
    {Kind::serial, "serials"},       {Kind::uuid, "uuids"},        {Kind::bus, "pci_bus_ids"},
    {Kind::address, "ip_addresses"}, {Kind::mac, "mac_addresses"}, {Kind::folder, "folders"},
};

// ---- Names of members, columns and labels

constexpr std::string_view kHostKeys[] = {"host",
                                          "hostname",
                                          "host_name",
                                          "hosts",
                                          "hostnames",
                                          "node",
                                          "nodename",
                                          "nodes",
                                          "nodelist",
                                          "node_name",
                                          "node_id",
                                          "fqdn",
                                          "computername",
                                          "instance",
                                          "pod_name",
                                          "pod",
                                          "exported_instance",
                                          "exported_pod",
                                          "exported_node",
                                          "head_node",
                                          "worker_host",
                                          "machine_name",
                                          "kubernetes_node",
                                          "slurmd_nodename",
                                          "master_addr"};
constexpr std::string_view kHostEndings[] = {"hostname", "hostnames", "_host", "_hosts",
                                             "_nodelist"};
constexpr std::string_view kUserKeys[] = {
    "user",   "username",       "user_name", "login",        "owner",      "email",       "account",
    "author", "slurm_job_user", "entity",    "wandb_entity", "created_by", "submitted_by"};
constexpr std::string_view kSecretKeys[] = {"hf_token",          "hugging_face_hub_token",
                                            "openai_api_key",    "wandb_api_key",
                                            "api_key",           "api_token",
                                            "access_token",      "auth_token",
                                            "secret_key",        "aws_secret_access_key",
                                            "aws_access_key_id", "password"};
constexpr std::string_view kNotNames[] = {
    "localhost", "unknown",   "none",    "null",   "n/a",   "default", "node",
    "host",      "gpu",       "prefill", "decode", "agg",   "server",  "worker",
    "all",       "true",      "false",   "root",   "git",   "user",    "admin",
    "nobody",    "assistant", "system",  "ubuntu", "local", "cluster"};
// What a user asked and a model said.
constexpr std::string_view kTextKeys[] = {
    "generated_texts", "generated_text",    "input_texts",  "input_text",    "prompt",
    "prompts",         "output_text",       "output_texts", "completion",    "completions",
    "content",         "response",          "responses",    "response_text", "text_output",
    "text_input",      "reasoning_content", "messages",     "question",      "answer",
    "answers",         "generated",         "model_output", "prediction",    "predictions",
    "resps",           "filtered_resps",    "outputs",      "text"};
constexpr std::string_view kTokenKeys[] = {"context",          "prompt_token_ids", "token_ids",
                                           "output_token_ids", "input_ids",        "output_ids"};
// Whatever is installed there identifies nobody.
constexpr std::string_view kPlainFolders[] = {"/usr/", "/opt/", "/proc/", "/sys/", "/dev/", "/etc/",
                                              "/bin/", "/lib/", "/v1/",   "/v2/",  "/api/"};
constexpr std::string_view kHomes[] = {"/home/", "/Users/", "/users/", "/user/"};

template <typename List>
bool is_in_list(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

// "Hostname [x]" is "hostname".
std::string plain_key(std::string_view key) {
  std::string plain = lower_ascii(strip(key.substr(0, key.find_first_of("[("))));
  for (char& c : plain) {
    if (c == '-' || c == '.' || c == ' ') c = '_';
  }
  return plain;
}

std::optional<Kind> kind_of_key(std::string_view written) {
  const std::string key = plain_key(written);
  const auto ends_key = [&](std::string_view ending) { return key.ends_with(ending); };
  if (is_in_list(kHostKeys, key) || std::ranges::any_of(kHostEndings, ends_key)) return Kind::host;
  if (is_in_list(kUserKeys, key)) return Kind::user;
  const bool is_serial = key.ends_with("serial") || key.find("serial_n") != key.npos ||
                         key.find("serialn") != key.npos || key.find("unique_id") != key.npos ||
                         key.find("uniqueid") != key.npos || key.find("asset_tag") != key.npos ||
                         key.find("board_id") != key.npos || key.find("chassis") != key.npos ||
                         key.ends_with("uuid") || is_in_list(kSecretKeys, key);
  return is_serial ? std::optional(Kind::serial) : std::nullopt;
}

// ---- Words, and what is recognized by its form

bool is_word_char(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_hex(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool ends_at(std::string_view text, std::size_t at) {
  return at >= text.size() || !is_word_char(text[at]);
}

std::size_t run_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_word_char(text[end])) ++end;
  return end - at;
}

// A pattern in which "x" stands for a hexadecimal digit, and all else for itself.
bool has_form(std::string_view text, std::size_t at, std::string_view form) {
  if (text.size() - at < form.size() || !ends_at(text, at + form.size())) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] == 'x' ? !is_hex(text[at + i]) : text[at + i] != form[i]) return false;
  }
  return true;
}

struct Found {
  Kind kind = Kind::host;
  std::size_t size = 0;
  std::string key = {};  // the same for all spellings
};

std::size_t ipv4_at(std::string_view text, std::size_t at) {
  if (at > 0 && (text[at - 1] == '.' || text[at - 1] == '-')) return 0;
  std::size_t end = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (end >= text.size() || text[end++] != '.')) return 0;
    int value = 0;
    std::size_t digits = 0;
    while (end < text.size() && is_ascii_digit(text[end]) && digits < 4) {
      value = value * 10 + (text[end++] - '0');
      ++digits;
    }
    if (digits == 0 || digits > 3 || value > 255) return 0;
  }
  const bool goes_on = end + 1 < text.size() && text[end] == '.' && is_ascii_digit(text[end + 1]);
  return ends_at(text, end) && !goes_on ? end - at : 0;
}

std::size_t ipv6_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  int colons = 0;
  std::size_t group = 0;
  bool has_double = false;
  while (end < text.size() && (is_hex(text[end]) || text[end] == ':')) {
    const bool is_colon = text[end] == ':';
    colons += is_colon ? 1 : 0;
    has_double = has_double || (is_colon && text[end - (end > at ? 1 : 0)] == ':' && end > at);
    group = is_colon ? 0 : group + 1;
    if (group > 4 || colons > 7) return 0;
    ++end;
  }
  const bool is_whole = colons == 7 || (has_double && colons >= 2);
  return is_whole && text[end - 1] != ':' && ends_at(text, end) ? end - at : 0;
}

bool is_own_address(std::string_view address) {
  return address.starts_with("127.") || address == "0.0.0.0" || address == "255.255.255.255";
}

// The domain counts as a number: some tools write it with four digits, others with eight.
std::string bus_key(std::string_view text) {
  const std::size_t domain = text.find(':');
  return lower_ascii(fmt::format("{:0>8}{}", text.substr(0, domain), text.substr(domain)));
}

// At the first character of a word.
std::optional<Found> form_at(std::string_view text, std::size_t at) {
  if (!is_hex(text[at])) return std::nullopt;
  const auto found = [&](Kind kind, std::size_t size) {
    return Found{kind, size, lower_ascii(text.substr(at, size))};
  };
  constexpr std::string_view kUuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (has_form(text, at, kUuid)) return found(Kind::uuid, kUuid.size());
  for (const std::string_view form : {"xxxx:xx:xx.x", "xxxxxxxx:xx:xx.x"}) {
    if (!has_form(text, at, form)) continue;
    return Found{Kind::bus, form.size(), bus_key(text.substr(at, form.size()))};
  }
  constexpr std::string_view kMac = "xx:xx:xx:xx:xx:xx";
  if (has_form(text, at, kMac)) return found(Kind::mac, kMac.size());
  if (const std::size_t size = ipv4_at(text, at)) {
    if (is_own_address(text.substr(at, size))) return std::nullopt;
    return found(Kind::address, size);
  }
  if (const std::size_t size = ipv6_at(text, at)) return found(Kind::address, size);
  return std::nullopt;
}

// The first word of a name that is searched for.
std::string first_word(std::string_view name) {
  return lower_ascii(name.substr(0, run_at(name, 0)));
}

bool is_name(Kind kind, std::string_view text) {
  constexpr std::size_t kMost = 253;
  if (text.size() < 3 || text.size() > kMost || !is_word_char(text[0])) return false;
  if (is_in_list(kNotNames, lower_ascii(text))) return false;
  const bool has_digit = std::ranges::any_of(text, is_ascii_digit);
  const bool has_letter =
      std::ranges::any_of(text, [](char c) { return is_word_char(c) && !is_ascii_digit(c); });
  const auto is_plain = [](char c) {
    return is_word_char(c) || c == '.' || c == '-' || c == '_' || c == '+';
  };
  if (!std::ranges::all_of(text, is_plain)) return false;
  if (kind == Kind::serial) return has_digit && text.size() >= 6;
  if (ipv4_at(text, 0) == text.size()) return false;
  constexpr std::size_t kShortestNumber = 6;
  return has_letter || text.size() >= kShortestNumber;
}

bool is_folder_path_char(char c) {
  return static_cast<unsigned char>(c) > ' ' &&
         std::string_view("\"'`,;<>|(){}[]*?&=:\\").find(c) == std::string_view::npos;
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> all;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (!name.empty()) all.push_back(name);
  }
  return all;
}

// ---- All that is known, and what it becomes

class Names {
 public:
  // From a value under a key.
  void learn(Kind kind, std::string_view value);
  // From any text: by form, homes, mail addresses, KEY=VALUE.
  void learn_text(std::string_view text);
  void learn_files(const std::vector<BundledFile>& files);
  // After all was learned.
  void settle();
  void add_digest(const std::string& before, const std::string& after, std::uint64_t bytes) {
    digests_[before] = {after, bytes};
  }

  // A text, and one that may be a path as a whole.
  std::string replaced(std::string_view text);
  std::string replaced_value(std::string_view text);
  std::string name_of(const BundledFile& file);
  // The size of what a digest is now about.
  std::optional<std::uint64_t> bytes_of(const std::string& digest) const;
  // A number that is a serial.
  std::string replaced_number(std::string_view digits) const;
  Json counts() const;

 private:
  struct Word {
    std::string name;  // in lower case
    std::string other;
  };
  struct Digest {
    std::string other;
    std::uint64_t bytes = 0;
  };
  void learn_host(std::string_view value);
  void add(Kind kind, std::string key, std::string_view spelling);
  std::string word_for(Kind kind, std::size_t number, std::size_t count,
                       const std::string& spelling) const;
  const Word* word_at(std::string_view text, std::size_t at) const;
  std::string folder(std::string_view path);
  std::string replaced_path(std::string_view path);

  std::set<std::string> ranks_;  // of nodes, which readers know by these names
  std::map<Kind, std::map<std::string, std::string>> found_;  // the first spelling
  std::map<Kind, std::map<std::string, std::string>> other_;
  std::unordered_map<std::string, std::vector<Word>> words_;  // by their first word
  std::map<std::string, Digest> digests_;
  std::map<std::string, std::string, std::less<>> paths_;  // of files and folders, as they become
};

void Names::add(Kind kind, std::string key, std::string_view spelling) {
  found_[kind].try_emplace(std::move(key), spelling);
}

// "http://node-a.example.org:9400/metrics" is of the host node-a.
void Names::learn_host(std::string_view value) {
  if (const std::size_t scheme = value.find("://"); scheme != value.npos) {
    value.remove_prefix(scheme + 3);
  }
  value = value.substr(0, value.find_first_of("/: ,"));
  const std::size_t dot = value.find('.');
  const std::string_view host = value.substr(0, dot);
  if (!is_name(Kind::host, value) || ranks_.contains(std::string(value))) return;
  if (is_name(Kind::host, host)) add(Kind::host, lower_ascii(host), host);
  if (dot == value.npos) return;
  const std::string_view domain = value.substr(dot + 1);
  if (domain.find('.') != domain.npos && is_name(Kind::host, domain)) {
    add(Kind::domain, lower_ascii(domain), domain);
  }
}

// "a,b", and Slurm's "node[07-09,12]-x": its hosts, and what comes before the brackets.
std::vector<std::string> hosts_in(std::string_view list) {
  constexpr int kMostHosts = 10000;
  std::vector<std::string> hosts;
  while (!list.empty()) {
    std::size_t end = list.find_first_of(", \t[");
    if (end == list.npos || list[end] != '[') {
      end = std::min(end, list.size());
      if (end > 0) hosts.emplace_back(list.substr(0, end));
      list.remove_prefix(std::min(end + 1, list.size()));
      continue;
    }
    const std::string_view begin = list.substr(0, end);
    const std::size_t close = std::min(list.find(']', end), list.size());
    std::string_view ranges = list.substr(end + 1, close - std::min(close, end + 1));
    list.remove_prefix(std::min(close + 1, list.size()));
    const std::string_view rest = list.substr(0, std::min(list.find_first_of(", \t"), list.size()));
    list.remove_prefix(std::min(rest.size() + 1, list.size()));
    hosts.emplace_back(begin.substr(0, begin.find_last_not_of("-_.") + 1));
    while (!ranges.empty()) {
      const std::string_view one = ranges.substr(0, ranges.find(','));
      ranges.remove_prefix(std::min(one.size() + 1, ranges.size()));
      const std::string_view low = one.substr(0, one.find('-'));
      const std::string_view high = low.size() < one.size() ? one.substr(low.size() + 1) : low;
      const auto from = python_int(low);
      const auto to = python_int(high);
      if (!from || !to || *to < *from || *to - *from > kMostHosts) continue;
      for (auto number = *from; number <= *to; ++number) {
        hosts.push_back(fmt::format("{}{:0>{}}{}", begin, number, low.size(), rest));
      }
    }
  }
  return hosts;
}

void Names::learn(Kind kind, std::string_view value) {
  value = strip(value);
  if (kind == Kind::host) {
    for (const std::string& host : hosts_in(value)) learn_host(host);
  } else if (kind == Kind::serial) {
    const bool has_prefix = value.starts_with("GPU-") || value.starts_with("MIG-");
    if (has_prefix) value.remove_prefix(4);
    const bool is_uuid = !value.empty() && form_at(value, 0).has_value();
    if (!is_uuid && is_name(kind, value)) add(kind, lower_ascii(value), value);
  } else if (is_name(kind, value)) {
    add(kind, lower_ascii(value), value);
  }
}

void Names::learn_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool begins = is_word_char(c) && (at == 0 || !is_word_char(text[at - 1]));
    if (begins) {
      if (const auto found = form_at(text, at)) {
        add(found->kind, found->key, text.substr(at, found->size));
        at += found->size;
        continue;
      }
    }
    if (c == '/') {
      for (const std::string_view home : kHomes) {
        if (!text.substr(at).starts_with(home)) continue;
        const std::string_view rest = text.substr(at + home.size());
        const std::size_t end = std::min(rest.find_first_of("/ \t\r\n\"',:;"), rest.size());
        learn(Kind::user, rest.substr(0, end));
      }
      if (at > 0 && text[at - 1] == ':' && text.substr(at).starts_with("//")) {
        learn_host(text.substr(at + 2, 253));
      }
    } else if (c == '@') {
      const auto is_part = [](char p) {
        return is_word_char(p) || p == '.' || p == '-' || p == '_';
      };
      std::size_t begin = at;
      while (begin > 0 && is_part(text[begin - 1])) --begin;
      std::size_t end = at + 1;
      while (end < text.size() && is_part(text[end])) ++end;
      const std::string_view domain = text.substr(at + 1, end - at - 1);
      if (begin < at && domain.find('.') != domain.npos && is_name(Kind::host, domain)) {
        learn(Kind::user, text.substr(begin, at - begin));
        add(Kind::domain, lower_ascii(domain), domain);
      }
    } else if (c == ':' && text.substr(at + 1).starts_with(' ')) {  // "Serial Number   : 1652022"
      const std::size_t begin = text.substr(0, at).find_last_of("\n\r") + 1;
      if (const auto kind = kind_of_key(text.substr(begin, at - begin))) {
        learn(*kind, text.substr(at + 1, text.find_first_of("\n\r", at) - at - 1));
      }
    } else if (c == '>') {  // "<serial>1652022</serial>"
      const std::size_t begin = text.substr(0, at).find_last_of("<>\n") + 1;
      const std::string_view name = text.substr(begin, at - begin);
      const std::string_view value = text.substr(at + 1, text.find_first_of("<\n", at) - at - 1);
      const auto kind = kind_of_key(name);
      if (kind && begin > 0 && text[begin - 1] == '<') learn(*kind, value);
    } else if (c == '=' && at + 1 < text.size()) {
      std::size_t begin = at;
      while (begin > 0 && (is_word_char(text[begin - 1]) || text[begin - 1] == '_')) --begin;
      if (const auto kind = kind_of_key(text.substr(begin, at - begin))) {
        std::string_view value = text.substr(at + 1);
        const bool is_quoted = value[0] == '"' || value[0] == '\'';
        if (is_quoted) value.remove_prefix(1);
        learn(*kind, value.substr(0, value.find_first_of(is_quoted ? "\"'" : " \t\r\n,;}&\"")));
      }
    }
    ++at;
  }
}

// Levels above the place that was named are nobody's business.
void Names::learn_files(const std::vector<BundledFile>& files) {
  constexpr std::string_view kRank = "node-";  // a folder of a native package: node-0/manifest.json
  for (const BundledFile& file : files) {
    learn_text("/" + file.name);
    const auto names = components(file.name);
    if (names.size() < 2 || names.back() != "manifest.json") continue;
    const std::string_view folder = names[names.size() - 2];
    const bool is_rank = folder.starts_with(kRank) && is_ascii_digits(folder.substr(kRank.size()));
    if (is_rank) ranks_.emplace(folder);
  }
}

std::string Names::word_for(Kind kind, std::size_t number, std::size_t count,
                            const std::string& spelling) const {
  const std::size_t width = std::to_string(count).size();
  const auto padded = [&](std::string_view begin) {
    const std::size_t digits =
        std::max(spelling.size() - std::min(begin.size(), spelling.size()), width);
    return fmt::format("{}{:0>{}}", begin, number, digits);
  };
  switch (kind) {
    case Kind::host:
      return fmt::format("host-{:0>{}}", number, width);
    case Kind::domain:
      return fmt::format("domain-{:0>{}}.example", number, width);
    case Kind::user:
      return fmt::format("user-{:0>{}}", number, width);
    case Kind::serial:
      if (is_ascii_digits(spelling)) return padded("9");
      return padded(spelling.starts_with("0x") ? "0x" : "SN");
    case Kind::uuid:
      return fmt::format("00000000-0000-0000-0000-{:0>12}", number);
    case Kind::bus: {
      const std::size_t domain = spelling.find(':');
      return fmt::format("{:0{}x}:{:02x}:00.0", number >> 8, domain, number & 0xff);
    }
    case Kind::mac:
      return fmt::format("00:00:00:00:{:02x}:{:02x}", (number >> 8) & 0xff, number & 0xff);
    case Kind::address:
      if (spelling.find(':') != spelling.npos) return fmt::format("2001:db8::{:x}", number);
      if (number < 255) return fmt::format("192.0.2.{}", number);
      return fmt::format("198.18.{}.{}", number / 256, number % 256);
    default:
      return fmt::format("folder-{}", number);
  }
}

void Names::settle() {
  for (const auto& [kind, names] : found_) {
    std::size_t number = 0;
    for (const auto& [key, spelling] : names) {
      std::string other = word_for(kind, ++number, names.size(), spelling);
      const bool is_word =
          kind == Kind::host || kind == Kind::domain || kind == Kind::user || kind == Kind::serial;
      if (is_word) words_[first_word(key)].push_back({key, other});
      other_[kind][key] = std::move(other);
    }
  }
  for (auto& [first, words] : words_) {
    std::ranges::sort(words, std::greater(), [](const Word& word) { return word.name.size(); });
  }
}

const Names::Word* Names::word_at(std::string_view text, std::size_t at) const {
  const auto known = words_.find(first_word(text.substr(at)));
  if (known == words_.end()) return nullptr;
  for (const Word& word : known->second) {
    const bool is_it = ends_at(text, at + word.name.size()) &&
                       lower_ascii(text.substr(at, word.name.size())) == word.name;
    if (is_it) return &word;
  }
  return nullptr;
}

std::string Names::replaced(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_word_char(text[at - 1]);
    if (is_word_char(text[at])) {
      const std::size_t run = run_at(text, at);
      const auto form = begins ? form_at(text, at) : std::nullopt;
      if (form) {
        const auto known = other_.find(form->kind);
        const bool is_known = known != other_.end() && known->second.contains(form->key);
        std::string other =
            is_known ? known->second.at(form->key) : std::string(text.substr(at, form->size));
        // The same bus, with as many digits of its domain as here.
        if (is_known && form->kind == Kind::bus) {
          const std::size_t digits = text.substr(at).find(':');
          const std::size_t domain = other.find(':');
          other =
              fmt::format("{:0>{}}{}",
                          other.substr(domain - std::min(domain, digits), std::min(domain, digits)),
                          digits, other.substr(domain));
        }
        out += other;
        at += form->size;
      } else if (const Word* const word = word_at(text, at)) {
        out += word->other;
        at += word->name.size();
      } else {
        const auto digest = digests_.find(std::string(text.substr(at, run)));
        out += digest == digests_.end() ? std::string(text.substr(at, run)) : digest->second.other;
        at += run;
      }
      continue;
    }
    const bool may_begin =
        text[at] == '/' &&
        (at == 0 ||
         std::string_view(" \t\r\n\"'=,;([{<>|:`").find(text[at - 1]) != std::string_view::npos);
    const bool is_url = text.substr(at).starts_with("//");
    if (may_begin && !is_url) {
      std::size_t end = at;
      while (end < text.size() && is_folder_path_char(text[end])) ++end;
      out += replaced_path(text.substr(at, end - at));
      at = end;
      continue;
    }
    out += text[at++];
  }
  return out;
}

// The same number for the same folder, in the order in which they are met.
std::string Names::folder(std::string_view path) {
  auto& folders = other_[Kind::folder];
  const auto known = folders.find(std::string(path));
  if (known != folders.end()) return known->second;
  const std::size_t number = folders.size() + 1;
  return folders[std::string(path)] = fmt::format("folder-{}", number);
}

// What is not in the bundle above the longest part that is.
std::string Names::replaced_path(std::string_view path) {
  const bool is_absolute = path.starts_with('/');
  const std::vector<std::string_view> names = components(path);
  const bool is_plain = std::ranges::any_of(
      kPlainFolders, [&](std::string_view folder) { return path.starts_with(folder); });
  if (names.empty() || is_plain || (is_absolute && names.size() == 1)) {
    std::string out;
    for (const std::string_view name : names) out += "/" + replaced(name);
    return out.empty() ? std::string(path) : out;
  }
  std::size_t up = 0;
  while (up < names.size() && (names[up] == ".." || names[up] == ".")) ++up;
  const std::string above = fmt::format("{}", fmt::join(names.begin(), names.begin() + up, "/"));
  const auto joined = [](const std::string& a, const std::string& b) {
    return a.empty() ? b : b.empty() ? a : a + "/" + b;
  };
  for (std::size_t i = up; i < names.size(); ++i) {
    const auto known =
        paths_.find(fmt::format("{}", fmt::join(names.begin() + i, names.end(), "/")));
    if (known == paths_.end()) continue;
    const std::string between =
        fmt::format("{}", fmt::join(names.begin() + up, names.begin() + i, "/"));
    const std::string begin = joined(above, between.empty() ? "" : folder(between));
    return (is_absolute ? "/" : "") + joined(begin, known->second);
  }
  if (!is_absolute) return replaced(path);
  const std::string between = fmt::format("{}", fmt::join(names.begin(), names.end() - 1, "/"));
  return "/" + folder(between) + "/" + replaced(names.back());
}

// In JSON a path may have blanks; a relative one is known by its end.
std::string Names::replaced_value(std::string_view text) {
  const bool has_lines = text.find('\n') != text.npos;
  if (text.starts_with('/') && !text.starts_with("//") && !has_lines) return replaced_path(text);
  const bool may_be_path = text.find('/') != text.npos && !has_lines &&
                           text.find("://") == text.npos && text.find(' ') == text.npos;
  return may_be_path ? replaced_path(text) : replaced(text);
}

std::string Names::name_of(const BundledFile& file) {
  std::string other;
  std::string whole;
  std::size_t level = 0;
  for (const std::string_view name : components(file.name)) {
    whole = join_path(whole, name);
    const std::string next = level++ < file.levels ? folder(name) : replaced(name);
    other = join_path(other, next);
    paths_.try_emplace(whole, other);
  }
  return other;
}

std::optional<std::uint64_t> Names::bytes_of(const std::string& digest) const {
  const auto known = digests_.find(digest);
  return known == digests_.end() ? std::nullopt : std::optional(known->second.bytes);
}

std::string Names::replaced_number(std::string_view digits) const {
  const Word* const word = is_ascii_digits(digits) ? word_at(digits, 0) : nullptr;
  return word != nullptr ? word->other : std::string(digits);
}

Json Names::counts() const {
  Json counts = Json::object();
  for (const auto& [kind, name] : kKinds) {
    const auto known = other_.find(kind);
    counts[name] = known == other_.end() ? 0 : known->second.size();
  }
  return counts;
}

// ---- JSON, string by string; everything else stays as it is written

// Calls for each string `text(key, value)`, where `key` is nullopt for a key itself, and writes
// what that returns instead, unless it is the same.
class JsonStrings {
 public:
  struct Place {
    std::string key;  // of the value, or of the object whose key it is
    bool is_key = false;
  };
  using Replace =
      std::function<std::string(const Place&, const std::string& value, std::string& out)>;
  using ReplaceNumber = std::function<std::string(std::string_view digits)>;

  JsonStrings(std::string_view text, Replace replace, ReplaceNumber number)
      : text_(text), replace_(std::move(replace)), number_(std::move(number)) {}

  std::string rewritten() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"') return string();
    // The keys of objects in a list are not the names of what the list is about.
    const bool is_item = c == '{' && !open_.empty() && open_.back().is_list;
    if (c == '{' || c == '[') open_.push_back({is_item ? std::string() : key_, c == '['});
    if ((c == '}' || c == ']') && !open_.empty()) {
      key_ = open_.back().key;
      open_.pop_back();
      if (!open_.empty() && open_.back().is_list) key_ = open_.back().key;
    }
    if (c == '[' && is_in_list(kTokenKeys, key_) && drops_tokens) return tokens();
    if (is_word_char(c)) {
      const std::size_t run = run_at(text_, at_);
      out_ += number_(text_.substr(at_, run));
      at_ += run;
      return;
    }
    out_ += c;
    ++at_;
  }

  void tokens() {
    const std::size_t end = text_.find_first_not_of("0123456789,-. \t\r\n", at_ + 1);
    const bool is_plain = end != text_.npos && text_[end] == ']';
    out_ += '[';
    at_ = is_plain ? end : at_ + 1;
  }

  void string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) {  // an open string, as in a torn file
      out_ += replace_({key_, false}, std::string(text_.substr(at_)), out_);
      at_ = text_.size();
      return;
    }
    const std::string_view spelling = text_.substr(at_ + 1, end - at_ - 1);
    const std::string value = meaning(spelling);
    const std::size_t next = text_.find_first_not_of(" \t\r\n", end + 1);
    const bool is_key = next != text_.npos && text_[next] == ':';
    if (is_key) key_ = value;
    const std::string other = replace_(
        {is_key ? (open_.empty() ? std::string() : open_.back().key) : key_, is_key}, value, out_);
    out_ += other == value ? std::string(text_.substr(at_, end + 1 - at_)) : line_text(Json(other));
    at_ = end + 1;
  }

  static std::string meaning(std::string_view spelling) {
    if (spelling.find('\\') == spelling.npos) return std::string(spelling);
    try {
      return parse_json(fmt::format("\"{}\"", spelling)).text;
    } catch (const JsonError&) {
      return std::string(spelling);
    }
  }

 public:
  bool drops_tokens = false;

 private:
  std::string_view text_;
  Replace replace_;
  ReplaceNumber number_;
  std::string out_;
  std::string key_;
  struct Open {
    std::string key;
    bool is_list = false;
  };
  std::vector<Open> open_;
  std::size_t at_ = 0;
};

bool is_json(std::string_view name, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return name.find(".json") != name.npos || name.find(".ndjson") != name.npos ||
         (first != text.npos && text[first] == '{');
}

void learn_json(Names& names, std::string_view text) {
  const auto learn = [&](const JsonStrings::Place& place, const std::string& value, std::string&) {
    const auto kind = kind_of_key(place.key);
    if (kind && (!place.is_key || kind == Kind::host)) names.learn(*kind, value);
    names.learn_text(value);
    return value;
  };
  JsonStrings strings(text, learn, [](std::string_view digits) { return std::string(digits); });
  std::ignore = strings.rewritten();
  // Serials are also written as numbers.
  for (const std::string_view key : {"serial\":", "serial_number\":", "serial\" :"}) {
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      std::string_view value = text.substr(at + key.size());
      value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
      names.learn(Kind::serial, value.substr(0, run_at(value, 0)));
    }
  }
}

// ---- Tables

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = std::min(line.find(separator), line.size());
    std::string_view cell = strip(line.substr(0, end));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') {
      cell = cell.substr(1, cell.size() - 2);
    }
    cells.push_back(cell);
    if (end == line.size()) return cells;
    line.remove_prefix(end + 1);
  }
}

char separator_of(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t', '|'}) {
    if (std::ranges::count(line, c) > std::ranges::count(line, best)) best = c;
  }
  return best;
}

using Columns = std::vector<std::pair<std::size_t, Kind>>;

Columns columns_of(std::string_view line, char separator) {
  Columns columns;
  const auto cells = cells_of(line, separator);
  for (std::size_t i = 0; i < cells.size() && cells.size() > 1; ++i) {
    if (const auto kind = kind_of_key(cells[i])) columns.emplace_back(i, *kind);
  }
  return columns;
}

void learn_table(Names& names, std::string_view text) {
  constexpr int kMostBefore = 50;  // lines before the header
  Columns columns;
  char separator = ',';
  int lines = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const char other = columns.empty() ? separator_of(line) : separator;
    Columns header = columns.empty() || ++lines < kMostBefore ? columns_of(line, other) : Columns();
    if (!header.empty()) {
      columns = std::move(header);
      separator = other;
      continue;
    }
    if (columns.empty()) {
      if (++lines > kMostBefore) return;
      continue;
    }
    const auto cells = cells_of(line, separator);
    for (const auto& [column, kind] : columns) {
      if (column < cells.size()) names.learn(kind, cells[column]);
    }
  }
}

// ---- Files

std::string stored_text(const BundledFile& file, bool& is_gzip, bool& is_packed) {
  const auto source = regular_source(file.path);
  std::string ahead = read_up_to(*source, 4);
  is_packed = is_compressed(ahead);
  is_gzip = ahead.starts_with("\x1F\x8B");
  const auto expanded = decompressed(regular_source(file.path), file.path);
  return read_whole(*expanded, file.path, kWholeRecording);
}

std::string plain_text(const BundledFile& file) {
  bool ignored = false;
  return stored_text(file, ignored, ignored);
}

// The size that stands before a hash, in a list of inputs.
void replace_size_before(std::string& out, std::uint64_t bytes) {
  constexpr std::string_view kKey = "\"bytes\":";
  constexpr std::size_t kNear = 96;
  const std::size_t at = out.rfind(kKey);
  if (at == out.npos || out.size() - at > kNear) return;
  const std::size_t begin = out.find_first_of("0123456789", at + kKey.size());
  const std::size_t end = out.find_first_not_of("0123456789", begin);
  if (begin != out.npos) out.replace(begin, end - begin, std::to_string(bytes));
}

std::string redacted_json(Names& names, const std::string& text, bool keep_texts,
                          std::size_t& texts) {
  const auto replace = [&](const JsonStrings::Place& place, const std::string& value,
                           std::string& out) {
    if (!place.is_key && !keep_texts && !value.empty() && is_in_list(kTextKeys, place.key)) {
      ++texts;
      return std::string();
    }
    if (!place.is_key && place.key == "xxh3_128") {
      if (const auto bytes = names.bytes_of(value)) replace_size_before(out, *bytes);
    }
    return names.replaced_value(value);
  };
  JsonStrings strings(text, replace,
                      [&](std::string_view digits) { return names.replaced_number(digits); });
  strings.drops_tokens = !keep_texts;
  return strings.rewritten();
}

class Redactor {
 public:
  Redactor(std::vector<BundledFile>& files, bool keep_texts)
      : files_(files), keep_texts_(keep_texts), texts_(files.size()) {}

  Json redact() {
    names_.learn_files(files_);
    for (const BundledFile& file : files_) learn(file);
    names_.settle();
    for (const BundledFile& file : files_) new_names_.push_back(names_.name_of(file));
    // A file may hold the hash of one that holds the hash of another.
    constexpr int kMostRounds = 8;
    bool is_settled = false;
    for (int round = 0; round < kMostRounds && !is_settled; ++round) {
      is_settled = true;
      for (std::size_t i = 0; i < files_.size(); ++i) is_settled &= !changed(i, round == 0);
    }
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i].name = new_names_[i];
    std::ranges::sort(files_, {}, &BundledFile::name);
    const auto twice = std::ranges::adjacent_find(files_, {}, &BundledFile::name);
    if (twice != files_.end()) {
      throw Error(fmt::format("two files would have the name {}: bundle them without --redact",
                              printable_path(twice->name)));
    }
    Json counts = names_.counts();
    counts["texts"] = std::accumulate(texts_.begin(), texts_.end(), std::size_t{0});
    return counts;
  }

 private:
  void learn(const BundledFile& file) {
    if (is_archive_name(file.path)) {
      throw Error(fmt::format("{}: an archive in a store cannot be redacted: unpack it",
                              printable_path(file.path)));
    }
    const std::string text = plain_text(file);
    if (text.find('\0') != text.npos) {
      throw Error(
          fmt::format("{}: is not text, and cannot be redacted", printable_path(file.path)));
    }
    if (last_name(file.path) == "power_node.txt") names_.learn(Kind::host, text);
    if (is_json(file.path, text)) {
      learn_json(names_, text);
    } else {
      names_.learn_text(text);
      learn_table(names_, text);
    }
  }

  // Redacts a file, and notes its hashes; whether they are others than before. Later rounds are for
  // files that are small enough to hold hashes of others.
  bool changed(std::size_t i, bool is_first) {
    constexpr std::size_t kMostWithHashes = 16 * kMiB;
    BundledFile& file = files_[i];
    if (!is_first && file.redacted.size() > kMostWithHashes) return false;
    bool is_gzip = false;
    bool is_packed = false;
    const std::string before = stored_text(file, is_gzip, is_packed);
    texts_[i] = 0;
    std::string after = is_json(file.path, before)
                            ? redacted_json(names_, before, keep_texts_, texts_[i])
                            : names_.replaced(before);
    note_members(before, after);
    std::string stored = is_packed && after != before ? compressed_again(after, is_gzip) : after;
    if (is_packed && after == before) {
      stored = read_whole(opened_regular(file.path), kWholeRecording);
    }
    const std::string hash = sha256_of(stored);
    if (hash == file.redacted_sha256) return false;
    note_file(file, stored, hash);
    file.redacted = std::move(stored);
    file.redacted_sha256 = hash;
    return true;
  }

  void note_file(const BundledFile& file, const std::string& stored, const std::string& sha256) {
    const OpenedFile original = opened_regular(file.path);
    const InputFile after = hashed_text(stored);
    names_.add_digest(sha256_of(original), sha256, stored.size());
    names_.add_digest(hash_of(original), after.hash, after.bytes);
  }

  // The hash of what in an aggregate is not ours.
  void note_members(const std::string& before, const std::string& after) {
    try {
      const InputFile was = hashed_others(before);
      const InputFile is = hashed_others(after);
      if (was.bytes > 0) names_.add_digest(was.hash, is.hash, is.bytes);
    } catch (const JsonError&) {  // not an aggregate
    }
  }

  std::vector<BundledFile>& files_;
  bool keep_texts_;
  std::vector<std::size_t> texts_;  // that were dropped, by file
  std::vector<std::string> new_names_;
  Names names_;
};

}  // namespace

Json redact(std::vector<BundledFile>& files, bool keep_texts) {
  return Redactor(files, keep_texts).redact();
}

}  // namespace aggregate_power::bundle
