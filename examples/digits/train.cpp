// digits: a data-parallel trainer small enough to read, and real enough to fail if the platform
// does.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bytes.h"
#include "checkpoint.h"
#include "dataset.h"
#include "failure.h"
#include "flags.h"
#include "gang.h"
#include "mlp.h"
#include "rendezvous.h"
#include "stop_signals.h"
#include "trainer.h"

namespace {

using namespace keel::digits;
using std::chrono::steady_clock;

// Tasks of one attempt agree in all of this; a task of another job, or of an attempt before, does
// not.
std::uint32_t run_id(const Flags& flags, const Shard& shard) {
  ByteWriter words;
  words.text(environment("KEEL_JOB_ID").value_or("") + "\n");
  words.text(environment("KEEL_ATTEMPT").value_or("") + "\n");
  for (const std::uint64_t word :
       {flags.hidden, flags.batch, flags.seed, flags.epochs, flags.checkpoint_every,
        std::uint64_t{flags.all_reduce}, static_cast<std::uint64_t>(flags.pause.count()),
        std::uint64_t{shard.split_crc}}) {
    words.u64(word);
  }
  words.f64(flags.rate);
  return crc32(words.bytes());
}

Bytes model_file(const Network& network) {
  ByteWriter model;
  model.text("KEELMLP1");
  model.u32(pixels_per_image);
  model.u32(static_cast<std::uint32_t>(network.hidden));
  model.u32(classes);
  model.f64s(network.weights);
  return model.bytes();
}

struct Metrics {
  double test_accuracy;
  double seconds;
  std::uint64_t epochs;
  std::size_t world;
  std::uint64_t first_step;
};

Bytes metrics_file(const Metrics& metrics) {
  std::vector<char> text(256);
  const int length = std::snprintf(
      text.data(), text.size(),
      "{\"test_accuracy\": %.4f, \"epochs\": %llu, \"world_size\": %zu, \"seconds\": %.3f, "
      "\"resumed_from_step\": %llu}\n",
      metrics.test_accuracy, static_cast<unsigned long long>(metrics.epochs), metrics.world,
      metrics.seconds, static_cast<unsigned long long>(metrics.first_step));
  ByteWriter file;
  file.text({text.data(), static_cast<std::size_t>(length)});
  return file.bytes();
}

std::filesystem::path output_folder() { return environment("KEEL_OUTPUT_DIR").value_or("."); }

// The only place that reads the test split, after training has ended.
void publish(const Flags& flags, const Trainer& trainer, const Gang& gang, double seconds) {
  const double accuracy = score(trainer.network(), read_test_split(flags.dataset_path)).accuracy();
  const std::filesystem::path folder = output_folder();
  write_durably((folder / "model.bin").string(), model_file(trainer.network()));
  write_durably((folder / "metrics.json").string(),
                metrics_file({.test_accuracy = accuracy,
                              .seconds = seconds,
                              .epochs = flags.epochs,
                              .world = gang.world(),
                              .first_step = trainer.first_step()}));
  std::printf("test accuracy %.4f\n", accuracy);
}

int run(const Flags& flags, const Rendezvous& rendezvous) {
  Shard shard =
      read_training_shard(flags.dataset_path, {.rank = rendezvous.rank, .world = rendezvous.world});
  std::printf("rank %zu of %zu (node %zu, local %zu of %zu): samples %zu to %zu of %zu\n",
              rendezvous.rank, rendezvous.world, rendezvous.node_rank, rendezvous.local_rank,
              rendezvous.local_world, shard.first, shard.first + shard.samples.size(), shard.total);
  std::optional<CheckpointFile> file;
  const auto folder = environment("KEEL_CHECKPOINT_DIR");
  if (folder && rendezvous.rank == 0) file.emplace(*folder);

  // Where results cannot be written, it is better to know before training.
  if (rendezvous.rank == 0) std::filesystem::create_directories(output_folder());

  Gang gang = Gang::open(
      rendezvous,
      {.run_id = run_id(flags, shard), .peer_timeout = flags.peer_timeout, .give_up = stop_asked});
  const auto start = steady_clock::now();
  Trainer trainer(flags, gang, std::move(shard), std::move(file));
  if (trainer.train() == Ending::stopped) {
    std::printf("rank %zu: stopped\n", rendezvous.rank);
    return exit_stopped;
  }
  if (rendezvous.rank != 0) {
    std::printf("rank %zu: done\n", rendezvous.rank);
    return 0;
  }
  publish(flags, trainer, gang, std::chrono::duration<double>(steady_clock::now() - start).count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A line is seen when it is written, into a pipe too.
  (void)std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  note_signals();
  std::string who = "digits: ";
  try {
    const Flags flags = parse_flags({argv + 1, argv + argc});
    if (flags.help) {
      std::fputs(usage().c_str(), stdout);
      return 0;
    }
    const Rendezvous rendezvous = read_rendezvous(environment);
    if (rendezvous.world > 1) who += "rank " + std::to_string(rendezvous.rank) + ": ";
    return run(flags, rendezvous);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s%s\n", who.c_str(), failure.what());
    return failure.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", who.c_str(), error.what());
    return exit_failure;
  }
}
