// Who a GPU is, by all the columns that say it.
#include "core/telemetry/gpu_names.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace aggregate_power {
namespace gpu_names_test {

using Names = std::vector<std::string>;
using Numbers = std::vector<std::uint32_t>;

Numbers numbers_of(GpuNames& names, const std::vector<GpuKey>& rows) {
  Numbers numbers;
  for (const GpuKey& row : rows) numbers.push_back(names.add(row));
  return numbers;
}

TEST(GpuNames, AreIndicesWhereThoseAreUnique) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.index = "0", .uuid = "GPU-a"},
                               {.index = "1", .uuid = "GPU-b"},
                               {.index = "0", .uuid = "gpu-A"}}),
            (Numbers{0, 1, 0}));
  EXPECT_EQ(names.names(), (Names{"0", "1"}));
  EXPECT_TRUE(names.conflicts().empty());
  EXPECT_TRUE(names.notes().empty());
  EXPECT_FALSE(names.shows_places());
}

TEST(GpuNames, AreUuidsWhereOneIndexHasTwo) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.index = "0", .uuid = "GPU-a"},
                               {.index = "1", .uuid = "GPU-b"},
                               {.index = "0", .uuid = "GPU-c"}}),
            (Numbers{0, 1, 2}));
  EXPECT_EQ(names.names(), (Names{"GPU-a", "1", "GPU-c"}));
  EXPECT_TRUE(names.conflicts().empty());
  EXPECT_EQ(names.notes(),
            Names{"gpu_identity: index 0 is that of GPU-a and GPU-c, which count as 2 GPUs"});
}

TEST(GpuNames, HavePlacesWhereOnlyThoseTellIndicesApart) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.place = "n1", .index = "0"}, {.place = "n2", .index = "0"}}),
            (Numbers{0, 1}));
  EXPECT_EQ(names.names(), (Names{"n1/0", "n2/0"}));
  EXPECT_TRUE(names.shows_places());
  GpuNames ranks;
  numbers_of(ranks, {{.place = "r0", .index = "0"}, {.place = "r1", .index = "1"}});
  EXPECT_EQ(ranks.names(), (Names{"0", "1"})) << "ranks add nothing";
}

TEST(GpuNames, OfOneUuidAreOneGpuInAllPods) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.place = "pod-a", .index = "0", .uuid = "GPU-a"},
                               {.place = "pod-b", .index = "0", .uuid = "GPU-a"},
                               {.place = "pod-c", .index = "3", .uuid = "GPU-a"}}),
            (Numbers{0, 0, 0}));
  EXPECT_TRUE(names.conflicts().empty()) << "each container counts its own GPUs";
  EXPECT_EQ(names.names(), Names{"GPU-a"});
}

TEST(GpuNames, ConflictWhereOneUuidHasTwoIndicesInOnePlace) {
  GpuNames names;
  numbers_of(names, {{.index = "0", .uuid = "GPU-a"}, {.index = "1", .uuid = "GPU-a"}});
  EXPECT_EQ(names.conflicts(), Names{"UUID GPU-a has index 0 in some rows and index 1 in others"});
}

TEST(GpuNames, OfRowsWithoutAUuidAreThoseOfTheirIndex) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.index = "0"}, {.index = "0", .uuid = "GPU-a"}, {.index = "0"}}),
            (Numbers{0, 0, 0}));
  EXPECT_TRUE(names.conflicts().empty());
  names.add({.index = "0", .uuid = "GPU-b"});
  EXPECT_EQ(names.conflicts(),
            Names{"some rows of GPU 0 name no UUID, and may be of GPU-a or of GPU-b"});
}

TEST(GpuNames, UsePciAddressesOfEachHost) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.host = "a", .index = "0", .pci = "00000000:3B:00.0"},
                               {.host = "a", .index = "0", .pci = "0000:3b:00.0"},
                               {.host = "b", .index = "0", .pci = "0000:3b:00.0"}}),
            (Numbers{0, 0, 1}));
  EXPECT_EQ(names.names(), (Names{"a/0", "b/0"}));
}

TEST(GpuNames, OfGpusThatWereNumberedAnewAreTheirUuids) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.index = "0", .uuid = "GPU-a"},
                               {.index = "1", .uuid = "GPU-b"},
                               {.index = "1", .uuid = "GPU-a"},
                               {.index = "0", .uuid = "GPU-b"}}),
            (Numbers{0, 1, 0, 1}));
  EXPECT_TRUE(names.conflicts().empty());
  EXPECT_EQ(names.names(), (Names{"GPU-a", "GPU-b"}));
}

TEST(GpuNames, OfOneUuidMayHaveItsIndexInTwoSpellings) {
  GpuNames names;
  EXPECT_EQ(numbers_of(names, {{.index = "0", .uuid = "GPU-a"},
                               {.index = "GPU 0", .uuid = "GPU-a"},
                               {.index = "nvidia0"}}),
            (Numbers{0, 0, 0}));
  EXPECT_TRUE(names.conflicts().empty());
}

struct Spelled {
  const char* plain;
  std::vector<const char*> others;
};

TEST(PlainNames, AreEqualInAllSpellings) {
  const Spelled indices[] = {{"0",
                              {"00", "GPU 0", "gpu0", "GPU-0", "nvidia0", "/dev/nvidia0", "card0",
                               "0.0", " 0 ", "device #0"}},
                             {"12", {"012", "cuda:12", "Gpu_12", "12.0"}},
                             {"0.1", {"0.1"}},
                             {"total", {"Total"}},
                             {"gpu", {"GPU"}}};
  for (const Spelled& index : indices) {
    for (const char* other : index.others) EXPECT_EQ(plain_index(other), index.plain) << other;
  }
  const Spelled addresses[] = {
      {"7:00", {"00000000:07:00.0", "0000:07:00.0", "07:00.0", "07:00", "PCI:0000:07:00.0"}},
      {"b:00", {"00000000:0B:00.0", "0b:00.0"}},
      {"1:b:00", {"0001:0B:00.0", "00000001:0b:00.0"}},
      {"b:00.1", {"0000:0B:00.1"}}};
  for (const Spelled& pci : addresses) {
    for (const char* other : pci.others) EXPECT_EQ(plain_pci(other), pci.plain) << other;
  }
  const Spelled uuids[] = {
      {"5f0c1a2b11112222333344445555666f",
       {"GPU-5f0c1a2b-1111-2222-3333-44445555666f", "gpu_5F0C1A2B-1111-2222-3333-44445555666F",
        "5f0c1a2b11112222333344445555666f"}},
      {"", {"00000000-0000-0000-0000-000000000000"}}};
  for (const Spelled& uuid : uuids) {
    for (const char* other : uuid.others) EXPECT_EQ(plain_uuid(other), uuid.plain) << other;
  }
}

Names twice(const Names& names, const std::vector<GpuKey>& keys) {
  return spelled_twice(names, keys);
}

TEST(SpelledTwice, NamesGpusThatAreOne) {
  EXPECT_EQ(twice({"0", "1", "GPU 1"}, {{.index = "0"}, {.index = "1"}, {.index = "GPU 1"}}),
            Names{"1 and GPU 1 are one GPU in two spellings: write one of them"});
  const std::string whole = "GPU-5f0c1a2b-1111-2222-3333-44445555666f";
  const char* const others[] = {"GPU-5f0c1a2b", "5f0c1a2b-1111-2222-3333-44445555666f",
                                "GPU-5F0C1A2B-1111-2222-3333-44445555666F",
                                "5f0c1a2b11112222333344445555666f"};
  for (const std::string other : others) {
    EXPECT_EQ(twice({whole, other}, {{.uuid = whole}, {.uuid = other}}).size(), 1) << other;
  }
  for (const std::string other : others) {  // a shortened one may come first
    EXPECT_EQ(twice({other, whole}, {{.uuid = other}, {.uuid = whole}}).size(), 1) << other;
  }
  EXPECT_EQ(twice({"a", "b"}, {{.pci = "0000:07:00.0"}, {.pci = "07:00.0"}}).size(), 1);
}

TEST(SpelledTwice, NamesHostsWithAndWithoutTheirDomain) {
  const auto key = [](const char* host, const char* index) {
    GpuKey found;
    found.host = host;
    found.index = index;
    return found;
  };
  const std::vector<std::string> names = {"a/0", "b/0"};
  const auto are_one = [&](const char* a, const char* b) {
    const std::vector<GpuKey> keys = {key(a, "0"), key(b, "0")};
    return !spelled_twice(names, keys).empty();
  };
  EXPECT_TRUE(are_one("node01", "node01.cluster.local"));
  EXPECT_TRUE(are_one("node01.cluster.local", "NODE01"));
  EXPECT_FALSE(are_one("node01.rack1", "node01.rack2"));
  EXPECT_FALSE(are_one("node01", "node02.cluster.local"));
  EXPECT_FALSE(are_one("10.0.0.1", "10.0.0.2"));
  const std::vector<GpuKey> others = {key("node01", "0"), key("node01.cluster.local", "1")};
  EXPECT_TRUE(spelled_twice(names, others).empty());
}

TEST(SpelledTwice, PassesOverOtherGpus) {
  EXPECT_EQ(twice({"0", "1", "10"}, {{.index = "0"}, {.index = "1"}, {.index = "10"}}), Names());
  EXPECT_EQ(twice({"a/0", "b/0"}, {{.host = "a", .index = "0"}, {.host = "b", .index = "00"}}),
            Names());
  EXPECT_EQ(twice({"x", "y"},
                  {{.index = "0", .uuid = "GPU-5f0c1a2b"}, {.index = "0", .uuid = "GPU-5f0c1a2c"}}),
            Names());
  EXPECT_EQ(twice({"x", "y"}, {{.uuid = "GPU-5f0c1a2b"}, {.uuid = "MIG-5f0c1a2b"}}), Names());
  EXPECT_EQ(twice({"x", "y"}, {{.pci = "0000:07:00.0"}, {.pci = "0001:07:00.0"}}), Names());
}

TEST(ReadKey, ReadsSwappedCells) {
  std::string text;
  write_key({"", {}, "GPU-5f0c1a2b-1111-2222-3333-44445555666f", "3", ""}, text);
  EXPECT_EQ(read_key(text), (GpuKey{"", "", "3", "GPU-5f0c1a2b-1111-2222-3333-44445555666f", ""}));
}

TEST(ReadKey, ReadsWhatWasWritten) {
  std::string text;
  const std::string_view places[] = {"pod-1", ""};
  write_key({"n1", places, "3", "GPU-a", "[N/A]"}, text);
  EXPECT_EQ(read_key(text), (GpuKey{"n1", "pod-1", "3", "GPU-a", ""}));
  write_key({"", {}, "-1", "00000000-0000-0000-0000-000000000000", ""}, text);
  EXPECT_FALSE(names_gpu(read_key(text)));
}

TEST(NamesNoGpu, IsTrueOfWordsForNone) {
  for (const char* word : {"", " ", "N/A", "[N/A]", "-1", "none", "[Not Supported]", "nan", "-"}) {
    EXPECT_TRUE(names_no_gpu(word)) << word;
  }
  for (const char* name : {"0", "nvidia0", "GPU-1", "-2", "card0", "node", "east"}) {
    EXPECT_FALSE(names_no_gpu(name)) << name;
  }
}

TEST(IsPlaceName, KnowsSpellings) {
  for (const char* name : {"node_id",  "node_name",  "nodename", "Hostname",  "host_name",
                           "k8s_node", "server",     "machine",  "pod",       "vm",
                           "rank",     "local_rank", "worker",   "worker_id", "container_name",
                           "ip",       "node_rank",  "instance", "fqdn",      "SLURMD_NODENAME",
                           "job_host", "computer",   "src_host"}) {
    EXPECT_TRUE(is_place_name(name)) << name;
  }
  for (const char* name : {"index", "gpu", "power", "node_power", "host_memory", "pid", "region",
                           "workers_busy", "vm_usage"}) {
    EXPECT_FALSE(is_place_name(name)) << name;
  }
}

TEST(SameGpu, ComparesUuidsFirstAndIndicesOfOneHost) {
  EXPECT_EQ(same_gpu({.uuid = "GPU-A"}, {.uuid = "a"}), SameGpu::yes);
  EXPECT_EQ(same_gpu({.index = "0", .uuid = "GPU-a"}, {.index = "0", .uuid = "GPU-b"}),
            SameGpu::no);
  EXPECT_EQ(same_gpu({.index = "0"}, {.index = "0", .uuid = "GPU-b"}), SameGpu::maybe);
  EXPECT_EQ(same_gpu({.host = "n1", .index = "0"}, {.place = "N1.local", .index = "0"}),
            SameGpu::yes);
  EXPECT_EQ(same_gpu({.host = "n1", .index = "0"}, {.host = "n2", .index = "0"}), SameGpu::no);
}

}  // namespace gpu_names_test
}  // namespace aggregate_power
