// Decodes and checks UTF-8.
#include "base/text/utf8.h"

#include "base/text/ascii.h"

namespace aggregate_power {

Utf8Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const Utf8Sequence sequence = utf8_sequence(lead);
  if (sequence.size == 0) return {1, std::nullopt};
  if (sequence.size == 1) return {1, lead};

  char32_t code = lead & (0x7Fu >> sequence.size);
  for (std::size_t i = 1; i < sequence.size; ++i) {
    const auto byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    const bool fits = i == 1 ? byte >= sequence.second_from && byte <= sequence.second_to
                             : byte >= 0x80 && byte <= 0xBF;
    if (!fits) return {i, std::nullopt};
    code = code << 6 | (byte & 0x3F);
  }
  return {sequence.size, code};
}

bool is_utf8(std::string_view text) {
  if (is_ascii(text)) return true;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.code) return false;
    text.remove_prefix(character.size);
  }
  return true;
}

}  // namespace aggregate_power
