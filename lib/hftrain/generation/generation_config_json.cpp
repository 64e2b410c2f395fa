#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/base/json_words.h"
#include "hftrain/generation/generation_config.h"
#include "hftrain/generation/settings.h"

namespace hftrain::generation {
namespace {

// What a value may be; a reader throws Mistake or Json::exception for what it may not.
struct Mistake {
  std::string why;
};

int64_t whole(const Json& value, int64_t least) {
  const auto number = value.get<int64_t>();
  if (number < least) throw Mistake{"it must be " + std::to_string(least) + " or more"};
  return number;
}

struct Bounds {
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool open = false;  // the least itself is out
};

double number(const Json& value, const Bounds& bounds) {
  if (!value.is_number()) throw Mistake{"it must be a number"};
  const auto given = value.get<double>();
  const auto acts = static_cast<float>(given);  // as scores are
  if (std::isfinite(given) && given <= bounds.most &&
      (bounds.open ? acts > bounds.least : given >= bounds.least))
    return given;
  if (!std::isfinite(given)) throw Mistake{"it must be a finite number"};
  const std::string least = Json(bounds.least).dump();
  if (bounds.open && given > bounds.least && acts <= bounds.least)
    throw Mistake{"it must be above " + least + " in float32, in which scores are"};
  std::string range = bounds.open ? "above " + least : least + " or more";
  if (std::isfinite(bounds.most)) range += " and at most " + Json(bounds.most).dump();
  throw Mistake{"it must be " + range};
}

bool truth(const Json& value) {
  if (!value.is_boolean()) throw Mistake{"it must be true or false"};
  return value.get<bool>();
}

int64_t token(const Json& value, int64_t vocabulary) {
  const auto id = value.get<int64_t>();
  if (id < 0 || id >= vocabulary)
    throw Mistake{std::to_string(id) + " is no token of a vocabulary of " + std::to_string(vocabulary)};
  return id;
}

Ids tokens(const Json& value, int64_t vocabulary) {
  Ids ids;
  for (const Json& item : value.is_array() ? value : Json::array({value}))
    ids.push_back(token(item, vocabulary));
  return ids;
}

Ids sequence(const Json& value, int64_t vocabulary) {
  if (!value.is_array() || value.empty()) throw Mistake{"it must hold lists of token ids that are not empty"};
  return tokens(value, vocabulary);
}

EarlyStopping early_stopping(const Json& value) {
  if (value == "never") return EarlyStopping::kNever;
  if (!value.is_boolean()) throw Mistake{"it must be true, false or \"never\""};
  return value.get<bool>() ? EarlyStopping::kWhenFull : EarlyStopping::kHeuristic;
}

std::vector<std::string> texts(const Json& value) {
  auto given =
      value.is_array() ? value.get<std::vector<std::string>>() : std::vector{value.get<std::string>()};
  for (const std::string& text : given) {
    if (text.empty()) throw Mistake{"a text that ends generation must not be empty"};
  }
  return given;
}

std::vector<Ids> bad_words(const Json& value, int64_t vocabulary) {
  if (!value.is_array()) throw Mistake{"it must be a list of lists of token ids"};
  std::vector<Ids> words;
  for (const Json& word : value) words.push_back(sequence(word, vocabulary));
  return words;
}

std::vector<std::pair<Ids, double>> sequence_bias(const Json& value, int64_t vocabulary) {
  std::vector<std::pair<Ids, double>> biases;
  if (!value.is_array()) throw Mistake{"it must be a list of pairs of a list of token ids and a number"};
  for (const Json& pair : value) {
    if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number())
      throw Mistake{"it must be a list of pairs of a list of token ids and a number"};
    const Ids ids = sequence(pair[0], vocabulary);
    const auto same = [&](const auto& other) { return other.first == ids; };
    std::erase_if(biases, same);  // the last one counts
    biases.emplace_back(ids, pair[1].get<double>());
  }
  return biases;
}

LengthDecay length_decay(const Json& value) {
  if (!value.is_array() || value.size() != 2) throw Mistake{"it must be a pair of a start and a factor"};
  return {whole(value[0], 0), number(value[1], {.open = true})};
}

struct Key {
  Setting setting;
  std::function<void(GenerationConfig&, const Json&, int64_t vocabulary)> take;
};

using Config = GenerationConfig;
using Kind = Setting::Kind;

// Far from where counts of tokens and texts are added up.
int64_t count(const Json& value, int64_t least) {
  const int64_t number = whole(value, least);
  if (number > int64_t{1} << 31) throw Mistake{"it is too large"};
  return number;
}

// Keys whose values are a size, a number, a truth value or tokens, each read into its member.
Key size(std::string_view name, int64_t Config::*member, int64_t least, std::string_view help) {
  return {{name, Kind::kWhole, help},
          [=](Config& c, const Json& v, int64_t) { c.*member = count(v, least); }};
}
Key length(std::string_view name, std::optional<int64_t> Config::*member, int64_t least,
           std::string_view help) {
  return {{name, Kind::kWhole, help},
          [=](Config& c, const Json& v, int64_t) { c.*member = count(v, least); }};
}
Key share(std::string_view name, double Config::*member, Bounds bounds, std::string_view help) {
  return {{name, Kind::kNumber, help},
          [=](Config& c, const Json& v, int64_t) { c.*member = number(v, bounds); }};
}
Key flag(std::string_view name, bool Config::*member, std::string_view help) {
  return {{name, Kind::kTruth, help}, [=](Config& c, const Json& v, int64_t) { c.*member = truth(v); }};
}
Key one_token(std::string_view name, std::optional<int64_t> Config::*member, std::string_view help) {
  return {{name, Kind::kWhole, help},
          [=](Config& c, const Json& v, int64_t vocabulary) { c.*member = token(v, vocabulary); }};
}
Key some_tokens(std::string_view name, Ids Config::*member, std::string_view help) {
  return {{name, Kind::kTokens, help},
          [=](Config& c, const Json& v, int64_t vocabulary) { c.*member = tokens(v, vocabulary); }};
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = {
      length("max_new_tokens", &Config::max_new_tokens, 1,
             "most tokens of a text; 20 unless this or max_length is set"),
      length("max_length", &Config::max_length, 1,
             "most tokens of a text with its prompt (of an encoder-decoder: with what the decoder begins "
             "with)"),
      length("min_new_tokens", &Config::min_new_tokens, 0, "no end before so many tokens"),
      size("min_length", &Config::min_length, 0, "no end before so many tokens, those of the prompt counted"),
      {{"stop_strings", Kind::kTexts, "texts at which generation ends; they are part of the result"},
       [](Config& c, const Json& v, int64_t) { c.stop_strings = texts(v); }},
      flag("do_sample", &Config::do_sample, "draw tokens by their probabilities instead of taking the best"),
      share("temperature", &Config::temperature, {.open = true},
            "of sampling: scores are divided by it; below 1 likely tokens become likelier"),
      size("top_k", &Config::top_k, 0, "of sampling: from so many best tokens; 0: from all"),
      share("top_p", &Config::top_p, {.most = 1},
            "of sampling: from the best tokens whose probabilities sum to it"),
      {{"min_p", Kind::kNumber,
        "of sampling: from tokens at least so likely, as a share of the likeliest one's probability"},
       [](Config& c, const Json& v, int64_t) { c.min_p = number(v, {.most = 1}); }},
      share("typical_p", &Config::typical_p, {.most = 1, .open = true},
            "of sampling: from the tokens nearest to the expected surprise whose probabilities sum to it"),
      share("epsilon_cutoff", &Config::epsilon_cutoff, {.most = 1},
            "of sampling: from tokens at least so likely; 0: off"),
      share("eta_cutoff", &Config::eta_cutoff, {.most = 1},
            "of sampling: the same, less where probabilities are spread; 0: off"),
      size("num_beams", &Config::num_beams, 1, "texts that are followed at a time; 1: no beams"),
      size("num_return_sequences", &Config::num_return_sequences, 1,
           "texts for each prompt, of beams the best ones"),
      share("length_penalty", &Config::length_penalty, {.least = std::numeric_limits<double>::lowest()},
            "of beams: scores are divided by length^this; above 0 longer texts win"),
      {{"early_stopping", Kind::kEarlyStopping,
        "of beams: true ends as soon as there are enough texts, never only when none can become better"},
       [](Config& c, const Json& v, int64_t) { c.early_stopping = early_stopping(v); }},
      share("repetition_penalty", &Config::repetition_penalty, {.open = true},
            "above 1: tokens that were there become less likely"),
      share("encoder_repetition_penalty", &Config::encoder_repetition_penalty, {.open = true},
            "above 1: tokens of the input become likelier"),
      size("no_repeat_ngram_size", &Config::no_repeat_ngram_size, 0,
           "no sequence of so many tokens twice; 0: off"),
      size("encoder_no_repeat_ngram_size", &Config::encoder_no_repeat_ngram_size, 0,
           "no sequence of so many tokens of the input; 0: off"),
      {{"bad_words_ids", Kind::kJson, "sequences that must not come: '[[5, 7], [9]]'"},
       [](Config& c, const Json& v, int64_t n) { c.bad_words_ids = bad_words(v, n); }},
      {{"sequence_bias", Kind::kJson, "added to the score of sequences: '[[[5, 7], -2.5]]'"},
       [](Config& c, const Json& v, int64_t n) { c.sequence_bias = sequence_bias(v, n); }},
      one_token("forced_bos_token_id", &Config::forced_bos_token_id, "the first token of every text"),
      some_tokens("forced_eos_token_id", &Config::forced_eos_token_id,
                  "the last token where a text reaches its length"),
      some_tokens("suppress_tokens", &Config::suppress_tokens, "tokens that must not come"),
      some_tokens("begin_suppress_tokens", &Config::begin_suppress_tokens, "tokens that must not come first"),
      {{"exponential_decay_length_penalty", Kind::kJson,
        "'[start, factor]': from so many tokens on the end becomes likelier"},
       [](Config& c, const Json& v, int64_t) { c.exponential_decay_length_penalty = length_decay(v); }},
      flag("remove_invalid_values", &Config::remove_invalid_values,
           "scores that are no numbers count as 0 instead of ending generation"),
      flag("renormalize_logits", &Config::renormalize_logits,
           "probabilities sum to 1 again after all that changes them"),
      length(
          "prompt_lookup_num_tokens", &Config::prompt_lookup_num_tokens, 0,
          "most tokens that are guessed ahead from what the text said before, to read them in one step; 0: "
          "none"),
      size("max_matching_ngram_size", &Config::max_matching_ngram_size, 0,
           "of what is guessed: the last so many tokens are looked for, then fewer down to two; 0: three"),
      some_tokens("eos_token_id", &Config::eos_token_id, "tokens that end a text"),
      one_token("pad_token_id", &Config::pad_token_id, "the token that fills up a batch"),
      one_token("bos_token_id", &Config::bos_token_id, "the token that an empty prompt stands for"),
      one_token("decoder_start_token_id", &Config::decoder_start_token_id,
                "what the decoder of an encoder-decoder begins with"),
  };
  return all;
}

// Ways of decoding that are not here: a text generated without them would be another one.
constexpr std::array<std::string_view, 13> kNotHere = {
    "penalty_alpha",       "dola_layers",     "diversity_penalty", "num_beam_groups",      "constraints",
    "guidance_scale",      "force_words_ids", "token_healing",     "assistant_early_exit", "max_time",
    "watermarking_config", "top_h",           "low_memory"};

// They do nothing where the best token is taken: many a file says temperature 0 beside do_sample false.
constexpr std::array<std::string_view, 7> kOfSampling = {
    "temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"};

// What transformers writes for a way of decoding that is off.
bool off(std::string_view key, const Json& value) {
  if (value.is_null() || value == false || value == 0) return true;
  return value == 1 && (key == "num_beam_groups" || key == "guidance_scale");
}

// Of a position where a token is forced and may not come.
bool all_suppressed(const Ids& forced, const Ids& suppressed) {
  const auto is_suppressed = [&](int64_t id) {
    return std::ranges::find(suppressed, id) != suppressed.end();
  };
  return !forced.empty() && std::ranges::all_of(forced, is_suppressed);
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> each;
    for (const Key& key : keys()) each.push_back(key.setting);
    return each;
  }();
  return all;
}

// JSON has no word for what is no number, and writes null.
std::string shown(const Json& value) {
  const bool infinite = value.is_number_float() && !std::isfinite(value.get<double>());
  return infinite ? std::to_string(value.get<double>()) : value.dump();
}

std::span<const std::string_view> settings_not_here() {
  return kNotHere;
}

void take_json(GenerationConfig& config, const Json& json, int64_t vocabulary, const std::string& origin,
               ExitCode code) {
  std::vector<Diagnostic> mistakes;
  const auto refuse = [&](const std::string& what, const std::string& why, const std::string& hint) {
    mistakes.push_back({.what = what, .where = origin, .why = why, .hint = hint});
  };
  const bool samples = json.value("do_sample", Json()) == true;
  for (const Key& key : keys()) {
    const auto found = json.find(key.setting.name);
    if (found == json.end() || found->is_null()) continue;
    const std::string what = std::string(key.setting.name) + " is " + shown(*found);
    try {
      key.take(config, *found, vocabulary);
    } catch (const Mistake& mistake) {
      if (!samples && found->is_number() && std::ranges::count(kOfSampling, key.setting.name) > 0) continue;
      refuse(what, mistake.why, "correct it, or leave it out for the default");
    } catch (const Json::exception& error) {
      refuse(what, words_of(error), "correct it, or leave it out for the default");
    }
  }
  for (const std::string_view key : kNotHere) {
    const auto found = json.find(key);
    if (found == json.end() || off(key, *found)) continue;
    refuse(std::string(key) + " asks for a way of generating that is not supported", "it is " + found->dump(),
           "leave it out: greedy search, beams and sampling are here");
  }
  if (config.num_return_sequences > config.num_beams && (config.num_beams > 1 || !config.do_sample))
    refuse(
        "num_return_sequences is " + std::to_string(config.num_return_sequences),
        "a search with beams or without sampling finds num_beams texts: " + std::to_string(config.num_beams),
        "more num_beams, or do_sample without beams");
  const auto check_forced = [&](const std::string& name, const Ids& forced) {
    if (all_suppressed(forced, config.suppress_tokens))
      refuse(name + " is " + Json(forced).dump(), "no token of it may come: suppress_tokens has them all",
             "take one of them out of suppress_tokens, or leave " + name + " out");
  };
  if (config.forced_bos_token_id) check_forced("forced_bos_token_id", {*config.forced_bos_token_id});
  check_forced("forced_eos_token_id", config.forced_eos_token_id);
  if (!mistakes.empty()) throw Error(code, std::move(mistakes));
}

}  // namespace hftrain::generation
