#!/usr/bin/env python3
"""Data-parallel training with PyTorch's DistributedDataParallel, started by torchrun.

Learns the parity of bits from samples that it makes itself, so that nothing has to be downloaded.
Saves a checkpoint after each epoch and on SIGTERM or SIGUSR1, and resumes from it.
"""

import argparse
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BITS = 8
SAMPLES = 8192

asked = {"stop": False, "save": False}


def note(number, _frame):
    asked["stop" if number == signal.SIGTERM else "save"] = True


def make_samples(seed):
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(0, 2, (SAMPLES, BITS), generator=generator)
    return TensorDataset(bits.float() * 2 - 1, bits.sum(dim=1) % 2)


def agreed(device):
    """What any task of the gang was asked to do: all stop at the same step, or none does."""
    votes = torch.tensor([float(asked["stop"]), float(asked["save"])], device=device)
    dist.all_reduce(votes, op=dist.ReduceOp.MAX)
    asked["save"] = False
    return bool(votes[0]), bool(votes[1])


def save(path, model, optimizer, epoch):
    if path is None or dist.get_rank() != 0:
        return
    draft = path.with_suffix(".tmp")
    with open(draft, "wb") as out:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                    "epoch": epoch}, out)
        out.flush()
        os.fsync(out.fileno())
    draft.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    print(f"checkpoint saved in epoch {epoch + 1}", flush=True)


def resume(path, model, optimizer, device):
    """Rank 0 reads; the others are told, since they may not see the same folder."""
    state = [None]
    if dist.get_rank() == 0 and path is not None and path.exists():
        state = [torch.load(path, map_location="cpu")]
    dist.broadcast_object_list(state, src=0, device=device)
    if state[0] is None:
        return 0
    model.module.load_state_dict(state[0]["model"])
    optimizer.load_state_dict(state[0]["optimizer"])
    print(f"rank {dist.get_rank()}: resumed in epoch {state[0]['epoch'] + 1}", flush=True)
    return state[0]["epoch"]


def train_epoch(model, optimizer, batches, device, stop_at):
    """The mean loss and the accuracy on this task's part; stop_at() is called after each step."""
    loss_of = nn.CrossEntropyLoss()
    loss_sum = correct = seen = 0
    for inputs, labels in batches:
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = loss_of(outputs, labels)
        loss.backward()  # DistributedDataParallel averages the gradients here.
        optimizer.step()
        loss_sum += loss.item() * len(labels)
        correct += (outputs.argmax(dim=1) == labels).sum().item()
        seen += len(labels)
        stop_at()
    return loss_sum / seen, correct / seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step and task")
    parser.add_argument("--lr", type=float, default=1e-3)
    flags = parser.parse_args()

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGUSR1, note)
    on_gpu = torch.cuda.is_available()
    dist.init_process_group(backend="nccl" if on_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)

    torch.manual_seed(1)
    network = nn.Sequential(nn.Linear(BITS, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                            nn.Linear(128, 2)).to(device)
    model = DistributedDataParallel(network, device_ids=[device.index] if on_gpu else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=flags.lr)
    samples = make_samples(seed=1)
    sampler = DistributedSampler(samples, seed=1)
    batches = DataLoader(samples, batch_size=flags.batch, sampler=sampler)

    folder = os.environ.get("KEEL_CHECKPOINT_DIR")
    path = pathlib.Path(folder, "ddp.checkpoint") if folder else None
    epoch = resume(path, model, optimizer, device)

    def stop_at():
        stop, wanted = agreed(device)
        if stop or wanted:
            save(path, model, optimizer, epoch)
        if stop:
            dist.destroy_process_group()
            sys.exit(128 + signal.SIGTERM)

    for epoch in range(epoch, flags.epochs):
        sampler.set_epoch(epoch)
        loss, accuracy = train_epoch(model, optimizer, batches, device, stop_at)
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}/{flags.epochs} loss {loss:.4f} accuracy {accuracy:.4f}",
                  flush=True)
        save(path, model, optimizer, epoch + 1)

    if dist.get_rank() == 0:
        output = pathlib.Path(os.environ.get("KEEL_OUTPUT_DIR", "."))
        torch.save(model.module.state_dict(), output / "model.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
