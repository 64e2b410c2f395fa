#include "hftrain/tasks/chat_value.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/chat/dict.h"

namespace hftrain::tasks {

chat::Value chat_value(const data::Value& value) {
  switch (value.kind()) {
    case data::ValueKind::kNull:
      break;
    case data::ValueKind::kBoolean:
      return chat::Value(value.boolean());
    case data::ValueKind::kInteger:
      return chat::Value(value.integer());
    case data::ValueKind::kNumber:
      return chat::Value(value.number());
    case data::ValueKind::kText:
      return chat::Value::text(std::string(value.text()));
    case data::ValueKind::kList: {
      std::vector<chat::Value> items;
      for (size_t i = 0; i < value.size(); ++i) items.push_back(chat_value(value[i]));
      return chat::Value::list(std::move(items));
    }
    case data::ValueKind::kObject: {
      auto dict = std::make_shared<chat::Dict>();
      for (size_t i = 0; i < value.size(); ++i)
        dict->set(std::string(value.key(i)), chat_value(*value.find(value.key(i))));
      return chat::Value(chat::DictPtr(std::move(dict)));
    }
  }
  return chat::Value(chat::None());
}

}  // namespace hftrain::tasks
