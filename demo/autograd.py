"""Reverse-mode automatic differentiation on scalars: what PyTorch's autograd does, small enough to read.

Each operation makes a Node that knows its operands and carries a closure that passes its gradient back
to them. The closure needs the node's gradient and the node holds the closure, so every node is a
reference cycle: nothing but the cycle collector can free a graph.
"""

from math import tanh


class Node:
    """A number, the numbers it was made of, and how its gradient flows back to them."""

    __slots__ = ("value", "gradient", "operands", "pass_back")

    def __init__(self, value, operands=()):
        self.value = value
        self.gradient = 0.0
        self.operands = operands
        self.pass_back = None

    def squashed(self):
        """tanh of this number."""
        result = Node(tanh(self.value), (self,))

        def pass_back():
            self.gradient += result.gradient * (1.0 - result.value * result.value)

        result.pass_back = pass_back
        return result

    def squared_distance(self, target):
        """(this number - target)², with a target that is no node."""
        result = Node((self.value - target) ** 2, (self,))

        def pass_back():
            self.gradient += result.gradient * 2.0 * (self.value - target)

        result.pass_back = pass_back
        return result


def weighted_sum(weights, inputs, bias):
    """The dot product of two lists of nodes, plus a node: one neuron before its squashing."""
    total = bias.value
    for weight, given in zip(weights, inputs):
        total += weight.value * given.value
    result = Node(total, (*weights, *inputs, bias))

    def pass_back():
        gradient = result.gradient
        bias.gradient += gradient
        for weight, given in zip(weights, inputs):
            weight.gradient += gradient * given.value
            given.gradient += gradient * weight.value

    result.pass_back = pass_back
    return result


def mean(nodes):
    result = Node(sum(node.value for node in nodes) / len(nodes), tuple(nodes))

    def pass_back():
        share = result.gradient / len(nodes)
        for node in nodes:
            node.gradient += share

    result.pass_back = pass_back
    return result


def backward(loss):
    """Adds d(loss)/d(node) to the gradient of every node that the loss was made of."""
    order, seen, waiting = [], set(), [(loss, False)]
    while waiting:
        node, operands_done = waiting.pop()
        if operands_done:
            order.append(node)
        elif node not in seen and node.pass_back:
            seen.add(node)
            waiting.append((node, True))
            waiting.extend((operand, False) for operand in node.operands)
    loss.gradient = 1.0
    for node in reversed(order):
        node.pass_back()
