#include "hftrain/interchange/pickle_reader.h"

#include <string>

#include "hftrain/base/error.h"
#include "hftrain/interchange/pickle_writer.h"
#include "support/catch.h"

namespace hftrain::interchange {
namespace {

using namespace std::string_literals;
using Kind = PickledValue::Kind;

const std::string kStorage(96, '\1');

PickledDocument read(const std::string& bytes) {
  return read_pickle(bytes, "state.pt", [](const std::string& key) -> std::optional<std::string_view> {
    return key == "0" ? std::optional<std::string_view>(kStorage) : std::nullopt;
  });
}

std::string why_not(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(error.diagnostics().front().where == "state.pt");
    CHECK(!error.diagnostics().front().hint.empty());
    return error.diagnostics().front().why;
  }
  return "";
}

TEST_CASE("a pickle of plain containers is read as it was written") {
  PickleWriter pickle;
  pickle.open_dict();
  pickle.text("numbers");
  pickle.open_list();
  for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, int64_t{-2147483648}})
    pickle.integer(number);
  pickle.close_list();
  pickle.integer(7);
  pickle.open_tuple();
  pickle.number(1e-3);
  pickle.none();
  pickle.truth(true);
  pickle.close_tuple();
  pickle.close_dict();
  const PickledDocument document = read(pickle.finish());
  const PickledValue& root = document.values[document.root];
  REQUIRE(root.kind == Kind::kDict);
  REQUIRE(root.items.size() == 4);
  CHECK(document.values[root.items[0]].text == "numbers");
  const PickledValue& list = document.values[root.items[1]];
  REQUIRE(list.items.size() == 4);
  CHECK(document.values[list.items[1]].integer == -1);
  CHECK(document.values[list.items[2]].integer == int64_t{1} << 40);
  CHECK(document.values[list.items[3]].integer == -2147483648);
  const PickledValue& tuple = document.values[root.items[3]];
  REQUIRE(tuple.items.size() == 3);
  CHECK(document.values[tuple.items[0]].number == 1e-3);
  CHECK(document.values[tuple.items[1]].kind == Kind::kNone);
  CHECK(document.values[tuple.items[2]].kind == Kind::kBool);
}

TEST_CASE("a tensor is the bytes of its storage from its offset") {
  PickleWriter pickle;
  pickle.tensor(storage::DType::kF32, {4, 6}, "0");
  const PickledDocument document = read(pickle.finish());
  REQUIRE(document.tensors.size() == 1);
  CHECK(document.tensors[0].shape == std::vector<int64_t>{4, 6});
  CHECK(document.tensors[0].bytes.data() == kStorage.data());
  CHECK(document.tensors[0].bytes.size() == 96);
}

TEST_CASE("a function that is not one of the few is refused by its name and never called") {
  const std::string system = "\x80\x02"s + "cposix\nsystem\nX\x04\x00\x00\x00"s + "true\x85R."s;
  CHECK(why_not(system) ==
        "it asks for 'posix.system', which is neither a tensor nor a plain container; nothing of it was "
        "executed");
  CHECK(why_not("\x80\x04\x8c\x08"s + "builtins\x8c\x04"s + "eval\x93."s).find("'builtins.eval'") !=
        std::string::npos);
  CHECK(why_not("\x80\x02"s + "ctransformers.training_args\nTrainingArguments\n)\x81."s)
            .find("'transformers.training_args.TrainingArguments'") != std::string::npos);
  CHECK(why_not("\x80\x02(cposix\nsystem\no."s).find("'posix.system'") != std::string::npos);
}

TEST_CASE("instructions that build no plain value are refused by their code") {
  for (const char* code : {"i", "o", "\x92", "\x82", "P", "I", "S", "d", "0", "2"})
    CHECK(why_not("\x80\x02("s + code + "a\nb\n."s).find("instruction 0x") != std::string::npos);
  CHECK(why_not("\x80\x01N."s).find("protocol 1") != std::string::npos);
}

TEST_CASE("a pickle cut short anywhere is refused") {
  PickleWriter pickle;
  pickle.open_dict();
  pickle.text("a");
  pickle.tensor(storage::DType::kBF16, {2}, "0");
  pickle.close_dict();
  const std::string whole = pickle.finish();
  for (size_t length = 0; length < whole.size(); ++length) CHECK(!why_not(whole.substr(0, length)).empty());
}

TEST_CASE(
    "nothing is taken from an empty stack, across a container's beginning or from what was never kept") {
  CHECK(why_not("\x80\x02."s) == "an instruction has nothing to work on; nothing of it was executed");
  CHECK(!why_not("\x80\x02N(\x85t."s).empty());
  CHECK(!why_not("\x80\x02h\x05."s).empty());
  CHECK(!why_not("\x80\x02t."s).empty());
  CHECK(!why_not("\x80\x02NN."s).empty());
  CHECK(!why_not("\x80\x02}Na."s).empty());
  CHECK(!why_not("\x80\x02}(Nu."s).empty());
  CHECK(!why_not("\x80\x02NNb."s).empty());
  CHECK(!why_not("\x80\x02NQ."s).empty());
}

TEST_CASE("containers that are open in one another are bounded, and one may hold itself") {
  CHECK(why_not("\x80\x02"s + std::string(1000, '(') + "N."s).find("nested too deeply") != std::string::npos);
  const PickledDocument itself = read("\x80\x02]q\x00h\x00"s + "a."s);
  CHECK(itself.values[itself.root].items == std::vector<uint32_t>{itself.root});
}

TEST_CASE("whole numbers of more than 64 bits are refused") {
  CHECK(read("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff."s).values[0].integer == -1);
  CHECK(read("\x80\x02\x8a\x05\x00\x00\x00\x80\x00."s).values[0].integer == int64_t{1} << 31);
  CHECK(read("\x80\x02\x8a\x00."s).values[0].integer == 0);
  CHECK(!why_not("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."s).empty());
}

// _rebuild_tensor_v2 with sizes of one's own, over a storage of 24 floats.
std::string tensor_with(const std::string& offset, const std::string& shape, const std::string& strides,
                        int64_t numbers = 24) {
  std::string pickle = "\x80\x02"s + "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00"s +
                       "storagectorch\nFloatStorage\nX\x01\x00\x00\x00"s + "0X\x03\x00\x00\x00"s + "cpuK"s;
  pickle += static_cast<char>(numbers);
  return pickle + "tQ"s + offset + '(' + shape + "t(" + strides + "t\x89}tR."s;
}

TEST_CASE("a tensor that reaches behind its storage is refused, however its sizes are multiplied") {
  const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s, negative = "J\xff\xff\xff\xff"s;
  CHECK(why_not(tensor_with("K\x00"s, "K\x04K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x01"s, "K\x04K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, "K\x04K\x06"s, "K\x07K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, huge + "K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, "K\x04K\x06"s, huge + "K\x01"s)).empty());
  CHECK(!why_not(tensor_with(huge, "K\x04K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with(negative, "K\x04K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, negative + "K\x06"s, "K\x06K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, "K\x04K\x06"s, "K\x01"s)).empty());
  CHECK(!why_not(tensor_with("K\x00"s, "K\x04K\x06"s, "K\x06K\x01"s, 25)).empty());
}

TEST_CASE(
    "a tensor whose numbers lie in another order says so, and one of a broadcast does not read more than "
    "there is") {
  CHECK(!read(tensor_with("K\x00"s, "K\x06K\x04"s, "K\x01K\x06"s)).tensors[0].dense);
  const PickledDocument spread = read(tensor_with("K\x00"s, "K\x06K\x04"s, "K\x00K\x00"s));
  CHECK(!spread.tensors[0].dense);
  CHECK(spread.tensors[0].bytes.empty());
  CHECK(read(tensor_with("K\x00"s, "K\x00K\x06"s, "K\x06K\x01"s)).tensors[0].bytes.empty());
}

}  // namespace
}  // namespace hftrain::interchange
