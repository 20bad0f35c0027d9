"""Loops whose iteration is not simply one call of an optimizer, drawn: what they call, and how often they went round.

In: a name and a seed. Out: the marks that the calls leave, the pauses, when it ended, and the iterations that the loop's user
counts. What takes how long, how much it varies, how many parts an iteration has, and whether losses are PyTorch's or by
hand, is drawn.
"""

import math
import random
from types import SimpleNamespace

MS = 1_000_000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
SHARE_DOUBTED = 0.1  # of the time: a rollout that takes less may be a checkpoint
SHARE_SAID = 0.02  # below which it is not said


class Thread:
    """What it does takes time, and CPU time; a pause takes both and comes anywhere."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.now, self.worked = 10**12, 7 * MS
        self.marks, self.pauses = [], []
        self.jitter = self.log(0.01, 0.3)
        self.pausing = self.log(0.0003, 0.01)  # chance of a pause before a call

    def log(self, low, high):
        """Each power of ten alike."""
        return math.exp(self.chance.uniform(math.log(low), math.log(high)))

    def work(self, ns):
        ns = max(int(ns / 5), int(self.chance.gauss(1, self.jitter) * ns))
        self.now += ns
        self.worked += ns

    def call(self, signal, label=None, number=None, after=MS):
        self.work(after)
        if self.chance.random() < self.pausing:
            length = int(self.log(1, 60) * MS)
            self.pauses.append((self.now, length))
            self.now += length
            self.worked += length
        self.marks.append((self.now, self.worked, signal, label, number))


class Torch(Thread):
    """A program of PyTorch's. What updates write to is seen as by this gctrace, in parts, or as by older ones: not."""

    def __init__(self, seed, always_seen=False):
        super().__init__(seed)
        self.seen = 1 if always_seen else self.chance.choice([0, 1, 1])
        self.optimizer = self.chance.choice(["Adam", "AdamW", "SGD", "RMSprop"])
        self.pace = int(self.log(0.05, 5) * MS)
        self.zeroes = self.chance.random() < 0.9
        self.by_hand = self.chance.random() < 0.5

    def batch(self):
        self.call("torch:record", LOADER, after=self.pace)

    def loss(self, name="mse_loss"):
        if self.by_hand:
            return
        self.call("torch:loss", name, after=self.pace)
        if name == "cross_entropy_loss":
            self.call("torch:loss", "nll_loss_nd", after=1000)

    def learn(self, who, differentiated=1):
        """who: whose parameters; differentiated: the class of the loss's last operation."""
        if self.zeroes:
            self.call("torch:record", "Optimizer.zero_grad#%s.zero_grad" % self.optimizer, after=self.pace // 10)
        self.call("torch:backward", None, 0x7F0000001000 + 64 * differentiated, after=self.pace)
        self.update(who)

    def update(self, who):
        self.call("torch:record", "Optimizer.step#%s.step" % self.optimizer, after=self.pace)
        if self.seen:
            self.call("torch:learner", None, 0x7F0000100000 + 4096 * who, after=2000)


def sac(seed):
    """An entropy, two critics and an actor, in any order."""
    torch = Torch(seed)
    order = [(0, 1, 0), (1, 2, 2), (2, 3, 0)]
    torch.chance.shuffle(order)
    steps = torch.chance.randint(30, 500)
    for _ in range(steps):
        for who, differentiated, losses in order:
            for _ in range(losses):
                torch.loss()
            torch.learn(who, differentiated)
    return torch, steps


def td3(seed):
    """An actor that learns less often than its critic."""
    torch = Torch(seed)
    delay, steps = torch.chance.randint(2, 5), torch.chance.randint(60, 700)
    for i in range(steps):
        torch.loss()
        torch.learn(0, 1)
        if i % delay == delay - 1:
            torch.learn(1, 2)
    return torch, steps


def wgan(seed):
    """Some updates of the critic for each of the generator's."""
    torch = Torch(seed)
    critics, steps = torch.chance.randint(1, 10), torch.chance.randint(30, 300)
    for _ in range(steps):
        for _ in range(critics):
            torch.learn(0, 1)
        torch.learn(1, 2)
    return torch, steps


def distillation(seed):
    """Of labels, then of a teacher, with a batch for each."""
    torch = Torch(seed)
    torch.by_hand = False
    loaders, steps = torch.chance.random() < 0.5, torch.chance.randint(30, 500)
    for _ in range(steps):
        for differentiated, loss in ((1, "cross_entropy_loss"), (2, "kl_div")):
            if loaders:
                torch.batch()
            torch.loss(loss)
            torch.learn(0, differentiated)
    return torch, steps


def alike(seed):
    """Networks of one shape that learn by one loss in one loop."""
    torch = Torch(seed, always_seen=True)
    networks, steps = torch.chance.randint(2, 9), torch.chance.randint(30, 500)
    let_go = torch.chance.choice([1, 1, 0.1])  # after that share of the loop no more writes are watched
    for i in range(steps):
        torch.seen = i <= max(12, let_go * steps)
        for who in range(networks):
            torch.loss("cross_entropy_loss")
            torch.learn(who)
    return torch, steps


def play_and_learn(torch, share, least):
    """share: of the time, and least: of a minibatch's time, that it plays."""
    batches, steps = torch.chance.randint(4, 64), torch.chance.randint(10, 60)
    of_one = 2.1 + torch.zeroes * 0.1 + (not torch.by_hand)
    rollout = share / (1 - share) * batches * of_one * torch.pace
    for _ in range(steps):
        torch.work(max(rollout, least * of_one * torch.pace))
        for _ in range(batches):
            torch.loss()
            torch.learn(0)
    return torch, steps


def ppo(seed):
    """Plays, then learns from minibatches of what was played."""
    torch = Torch(seed)
    return play_and_learn(torch, torch.chance.uniform(1.5 * SHARE_DOUBTED, 0.9), 4)


def ppo_short(seed):
    """The same where it takes no longer to play than others need for a checkpoint."""
    torch = Torch(seed)
    return play_and_learn(torch, torch.chance.uniform(1.5 * SHARE_SAID, SHARE_DOUBTED), 1.5)


def checkpoints(seed):
    """One network that is saved every so many steps."""
    torch = Torch(seed)
    torch.by_hand = False
    steps, every = torch.chance.randint(300, 700), torch.chance.randint(11, 60)
    share = torch.chance.uniform(0.005, 0.8 * SHARE_DOUBTED)
    for i in range(steps):
        torch.loss()
        torch.learn(0)
        if i % every == every - 1:
            torch.work(share / (1 - share) * every * 3.2 * torch.pace)
    return torch, steps


def plain(seed):
    """One network, with and without a loader, evaluated or not, with accumulated gradients or not."""
    torch = Torch(seed)
    steps, epoch = torch.chance.randint(100, 700), torch.chance.randint(30, 90)
    loaders, evaluated = torch.chance.random() < 0.5, torch.chance.random() < 0.5
    torch.by_hand &= loaders or not evaluated  # else an evaluation shows nothing
    for i in range(steps):
        if loaders:
            torch.batch()
        torch.loss()
        torch.learn(0)
        for _ in range(7 if evaluated and i % epoch == epoch - 1 else 0):
            if loaders:
                torch.batch()
            torch.loss()
    return torch, steps


def joint(seed):
    """Networks that learn by one loss together, each with an optimizer of its own."""
    torch = Torch(seed)
    networks, steps = torch.chance.randint(2, 5), torch.chance.randint(30, 500)
    for _ in range(steps):
        torch.loss()
        torch.learn(0)
        for who in range(1, networks):
            torch.update(who)
    return torch, steps


def gan(seed):
    """Two networks that learn in turn from each batch of a loader."""
    torch = Torch(seed)
    steps = torch.chance.randint(30, 500)
    for _ in range(steps):
        torch.batch()
        for who in range(2):
            torch.loss("binary_cross_entropy")
            torch.learn(who)
    return torch, steps


def xgb_cv(seed):
    """Each round one update of each fold's booster."""
    thread = Thread(seed)
    folds, steps = thread.chance.randint(2, 10), thread.chance.randint(30, 300)
    pace = int(thread.log(0.3, 20) * MS)
    for _ in range(steps):
        for fold in range(folds):
            thread.call("xgboost:update", None, 0x556600000000 + 4096 * fold, pace)
    return thread, steps


def products(seed):
    """NumPy: some products of matrices in turn, several times an iteration."""
    thread = Thread(seed)
    kinds, times = thread.chance.randint(2, 12), thread.chance.randint(1, 20)
    steps, pace = thread.chance.randint(60, 300), int(thread.log(0.05, 5) * MS)
    for _ in range(steps):
        thread.work(pace)
        for _ in range(times):
            for kind in range(kinds):
                thread.call("blas:gemm", "%dx8x48" % (32 + kind), (32 + kind) << 42 | 8 << 21 | 48, pace)
    return thread, steps


def keras(seed):
    """On JAX: train_step each step, test_step in an evaluation after each epoch."""
    thread = Thread(seed)
    epochs, epoch, tests = (thread.chance.randint(*most) for most in ((2, 6), (30, 90), (0, 20)))
    pace = int(thread.log(0.5, 20) * MS)
    for _ in range(epochs):
        for name, count, inputs in (("train_step", epoch, 23), ("test_step", tests, 9)):
            for _ in range(count):
                thread.call("jax:pjit", name, None, pace)
                thread.call("jax:execute", None, inputs, pace // 10)
    return thread, epochs * epoch


def run_jitted(thread, name, inputs, pace):
    thread.call("jax:pjit", name, None, pace)
    thread.call("jax:execute", None, inputs, pace // 10)


def reptile(seed):
    """On JAX: some inner updates, then an outer one of about as many inputs; their names do not tell which is the step."""
    thread = Thread(seed)
    inner, steps, inputs = thread.chance.randint(2, 12), thread.chance.randint(30, 300), thread.chance.randint(9, 60)
    names = thread.chance.choice([("<lambda>", "<lambda>"), ("inner_update", "outer_update"), ("f", "g")])
    pace = int(thread.log(0.1, 5) * MS)
    for _ in range(steps):
        for _ in range(inner):
            run_jitted(thread, names[0], inputs, pace)
        run_jitted(thread, names[1], inputs + 2, pace)
    return thread, steps


def jax_ppo(seed):
    """On JAX: a policy that is run so many times, then minibatches."""
    thread = Thread(seed)
    batches, steps, moves = thread.chance.randint(4, 64), thread.chance.randint(10, 60), thread.chance.randint(20, 200)
    pace = int(thread.log(0.1, 5) * MS)
    for _ in range(steps):
        for _ in range(moves):
            run_jitted(thread, "act", 7, pace)
        for _ in range(batches):
            run_jitted(thread, "update", 23, pace)
    return thread, steps


def jax_target(seed):
    """On JAX: a training step, whose name says so, and a target network that is updated now and then."""
    thread = Thread(seed)
    every, steps = thread.chance.randint(2, 20), thread.chance.randint(100, 500)
    pace = int(thread.log(0.1, 5) * MS)
    for i in range(steps):
        run_jitted(thread, "train_step", 23, pace)
        if i % every == every - 1:
            run_jitted(thread, "soft_update", 16, pace)
    return thread, steps


def server(seed):
    """Requests over several connections, of which any number are under way."""
    thread = Thread(seed)
    connections, count = thread.chance.randint(1, 30), thread.chance.randint(50, 900)
    pace, open_now, begun = int(thread.log(0.05, 5) * MS), [], 0
    free = list(range(7, 7 + connections))
    while begun < count or open_now:
        if begun < count and free and (not open_now or thread.chance.random() < 0.5):
            open_now.append(free.pop(thread.chance.randrange(len(free))))
            begun += 1
            thread.call("http:request", None, open_now[-1], pace)
        else:
            free.append(open_now.pop(thread.chance.randrange(len(open_now))))
            thread.call("http:response", None, free[-1], pace)
    return thread, count


# Of these it has to be said what their steps are; of the others it may be left open.
KNOWN = {
    "plain": plain, "one loss": joint, "GAN": gan, "xgb.cv": xgb_cv, "Keras": keras, "checkpoints": checkpoints,
    "JAX, target network": jax_target,
}
# Nothing that is recorded tells one of these from a loop that is known: both levels are in the report.
OFFERED = {"PPO, short rollouts": ppo_short, "PPO on JAX": jax_ppo}
LEVELS = {
    "SAC": sac, "TD3": td3, "WGAN": wgan, "distillation": distillation, "networks that are alike": alike,
    "PPO": ppo, "NumPy": products, "Reptile on JAX": reptile, **OFFERED, **KNOWN,
}


def play(loop, seed):
    thread, steps = loop(seed)
    return SimpleNamespace(marks=thread.marks, pauses=thread.pauses, end=thread.now, steps=steps)
