"""Jobs that repeat one kind of work and say how often: job.py KIND [ARGUMENTS]."""
import ctypes, fcntl, mmap, multiprocessing, os, queue, random, select, socket, struct, subprocess, sys, threading, time

began = last = 0.0
done = 0


def mark():
    """A job is done; four times a second a line says how many are."""
    global done, last
    done += 1
    now = time.time()
    if now - last >= 0.25:
        last = now
        print("mark", repr(now), done, flush=True)


def compute(rounds):
    x = 0
    for i in range(rounds):
        x += i * i
    return x


def cpu(processes=1, rounds=20000):
    for _ in range(int(processes) - 1):
        if os.fork() == 0:
            while True:
                compute(int(rounds))
    while True:
        compute(int(rounds))
        mark()


def pace(duty=0.3, rounds=20000):
    """Compute for a share of the time."""
    while True:
        at = time.time()
        compute(int(rounds))
        time.sleep((time.time() - at) * (1 / float(duty) - 1))
        mark()


def sync(path, rounds=1000):
    f = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        compute(int(rounds))
        os.pwrite(f, b"x" * 4096, random.randrange(256) * 4096)
        os.fdatasync(f)
        mark()


def through(path, rounds=1000):
    """Writes of which each waits for the device."""
    f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DSYNC)
    while True:
        compute(int(rounds))
        os.pwrite(f, b"x" * 4096, random.randrange(256) * 4096)
        mark()


def read(path, megabytes=256, rounds=1000):
    """Random reads past the page cache."""
    with open(path, "wb") as f:
        for _ in range(int(megabytes)):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
    f = os.open(path, os.O_RDONLY | os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    while True:
        compute(int(rounds))
        os.preadv(f, [page], random.randrange(int(megabytes) * 256) * 4096)
        mark()


def write(path, megabytes=200):
    """Writes past the page cache."""
    f = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    page = mmap.mmap(-1, 1 << 18)
    while True:
        os.pwrite(f, page, random.randrange(int(megabytes) * 4) << 18)
        mark()


def memory(path, megabytes=300):
    """Touch pages of a file that may not fit."""
    size = int(megabytes) << 20
    with open(path, "wb") as f:
        for _ in range(int(megabytes)):
            f.write(os.urandom(1 << 20))
        f.flush()
        os.fsync(f.fileno())
    f = os.open(path, os.O_RDONLY)
    m = mmap.mmap(f, size, mmap.MAP_SHARED, mmap.PROT_READ)
    m.madvise(mmap.MADV_RANDOM)
    while True:
        for _ in range(500):
            m[random.randrange(size)]
        mark()


def fork(n=1):
    while True:
        subprocess.run(["/bin/true"])
        mark()


def child(pause=0, rounds=2000):
    """Wait for a program that it starts."""
    while True:
        compute(int(rounds))
        subprocess.run(["sleep", pause])
        mark()


def lock(path, hold=0, rounds=2000):
    """Take a lock of a file, work, and give it back."""
    f = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        fcntl.flock(f, fcntl.LOCK_EX)
        compute(int(rounds))
        time.sleep(float(hold))
        fcntl.flock(f, fcntl.LOCK_UN)
        time.sleep(0.0005)
        mark()


def opens(path, rounds=2000):
    """Open a file again and again."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT))
    while True:
        compute(int(rounds))
        os.close(os.open(path, os.O_RDONLY))
        mark()


def guard(path, pause=0.01):
    """Be asked before others open a file, as a scanner for viruses is (fanotify)."""
    libc = ctypes.CDLL(None, use_errno=True)
    f = libc.fanotify_init(4, os.O_RDONLY)
    libc.fanotify_mark(f, 1, ctypes.c_uint64(0x10000), -100, path.encode())
    while True:
        told = os.read(f, 4096)
        while told:
            length, opened = struct.unpack_from("=I12xi", told)
            time.sleep(float(pause))
            os.write(f, struct.pack("=iI", opened, 1))
            os.close(opened)
            told = told[length:]


def semaphore(key, hold=0, rounds=2000):
    """Take a semaphore of System V, work, and give it back."""
    libc = ctypes.CDLL(None, use_errno=True)
    at = libc.semget(int(key), 1, 0o1600)
    if at >= 0 and not float(hold):
        libc.semctl(at, 0, 16, 1)
    while True:
        libc.semop(at, struct.pack("=Hhh", 0, -1, 0x1000), 1)
        compute(int(rounds))
        time.sleep(float(hold))
        libc.semop(at, struct.pack("=Hhh", 0, 1, 0x1000), 1)
        time.sleep(0.0005)
        mark()


def threads(n=8, hold=0.005, rounds=1000):
    """Threads that sleep while they hold the one lock."""
    held, counted = threading.Lock(), threading.Lock()

    def one():
        while True:
            with held:
                compute(int(rounds))
                time.sleep(float(hold))
            with counted:
                mark()

    for _ in range(int(n) - 1):
        threading.Thread(target=one, daemon=True).start()
    one()


def interpreter(hogs=0, rounds=200):
    """Have a little work again and again, beside threads that always compute."""
    def hog():
        while True:
            compute(20000)

    for _ in range(int(hogs)):
        threading.Thread(target=hog, daemon=True).start()
    while True:
        time.sleep(0.0005)
        compute(int(rounds))
        mark()


def record(path, hold=0, rounds=2000):
    """The same with a lock of a record."""
    f = os.open(path, os.O_RDWR | os.O_CREAT)
    while True:
        fcntl.lockf(f, fcntl.LOCK_EX, 1)
        compute(int(rounds))
        time.sleep(float(hold))
        fcntl.lockf(f, fcntl.LOCK_UN, 1)
        time.sleep(0.0005)
        mark()


def syscalls(rounds=200):
    f = os.open("/dev/null", os.O_WRONLY)
    while True:
        for _ in range(20):
            os.write(f, b"x")
        compute(int(rounds))
        mark()


def pipe(pause=0, path="", rounds=2000):
    """Write to a process that reads slowly, by a pipe or a FIFO."""
    r, w = os.pipe()
    if path:
        os.mkfifo(path)
        r, w = os.open(path, os.O_RDWR), os.open(path, os.O_WRONLY)
    if os.fork() == 0:
        os.close(w)
        while os.read(r, 4096):
            time.sleep(float(pause))
        os._exit(0)
    while True:
        compute(int(rounds))
        os.write(w, b"x" * 4096)
        mark()


def ask(patience=0, rounds=2000):
    """Ask a server that does not answer, as one of names."""
    nobody = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    nobody.bind(("127.0.0.1", 0))
    while True:
        compute(int(rounds))
        if float(patience) > 0:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.connect(nobody.getsockname())
                s.send(b"x" * 30)
                p = select.poll()
                p.register(s, select.POLLIN)
                p.poll(1000 * float(patience))
        mark()


def forks(megabytes=0, rounds=2000):
    """Begin a process for each job."""
    held = bytearray(os.urandom(1 << 20)) * int(megabytes)
    while True:
        compute(int(rounds))
        child = os.fork()
        if child == 0:
            os._exit(len(held) & 1)
        os.waitpid(child, 0)
        mark()


def churns(back=0, rounds=2000):
    """Fill memory that is new each time, or the same."""
    m = mmap.mmap(-1, 4 << 20)
    while True:
        compute(int(rounds))
        if int(back):
            m.close()
            m = mmap.mmap(-1, 4 << 20)
        m[::4096] = b"x" * 1024
        mark()


def answer(pause=0):
    """Answer what comes over UDP."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 5354))
    while True:
        text, who = s.recvfrom(100)
        time.sleep(float(pause))
        s.sendto(text, who)


def resolve(rounds=2000):
    """Ask by a socket of its own each time, which is not connected."""
    while True:
        compute(int(rounds))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(1)
            try:
                s.sendto(b"x" * 30, ("127.0.0.1", 5354))
                s.recvfrom(100)
                mark()
            except TimeoutError:
                pass


def dial(patience=0, rounds=2000):
    """Connect to a server that takes no more connections."""
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    first = socket.create_connection(full.getsockname())
    while True:
        compute(int(rounds))
        if float(patience) > 0:
            with socket.socket() as s:
                s.settimeout(float(patience))
                try:
                    s.connect(full.getsockname())
                except TimeoutError:
                    pass
        mark()


def log(pause=0, rounds=2000):
    """Send lines to a log daemon that takes them slowly."""
    daemon, path = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "%s/dev-log" % os.environ["LOG"]
    daemon.bind(path)
    if os.fork() == 0:
        while daemon.recv(4096):
            time.sleep(float(pause))
    daemon.close()
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.connect(path)
    while True:
        compute(int(rounds))
        s.send(b"x" * 200)
        mark()


def send(pause=0, rounds=2000):
    """Send to a client that reads slowly."""
    l = socket.socket()
    l.bind(("127.0.0.1", 0))
    l.listen(1)
    if os.fork() == 0:
        c = socket.create_connection(l.getsockname())
        l.close()
        while c.recv(65536):
            time.sleep(float(pause))
        os._exit(0)
    c, _ = l.accept()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    while True:
        compute(int(rounds))
        c.send(b"x" * 65536)
        mark()


def spread(threads=2, processes=1, rounds=20000):
    """Threads, or processes, that compute: one counts for all."""
    counted = multiprocessing.Value("q", 0)

    def one(first):
        global done
        while True:
            compute(int(rounds))
            with counted.get_lock():
                counted.value += 1
            if first:
                done = counted.value - 1
                mark()

    for _ in range(int(processes) - 1):
        multiprocessing.Process(target=one, args=(False,), daemon=True).start()
    for _ in range(int(threads) - 1):
        threading.Thread(target=one, args=(False,), daemon=True).start()
    one(True)


def pool(n=16, rounds=20000):
    """Threads of a pool take what one makes."""
    todo = queue.Queue(1)

    def one():
        while True:
            compute(todo.get())
            mark()

    for _ in range(int(n)):
        threading.Thread(target=one, daemon=True).start()
    while True:
        todo.put(int(rounds))


def sleep(seconds=1):
    while True:
        time.sleep(float(seconds))
        mark()


globals()[sys.argv[1]](*sys.argv[2:])
