#include "hftrain/generation/text_protocol.h"

namespace hftrain::generation {

// Texts of users may hold bytes that are no UTF-8, which JSON cannot.
std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string drafts_unasked(int64_t weight_bytes, int64_t available_bytes) {
  constexpr int64_t kWorthDrafting = int64_t{64} << 20;  // bytes: beyond what caches hold
  return weight_bytes >= kWorthDrafting && available_bytes >= weight_bytes / 2 * 3 ? "auto" : "none";
}

std::string encode_setup(const TextSetup& setup) {
  return line_of({{"folder", setup.folder},
                  {"adapter", setup.adapter},
                  {"tokenizer", setup.tokenizer},
                  {"config", setup.config},
                  {"head", setup.head},
                  {"dtype", setup.dtype},
                  {"tied_dtype", setup.tied_dtype},
                  {"threads", setup.threads},
                  {"cuda_ordinal", setup.cuda_ordinal},
                  {"drafts", setup.drafts},
                  {"plugin", {setup.plugin.name, setup.plugin.path, setup.plugin.hash}}});
}

TextSetup decode_setup(const Json& line) {
  TextSetup setup;
  setup.folder = line.at("folder").get<std::string>();
  setup.adapter = line.at("adapter").get<std::string>();
  setup.tokenizer = line.at("tokenizer").get<std::string>();
  setup.config = line.at("config");
  setup.head = line.at("head").get<std::string>();
  setup.dtype = line.at("dtype").get<std::string>();
  setup.tied_dtype = line.at("tied_dtype").get<std::string>();
  setup.threads = line.at("threads").get<int>();
  setup.cuda_ordinal = line.at("cuda_ordinal").get<int>();
  setup.drafts = line.at("drafts").get<std::string>();
  const Json& plugin = line.at("plugin");
  setup.plugin = {plugin.at(0).get<std::string>(), plugin.at(1).get<std::string>(),
                  plugin.at(2).get<std::string>()};
  return setup;
}

std::string encode_request(const TextRequest& request) {
  Json prompts = Json::array();
  for (const Prompt& prompt : request.prompts) {
    prompts.push_back({{"ids", prompt.ids}, {"encoder_ids", prompt.encoder_ids}, {"number", prompt.number}});
  }
  return line_of({{"prompts", prompts},
                  {"settings", request.settings},
                  {"seed", request.seed},
                  {"tells_tokens", request.tells_tokens}});
}

TextRequest decode_request(const Json& line) {
  TextRequest request;
  for (const Json& prompt : line.at("prompts")) {
    request.prompts.push_back({prompt.at("ids").get<Ids>(), prompt.at("encoder_ids").get<Ids>(),
                               prompt.at("number").get<uint64_t>()});
  }
  request.settings = line.at("settings");
  request.seed = line.at("seed").get<uint64_t>();
  request.tells_tokens = line.at("tells_tokens").get<bool>();
  return request;
}

Json texts_json(const Texts& texts) {
  Json all = Json::array();
  for (const std::vector<GeneratedText>& of_prompt : texts) {
    Json some = Json::array();
    for (const GeneratedText& text : of_prompt) some.push_back({{"ids", text.ids}, {"score", text.score}});
    all.push_back(std::move(some));
  }
  return all;
}

Texts texts_from_json(const Json& json) {
  Texts texts;
  for (const Json& of_prompt : json) {
    std::vector<GeneratedText>& some = texts.emplace_back();
    for (const Json& text : of_prompt)
      some.push_back({text.at("ids").get<Ids>(), text.at("score").get<double>()});
  }
  return texts;
}

Json error_json(const Error& error) {
  Json problems = Json::array();
  for (const Diagnostic& each : error.diagnostics()) {
    problems.push_back({{"what", each.what}, {"where", each.where}, {"why", each.why}, {"hint", each.hint}});
  }
  return {{"exit_code", static_cast<int>(error.code())}, {"problems", problems}};
}

Error error_from_json(const Json& json) {
  std::vector<Diagnostic> problems;
  for (const Json& each : json.at("problems")) {
    problems.push_back({.what = each.at("what").get<std::string>(),
                        .where = each.at("where").get<std::string>(),
                        .why = each.at("why").get<std::string>(),
                        .hint = each.at("hint").get<std::string>()});
  }
  if (problems.empty()) problems.push_back({.what = "the worker ended without a word"});
  return {static_cast<ExitCode>(json.at("exit_code").get<int>()), std::move(problems)};
}

}  // namespace hftrain::generation
