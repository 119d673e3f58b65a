"""M/M/8 at load 0.8 in salabim: a component for each job, a Resource for the servers."""
import sys
import time

import salabim as sim

sim.yieldless(False)  # half as fast again as its yieldless form, which needs greenlet

jobs, seed = int(sys.argv[1]), int(sys.argv[2])
total, left = 0.0, jobs


class Job(sim.Component):
    def process(self):
        global total, left
        arrived = env.now()
        yield self.request(servers)
        yield self.hold(service.sample())
        self.release()
        total += env.now() - arrived
        left -= 1
        if left == 0:
            main.activate()


class Arrivals(sim.Component):
    def process(self):
        while True:
            yield self.hold(gap.sample())
            Job()


begin = time.process_time()
env = sim.Environment(trace=False, random_seed=seed)
env.suppress_trace_standby()
servers = sim.Resource("servers", capacity=8, monitor=False)
gap, service = sim.Exponential(1 / 6.4), sim.Exponential(1.0)
main = env.main()
Arrivals()
env.run()
print(jobs, time.process_time() - begin, total / env.now())
