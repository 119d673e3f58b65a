"""A web server: web.py PORT DIRECTORY [WORKERS [BACKLOG]]: with 1, one thread serves all."""
import http.server, os, sys, threading, time

held = threading.Lock()
log = os.open(os.path.join(sys.argv[2], "requests"), os.O_RDWR | os.O_CREAT)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        kind, _, amount = self.path[1:].partition("/")
        amount = float(amount or 1)
        if kind == "compute":
            sum(i * i for i in range(int(amount)))
        elif kind == "lock":
            with held:
                time.sleep(amount / 1000)
        elif kind == "sleep":
            time.sleep(amount / 1000)
        elif kind == "sync":
            os.pwrite(log, b"x" * 512, 0)
            os.fdatasync(log)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.HTTPServer if sys.argv[3:4] == ["1"] else http.server.ThreadingHTTPServer
server.request_queue_size = int(sys.argv[4] if sys.argv[4:] else 64)
server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
