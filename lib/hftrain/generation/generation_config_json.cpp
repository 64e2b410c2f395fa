#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

#include "hftrain/base/error.h"
#include "hftrain/generation/generation_config.h"

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
  if (std::isfinite(given) && given <= bounds.most &&
      (bounds.open ? given > bounds.least : given >= bounds.least))
    return given;
  const std::string least = Json(bounds.least).dump();
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
    biases.emplace_back(sequence(pair[0], vocabulary), pair[1].get<double>());
  }
  return biases;
}

LengthDecay length_decay(const Json& value) {
  if (!value.is_array() || value.size() != 2) throw Mistake{"it must be a pair of a start and a factor"};
  return {whole(value[0], 0), number(value[1], {.open = true})};
}

struct Key {
  std::string_view name;
  std::function<void(GenerationConfig&, const Json&, int64_t vocabulary)> take;
};

using Config = GenerationConfig;

// Keys whose values are a size, a number, a truth value or tokens, each read into its member.
Key size(std::string_view name, int64_t Config::*member, int64_t least) {
  return {name, [=](Config& c, const Json& v, int64_t) { c.*member = whole(v, least); }};
}
Key share(std::string_view name, double Config::*member, Bounds bounds) {
  return {name, [=](Config& c, const Json& v, int64_t) { c.*member = number(v, bounds); }};
}
Key flag(std::string_view name, bool Config::*member) {
  return {name, [=](Config& c, const Json& v, int64_t) { c.*member = truth(v); }};
}
Key one_token(std::string_view name, std::optional<int64_t> Config::*member) {
  return {name, [=](Config& c, const Json& v, int64_t vocabulary) { c.*member = token(v, vocabulary); }};
}
Key some_tokens(std::string_view name, Ids Config::*member) {
  return {name, [=](Config& c, const Json& v, int64_t vocabulary) { c.*member = tokens(v, vocabulary); }};
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = {
      size("max_length", &Config::max_length, 1),
      {"max_new_tokens", [](Config& c, const Json& v, int64_t) { c.max_new_tokens = whole(v, 1); }},
      size("min_length", &Config::min_length, 0),
      {"min_new_tokens", [](Config& c, const Json& v, int64_t) { c.min_new_tokens = whole(v, 0); }},
      {"stop_strings", [](Config& c, const Json& v, int64_t) { c.stop_strings = texts(v); }},
      flag("do_sample", &Config::do_sample),
      size("num_beams", &Config::num_beams, 1),
      size("num_return_sequences", &Config::num_return_sequences, 1),
      share("length_penalty", &Config::length_penalty, {.least = std::numeric_limits<double>::lowest()}),
      {"early_stopping", [](Config& c, const Json& v, int64_t) { c.early_stopping = early_stopping(v); }},
      share("temperature", &Config::temperature, {.open = true}),
      size("top_k", &Config::top_k, 0),
      share("top_p", &Config::top_p, {.most = 1}),
      {"min_p", [](Config& c, const Json& v, int64_t) { c.min_p = number(v, {.most = 1}); }},
      share("typical_p", &Config::typical_p, {.most = 1, .open = true}),
      share("epsilon_cutoff", &Config::epsilon_cutoff, {.most = 1}),
      share("eta_cutoff", &Config::eta_cutoff, {.most = 1}),
      share("repetition_penalty", &Config::repetition_penalty, {.open = true}),
      share("encoder_repetition_penalty", &Config::encoder_repetition_penalty, {.open = true}),
      size("no_repeat_ngram_size", &Config::no_repeat_ngram_size, 0),
      size("encoder_no_repeat_ngram_size", &Config::encoder_no_repeat_ngram_size, 0),
      {"bad_words_ids", [](Config& c, const Json& v, int64_t n) { c.bad_words_ids = bad_words(v, n); }},
      {"sequence_bias", [](Config& c, const Json& v, int64_t n) { c.sequence_bias = sequence_bias(v, n); }},
      one_token("forced_bos_token_id", &Config::forced_bos_token_id),
      some_tokens("forced_eos_token_id", &Config::forced_eos_token_id),
      some_tokens("suppress_tokens", &Config::suppress_tokens),
      some_tokens("begin_suppress_tokens", &Config::begin_suppress_tokens),
      {"exponential_decay_length_penalty",
       [](Config& c, const Json& v, int64_t) { c.exponential_decay_length_penalty = length_decay(v); }},
      flag("remove_invalid_values", &Config::remove_invalid_values),
      flag("renormalize_logits", &Config::renormalize_logits),
      one_token("bos_token_id", &Config::bos_token_id),
      one_token("pad_token_id", &Config::pad_token_id),
      one_token("decoder_start_token_id", &Config::decoder_start_token_id),
      some_tokens("eos_token_id", &Config::eos_token_id),
  };
  return all;
}

// Ways of decoding that are not here: a text generated without them would be another one.
constexpr std::array<std::string_view, 14> kNotHere = {"penalty_alpha",
                                                       "dola_layers",
                                                       "diversity_penalty",
                                                       "num_beam_groups",
                                                       "constraints",
                                                       "guidance_scale",
                                                       "force_words_ids",
                                                       "prompt_lookup_num_tokens",
                                                       "token_healing",
                                                       "assistant_early_exit",
                                                       "max_time",
                                                       "watermarking_config",
                                                       "top_h",
                                                       "low_memory"};

// What transformers writes for a way of decoding that is off.
bool off(std::string_view key, const Json& value) {
  if (value.is_null() || value == false || value == 0) return true;
  return value == 1 && (key == "num_beam_groups" || key == "guidance_scale");
}

}  // namespace

void take_json(GenerationConfig& config, const Json& json, int64_t vocabulary, const std::string& origin) {
  std::vector<Diagnostic> mistakes;
  const auto refuse = [&](const std::string& what, const std::string& why, const std::string& hint) {
    mistakes.push_back({.what = what, .where = origin, .why = why, .hint = hint});
  };
  for (const Key& key : keys()) {
    const auto found = json.find(key.name);
    if (found == json.end() || found->is_null()) continue;
    const std::string what = std::string(key.name) + " is " + found->dump();
    try {
      key.take(config, *found, vocabulary);
    } catch (const Mistake& mistake) {
      refuse(what, mistake.why, "correct it, or leave it out for the default");
    } catch (const Json::exception& error) {
      refuse(what, error.what(), "correct it, or leave it out for the default");
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
  if (!mistakes.empty()) throw Error(ExitCode::kData, std::move(mistakes));
}

}  // namespace hftrain::generation
