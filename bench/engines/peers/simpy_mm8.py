"""M/M/8 at load 0.8 in SimPy: a process for each job, a Resource for the servers."""
import random
import sys
import time

import simpy

jobs, seed = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed).expovariate
env = simpy.Environment()
servers = simpy.Resource(env, capacity=8)
total, left, done = 0.0, jobs, env.event()


def job():
    global total, left
    arrived = env.now
    with servers.request() as request:
        yield request
        yield env.timeout(draw(1.0))
    total += env.now - arrived
    left -= 1
    if left == 0:
        done.succeed()


def arrivals():
    while True:
        yield env.timeout(draw(6.4))
        env.process(job())


begin = time.process_time()
env.process(arrivals())
env.run(until=done)
print(jobs, time.process_time() - begin, total / env.now)
