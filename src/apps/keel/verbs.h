// The commands. Each does its work and gives the exit code.
#pragma once

#include "apps/keel/command.h"
#include "apps/keel/request.h"
#include "apps/keel/session.h"

namespace keel::cli {

int submit(const Session& session, const Command& command, const Surroundings& surroundings);
int run(const Session& session, const Command& command, const Surroundings& surroundings);
int jobs(const Session& session, const Command& command);
int describe(const Session& session, const Command& command);
int logs(const Session& session, const Command& command);
int cancel(const Session& session, const Command& command);
int wait(const Session& session, const Command& command);
int nodes(const Session& session, const Command& command);
int events(const Session& session, const Command& command);

}  // namespace keel::cli
