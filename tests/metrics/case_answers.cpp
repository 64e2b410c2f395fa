#include "metrics/case_answers.h"

#include <cmath>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/metrics/answer_candidates.h"
#include "hftrain/metrics/bleu.h"
#include "hftrain/metrics/class_counts.h"
#include "hftrain/metrics/correlation.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/metrics/porter_stemmer.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/metrics/rouge.h"
#include "hftrain/metrics/seqeval.h"
#include "metrics/in_parts.h"

namespace hftrain::metrics {
namespace {

using Texts = std::vector<std::string>;

Average average_of(const std::string& name) {
  if (name == "binary") return Average::kBinary;
  if (name == "micro") return Average::kMicro;
  return name == "macro" ? Average::kMacro : Average::kWeighted;
}

Json with_key(const MetricResults& results) {
  Json object = Json::object();
  for (const auto& [key, value] : results) object[key] = value;
  return object;
}

BleuOptions bleu_options(const Json& in) {
  BleuOptions options;
  options.tokenizer = bleu_tokenizer(in.value("tokenize", "13a"));
  options.lowercase = in.value("lowercase", false);
  options.smoothing = bleu_smoothing(in.value("smooth_method", "exp"));
  if (in.contains("smooth_value")) options.smooth_value = in.at("smooth_value").get<double>();
  options.max_order = in.value("max_ngram_order", 4);
  options.effective_order = in.value("effective_order", false);
  return options;
}

Json bleu_json(const BleuScore& score) {
  return {{"score", score.score},    {"counts", score.counts},         {"totals", score.totals},
          {"bp", score.bp},          {"precisions", score.precisions}, {"sys_len", score.sys_len},
          {"ref_len", score.ref_len}};
}

Json entity_json(const EntityScores& scores) {
  return {{"precision", scores.precision},
          {"recall", scores.recall},
          {"f1", scores.f1},
          {"number", scores.number}};
}

std::vector<Texts> one_each(const Texts& references) {
  std::vector<Texts> sets;
  for (const std::string& reference : references) sets.push_back({reference});
  return sets;
}

}  // namespace

Json answer_classes(const Json& in) {
  const auto predictions = in.at("predictions").get<std::vector<int64_t>>();
  const auto references = in.at("references").get<std::vector<int64_t>>();
  const ClassBatch batch{predictions, references};
  MetricOptions options;
  options.scores = {average_of(in.at("average")), in.at("positive").get<int64_t>(),
                    in.at("zero_division").get<double>()};
  Json out = Json::object();
  try {
    for (const char* name : {"accuracy", "matthews_correlation", "precision", "recall", "f1"}) {
      out[name] = in_parts(name, options, batch).at(0).second;
    }
  } catch (const Error&) {
    out["refused"] = true;
  }
  ClassCounts counts;
  counts.add(predictions, references);
  for (const ClassScores& scores : counts.scores_by_class(options.scores.zero_division)) {
    out["by_class"].push_back({scores.precision, scores.recall, scores.f1});
  }
  return out;
}

Json answer_numbers(const Json& in) {
  const auto predictions = in.at("predictions").get<std::vector<double>>();
  const auto references = in.at("references").get<std::vector<double>>();
  const ScoreBatch batch{predictions, references};
  Json out{{"pearsonr", in_parts("pearsonr", {}, batch).at(0).second},
           {"spearmanr", in_parts("spearmanr", {}, batch).at(0).second}};
  const double error = in_parts("mse", {}, batch).at(0).second;
  if (!std::isnan(error)) out["mse"] = error;
  return out;
}

Json answer_tags(const Json& in) {
  const auto predictions = in.at("predictions").get<std::vector<Texts>>();
  const auto references = in.at("references").get<std::vector<Texts>>();
  const TagScheme scheme =
      in.at("scheme").is_null() ? TagScheme::kLenient : tag_scheme(in.at("scheme").get<std::string>());
  SeqevalCounts counts;
  for (size_t i = 0; i < references.size(); ++i) {
    counts.add(static_cast<int64_t>(i), predictions[i], references[i], scheme, in.at("suffix").get<bool>());
  }
  counts.close();
  Json out{{"overall", entity_json(entity_scores(counts.overall()))}, {"accuracy", counts.accuracy()}};
  for (const auto& [type, entities] : counts.types) out[type] = entity_json(entity_scores(entities));
  return out;
}

Json answer_scheme(const Json& in) {
  constexpr const char* kNames[] = {"", "IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"};
  try {
    return kNames[static_cast<int>(detect_scheme(in.at("sequences").get<std::vector<Texts>>()))];
  } catch (const Error&) {
    return "refused";
  }
}

Json answer_stems(const Json& in) {
  Json stems = Json::array();
  for (const auto& word : in.at("words").get<Texts>()) stems.push_back(porter_stem(word));
  return stems;
}

Json answer_rouge(const Json& in) {
  constexpr const char* kNames[] = {"rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"};
  std::vector<RougeKind> kinds;
  for (const char* name : kNames) kinds.push_back(rouge_kind(name));
  const auto scores = rouge(in.at("prediction").get<std::string>(), in.at("references").get<Texts>(), kinds,
                            in.at("use_stemmer").get<bool>());
  Json out = Json::object();
  for (size_t i = 0; i < kinds.size(); ++i) {
    out[kNames[i]] = {scores[i].precision, scores[i].recall, scores[i].f1};
  }
  return out;
}

Json answer_rouge_set(const Json& in) {
  const auto predictions = in.at("predictions").get<Texts>();
  const auto references = one_each(in.at("references").get<Texts>());
  const TextBatch batch{predictions, references, {}, {}};
  MetricOptions options;
  Json out{{"mean", with_key(in_parts("rouge", options, batch))}};
  options.resampling_seed = in.at("seed").get<uint32_t>();
  out["resampled"] = with_key(in_parts("rouge", options, batch));
  return out;
}

Json answer_bleu(const Json& in) {
  const BleuOptions options = bleu_options(in.at("options"));
  const auto predictions = in.at("predictions").get<Texts>();
  const auto references = in.at("references").get<std::vector<Texts>>();
  BleuCounts counts(options.max_order);
  for (size_t i = 0; i < predictions.size(); ++i) {
    counts += bleu_counts(predictions[i], references[i], options);
  }
  const BleuScore first = bleu_score(bleu_counts(predictions[0], references[0], options), options);
  return {{"corpus", bleu_json(bleu_score(counts, options))}, {"first", bleu_json(first)}};
}

Json answer_bleu_words(const Json& in) {
  Json out = Json::object();
  for (const char* name : {"13a", "intl", "char", "none"}) {
    for (const auto& text : in.at("texts").get<Texts>()) {
      out[name].push_back(bleu_words(text, bleu_tokenizer(name)));
    }
  }
  return out;
}

Json answer_python(const Json& in) {
  Json out{{"lower", Json::array()}, {"split", Json::array()}, {"rstrip", Json::array()}};
  for (const auto& text : in.at("texts").get<Texts>()) {
    out["lower"].push_back(python_lower(text));
    out["split"].push_back(python_split(text));
    out["rstrip"].push_back(python_rstrip(text));
  }
  return out;
}

Json answer_rounded(const Json& in) {
  Json out{{"python", Json::array()}, {"numpy", Json::array()}};
  for (const double value : in.at("values").get<std::vector<double>>()) {
    out["python"].push_back(python_round(value, 4));
    out["numpy"].push_back(python_round(value, 4, true));
  }
  return out;
}

Json answer_metric(const Json& in) {
  const auto name = in.at("name").get<std::string>();
  if (find_metric(name).input == MetricInput::kScores) {
    const auto predictions = in.at("predictions").get<std::vector<double>>();
    const auto references = in.at("references").get<std::vector<double>>();
    return with_key(in_parts(name, {}, ScoreBatch{predictions, references}));
  }
  const auto predictions = in.at("predictions").get<std::vector<int64_t>>();
  const auto references = in.at("references").get<std::vector<int64_t>>();
  return with_key(in_parts(name, {}, ClassBatch{predictions, references}));
}

Json answer_exact_match(const Json& in) {
  const auto predictions = in.at("predictions").get<Texts>();
  const auto references = one_each(in.at("references").get<Texts>());
  MetricOptions options;
  options.ignore_case = in.at("options").value("ignore_case", false);
  options.ignore_punctuation = in.at("options").value("ignore_punctuation", false);
  options.ignore_numbers = in.at("options").value("ignore_numbers", false);
  return with_key(in_parts("exact_match", options, TextBatch{predictions, references, {}, {}}));
}

Json answer_perplexity(const Json& in) {
  Json out = Json::array();
  for (const double loss : in.at("losses").get<std::vector<double>>()) out.push_back(perplexity(loss));
  return out;
}

Json answer_questions(const Json& in) {
  const auto predictions = in.at("predictions").get<Texts>();
  const auto silence = in.at("no_answer").get<std::vector<double>>();
  const auto answers = in.at("answers").get<std::vector<Texts>>();
  MetricOptions options;
  options.no_answer_threshold = in.at("threshold").get<double>();
  return with_key(
      in_parts(in.at("name").get<std::string>(), options, AnswerBatch{predictions, silence, answers, {}}));
}

Json answer_answer(const Json& in) {
  std::vector<std::vector<float>> logits;
  std::vector<std::vector<ContextSpan>> spans;
  for (const Json& feature : in.at("features")) {
    logits.push_back(feature.at("start_logits").get<std::vector<float>>());
    logits.push_back(feature.at("end_logits").get<std::vector<float>>());
    spans.emplace_back();
    for (const Json& span : feature.at("spans")) {
      spans.back().push_back({span.at(0).get<int64_t>(), span.at(1).get<int64_t>()});
    }
  }
  std::vector<AnswerFeature> features;
  for (size_t i = 0; i < spans.size(); ++i) features.push_back({logits[2 * i], logits[2 * i + 1], spans[i]});
  const Json& given = in.at("rules");
  const AnswerRules rules{given.at("n_best_size").get<int>(), given.at("max_answer_length").get<int>(),
                          given.at("version_2_with_negative").get<bool>(),
                          given.at("null_score_diff_threshold").get<double>()};
  const AnswerPrediction prediction = predict_answer(in.at("context").get<std::string>(), features, rules);
  Json out{{"text", prediction.text}, {"n_best", Json::array()}};
  for (const AnswerCandidate& candidate : prediction.n_best) {
    out["n_best"].push_back({{"text", candidate.text},
                             {"start_logit", candidate.start_logit},
                             {"end_logit", candidate.end_logit},
                             {"probability", candidate.probability}});
  }
  if (prediction.null_odds) out["null_odds"] = *prediction.null_odds;
  return out;
}

}  // namespace hftrain::metrics
