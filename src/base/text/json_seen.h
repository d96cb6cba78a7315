// Remembers how members were spelled, for objects that are alike: the lines of a log, or the
// requests of a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace aggregate_power {

// A member that an object had.
struct SeenMember {
  static constexpr std::size_t kMostBytes = 64;
  static constexpr std::size_t kSlack = 32;

  // Whether `text` begins with the spelling. Up to kSlack bytes after its end may be read.
  bool begins(std::string_view text) const {
    if (text.size() < size) return false;
#if defined(__SSE2__)
    if ((differ(text.data(), 0) & used) != 0) return false;
    return size <= kSlack || (differ(text.data(), kSlack) & (used >> kSlack)) == 0;
#else
    return std::memcmp(text.data(), spelling, size) == 0;
#endif
  }

  std::string_view key() const { return {spelling + 1, key_size}; }

  char spelling[kMostBytes] = {};  // `"key": `, from the opening quote to just before the value
  std::size_t size = 0;
  std::uint64_t used = 0;  // a bit for each byte of the spelling
  std::size_t key_size = 0;
  // Nodes of the wanted paths: of the object that has it, and of its value.
  int object = -1;
  int node = -1;
  SeenMember* next = nullptr;    // came after it in an object
  SeenMember* inside = nullptr;  // the first one of the objects that were its value, or in it

#if defined(__SSE2__)
 private:
  // Which of the 32 bytes from `begin` on differ from those of the spelling.
  std::uint32_t differ(const char* text, std::size_t begin) const {
    const auto equal = [&](std::size_t at) {
      const auto load = [at](const char* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
      };
      return static_cast<std::uint32_t>(
          _mm_movemask_epi8(_mm_cmpeq_epi8(load(text), load(spelling))));
    };
    return ~(equal(begin) | equal(begin + 16) << 16);
  }
#endif
};

// Members by their place: each place is a pointer to the one that was seen there, if any. A place
// of nullptr is one where nothing is remembered.
class SeenMembers {
 public:
  SeenMember** root() { return &root_; }

  // The member of an object of node `object` at the front of `text`, if it was seen at `place` or
  // was one of the next ones there: some objects lack a few. A place may also have members of other
  // objects: where a value is an array of objects now, it may have been an object before.
  SeenMember* find(SeenMember** place, int object, std::string_view text) const {
    if (place == nullptr) return nullptr;
    SeenMember* member = *place;
    for (int i = 0; i < kAhead && member != nullptr; ++i, member = member->next) {
      if (member->object == object && member->begins(text)) return member;
    }
    return nullptr;
  }

  // Puts in a member before those at `place`.
  SeenMember* add(SeenMember** place, std::string_view spelling, std::size_t key_size, int object,
                  int node);

 private:
  static constexpr std::size_t kMost = 1000;
  static constexpr int kAhead = 4;

  SeenMember* root_ = nullptr;
  std::vector<SeenMember> members_;
};

}  // namespace aggregate_power
