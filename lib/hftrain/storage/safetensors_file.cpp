#include "hftrain/storage/safetensors_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/json_words.h"
#include "hftrain/storage/tensor_size.h"

namespace hftrain::storage {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

Error bad_file(const std::string& path, std::string why) {
  return Error(ExitCode::kData, "not a valid safetensors file")
      .where(path)
      .why(std::move(why))
      .hint("copy it again from where it came from; of a run's checkpoints name an earlier one");
}

// Also refuses what the plain parser accepts in silence: a key given twice, and nesting that no header has.
Json parse_header(std::string_view text, const std::string& path) {
  std::vector<std::set<std::string>> open_objects;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > 4) throw bad_file(path, "its header is nested too deeply");
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw bad_file(path, "its header has the key '" + parsed.get<std::string>() + "' twice");
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::exception& error) {
    throw bad_file(path, std::string("its header is not valid JSON: ") + words_of(error));
  }
}

uint64_t whole_number(const Json& value, const std::string& path, const std::string& name, const char* what) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  throw bad_file(path, "tensor '" + name + "': " + what + " is not a whole number of at least 0");
}

DType read_dtype(const Json& item, const std::string& path, const std::string& name) {
  const auto found = item.find("dtype");
  if (found == item.end() || !found->is_string()) throw bad_file(path, "tensor '" + name + "' has no dtype");
  const auto dtype = dtype_from_name(found->get_ref<const std::string&>());
  if (!dtype) throw bad_file(path, "tensor '" + name + "' has the unknown dtype " + found->dump());
  return *dtype;
}

std::vector<int64_t> read_shape(const Json& item, const std::string& path, const std::string& name) {
  const auto found = item.find("shape");
  if (found == item.end() || !found->is_array()) throw bad_file(path, "tensor '" + name + "' has no shape");
  std::vector<int64_t> shape;
  for (const Json& size : *found) {
    const uint64_t value = whole_number(size, path, name, "a size of its shape");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      throw bad_file(path, "tensor '" + name + "': a size of its shape is too large");
    }
    shape.push_back(static_cast<int64_t>(value));
  }
  return shape;
}

Range read_range(const Json& item, const std::string& path, const std::string& name) {
  const auto found = item.find("data_offsets");
  if (found == item.end() || !found->is_array() || found->size() != 2) {
    throw bad_file(path, "tensor '" + name + "' has no data_offsets [begin, end]");
  }
  const Range range{whole_number((*found)[0], path, name, "a data offset"),
                    whole_number((*found)[1], path, name, "a data offset")};
  if (range.end < range.begin) throw bad_file(path, "tensor '" + name + "': its data_offsets run backwards");
  return range;
}

void check_size(const TensorEntry& entry, const Range& range, const std::string& path) {
  const std::optional<uint64_t> bits = checked_bits(entry);
  if (!bits) throw bad_file(path, "tensor '" + entry.name + "': its shape is too large");
  if (*bits % 8 != 0 || *bits / 8 != range.end - range.begin) {
    throw bad_file(path, "tensor '" + entry.name + "': its shape needs " + std::to_string(*bits / 8) +
                             " bytes, its data_offsets span " + std::to_string(range.end - range.begin));
  }
}

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& path) {
  if (!value.is_object()) throw bad_file(path, "its __metadata__ is not an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      throw bad_file(path, "the value of '" + key + "' in its __metadata__ is not a string");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// The header's text, without its length in front.
std::string_view header_text(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kLengthBytes) {
    throw bad_file(path, "it has " + std::to_string(bytes.size()) + " bytes, too few for a header");
  }
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kLargestHeader) {
    throw bad_file(path, "its header claims " + std::to_string(length) + " bytes; 100,000,000 is the limit");
  }
  if (length > bytes.size() - kLengthBytes) {
    throw bad_file(path, "its header claims " + std::to_string(length) + " bytes, the file is shorter")
        .hint("the file is cut short: copy or download it again");
  }
  const std::string_view text = bytes.substr(kLengthBytes, length);
  if (text.empty() || text.front() != '{') throw bad_file(path, "its header does not start with '{'");
  return text;
}

}  // namespace

uint64_t TensorEntry::elements() const {
  uint64_t product = 1;
  for (const int64_t size : shape) product *= static_cast<uint64_t>(size);
  return product;
}

uint64_t TensorEntry::bytes() const {
  return elements() * static_cast<uint64_t>(dtype_bits(dtype)) / 8;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  read_header();
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = positions_.find(name);
  return found == positions_.end() ? nullptr : &tensors_[found->second];
}

void SafetensorsFile::read_header() {
  const std::string_view text = header_text(file_.bytes(), path());
  const std::string_view data = file_.bytes().substr(kLengthBytes + text.size());
  const Json header = parse_header(text, path());

  std::vector<std::pair<Range, TensorEntry>> found;
  for (const auto& [name, item] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = read_metadata(item, path());
      continue;
    }
    if (!item.is_object()) throw bad_file(path(), "the entry of tensor '" + name + "' is not an object");
    TensorEntry entry{name, read_dtype(item, path(), name), read_shape(item, path(), name)};
    const Range range = read_range(item, path(), name);
    check_size(entry, range, path());
    found.emplace_back(range, std::move(entry));
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.begin, a.first.end, a.second.name) <
           std::tie(b.first.begin, b.first.end, b.second.name);
  });

  uint64_t end = 0;
  for (auto& [range, entry] : found) {
    if (range.begin != end) {
      throw bad_file(path(), "tensor '" + entry.name + "' starts at byte " + std::to_string(range.begin) +
                                 " where " + std::to_string(end) + " is due: a hole or an overlap");
    }
    end = range.end;
    if (end > data.size()) {
      throw bad_file(path(), "tensor '" + entry.name + "' ends at byte " + std::to_string(end) +
                                 ", the file has " + std::to_string(data.size()) + " bytes of data")
          .hint("the file is cut short: copy or download it again");
    }
    positions_[entry.name] = tensors_.size();
    tensors_.push_back({std::move(entry), data.substr(range.begin, range.end - range.begin)});
  }
  if (end != data.size()) {
    throw bad_file(path(), std::to_string(data.size() - end) + " bytes follow the last tensor");
  }
}

}  // namespace hftrain::storage
