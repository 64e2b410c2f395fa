#include "hftrain/architectures/heads.h"

#include <string_view>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {

void append_head(ParameterTableBuilder& builder, const HeadSpec& head, int64_t outputs, int64_t hidden_size,
                 const std::string& tied_embedding, double std) {
  const std::string matrix = head.matrix;
  if (!tied_embedding.empty()) return builder.tie(matrix + ".weight", tied_embedding);
  builder.begin_head();
  builder.output_matrix(matrix, outputs, hidden_size, head.bias ? outputs : 0, std);
}

std::string body_prefix(const HeadSpec& head) {
  const std::string body = head.body;
  return body.empty() ? body : body + '.';
}

bool counts_predicted_labels(const HeadSpec& head) {
  return std::string_view(head.class_name).find("ForCausalLM") != std::string_view::npos;
}

int64_t head_outputs(Head head, int64_t vocab_size, const Labels& labels) {
  switch (head) {
    case Head::kCausalLm:
    case Head::kMaskedLm:
    case Head::kSeq2SeqLm:
      return vocab_size;
    case Head::kQuestionAnswering:
      return 2;  // a score of being the first token, and one of being the last
    case Head::kSequenceClassification:
    case Head::kTokenClassification:
    case Head::kImageClassification:
      return labels.count;
  }
  return 0;
}

int64_t Architecture::outputs() const {
  return head_outputs(head(), vocab_size(), labels());
}

}  // namespace hftrain::architectures
