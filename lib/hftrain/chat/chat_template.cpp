#include "hftrain/chat/chat_template.h"

#include "hftrain/chat/parser.h"
#include "hftrain/chat/renderer.h"

namespace hftrain::chat {

struct ChatTemplate::Parsed {
  std::string origin;
  Block block;
  bool marks_generation;
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::parse(std::string source, std::string origin) {
  Parser parser(tokens_of(std::move(source), origin), origin);
  Block block = parser.parse();
  return ChatTemplate(
      std::make_unique<const Parsed>(Parsed{std::move(origin), std::move(block), parser.has_generation()}));
}

Rendered ChatTemplate::render(const Variables& variables, const std::tm& now, const Limits& limits) const {
  Runtime runtime(limits, parsed_->origin, now);
  Renderer renderer(runtime, variables);
  renderer.run(parsed_->block);
  return renderer.take();
}

bool ChatTemplate::marks_generation() const {
  return parsed_->marks_generation;
}

}  // namespace hftrain::chat
