// Tokens and labels of instruction data are TRL's (scripts/golden/instructions.py).
#include "instruction_fixture.h"

#include "support/refusal.h"

namespace hftrain::tasks {
namespace {

using Catch::Contains;
using testing::golden_instructions;
using testing::InstructionFixture;
using testing::integers_of;
using testing::lines_of;
using testing::matrices_of;
using testing::open_split;

void apply_instruction_flags(const Json& flags, InstructionFixture& fixture) {
  arguments::InstructionArguments& asked = fixture.arguments.instructions;
  for (const auto& [name, value] : flags.items()) {
    if (name == "dataset_text_field") asked.dataset_text_field = value.get<std::string>();
    if (name == "eos_token") fixture.use_end(value.get<std::string>());
    if (name == "completion_only_loss") asked.completion_only_loss = value.get<bool>();
    if (name == "assistant_only_loss") asked.assistant_only_loss = value.get<bool>();
    if (name == "max_length") asked.max_length = value.get<int64_t>();
    if (name == "truncation_mode") asked.truncation_mode = value.get<std::string>();
    if (name == "chat_template_path") fixture.use_template(value.get<std::string>());
    if (name == "packing") asked.packing = value.get<bool>();
    if (name == "packing_strategy") asked.packing_strategy = value.get<std::string>();
    if (name == "shuffle_dataset") asked.shuffle_dataset = value.get<bool>();
  }
}

Json column_of_all(const data::Dataset& dataset, const std::string& name) {
  Json all = Json::array();
  for (int64_t i = 0; i < dataset.size(); ++i) all.push_back(integers_of(dataset, name, i));
  return all;
}

std::string row_refused(InstructionFixture& fixture, const std::string& rows,
                        const std::string& name = "rows.jsonl") {
  const std::string said = fixture.refusal(fixture.request(name, rows), ExitCode::kData);
  CHECK(!said.empty());
  return said;
}

}  // namespace

TEST_CASE("instruction data: tokens and labels are TRL's", "[tasks][instructions]") {
  for (const Json& wanted : golden_instructions().at("cases")) {
    INFO(wanted.at("name").get<std::string>());
    InstructionFixture fixture;
    apply_instruction_flags(wanted.at("flags"), fixture);
    const data::PreparedData made =
        fixture.prepare(fixture.request("rows.jsonl", lines_of(wanted.at("rows"))));
    const auto dataset = open_split(made.train);
    CHECK(column_of_all(*dataset, "input_ids") == wanted.at("input_ids"));
    CHECK(column_of_all(*dataset, "labels") == wanted.at("labels"));
    CHECK(dataset->has("seq_lengths") == wanted.contains("seq_lengths"));
    if (wanted.contains("seq_lengths"))
      CHECK(column_of_all(*dataset, "seq_lengths") == wanted.at("seq_lengths"));
  }
}

TEST_CASE("instruction data: cells of .csv files are texts, prompts and completions",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  const auto of_file = [&](const std::string& name, const std::string& text) {
    return column_of_all(*open_split(fixture.prepare(fixture.request(name, text)).train), "labels");
  };
  CHECK(of_file("a.csv", "prompt,completion\nthe river, bends\n") ==
        of_file("a.jsonl", R"({"prompt": "the river", "completion": " bends"})"
                           "\n"));
  CHECK(of_file("b.csv", "id,text\n1,slowly\n") == of_file("b.jsonl", R"({"text": "slowly"})"
                                                                      "\n"));
}

TEST_CASE("instruction data: a row that cannot be learnt is named with its place", "[tasks][instructions]") {
  struct Bad {
    const char *row, *what;
  };
  const Bad cases[] = {
      {R"({"question": "a"})", "there are no columns of instruction data"},
      {R"({"prompt": "a"})", "there is a column 'prompt', but no column 'completion'"},
      {R"({"prompt": "a", "chosen": "b", "rejected": "c"})", "these are preferences"},
      {R"({"messages": []})", "the messages of a row are empty"},
      {R"({"messages": "hello"})", "the messages of a row are no list of messages"},
      {R"({"messages": null})", "the field 'messages' is null"},
      {R"({"messages": ["hello"]})", "message 1 of a row is no object with a role"},
      {R"({"messages": [{"content": "x"}]})", "message 1 of a row has no role"},
      {R"({"messages": [{"role": 3, "content": "x"}]})", "message 1 of a row has no role"},
      {R"({"conversations": [{"role": "user", "content": "x"}]})", "message 1 of a row has no from"},
      {R"({"prompt": [{"role": "user", "content": "x"}], "completion": "y"})",
       "prompt and completion of a row are of two kinds"},
      {R"({"prompt": 7, "completion": "y"})", "the prompt of a row is no string"},
      {R"({"text": 7})", "the text of a row is no string"},
      {R"({"messages": [{"role": "user", "content": "x"}], "tools": 7})", "the tools of a row are no list"},
      {R"({"messages": [{"role": "user", "content": "x"}], "tools": "{"})",
       "a list of JSON schemas, or its JSON as text"},
      {R"({"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": []})",
       "the chat_template_kwargs of a row are no object"},
      {R"({"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"add_generation_prompt": true}})",
       "chat_template_kwargs of a row say 'add_generation_prompt'"},
      {R"({"input_ids": "5 6"})", "the input_ids of a row are no list"},
      {R"({"input_ids": []})", "the input_ids of a row are empty"},
      {R"({"input_ids": [5, 320]})", "number 2 of the input_ids of a row does not fit"},
      {R"({"input_ids": [5, -100]})", "number 2 of the input_ids of a row does not fit"},
      {R"({"input_ids": [5, 6.5]})", "number 2 of the input_ids of a row does not fit"},
      {R"({"input_ids": [5, 99999999999]})", "number 2 of the input_ids of a row does not fit"},
      {R"({"input_ids": [5, 6], "labels": [5]})", "the labels of a row are not as many as its input_ids"},
      {R"({"input_ids": [5, 6], "labels": []})", "the labels of a row are not as many as its input_ids"},
      {R"({"input_ids": [5, 6], "labels": [-1, 5]})", "number 1 of the labels of a row does not fit"},
      {R"({"input_ids": [5, 6], "assistant_masks": [2, 0]})",
       "number 1 of the assistant_masks of a row does not fit"}};
  for (const Bad& bad : cases) {
    InstructionFixture fixture;
    INFO(bad.row);
    const std::string said = row_refused(fixture, std::string("\n") + bad.row + "\n");
    CHECK_THAT(said, Contains(bad.what) && Contains("rows.jsonl:2"));
  }
}

TEST_CASE("instruction data: rows of tokens are no conversations", "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.arguments.instructions.assistant_only_loss = true;
  const std::string said = row_refused(fixture, R"({"input_ids": [5, 6], "assistant_masks": [1, 0]})"
                                                "\n");
  CHECK_THAT(said, Contains("a row is of tokens") && Contains("rows.jsonl:1"));
}

TEST_CASE("instruction data: some rows have tools and others have not", "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.use_template(
      "{{ messages[0]['content'] }}{% for t in tools or [] %}[{{ t }}]{% endfor %}{{ style }}");
  const std::string
      without = R"({"messages": [{"role": "user", "content": "river"}]})"
                "\n",
      with = R"({"messages": [{"role": "user", "content": "river"}], "tools": ["look"]})"
             "\n",
      styled =
          R"({"messages": [{"role": "user", "content": "river"}], "chat_template_kwargs": {"style": "[look]"}})"
          "\n";
  const auto made =
      open_split(fixture.prepare(fixture.request("rows.jsonl", without + with + styled + without)).train);
  CHECK(integers_of(*made, "input_ids", 0) == integers_of(*made, "input_ids", 3));
  CHECK(integers_of(*made, "input_ids", 1) == integers_of(*made, "input_ids", 2));
  CHECK(integers_of(*made, "input_ids", 0) != integers_of(*made, "input_ids", 1));
}

TEST_CASE("instruction data: tools and documents among the further names are the template's own",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.use_template(
      "{{ messages[0]['content'] }}{% for t in tools or [] %}[{{ t }}]{% endfor %}{% for d in documents or "
      "[] "
      "%}<{{ d }}>{% endfor %}");
  const auto row = [](const std::string& content, const std::string& more) {
    return R"({"messages": [{"role": "user", "content": ")" + content + R"("}])" + more + "}\n";
  };
  const std::string rows =
      row("river",
          R"(, "tools": ["old"], "chat_template_kwargs": {"tools": ["look"], "continue_final_message": false})") +
      row("river", R"(, "tools": ["look"])") +
      row("river", R"(, "chat_template_kwargs": {"documents": ["look"]})") + row("river<look>", "");
  const auto made = open_split(fixture.prepare(fixture.request("rows.jsonl", rows)).train);
  CHECK(integers_of(*made, "input_ids", 0) == integers_of(*made, "input_ids", 1));
  CHECK(integers_of(*made, "input_ids", 2) == integers_of(*made, "input_ids", 3));
  CHECK(integers_of(*made, "input_ids", 0) != integers_of(*made, "input_ids", 2));
}

TEST_CASE("instruction data: messages under their older names have role and content last",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.use_template("{% for k in messages[0] %}{{ k }}={{ messages[0][k] }} {% endfor %}");
  const std::string
      mixed = R"({"conversations": [{"from": "user", "value": "river", "role": "town", "weight": 1}]})"
              "\n",
      plain = R"({"conversations": [{"role": "user", "weight": 1, "from": "user", "value": "river"}]})"
              "\n";
  const auto made = open_split(fixture.prepare(fixture.request("rows.jsonl", mixed + plain)).train);
  CHECK(integers_of(*made, "input_ids", 0) == integers_of(*made, "input_ids", 1));
}

TEST_CASE("instruction data: a template that raises is told with the row", "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.use_template(
      "{% for m in messages %}{% if m['role'] not in ['user', 'assistant'] %}"
      "{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{{ m['content'] }}{% "
      "endfor %}");
  const std::string said = row_refused(fixture, R"({"messages": [{"role": "robot", "content": "x"}]})"
                                                "\n");
  CHECK_THAT(said, Contains("Only user and assistant roles are supported!") && Contains("rows.jsonl:1") &&
                       Contains("the template"));
  fixture.input.chat->templates.clear();
  CHECK_THAT(row_refused(fixture, R"({"messages": [{"role": "user", "content": "x"}]})"
                                  "\n"),
             Contains("the tokenizer has no chat template") && Contains("--chat_template_path"));
}

TEST_CASE("instruction data: the loss of the assistant needs marks and conversations",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.arguments.instructions.assistant_only_loss = true;
  CHECK_THAT(row_refused(fixture, R"({"text": "slowly"})"
                                  "\n"),
             Contains("a row is a text"));
  CHECK_THAT(row_refused(fixture, R"({"messages": [{"role": "user", "content": "x"}]})"
                                  "\n"),
             Contains("nothing of a row is marked as the assistant's"));
}

// Turns as published templates write them.
std::string turns(const std::string& answer) {
  return "{% for m in messages %}{{ '[' + m['role'] + ']' }}{% if m['role'] == 'assistant' %}" + answer +
         "{% else %}{{ m['content'] + '.' }}{% endif %}{% endfor %}{% if add_generation_prompt "
         "%}[assistant]{% "
         "endif %}";
}

TEST_CASE("instruction data: a template without marks counts what it writes behind its opening of an answer",
          "[tasks][instructions]") {
  const std::string answer = "{{ m['content'] + '.' }}";
  const std::string talk =
      R"({"messages": [{"role": "user", "content": "the river"}, {"role": "assistant", "content": "bends"}, {"role": "user", "content": "slowly"}, {"role": "assistant", "content": "past"}]})"
      "\n";
  const std::string completed =
      R"({"prompt": [{"role": "user", "content": "the"}, {"role": "assistant", "content": "old"}, {"role": "user", "content": "river"}], "completion": [{"role": "assistant", "content": "bends"}]})"
      "\n";
  const auto labels_of = [](const std::string& text, const std::string& rows, bool assistant_only) {
    InstructionFixture fixture;
    fixture.arguments.instructions.assistant_only_loss = assistant_only;
    fixture.use_template(text);
    return column_of_all(*open_split(fixture.prepare(fixture.request("rows.jsonl", rows)).train), "labels");
  };
  const std::string greeted =
      R"({"messages": [{"role": "assistant", "content": "slowly past"}, {"role": "user", "content": "the"}, {"role": "assistant", "content": "river"}]})"
      "\n";
  for (const std::string& rows : {talk, completed, greeted}) {
    INFO(rows);
    const auto marked = labels_of(turns("{% generation %}" + answer + "{% endgeneration %}"), rows, true);
    CHECK(labels_of(turns(answer), rows, true) == marked);
    CHECK((labels_of(turns(answer), rows, false) == marked) == (rows == completed));
  }
}

TEST_CASE("instruction data: what was remarked of rows is told again where they were prepared before",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.arguments.instructions.assistant_only_loss = true;
  fixture.arguments.instructions.max_length = 64;
  fixture.use_template(turns("{{ m['content'] + '.' }}"));
  const std::string row =
      R"({"messages": [{"role": "user", "content": "the"}, {"role": "assistant", "content": "river"}]})"
      "\n";
  std::string question;
  for (int i = 0; i < 64; ++i) question += "the old river ";
  const std::string cut = R"({"messages": [{"role": "user", "content": ")" + question +
                          R"("}, {"role": "assistant", "content": "past"}]})"
                          "\n";
  const data::PrepareRequest request = fixture.request("rows.jsonl", row + cut);
  const auto told = [&] {
    std::string text;
    const data::PrepareObserver observer{.logger =
                                             Logger(LogLevel::kInfo, [&](LogLevel, std::string_view line) {
                                               text.append(line);
                                               text += '\n';
                                             })};
    const auto load = [&] { return tokenizer::Tokenizer::load(fixture.folder / "tokenizer"); };
    const data::PreparedData data = data::prepare(request, load, observer).value();
    return std::pair(text, data.from_cache);
  };
  const auto [first, made_before] = told();
  CHECK_FALSE(made_before);
  CHECK_THAT(first, Contains("the training data: the chat template marks nothing with {% generation %}") &&
                        Contains("the training data: 1 row is left out"));
  CHECK(told() == std::pair(first, true));
}

TEST_CASE("instruction data: answers of which the end is not learnt are told of", "[tasks][instructions]") {
  const auto remarks_of = [](const std::string& answer) {
    InstructionFixture fixture;
    fixture.arguments.instructions.assistant_only_loss = true;
    fixture.use_template(turns(answer));
    const std::string row =
        R"({"messages": [{"role": "user", "content": "the"}, {"role": "assistant", "content": "river"}]})"
        "\n";
    std::string text;
    const data::PrepareObserver observer{
        .logger = Logger(LogLevel::kInfo, [&](LogLevel, std::string_view line) { text.append(line); })};
    const auto load = [&] { return tokenizer::Tokenizer::load(fixture.folder / "tokenizer"); };
    data::prepare(fixture.request("rows.jsonl", row), load, observer);
    return text;
  };
  const std::string said = "{% generation %}{{ m['content'] }}", end = "{{ eos_token }}",
                    over = "{% endgeneration %}";
  CHECK_THAT(remarks_of(said + over + end), Contains("the model may not learn to stop"));
  CHECK_THAT(remarks_of(said + "." + over), Contains("the model may not learn to stop"));
  CHECK_THAT(remarks_of(said + end + over), !Contains("learn to stop"));
  CHECK_THAT(remarks_of(said + end + "{{ '.' }}" + over), !Contains("learn to stop"));
  CHECK_THAT(remarks_of("{{ m['content'] + eos_token }}"), !Contains("learn to stop"));
}

TEST_CASE("instruction data: a template that does not tell where an answer stands is refused",
          "[tasks][instructions]") {
  const std::string talk =
      R"({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]})"
      "\n";
  struct Bad {
    std::string text, why;
  };
  const Bad cases[] = {{"{% for m in messages %}{{ m['content'] }}{% endfor %}", "it opens no answer"},
                       {turns("<think>{{ m['content'] }}") + "{% if add_generation_prompt %}aloud{% endif %}",
                        "its opening of an answer is not what it writes before this one"},
                       {turns("{{ m['content'] }}"), "it writes nothing behind this answer"},
                       {turns("{% if loop.last %}<think>{% endif %}{{ m['content'] + '.' }}"),
                        "it writes this answer otherwise once more follows"}};
  for (const Bad& bad : cases) {
    INFO(bad.text);
    InstructionFixture fixture;
    fixture.arguments.instructions.assistant_only_loss = true;
    fixture.use_template(bad.text);
    CHECK_THAT(row_refused(fixture, talk), Contains("does not mark what the assistant says") &&
                                               Contains(bad.why) && Contains("rows.jsonl:1") &&
                                               Contains("message 2") && Contains("--chat_template_path"));
  }
  InstructionFixture fixture;
  fixture.arguments.instructions.assistant_only_loss = true;
  fixture.use_template(turns("<think>{{ m['content'] + '.' }}") +
                       "{% if add_generation_prompt %}aloud{% endif %}");
  CHECK_THAT(row_refused(fixture, R"({"messages": [{"role": "assistant", "content": "y"}]})"
                                  "\n"),
             Contains("does not stand before one that begins a conversation") && Contains("message 1"));
}

TEST_CASE("instruction data: rows whose completion is cut away are left out, all of them refused",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.arguments.instructions.max_length = 4;
  const std::string long_row = R"({"prompt": "the old river bends slowly past", "completion": " why"})"
                               "\n",
                    short_row = R"({"prompt": "the", "completion": " river"})"
                                "\n";
  CHECK(open_split(fixture.prepare(fixture.request("two.jsonl", long_row + short_row)).train)->size() == 1);
  CHECK_THAT(row_refused(fixture, long_row), Contains("1 row is left out") && Contains("--max_length"));
}

TEST_CASE("instruction data: rows that teach nothing are counted, nothing but such rows refused",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.arguments.instructions.max_length.reset();
  const std::string masked = R"({"input_ids": [5, 6], "labels": [-100, -100]})"
                             "\n",
                    row = R"({"input_ids": [5, 6], "labels": [-100, 6]})"
                          "\n";
  std::string said;
  data::PrepareObserver observer;
  observer.logger = Logger(LogLevel::kInfo, [&](LogLevel, std::string_view text) { said += text; });
  const auto load = [&] { return tokenizer::Tokenizer::load(fixture.folder / "tokenizer"); };
  const auto made = data::prepare(fixture.request("some.jsonl", masked + row + masked), load, observer);
  CHECK(open_split(made->train)->size() == 3);
  CHECK_THAT(said, Contains("the training data: 2 rows have no token that counts for the loss"));
  CHECK_THAT(row_refused(fixture, masked + masked), Contains("no row has a token that counts for the loss") &&
                                                        Contains("rows.jsonl") &&
                                                        Contains("every label is -100"));
  fixture.arguments.instructions.max_length = 8;
  fixture.arguments.instructions.packing = true;
  CHECK_THAT(row_refused(fixture, masked), Contains("no row has a token that counts for the loss"));
  // The first token of a row is predicted by nothing.
  fixture.arguments.instructions.packing = false;
  fixture.arguments.instructions.max_length = 1;
  const std::string counts = R"({"input_ids": [5, 6], "labels": [5, 6]})"
                             "\n";
  CHECK_THAT(row_refused(fixture, counts), Contains("rows are single tokens") && Contains("--max_length"));
  // But for the one before it, where rows are one stream.
  std::string single;
  for (int i = 0; i < 8; ++i) single += "{\"input_ids\": [5], \"labels\": [5]}\n";
  fixture.arguments.instructions.max_length = 4;
  fixture.arguments.instructions.packing = true;
  CHECK_THAT(row_refused(fixture, single), Contains("rows are single tokens"));
  fixture.arguments.instructions.packing_strategy = "wrapped";
  CHECK(data::prepare(fixture.request("single.jsonl", single), load, observer)->train);
}

TEST_CASE("instruction data: texts need an end, conversations do not", "[tasks][instructions]") {
  InstructionFixture fixture;
  std::erase_if(fixture.input.chat->special_tokens,
                [](const auto& held) { return held.first == "eos_token"; });
  CHECK_THAT(row_refused(fixture, R"({"text": "slowly"})"
                                  "\n"),
             Contains("the tokenizer has no end of text") && Contains("--eos_token"));
  CHECK(fixture
            .refusal(fixture.request("talk.jsonl", R"({"messages": [{"role": "user", "content": "x"}]})"
                                                   "\n"),
                     ExitCode::kData)
            .empty());
}

TEST_CASE("instruction data: lengths that do not go together are refused", "[tasks][instructions]") {
  InstructionFixture fixture;
  arguments::InstructionArguments& asked = fixture.arguments.instructions;
  const auto said = [&] {
    try {
      fixture.row.recipe(fixture.input);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return error.render();
    }
    return std::string();
  };
  asked.padding_free = true;
  CHECK_THAT(said(), Contains("--padding_free and --max_length do not go together"));
  asked.max_length.reset();
  CHECK(said().empty());
  asked.packing = true;
  CHECK_THAT(said(), Contains("--packing and --max_length do not go together"));
}

TEST_CASE("instruction data: batches are padded behind, to a multiple where one is asked for",
          "[tasks][instructions]") {
  InstructionFixture fixture;
  fixture.input.pads_on_left = true;
  const auto dataset = open_split(fixture
                                      .prepare(fixture.request("rows.jsonl", R"({"text": "the"})"
                                                                             "\n"
                                                                             R"({"text": "the river bends"})"
                                                                             "\n"))
                                      .train);
  const auto batch = [&] {
    return matrices_of(*data::padding_collator(fixture.row.padding(fixture.input, nullptr)), *dataset,
                       {0, 1});
  };
  auto made = batch();
  const size_t width = made["input_ids"][0].size();
  CHECK(made["attention_mask"][0].front() == 1);
  CHECK(made["attention_mask"][0].back() == 0);
  CHECK(made["labels"][0].back() == -100);
  fixture.arguments.instructions.pad_to_multiple_of = "16";
  made = batch();
  CHECK(width < 16);
  CHECK(made["input_ids"][1].size() == 16);
  for (const char* bad : {"0", "-8", "eight", "1.5"}) {
    fixture.arguments.instructions.pad_to_multiple_of = bad;
    CHECK_REFUSED(fixture.row.padding(fixture.input, nullptr),
                  "'" + std::string(bad) + "' is no number of tokens");
  }
}

}  // namespace hftrain::tasks
