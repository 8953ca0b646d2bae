// The three fields by which many messages name a task: `job`, `attempt` and `task`.
#pragma once

#include "model/ids.h"

namespace keel {

template <class Message>
void set_task_key(Message& sent, const TaskKey& key) {
  sent.set_job(print(key.job));
  sent.set_attempt(key.attempt.value);
  sent.set_task(key.task);
}

}  // namespace keel
