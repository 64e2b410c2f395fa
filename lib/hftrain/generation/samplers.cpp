// Which tokens may be drawn: temperature, the likeliest k, shares of the probability, cut-offs. Of beams more tokens are
// kept than the ends, so that a beam can go on.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hftrain/generation/probabilities.h"
#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

constexpr float kOut = -std::numeric_limits<float>::infinity();

// The `keep` best scores, at most all of them: the least of them.
float least_kept(std::span<const float> scores, size_t keep) {
  return scores[static_cast<size_t>(largest(scores, std::min(keep, scores.size())).back())];
}

class Temperature : public ScoreProcessor {
 public:
  explicit Temperature(double temperature) : temperature_(static_cast<float>(temperature)) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    for (float& score : scores) score /= temperature_;
  }

 private:
  float temperature_;
};

class TopK : public ScoreProcessor {
 public:
  TopK(int64_t k, size_t keep) : k_(std::max(static_cast<size_t>(k), keep)) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    const float least = least_kept(scores, k_);
    for (float& score : scores) {
      if (score < least) score = kOut;
    }
  }

 private:
  size_t k_;
};

// The fewest likeliest tokens that have a share of `mass` together.
class TopP : public ScoreProcessor {
 public:
  TopP(double mass, size_t keep) : mass_(mass), keep_(keep) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    const std::vector<float> probabilities = softmax(scores);
    const std::vector<int64_t> order = largest(scores, scores.size());
    double before = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto id = static_cast<size_t>(order[i]);
      if (i >= keep_ && before >= mass_) scores[id] = kOut;
      before += probabilities[id];
    }
  }

 private:
  double mass_;
  size_t keep_;
};

// All that are less than `share` times as likely as the likeliest go.
class MinP : public ScoreProcessor {
 public:
  MinP(double share, size_t keep) : share_(static_cast<float>(share)), keep_(keep) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    const std::vector<float> probabilities = softmax(scores);
    const std::vector<int64_t> best = largest(probabilities, std::min(keep_, probabilities.size()));
    const float least = share_ * probabilities[static_cast<size_t>(best.front())];
    for (size_t id = 0; id < scores.size(); ++id) {
      if (probabilities[id] < least && std::ranges::find(best, static_cast<int64_t>(id)) == best.end())
        scores[id] = kOut;
    }
  }

 private:
  float share_;
  size_t keep_;
};

// Locally typical sampling (Meister et al. 2023): the tokens whose surprise is nearest to the entropy, up to a share.
class Typical : public ScoreProcessor {
 public:
  Typical(double mass, size_t keep) : mass_(mass), keep_(keep) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    const std::vector<float> probabilities = softmax(scores);
    std::vector<float> nearness(scores.begin(), scores.end());
    log_softmax(nearness);
    double entropy = 0;
    for (size_t id = 0; id < scores.size(); ++id) {
      if (probabilities[id] > 0) entropy -= static_cast<double>(nearness[id]) * probabilities[id];
    }
    for (float& value : nearness) value = -std::abs(-value - static_cast<float>(entropy));
    cut(nearness, probabilities, scores);
  }

 private:
  // Keeps the nearest until their share reaches the mass, and what is as near as the last of them.
  void cut(const std::vector<float>& nearness, const std::vector<float>& probabilities,
           std::span<float> scores) const {
    const std::vector<int64_t> order = largest(nearness, nearness.size());
    size_t last = 0;
    for (double share = 0; last + 1 < order.size(); ++last) {
      share += probabilities[static_cast<size_t>(order[last])];
      if (share >= mass_) break;
    }
    const float least = nearness[static_cast<size_t>(order[last])];
    for (size_t i = keep_; i < order.size(); ++i) {
      const auto id = static_cast<size_t>(order[i]);
      if (nearness[id] < least) scores[id] = kOut;
    }
  }

  double mass_;
  size_t keep_;
};

// What is less likely than a cut-off goes, but for the likeliest.
void cut_below(float cutoff, size_t keep, const std::vector<float>& probabilities, std::span<float> scores) {
  const float least = least_kept(scores, keep);
  for (size_t id = 0; id < scores.size(); ++id) {
    if (probabilities[id] < cutoff && scores[id] < least) scores[id] = kOut;
  }
}

class Epsilon : public ScoreProcessor {
 public:
  Epsilon(double cutoff, size_t keep) : cutoff_(static_cast<float>(cutoff)), keep_(keep) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    cut_below(cutoff_, keep_, softmax(scores), scores);
  }

 private:
  float cutoff_;
  size_t keep_;
};

// Hewitt et al. 2022: the cut-off sinks with the entropy.
class Eta : public ScoreProcessor {
 public:
  Eta(double cutoff, size_t keep) : cutoff_(cutoff), keep_(keep) {}
  void apply(const RowSoFar&, std::span<float> scores) const override {
    const std::vector<float> probabilities = softmax(scores);
    double entropy = 0;
    for (const float p : probabilities) {
      if (p > 0) entropy -= static_cast<double>(p) * std::log(static_cast<double>(p));
    }
    const double eta = std::min(cutoff_, std::sqrt(cutoff_) * std::exp(-entropy));
    cut_below(static_cast<float>(eta), keep_, probabilities, scores);
  }

 private:
  double cutoff_;
  size_t keep_;
};

bool is_share(double value) {
  return value > 0 && value < 1;
}

}  // namespace

void add_samplers(const GenerationConfig& config, ScoreProcessors& to) {
  const size_t ends = config.eos_token_id.empty() ? 1 : config.eos_token_id.size();
  const size_t keep = config.num_beams > 1 ? ends + 1 : 1;
  if (config.temperature != 1) to.push_back(std::make_unique<Temperature>(config.temperature));
  if (config.top_k > 0) to.push_back(std::make_unique<TopK>(config.top_k, keep));
  if (config.top_p < 1) to.push_back(std::make_unique<TopP>(config.top_p, keep));
  if (config.min_p) to.push_back(std::make_unique<MinP>(*config.min_p, keep));
  if (config.typical_p < 1) to.push_back(std::make_unique<Typical>(config.typical_p, keep));
  if (is_share(config.epsilon_cutoff)) to.push_back(std::make_unique<Epsilon>(config.epsilon_cutoff, keep));
  if (is_share(config.eta_cutoff)) to.push_back(std::make_unique<Eta>(config.eta_cutoff, keep));
}

}  // namespace hftrain::generation
