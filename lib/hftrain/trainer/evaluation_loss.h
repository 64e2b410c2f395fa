// How batch losses become eval_loss: the weighting of the Trainer (evaluation_loop of trainer.py, transformers 5.17).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hftrain::trainer {

// Every rank's loss of a batch stands for `batch_size` samples; ranks are joined in rank order; the last
// joined batch is cut so that duplicates that only filled it do not count. eval_loss is the mean over
// samples.
class EvaluationLoss {
 public:
  EvaluationLoss(int64_t samples, int64_t batch_size) : left_(samples), batch_size_(batch_size) {}

  // One value for every rank, in rank order; of samples without one nothing counts.
  void add(const std::vector<std::optional<float>>& losses);
  // As NumPy takes it of an array of float32, in its order of additions: evaluations that are equal to the Trainer are equal here, too,
  // where the best one of them is looked for. 0 of nothing.
  float mean() const;

 private:
  struct Run {
    float loss;
    int64_t entries;
  };
  int64_t left_;
  int64_t batch_size_;
  std::vector<Run> runs_;
  int64_t count_ = 0;
};

}  // namespace hftrain::trainer
