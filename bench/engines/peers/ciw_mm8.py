"""M/M/8 at load 0.8 in Ciw."""
import sys
import time

import ciw

jobs, seed = int(sys.argv[1]), int(sys.argv[2])
begin = time.process_time()
ciw.seed(seed)
network = ciw.create_network(
    arrival_distributions=[ciw.dists.Exponential(rate=6.4)],
    service_distributions=[ciw.dists.Exponential(rate=1.0)],
    number_of_servers=[8],
)
simulation = ciw.Simulation(network)
simulation.simulate_until_max_customers(jobs, method="Finish")
spent = time.process_time() - begin
records = simulation.get_all_records()
total = sum(r.exit_date - r.arrival_date for r in records)
print(len(records), spent, total / max(r.exit_date for r in records))
