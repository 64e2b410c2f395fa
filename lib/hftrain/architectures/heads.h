// The heads that families have: their classes and parameters under transformers' names.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/architectures/head.h"
#include "hftrain/architectures/labels.h"

namespace hftrain::architectures {

class ParameterTableBuilder;

// A family's row for one of its heads: a last matrix [outputs, hidden_size] on what the body gives.
struct HeadSpec {
  Head head;
  const char* class_name;  // in transformers
  const char* body;    // what the class calls its body: "transformer"; empty: its parts are the class's own
  const char* matrix;  // "classifier"
  bool bias = false;
};

// Numbers that a head gives per token or row.
int64_t head_outputs(Head head, int64_t vocab_size, const Labels& labels);

// Appends the head's parameters to the unit that was begun last. `tied_embedding` names the body's parameter that
// the matrix of a language model is ("wte.weight", without the body's prefix); empty: it is one of its own,
// normal with `std` (0: the config's).
void append_head(ParameterTableBuilder& builder, const HeadSpec& head, int64_t outputs, int64_t hidden_size,
                 const std::string& tied_embedding, double std = 0);

// What stands before the names of the body's parameters: "transformer.", or nothing.
std::string body_prefix(const HeadSpec& head);

// Whether the Trainer 5.17 takes the class for a causal one and leaves the first label of a row out of its count.
bool counts_predicted_labels(const HeadSpec& head);

}  // namespace hftrain::architectures
