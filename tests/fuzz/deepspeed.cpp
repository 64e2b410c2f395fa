// Folders that DeepSpeed leaves: the input is JSON, an object of what some files hold, which is pickled here. So most mutations are
// values that the reader of pickles takes, and reach who looks for parameters in them.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "fuzz.h"
#include "hftrain/base/json.h"
#include "hftrain/interchange/deepspeed_folder.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/interchange/zip_writer.h"

using namespace hftrain;  // NOLINT(google-build-using-namespace): a program of one page

namespace {

constexpr std::array kFiles = {"global_step2/mp_rank_00_model_states.pt",
                               "global_step2/zero_pp_rank_0_mp_rank_00_model_states.pt",
                               "global_step2/zero_pp_rank_1_mp_rank_00_model_states.pt",
                               "global_step2/zero_pp_rank_0_mp_rank_00_optim_states.pt",
                               "global_step2/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt",
                               "universal/mp_rank_00_model_states.pt",
                               "universal/zero_pp_rank_0_mp_rank_00_model_states.pt",
                               "universal/zero/optimizer_state.pt",
                               "universal/zero/w/fp32.pt",
                               "universal/zero/w/exp_avg.pt",
                               "universal/zero/b/fp32.pt",
                               "universal/zero/b/exp_avg.pt"};

template <typename Value>
std::string raw(Value value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string integer(int64_t value) {
  return "\x8a\x08" + raw(value);
}

std::string text(const std::string& value) {
  return 'X' + raw(static_cast<uint32_t>(value.size())) + value;
}

// Pickles have whole numbers of 64 bits with a sign; larger ones that a mutation has made go around.
int64_t wrapped(const Json& value) {
  return value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>();
}

std::vector<int64_t> integers_of(const Json& value) {
  std::vector<int64_t> integers;
  if (value.is_number_integer()) return {wrapped(value)};
  for (const Json& item : value) {
    if (item.is_number_integer()) integers.push_back(wrapped(item));
  }
  return integers;
}

std::string tuple(const std::vector<int64_t>& integers) {
  std::string bytes = "(";
  for (const int64_t value : integers) bytes += integer(value);
  return bytes + 't';
}

// A pickle, and how many bytes each of its storages has. An object of one member whose name begins with "$" is none of a dict.
class Pickle {
 public:
  std::string of(const Json& value) {
    if (value.is_boolean()) return value.get<bool>() ? "\x88" : "\x89";
    if (value.is_number_integer()) return integer(wrapped(value));
    if (value.is_number()) {
      std::string bytes = raw(value.get<double>());
      std::reverse(bytes.begin(), bytes.end());
      return 'G' + bytes;
    }
    if (value.is_string()) return text(value.get<std::string>());
    if (value.is_array()) return list(value);
    if (!value.is_object()) return "N";
    const bool object = value.size() == 1 && value.begin().key().starts_with('$');
    return object ? object_of(value.begin().key(), value.begin().value()) : dict(value);
  }
  const std::vector<size_t>& storages() const { return storages_; }

 private:
  std::string list(const Json& items) {
    std::string bytes = "](";
    for (const Json& item : items) bytes += of(item);
    return bytes + 'e';
  }
  // "#3" is the number.
  std::string dict(const Json& value) {
    std::string bytes = "}(";
    for (const auto& [key, item] : value.items()) {
      const bool number = key.size() == 2 && key[0] == '#' && key[1] >= '0' && key[1] <= '9';
      bytes += (number ? integer(key[1] - '0') : text(key)) + of(item);
    }
    return bytes + 'u';
  }
  std::string object_of(const std::string& type, const Json& value) {
    if (type == "$size") return "ctorch\nSize\n" + tuple(integers_of(value)) + "\x85R";
    if (type == "$stage")
      return "cdeepspeed.runtime.zero.config\nZeroStageEnum\n" + tuple(integers_of(value)) + 'R';
    if (type == "$place")
      return "cdeepspeed.utils.tensor_fragment\nfragment_address\n)\x81" + of(value) + 'b';
    if (type == "$scaler")
      return "cdeepspeed.runtime.fp16.loss_scaler\nDynamicLossScaler\n)\x81" + of(value) + 'b';
    return tensor(type == "$half" ? "BFloat16Storage" : "FloatStorage", type == "$half" ? 2 : 4,
                  integers_of(value));
  }
  // Of a shape that is too large the storage has less.
  std::string tensor(const std::string& storage, size_t width, const std::vector<int64_t>& shape) {
    constexpr int64_t kMost = 4096;
    std::vector<int64_t> strides(shape.size(), 1);
    int64_t numbers = 1;
    for (size_t dim = shape.size(); dim-- > 0;) {
      strides[dim] = numbers;
      numbers = std::clamp<int64_t>(shape[dim], 0, kMost) * numbers % (kMost + 1);
    }
    const std::string key = std::to_string(storages_.size());
    storages_.push_back(static_cast<size_t>(numbers) * width);
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + '\n' +
           text(key) + text("cpu") + integer(numbers) + "tQ" + integer(0) + tuple(shape) + tuple(strides) +
           "\x89}tR";
  }

  std::vector<size_t> storages_;
};

void write_file(const std::string& path, const Json& value) {
  Pickle pickle;
  const std::string bytes = "\x80\x02" + pickle.of(value) + '.';
  storage::PosixFileSystem files;
  interchange::ZipWriter zip(files, path, 0);
  zip.add("state/data.pkl", bytes);
  for (size_t i = 0; i < pickle.storages().size(); ++i)
    zip.add("state/data/" + std::to_string(i), std::string(pickle.storages()[i], '\1'));
  zip.finish();
}

std::string write_folder(const Json& files) {
  const std::string checkpoint = fuzz::folder() + "/checkpoint";
  std::filesystem::remove_all(checkpoint);
  std::filesystem::create_directories(checkpoint + "/global_step2");
  std::ofstream(checkpoint + "/latest") << "global_step2";
  for (const std::string name : kFiles) {
    const auto found = files.find(name);
    if (found == files.end()) continue;
    const std::filesystem::path path = checkpoint + '/' + name;
    std::filesystem::create_directories(path.parent_path());
    if (name.starts_with("universal/")) std::ofstream(checkpoint + "/latest_universal") << "universal";
    write_file(path.string(), *found);
  }
  return checkpoint;
}

void read_all(const storage::StoredWeights& weights) {
  for (const storage::TensorEntry& entry : weights.entries()) {
    std::string bytes(entry.bytes(), '\0');
    weights.read(entry.name, {std::vector<int64_t>(entry.shape.size(), 0), entry.shape}, bytes);
    // Of numbers that are none of a storage's.
    if (std::count(bytes.begin(), bytes.end(), '\1') != static_cast<std::ptrdiff_t>(bytes.size()))
      __builtin_trap();
  }
}

void look_at(const interchange::OptimizerStates& states) {
  for (const auto& [key, tensor] : states.all()) {
    for (const auto& slice : tensor->slices) {
      if (slice.stored->bytes.size() != slice.stored->entry.bytes()) __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::optional<Json> files = try_parse_json({reinterpret_cast<const char*>(data), size});
  if (!files || !files->is_object()) return 0;
  const std::string checkpoint = write_folder(*files);
  const auto same = [](const std::string& name) { return name; };
  fuzz::read_or_refuse([&] { read_all(interchange::open_deepspeed_weights(checkpoint)); });
  fuzz::read_or_refuse([&] { read_all(interchange::open_deepspeed_trained(checkpoint, same)); });
  fuzz::read_or_refuse([&] { look_at(interchange::open_deepspeed_optimizer(checkpoint)); });
  fuzz::read_or_refuse([&] { interchange::deepspeed_schedule_steps(checkpoint); });
  fuzz::read_or_refuse([&] { interchange::deepspeed_updates(checkpoint); });
  return fuzz::read_or_refuse([&] { interchange::read_trainer_scaler(checkpoint); });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  return fuzz::mutate_json(data, size, max_size, seed);
}
