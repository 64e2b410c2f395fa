#include "fuzz.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>

#include "hftrain/base/json.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace hftrain::fuzz {
namespace {

// Removed when the process ends in an orderly way; what a finding leaves is a few kilobytes.
struct OwnFolder {
  std::string path =
      ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/hftrain-fuzz-XXXXXX" : "/tmp/hftrain-fuzz-XXXXXX";
  OwnFolder() {
    if (::mkdtemp(path.data()) == nullptr) std::abort();
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
};

using Random = std::minstd_rand;

void collect(Json& value, std::vector<Json*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& item : value) collect(item, values);
}

Json some_value(Random& random, const std::vector<Json*>& values) {
  static const std::vector<Json> kValues = {nullptr,
                                            true,
                                            false,
                                            0,
                                            1,
                                            -1,
                                            2.5,
                                            1e300,
                                            255,
                                            int64_t{1} << 31,
                                            int64_t{1} << 53,
                                            std::numeric_limits<int64_t>::min(),
                                            std::numeric_limits<int64_t>::max(),
                                            std::numeric_limits<uint64_t>::max(),
                                            "",
                                            "a",
                                            "\u00e9 \u2581",
                                            Json::array(),
                                            Json::object()};
  const bool other = random() % 2 == 0;
  return other ? *values[random() % values.size()] : kValues[random() % kValues.size()];
}

// A text by libFuzzer's means, which knows the words of the target.
std::string some_text(std::string text) {
  constexpr size_t kMore = 40;
  const size_t size = text.size();
  text.resize(size + kMore);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
  return text;
}

void mutate_value(Json& value, Random& random, const std::vector<Json*>& values) {
  const uint32_t way = random() % 8;
  if (value.is_string() && way < 4) {
    value = some_text(value.get<std::string>());
  } else if (value.is_number() && way < 3) {
    value = value.get<double>() + static_cast<double>(random() % 5) - 2;
    if (way > 0) value = static_cast<int64_t>(std::clamp(value.get<double>(), -1e18, 1e18));
  } else if (value.is_array() && way < 4 && !value.empty()) {
    const auto place = value.begin() + static_cast<long>(random() % value.size());
    if (way == 0) {
      value.erase(place);
    } else {
      Json item = way == 1 ? *place : some_value(random, values);
      value.insert(place, std::move(item));
    }
  } else if (value.is_object() && way < 5 && !value.empty()) {
    const auto place = std::next(value.begin(), static_cast<long>(random() % value.size()));
    if (way == 0) {
      value.erase(place);
    } else {
      const std::string key = way < 3 ? some_text(place.key()) : some_text("");
      Json item = way == 1 ? *place : some_value(random, values);
      value[key] = std::move(item);
    }
  } else {
    value = some_value(random, values);
  }
}

}  // namespace

size_t mutate_json(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(0, input.find('\0'));
  std::optional<Json> json;
  if (random() % 3 != 0) json = try_parse_json(text);
  if (!json) return LLVMFuzzerMutate(data, size, max_size);
  for (uint32_t times = 1 + random() % 3; times > 0; --times) {
    std::vector<Json*> values;
    collect(*json, values);
    mutate_value(*values[random() % values.size()], random, values);
  }
  std::string mutated = json->dump(random() % 2 == 0 ? -1 : 1, ' ', false, Json::error_handler_t::replace);
  mutated += input.substr(text.size());
  if (mutated.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, mutated.data(), mutated.size());
  return mutated.size();
}

std::vector<std::string_view> parts_of(const uint8_t* data, size_t size, size_t count) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts(count);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? rest.find('\0') : std::string_view::npos;
    parts[i] = rest.substr(0, end);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return parts;
}

const std::string& folder() {
  static const OwnFolder kFolder;
  return kFolder.path;
}

std::string file_with(const std::string& name, std::string_view content) {
  std::string path = folder() + '/' + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

}  // namespace hftrain::fuzz
