"""A web server: web.py PORT|SOCKET DIRECTORY [WORKERS [BACKLOG]]: with 1, one thread serves all."""
import http.server, os, socket, socketserver, sys, threading, time

held = threading.Lock()
log = os.open(os.path.join(sys.argv[2], "requests"), os.O_RDWR | os.O_CREAT)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

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
        if self.server.address_family == socket.AF_INET:  # else there is none such
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, kind != "nagle")
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.HTTPServer if sys.argv[3:4] == ["1"] else http.server.ThreadingHTTPServer
server.request_queue_size = int(sys.argv[4] if sys.argv[4:] else 64)
at = ("127.0.0.1", int(sys.argv[1])) if sys.argv[1].isdigit() else sys.argv[1]
if isinstance(at, str):
    os.umask(0)
    server.address_family, server.server_bind = socket.AF_UNIX, socketserver.TCPServer.server_bind
server(at, Handler).serve_forever()
