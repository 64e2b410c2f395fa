#include "generate_flags.h"

#include <algorithm>
#include <initializer_list>

#include "command_options.h"
#include "hftrain/base/error.h"
#include "hftrain/generation/settings.h"

namespace hftrain::app {
namespace {

using generation::Setting;

constexpr const char* kMore =
    "Prompts come from --prompt, from the lines of a file, or from those of standard input. Settings of "
    "generation are "
    "taken from the folder's generation_config.json; flags go before it, and `null` stands for the default.";

std::string kind_of(Setting::Kind kind) {
  switch (kind) {
    case Setting::Kind::kWhole:
      return "N";
    case Setting::Kind::kNumber:
      return "X";
    case Setting::Kind::kTruth:
      return "true|false";
    case Setting::Kind::kTokens:
      return "ID";
    case Setting::Kind::kTexts:
      return "TEXT";
    case Setting::Kind::kEarlyStopping:
      return "true|false|never";
    case Setting::Kind::kJson:
      return "JSON";
  }
  return "";
}

void declare_settings(CommandOptions& options, Json& settings) {
  for (const Setting& setting : generation::settings()) {
    const bool several = setting.kind == Setting::Kind::kTokens || setting.kind == Setting::Kind::kTexts;
    const bool alone = setting.kind == Setting::Kind::kTruth || setting.kind == Setting::Kind::kEarlyStopping;
    const std::string name(setting.name);
    options.value("--" + name, kind_of(setting.kind), std::string(setting.help),
                  several ? CommandOptions::Words::kSeveral : CommandOptions::Words::kOne,
                  alone ? "true" : "", [&settings, &setting, name](const std::vector<std::string>& words) {
                    settings[name] = generation::value_from_words(setting, words);
                  });
  }
}

void declare_input(CommandOptions& options, GenerateFlags& flags) {
  options.path("--model_name_or_path", flags.model, "DIR",
               "folder of a model that writes text, or a name in the local hub cache",
               CommandOptions::Need::kRequired);
  options.texts("--prompt", flags.prompts, "TEXT",
                "what to go on from; = before one that begins with a dash");
  options.path("--prompt_file", flags.prompt_file, "FILE", "a prompt per line");
  options.path("--tokenizer_name", flags.tokenizer, "DIR",
               "another tokenizer than that of the model's folder");
  options.text("--model_revision", flags.revision, "NAME", "branch, tag or commit in the hub cache");
  options.path("--cache_dir", flags.cache_dir, "DIR", "the hub cache");
  options.path("--plugin", flags.plugin, "FILE", "a shared library that adds the model's family");
}

void declare_rest(CommandOptions& options, GenerateFlags& flags) {
  // Of bool or std::optional<bool>; the flag alone is true.
  const auto truth = [&](const char* name, auto& value, const char* help) {
    options.value(name, "true|false", help, CommandOptions::Words::kOne, "true",
                  [&value, name](const std::vector<std::string>& words) {
                    const Setting setting{std::string_view(name).substr(2), Setting::Kind::kTruth, ""};
                    value = generation::value_from_words(setting, words) == true;
                  });
  };
  options.number("--batch_size", flags.batch_size, 1, "prompts that are computed at a time");
  options.number("--seed", flags.seed, 0, "of sampling: the same text for the same prompt at the same place");
  options.text("--dtype", flags.dtype, "auto|float32|bfloat16|float16",
               "of weights and computation: auto (as they are stored), float32, bfloat16 or float16");
  options.text("--draft_weights", flags.draft_weights, "auto|int8|none",
               "of the copies of float32 weights that foresee what a single text says next, which the "
               "weights themselves then "
               "confirm: int8, none, or auto (int8 where it saves time and there is room)");
  truth("--bf16", flags.bf16, "the same as --dtype bfloat16");
  truth("--fp16", flags.fp16, "the same as --dtype float16");
  truth("--use_cpu", flags.use_cpu, "although there is a GPU");
  options.flag("--json", flags.json, "one object with prompts, texts and ids on standard output");
  truth("--stream", flags.stream, "texts as they are written; true on a terminal unless set");
  truth("--chat", flags.chat,
        "a conversation by the model's chat template: each prompt is a turn of the user, answered in turn");
  options.text("--system", flags.system, "TEXT", "of a chat: the system's message");
  options.path("--chat_template_path", flags.chat_template, "PATH",
               "of a chat: a template's file, or the folder of a tokenizer with one");
}

[[noreturn]] void refuse(const std::string& what, const std::string& where, const std::string& why,
                         const std::string& hint) {
  throw Error(ExitCode::kUsage, what).where(where).why(why).hint(hint);
}

void check_word(const std::string& flag, const std::string& word, std::initializer_list<const char*> known,
                const std::string& why) {
  if (std::ranges::find(known, word) == known.end())
    refuse(flag + ": '" + word + "' does not fit", "command line", why, flag + " auto");
}

void check(GenerateFlags& flags) {
  if (!flags.prompts.empty() && !flags.prompt_file.empty())
    refuse("--prompt and --prompt_file cannot be given together", "--prompt_file",
           "prompts come from one place: the command line, a file, or standard input",
           "leave one of them out");
  for (const auto& [flag, value] :
       {std::pair("--system", &flags.system), std::pair("--chat_template_path", &flags.chat_template)}) {
    if (!flags.chat && !value->empty())
      refuse(std::string(flag) + " is of a chat", flag, "without --chat prompts are continued as they are",
             "add --chat, or leave it out");
  }
  if (flags.json && flags.stream.value_or(false))
    refuse("--json and --stream cannot be given together", "--stream", "the object holds whole texts",
           "leave one of them out");
  if (flags.bf16 && flags.fp16)
    refuse("--bf16 and --fp16 cannot be given together", "--fp16", "each names a type",
           "leave one of them out");
  const std::string half = flags.bf16 ? "bfloat16" : flags.fp16 ? "float16" : "";
  if (!half.empty() && flags.dtype != "auto" && flags.dtype != half)
    refuse("--dtype " + flags.dtype + " and --" + (flags.bf16 ? "bf16" : "fp16") + " do not agree", "--dtype",
           "each names a type", "leave one of them out");
  if (!half.empty()) flags.dtype = half;
  check_word("--dtype", flags.dtype, {"auto", "float32", "bfloat16", "float16"},
             "it takes auto, float32, bfloat16 or float16");
  check_word("--draft_weights", flags.draft_weights, {"auto", "int8", "none"}, "it takes auto, int8 or none");
}

}  // namespace

std::optional<GenerateFlags> read_generate_flags(const CommandContext& context) {
  GenerateFlags flags;
  CommandOptions options("hftrain generate", "Write text with a trained model", kMore);
  declare_input(options, flags);
  declare_rest(options, flags);
  declare_settings(options, flags.settings);
  if (!options.read(context.arguments, context)) return std::nullopt;
  check(flags);
  return flags;
}

}  // namespace hftrain::app
