#!/usr/bin/env python3
"""Trains in loops whose iteration is not one call of the optimizer: several networks in turn, or loops within loops.

In: --loop NAME. Out: with --truth, the iterations that the loop's user counts. The losses are written as these programs
write them, with PyTorch's functions or by hand.
"""

import argparse

from truth import Truth, add_options


def network(*sizes):
    layers = []
    for one, other in zip(sizes, sizes[1:]):
        layers += [nn.Linear(one, other), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def adam(*networks):
    return torch.optim.Adam([p for n in networks for p in n.parameters()], lr=1e-3)


def learn(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class Agent:
    """An actor and two critics, as in Stable-Baselines."""

    def __init__(self, given):
        self.given = given
        self.actor = network(8, 64, 64, 2)
        self.critics = [network(10, 64, 64, 1) for _ in range(2)]
        self.actor_optimizer, self.critic_optimizer = adam(self.actor), adam(*self.critics)
        self.entropy = torch.zeros(1, requires_grad=True)
        self.entropy_optimizer = torch.optim.Adam([self.entropy], lr=1e-3)

    def squared(self, one, other):
        if self.given.by_hand:
            return ((one - other) ** 2).mean()
        return nn.functional.mse_loss(one, other)

    def learn_critics(self, state, action, target):
        inputs = torch.cat([state, action], 1)
        loss = sum(self.squared(critic(inputs), target) for critic in self.critics)
        learn(self.critic_optimizer, 0.5 * loss if self.given.loop == "sac" else loss)

    def value(self, state, action):
        inputs = torch.cat([state, action], 1)
        return torch.min(*[critic(inputs) for critic in self.critics])

    def batch(self):
        return torch.randn(64, 8), torch.randn(64, 2), torch.randn(64, 1)


def sac(given, truth):
    agent = Agent(given)
    for _ in range(given.steps):
        with truth.step():
            state, action, target = agent.batch()
            mean = agent.actor(state)
            learn(agent.entropy_optimizer, -(agent.entropy * mean.sum(1).detach()).mean())
            agent.learn_critics(state, action, target)
            learn(agent.actor_optimizer, (0.1 * mean.sum(1) - agent.value(state, mean)).mean())


def td3(given, truth):
    agent = Agent(given)
    for number in range(given.steps):
        with truth.step():
            state, action, target = agent.batch()
            agent.learn_critics(state, action, target)
            if number % 2:
                learn(agent.actor_optimizer, -agent.value(state, agent.actor(state)).mean())


def wgan(given, truth):
    critic, maker = network(16, 64, 1), network(4, 64, 16)
    critic_optimizer, maker_optimizer = (torch.optim.RMSprop(n.parameters(), lr=1e-4) for n in (critic, maker))
    for _ in range(given.steps):
        with truth.step():
            real, noise = torch.randn(64, 16), torch.randn(64, 4)
            learn(critic_optimizer, critic(maker(noise).detach()).mean() - critic(real).mean())
            learn(maker_optimizer, -critic(maker(noise)).mean())


def distillation(given, truth):
    def loader(count):
        data = torch.utils.data.TensorDataset(torch.randn(count, 16), torch.randint(4, (count,)))
        return torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)

    teacher, student = network(16, 64, 4), network(16, 16, 4)
    optimizer = adam(student)
    ours, theirs = loader(16 * 50), loader(16 * 50)
    for _ in range(given.steps // 50):
        without = iter(theirs)
        for inputs, labels in ours:
            with truth.step():
                learn(optimizer, nn.functional.cross_entropy(student(inputs), labels))
                more, _ = next(without)
                with torch.no_grad():
                    wanted = teacher(more).softmax(1)
                learn(optimizer, nn.functional.kl_div(student(more).log_softmax(1), wanted, reduction="batchmean"))


def optimizer_of(given, model):
    """Of the kind that is asked for; with --groups one group of parameters for weights and one for biases."""
    parameters = list(model.parameters())
    if given.groups:
        parameters = [{"params": [p for p in parameters if p.dim() > 1]},
                      {"params": [p for p in parameters if p.dim() < 2]}]
    more = {"foreach": True} if given.foreach else {}
    if given.optimizer in ("SGD", "RMSprop"):
        more["momentum"] = given.momentum
    return getattr(torch.optim, given.optimizer)(parameters, lr=1e-3, **more)


def alike(given, truth):
    """Networks of one shape, which learn by one loss, each with an optimizer of its own of the same kind."""
    learners = [network(16, 64, 64, 4) for _ in range(given.networks)]
    learners = [(learner, optimizer_of(given, learner)) for learner in learners]
    for _ in range(given.steps):
        with truth.step():
            inputs, labels = torch.randn(16, 16), torch.randint(4, (16,))
            for learner, optimizer in learners:
                learn(optimizer, nn.functional.cross_entropy(learner(inputs), labels))


def ppo(given, truth):
    policy = network(8, 64, 64, 3)
    optimizer = adam(policy)
    for _ in range(given.steps):
        with truth.step():
            states = []
            with torch.no_grad():
                state = torch.randn(4, 8)
                for _ in range(256):
                    state = 0.9 * state + 0.1 * policy(state).sum(1, keepdim=True)
                    states.append(state)
            rollout = torch.cat(states)
            for _ in range(4):
                for part in torch.randperm(len(rollout)).split(128):
                    out = policy(rollout[part])
                    ratio = (out[:, 0] - out[:, 0].detach()).exp()
                    loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).mean()
                    learn(optimizer, loss + 0.5 * nn.functional.mse_loss(out[:, 2], rollout[part, 0]))


def products(given, truth):
    left, right = numpy.ones((64, 48)), numpy.ones((48, 64))
    for _ in range(given.steps):
        with truth.step():
            vector = numpy.ones((64, 8))
            for _ in range(10):
                vector = left @ (right @ vector)
                vector /= vector.max()


def xgb_cv(given, truth):
    data = xgboost.DMatrix(numpy.random.rand(500, 8), label=numpy.random.rand(500))

    class Rounds(xgboost.callback.TrainingCallback):
        def before_iteration(self, model, epoch, log):
            self.step = truth.step()
            self.step.__enter__()

        def after_iteration(self, model, epoch, log):
            self.step.__exit__(None, None, None)

    xgboost.cv({"max_depth": 3, "nthread": 1}, data, given.steps, nfold=5, callbacks=[Rounds()])


LOOPS = {
    "sac": sac, "td3": td3, "wgan": wgan, "distillation": distillation, "alike": alike, "ppo": ppo,
    "products": products, "xgb-cv": xgb_cv,
}

options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 300)
options.add_argument("--loop", choices=LOOPS, required=True)
options.add_argument("--by-hand", action="store_true", help="losses by hand, which call no function of PyTorch's for them")
options.add_argument("--networks", type=int, default=2, help="alike: how many (2)")
options.add_argument("--optimizer", default="Adam", help="alike: its class (Adam)")
options.add_argument("--momentum", type=float, default=0, help="alike: of SGD and RMSprop (0)")
options.add_argument("--foreach", action="store_true", help="alike: one call for all parameters of a group")
options.add_argument("--groups", action="store_true", help="alike: two groups of parameters")
chosen = options.parse_args()
if chosen.loop == "xgb-cv":
    import numpy
    import xgboost
elif chosen.loop == "products":
    import numpy
else:
    import torch
    from torch import nn

    torch.manual_seed(chosen.seed)
    torch.set_num_threads(1)
with Truth(chosen) as notes:
    LOOPS[chosen.loop](chosen, notes)
