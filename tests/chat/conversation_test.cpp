#include "hftrain/chat/conversation.h"

#include <filesystem>
#include <fstream>

#include "chat/chat_cases.h"
#include "hftrain/base/error.h"
#include "hftrain/chat/answers.h"
#include "hftrain/chat/json_input.h"
#include "hftrain/chat/template_folder.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::chat {
namespace {

// A tokenizer whose tokens are the words and signs of a text.
constexpr const char* kTokenizer =
    R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "user": 1, "assistant": 2, ":": 3, "hi": 4, "yes": 5, "é": 6, ".": 7}, "unk_token": "[UNK]"}})";

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::shared_ptr<const tokenizer::Tokenizer> tokenizer_of_words() {
  const testing::TemporaryDirectory folder;
  write_file(folder / "tokenizer.json", kTokenizer);
  return tokenizer::Tokenizer::load(folder / "tokenizer.json");
}

}  // namespace

TEST_CASE("a conversation becomes ids and a mask of what the assistant says") {
  const auto tokenizer = tokenizer_of_words();
  const ChatTemplate marked = ChatTemplate::parse(
      "{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ "
      "eos_token }}"
      "{% endgeneration %} {% else %}{{ m.content }} {% endif %}{% endfor %}{% if add_generation_prompt "
      "%}assistant:{% endif %}",
      "t.jinja");
  const Conversation conversation{
      .messages = value_from_json(
          R"([{"role": "user", "content": "é hi"}, {"role": "assistant", "content": "yes é"}, {"role": "user", "content": "hi"}])",
          "c"),
      .add_generation_prompt = true};
  const Variables specials = {{"eos_token", Value::text(".")}};
  const EncodedConversation made =
      encode_rendered(render_conversation(marked, specials, conversation, time_of_cases()), *tokenizer);
  CHECK(made.text == "user: é hi assistant: yes é. user: hi assistant:");
  CHECK(made.ids == std::vector<tokenizer::TokenId>{1, 3, 6, 4, 2, 3, 5, 6, 7, 1, 3, 4, 2, 3});
  CHECK(made.assistant == std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0});
}

TEST_CASE("white space around an answer that nobody marked is not looked for among tokens") {
  const auto tokenizer = tokenizer_of_words();
  const ChatTemplate unmarked = ChatTemplate::parse(
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt "
      "%}assistant:{% endif %}",
      "t.jinja");
  const Conversation conversation{
      .messages = value_from_json(
          R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes é"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "é"}])",
          "c")};
  Rendered rendered = render_conversation(unmarked, {}, conversation, time_of_cases());
  rendered.generated = answers_in(rendered.text, unmarked, {}, conversation, time_of_cases());
  rendered.found_by_opening = true;
  const EncodedConversation made = encode_rendered(std::move(rendered), *tokenizer);
  CHECK(made.ids == std::vector<tokenizer::TokenId>{1, 3, 4, 2, 3, 5, 6, 1, 3, 4, 2, 3, 6});
  CHECK(made.assistant == std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("a conversation without messages is refused, and further names win over special tokens") {
  const ChatTemplate plain =
      ChatTemplate::parse("{{ bos_token }}{{ messages | length }}{{ tools is none }}", "t.jinja");
  Conversation conversation{.messages = Value::list({})};
  CHECK_REFUSED(render_conversation(plain, {}, conversation, time_of_cases()),
                "a conversation has no messages");
  conversation.messages = value_from_json("[{}]", "c");
  conversation.more = {{"bos_token", Value::text("B")}};
  CHECK(render_conversation(plain, {{"bos_token", Value::text("A")}}, conversation, time_of_cases()).text ==
        "B1True");
}

TEST_CASE("the template of a folder is found where transformers finds it") {
  const testing::TemporaryDirectory folder;
  CHECK_REFUSED(choose_template(read_template_folder(folder.path()), std::nullopt, false),
                "neither chat_template.jinja nor chat_template");
  write_file(folder / "chat_template.json", R"({"chat_template": "processor"})");
  CHECK(choose_template(read_template_folder(folder.path()), std::nullopt, true).text == "processor");
  write_file(folder / "tokenizer_config.json",
             R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null,
                 "chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  write_file(folder / "special_tokens_map.json", R"({"eos_token": "other", "unk_token": "<unk>"})");
  const TemplateFolder named = read_template_folder(folder.path());
  CHECK(choose_template(named, std::nullopt, false).text == "d");
  CHECK(choose_template(named, std::nullopt, true).text == "t");
  CHECK(choose_template(named, "tool_use", false).origin.find("(chat_template tool_use)") !=
        std::string::npos);
  CHECK_REFUSED(choose_template(named, "rag", false), "the tokenizer has no chat template 'rag'");
  REQUIRE(named.special_tokens.size() == 3);
  CHECK(named.special_tokens[1].second.as_text()->bytes == "other");
  write_file(folder / "chat_template.jinja", "file");
  std::filesystem::create_directory(folder / "additional_chat_templates");
  write_file(folder / "additional_chat_templates/rag.jinja", "rag");
  const TemplateFolder files = read_template_folder(folder.path());
  CHECK(choose_template(files, std::nullopt, true).text == "file");
  CHECK(choose_template(files, "rag", false).text == "rag");
}

TEST_CASE("a template sees every token that the folder's files name, as in transformers") {
  // tokenizer_config.json, special_tokens_map.json (empty: none), and what special_tokens_map of transformers 5.17 has of them.
  const char* const kFolders[][3] = {
      {R"({"image_token": "<i>", "eos_token": "</s>"})", "", "eos_token=</s> image_token=<i> "},
      {R"({"image_token": {"__type": "AddedToken", "content": "<i>"}})", "", "image_token=<i> "},
      {R"({"image_token": {"content": "<i>"}, "add_bos_token": true, "a_token": null})", "", ""},
      {R"({"image_token": "<s>", "extra_special_tokens": {"image_token": "<i>", "video": "<v>"}})", "",
       "image_token=<i> video=<v> "},
      {R"({"additional_special_tokens": {"image_token": "<i>"}})", "", "image_token=<i> "},
      {R"({"extra_special_tokens": ["<i>"], "additional_special_tokens": {"image_token": "<i>"}})", "", ""},
      {R"({"model_specific_special_tokens": {"image_token": "<i>"}})", "", "image_token=<i> "},
      {R"({"model_specific_special_tokens": {"image_token": "<i>"}, "video_token": "<v>"})", "",
       "video_token=<v> "},
      {R"({"image_token": "<s>"})", R"({"image_token": "<i>"})", "image_token=<s> "},
      {R"({})", R"({"image_token": {"content": "<i>"}})", "image_token=<i> "},
      {R"({"image_token": "<s>"})", R"({"extra_special_tokens": {"image_token": "<i>"}})",
       "image_token=<i> "},
      {R"({"added_tokens_decoder": {}})", R"({"image_token": "<i>"})", ""},
      {R"({"eos_token": "</s>", "extra_special_tokens": {"eos_token": "<e>"}})", "", "eos_token=<e> "}};
  for (const auto& [config, map, expected] : kFolders) {
    INFO(config << ' ' << map);
    const testing::TemporaryDirectory folder;
    write_file(folder / "tokenizer_config.json", config);
    if (*map != '\0') write_file(folder / "special_tokens_map.json", map);
    std::string told;
    for (const auto& [name, token] : read_template_folder(folder.path()).special_tokens)
      told += name + '=' + token.as_text()->bytes + ' ';
    CHECK(told == expected);
  }
}

TEST_CASE("a link in a circle in a tokenizer's folder is a file that cannot be read, whatever its name") {
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "chat_template.json", "chat_template.jinja",
        "additional_chat_templates", "additional_chat_templates/a.jinja"}) {
    const testing::TemporaryDirectory folder;
    const std::filesystem::path link = folder / name;
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(link.filename(), link);
    INFO(name);
    try {
      read_template_folder(folder.path());
      FAIL("it was read");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK_THAT(error.render(), Catch::Contains("cannot open") && Catch::Contains(link.string()));
    }
  }
}

TEST_CASE("settings of another shape are refused") {
  const testing::TemporaryDirectory folder;
  write_file(folder / "tokenizer_config.json", R"({"chat_template": [1]})");
  CHECK_REFUSED(read_template_folder(folder.path()), "chat_template cannot be read");
  write_file(folder / "tokenizer_config.json", R"({"chat_template": {"default": 1}})");
  CHECK_REFUSED(read_template_folder(folder.path()), "chat_template cannot be read");
  write_file(folder / "tokenizer_config.json", R"({"chat_template": {"default": "d", "tool_use": "t"}})");
  CHECK(choose_template(read_template_folder(folder.path()), std::nullopt, true).text == "t");
  CHECK(choose_template(read_template_folder(folder.path()), std::nullopt, false).text == "d");
  write_file(folder / "tokenizer_config.json", "[]");
  CHECK_REFUSED(read_template_folder(folder.path()), "not a tokenizer's settings");
}

}  // namespace hftrain::chat
