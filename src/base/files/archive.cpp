// Drives libarchive, and makes the checks that it leaves out.
#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/files/decompress.h"
#include "base/files/files.h"
#include "base/files/nameless_file.h"
#include "base/files/tree.h"
#include "base/text/characters.h"

namespace aggregate_power {
namespace {

// libarchive returns names that a zip marks as UTF-8 only if the locale can write them. Zip names
// without the mark, and all names in a tar, are passed on byte for byte.
class Utf8Locale {
 public:
  Utf8Locale() {
    for (const char* const name : {"C.UTF-8", "en_US.UTF-8"}) {
      if (ours_ == locale_t{}) ours_ = newlocale(LC_CTYPE_MASK, name, locale_t{});
    }
  }
  ~Utf8Locale() {
    if (ours_ != locale_t{}) freelocale(ours_);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  bool is_there() const { return ours_ != locale_t{}; }
  // Applies to this thread only. Changes nothing if the system has no such locale.
  template <typename Call>
  auto within(Call call) const {
    if (ours_ == locale_t{}) return call();
    const locale_t before = uselocale(ours_);
    const auto result = call();
    uselocale(before);
    return result;
  }

 private:
  locale_t ours_{};
};

bool is_zip(const OpenedFile& file) {
  const std::string start = read_up_to(*file.source(), 4);
  return start == "PK\x03\x04" || start == "PK\x05\x06";  // the latter: an empty zip
}

// The number of members a zip declares, modulo 65536; nullopt if it is stored elsewhere (zip64).
std::optional<std::uint16_t> zip_count(const OpenedFile& file) {
  constexpr std::size_t kEndBytes = 22;
  constexpr std::size_t kMostCommentBytes = 16384;  // the same limit as libarchive's
  std::string tail(std::min<std::uint64_t>(file.size(), kEndBytes + kMostCommentBytes), '\0');
  const std::size_t start = file.size() - tail.size();
  for (std::size_t at = 0; at < tail.size();) {
    const std::size_t count = file.read_at(start + at, std::span(tail).subspan(at));
    if (count == 0) return std::nullopt;
    at += count;
  }
  const std::size_t end = tail.rfind("PK\x05\x06", tail.size() - kEndBytes);
  if (end == std::string::npos) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(tail[end + at]); };
  const auto count = static_cast<std::uint16_t>(byte(10) | byte(11) << 8);
  if (count == 0xFFFF) return std::nullopt;
  return count;
}

// Gives libarchive its bytes. No exception may pass through it, so they wait in `fault`.
struct Feed {
  OpenedFile file;
  std::unique_ptr<ByteSource> expanded;  // set for a compressed tar; otherwise bytes come straight
                                         // from the file
  std::uint64_t most_bytes = 0;          // that it may expand to
  std::uint64_t at = 0;
  std::array<char, 65536> chunk{};
  std::exception_ptr fault{};

  std::size_t fill() {
    if (expanded) return fill_expanded();
    const std::size_t count = file.read_at(at, chunk);
    at += count;
    return count;
  }

  std::size_t fill_expanded() {
    const std::size_t count = expanded->read(chunk);
    at += count;
    if (at > most_bytes) {
      throw FileError(file.name(), "expands to more than the archive around it may");
    }
    return count;
  }

  static la_ssize_t read(archive*, void* self, const void** bytes) {
    Feed& feed = *static_cast<Feed*>(self);
    *bytes = feed.chunk.data();
    try {
      return static_cast<la_ssize_t>(feed.fill());
    } catch (...) {
      feed.fault = std::current_exception();
      return ARCHIVE_FATAL;
    }
  }

  static la_int64_t skip(archive*, void* self, la_int64_t request) {
    Feed& feed = *static_cast<Feed*>(self);
    const std::uint64_t left = feed.file.size() - feed.at;
    const std::uint64_t count = std::min(left, static_cast<std::uint64_t>(request));
    feed.at += count;
    return static_cast<la_int64_t>(count);
  }

  static la_int64_t seek(archive*, void* self, la_int64_t offset, int whence) {
    Feed& feed = *static_cast<Feed*>(self);
    const auto size = static_cast<la_int64_t>(feed.file.size());
    const la_int64_t from = whence == SEEK_SET   ? 0
                            : whence == SEEK_CUR ? static_cast<la_int64_t>(feed.at)
                                                 : size;
    if (offset < -from || offset > size - from) return ARCHIVE_FATAL;
    feed.at = static_cast<std::uint64_t>(from + offset);
    return from + offset;
  }
};

Member::Kind kind_of_member(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return Member::Kind::other;
  if (archive_entry_filetype(entry) == AE_IFREG) return Member::Kind::file;
  return archive_entry_filetype(entry) == AE_IFDIR ? Member::Kind::folder : Member::Kind::other;
}

}  // namespace

class ArchiveReader::Reader {
 public:
  Reader(const OpenedFile& file, std::uint64_t most_bytes)
      : is_zip_(is_zip(file)), feed_{file, nullptr, most_bytes}, archive_(archive_read_new()) {
    if (is_zip_) {
      // Reads by the zip's directory only: the streaming reader takes the front of a truncated file
      // for a whole archive.
      archive_read_support_format_zip_seekable(archive_.get());
    } else {
      archive_read_support_format_tar(archive_.get());
      if (is_compressed(read_up_to(*file.source(), 4))) expand();
    }
    archive_read_set_callback_data(archive_.get(), &feed_);
    archive_read_set_read_callback(archive_.get(), &Feed::read);
    if (!feed_.expanded) {
      archive_read_set_skip_callback(archive_.get(), &Feed::skip);
      archive_read_set_seek_callback(archive_.get(), &Feed::seek);
    }
    check(locale_.within([&] { return archive_read_open1(archive_.get()); }));
  }

  std::optional<Member> next() {
    // Skips the rest of the last member, and the padding of its last block.
    if (is_in_member_) check(archive_read_data_skip(archive_.get()));
    const la_int64_t before = archive_filter_bytes(archive_.get(), 0);
    archive_entry* entry = nullptr;
    const int status = next_header(&entry);
    is_in_member_ = status != ARCHIVE_EOF;
    if (status == ARCHIVE_EOF) {
      require_end(before);
      return std::nullopt;
    }
    // A retry would continue after a damaged header.
    check(status == ARCHIVE_RETRY ? ARCHIVE_FATAL : status);
    ++members_;
    return member(entry);
  }

  std::size_t read(std::span<char> into) {
    const la_ssize_t count = archive_read_data(archive_.get(), into.data(), into.size());
    // libarchive reports wrong sizes and checksums as mere warnings.
    if (count < 0) check(ARCHIVE_FATAL);
    return static_cast<std::size_t>(count);
  }

 private:
  // Done here and not by libarchive, which would stop at the tar's end and leave a damaged rest,
  // and the checksum after it, unread.
  void expand() {
    try {
      feed_.expanded = decompressed(feed_.file.source(), feed_.file.name());
    } catch (...) {
      feed_.fault = std::current_exception();
      refuse_for_fault();
    }
  }

  int next_header(archive_entry** entry) {
    const auto read = [&] { return archive_read_next_header(archive_.get(), entry); };
    return is_zip_ ? locale_.within(read) : read();
  }

  Member member(archive_entry* entry) const {
    if (archive_entry_is_encrypted(entry) != 0) refuse("is encrypted");
    const char* const name = archive_entry_pathname(entry);
    if (name == nullptr && !locale_.is_there()) {
      refuse("holds a name that cannot be read here: this system has no C.UTF-8 locale");
    }
    if (name == nullptr) refuse("is damaged: a name that is marked as UTF-8 is not UTF-8");
    Member found{name, kind_of_member(entry), std::nullopt, written_ns(entry)};
    if (archive_entry_size_is_set(entry) != 0) {
      found.bytes = static_cast<std::uint64_t>(archive_entry_size(entry));
    }
    return found;
  }

  // The zip field that holds UTC usually also contains the time of the last access, which no other
  // field does; libarchive does not say where the other time comes from.
  std::optional<std::int64_t> written_ns(archive_entry* entry) const {
    const bool is_utc = !is_zip_ || archive_entry_atime(entry) != 0;
    if (!is_utc || archive_entry_mtime_is_set(entry) == 0) return std::nullopt;
    struct stat found {};
    found.st_mtim = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    return facts_of(found).modified_ns;
  }

  // A tar ends with an empty block, but libarchive also accepts a cut between two members as the
  // end.
  void require_end(la_int64_t before) {
    constexpr la_int64_t kBlockBytes = 512;
    if (is_zip_) return require_count();
    if (archive_filter_bytes(archive_.get(), 0) - before < kBlockBytes) {
      refuse("is cut off: the end of the tar is missing");
    }
    try {
      while (feed_.expanded && feed_.fill() > 0) continue;
    } catch (...) {
      feed_.fault = std::current_exception();
      check(ARCHIVE_FATAL);
    }
  }

  // libarchive skips damaged directory entries, and entries that share a position.
  void require_count() const {
    const auto count = zip_count(feed_.file);
    if (!count || *count == static_cast<std::uint16_t>(members_)) return;
    refuse(fmt::format("is damaged: it says that it has {} members, but {} were found", *count,
                       members_));
  }

  void check(int status) {
    if (feed_.fault) refuse_for_fault();
    if (status >= ARCHIVE_WARN) return;
    const char* const told = archive_error_string(archive_.get());
    std::string why = told != nullptr ? told : "no reason given";
    if (why.ends_with('\n')) why.pop_back();
    refuse(fmt::format("is cut off or damaged ({})", why));
  }

  void refuse_for_fault() {
    try {
      std::rethrow_exception(std::exchange(feed_.fault, nullptr));
    } catch (const FileError& error) {
      // The message begins with the name, as all messages do.
      refuse(std::string(error.what()).substr(feed_.file.name().size() + 2));
    }
  }

  [[noreturn]] void refuse(const std::string& why) const { refuse_archive(feed_.file.name(), why); }

  bool is_zip_;
  bool is_in_member_ = false;
  std::uint64_t members_ = 0;
  Utf8Locale locale_;
  Feed feed_;
  ArchiveHandle archive_;
};

ArchiveReader::ArchiveReader(const OpenedFile& file, std::uint64_t most_bytes)
    : reader_(std::make_unique<Reader>(file, most_bytes)) {}

ArchiveReader::~ArchiveReader() = default;

std::optional<Member> ArchiveReader::next() { return reader_->next(); }

std::size_t ArchiveReader::read(std::span<char> into) { return reader_->read(into); }

void refuse_archive(const std::string& name, const std::string& why) {
  throw FileError(name, why + "; fetch the archive again, or unpack it and pass the folder");
}

// ---- The names in an archive as a tree of folders.

namespace {

// The prefix of every key in the folder.
std::string beginning(const std::string& folder) { return folder.empty() ? "" : folder + '/'; }

}  // namespace

std::optional<std::string> member_path(std::string_view name) {
  if (name.starts_with('/')) return std::nullopt;
  std::string path;
  for (const std::string_view component : separated(name, '/')) {
    if (component == "..") return std::nullopt;
    if (component.empty() || component == ".") continue;
    if (!path.empty()) path += '/';
    path += component;
  }
  return path;
}

bool ArchiveIndex::add_file(const std::string& path, Extent extent) {
  return entries_.try_emplace(path, extent).second;
}

void ArchiveIndex::add_folder(const std::string& path) {
  if (!path.empty()) entries_.try_emplace(path + '/');
}

std::optional<std::string> ArchiveIndex::find_clash() const {
  for (const auto& [key, extent] : entries_) {
    if (!key.ends_with('/') && has_folder(key)) return key;
  }
  return std::nullopt;
}

std::optional<Extent> ArchiveIndex::find_file(const std::string& path) const {
  if (path.ends_with('/')) return std::nullopt;
  const auto found = entries_.find(path);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

bool ArchiveIndex::has_folder(const std::string& path) const {
  if (path.empty()) return true;
  const auto below = entries_.lower_bound(path + '/');
  return below != entries_.end() && below->first.starts_with(path + '/');
}

void ArchiveIndex::list(const std::string& folder,
                        const std::function<void(std::string_view, bool)>& entry) const {
  const std::string above = beginning(folder);
  auto at = entries_.lower_bound(above);
  while (at != entries_.end() && at->first.starts_with(above)) {
    const std::string_view rest = std::string_view(at->first).substr(above.size());
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (!name.empty()) entry(name, name.size() < rest.size());  // empty: the folder itself
    if (name.size() == rest.size() || name.empty()) {
      ++at;
    } else {
      // Skips everything in it: the character after '/'.
      at = entries_.lower_bound(above + std::string(name) + static_cast<char>('/' + 1));
    }
  }
}

// ---- A tree of the files unpacked from an archive.

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
