"""M/M/8 at load 0.8 in SimGrid: an actor for each job, a Semaphore for the servers."""
import random
import sys
import time

from simgrid import Actor, Engine, NetZone, Semaphore, this_actor

jobs, seed = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed).expovariate
total, left, end = 0.0, jobs, 0.0


def job(servers):
    global total, left, end
    arrived = Engine.clock
    servers.acquire()
    this_actor.sleep_for(draw(1.0))
    servers.release()
    total += Engine.clock - arrived
    left -= 1
    end = Engine.clock


def arrivals(host):
    servers = Semaphore(8)
    for _ in range(jobs):
        this_actor.sleep_for(draw(6.4))
        Actor.create("job", host, job, servers)


begin = time.process_time()
engine = Engine(["mm8", "--log=root.thres:error"])
zone = NetZone.create_full_zone("zone")
host = zone.create_host("host", 1e9)
zone.seal()
Actor.create("arrivals", host, arrivals, host)
engine.run()
print(jobs - left, time.process_time() - begin, total / end)
