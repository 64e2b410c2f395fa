#include <filesystem>
#include <fstream>
#include <functional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

const std::string kGoldenFolder = testing::source_dir() + "/tests/golden/tokenizer/";

// The message of the refusal to load a golden tokenizer after `edit`; empty when it loads.
std::string refusal(const std::string& name, const std::function<void(Json&)>& edit) {
  Json file = read_json_file(kGoldenFolder + name + "/tokenizer.json");
  edit(file);
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json", dump_json(file));
  try {
    Tokenizer::load(folder.path());
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a folder without tokenizer.json is named in the error") {
  const testing::TemporaryDirectory folder;
  CHECK_REFUSED(Tokenizer::load(folder / "nowhere"), "no tokenizer at");
  try {
    Tokenizer::load(folder.path());
    FAIL("loaded an empty folder");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK(mentions(error.render(), folder.path()));
    CHECK(mentions(error.render(), "tokenizer.json"));
  }
}

TEST_CASE("a folder with the files of an older tokenizer is told how to get tokenizer.json") {
  for (const char* name : {"vocab.txt", "spiece.model", "merges.txt"}) {
    const testing::TemporaryDirectory folder;
    write_file_atomically(folder / name, "x");
    try {
      Tokenizer::load(folder.path());
      FAIL("loaded a folder without tokenizer.json");
    } catch (const Error& error) {
      CHECK(mentions(error.render(), std::string("has ") + name));
      CHECK(mentions(error.render(), "AutoTokenizer"));
    }
  }
}

TEST_CASE("a version of the file that is not known is refused, as by the package") {
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["version"] = "2.0"; }), "the version '2.0'"));
  CHECK(refusal("gpt2", [](Json& file) { file.erase("version"); }).empty());
}

TEST_CASE("refusals of a file say what to do") {
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"].erase("vocab"); }), "try: "));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["decoder"]["type"] = "Other"; }), "try: "));
}

TEST_CASE("a place that the system cannot look at is a mistake with its reason") {
  const hftrain::testing::TemporaryDirectory folder;
  std::filesystem::create_symlink("loop", folder / "loop");  // as a folder without rights, also for root
  std::filesystem::create_directory(folder / "deep");
  std::filesystem::create_symlink("tokenizer.json", folder / "deep/tokenizer.json");
  for (const std::string& place : {folder / "loop", folder / "deep"}) {
    INFO(place);
    try {
      Tokenizer::load(place);
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK(mentions(error.render(), "Too many levels of symbolic links"));
    }
  }
}

TEST_CASE("torn JSON is refused with file and place") {
  const std::string whole = read_file(kGoldenFolder + "gpt2/tokenizer.json");
  const testing::TemporaryDirectory folder;
  for (const size_t size : {size_t{0}, size_t{1}, whole.size() / 2, whole.size() - 1}) {
    write_file_atomically(folder / "tokenizer.json", whole.substr(0, size));
    try {
      Tokenizer::load(folder.path());
      FAIL("loaded " << size << " bytes");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK(mentions(error.render(), "tokenizer.json:"));
    }
  }
}

TEST_CASE("parts of the first versions of the file, without a type, are known by their members") {
  const testing::TemporaryDirectory folder;
  for (const std::string name : {"bert_uncased", "bert_odd", "roberta", "suffixed", "speech"}) {
    INFO(name);
    Json file = read_json_file(kGoldenFolder + name + "/tokenizer.json");
    for (const char* part : {"normalizer", "post_processor", "decoder"}) {
      if (file[part].is_object() && file[part]["type"] != "ByteLevel") file[part].erase("type");
    }
    write_file_atomically(folder / "tokenizer.json", dump_json(file));
    const auto untyped = Tokenizer::load(folder.path()), typed = Tokenizer::load(kGoldenFolder + name);
    const Encoding ours = untyped->encode("Ärger, we do n't!", true),
                   theirs = typed->encode("Ärger, we do n't!", true);
    CHECK(ours.ids == theirs.ids);
    CHECK(ours.offsets == theirs.offsets);
    CHECK(untyped->decode(ours.ids, true) == typed->decode(ours.ids, true));
  }
  CHECK(mentions(refusal("gpt2", [](Json& json) { json["decoder"] = Json::object(); }), "'type' is missing"));
}

TEST_CASE("an unknown part is refused by its type") {
  const auto with_type = [](const char* key, const char* type) {
    return refusal("gpt2", [&](Json& file) { file[key] = {{"type", type}}; });
  };
  CHECK(mentions(with_type("normalizer", "Magic"), "Magic"));
  CHECK(mentions(with_type("pre_tokenizer", "Magic"), "Magic"));
  CHECK(mentions(with_type("post_processor", "Magic"), "Magic"));
  CHECK(mentions(with_type("decoder", "Magic"), "Magic"));
  CHECK(mentions(with_type("model", "Magic"), "Magic"));
  CHECK(mentions(
      refusal("llama3", [](Json& file) { file["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Odd"; }),
      "Odd"));
}

TEST_CASE("numbers that would take all memory or lose their upper half are refused with their place") {
  const auto padding = [](const Json& strategy, const Json& multiple, const Json& id) {
    return refusal("gpt2", [&](Json& file) {
      file["padding"] = {{"strategy", strategy}, {"direction", "Right"}, {"pad_to_multiple_of", multiple},
                         {"pad_id", id},         {"pad_type_id", 0},     {"pad_token", "!"}};
    });
  };
  CHECK(mentions(padding({{"Fixed", int64_t{1} << 40}}, nullptr, 0), "padding.strategy.Fixed"));
  CHECK(mentions(padding("BatchLongest", int64_t{1} << 40, 0), "padding.pad_to_multiple_of"));
  CHECK(mentions(padding("BatchLongest", nullptr, int64_t{1} << 32), "padding.pad_id"));
  CHECK(mentions(padding("BatchLongest", nullptr, -1), "padding.pad_id"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["vocab"]["!"] = int64_t{1} << 26; }), "'!'"));
  const auto padding_with = [](const std::string& token) {
    return refusal("gpt2", [&](Json& file) {
      file["padding"] = {{"strategy", {{"Fixed", 1 << 20}}},
                         {"direction", "Right"},
                         {"pad_to_multiple_of", nullptr},
                         {"pad_id", 0},
                         {"pad_type_id", 0},
                         {"pad_token", token}};
    });
  };
  CHECK(padding_with("<|endoftext|>").empty());
  CHECK(mentions(padding_with(std::string(600, 'x')), "padding.pad_token"));
}

TEST_CASE("steps that double a text each are given up before they fill the memory") {
  const auto use = [](const std::function<void(Json&)>& edit) -> std::string {
    Json file = read_json_file(kGoldenFolder + "gpt2/tokenizer.json");
    edit(file);
    const testing::TemporaryDirectory folder;
    write_file_atomically(folder / "tokenizer.json", dump_json(file));
    const auto tokenizer = Tokenizer::load(folder.path());
    try {
      const std::vector<TokenId> ids = tokenizer->encode("bananaé", false).ids;
      tokenizer->decode(ids, false);
      return "";
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
  };
  const auto times = [](int count, const char* list, const Json& step) {
    Json steps = Json::array();
    for (int i = 0; i < count; ++i) steps.push_back(step);
    return Json{{"type", "Sequence"}, {list, steps}};
  };
  const Json doubled = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  const Json bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}, {"trim_offsets", true}};
  CHECK(use([&](Json& file) { file["normalizer"] = times(3, "normalizers", doubled); }).empty());
  CHECK(use([&](Json& file) { file["decoder"] = times(3, "decoders", doubled); }).empty());
  CHECK(mentions(use([&](Json& file) { file["normalizer"] = times(50, "normalizers", doubled); }),
                 "far too much"));
  CHECK(mentions(use([&](Json& file) { file["normalizer"] = times(50, "normalizers", bytes); }),
                 "far too much"));
  CHECK(mentions(use([&](Json& file) { file["pre_tokenizer"] = times(50, "pretokenizers", bytes); }),
                 "far too much"));
  CHECK(mentions(use([&](Json& file) { file["decoder"] = times(50, "decoders", doubled); }), "far too much"));
}

TEST_CASE("merges that name unknown tokens are refused with the token") {
  CHECK(mentions(refusal("gpt2",
                         [](Json& file) {
                           file["model"]["merges"].push_back({"zq", "a"});
                         }),
                 "'zq'"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["merges"].push_back({"q", "X"}); }), "'qX'"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["merges"].push_back("q X y"); }),
                 "two tokens"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["merges"] = 3; }), "model.merges"));
}

TEST_CASE("ids and options that make no sense are refused") {
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["vocab"]["a"] = -1; }), "'a'"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["vocab"]["a"] = "x"; }), "'a'"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["model"]["dropout"] = 0.1; }), "dropout"));
  CHECK(refusal("gpt2", [](Json& file) { file["model"]["dropout"] = 0.0; }).empty());
  CHECK(mentions(refusal("gpt2", [](Json& file) { file.erase("model"); }), "'model' is missing"));
}

TEST_CASE("a regular expression that cannot be honoured is refused with the reason") {
  const auto with_regex = [](const char* regex) {
    return refusal("split_removed", [&](Json& file) {
      file["pre_tokenizer"]["pattern"] = {{"Regex", regex}};
    });
  };
  CHECK(mentions(with_regex("\\p{Klingon}+"), "Klingon"));
  CHECK(mentions(with_regex("[a-z&&[aeiou]]"), "class"));
  CHECK(mentions(with_regex("a(b"), "compile"));
  CHECK(mentions(with_regex("\\bword"), "\\b"));
  std::string classes;
  for (int i = 0; i < 3000; ++i) classes += "\\w";
  CHECK(mentions(with_regex(classes.c_str()), "more classes"));
}

TEST_CASE("settings beside the file are read in both spellings") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json", read_file(kGoldenFolder + "llama2/tokenizer.json"));
  write_file_atomically(
      folder / "tokenizer_config.json",
      R"({"model_max_length": 2048, "bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  const auto tokenizer = Tokenizer::load(folder.path());
  CHECK(tokenizer->model_max_length() == 2048);
  CHECK(tokenizer->bos_id() == 1);
  CHECK(tokenizer->eos_id() == 2);
  CHECK_FALSE(tokenizer->pad_id());
  CHECK(tokenizer->folder() == folder.path());
  write_file_atomically(folder / "tokenizer_config.json",
                        R"({"model_max_length": 1000000000000000019884624838656})");
  CHECK_FALSE(Tokenizer::load(folder / "tokenizer.json")->model_max_length());
  write_file_atomically(folder / "tokenizer_config.json", R"({"max_len": 32})");
  CHECK(Tokenizer::load(folder.path())->model_max_length() == 32);
  write_file_atomically(folder / "tokenizer_config.json", R"({"max_len": 32, "model_max_length": null})");
  CHECK_FALSE(Tokenizer::load(folder.path())->model_max_length());
  for (const char* length : {"2.5", "-1e300", "NaN"}) {
    INFO(length);
    write_file_atomically(folder / "tokenizer_config.json",
                          std::string(R"({"model_max_length": )") + length + "}");
    CHECK_REFUSED(Tokenizer::load(folder.path()), "model_max_length must be a whole number");
  }
}

namespace {

// The folder of a golden tokenizer with these files beside it; empty: it is not there.
struct Beside {
  explicit Beside(const std::string& golden) {
    write_file_atomically(folder / "tokenizer.json", read_file(kGoldenFolder + golden + "/tokenizer.json"));
  }
  void put(const char* name, const std::string& text) const {
    std::filesystem::remove(folder / name);
    if (!text.empty()) write_file_atomically(folder / name, text);
  }
  std::shared_ptr<const Tokenizer> with(const std::string& config, const std::string& map = "",
                                        const std::string& model = "") const {
    put("tokenizer_config.json", config);
    put("special_tokens_map.json", map);
    put("config.json", model);
    return Tokenizer::load(folder.path());
  }
  testing::TemporaryDirectory folder;
};

}  // namespace

TEST_CASE("tokens that no file names are those of the class that opens the folder") {
  const Beside llama("llama2");
  const std::string of_class = R"({"tokenizer_class": "LlamaTokenizerFast")";
  const auto whole = llama.with(of_class + "}");
  CHECK(whole->bos_id() == 1);
  CHECK(whole->eos_id() == 2);
  CHECK_FALSE(whole->pad_id());
  CHECK_FALSE(llama.with(of_class + R"(, "bos_token": null})")->bos_id());
  CHECK(llama.with("", "", R"({"tokenizer_class": "LlamaTokenizer"})")->bos_id() == 1);
  CHECK_FALSE(llama.with(R"({"tokenizer_class": "PreTrainedTokenizerFast"})")->bos_id());
  CHECK_FALSE(llama.with("", "", R"({"model_type": "llama"})")->bos_id());
  // Whatever the files name, Mistral's are opened without a class of their own.
  CHECK_FALSE(llama.with(of_class + "}", "", R"({"model_type": "mistral"})")->bos_id());
  // A folder as those of 2019 are.
  const auto roberta = llama.with(R"({"model_max_length": 512})", "", R"({"model_type": "roberta"})");
  CHECK(roberta->cls_id() == 1);
  CHECK(roberta->sep_id() == 2);
  CHECK_FALSE(roberta->mask_id());  // "<mask>" is no token of this vocabulary
}

TEST_CASE(
    "special_tokens_map.json wins where tokenizer_config.json lists no added tokens, else it is not read") {
  const Beside llama("llama2");
  const std::string map = R"({"eos_token": "<unk>", "pad_token": {"content": "<s>", "lstrip": false}})";
  const auto older = llama.with(R"({"eos_token": "</s>"})", map);
  CHECK(older->eos_id() == 0);
  CHECK(older->pad_id() == 1);
  const auto newer = llama.with(R"({"eos_token": "</s>", "added_tokens_decoder": {}})", map);
  CHECK(newer->eos_id() == 2);
  CHECK_FALSE(newer->pad_id());
  CHECK_REFUSED(llama.with("[]"), "not a tokenizer's settings");
}

TEST_CASE("a limit of tokens below one is refused, however far below") {
  const testing::TemporaryDirectory folder;
  const std::string file = read_file(kGoldenFolder + "gpt2/tokenizer.json");
  write_file_atomically(folder / "tokenizer.json", file);
  for (const char* length : {"-1e300", "0", "-5"}) {
    write_file_atomically(folder / "tokenizer_config.json",
                          std::string("{\"model_max_length\": ") + length + "}");
    try {
      Tokenizer::load(folder.path());
      FAIL("loaded");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK(mentions(error.render(), "model_max_length"));
    }
  }
}

TEST_CASE("a decoder strips one character, as the package demands") {
  for (const char* content : {"", "ab"}) {
    const std::string said = refusal("gpt2", [&](Json& file) {
      file["decoder"] = {
          {"type", "Strip"}, {"content", content}, {"start", 9000000000000000000}, {"stop", 0}};
    });
    CHECK(mentions(said, "one character"));
    CHECK(mentions(said, "decoder.content"));
  }
  CHECK(refusal("gpt2", [](Json& file) {
          file["decoder"] = {{"type", "Strip"}, {"content", "\u2581"}, {"start", 1}, {"stop", 0}};
        }).empty());
}

TEST_CASE("an unknown character without a usable unk token is an error of the text") {
  const testing::TemporaryDirectory folder;
  Json file = read_json_file(kGoldenFolder + "split_removed/tokenizer.json");
  file["model"]["unk_token"] = "<nowhere>";
  write_file_atomically(folder / "tokenizer.json", dump_json(file));
  const auto tokenizer = Tokenizer::load(folder.path());
  CHECK_REFUSED(tokenizer->encode("\xF0\x9F\x91\x8D", true),
                "its unk_token '<nowhere>' is not in the vocabulary");
}

TEST_CASE("an added token has a token id, as the package demands") {
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["added_tokens"][0].erase("id"); }), "id"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["added_tokens"][0]["id"] = -1; }),
                 "-1 is not a token id"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["added_tokens"][0]["id"] = int64_t{1} << 40; }),
                 "1099511627776 is not a token id"));
  CHECK(mentions(refusal("gpt2", [](Json& file) { file["added_tokens"][0]["id"] = 1.5; }), "id"));
  CHECK(refusal("gpt2", [](Json&) {}).empty());
}

}  // namespace hftrain::tokenizer
