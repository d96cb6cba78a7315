// Joins what rows call one GPU, and finds what they cannot mean.
#include "core/telemetry/gpu_names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/characters.h"
#include "base/text/pattern.h"

namespace aggregate_power {
namespace {

constexpr char kSeparator = '\x01';

bool fits_name(std::string_view name, const Pattern& pattern) {
  return pattern.matches(lower_ascii(strip(name)));
}

constexpr std::size_t kShortUuid = 8;
constexpr std::size_t kWholeUuid = 32;  // without dashes

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef-") == text.npos;
}

std::string_view without_zeros(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('0'), text.size()));
}

// "GPU-5f0c1a2b", "MIG-...", or a whole UUID without such a word.
bool is_uuid(std::string_view text) {
  const std::string lower = lower_ascii(strip(text));
  if (lower.starts_with("mig-")) return true;
  const std::string plain = plain_uuid(lower);
  const bool has_word = lower.starts_with("gpu-") || lower.starts_with("gpu_");
  return has_word ? !is_ascii_digits(plain) || plain.size() >= kShortUuid
                  : plain.size() == kWholeUuid && is_hexadecimal(plain);
}

// Some recorders shorten UUIDs.
bool is_one_uuid(std::string_view a, std::string_view b) {
  std::string shorter = plain_uuid(a);
  std::string longer = plain_uuid(b);
  if (shorter.size() > longer.size()) std::swap(shorter, longer);
  if (shorter == longer) return true;
  return longer.size() == kWholeUuid && is_hexadecimal(longer) && shorter.size() >= kShortUuid &&
         longer.starts_with(shorter);
}

std::string joined(std::initializer_list<std::string_view> parts, std::string_view between = "/") {
  std::string text;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

std::string short_name(const GpuKey& key) {
  return key.index.empty() ? std::string() : joined({key.host, key.index});
}

std::string long_name(const GpuKey& key) {
  return key.index.empty() ? std::string() : joined({key.host, key.place, key.index});
}

std::string pci_name(const GpuKey& key) {
  return key.pci.empty() ? std::string() : joined({key.host, key.place, key.pci});
}

// Names that are unique, by what makes them so. Empty: the key has none.
std::string uuid_id(const GpuKey& key) { return plain_uuid(key.uuid); }
std::string pci_id(const GpuKey& key) {
  return key.pci.empty() ? std::string()
                         : fmt::format("{}{}{}{}{}", key.host, kSeparator, key.place, kSeparator,
                                       plain_pci(key.pci));
}
std::string local_id(const GpuKey& key) {
  return key.index.empty() ? std::string()
                           : fmt::format("{}{}{}{}{}", key.host, kSeparator, key.place, kSeparator,
                                         plain_index(key.index));
}

// "node-1.cluster.local" is "node-1".
std::string host_named_by(const GpuKey& key) {
  const std::string host = lower_ascii(key.host.empty() ? key.place : key.host);
  return is_ascii_digits(host.substr(0, host.find('.'))) ? host : host.substr(0, host.find('.'));
}

const std::string& unique_name(const GpuKey& key) { return key.uuid.empty() ? key.pci : key.uuid; }

bool is_whole_uuid(std::string_view plain) {
  return plain.size() == kWholeUuid && is_hexadecimal(plain);
}

// The GPUs of one recording, by what makes them one in two spellings: UUIDs, where one may
// be the begin of the other; for GPUs without, their PCI addresses, else their indices.
class SpelledGpus {
 public:
  std::optional<std::size_t> find(const GpuKey& key) const {
    if (!names_gpu(key)) return std::nullopt;
    if (key.uuid.empty()) return at(others_, other_id(key));
    const std::string plain = plain_uuid(key.uuid);
    if (const auto same = at(uuids_, plain)) return same;
    if (plain.size() < kShortUuid) return std::nullopt;
    if (is_whole_uuid(plain)) {
      for (std::size_t size = kShortUuid; size < plain.size(); ++size) {
        if (const auto same = at(uuids_, plain.substr(0, size))) return same;
      }
    }
    const auto longer = whole_.lower_bound(plain);
    const bool begins_so = longer != whole_.end() && longer->first.starts_with(plain);
    return begins_so ? std::optional(longer->second) : std::nullopt;
  }

  void add(const GpuKey& key, std::size_t number) {
    if (!names_gpu(key)) return;
    if (key.uuid.empty()) {
      others_.try_emplace(other_id(key), number);
      return;
    }
    const std::string plain = plain_uuid(key.uuid);
    uuids_.try_emplace(plain, number);
    if (is_whole_uuid(plain)) whole_.try_emplace(plain, number);
  }

 private:
  using Numbers = std::map<std::string, std::size_t>;

  static std::optional<std::size_t> at(const Numbers& numbers, const std::string& id) {
    const auto found = numbers.find(id);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  static std::string other_id(const GpuKey& key) {
    return key.pci.empty() ? "index " + local_id(key) : "pci " + pci_id(key);
  }

  Numbers uuids_;
  Numbers whole_;  // those that are not shortened
  Numbers others_;
};

}  // namespace

std::string plain_uuid(std::string_view uuid) {
  std::string plain = lower_ascii(strip(uuid));
  if (plain.starts_with("gpu-") || plain.starts_with("gpu_")) {
    plain.erase(0, 4);
  } else if (plain.starts_with("gpu") && plain.size() >= kWholeUuid) {
    plain.erase(0, 3);
  }
  if (plain.size() < kShortUuid) return plain;
  if (plain.find_first_not_of("0-") == plain.npos) return {};
  if (is_hexadecimal(plain)) std::erase(plain, '-');
  return plain;
}

std::string plain_pci(std::string_view pci) {
  std::string plain = lower_ascii(strip(pci));
  if (plain.starts_with("pci:") || plain.starts_with("pci-")) plain.erase(0, 4);
  if (plain.ends_with(".0")) plain.erase(plain.size() - 2);
  const std::size_t colon = plain.find(':');
  if (colon == plain.npos || plain.find(':', colon + 1) == plain.npos) {
    return std::string(without_zeros(plain));
  }
  const std::string_view domain = without_zeros(std::string_view(plain).substr(0, colon));
  const std::string_view rest = without_zeros(std::string_view(plain).substr(colon + 1));
  return domain.empty() ? std::string(rest) : fmt::format("{}:{}", domain, rest);
}

std::string plain_index(std::string_view index) {
  const std::string lower = lower_ascii(strip(index));
  std::string_view digits = lower;
  if (digits.starts_with("/dev/")) digits.remove_prefix(5);
  for (const std::string_view word : {"gpu", "card", "device", "dev", "nvidia", "cuda"}) {
    if (!digits.starts_with(word)) continue;
    digits.remove_prefix(word.size());
    digits.remove_prefix(std::min(digits.find_first_not_of(" ._:#-"), digits.size()));
    break;
  }
  const std::size_t point = digits.find('.');
  const bool has_zeros = point != digits.npos && point + 1 < digits.size() &&
                         digits.find_first_not_of('0', point + 1) == digits.npos;
  if (has_zeros) digits = digits.substr(0, point);
  if (!is_ascii_digits(digits)) return lower;
  const std::string_view number = without_zeros(digits);
  return number.empty() ? "0" : std::string(number);
}

bool is_uuid_name(std::string_view name) {
  static const Pattern pattern = "((gpu|device|nvml|card)[ ._-]?)?uuid";
  return fits_name(name, pattern);
}

bool is_pci_name(std::string_view name) {
  static const Pattern pattern =
      "((gpu|device)[ ._-]?)?(pci[ ._-]?)?(bus[ ._-]?id|bdf)|(gpu[ ._-]?)?pci([ ._-]?(id|addr|address))?";
  return fits_name(name, pattern);
}

bool is_place_name(std::string_view name) {
  static const Pattern pattern =
      "((k8s|kubernetes|kube|slurm|ray|exported|gpu|global|local|compute|physical)[ ._-]?)?"
      "(host|node|server|machine|pod|vm|container|worker|rank|replica|instance|ip)"
      "([ ._-]?(name|id|ip|uid|uuid|rank|addr|address|idx|index|number|no))?"
      "|hostip|mpi[ ._-]?rank|world[ ._-]?rank|fqdn|computer([ ._-]?name)?|workstation"
      "|(slurmd?|job|batch|remote|src|source|target)[ ._-]?(host|node|server|machine)[ ._-]?(name|id)?";
  return fits_name(name, pattern);
}

bool names_no_gpu(std::string_view cell) {
  constexpr std::string_view kFirst = "-[nNuUeE?461";
  constexpr std::string_view kWords[] = {"-1",
                                         "-",
                                         "--",
                                         "n/a",
                                         "na",
                                         "none",
                                         "null",
                                         "nil",
                                         "nan",
                                         "not available",
                                         "not supported",
                                         "not found",
                                         "unknown",
                                         "undefined",
                                         "error",
                                         "unknown error",
                                         "err",
                                         "err!",
                                         "no",
                                         "?",
                                         "gpu is lost",
                                         "gpu requires reset",
                                         "insufficient permissions",
                                         "65535",
                                         "4294967295",
                                         "18446744073709551615"};
  cell = strip(cell);
  if (cell.empty()) return true;
  if (kFirst.find(cell.front()) == kFirst.npos) return false;
  if (cell.front() == '[' && cell.back() == ']') cell = strip(cell.substr(1, cell.size() - 2));
  return std::ranges::find(kWords, lower_ascii(cell)) != std::end(kWords);
}

void write_key(const RowKey& row, std::string& text) {
  text.assign(row.host);
  text += kSeparator;
  bool is_first = true;
  for (const std::string_view place : row.places) {
    if (place.empty()) continue;
    if (!std::exchange(is_first, false)) text += '/';
    text += place;
  }
  for (const std::string_view part : {row.index, row.uuid, row.pci}) (text += kSeparator) += part;
}

GpuKey read_key(std::string_view text) {
  std::array<std::string, 5> parts;
  for (std::string& part : parts) {
    const std::size_t end = std::min(text.find(kSeparator), text.size());
    const std::string_view cell = strip(text.substr(0, end));
    if (!names_no_gpu(cell)) part = cell;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (plain_uuid(parts[3]).empty()) parts[3].clear();
  if (is_uuid(parts[2]) && !is_uuid(parts[3])) std::swap(parts[2], parts[3]);
  return {parts[0], parts[1], parts[2], parts[3], parts[4]};
}

bool names_gpu(const GpuKey& key) {
  return !key.index.empty() || !key.uuid.empty() || !key.pci.empty();
}

std::vector<std::string> names_of(const GpuKey& key) {
  std::vector<std::string> names;
  for (std::string name :
       {key.index, short_name(key), long_name(key), key.uuid, key.pci, pci_name(key)}) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    names.push_back(std::move(name));
  }
  return names;
}

GpuKey key_of_name(std::string_view name, bool names_hosts) {
  GpuKey key;
  const std::size_t slash = names_hosts ? name.rfind('/') : name.npos;
  if (slash != name.npos) key.host = name.substr(0, slash);
  const std::string_view own = name.substr(slash == name.npos ? 0 : slash + 1);
  (is_uuid(own) ? key.uuid : own.find(':') != own.npos ? key.pci : key.index) = own;
  return key;
}

std::vector<std::string> comparable_names(const GpuKey& key) {
  std::vector<std::string> names;
  if (!key.uuid.empty()) names.push_back("uuid " + plain_uuid(key.uuid).substr(0, kShortUuid));
  if (!key.pci.empty()) names.push_back("pci " + plain_pci(key.pci));
  if (!key.index.empty()) names.push_back("index " + plain_index(key.index));
  return names;
}

bool are_of_two_hosts(const GpuKey& a, const GpuKey& b) {
  const std::string host_a = host_named_by(a);
  const std::string host_b = host_named_by(b);
  return !host_a.empty() && !host_b.empty() && host_a != host_b;
}

SameGpu same_gpu(const GpuKey& a, const GpuKey& b) {
  const auto same = [](bool is_same) { return is_same ? SameGpu::yes : SameGpu::no; };
  if (!a.uuid.empty() && !b.uuid.empty()) return same(is_one_uuid(a.uuid, b.uuid));
  const bool know_hosts = !host_named_by(a).empty() && !host_named_by(b).empty();
  if (are_of_two_hosts(a, b)) return SameGpu::no;
  const bool know_pci = !a.pci.empty() && !b.pci.empty();
  const bool know_index = !a.index.empty() && !b.index.empty();
  if (!know_pci && !know_index) return SameGpu::no;
  const bool is_same = know_pci ? plain_pci(a.pci) == plain_pci(b.pci)
                                : plain_index(a.index) == plain_index(b.index);
  if (!is_same) return SameGpu::no;
  return know_hosts ? SameGpu::yes : SameGpu::maybe;
}

namespace {

// With the first part of its host's name alone.
GpuKey key_by_label(GpuKey key) {
  (key.host.empty() ? key.place : key.host) = host_named_by(key);
  return key;
}

bool has_domain(const GpuKey& key) {
  const std::string host = lower_ascii(key.host.empty() ? key.place : key.host);
  return host != host_named_by(key);
}

}  // namespace

std::vector<std::string> spelled_twice(std::span<const std::string> names,
                                       std::span<const GpuKey> keys) {
  SpelledGpus known;
  SpelledGpus by_label[2];  // of hosts without a domain, and with one
  std::vector<std::string> twice;
  for (std::size_t i = 0; i < std::min(names.size(), keys.size()); ++i) {
    const GpuKey by_first = key_by_label(keys[i]);
    auto same = known.find(keys[i]);
    if (!same) same = by_label[has_domain(keys[i]) ? 0 : 1].find(by_first);
    by_label[has_domain(keys[i]) ? 1 : 0].add(by_first, i);
    if (same) {
      twice.push_back(fmt::format("{} and {} are one GPU in two spellings: write one of them",
                                  printable(names[*same]), printable(names[i])));
    }
    known.add(keys[i], i);
  }
  return twice;
}

bool is_spelled_otherwise(const GpuKey& a, const GpuKey& b) {
  const auto differ = [](const std::string& x, const std::string& y) {
    return !x.empty() && !y.empty() && x != y;
  };
  return differ(a.index, b.index) || differ(a.pci, b.pci);
}

// The GPU that has the UUID or the PCI address, or none so far.
std::optional<std::uint32_t> GpuNames::identified(const GpuKey& key) const {
  if (const auto found = by_uuid_.find(uuid_id(key)); found != by_uuid_.end()) return found->second;
  const auto found = by_pci_.find(pci_id(key));
  const bool is_other =
      found != by_pci_.end() && !key.uuid.empty() && !gpus_[found->second].uuid.empty();
  if (found != by_pci_.end() && !is_other) return found->second;
  const auto local = by_local_.find(local_id(key));
  if (local == by_local_.end()) return std::nullopt;
  const bool has_id = !key.uuid.empty() || !key.pci.empty();
  const std::uint32_t first = local->second.gpus.front();
  const bool lacks_id = unique_name(gpus_[first].keys.front()).empty() && gpus_[first].uuid.empty();
  return !has_id || lacks_id ? std::optional(first) : std::nullopt;
}

std::uint32_t GpuNames::add(const GpuKey& key) {
  const std::uint32_t number = identified(key).value_or(static_cast<std::uint32_t>(gpus_.size()));
  if (number == gpus_.size()) gpus_.emplace_back();
  Gpu& gpu = gpus_[number];
  if (std::ranges::find(gpu.keys, key) == gpu.keys.end()) gpu.keys.push_back(key);
  if (gpu.uuid.empty()) gpu.uuid = key.uuid;
  if (gpu.pci.empty()) gpu.pci = key.pci;
  if (!key.uuid.empty()) by_uuid_.try_emplace(uuid_id(key), number);
  if (!key.pci.empty()) by_pci_.insert_or_assign(pci_id(key), number);
  if (key.index.empty()) return number;
  Local& local = by_local_[local_id(key)];
  if (std::ranges::find(local.gpus, number) == local.gpus.end()) local.gpus.push_back(number);
  local.lacks_id = local.lacks_id || unique_name(key).empty();
  return number;
}

// By GPU, the name that all its rows and no row of another GPU have; empty if there is none.
std::vector<std::string> GpuNames::unique(std::string (*name)(const GpuKey&)) const {
  std::vector<std::string> own(gpus_.size());
  std::map<std::string, std::size_t> gpu_by_name;
  std::vector<bool> is_shared(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    for (const GpuKey& key : gpus_[i].keys) {
      std::string text = name(key);
      if (text.empty()) continue;
      const std::size_t first = gpu_by_name.try_emplace(text, i).first->second;
      if (first != i) is_shared[first] = is_shared[i] = true;
      if (own[i].empty()) own[i] = text;
      if (own[i] != text) is_shared[i] = true;
    }
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (is_shared[i]) own[i].clear();
  }
  return own;
}

std::vector<std::string> GpuNames::names() const {
  const std::vector<std::string> brief = unique(short_name);
  const std::vector<std::string> full = unique(long_name);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const Gpu& gpu = gpus_[i];
    const std::string& id = gpu.uuid.empty() ? gpu.pci : gpu.uuid;
    const GpuKey& first = gpu.keys.front();
    names.push_back(by_id_ && !id.empty() ? id
                    : !brief[i].empty()   ? brief[i]
                    : !full[i].empty()    ? full[i]
                    : !gpu.uuid.empty()   ? gpu.uuid
                    : gpu.pci.empty()     ? long_name(first)
                                          : joined({first.host, first.place, gpu.pci}));
  }
  return names;
}

std::vector<GpuKey> GpuNames::keys() const {
  std::vector<GpuKey> keys;
  for (const Gpu& gpu : gpus_) {
    GpuKey key = gpu.keys.front();
    for (const GpuKey& other : gpu.keys) {
      if (key.index.empty()) key.index = other.index;
    }
    key.uuid = gpu.uuid;
    key.pci = gpu.pci;
    keys.push_back(std::move(key));
  }
  return keys;
}

bool GpuNames::shows_places() const {
  const std::vector<std::string> brief = unique(short_name);
  const std::vector<std::string> full = unique(long_name);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const bool is_id = by_id_ && !(gpus_[i].uuid.empty() && gpus_[i].pci.empty());
    if (!is_id && brief[i].empty() && !full[i].empty()) return true;
  }
  return false;
}

// Whether each index of the GPU is also another one's: the driver numbered them again.
bool GpuNames::is_renumbered(const Gpu& gpu) const {
  return !gpu.uuid.empty() && std::ranges::all_of(gpu.keys, [&](const GpuKey& key) {
    const auto local = by_local_.find(local_id(key));
    return local == by_local_.end() || (local->second.gpus.size() > 1 && !local->second.lacks_id);
  });
}

// One GPU under two indices of one place.
std::string GpuNames::conflict_of(const Gpu& gpu) const {
  if (is_renumbered(gpu)) return {};
  std::map<std::string, std::string> index_by_place;
  for (const GpuKey& key : gpu.keys) {
    if (key.index.empty()) continue;
    const auto [known, is_new] =
        index_by_place.try_emplace(joined({key.host, key.place}), key.index);
    if (is_new || plain_index(known->second) == plain_index(key.index)) continue;
    return fmt::format(
        "{} has index {} in some rows and index {} in others",
        gpu.uuid.empty() ? "PCI address " + printable(gpu.pci) : "UUID " + printable(gpu.uuid),
        printable(known->second), printable(key.index));
  }
  return {};
}

std::vector<std::string> GpuNames::conflicts() const {
  const std::vector<std::string> names = this->names();
  std::vector<std::string> conflicts;
  for (const Gpu& gpu : gpus_) {
    if (by_id_) break;
    if (std::string text = conflict_of(gpu); !text.empty()) conflicts.push_back(std::move(text));
  }
  for (const auto& [local, called] : by_local_) {
    if (called.gpus.size() < 2 || !called.lacks_id) continue;
    conflicts.push_back(fmt::format("some rows of GPU {} name no UUID, and may be of {} or of {}",
                                    printable(gpus_[called.gpus[0]].keys.front().index),
                                    printable(names[called.gpus[0]]),
                                    printable(names[called.gpus[1]])));
  }
  return conflicts;
}

std::vector<std::string> GpuNames::notes() const {
  constexpr std::size_t kMostNoted = 3;
  const std::vector<std::string> names = this->names();
  std::vector<std::string> notes;
  for (const auto& [local, called] : by_local_) {
    if (called.gpus.size() < 2 || by_id_) continue;
    std::vector<std::string> ids;
    for (const std::uint32_t gpu : called.gpus) ids.push_back(printable(names[gpu]));
    const GpuKey& key = gpus_[called.gpus.front()].keys.front();
    notes.push_back(fmt::format("gpu_identity: index {} is that of {}, which count as {} GPUs",
                                printable(key.index), fmt::join(ids, " and "), ids.size()));
  }
  if (notes.size() <= kMostNoted) return notes;  // else the index may count rows
  const std::size_t others = notes.size() - kMostNoted;
  notes.resize(kMostNoted);
  notes.back() += fmt::format(" ({} more indices like this)", others);
  return notes;
}

}  // namespace aggregate_power
