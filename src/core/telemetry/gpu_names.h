// Tells which GPU a row is of, by all that the row says about it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate_power/gpu.h"

namespace aggregate_power {

// ---- Names of columns and labels

// "uuid", "gpu_uuid": unique everywhere.
bool is_uuid_name(std::string_view name);
// "pci.bus_id", "bdf": unique on its host.
bool is_pci_name(std::string_view name);
// "hostname", "node_id", "k8s_node", "pod", "rank": one index is of another GPU in each.
bool is_place_name(std::string_view name);

// ---- Names of GPUs

// What is equal in all spellings of one name:
//   "GPU-5F0C1A2B-11AA", "5f0c1a2b11aa"          a UUID; empty if it is nobody's, such as zeros
//   "00000000:3B:00.0", "3b:00.0"                a PCI address
//   "GPU 3", "nvidia3", "card3", "03", "3.0"     an index; other names in lower case
std::string plain_uuid(std::string_view uuid);
std::string plain_pci(std::string_view pci);
std::string plain_index(std::string_view index);

// Whether a cell that should name a GPU names none: "", "N/A", "-1", "[Not Supported]".
bool names_no_gpu(std::string_view cell);

// A row's cells as one text, for a table of known rows, and back. Cells that name nothing are
// empty. `id` is a UUID, or with `is_pci` a PCI address.
struct RowKey {
  std::string_view host;  // shown in each name
  std::span<const std::string_view> places;
  std::string_view index;
  std::string_view uuid;
  std::string_view pci;
};
void write_key(const RowKey& row, std::string& text);
GpuKey read_key(std::string_view text);
// Whether it names a GPU at all.
bool names_gpu(const GpuKey& key);
// What such a GPU may be called: "0", "node-1/0", its UUID, its PCI address.
std::vector<std::string> names_of(const GpuKey& key);

// The key behind the name of a device that has no other names.
GpuKey key_of_name(std::string_view name, bool names_hosts);

// Whether two GPUs of two recordings are one.
enum class SameGpu { no, maybe, yes };
// Two GPUs that may be one have one of these in common.
std::vector<std::string> comparable_names(const GpuKey& key);
SameGpu same_gpu(const GpuKey& a, const GpuKey& b);
// Whether both name a host, and not the same.
bool are_of_two_hosts(const GpuKey& a, const GpuKey& b);
// Whether they have an index or a PCI address each, and not in the same letters.
bool is_spelled_otherwise(const GpuKey& a, const GpuKey& b);
// For people: devices of one recording that are one GPU in two spellings. `keys` are theirs.
std::vector<std::string> spelled_twice(std::span<const std::string> names,
                                       std::span<const GpuKey> keys);

// Numbers the GPUs of a recording by the keys of its rows. A UUID identifies a GPU, else its PCI
// address does on its host, else its index there.
class GpuNames {
 public:
  // `by_id`: the column that names the devices has UUIDs or PCI addresses.
  explicit GpuNames(bool by_id = false) : by_id_(by_id) {}

  // The number of the GPU, for a key that names one.
  std::uint32_t add(const GpuKey& key);
  // By number: as the rows call it where that is of one GPU only, with its host and place where
  // only these tell it apart, else its UUID or PCI address.
  std::vector<std::string> names() const;
  std::vector<GpuKey> keys() const;
  // Whether some name has a place in it that the index alone lacks.
  bool shows_places() const;
  // For people: what cannot be true of any GPUs.
  std::vector<std::string> conflicts() const;
  // For people: indices that several GPUs share, which are named by their ids.
  std::vector<std::string> notes() const;

 private:
  struct Gpu {
    std::vector<GpuKey> keys = {};  // each once
    std::string uuid = {};
    std::string pci = {};
  };
  // What is called by one index at one place.
  struct Local {
    std::vector<std::uint32_t> gpus = {};
    bool lacks_id = false;  // in some rows
  };

  std::optional<std::uint32_t> identified(const GpuKey& key) const;
  std::vector<std::string> unique(std::string (*name)(const GpuKey&)) const;
  bool is_renumbered(const Gpu& gpu) const;
  std::string conflict_of(const Gpu& gpu) const;

  bool by_id_;
  std::vector<Gpu> gpus_;
  std::map<std::string, std::uint32_t> by_uuid_;
  std::map<std::string, std::uint32_t> by_pci_;
  std::map<std::string, Local> by_local_;
};

}  // namespace aggregate_power
