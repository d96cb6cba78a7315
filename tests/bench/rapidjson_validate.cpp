// A file through RapidJSON's SAX parser with a handler that does nothing, as it is read.
#include <cstdio>
#include <vector>

#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>

int main(int, char** argv) {
  std::FILE* const file = std::fopen(argv[1], "rb");
  if (file == nullptr) return 2;
  std::vector<char> buffer(256 * 1024);
  rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
  rapidjson::BaseReaderHandler<> handler;
  rapidjson::Reader reader;
  const bool is_valid =
      !reader.Parse<rapidjson::kParseValidateEncodingFlag>(stream, handler).IsError();
  std::fclose(file);
  return is_valid ? 0 : 1;
}
