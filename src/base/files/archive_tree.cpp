// A tree of the files unpacked from an archive.
#include "base/files/tree.h"

#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/archive_index.h"
#include "base/files/archive_reader.h"
#include "base/files/nameless_file.h"

namespace aggregate_power {
namespace {

// A store of runs, in an archive of days, in one of a month's artifacts: nobody packs deeper.
constexpr int kMostDepth = 3;
// Each takes two hundred bytes and a name in memory. No known store has a tenth of that.
constexpr std::size_t kMostMembers = 200'000;
// Skipping them takes seconds. Logs and traces may be packed with the wanted files.
constexpr std::uint64_t kMostEntries = 2'000'000;
// PATH_MAX: a file with a longer name could not be unpacked either.
constexpr std::size_t kMostNameBytes = 4096;

class ArchiveTree : public Tree {
 public:
  // `budget`: of the outermost archive.
  ArchiveTree(const OpenedFile& archive, const Tree& around,
              std::shared_ptr<ExpansionBudget> budget)
      : name_(archive.name()),
        modified_ns_(archive.facts().modified_ns),
        budget_(std::move(budget)),
        access_(around.access()),
        depth_(around.depth() + 1),
        spool_(archive.name()) {}

  void list(const std::string& folder,
            const std::function<void(const TreeEntry&)>& entry) const override {
    if (!has_folder(folder)) throw FileError(name_of(folder), "list", ENOENT);
    index_.list(folder, [&](std::string_view name, bool is_folder) {
      entry({std::string(name), is_folder ? TreeEntry::Kind::folder : TreeEntry::Kind::file});
    });
  }

  std::optional<FileFacts> find_file(const std::string& path) const override {
    const auto extent = index_.find_file(path);
    if (!extent) return std::nullopt;
    return FileFacts{extent->bytes, modified_ns_};
  }

  std::optional<std::int64_t> written_ns(const std::string& path) const override {
    const auto extent = index_.find_file(path);
    return extent ? extent->written_ns : std::nullopt;
  }

  bool has_folder(const std::string& path) const override { return index_.has_folder(path); }
  bool is_link(const std::string&) const override { return false; }
  std::string resolved(const std::string& path) const override { return path; }

  OpenedFile open(const std::string& path) const override {
    const auto extent = index_.find_file(path);
    if (!extent) throw FileError(name_of(path), "open", has_folder(path) ? EISDIR : ENOENT);
    return OpenedFile(name_of(path), spool_.file(), extent->offset, {extent->bytes, modified_ns_});
  }

  int depth() const override { return depth_; }
  std::uint64_t passed_over() const override { return passed_over_; }
  std::shared_ptr<ExpansionBudget> budget() const override { return budget_; }
  StoreAccess access() const override { return access_; }
  std::uint64_t spooled_bytes() const override { return spool_.size(); }

  // To be called exactly once, before anything else.
  void unpack(const OpenedFile& archive, const IsWanted& is_wanted) {
    ArchiveReader reader(archive, budget_->most_bytes());
    std::uint64_t entries = 0;
    while (const auto member = reader.next()) {
      if (++entries > kMostEntries) {
        refuse(fmt::format("holds more than {} entries", kMostEntries));
      }
      add(*member, reader, is_wanted);
      if (index_.size() > kMostMembers) {
        refuse(fmt::format("holds more than {} files and folders to look at", kMostMembers));
      }
    }
    if (const auto clash = index_.find_clash()) {
      refuse(fmt::format("cannot be trusted: '{}' is both a file and a folder in it", *clash));
    }
  }

 private:
  std::string name_of(const std::string& path) const {
    return path.empty() ? name_ : name_ + '/' + path;
  }

  [[noreturn]] void refuse(const std::string& why) const { refuse_archive(name_, why); }

  void add(const Member& member, ArchiveReader& reader, const IsWanted& is_wanted) {
    const std::string path = trusted_path(member.name);
    if (member.kind == Member::Kind::other) {
      ++passed_over_;
    } else if (member.kind == Member::Kind::folder) {
      index_.add_folder(path);
    } else if (path.empty()) {
      refuse("cannot be trusted: it holds a file without a name");
    } else if (is_wanted(path)) {
      if (!index_.add_file(path, spooled(member, reader))) {
        refuse(fmt::format("cannot be trusted: it holds '{}' twice", path));
      }
    } else if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) {
      index_.add_folder(path.substr(0, slash));  // it exists on disk, so it exists in this tree
    }
  }

  std::string trusted_path(const std::string& name) const {
    if (name.size() > kMostNameBytes) {
      refuse(fmt::format("cannot be trusted: it holds a name of {} bytes", name.size()));
    }
    const auto path = member_path(name);
    if (!path) refuse(fmt::format("cannot be trusted: '{}' leads out of it", name));
    return *path;
  }

  Extent spooled(const Member& member, ArchiveReader& reader) {
    Extent extent{spool_.size(), 0, member.written_ns};
    // Checked before anything is written, so that a bomb takes no room.
    require_room(member.bytes.value_or(0));
    std::array<char, 65536> chunk;
    while (const std::size_t count = reader.read(chunk)) {
      extent.bytes += count;
      if (extent.bytes > member.bytes.value_or(extent.bytes)) refuse_size(member);
      require_room(count);
      spool_.append({chunk.data(), count});
    }
    if (extent.bytes != member.bytes.value_or(extent.bytes)) refuse_size(member);
    return extent;
  }

  void require_room(std::uint64_t bytes) const {
    const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - spool_.size();
    const std::string excess = budget_->charge(name_, spool_.size() + std::min(bytes, most));
    if (!excess.empty()) refuse(excess);
  }

  [[noreturn]] void refuse_size(const Member& member) const {
    refuse(fmt::format("is damaged: '{}' does not have the size that it states", member.name));
  }

  std::string name_;
  std::int64_t modified_ns_;
  std::shared_ptr<ExpansionBudget> budget_;
  StoreAccess access_;
  int depth_;
  NamelessFile spool_;
  ArchiveIndex index_;
  std::uint64_t passed_over_ = 0;
};

}  // namespace

ExpansionBudget::ExpansionBudget(std::uint64_t packed_bytes, std::uint64_t most_unpacked_bytes)
    : most_by_ratio_(most_expanded_bytes(packed_bytes)),
      most_unpacked_bytes_(most_unpacked_bytes) {}

std::string ExpansionBudget::charge(const std::string& archive, std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  std::uint64_t& known = bytes_[archive];
  const std::uint64_t more = bytes - std::min(bytes, known);
  if (more > most_by_ratio_ || sum_ > most_by_ratio_ - more) {
    return fmt::format("expands to more than {} times its size", kMostTimes);
  }
  if (more > most_unpacked_bytes_ || sum_ > most_unpacked_bytes_ - more) {
    return too_much_unpacked(most_unpacked_bytes_);
  }
  known += more;
  sum_ += more;
  return {};
}

std::shared_ptr<const Tree> open_archive_tree(const Tree& tree, const std::string& path,
                                              const IsWanted& is_wanted) {
  const OpenedFile archive = tree.open(path);
  const int depth = tree.depth() + 1;
  if (depth > kMostDepth) {
    refuse_archive(archive.name(),
                   fmt::format("is nested in more than {} other archives", kMostDepth - 1));
  }
  std::shared_ptr<ExpansionBudget> budget = tree.budget();
  if (!budget) {
    budget = std::make_shared<ExpansionBudget>(archive.size(), most_unpacked_bytes());
  }
  const auto unpacked = std::make_shared<ArchiveTree>(archive, tree, std::move(budget));
  unpacked->unpack(archive, is_wanted);
  return unpacked;
}

}  // namespace aggregate_power
