// What a command that generates and its worker say to each other: a JSON object per line.
//
// Down, to the descriptor of `hftrain-worker --requests-fd N --control-fd M`: a TextSetup, then any number of TextRequests,
// each when the one before is answered; the end of the input ends the worker.
// Up, on the control descriptor: {"event": "ready"} once the model is there; for a request that asks for it
// {"event": "token", "prompt", "id"} as tokens are chosen, then {"event": "texts", "texts", "seconds", "steps", "draft_steps"}: how often
// the model was called, and its copies. {"event": "failed", …} is the last word of a worker that cannot go on; `refused` of a request that it cannot answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/generation/generate.h"

namespace hftrain::generation {

// A library that adds the model's family, as plan::PluginPlan says it.
struct FamilyLibrary {
  std::string name, path, hash;
};

struct TextSetup {
  std::string folder;     // of the weights
  std::string adapter;    // of an adapter that stands beside them; empty: none
  std::string tokenizer;  // its folder
  Json config;            // the model's
  std::string head;       // a head's word
  std::string dtype;      // of weights and computation: float32, bfloat16 or float16
  int threads = 1;
  int cuda_ordinal = -1;  // -1: the CPU
  std::string drafts =
      "none";  // int8: by copies of the weights, a mistake where the processor has no products for them; auto: as it has
  FamilyLibrary plugin{};              // without a path: none
  std::string tied_dtype = "float32";  // in which copies of a tied matrix in the files are the same
};

struct TextRequest {
  std::vector<Prompt> prompts;
  Json settings = Json::object();  // in the form of generation_config.json
  uint64_t seed = 0;
  bool tells_tokens = false;
};

using Texts = std::vector<std::vector<GeneratedText>>;  // as generate() gives them

// TextSetup::drafts where nobody asks: auto where reading the weights, so many bytes, is what takes the time, and copies of them, a
// quarter more, fit into the memory that is available with room to spare; else none.
std::string drafts_unasked(int64_t weight_bytes, int64_t available_bytes);

// One line each, with its newline. Reading throws Json::exception for what is none.
std::string encode_setup(const TextSetup& setup);
TextSetup decode_setup(const Json& line);
std::string encode_request(const TextRequest& request);
TextRequest decode_request(const Json& line);
Json texts_json(const Texts& texts);
Texts texts_from_json(const Json& json);
// All parts of an error.
Json error_json(const Error& error);
Error error_from_json(const Json& json);

// An object as one line.
std::string line_of(const Json& object);

}  // namespace hftrain::generation
