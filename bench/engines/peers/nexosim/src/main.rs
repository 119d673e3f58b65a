//! M/M/8 at load 0.8 in nexosim: a source and a station, joined by a port; arrivals and
//! ends of services are events that the models schedule for themselves.
use std::collections::VecDeque;
use std::time::Duration;

use cpu_time::ProcessTime;
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, EventSource, Output, SinkState, event_queue};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

const RATE: f64 = 6.4;
const SERVERS: usize = 8;

fn exponential(random: &mut Pcg64Mcg, mean: f64) -> Duration {
    let x: f64 = Exp1.sample(random);
    // An event must lie after the present.
    Duration::from_secs_f64(x * mean).max(Duration::from_nanos(1))
}

#[derive(Serialize, Deserialize)]
struct Source {
    job: Output<()>,
    random: Pcg64Mcg,
}

#[Model]
impl Source {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        let gap = exponential(&mut self.random, 1.0 / RATE);
        cx.schedule_event(gap, schedulable!(Self::arrive), ()).unwrap();
    }

    #[nexosim(schedulable)]
    async fn arrive(&mut self, _: (), cx: &Context<Self>) {
        self.job.send(()).await;
        let gap = exponential(&mut self.random, 1.0 / RATE);
        cx.schedule_event(gap, schedulable!(Self::arrive), ()).unwrap();
    }
}

#[derive(Serialize, Deserialize)]
struct Station {
    result: Output<(u64, f64)>,
    free: usize,
    waiting: VecDeque<MonotonicTime>,
    random: Pcg64Mcg,
    jobs: u64,
    total: f64,
}

#[Model]
impl Station {
    async fn job(&mut self, _: (), cx: &Context<Self>) {
        if self.free > 0 {
            self.free -= 1;
            self.serve(cx.time(), cx);
        } else {
            self.waiting.push_back(cx.time());
        }
    }

    fn serve(&mut self, arrived: MonotonicTime, cx: &Context<Self>) {
        let length = exponential(&mut self.random, 1.0);
        cx.schedule_event(length, schedulable!(Self::leave), arrived).unwrap();
    }

    #[nexosim(schedulable)]
    async fn leave(&mut self, arrived: MonotonicTime, cx: &Context<Self>) {
        self.jobs += 1;
        self.total += cx.time().duration_since(arrived).as_secs_f64();
        match self.waiting.pop_front() {
            Some(next) => self.serve(next, cx),
            None => self.free += 1,
        }
    }

    async fn report(&mut self, _: ()) {
        self.result.send((self.jobs, self.total)).await;
    }
}

fn main() -> Result<(), nexosim::simulation::SimulationError> {
    let arguments: Vec<String> = std::env::args().collect();
    let jobs: f64 = arguments[1].parse().unwrap();
    let seed: u64 = arguments[2].parse().unwrap();
    let begin = ProcessTime::now();
    let mut source = Source { job: Output::default(), random: Pcg64Mcg::seed_from_u64(2 * seed) };
    let mut station = Station {
        result: Output::default(),
        free: SERVERS,
        waiting: VecDeque::new(),
        random: Pcg64Mcg::seed_from_u64(2 * seed + 1),
        jobs: 0,
        total: 0.0,
    };
    let (source_box, station_box) = (Mailbox::new(), Mailbox::new());
    source.job.connect(Station::job, &station_box);
    let (sink, mut results) = event_queue(SinkState::Enabled);
    station.result.connect_sink(sink);
    let mut bench = SimInit::with_num_threads(1);
    let report = EventSource::new().connect(Station::report, &station_box).register(&mut bench);
    let mut simulation = bench
        .add_model(source, source_box, "source")
        .add_model(station, station_box, "station")
        .init(MonotonicTime::EPOCH)?;
    let end = jobs / RATE;
    simulation.step_until(Duration::from_secs_f64(end))?;
    simulation.process_event(&report, ())?;
    let (done, total) = results.try_read().unwrap();
    println!("{} {:.9} {:.9}", done, begin.elapsed().as_secs_f64(), total / end);
    Ok(())
}
