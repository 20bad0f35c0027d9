"""Trains a perceptron with JAX and Equinox on the first GPU; options in loop.py."""

import equinox
import jax
import jax.numpy as jnp

import loop


@equinox.filter_jit
def train_step(model, data):
    loss, grads = equinox.filter_value_and_grad(lambda m: jnp.square(jax.vmap(m)(data)).mean())(model)
    return jax.tree.map(lambda p, g: p - 1e-6 * g if equinox.is_array(p) else p, model, grads), loss


class Jax:
    name = "JAX %s, Equinox %s" % (jax.__version__, equinox.__version__)
    library = "libjax_common.so"
    profile = None  # JAX's writes no Kineto trace

    def __init__(self, args):
        jax.config.update("jax_default_device", jax.devices("cpu" if args.cpu else "gpu")[0])
        key = jax.random.PRNGKey(7)
        self.model = equinox.nn.MLP(args.width, args.width, args.width, 6, key=key)
        self.data = jax.random.normal(key, (args.width, args.width))
        self.last = None
        self.one = jnp.zeros(1)
        self.add = jax.jit(lambda x: x + 1)

    def step(self):
        self.model, self.last = train_step(self.model, self.data)

    def small(self):
        self.last = self.one = self.add(self.one)

    def event(self):
        return self.last

    def wait(self, event):
        event.block_until_ready()


loop.main(Jax)
