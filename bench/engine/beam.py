"""Extraction by beam search, as a baseline that shares nothing with the engine: each class keeps the few cheapest choices found for it.

A choice for a class is the node of every class below it, each paid once. Choices for the children of a node are joined one child after the other,
the cheapest few kept; where two disagree on a class the first one decides, and what is then cyclic is dropped.
"""
import collections
import heapq
import json
import time


def read(path):
    """Classes by number: for each a list of (cost, children); and the roots."""
    with open(path) as file:
        graph = json.load(file)
    nodes = graph["nodes"]
    number = {}
    for node in nodes.values():
        number.setdefault(node["eclass"], len(number))
    classes = [[] for _ in number]
    for node in nodes.values():
        children = sorted({number[nodes[child]["eclass"]] for child in node["children"]})
        classes[number[node["eclass"]]].append((float(node["cost"]), children))
    return classes, sorted({number[c] for c in graph["root_eclasses"]})


def settled(classes):
    """Classes in the order of their cheapest trees, each with the node of it: a choice without cycles to begin with."""
    users = collections.defaultdict(list)
    missing, total, queue = {}, {}, []
    for c, nodes in enumerate(classes):
        for n, (cost, children) in enumerate(nodes):
            missing[c, n], total[c, n] = len(children), cost
            for d in children:
                users[d].append((c, n))
            if not children:
                queue.append((cost, c, n))
    heapq.heapify(queue)
    first = {}
    while queue:
        cost, c, n = heapq.heappop(queue)
        if c in first:
            continue
        first[c] = n
        for user in users[c]:
            total[user] += cost
            missing[user] -= 1
            if missing[user] == 0 and user[0] not in first:
                heapq.heappush(queue, (total[user], *user))
    return first


class Beam:
    def __init__(self, path, width, seconds):
        self.classes, self.roots = read(path)
        self.width, self.end = width, time.monotonic() + seconds
        self.best = [[] for _ in self.classes]  # of each class: (cost, {class: node}), cheapest first

    def run(self, passes=3):
        """The cost of the best choice for all roots; infinite where there was no time for one."""
        order = settled(self.classes)
        for _ in range(passes):
            before = sum(b[0][0] for b in self.best if b)
            for c in order:
                if time.monotonic() > self.end:
                    break
                self.extend(c)
            if before == sum(b[0][0] for b in self.best if b):
                break
        whole = self.joined(self.roots, float("inf"))
        return whole[0][0] if whole else float("inf")

    def extend(self, c):
        found = {round(cost, 9): (cost, choice) for cost, choice in self.best[c]}
        for n, (cost, children) in enumerate(self.classes[c]):
            most = sorted(found)[self.width - 1] if len(found) >= self.width else float("inf")
            if any(not self.best[d] or cost + self.best[d][0][0] >= most for d in children):
                continue
            for below, choice in self.joined(children, most - cost):
                if c not in choice:
                    found.setdefault(round(cost + below, 9), (cost + below, {**choice, c: n}))
        self.best[c] = [found[key] for key in sorted(found)[:self.width]]

    def joined(self, children, most):
        """Choices for all of these classes together, each cheaper than `most`."""
        partial = [(0.0, {})]
        for d in children:
            further = {}
            for cost, choice in partial:
                for _, more in self.best[d]:
                    joined = self.join(cost, choice, more, children)
                    if joined and joined[0] < most:
                        further.setdefault(round(joined[0], 9), joined)
            partial = [further[key] for key in sorted(further)[:self.width]]
        return partial

    def join(self, cost, choice, more, children):
        both, agree = dict(choice), True
        for c, n in more.items():
            if c not in both:
                both[c] = n
                cost += self.classes[c][n][0]
            elif both[c] != n:
                agree = False
        # Where they agree, both are closed and without cycles, and so is the union.
        return (cost, both) if agree else self.walked(both, [d for d in children if d in both])

    def walked(self, choice, roots):
        """What of a choice is needed, or nothing where it has a cycle."""
        state, order = {}, []
        for root in roots:
            if root in state:
                continue
            state[root] = 1
            stack = [(root, iter(self.classes[root][choice[root]][1]))]
            while stack:
                c, rest = stack[-1]
                d = next(rest, None)
                if d is None:
                    state[c] = 2
                    order.append(c)
                    stack.pop()
                elif d not in choice or state.get(d) == 1:
                    return None
                elif d not in state:
                    state[d] = 1
                    stack.append((d, iter(self.classes[d][choice[d]][1])))
        return sum(self.classes[c][choice[c]][0] for c in order), {c: choice[c] for c in order}


def extract(path, width=4, seconds=60):
    return Beam(path, width, seconds).run()
