// Folders and files, on disk and in archives. The archives are written by libarchive, and by hand
// where it would not write them so.
#include "base/files/tree.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test_util.h"

namespace aggregate_power {
namespace tree_test {

namespace fs = std::filesystem;

constexpr const char* kAdvice = "; fetch the archive again, or unpack it and pass the folder";

enum class Form { zip, tar, tar_gz, tar_zst };

constexpr Form kForms[] = {Form::zip, Form::tar, Form::tar_gz, Form::tar_zst};

std::string name_of(Form form) {
  switch (form) {
    case Form::zip:
      return "a.zip";
    case Form::tar:
      return "a.tar";
    case Form::tar_gz:
      return "a.tar.gz";
    default:
      return "a.tar.zst";
  }
}

struct Item {
  std::string name;
  std::string bytes;
  unsigned type = AE_IFREG;
  std::string link{};     // what a link points to
  std::size_t times = 1;  // that `bytes` are repeated
  bool is_encrypted = false;
};

void set_form(archive* writer, Form form) {
  if (form == Form::zip) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_pax_restricted(writer);
  }
  if (form == Form::tar_gz) archive_write_add_filter_gzip(writer);
  if (form == Form::tar_zst) archive_write_add_filter_zstd(writer);
}

void write_item(archive* writer, const Item& item) {
  archive_entry* const entry = archive_entry_new();
  archive_entry_copy_pathname(entry, item.name.c_str());
  archive_entry_set_filetype(entry, item.type);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_mtime(entry, 1, 0);
  if (item.type == AE_IFREG && item.link.empty()) {
    archive_entry_set_size(entry, static_cast<la_int64_t>(item.bytes.size() * item.times));
  }
  if (item.type == AE_IFLNK) archive_entry_copy_symlink(entry, item.link.c_str());
  if (item.type == AE_IFREG && !item.link.empty()) {
    archive_entry_copy_hardlink(entry, item.link.c_str());
  }
  EXPECT_GE(archive_write_header(writer, entry), ARCHIVE_WARN) << archive_error_string(writer);
  for (std::size_t i = 0; i < item.times && !item.bytes.empty(); ++i) {
    EXPECT_EQ(archive_write_data(writer, item.bytes.data(), item.bytes.size()),
              static_cast<la_ssize_t>(item.bytes.size()));
  }
  archive_entry_free(entry);
}

la_ssize_t append_to(archive*, void* text, const void* bytes, std::size_t size) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

std::string packed(Form form, const std::vector<Item>& items, const char* password = nullptr) {
  std::string bytes;
  archive* const writer = archive_write_new();
  set_form(writer, form);
  if (password != nullptr) {
    EXPECT_EQ(archive_write_set_options(writer, "zip:encryption=traditional"), ARCHIVE_OK);
    archive_write_set_passphrase(writer, password);
  }
  archive_write_set_bytes_in_last_block(writer, 1);
  EXPECT_EQ(archive_write_open(writer, &bytes, nullptr, &append_to, nullptr), ARCHIVE_OK);
  for (const Item& item : items) write_item(writer, item);
  EXPECT_EQ(archive_write_close(writer), ARCHIVE_OK);
  archive_write_free(writer);
  return bytes;
}

bool is_wanted(std::string_view path) {
  return path.ends_with(".json") || path.ends_with(".csv") || is_archive_name(path);
}

using View = std::map<std::string, std::string>;  // folders end in '/'

// Everything below `folder`, found by listing.
void look(const Tree& tree, const std::string& folder, const std::string& display, View& view) {
  std::vector<TreeEntry> entries;
  tree.list(folder, [&](const TreeEntry& entry) { entries.push_back(entry); });
  for (const TreeEntry& entry : entries) {
    const std::string path = folder.empty() ? entry.name : folder + '/' + entry.name;
    const std::string seen = display.empty() ? entry.name : display + '/' + entry.name;
    if (entry.kind == TreeEntry::Kind::folder) {
      EXPECT_TRUE(tree.has_folder(path) && !tree.find_file(path)) << path;
      EXPECT_TRUE(view.emplace(seen + '/', "").second) << "twice: " << seen;
      look(tree, path, seen, view);
    } else if (entry.kind == TreeEntry::Kind::file && is_wanted(entry.name)) {
      EXPECT_TRUE(!tree.has_folder(path) && tree.find_file(path)) << path;
      const std::string bytes = read_all(*tree.open(path).source());
      EXPECT_EQ(tree.find_file(path)->bytes, bytes.size());
      EXPECT_TRUE(view.emplace(seen, bytes).second) << "twice: " << seen;
    }
  }
}

View view_of(const Tree& tree, const std::string& root = "") {
  View view;
  look(tree, root, "", view);
  return view;
}

// In each test $TMPDIR is a folder of its own, in which nothing may stay.
class TreeTest : public testing::Test {
 protected:
  TreeTest() {
    if (const char* const given = std::getenv("TMPDIR")) before_ = given;
    EXPECT_EQ(::mkdir((folder_ / "tmp").c_str(), 0700), 0);
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  }
  ~TreeTest() override {
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
    if (before_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", before_.c_str(), 1);
    }
  }

  std::shared_ptr<const Tree> open(const std::string& bytes, const std::string& name = "a.zip") {
    return open_archive_tree(*disk_tree(), test::put(folder_ / name, bytes), &is_wanted);
  }

  std::shared_ptr<const Tree> open(Form form, const std::vector<Item>& items) {
    return open(packed(form, items), name_of(form));
  }

  // What is said of it behind its name and before the advice.
  std::string refusal(const std::string& bytes, const std::string& name = "a.zip") {
    try {
      open(bytes, name);
    } catch (const FileError& error) {
      const std::string text = error.what();
      const std::string start = (folder_ / name) + ": ";
      EXPECT_TRUE(text.starts_with(start) && text.ends_with(kAdvice)) << text;
      return text.substr(start.size(), text.size() - start.size() - std::strlen(kAdvice));
    }
    return "";
  }

  test::Folder folder_;

 private:
  std::string before_;
};

std::string rows(std::size_t count) {
  std::string text = "timestamp,power_w\n";
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += fmt::format("{},{}\n", 1777118400 + i, (state >> 33) % 700);
  }
  return text;
}

// A store as benchmarks leave it.
std::vector<Item> store() {
  return {{"runs/", "", AE_IFDIR},
          {"runs/2026-05-01/bench.json", "{\"a\": 1}"},
          {"runs/2026-05-01/gpu metrics.csv", rows(5000)},
          {"runs/2026-05-01/notes.md", "not wanted"},
          {"runs/2026-05-01.json", "{}"},
          {"runs/2026-05-01-b/empty.csv", ""},
          {"runs/plots only/a.png", "png"},
          {"nothing/", "", AE_IFDIR},
          {"top.json", "[]"}};
}

void put_on_disk(const std::string& root, const std::vector<Item>& items) {
  for (const Item& item : items) {
    const std::string path = root + '/' + item.name;
    if (item.type == AE_IFDIR) {
      fs::create_directories(path);
    } else {
      fs::create_directories(fs::path(path).parent_path());
      test::put(path, item.bytes);
    }
  }
}

// ---- The same view

TEST_F(TreeTest, ShowsAnArchiveAsTheFolderThatItWasMadeOf) {
  put_on_disk(folder_ / "store", store());
  const View on_disk = view_of(*disk_tree(), folder_ / "store");
  EXPECT_EQ(on_disk.size(), 5 + 5) << "folders, and wanted files";
  for (const Form form : kForms) {
    const auto tree = open(form, store());
    EXPECT_EQ(view_of(*tree), on_disk) << name_of(form);
    EXPECT_EQ(tree->depth(), 1);
    EXPECT_TRUE(tree->is_archive() && !disk_tree()->is_archive());
    EXPECT_TRUE(tree->has_folder(""));
    EXPECT_FALSE(tree->find_file("") || tree->find_file("missing") || tree->has_folder("missing"));
    EXPECT_FALSE(tree->find_file("runs/2026-05-01/notes.md")) << "it was not wanted";
  }
}

TEST_F(TreeTest, TakesNamesAsPythonTarAndWindowsWriteThem) {
  const View same = {{"a/", ""}, {"a/b.json", "1"}, {"c.json", "2"}};
  for (const Form form : kForms) {
    EXPECT_EQ(view_of(*open(form, {{"./", "", AE_IFDIR},
                                   {"./a//./b.json", "1"},
                                   {"a/", "", AE_IFDIR},
                                   {"./a", "", AE_IFDIR},
                                   {".//c.json", "2"}})),
              same);
  }
  EXPECT_EQ(view_of(*open(Form::zip, {{"a\\b.json", "1"}, {"c.json", "2"}})), same);
}

TEST_F(TreeTest, TakesItsFilesForAsNewAsTheArchive) {
  const std::string path = test::put(folder_ / "a.zip", packed(Form::zip, {{"a.json", "1"}}));
  const timespec times[2] = {{1777118400, 5}, {1777118400, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const auto tree = open_archive_tree(*disk_tree(), path, &is_wanted);
  const FileFacts facts{1, 1777118400'000000005};
  EXPECT_EQ(disk_tree()->find_file(path)->modified_ns, facts.modified_ns);
  EXPECT_EQ(tree->find_file("a.json"), facts);
  EXPECT_EQ(tree->open("a.json").facts(), facts);
}

TEST_F(TreeTest, NamesWhatCannotBeHad) {
  const auto tree = open(Form::zip, {{"a/b.json", "1"}});
  const auto error_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  const std::string zip = folder_ / "a.zip";
  EXPECT_EQ(error_of([&] { tree->open("c.json"); }),
            zip + "/c.json: cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { tree->open("a"); }), zip + "/a: cannot open: Is a directory");
  EXPECT_EQ(error_of([&] { tree->list("c", [](const TreeEntry&) {}); }),
            zip + "/c: cannot list: No such file or directory");
  EXPECT_EQ(error_of([&] { disk_tree()->open(folder_ / "c"); }),
            (folder_ / "c") + ": cannot open: No such file or directory");
  EXPECT_EQ(error_of([&] { disk_tree()->open(folder_.path()); }),
            folder_.path() + ": is not a regular file");
  EXPECT_EQ(error_of([&] { disk_tree()->list(zip, [](const TreeEntry&) {}); }),
            zip + ": cannot list: Not a directory");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { disk_tree()->open(folder_ / "pipe"); }),
            (folder_ / "pipe") + ": is not a regular file");
}

TEST_F(TreeTest, KeepsOpenedFilesWhenTheTreeAndTheArchiveAreGone) {
  auto tree = open(Form::tar_gz, store());
  const OpenedFile file = tree->open("runs/2026-05-01/gpu metrics.csv");
  tree.reset();
  fs::remove(folder_ / "a.tar.gz");
  const auto first = file.source();
  const auto second = file.source();
  EXPECT_EQ(read_up_to(*first, 9), "timestamp");
  EXPECT_EQ(read_all(*second), rows(5000));
  EXPECT_EQ("timestamp" + read_all(*first), rows(5000));
}

TEST_F(TreeTest, MayBeReadByManyThreads) {
  const auto tree = open(Form::zip, store());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        EXPECT_EQ(read_all(*tree->open("runs/2026-05-01/gpu metrics.csv").source()), rows(5000));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Disk

TEST_F(TreeTest, ListsAFolderOfAnySizeAsItGoes) {
  fs::create_directory(folder_ / "many");
  for (int i = 0; i < 10'000; ++i) test::put(folder_ / fmt::format("many/{}.json", i), "");
  int count = 0;
  disk_tree()->list(folder_ / "many", [&](const TreeEntry& entry) {
    EXPECT_EQ(entry.kind, TreeEntry::Kind::file);
    ++count;
  });
  EXPECT_EQ(count, 10'000);
  struct Enough {};
  int seen = 0;
  const auto stop = [&](const TreeEntry&) {
    if (++seen == 3) throw Enough();
  };
  EXPECT_THROW(disk_tree()->list(folder_ / "many", stop), Enough);
}

TEST_F(TreeTest, TellsLinksByWhatTheyLeadTo) {
  fs::create_directory(folder_ / "x");
  const auto link = [&](const std::string& name, const std::string& to) {
    ASSERT_EQ(::symlink(to.c_str(), (folder_ / ("x/" + name)).c_str()), 0);
  };
  test::put(folder_ / "x/file", "1");
  fs::create_directory(folder_ / "x/folder");
  ASSERT_EQ(::mkfifo((folder_ / "x/pipe").c_str(), 0600), 0);
  link("to file", "file");
  link("to folder", "folder");
  link("up", "..");
  link("to nothing", "nothing");
  link("loop", "loop");
  link("to pipe", "pipe");
  using Kind = TreeEntry::Kind;
  std::map<std::string, Kind> kinds;
  disk_tree()->list(folder_ / "x", [&](const TreeEntry& entry) { kinds[entry.name] = entry.kind; });
  const std::map<std::string, Kind> expected = {{"file", Kind::file},
                                                {"folder", Kind::folder},
                                                {"pipe", Kind::other},
                                                {"to file", Kind::file},
                                                {"to folder", Kind::folder_link},
                                                {"up", Kind::folder_link},
                                                {"to nothing", Kind::other},
                                                {"loop", Kind::other},
                                                {"to pipe", Kind::other}};
  EXPECT_EQ(kinds, expected);
  EXPECT_EQ(disk_tree()->find_file(folder_ / "x/to file")->bytes, 1u);
  EXPECT_TRUE(disk_tree()->has_folder(folder_ / "x/up"));
  EXPECT_FALSE(disk_tree()->find_file(folder_ / "x/loop"));
}

TEST_F(TreeTest, SaysWhenAFolderMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every folder";
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms::none);
  try {
    disk_tree()->list(folder_ / "closed", [](const TreeEntry&) {});
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), (folder_ / "closed") + ": cannot list: Permission denied");
  }
  fs::permissions(folder_ / "closed", fs::perms::owner_all);
}

// ---- Names

TEST_F(TreeTest, KeepsNamesOfAnyBytes) {
  const std::vector<Item> items = {{"caf\xE9.json", "latin-1"},
                                   {"caf\xC3\xA9.json", "composed"},
                                   {"cafe\xCC\x81.json", "decomposed"},
                                   {"\xE6\xB5\x8B\xE8\xAF\x95/\xF0\x9F\x94\x8B.csv", "four bytes"},
                                   {"two\nlines.json", "newline"},
                                   {" \"' \t.json", "blanks"}};
  put_on_disk(folder_ / "store", items);
  const View on_disk = view_of(*disk_tree(), folder_ / "store");
  ASSERT_EQ(on_disk.size(), items.size() + 1);
  for (const Form form : kForms) EXPECT_EQ(view_of(*open(form, items)), on_disk) << name_of(form);
}

// A zip whose names are marked as UTF-8, as Python and Windows mark them.
std::string marked_as_utf8(std::string zip) {
  const auto mark = [&](const std::string& header, std::size_t flags_at) {
    for (std::size_t at = 0; (at = zip.find(header, at)) != std::string::npos; ++at) {
      zip[at + flags_at + 1] |= 0x08;
    }
  };
  mark("PK\x03\x04", 6);
  mark("PK\x01\x02", 8);
  return zip;
}

TEST_F(TreeTest, ReadsNamesThatAZipMarksAsUtf8) {
  const std::vector<Item> items = {{"caf\xC3\xA9.json", "composed"},
                                   {"\xF0\x9F\x94\x8B/a.csv", "1"}};
  EXPECT_EQ(view_of(*open(marked_as_utf8(packed(Form::zip, items)))),
            view_of(*open(Form::tar, items)));
  EXPECT_EQ(view_of(*open(marked_as_utf8(packed(Form::zip, {{"cafe\xCC\x81.json", "1"}})))),
            (View{{"caf\xC3\xA9.json", "1"}}))
      << "libarchive composes what a Mac decomposed";
  EXPECT_EQ(refusal(marked_as_utf8(packed(Form::zip, {{"caf\xE9.json", "1"}}))),
            "is damaged: a name that is marked as UTF-8 is not UTF-8");
}

TEST(ArchiveNames, EndAsArchivesDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"power_audit_x.tar.gz", "power_audit_x"},
      {"a.zip", "a"},
      {"a.tar", "a"},
      {"a.tgz", "a"},
      {"a.b.tar.zst", "a.b"},
      {"a.tar.zip", "a.tar"},
  };
  for (const auto& [name, stem] : cases) {
    EXPECT_TRUE(is_archive_name(name)) << name;
    EXPECT_EQ(archive_stem(name), stem);
  }
  for (const char* const name :
       {"", ".zip", ".tar.gz", "a.gz", "a.csv.gz", "a.ZIP", "zip", "a.zst"}) {
    EXPECT_FALSE(is_archive_name(name)) << name;
    EXPECT_EQ(archive_stem(name), name);
  }
}

// ---- Archives in archives

TEST_F(TreeTest, ReadsArchivesInArchives) {
  const std::string inner = packed(Form::zip, {{"c.json", "3"}});
  const std::string middle = packed(Form::tar_gz, {{"b.json", "2"}, {"in/inner.zip", inner}});
  const auto outermost = open(Form::tar, {{"x.csv", rows(100)}, {"middle.tgz", middle}});
  const auto second = open_archive_tree(*outermost, "middle.tgz", &is_wanted);
  const auto third = open_archive_tree(*second, "in/inner.zip", &is_wanted);
  EXPECT_EQ(second->depth(), 2);
  EXPECT_EQ(view_of(*third), (View{{"c.json", "3"}}));
  EXPECT_EQ(third->open("c.json").name(), (folder_ / "a.tar") + "/middle.tgz/in/inner.zip/c.json");
  EXPECT_EQ(third->find_file("c.json")->modified_ns,
            disk_tree()->find_file(folder_ / "a.tar")->modified_ns);
}

TEST_F(TreeTest, RefusesAFourthArchiveInAnother) {
  std::string bytes = packed(Form::zip, {{"c.json", "3"}});
  for (int i = 0; i < 3; ++i) bytes = packed(Form::zip, {{"in.zip", bytes}});
  auto tree = open(bytes);
  for (int i = 0; i < 2; ++i) tree = open_archive_tree(*tree, "in.zip", &is_wanted);
  try {
    open_archive_tree(*tree, "in.zip", &is_wanted);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), (folder_ / "a.zip/in.zip/in.zip/in.zip") +
                                ": is nested in more than 2 other archives" + kAdvice);
  }
}

// ---- What is passed over, what is refused

TEST_F(TreeTest, PassesOverLinksAndSpecialFiles) {
  const std::vector<Item> items = {{"a.json", "1"},
                                   {"soft.json", "", AE_IFLNK, "/etc/passwd"},
                                   {"hard.json", "", AE_IFREG, "a.json"},
                                   {"pipe.json", "", AE_IFIFO},
                                   {"device.json", "", AE_IFCHR}};
  for (const Form form : {Form::tar, Form::tar_gz, Form::tar_zst}) {
    const auto tree = open(form, items);
    EXPECT_EQ(view_of(*tree), (View{{"a.json", "1"}}));
    EXPECT_EQ(tree->passed_over(), 4u);
  }
  const auto tree = open(Form::zip, {items[0], items[1]});
  EXPECT_EQ(view_of(*tree), (View{{"a.json", "1"}}));
  EXPECT_EQ(tree->passed_over(), 1u);
}

TEST_F(TreeTest, RefusesNamesThatLeadElsewhere) {
  for (const std::string name : {"../a.json", "/etc/a.json", "a/../b.json", "a/b/..", "//a.md"}) {
    for (const Form form : kForms) {
      EXPECT_EQ(refusal(packed(form, {{"good.json", "1"}, {name, "2"}}), name_of(form)),
                "cannot be trusted: '" + name + "' leads out of it");
    }
  }
  EXPECT_EQ(view_of(*open(Form::tar, {{"..a/b...json", "1"}})),
            (View{{"..a/", ""}, {"..a/b...json", "1"}}));
}

TEST_F(TreeTest, RefusesNamesThatAreThereTwice) {
  for (const Form form : kForms) {
    const std::string name = name_of(form);
    EXPECT_EQ(refusal(packed(form, {{"a/b.json", "1"}, {"./a//b.json", "2"}}), name),
              "cannot be trusted: it holds 'a/b.json' twice");
    const std::string both = "cannot be trusted: 'a.json' is both a file and a folder in it";
    EXPECT_EQ(refusal(packed(form, {{"a.json", "1"}, {"a.json/b.json", "2"}}), name), both);
    EXPECT_EQ(refusal(packed(form, {{"a.json/b.md", "1"}, {"a.json", "2"}}), name), both);
    EXPECT_EQ(refusal(packed(form, {{"a.json/", "", AE_IFDIR}, {"a.json", "2"}}), name), both);
    EXPECT_EQ(
        refusal(packed(form, {{"a.json", "2"}, {"a.json-b", ""}, {"a.json/b.csv", ""}}), name),
        both);
  }
}

TEST_F(TreeTest, RefusesNamesThatAreTooLongOrNone) {
  const std::string most = std::string(4096 - 5, 'a') + ".json";
  EXPECT_EQ(view_of(*open(Form::tar_gz, {{most, "1"}})), (View{{most, "1"}}));
  EXPECT_EQ(refusal(packed(Form::tar, {{"a" + most, "1"}})),
            "cannot be trusted: it holds a name of 4097 bytes");
  EXPECT_EQ(refusal(packed(Form::tar, {{"./.", "1"}})),
            "cannot be trusted: it holds a file without a name");
}

TEST_F(TreeTest, RefusesAnEncryptedArchive) {
  EXPECT_EQ(refusal(packed(Form::zip, {{"a.json", "1"}}, "secret")), "is encrypted");
}

TEST_F(TreeTest, RefusesWhatIsNoArchive) {
  const std::string unknown = "is cut off or damaged (Unrecognized archive format)";
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(5000, 'x'),
                                   std::string("PK\x03\x04zip?"), rows(10)}) {
    EXPECT_EQ(refusal(bytes), unknown);
  }
  try {
    open_archive_tree(*disk_tree(), folder_ / "none.zip", &is_wanted);
    ADD_FAILURE();
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), (folder_ / "none.zip") + ": cannot open: No such file or directory");
  }
}

TEST_F(TreeTest, TakesAnArchiveOfNothingForAnEmptyFolder) {
  for (const Form form : {Form::tar, Form::tar_gz, Form::tar_zst}) {
    EXPECT_EQ(view_of(*open(form, {})), View{}) << name_of(form);
  }
  EXPECT_EQ(view_of(*open(Form::zip, {{"a/", "", AE_IFDIR}})), (View{{"a/", ""}}));
}

// ---- Damage

TEST_F(TreeTest, NeverTakesPartOfAnArchiveForTheWhole) {
  for (const Form form : kForms) {
    const std::string whole = packed(form, store());
    const View expected = view_of(*open(whole, name_of(form)));
    std::vector<std::size_t> sizes = {whole.size() - 1, whole.size() - 8, whole.size() - 21};
    for (std::size_t i = 0; i < 20; ++i) sizes.push_back(whole.size() * i / 20);
    // Between the members of a tar too.
    for (std::size_t at = 0; form == Form::tar && at < whole.size(); at += 512) sizes.push_back(at);
    int refused = 0;
    for (const std::size_t size : sizes) {
      if (!refusal(whole.substr(0, size), name_of(form)).empty()) {
        ++refused;
      } else {
        EXPECT_EQ(view_of(*open(whole.substr(0, size), name_of(form))), expected) << size;
      }
    }
    EXPECT_GE(refused, 20) << name_of(form);
  }
}

TEST_F(TreeTest, SaysWhereAnArchiveIsCutOff) {
  const auto half = [&](Form form) {
    const std::string whole = packed(form, store());
    return refusal(whole.substr(0, whole.size() / 2), name_of(form));
  };
  EXPECT_EQ(half(Form::zip), "is cut off or damaged (Unrecognized archive format)");
  EXPECT_EQ(half(Form::tar), "is cut off or damaged (Truncated tar archive)");
  EXPECT_EQ(half(Form::tar_gz), "cannot be expanded: truncated gzip input");
  EXPECT_EQ(half(Form::tar_zst), "cannot be expanded: Truncated zstd input");
  const std::string between = packed(Form::tar, {{"a.json", "1"}}).substr(0, 1024);
  EXPECT_EQ(refusal(between, "a.tar"), "is cut off: the end of the tar is missing");
}

// As the zstd command writes it; libarchive writes none.
std::string zstd_with_checksum(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

TEST_F(TreeTest, NeverGivesOtherBytesWhereThereIsAChecksum) {
  const std::uint64_t seed = test::fresh_seed();
  test::Dice dice(seed);
  const std::string wholes[] = {packed(Form::zip, store()), packed(Form::tar_gz, store()),
                                zstd_with_checksum(packed(Form::tar, store()))};
  for (const std::string& whole : wholes) {
    const bool is_zip = whole.starts_with("PK");
    const View expected = view_of(*open(whole));
    for (int i = 0; i < test::rounds(300); ++i) {
      std::string damaged = whole;
      damaged[dice.below(whole.size())] ^= static_cast<char>(1 << dice.below(8));
      if (!refusal(damaged).empty()) continue;
      for (const auto& [path, bytes] : view_of(*open(damaged))) {
        const auto found = expected.find(path);
        // A name in a zip has no checksum.
        EXPECT_TRUE(is_zip || found != expected.end()) << path << ", seed " << seed;
        EXPECT_TRUE(found == expected.end() || bytes == found->second) << path << ", seed " << seed;
      }
    }
  }
}

// ---- Limits

// While it lives, no file can grow beyond this: as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit little{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  }
  ~FileSizeLimit() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// What opening the archive at `path` says.
std::string error_of(const std::string& path) {
  try {
    open_archive_tree(*disk_tree(), path, &is_wanted);
  } catch (const FileError& error) {
    return error.what();
  }
  return "";
}

TEST_F(TreeTest, StopsABombBeforeItTakesRoom) {
  const std::string block(1 << 20, '\0');
  for (const Form form : {Form::zip, Form::tar_zst}) {
    const std::string bomb = packed(form, {{"a.json", block, AE_IFREG, "", 1025}});
    ASSERT_LT(bomb.size(), std::size_t{2} << 20);
    const std::string path = test::put(folder_ / name_of(form), bomb);
    const FileSizeLimit limit(0);
    EXPECT_EQ(error_of(path), path + ": expands to more than 1000 times its size" + kAdvice);
  }
}

TEST_F(TreeTest, AddsUpWhatTheMembersTake) {
  const std::string block(1 << 20, '\0');
  const auto half = [&](const std::string& name) { return Item{name, block, AE_IFREG, "", 512}; };
  const std::string path = test::put(
      folder_ / "a.tar.zst", packed(Form::tar_zst, {half("a.csv"), {"b.csv", "1"}, half("c.csv")}));
  EXPECT_EQ(error_of(path), path + ": expands to more than 1000 times its size" + kAdvice);
}

TEST_F(TreeTest, StopsABombAmongFilesThatNobodyWants) {
  const std::string block(1 << 20, '\0');
  const std::string tar =
      packed(Form::tar_zst, {{"a.md", block, AE_IFREG, "", 1100}, {"b.json", "1"}});
  EXPECT_EQ(refusal(tar), "expands to more than 1000 times its size: not read further");
}

TEST_F(TreeTest, RefusesAZipThatSaysOtherSizesOrCounts) {
  const std::string whole = packed(Form::zip, {{"a.json", rows(50000)}, {"b.json", "1"}});
  const std::size_t first = whole.find("PK\x01\x02");
  const std::size_t second = whole.find("PK\x01\x02", first + 1);
  const std::size_t end = whole.find("PK\x05\x06");
  const auto with = [&](std::size_t at, const std::string& bytes) {
    return std::string(whole).replace(at, bytes.size(), bytes);
  };
  EXPECT_EQ(refusal(with(second, "?")),
            "is cut off or damaged (Invalid central directory signature)");
  EXPECT_EQ(refusal(with(second + 42, whole.substr(first + 42, 4))),
            "is damaged: it says that it has 2 members, but 1 were found")
      << "both in the same place";
  EXPECT_EQ(refusal(with(end + 8, {3, 0, 3, 0})),
            "is damaged: it says that it has 3 members, but 2 were found");
  // The size, in the directory and before the member.
  const auto sized = [&](const std::string& size) {
    return with(first + 24, size).replace(22, size.size(), size);
  };
  ASSERT_EQ(refusal(sized(whole.substr(first + 24, 4))), "");
  EXPECT_EQ(refusal(sized({10, 0, 0, 0})),
            "is damaged: 'a.json' does not have the size that it states");
  EXPECT_EQ(refusal(sized({0, 0, 0, 4})),
            fmt::format("is cut off or damaged (ZIP uncompressed data is wrong size (read {}, "
                        "expected 67108864))",
                        rows(50000).size()));
  EXPECT_EQ(refusal(sized({0, 0, 0, 127})), "expands to more than 1000 times its size");
}

TEST_F(TreeTest, RefusesMoreMembersThanMemoryIsFor) {
  std::vector<Item> items;
  for (int i = 0; i < 200'000; ++i) items.push_back({fmt::format("{}.json", i), ""});
  const auto tree = open(Form::tar_zst, items);
  int count = 0;
  tree->list("", [&](const TreeEntry&) { ++count; });
  EXPECT_EQ(count, 200'000);
  items.push_back({"one/too.md", ""});  // its folder is one too many
  EXPECT_EQ(refusal(packed(Form::tar_zst, items)),
            "holds more than 200000 files and folders to look at");
  items.back() = {"not wanted.md", ""};
  EXPECT_EQ(refusal(packed(Form::tar_zst, items)), "");
}

TEST_F(TreeTest, SaysWhatToDoWhenThereIsNoRoomToUnpack) {
  const std::string bytes = packed(Form::zip, {{"a.csv", rows(5000)}});
  const std::string path = test::put(folder_ / "a.zip", bytes);
  const std::string advice = "; set $TMPDIR to a folder that is writable and has free space";
  {
    const FileSizeLimit limit(4096);
    EXPECT_EQ(error_of(path),
              path + ": cannot be unpacked in " + (folder_ / "tmp") + ": File too large" + advice);
  }
  ::setenv("TMPDIR", "/nowhere", 1);
  EXPECT_EQ(error_of(path),
            path + ": cannot be unpacked in /nowhere: No such file or directory" + advice);
  ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
  EXPECT_EQ(error_of(path), "");
}

TEST_F(TreeTest, LeavesNoNameInTheTemporaryFolderWhileItIsUsed) {
  const auto tree = open(Form::zip, store());
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
  EXPECT_EQ(read_all(*tree->open("top.json").source()), "[]");
}

}  // namespace tree_test
}  // namespace aggregate_power
