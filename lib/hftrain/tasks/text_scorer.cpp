#include "hftrain/tasks/text_scorer.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/metrics/metric_table.h"
#include "hftrain/metrics/python_text.h"
#include "hftrain/metrics/sentences.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tasks {
namespace {

constexpr int64_t kNoToken = -100;
constexpr const char* kRouge = "rouge";
constexpr const char* kBleu = "sacrebleu";

using tokenizer::TokenId;
using Tokens = std::vector<TokenId>;

// Spaces that tokenizing English by words puts in (clean_up_tokenization of transformers).
std::string without_spaces_of_tokens(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
      {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

// How a tokenizer's texts are read back.
class TextReader {
 public:
  explicit TextReader(std::string folder) : folder_(std::move(folder)) {}

  // As a tokenizer of transformers says it, without its spaces where its configuration says so.
  std::string judged(std::span<const TokenId> ids) const {
    open();
    return read(ids, cleans_);
  }
  // As the scripts write predictions: without those spaces, but for pipelines that have their own.
  std::string written(std::span<const TokenId> ids) const {
    open();
    return read(ids, true);
  }

 private:
  void open() const {
    if (tokenizer_) return;
    tokenizer_ = tokenizer::Tokenizer::load(folder_);
    const Json pipeline = read_json_file(folder_ + "/tokenizer.json");
    may_clean_ = pipeline.at("model").value("type", std::string("BPE")) != "BPE";
    const std::string path = folder_ + "/tokenizer_config.json";
    const Json config = path_exists(path) ? read_json_file(path) : Json::object();
    const auto asked = config.find("clean_up_tokenization_spaces");
    cleans_ = asked != config.end() && *asked == true;
  }
  std::string read(std::span<const TokenId> ids, bool cleans) const {
    const std::string text = tokenizer_->decode(ids, /*skip_special_tokens=*/true);
    return metrics::python_strip(cleans && may_clean_ ? without_spaces_of_tokens(text) : text);
  }

  std::string folder_;
  mutable std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;  // opened when there is something to read
  mutable bool may_clean_ = false, cleans_ = false;
};

class TextScorer final : public Scorer {
 public:
  TextScorer(const ScorerInput& input, bool keeps)
      : reader_(input.tokenizer_folder), keeps_(keeps), summarises_(input.options.at("metric") == kRouge) {
    metrics::MetricOptions options;
    options.resampling_seed = input.options.at("seed").get<uint32_t>();
    metric_ = metrics::make_metric(input.options.at("metric").get<std::string>(), options);
    const Json& pad = input.options.at("pad_id");
    if (!pad.is_null()) pad_id_ = pad.get<int64_t>();
  }

  void add(const OutputBatch& batch) override {
    std::vector<std::string> predictions;
    std::vector<std::vector<std::string>> references;
    std::vector<int64_t> lengths;
    const RowValues* labels = batch.label("labels");
    for (size_t row = 0; row < batch.samples.size(); ++row) {
      Tokens ids = tokens_of(batch.output, row);
      if (labels != nullptr) {
        predictions.push_back(in_lines(reader_.judged(ids)));
        references.push_back({in_lines(reader_.judged(tokens_of(*labels, row)))});
        lengths.push_back(static_cast<int64_t>(ids.size()));
      }
      if (keeps_) kept_[batch.samples[row]] = std::move(ids);
    }
    if (labels == nullptr) return;
    metric_->add(metrics::TextBatch{predictions, references, batch.samples, lengths});
    judged_ += static_cast<double>(predictions.size());
  }

  // How many texts were judged, how many numbers the metric's state has, and these; of each kept text its sample, how
  // many ids it has, and these.
  std::vector<double> state() const override {
    const std::vector<double> metric = metric_->state();
    std::vector<double> state{judged_, static_cast<double>(metric.size())};
    state.insert(state.end(), metric.begin(), metric.end());
    for (const auto& [sample, ids] : kept_) {
      state.insert(state.end(), {static_cast<double>(sample), static_cast<double>(ids.size())});
      state.insert(state.end(), ids.begin(), ids.end());
    }
    return state;
  }

  void merge(std::span<const double> state) override {
    const auto take = [&](size_t count) {
      if (state.size() < count) throw std::invalid_argument("the state of another scorer");
      const auto numbers = state.first(count);
      state = state.subspan(count);
      return numbers;
    };
    const auto head = take(2);
    judged_ += head[0];
    metric_->merge(take(static_cast<size_t>(head[1])));
    while (!state.empty()) {
      const auto text = take(2);
      const auto ids = take(static_cast<size_t>(text[1]));
      kept_[static_cast<int64_t>(text[0])] = Tokens(ids.begin(), ids.end());
    }
  }

  metrics::MetricResults results() const override {
    return judged_ > 0 ? metric_->compute() : metrics::MetricResults{};
  }

  std::vector<ResultFile> files(std::string_view) const override {
    if (!keeps_) return {};
    std::vector<std::string> texts;
    for (const auto& [sample, ids] : kept_) texts.push_back(reader_.written(ids));
    return {{"generated_predictions.txt", join(texts, "\n")}};
  }

 private:
  // Without padding, and what only fills a row up.
  Tokens tokens_of(const RowValues& rows, size_t row) const {
    const auto width = static_cast<size_t>(rows.row_size());
    Tokens ids;
    for (const int64_t id : rows.ids.subspan(row * width, width)) {
      if (id != kNoToken && id != pad_id_) ids.push_back(static_cast<TokenId>(id));
    }
    return ids;
  }
  std::string in_lines(std::string text) const {
    return summarises_ ? metrics::sentences_on_lines(text) : std::move(text);
  }

  TextReader reader_;
  bool keeps_, summarises_;
  std::optional<int64_t> pad_id_;
  std::unique_ptr<metrics::Metric> metric_;
  double judged_ = 0;
  std::map<int64_t, Tokens> kept_;
};

}  // namespace

Scoring text_scoring(const TextJudgement& judgement) {
  const metrics::MetricEntry& metric = metrics::find_metric(judgement.translates ? kBleu : kRouge);
  metrics::MetricOptions options;
  options.resampling_seed = static_cast<uint32_t>(judgement.seed);
  constexpr int64_t kMostCounted = 4096;  // tokens: of texts without a limit most end before
  constexpr int64_t kKeptText = 96;       // of the map that holds it
  Scoring scoring;
  scoring.outputs = OutputForm::kTexts;
  scoring.metrics.assign(metric.keys.begin(), metric.keys.end());
  scoring.writes_files = true;
  scoring.bytes_per_sample = metrics::bytes_per_example(metric.name, options);
  // Its ids, and the text that is written.
  scoring.bytes_per_written_sample =
      kKeptText + std::min(judgement.longest, kMostCounted) * static_cast<int64_t>(2 * sizeof(double));
  scoring.options = {{"metric", std::string(metric.name)},
                     {"pad_id", judgement.pad_id ? Json(*judgement.pad_id) : Json()},
                     {"seed", static_cast<uint32_t>(judgement.seed)}};
  return scoring;
}

std::unique_ptr<Scorer> text_scorer(const ScorerInput& input) {
  return std::make_unique<TextScorer>(input, input.writes && input.split == data::Split::kTest);
}

}  // namespace hftrain::tasks
