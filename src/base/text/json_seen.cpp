// Keeps the members that were seen.
#include "base/text/json_seen.h"

namespace aggregate_power {

SeenMember* SeenMembers::add(SeenMember** place, std::string_view spelling, std::size_t key_size,
                             int object, int node) {
  if (place == nullptr || spelling.size() > SeenMember::kMostBytes || members_.size() == kMost) {
    return nullptr;
  }
  if (members_.empty()) members_.reserve(kMost);  // so that none moves
  SeenMember& member = members_.emplace_back();
  spelling.copy(member.spelling, SeenMember::kMostBytes);
  member.size = spelling.size();
  member.used = ~std::uint64_t{0} >> (SeenMember::kMostBytes - spelling.size());
  member.key_size = key_size;
  member.object = object;
  member.node = node;
  member.next = *place;
  return *place = &member;
}

}  // namespace aggregate_power
