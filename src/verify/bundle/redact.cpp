// Replaces what identifies people, machines and folders in the files of a bundle.
//
// First all files are searched: by the names of members, columns and labels (hostname, user,
// serial), and by form (UUIDs, PCI bus ids, addresses, paths). Then each name that was found is
// replaced wherever it is a word of its own; one that is short or also a common word, only where
// something marks it as a name. The words have the form of what they replace, and its order, so
// that readers understand them and add up in the same order.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
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

// A secret becomes a serial, whatever it looks like.
enum class Kind { host, domain, user, serial, uuid, bus, address, mac, folder, secret };
constexpr std::pair<Kind, const char*> kKinds[] = {
    {Kind::host, "hosts"},           {Kind::domain, "domains"},    {Kind::user, "users"},
    {Kind::serial, "serials"},       {Kind::uuid, "uuids"},        {Kind::bus, "pci_bus_ids"},
    {Kind::address, "ip_addresses"}, {Kind::mac, "mac_addresses"}, {Kind::folder, "folders"},
};

// ---- Names of members, columns and labels

constexpr std::string_view kHostKeys =
    " host host_name hosts node nodes nodelist node_id fqdn computername instance pod "
    "exported_instance exported_pod exported_node head_node machine_name kubernetes_node "
    "master_addr runner computer_name ";
constexpr std::string_view kHostEndings[] = {"hostname",  "hostnames", "nodename",   "_host",
                                             "_hosts",    "_runner",   "_nodelist",  "_host_name",
                                             "node_name", "pod_name",  "runner_name"};
constexpr std::string_view kUserKeys =
    " user users user_name login logname owner email account slurm_job_account author entity "
    "wandb_entity created_by submitted_by launched_by started_by triggered_by requested_by "
    "uploaded_by run_by operator ";
constexpr std::string_view kSerialKeys = " mac mac_address hwaddr boot_id machine_id ";
constexpr std::string_view kSecretKeys =
    " hf_token hugging_face_hub_token github_token gh_token api_key api_token access_token "
    "auth_token secret_key aws_secret_access_key aws_access_key_id password ";
constexpr std::string_view kNotNames =
    " localhost unknown none null n/a default prefill decode agg all true false root git user "
    "admin nobody assistant system ubuntu local ";
// Beyond the words of the help pages.
constexpr std::string_view kModelWords =
    "qwen qwq llama mistral mixtral deepseek gemma gemini phi falcon gpt oss glm kimi yi "
    "granite nemotron command minimax ernie olmo bloom opt claude whisper flux sdxl bert vicuna "
    "zephyr meta google moonshotai zai openai microsoft ibm nvidia amd intel tesla geforce "
    "quadro rtx gtx radeon instinct gaudi hopper blackwell ampere ada volta gb200 gb300 b100 "
    "h20 h800 a800 l40 l40s a30 a40 a10 a10g l20 a6000 a5000 p100 rtx6000 mi210 mi250 mi250x "
    "mi325x mi355x mi300a max1550 gaudi2 gaudi3 bf16 fp16 fp32 fp4 nvfp4 mxfp4 int4 int8 awq "
    "gptq gguf tgi lmdeploy sharegpt mmlu gsm8k tok ";
// What a user asked and a model said.
constexpr std::string_view kTextKeys =
    " generated_texts generated_text input_texts input_text prompt prompts output_text "
    "output_texts completion completions content response responses response_text text_output "
    "text_input reasoning_content messages question answer answers generated model_output "
    "prediction predictions resps filtered_resps outputs text ";
constexpr std::string_view kTokenKeys =
    " context prompt_token_ids token_ids output_token_ids input_ids output_ids ";
// Whatever is installed there identifies nobody; the last ones are LibreHardwareMonitor's sensors.
constexpr std::string_view kPlainFolders[] = {
    "/usr/", "/opt/", "/proc/", "/sys/", "/dev/", "/etc/",      "/bin/",    "/lib/",
    "/v1/",  "/v2/",  "/api/",  "/gpu-", "/ram/", "/intelcpu/", "/amdcpu/", "/lpc/"};
constexpr std::string_view kHomes[] = {"/home/", "/Users/", "/users/", "/user/", "\\Users\\"};

bool is_in_list(std::string_view list, std::string_view word) {
  return list.find(fmt::format(" {} ", word)) != list.npos;
}

// "Hostname [x]" is "hostname".
std::string plain_key(std::string_view key) {
  std::string plain = lower_ascii(strip(key.substr(0, key.find_first_of("[("))));
  for (char& c : plain) {
    if (c == '-' || c == '.' || c == ' ') c = '_';
  }
  return plain;
}

// "hostName" is "host_Name".
std::string apart(std::string_view key) {
  std::string words;
  for (const char c : key) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    if (is_upper && !words.empty() && words.back() >= 'a' && words.back() <= 'z') words += '_';
    words += c;
  }
  return words;
}

std::optional<Kind> kind_of_plain_key(const std::string& key) {
  const auto ends_key = [&](std::string_view ending) { return key.ends_with(ending); };
  if (is_in_list(kHostKeys, key) || std::ranges::any_of(kHostEndings, ends_key)) return Kind::host;
  const bool is_user = is_in_list(kUserKeys, key) || ends_key("username") ||
                       ends_key("_user_name") || ends_key("_owner") ||
                       (ends_key("_user") && !ends_key("per_user"));
  if (is_user) return Kind::user;
  const bool is_secret = is_in_list(kSecretKeys, key) || ends_key("_api_key") ||
                         ends_key("_password") || ends_key("_secret") || ends_key("_secret_key");
  if (is_secret) return Kind::secret;
  const bool is_serial = ends_key("serial") || key.find("serial_n") != key.npos ||
                         key.find("serialn") != key.npos || key.find("unique_id") != key.npos ||
                         key.find("uniqueid") != key.npos || key.find("asset_tag") != key.npos ||
                         key.find("board_id") != key.npos || key.find("chassis") != key.npos ||
                         ends_key("uuid") || is_in_list(kSerialKeys, key);
  return is_serial ? std::optional(Kind::serial) : std::nullopt;
}

std::optional<Kind> kind_of_key(std::string_view written) {
  const auto kind = kind_of_plain_key(plain_key(written));
  return kind ? kind : kind_of_plain_key(plain_key(apart(written)));
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

// Four numbers up to 255. Not a part of a longer chain, such as a version.
std::size_t octets_at(std::string_view text, std::size_t at, char separator) {
  std::size_t end = at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (end >= text.size() || text[end++] != separator)) return 0;
    int value = 0;
    std::size_t digits = 0;
    while (end < text.size() && is_ascii_digit(text[end]) && digits < 4) {
      value = value * 10 + (text[end++] - '0');
      ++digits;
    }
    if (digits == 0 || digits > 3 || value > 255) return 0;
  }
  const bool goes_on =
      end + 1 < text.size() && text[end] == separator && is_ascii_digit(text[end + 1]);
  return ends_at(text, end) && !goes_on ? end - at : 0;
}

std::size_t ipv4_at(std::string_view text, std::size_t at) {
  if (at > 0 && text[at - 1] == '.') {
    const std::size_t last = text.substr(0, at - 1).find_last_not_of("0123456789");
    const std::size_t begin = last == text.npos ? 0 : last + 1;
    if (begin < at - 1 && (begin == 0 || !is_word_char(text[begin - 1]))) return 0;
  }
  return octets_at(text, at, '.');
}

// "ip-10-1-2-3", as clouds call their hosts: the numbers.
std::size_t dashed_ipv4_at(std::string_view text, std::size_t at) {
  const std::string before = lower_ascii(text.substr(at - std::min<std::size_t>(at, 4), 4));
  const std::string_view word = std::string_view(before).substr(0, std::min<std::size_t>(at, 4));
  const bool is_named = word.ends_with("ip-") || word.ends_with("ip_") || word.ends_with("ec2-");
  return is_named ? octets_at(text, at, '-') : 0;
}

// Up to 5, which is more than a group of an address has.
std::size_t hex_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && end < at + 5 && is_hex(text[end])) ++end;
  return end - at;
}

// Eight groups, or fewer with "::"; the last two may be an IPv4 address.
std::size_t ipv6_at(std::string_view text, std::size_t at) {
  int groups = 0;
  bool is_short = false;
  std::size_t end = at;
  while (end < text.size()) {
    const std::size_t before = end;
    const bool is_gap = text.substr(end).starts_with("::");
    if (is_gap && is_short) return 0;
    is_short = is_short || is_gap;
    if (is_gap) {
      end += 2;
    } else if (groups > 0) {
      if (text[end] != ':') break;
      ++end;
    }
    const std::size_t ipv4 = octets_at(text, end, '.');
    const std::size_t run = hex_run(text, end);
    if (ipv4 == 0 && run == 0) {
      if (!is_gap) end = before;  // "fe80::1: no route"
      break;
    }
    if ((ipv4 == 0 && run > 4) || groups > 8) return 0;
    groups += ipv4 > 0 ? 2 : 1;
    end += ipv4 > 0 ? ipv4 : run;
    if (ipv4 > 0) break;
  }
  const bool is_whole = is_short ? groups >= 1 && groups <= 7 : groups == 8;
  return is_whole && ends_at(text, end) ? end - at : 0;
}

bool is_own_address(std::string_view address) {
  return address.starts_with("127.") || address == "0.0.0.0" || address == "255.255.255.255" ||
         address == "::1";
}

bool is_between(std::string_view digits, int low, int high) {
  const int number = two_digits(digits.data());
  return number >= low && number <= high;
}

// "26-04-25-10-20-30" and "25-04-26-10-20-30".
bool is_date_and_time(std::string_view text) {
  const auto is = [&](std::size_t group, int low, int high) {
    return is_between(text.substr(3 * group, 2), low, high);
  };
  const auto is_no_digit = [](char c) { return !is_ascii_digit(c) && c != '-'; };
  if (std::ranges::any_of(text, is_no_digit)) return false;
  const bool is_date =
      (is(1, 1, 12) && (is(2, 1, 31) || is(0, 1, 31))) || (is(0, 1, 12) && is(1, 1, 31));
  return is_date && is(3, 0, 23) && is(4, 0, 59) && is(5, 0, 59);
}

// Six octets (Ethernet), eight (EUI-64) or twenty (InfiniBand); or three groups of four digits.
std::size_t mac_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kDotted = "xxxx.xxxx.xxxx";
  if (has_form(text, at, kDotted)) {
    const std::string_view mac = text.substr(at, kDotted.size());
    const bool is_mac = mac.starts_with("00") || mac.find_first_not_of("0123456789.") != mac.npos;
    return is_mac ? kDotted.size() : 0;
  }
  const char separator = at + 2 < text.size() ? text[at + 2] : '\0';
  if (separator != ':' && separator != '-') return 0;
  std::size_t octets = 0;
  std::size_t end = at;
  constexpr std::size_t kMostOctets = 20;
  while (octets <= kMostOctets && hex_run(text, end) == 2) {
    ++octets;
    end += 2;
    if (end >= text.size() || text[end] != separator) break;
    ++end;
  }
  if (end > at && end <= text.size() && text[end - 1] == separator) --end;
  if ((octets != 6 && octets != 8 && octets != 20) || !ends_at(text, end)) return 0;
  const std::string_view mac = text.substr(at, end - at);
  return octets == 6 && separator == '-' && is_date_and_time(mac) ? 0 : mac.size();
}

// The domain counts as a number: some tools write it with four digits, others with eight.
std::string bus_key(std::string_view text) {
  const std::size_t domain = text.find(':');
  return lower_ascii(fmt::format("{:0>8}{}", text.substr(0, domain), text.substr(domain)));
}

std::string hex_digits_of(std::string_view text) {
  std::string digits = lower_ascii(text);
  std::erase_if(digits, [](char c) { return !is_hex(c); });
  return digits;
}

// "GPU-4f6e1a2b": how CUDA and people shorten a UUID.
bool is_short_uuid(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return (before.ends_with("GPU-") || before.ends_with("MIG-")) && has_form(text, at, "xxxxxxxx");
}

// At the first character of a word, or at "::".
std::optional<Found> form_at(std::string_view text, std::size_t at) {
  if (!is_hex(text[at]) && text[at] != ':') return std::nullopt;
  const auto found = [&](Kind kind, std::size_t size) {
    return Found{kind, size, lower_ascii(text.substr(at, size))};
  };
  constexpr std::string_view kUuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (has_form(text, at, kUuid)) return found(Kind::uuid, kUuid.size());
  if (is_short_uuid(text, at)) return found(Kind::uuid, 8);
  for (const std::string_view form : {"xxxx:xx:xx.x", "xxxxxxxx:xx:xx.x"}) {
    if (!has_form(text, at, form)) continue;
    return Found{Kind::bus, form.size(), bus_key(text.substr(at, form.size()))};
  }
  if (const std::size_t size = mac_at(text, at)) {
    return Found{Kind::mac, size, hex_digits_of(text.substr(at, size))};
  }
  if (const std::size_t size = dashed_ipv4_at(text, at)) {
    Found address = found(Kind::address, size);
    std::ranges::replace(address.key, '-', '.');
    return address;
  }
  std::size_t size = ipv4_at(text, at);
  if (size == 0 && !text.substr(0, at).ends_with("::")) size = ipv6_at(text, at);
  const std::string_view address = text.substr(at, size);
  // The IPv4 address in "::ffff:10.1.2.3" is replaced by itself.
  const bool is_mapped = address.starts_with("::") && address.find('.') != address.npos;
  if (size == 0 || is_mapped || is_own_address(address)) return std::nullopt;
  return found(Kind::address, size);
}

// "::1" begins no word, but "::" behind one is of a programming language.
bool may_begin_form(std::string_view text, std::size_t at) {
  const bool is_behind = at > 0 && (is_word_char(text[at - 1]) || text[at - 1] == ':');
  return is_word_char(text[at])
             ? at == 0 || !is_word_char(text[at - 1])
             : text[at] == ':' && !is_behind && text.substr(at).starts_with("::");
}

// The first word of a name that is searched for.
std::string first_word(std::string_view name) {
  return lower_ascii(name.substr(0, run_at(name, 0)));
}

bool is_label_char(char c) { return is_word_char(c) || c == '-' || c == '_' || c == '+'; }

bool is_name(Kind kind, std::string_view text) {
  constexpr std::size_t kMost = 253;
  if (text.empty() || text.size() > kMost) return false;
  if (kind == Kind::secret) return true;
  if (!is_word_char(text[0]) || is_in_list(kNotNames, lower_ascii(text))) return false;
  const bool has_digit = std::ranges::any_of(text, is_ascii_digit);
  const bool has_letter =
      std::ranges::any_of(text, [](char c) { return is_word_char(c) && !is_ascii_digit(c); });
  const auto is_plain = [&](char c) {
    return is_label_char(c) || c == '.' || (kind == Kind::user && (c == ' ' || c == '\''));
  };
  if (!std::ranges::all_of(text, is_plain)) return false;
  constexpr std::size_t kShortestNumber = 6;
  if (kind == Kind::serial) return has_digit && text.size() >= kShortestNumber;
  return has_letter || (is_ascii_digits(text) && text.size() >= kShortestNumber);
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

// ---- Names that something marks

struct Mark {
  std::size_t at = 0;
  std::size_t size = 0;
  Kind kind = Kind::host;
  bool is_new = true;  // it may be a name that is not known otherwise
};
using Marks = std::vector<Mark>;

std::size_t label_end(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end && is_label_char(text[at])) ++at;
  return at;
}

void mark_user(std::string_view text, std::size_t at, std::size_t end, Marks& marks) {
  std::string_view value = text.substr(at, end - at);
  if (value.find('@') != value.npos) return;  // an address of mail marks itself
  if (const std::size_t slash = value.find('\\'); slash != value.npos) {  // "DOMAIN\NAME"
    marks.push_back({at, slash, Kind::user});
    at += slash + 1;
  }
  if (at < end) marks.push_back({at, end - at, Kind::user});
}

// "http://user:password@node-a.example.org:9400/metrics", "node[07-09]", "node-a".
void mark_host(std::string_view text, std::size_t at, std::size_t end, Marks& marks) {
  text = text.substr(0, end);
  while (at < end && std::string_view("\"'[(").find(text[at]) != std::string_view::npos) ++at;
  if (const std::size_t scheme = text.find("://", at); scheme < end) at = scheme + 3;
  const std::size_t slash = std::min(text.find('/', at), end);
  if (const std::size_t login = text.find('@', at); login < slash) {
    const std::size_t colon = std::min(text.find(':', at), login);
    mark_user(text, at, colon, marks);
    if (colon < login) marks.push_back({colon + 1, login - colon - 1, Kind::secret});
    at = login + 1;
  }
  if (at >= end || form_at(text, at)) return;
  std::size_t stop = label_end(text, at, end);
  const std::size_t next = stop;
  if (next < end && text[next] == '[') {
    while (stop > at && !is_word_char(text[stop - 1])) --stop;
  }
  marks.push_back({at, stop - at, Kind::host});
  if (next >= end || text[next] != '.') return;
  std::size_t domain_end = next + 1;
  while (domain_end < end && (is_label_char(text[domain_end]) || text[domain_end] == '.')) {
    ++domain_end;
  }
  while (text[domain_end - 1] == '.') --domain_end;
  if (domain_end > next + 1) marks.push_back({next + 1, domain_end - next - 1, Kind::domain});
}

// Where a value ends that nothing encloses; commas in Slurm's brackets are a part of it.
std::size_t value_end(std::string_view text, std::size_t at, std::string_view ends) {
  bool is_open = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '[') is_open = at + 1 < text.size() && is_ascii_digit(text[at + 1]);
    if (text[at] == ']') is_open = false;
    if (!is_open && ends.find(text[at]) != ends.npos) break;
  }
  return at;
}

// The names in a value of a field.
void mark_field(Kind kind, std::string_view text, std::size_t at, std::size_t end, Marks& marks) {
  const std::string_view value = strip(text.substr(at, end - at));
  if (value.empty()) return;
  at = static_cast<std::size_t>(value.data() - text.data());
  end = at + value.size();
  if (kind == Kind::user) return mark_user(text, at, end, marks);
  if (kind != Kind::host) {
    if (value.starts_with("GPU-") || value.starts_with("MIG-")) at += 4;
    const bool is_form = kind == Kind::serial && at < end && form_at(text, at);
    if (!is_form && at < end) marks.push_back({at, end - at, kind});
    return;
  }
  while (at < end) {
    const std::size_t stop = value_end(text.substr(0, end), at, ", \t;");
    if (stop > at) mark_host(text, at, stop, marks);
    at = stop + 1;
  }
}

constexpr std::size_t kMostKey = 64;  // also its indentation

bool is_key_char(char c) { return is_word_char(c) || c == '_' || c == '-' || c == '.'; }

std::string_view key_before(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_key_char(text[begin - 1])) --begin;
  std::string_view key = text.substr(begin, at - begin);
  while (key.starts_with('-')) key.remove_prefix(1);
  return key;
}

constexpr std::string_view kQuotes = "\"'\\";

// "USER=al", "host=\"n1\"", "--host n1".
void mark_assigned(std::string_view text, std::string_view key, std::size_t at, Marks& marks) {
  const auto kind = kind_of_key(key);
  if (!kind || at >= text.size()) return;
  const std::size_t begin = std::min(text.find_first_not_of(kQuotes, at), text.size());
  const bool is_quoted = begin > at;
  mark_field(*kind, text, begin, value_end(text, begin, is_quoted ? "\"'\\" : " \t\r\n,;}&=\"')|"),
             marks);
}

// "Serial Number   : 1652022", and "\"host\": \"n1\"" in a text.
void mark_after_colon(std::string_view text, std::size_t at, Marks& marks) {
  const std::size_t last = text.substr(0, at).find_last_not_of(" \"'\\");
  if (last == text.npos) return;
  if (text.substr(last + 1, at - last - 1).find_first_of(kQuotes) != text.npos) {
    const std::size_t begin = text.find_first_not_of(' ', at + 1);
    const bool is_text = begin != text.npos && kQuotes.find(text[begin]) != kQuotes.npos;
    if (is_text) mark_assigned(text, key_before(text, last + 1), begin, marks);
    return;
  }
  if (at + 1 >= text.size() || (text[at + 1] != ' ' && text[at + 1] != '\t')) return;
  const std::size_t far = at - std::min(at, kMostKey);
  const std::size_t begin = far + (text.substr(far, at - far).find_last_of("\n\r") + 1);
  std::string_view key = text.substr(begin, at - begin);
  key.remove_prefix(std::min(key.find_first_not_of("-# \t"), key.size()));
  const auto kind = kind_of_key(key);
  if (kind)
    mark_field(*kind, text, at + 1, std::min(text.find_first_of("\n\r", at), text.size()), marks);
}

// "<serial>1652022</serial>"
void mark_element(std::string_view text, std::size_t at, Marks& marks) {
  const std::size_t far = at - std::min(at, kMostKey);
  const std::size_t begin = far + (text.substr(far, at - far).find_last_of("<>\n") + 1);
  if (begin == 0 || text[begin - 1] != '<') return;
  const auto kind = kind_of_key(text.substr(begin, at - begin));
  if (kind)
    mark_field(*kind, text, at + 1, std::min(text.find_first_of("<\n", at), text.size()), marks);
}

bool is_mail_char(char c) { return is_word_char(c) || c == '.' || c == '-' || c == '_'; }

// "al@n1": what is before and after the sign.
std::pair<std::string_view, std::string_view> sides_of(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && is_mail_char(text[begin - 1])) --begin;
  std::size_t end = at + 1;
  while (end < text.size() && is_mail_char(text[end])) ++end;
  return {text.substr(begin, at - begin), text.substr(at + 1, end - at - 1)};
}

void mark_mail(std::string_view text, std::size_t at, Marks& marks) {
  const auto [name, domain] = sides_of(text, at);
  if (name.empty() || domain.find('.') == domain.npos || !is_name(Kind::host, domain)) return;
  marks.push_back({at - name.size(), name.size(), Kind::user});
  marks.push_back({at + 1, domain.size(), Kind::domain});
}

void mark_home(std::string_view text, std::size_t at, Marks& marks) {
  for (const std::string_view home : kHomes) {
    if (!text.substr(at).starts_with(home)) continue;
    const std::size_t begin = at + home.size();
    const std::size_t end = std::min(text.find_first_of("/\\ \t\r\n\"',:;", begin), text.size());
    if (end > begin) marks.push_back({begin, end - begin, Kind::user});
  }
}

// "ghp_16C7e42F292c6912E7710c838347Ae178B4a": keys of services, by how they begin.
void mark_secret(std::string_view text, std::size_t at, Marks& marks) {
  constexpr std::size_t kShortest = 12;
  if (std::string_view("hgsnxA").find(text[at]) == std::string_view::npos) return;
  for (const std::string_view begin :
       {"hf_", "ghp_", "gho_", "sk-", "glpat-", "nvapi-", "xoxb-", "AKIA"}) {
    if (!text.substr(at).starts_with(begin)) continue;
    const std::size_t end = label_end(text, at, text.size());
    const std::string_view secret = text.substr(at, end - at);
    const bool has_digit = std::ranges::any_of(secret, is_ascii_digit);
    if (has_digit && secret.size() >= kShortest) marks.push_back({at, secret.size(), Kind::secret});
  }
}

// "ssh-ed25519 AAAAC3... al@n1" and "256 SHA256:+DiY3w... al@n1", as SSH writes keys.
void mark_ssh_key(std::string_view text, std::size_t at, Marks& marks) {
  constexpr std::string_view kHash = "SHA256:";
  constexpr std::size_t kHashSize = 43;
  const std::string_view from = text.substr(at);
  if (from.starts_with(kHash)) {
    at += kHash.size();
  } else {
    if (!from.starts_with("AAAA")) return;
    const std::size_t last = text.substr(0, at).find_last_not_of(' ');
    if (last == text.npos || last + 1 == at) return;
    const std::string_view type = key_before(text, last + 1);
    if (!type.starts_with("ssh-") && !type.starts_with("ecdsa-") && !type.starts_with("sk-"))
      return;
  }
  const auto is_of_key = [](char c) { return is_word_char(c) || c == '+' || c == '/' || c == '='; };
  std::size_t end = at;
  while (end < text.size() && is_of_key(text[end])) ++end;
  if (end < at + kHashSize) return;
  marks.push_back({at, end - at, Kind::secret});
  const std::size_t comment = std::min(text.find_first_not_of(' ', end), text.size());
  const std::size_t stop = value_end(text, comment, " \t\r\n\"',;\\)");
  if (text.substr(comment, stop - comment).find('@') != text.npos)
    mark_host(text, comment, stop, marks);
}

constexpr std::size_t kMostUrl = 512;

// "--host n1"
void mark_option(std::string_view text, std::size_t at, Marks& marks) {
  const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '"';
  if (!begins || !text.substr(at).starts_with("--")) return;
  std::size_t end = at;
  while (end < text.size() && is_key_char(text[end])) ++end;
  const std::size_t begin = std::min(text.find_first_not_of(' ', end), text.size());
  if (begin > end && text[begin] != '-') mark_assigned(text, key_before(text, end), begin, marks);
}

void mark_url(std::string_view text, std::size_t at, Marks& marks) {
  if (!text.substr(at).starts_with("://")) return;
  const std::string_view url = text.substr(0, at + kMostUrl);
  mark_host(text, at + 3, std::min(url.find_first_of(" \t\r\n\"',;<>", at), url.size()), marks);
}

// Two backslashes, the name of a PC, and another one.
void mark_share(std::string_view text, std::size_t at, Marks& marks) {
  const bool begins = at == 0 || text[at - 1] == '"' || text[at - 1] == ' ';
  if (!begins || !text.substr(at).starts_with("\\\\")) return;
  mark_host(text, at + 2, std::min(text.find('\\', at + 2), text.size()), marks);
}

// The names that a text marks itself.
Marks marks_in(std::string_view text) {
  Marks marks;
  bool is_in_label = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '/':
        mark_home(text, at, marks);
        break;
      case '\\':
        mark_home(text, at, marks);
        mark_share(text, at, marks);
        break;
      case '@':
        mark_mail(text, at, marks);
        break;
      case ':':
        mark_after_colon(text, at, marks);
        mark_url(text, at, marks);
        break;
      case '>':
        mark_element(text, at, marks);
        break;
      case '=':
        mark_assigned(text, key_before(text, at), at + 1, marks);
        break;
      case '-':
        mark_option(text, at, marks);
        break;
      default:
        if (is_in_label) break;
        mark_secret(text, at, marks);
        if (text[at] == 'A' || text[at] == 'S') mark_ssh_key(text, at, marks);
    }
    is_in_label = is_label_char(text[at]);
  }
  return marks;
}

// ---- All that is known, and what it becomes

class Names {
 public:
  // `words`: a text whose words are in use for other things.
  explicit Names(std::string_view words);

  bool is_common(std::string_view name) const;
  // From any text: by form, and what is marked.
  void learn(std::string_view text, const Marks& marks);
  // From the names of GPUs in a text: the words that must stay.
  void learn_products(std::string_view text);
  void learn_files(const std::vector<BundledFile>& files);
  // After all was learned.
  void settle();
  void add_digest(const std::string& before, const std::string& after, std::uint64_t bytes) {
    digests_[before] = {after, bytes};
  }

  // A text, and one that may be a path as a whole.
  std::string replaced(std::string_view text, Marks marks);
  std::string replaced_value(std::string_view text, Marks marks);
  std::string name_of(const BundledFile& file);
  // The size of what a digest is now about.
  std::optional<std::uint64_t> bytes_of(const std::string& digest) const;
  Json counts() const;

 private:
  struct Word {
    std::string other;
    Kind kind = Kind::host;
    bool is_restricted = false;  // replaced only where it is in a form
  };
  struct Digest {
    std::string other;
    std::uint64_t bytes = 0;
  };
  void learn_name(Kind kind, std::string_view name);
  void learn_pairs();
  std::string word_for(Kind kind, std::size_t number, std::size_t count,
                       const std::string& spelling) const;
  const std::string* known(Kind kind, std::string_view name) const;
  bool is_in_form(std::string_view text, std::size_t at, std::size_t size, Kind kind) const;
  const Word* word_at(std::string_view text, std::size_t at, std::size_t& size) const;
  std::string replaced_form(std::string_view spelling, const Found& form) const;
  std::string component(std::string_view name, bool is_home = false);
  std::string folder(std::string_view path);
  std::string replaced_path(std::string_view path);

  std::unordered_set<std::string> common_;
  std::set<std::string> ranks_;  // of nodes, which readers know by these names
  std::set<std::pair<std::string, std::string>> pairs_;       // "al@n1"
  std::map<Kind, std::map<std::string, std::string>> found_;  // the first spelling
  std::map<Kind, std::map<std::string, std::string>> other_;
  std::unordered_map<std::string, std::vector<Word>> words_;  // by name, in lower case
  // Of names by their first word, longest first.
  std::unordered_map<std::string, std::set<std::size_t, std::greater<>>> sizes_;
  std::map<std::string, Digest> digests_;
  std::map<std::string, std::string, std::less<>> paths_;  // of files and folders, as they become
};

template <typename Take>
void for_each_word(std::string_view text, bool joins, Take take) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (is_word_char(text[end]) || (joins && text[end] == '_'))) ++end;
    if (end > at) take(lower_ascii(text.substr(at, end - at)));
    at = end + 1;
  }
}

// "gpu1" of stem "gpu".
bool is_numbered(std::string_view name, std::string_view stem) {
  return name.starts_with(stem) && is_ascii_digits(name.substr(stem.size()));
}

Names::Names(std::string_view words) {
  const auto add = [&](std::string word) {
    // Examples of names.
    if (!is_numbered(word, "node") && !is_numbered(word, "host")) common_.insert(std::move(word));
  };
  for_each_word(kModelWords, false, add);
  for_each_word(words, false, add);
  for_each_word(words, true, add);
}

bool Names::is_common(std::string_view name) const {
  const std::string word = lower_ascii(name);
  const auto is_device = [&](std::string_view stem) { return is_numbered(word, stem); };
  constexpr std::string_view kDevices[] = {"gpu", "cuda", "card", "device", "xpu", "npu", "hpu"};
  return common_.contains(word) || std::ranges::any_of(kDevices, is_device);
}

// "NVIDIA H100 80GB HBM3": words with a digit of a maker's product.
void Names::learn_products(std::string_view text) {
  constexpr std::size_t kMostBytes = 65536;
  constexpr std::size_t kMostName = 24;
  text = text.substr(0, kMostBytes);
  for (const std::string_view maker :
       {"NVIDIA ", "AMD ", "Intel", "Tesla ", "GeForce ", "Instinct "}) {
    for (std::size_t at = text.find(maker); at != text.npos; at = text.find(maker, at + 1)) {
      const std::string_view rest = text.substr(at, kMostName);
      for_each_word(rest.substr(0, rest.find_first_of("\",;\t\r\n|:=/")), false,
                    [&](std::string word) {
                      if (std::ranges::any_of(word, is_ascii_digit))
                        common_.insert(std::move(word));
                    });
    }
  }
}

// "n", digits and "-x" of Slurm's "n[07-09,12]-x".
std::vector<std::string> hosts_of_range(std::string_view text) {
  constexpr std::size_t kMostHosts = 100000;
  std::vector<std::string> hosts;
  const std::size_t open = text.find('[');
  const std::size_t close = std::min(text.find(']', open), text.size());
  const std::string_view begin = text.substr(0, open);
  const std::string_view rest =
      text.substr(close, label_end(text, std::min(close + 1, text.size()), text.size()) - close);
  std::string_view ranges = text.substr(open + 1, close - open - 1);
  while (!ranges.empty() && hosts.size() < kMostHosts) {
    const std::string_view one = ranges.substr(0, ranges.find(','));
    ranges.remove_prefix(std::min(one.size() + 1, ranges.size()));
    const std::string_view low = one.substr(0, one.find('-'));
    const std::string_view high = low.size() < one.size() ? one.substr(low.size() + 1) : low;
    const auto from = python_int(low);
    const auto to = python_int(high);
    if (!from || !to || *to < *from || *to - *from > static_cast<std::int64_t>(kMostHosts))
      continue;
    for (auto number = *from; number <= *to; ++number) {
      hosts.push_back(fmt::format("{}{:0>{}}{}", begin, number, low.size(),
                                  rest.empty() ? rest : rest.substr(1)));
    }
  }
  return hosts;
}

void Names::learn_name(Kind kind, std::string_view name) {
  if (!is_name(kind, name) || ranks_.contains(std::string(name))) return;
  found_[kind == Kind::secret ? Kind::serial : kind].try_emplace(lower_ascii(name), name);
}

void Names::learn(std::string_view text, const Marks& marks) {
  for (const Mark& mark : marks) {
    if (!mark.is_new) continue;
    learn_name(mark.kind, text.substr(mark.at, mark.size));
    if (mark.kind != Kind::host) continue;
    const std::string_view rest = text.substr(mark.at);
    const std::size_t next = rest.find_first_not_of("-_.", mark.size);
    if (next == rest.npos || rest[next] != '[') continue;
    for (const std::string& host : hosts_of_range(rest)) learn_name(Kind::host, host);
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '@') {
      const auto [name, host] = sides_of(text, at);
      const std::size_t dot = host.find('.');
      if (!name.empty() && (dot == host.npos || ipv4_at(host, 0) == host.size()))
        pairs_.emplace(name, host);
    }
    if (!may_begin_form(text, at)) continue;
    if (const auto found = form_at(text, at)) {
      found_[found->kind].try_emplace(found->key, text.substr(at, found->size));
      at += found->size - 1;
    }
  }
}

// A name is known by the one on the other side of "@".
void Names::learn_pairs() {
  for (const auto& [name, host] : pairs_) {
    const bool is_user = found_[Kind::user].contains(lower_ascii(name));
    const bool is_host =
        found_[Kind::host].contains(lower_ascii(host)) || octets_at(host, 0, '.') > 0;
    if (is_user) learn_name(Kind::host, host);
    if (is_host) learn_name(Kind::user, name);
  }
}

// Levels above the place that was named are nobody's business.
void Names::learn_files(const std::vector<BundledFile>& files) {
  constexpr std::string_view kRank = "node-";  // a folder of a native package: node-0/manifest.json
  for (const BundledFile& file : files) {
    const auto names = components(file.name);
    if (names.size() < 2 || names.back() != "manifest.json") continue;
    const std::string_view folder = names[names.size() - 2];
    const bool is_rank = folder.starts_with(kRank) && is_ascii_digits(folder.substr(kRank.size()));
    if (is_rank) ranks_.emplace(folder);
  }
  for (const BundledFile& file : files) {
    const std::string name = "/" + file.name;
    learn(name, marks_in(name));
  }
}

// Numbers from 1 to `count`, as texts of one size in the order of the numbers.
std::string number_of(std::size_t number, std::size_t count) {
  return fmt::format("{:0>{}}", number, std::to_string(count).size());
}

// Addresses for documentation; if there are more, of the block that is reserved for the future.
// All have the same size, so that they are in the order of the numbers.
std::string ipv4_word(std::size_t number, std::size_t count) {
  constexpr std::size_t kFirst = 100;
  constexpr std::size_t kEach = 155;  // 100 to 254
  if (count <= kEach) return fmt::format("192.0.2.{}", kFirst + number - 1);
  const auto part = [&](std::size_t size) { return number / size % kEach + kFirst; };
  return fmt::format("{}.{}.{}.{}", 240 + number / (kEach * kEach * kEach), part(kEach * kEach),
                     part(kEach), part(1));
}

std::string ipv6_word(std::size_t number, std::size_t count) {
  if (count <= 0xffff)
    return fmt::format("2001:db8::{:0{}x}", number, fmt::formatted_size("{:x}", count));
  return fmt::format("2001:db8::{:04x}:{:04x}", number >> 16, number & 0xffff);
}

std::string Names::word_for(Kind kind, std::size_t number, std::size_t count,
                            const std::string& spelling) const {
  const auto padded = [&](std::string_view begin) {
    const std::size_t width = std::to_string(count).size();
    const std::size_t digits =
        std::max(spelling.size() - std::min(begin.size(), spelling.size()), width);
    return fmt::format("{}{:0>{}}", begin, number, digits);
  };
  switch (kind) {
    case Kind::host:
      return "host-" + number_of(number, count);
    case Kind::domain:
      return fmt::format("domain-{}.example", number_of(number, count));
    case Kind::user:
      return "user-" + number_of(number, count);
    case Kind::serial:
      if (is_ascii_digits(spelling)) return padded("9");
      return padded(spelling.starts_with("0x") ? "0x" : "SN");
    case Kind::uuid:
      return fmt::format("{:08x}-0000-0000-0000-000000000000", number);
    case Kind::bus:
      return fmt::format("{:08x}:{:02x}:00.0", number >> 8, number & 0xff);
    case Kind::mac:  // a local one
      return fmt::format("02{:0>{}x}", number, hex_digits_of(spelling).size() - 2);
    default:
      return spelling.find(':') != spelling.npos ? ipv6_word(number, count)
                                                 : ipv4_word(number, count);
  }
}

void Names::settle() {
  learn_pairs();
  auto& uuids = found_[Kind::uuid];
  for (auto at = uuids.begin(); at != uuids.end();) {  // a short one is the long one after it
    const auto next = std::next(at);
    at = next != uuids.end() && next->first.starts_with(at->first) ? uuids.erase(at) : next;
  }
  constexpr std::size_t kShortestFree = 3;
  constexpr std::size_t kShortestFreeNumber = 10;
  for (const auto& [kind, names] : found_) {
    std::size_t number = 0;
    for (const auto& [key, spelling] : names) {
      std::string other = word_for(kind, ++number, names.size(), spelling);
      const bool is_word =
          kind == Kind::host || kind == Kind::domain || kind == Kind::user || kind == Kind::serial;
      const bool is_restricted = key.size() < kShortestFree || is_common(key) ||
                                 (is_ascii_digits(key) && key.size() < kShortestFreeNumber);
      if (is_word) {
        words_[key].push_back({other, kind, is_restricted});
        sizes_[first_word(key)].insert(key.size());
      }
      other_[kind][key] = std::move(other);
    }
  }
}

// What a marked name becomes; nullptr: it is not known.
const std::string* Names::known(Kind kind, std::string_view name) const {
  const std::string key = lower_ascii(name);
  if (kind == Kind::secret) kind = Kind::serial;
  for (const Kind each : {kind, Kind::host, Kind::user, Kind::domain, Kind::serial}) {
    const auto* const all = find_in_map(other_, each);
    if (all == nullptr) continue;
    if (const auto* const found = find_in_map(*all, key)) return found;
  }
  return nullptr;
}

// "n1:9400", "n1:/home" and "n1/0", the index of a GPU.
bool is_host_before(std::string_view after, bool is_common) {
  if (after.size() < 2 || (after[0] != ':' && after[0] != '/')) return false;
  if (after.starts_with(":/")) return !after.starts_with("://");
  std::size_t digits = 0;
  while (1 + digits < after.size() && is_ascii_digit(after[1 + digits])) ++digits;
  const std::string_view rest = after.substr(1 + digits);
  const bool ends = rest.empty() || (!is_word_char(rest[0]) && rest[0] != ':' && rest[0] != '.');
  if (after[0] == ':') return ends && digits >= (is_common ? 4U : 2U) && digits <= 5;
  return (digits > 0 && ends) || rest.starts_with("GPU-") || rest.starts_with("MIG-");
}

// Whether what is around a name says that it is one.
bool Names::is_in_form(std::string_view text, std::size_t at, std::size_t size, Kind kind) const {
  const std::string_view before = text.substr(0, at);
  const std::string_view after = text.substr(at + size);
  const bool is_common_word = is_common(text.substr(at, size));
  if (kind == Kind::user) {
    const auto is_home = [&](std::string_view home) { return before.ends_with(home); };
    if (before.ends_with('~') || std::ranges::any_of(kHomes, is_home)) return true;
    if (!after.starts_with('@')) return false;
    const std::string_view host = after.substr(1, label_end(after, 1, after.size()) - 1);
    return !is_common_word || known(Kind::host, host) != nullptr;
  }
  if (kind != Kind::host) return false;
  if (before.ends_with('@')) {
    const std::string_view name = sides_of(text, at - 1).first;
    if (!is_common_word || known(Kind::user, name) != nullptr) return true;
  }
  if (after.starts_with('.')) {
    std::size_t end = 1;
    while (end < after.size() && (is_label_char(after[end]) || after[end] == '.')) ++end;
    if (known(Kind::domain, after.substr(1, end - 1)) != nullptr) return true;
  }
  const bool may_be_device = !is_common_word && size > 1 && after.size() > 1 && after[0] == '/' &&
                             is_word_char(after[1]) && !before.ends_with('/');
  return before.ends_with("://") || may_be_device || is_host_before(after, is_common_word);
}

// Digits of a decimal fraction are no serial.
bool is_in_number(std::string_view text, std::size_t at, std::size_t size) {
  const auto is_digit = [&](std::size_t i) { return i < text.size() && is_ascii_digit(text[i]); };
  return (at > 1 && text[at - 1] == '.' && is_digit(at - 2)) ||
         (at + size < text.size() && text[at + size] == '.' && is_digit(at + size + 1));
}

const Names::Word* Names::word_at(std::string_view text, std::size_t at, std::size_t& size) const {
  const auto sizes = sizes_.find(first_word(text.substr(at)));
  if (sizes == sizes_.end()) return nullptr;
  for (const std::size_t each : sizes->second) {
    size = each;
    if (at + size > text.size() || !ends_at(text, at + size)) continue;
    const auto words = words_.find(lower_ascii(text.substr(at, size)));
    if (words == words_.end()) continue;
    if (is_ascii_digits(words->first) && is_in_number(text, at, size)) continue;
    for (const Word& word : words->second) {
      if (!word.is_restricted || is_in_form(text, at, size, word.kind)) return &word;
    }
  }
  return nullptr;
}

// Digits in the place of the digits of a text, whose separators stay.
std::string laid_over(std::string_view spelling, std::string_view digits) {
  std::string out(spelling);
  for (char& c : out) {
    if (!is_hex(c) || digits.empty()) continue;
    c = digits.front();
    digits.remove_prefix(1);
  }
  return out;
}

std::string Names::replaced_form(std::string_view spelling, const Found& form) const {
  const auto others = other_.find(form.kind);
  if (others == other_.end()) return std::string(spelling);
  const auto found = others->second.lower_bound(form.key);  // of a short UUID, the long one
  if (found == others->second.end() || !found->first.starts_with(form.key)) {
    return std::string(spelling);
  }
  std::string other = found->second;
  if (form.kind == Kind::uuid) return other.substr(0, spelling.size());
  if (form.kind == Kind::mac) return laid_over(spelling, other);
  if (form.kind == Kind::bus) {  // with as many digits of its domain
    const std::size_t digits = spelling.find(':');
    return other.substr(other.find(':') - digits);
  }
  if (spelling.find_first_of(".:") == spelling.npos) std::ranges::replace(other, '.', '-');
  return other;
}

std::string Names::replaced(std::string_view text, Marks marks) {
  std::ranges::sort(marks, {}, &Mark::at);
  auto mark = marks.begin();
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    while (mark != marks.end() && mark->at < at) ++mark;
    bool is_marked = false;
    for (; mark != marks.end() && mark->at == at && !is_marked; ++mark) {
      const std::string* const other = known(mark->kind, text.substr(at, mark->size));
      if (other == nullptr || mark->size == 0) continue;
      out += *other;
      at += mark->size;
      is_marked = true;
    }
    if (is_marked) continue;
    if (const auto form = may_begin_form(text, at) ? form_at(text, at) : std::nullopt) {
      out += replaced_form(text.substr(at, form->size), *form);
      at += form->size;
      continue;
    }
    if (is_word_char(text[at])) {
      const std::size_t run = run_at(text, at);
      std::size_t size = 0;
      if (const Word* const word = word_at(text, at, size)) {
        out += word->other;
        at += size;
      } else {
        const auto digest = digests_.find(std::string(text.substr(at, run)));
        out += digest == digests_.end() ? std::string(text.substr(at, run)) : digest->second.other;
        at += run;
      }
      continue;
    }
    const bool may_begin =
        text[at] == '/' &&
        (at == 0 || text.substr(0, at).ends_with("file://") ||
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
  const auto found = folders.find(std::string(path));
  if (found != folders.end()) return found->second;
  const std::size_t number = folders.size() + 1;
  return folders[std::string(path)] = fmt::format("folder-{}", number);
}

// A whole name of a file or folder.
std::string Names::component(std::string_view name, bool is_home) {
  if (is_home || !is_common(name)) {
    const std::string* const other = known(Kind::user, name);
    if (other != nullptr) return *other;
  }
  return replaced(name, marks_in(name));
}

// What is not in the bundle above the longest part that is.
std::string Names::replaced_path(std::string_view path) {
  const bool is_absolute = path.starts_with('/');
  const std::vector<std::string_view> names = components(path);
  const bool is_plain = std::ranges::any_of(
      kPlainFolders, [&](std::string_view folder) { return path.starts_with(folder); });
  if (names.empty() || is_plain || (is_absolute && names.size() == 1)) {
    std::string out;
    for (const std::string_view name : names) out += "/" + replaced(name, marks_in(name));
    return out.empty() ? std::string(path) : out;
  }
  std::size_t up = 0;
  while (up < names.size() && (names[up] == ".." || names[up] == ".")) ++up;
  const std::string above = fmt::format("{}", fmt::join(names.begin(), names.begin() + up, "/"));
  const auto joined = [](const std::string& a, const std::string& b) {
    return a.empty() ? b : b.empty() ? a : a + "/" + b;
  };
  constexpr std::size_t kMostNames = 256;
  const std::size_t first = names.size() - std::min(names.size() - up, kMostNames);
  for (std::size_t i = first; i < names.size(); ++i) {
    const auto found =
        paths_.find(fmt::format("{}", fmt::join(names.begin() + i, names.end(), "/")));
    if (found == paths_.end()) continue;
    const std::string between =
        fmt::format("{}", fmt::join(names.begin() + up, names.begin() + i, "/"));
    const std::string begin = joined(above, between.empty() ? "" : folder(between));
    return (is_absolute ? "/" : "") + joined(begin, found->second);
  }
  if (!is_absolute) return {};
  const std::string between = fmt::format("{}", fmt::join(names.begin(), names.end() - 1, "/"));
  const auto is_home = [&](std::string_view home) { return ("/" + between + "/").ends_with(home); };
  return "/" + folder(between) + "/" +
         component(names.back(), std::ranges::any_of(kHomes, is_home));
}

// In JSON a path may have blanks; a relative one is known by its end.
std::string Names::replaced_value(std::string_view text, Marks marks) {
  const bool has_lines = text.find('\n') != text.npos;
  if (text.starts_with('/') && !text.starts_with("//") && !has_lines) return replaced_path(text);
  const bool may_be_path = text.find('/') != text.npos && !has_lines &&
                           text.find("://") == text.npos && text.find(' ') == text.npos;
  std::string path = may_be_path ? replaced_path(text) : std::string();
  return path.empty() ? replaced(text, std::move(marks)) : path;
}

std::string Names::name_of(const BundledFile& file) {
  std::string other;
  std::string whole;
  std::size_t level = 0;
  for (const std::string_view name : components(file.name)) {
    whole = join_path(whole, name);
    const std::string next = level++ < file.levels ? folder(name) : component(name);
    other = join_path(other, next);
    paths_.try_emplace(whole, other);
  }
  return other;
}

std::optional<std::uint64_t> Names::bytes_of(const std::string& digest) const {
  const auto found = digests_.find(digest);
  return found == digests_.end() ? std::nullopt : std::optional(found->second.bytes);
}

Json Names::counts() const {
  Json counts = Json::object();
  for (const auto& [kind, name] : kKinds) {
    const auto found = other_.find(kind);
    counts[name] = found == other_.end() ? 0 : found->second.size();
  }
  return counts;
}

// ---- JSON, string by string; everything else stays as it is written

// Calls for each string and number outside of one what returns what is written instead.
class JsonStrings {
 public:
  struct Place {
    std::string key;    // of the value, or of the object whose key it is
    std::string field;  // what the value is: its key, or the one that an option or a member names
    bool is_key = false;
    char next = '\0';  // of a key: what the value begins with
  };
  using Replace =
      std::function<std::string(const Place&, const std::string& value, std::string& out)>;
  using ReplaceNumber = std::function<std::string(const Place&, std::string_view digits)>;

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
    if (c == '{' || c == '[') open_.push_back({is_item ? std::string() : key_, key_, c == '['});
    if ((c == '}' || c == ']') && !open_.empty()) close();
    if (c == '[' && is_in_list(kTokenKeys, key_) && drops_tokens) return tokens();
    if (is_word_char(c)) {
      const std::size_t run = run_at(text_, at_);
      out_ += number_({key_, key_}, text_.substr(at_, run));
      at_ += run;
      return;
    }
    out_ += c;
    ++at_;
  }

  void close() {
    key_ = open_.back().key;
    open_.pop_back();
    if (!open_.empty() && open_.back().is_list) key_ = open_.back().key;
    if (open_.size() < named_at_) named_.clear();
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
      out_ += replace_({key_, key_}, std::string(text_.substr(at_)), out_);
      at_ = text_.size();
      return;
    }
    const std::string_view spelling = text_.substr(at_ + 1, end - at_ - 1);
    const std::string value = meaning(spelling);
    const std::string other = replace_(place_of(value, end), value, out_);
    out_ += other == value ? std::string(text_.substr(at_, end + 1 - at_)) : line_text(Json(other));
    at_ = end + 1;
  }

  Place place_of(const std::string& value, std::size_t end) {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", end + 1);
    if (next != text_.npos && text_[next] == ':') {
      key_ = value;
      const std::size_t begin = text_.find_first_not_of(" \t\r\n", next + 1);
      const std::string around = open_.empty() ? std::string() : open_.back().key;
      return {around, around, true, begin == text_.npos ? '\0' : text_[begin]};
    }
    Place place = {key_, field()};
    const bool is_item = !open_.empty() && open_.back().is_list;
    option_ = is_item && value.starts_with("--") ? value.substr(2) : std::string();
    if (key_ == "name" || key_ == "key") {
      named_ = value;
      named_at_ = open_.size();
    }
    return place;
  }

  // "--host", "n1"; {"name": "HOSTNAME", "value": "n1"}; "node": {"name": "n1"}.
  std::string field() const {
    if (!option_.empty()) return option_;
    const bool is_value = key_ == "value" || key_ == "stringValue" || key_ == "string_value";
    if (is_value && !named_.empty()) return named_;
    const bool is_name = (key_ == "name" || key_ == "id") && !open_.empty();
    const auto kind = is_name ? kind_of_key(open_.back().owner) : std::nullopt;
    return kind == Kind::host || kind == Kind::user ? open_.back().owner : key_;
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
    std::string owner;  // also of an object in a list: the list's key
    bool is_list = false;
  };
  std::vector<Open> open_;
  std::string option_;  // the last item of a list, if it is one
  std::string named_;   // the member "name" or "key" of an object
  std::size_t named_at_ = 0;
  std::size_t at_ = 0;
};

bool is_json(std::string_view name, std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return name.find(".json") != name.npos || name.find(".ndjson") != name.npos ||
         (first != text.npos && text[first] == '{');
}

// Whether a key of an object under a key of hosts or users is one of them.
bool is_name_as_key(const Names& names, const JsonStrings::Place& place, std::string_view key) {
  const bool is_new = !names.is_common(key);
  if (!place.field.ends_with('s')) return place.next == '{' && is_new;
  return place.next == '{' || (place.next != '[' && is_new);
}

Marks marks_of(const Names& names, const JsonStrings::Place& place, std::string_view value) {
  Marks marks = marks_in(value);
  const auto kind = kind_of_key(place.field);
  const bool may_be_key = kind == Kind::host || kind == Kind::user;
  if (kind && (!place.is_key || (may_be_key && is_name_as_key(names, place, value)))) {
    mark_field(*kind, value, 0, value.size(), marks);
  }
  // "n1/socket_0", as records name a GPU.
  const std::size_t slash = value.find('/');
  const bool is_device =
      place.key.find("gpu") != std::string::npos || place.key.find("device") != std::string::npos;
  if (is_device && slash != value.npos && slash > 0) marks.push_back({0, slash, Kind::host, false});
  return marks;
}

// Serials are also written as numbers.
Marks marks_of_number(const JsonStrings::Place& place, std::string_view digits) {
  if (!is_ascii_digits(digits) || kind_of_key(place.key) != Kind::serial) return {};
  return {{0, digits.size(), Kind::serial}};
}

void learn_json(Names& names, std::string_view text) {
  const auto learn = [&](const JsonStrings::Place& place, const std::string& value, std::string&) {
    names.learn(value, marks_of(names, place, value));
    return value;
  };
  const auto number = [&](const JsonStrings::Place& place, std::string_view digits) {
    names.learn(digits, marks_of_number(place, digits));
    return std::string(digits);
  };
  std::ignore = JsonStrings(text, learn, number).rewritten();
}

// ---- Tables

struct Cell {
  std::size_t at = 0;
  std::size_t end = 0;
};

// "" in quotes is a quote.
std::size_t quote_end(std::string_view line, std::size_t at) {
  for (; at < line.size(); ++at) {
    if (line[at] != '"') continue;
    if (at + 1 >= line.size() || line[at + 1] != '"') return at;
    ++at;
  }
  return line.size();
}

// Any number of blanks separates words, and a header's "#" is not one.
std::vector<Cell> words_of(std::string_view line) {
  std::vector<Cell> words;
  for (std::size_t at = 0, end = 0;; at = end) {
    at = line.find_first_not_of(words.empty() ? " \r#" : " \r", at);
    if (at == line.npos) return words;
    end = std::min(line.find_first_of(" \r", at), line.size());
    words.push_back({at, end});
  }
}

// A separator in quotes separates nothing.
std::vector<Cell> cells_of(std::string_view line, char separator) {
  if (separator == ' ') return words_of(line);
  std::vector<Cell> cells;
  for (std::size_t at = 0;;) {
    const std::size_t first = line.find_first_not_of(' ', at);
    std::size_t end = at;
    const bool is_quoted = first != line.npos && line[first] == '"';
    if (is_quoted) end = quote_end(line, first + 1);
    end = std::min(line.find(separator, end), line.size());
    Cell cell = {at, end};
    if (is_quoted) {
      cell.at = first + 1;
      const std::size_t last = line.substr(0, end).find_last_of('"');
      if (last > first) cell.end = last;
    }
    cells.push_back(cell);
    if (end == line.size()) return cells;
    at = end + 1;
  }
}

char separator_of(std::string_view line) {
  char best = ',';
  for (const char c : {';', '\t', '|'}) {
    if (std::ranges::count(line, c) > std::ranges::count(line, best)) best = c;
  }
  return line.find(best) == line.npos ? ' ' : best;
}

// Whether lines of as many words follow, with a number in the same place: other texts have blanks,
// too. Two, or at least one.
bool has_rows(std::string_view rest, std::size_t words, int least) {
  constexpr int kMost = 2;
  std::vector<bool> are_numbers(words, true);
  int rows = 0;
  while (rows < kMost && !rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with('#')) continue;  // units
    const std::vector<Cell> cells = words_of(line);
    if (cells.empty()) break;
    if (cells.size() != words) return false;
    for (std::size_t i = 0; i < words; ++i) {
      are_numbers[i] = are_numbers[i] && is_ascii_digit(line[cells[i].at]);
    }
    ++rows;
  }
  return rows >= least && std::ranges::find(are_numbers, true) != are_numbers.end();
}

// The columns of a text whose lines come in order.
class Table {
 public:
  // `rest`: the lines after it.
  Marks marks_of(std::string_view line, std::string_view rest) {
    Marks marks = marks_in(line);
    const std::size_t first = line.find_first_not_of(" \t\"");
    const bool may_be_header = first != line.npos && !is_ascii_digit(line[first]);
    if (may_be_header && read_header(line, rest)) return marks;
    ++lines_;
    if (columns_.empty()) return marks;
    const std::vector<Cell> cells = cells_of(line, separator_);
    for (const auto& [column, kind] : columns_) {
      if (column < cells.size()) {
        mark_field(kind, line, cells[column].at, cells[column].end, marks);
      }
    }
    return marks;
  }

 private:
  // Another header is without numbers.
  bool read_header(std::string_view line, std::string_view rest) {
    constexpr int kMostBefore = 50;  // lines before the header
    const char separator = separator_of(line);
    const std::vector<Cell> cells = cells_of(line, separator);
    const bool is_first = columns_.empty() && lines_ < kMostBefore;
    std::vector<std::pair<std::size_t, Kind>> columns;
    for (std::size_t i = 0; i < cells.size() && cells.size() > 1; ++i) {
      const std::string_view cell = strip(line.substr(cells[i].at, cells[i].end - cells[i].at));
      if (!is_first && !cell.empty() && is_ascii_digit(cell.front())) return false;
      if (const auto kind = kind_of_key(cell)) columns.emplace_back(i, *kind);
    }
    if (columns.empty() || (separator == ' ' && !has_rows(rest, cells.size(), lines_ == 0 ? 1 : 2)))
      return false;
    columns_ = std::move(columns);
    separator_ = separator;
    return true;
  }

  std::vector<std::pair<std::size_t, Kind>> columns_;
  char separator_ = ',';
  int lines_ = 0;
};

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
    return names.replaced_value(value, marks_of(names, place, value));
  };
  const auto number = [&](const JsonStrings::Place& place, std::string_view digits) {
    return names.replaced(digits, marks_of_number(place, digits));
  };
  JsonStrings strings(text, replace, number);
  strings.drops_tokens = !keep_texts;
  return strings.rewritten();
}

// Calls `take(line, marks)` for each line of a text that is not JSON.
template <typename Take>
void for_each_line(const BundledFile& file, std::string_view text, Take take) {
  Table table;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    Marks marks = table.marks_of(line, text.substr(std::min(end + 1, text.size())));
    if (last_name(file.path) == "power_node.txt") {
      marks.clear();
      mark_field(Kind::host, line, 0, line.size(), marks);
    }
    take(line, marks);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string redacted_lines(Names& names, const BundledFile& file, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_line(file, text, [&](std::string_view line, const Marks& marks) {
    out += names.replaced(line, marks);
    out += '\n';
  });
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

class Redactor {
 public:
  Redactor(std::vector<BundledFile>& files, const Redaction& how)
      : files_(files),
        keep_texts_(how.keep_texts),
        texts_(files.size()),
        names_(how.common_words) {}

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
    names_.learn_products(text);
    if (is_json(file.path, text)) {
      learn_json(names_, text);
    } else {
      for_each_line(file, text,
                    [&](std::string_view line, const Marks& marks) { names_.learn(line, marks); });
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
                            : redacted_lines(names_, file, before);
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

Json redact(std::vector<BundledFile>& files, const Redaction& how) {
  return Redactor(files, how).redact();
}

}  // namespace aggregate_power::bundle
