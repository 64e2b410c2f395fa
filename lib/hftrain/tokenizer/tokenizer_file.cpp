#include "hftrain/tokenizer/tokenizer_file.h"

#include <filesystem>
#include <system_error>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::tokenizer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNameTokenizer =
    "name the folder of a tokenizer with --tokenizer_name, or make one with 'hftrain tokenizer train'";

// What a folder has of the tokenizers before tokenizer.json; empty when nothing.
std::string files_of_older_tokenizer(const std::string& folder) {
  for (const char* name :
       {"vocab.txt", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model", "merges.txt"}) {
    if (path_exists(folder + "/" + name)) return name;
  }
  return "";
}

}  // namespace

std::string tokenizer_file(const std::string& place) {
  std::error_code error;
  const fs::file_status status = fs::status(place, error);
  if (status.type() == fs::file_type::not_found)
    throw Error(ExitCode::kData, "no tokenizer at '" + place + "'")
        .where(place)
        .why("there is no such folder or file")
        .hint(kNameTokenizer);
  if (error) throw system_error(error.value(), "cannot read the tokenizer", place, ExitCode::kData);
  if (status.type() != fs::file_type::directory) return place;
  const std::string file = (fs::path(place) / "tokenizer.json").string();
  const fs::file_status found = fs::status(file, error);
  if (found.type() == fs::file_type::none)
    throw system_error(error.value(), "cannot read the tokenizer", file, ExitCode::kData);
  if (found.type() != fs::file_type::not_found) return file;
  const std::string old = files_of_older_tokenizer(place);
  throw Error(ExitCode::kData, "no tokenizer in '" + place + "'")
      .where(file)
      .why(old.empty() ? "the folder has no tokenizer.json"
                       : "the folder has " + old + " and no tokenizer.json, which is all that hftrain reads")
      .hint(old.empty()
                ? std::string(kNameTokenizer)
                : "let transformers write it: python3 -c \"from transformers import AutoTokenizer as T; "
                  "T.from_pretrained('" +
                      place + "').save_pretrained('" + place + "')\"");
}

}  // namespace hftrain::tokenizer
