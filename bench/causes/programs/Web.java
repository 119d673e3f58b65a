import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** A web server: Web PORT THREADS. */
public class Web {
    static final Object held = new Object();
    static byte[][] kept = new byte[0][];
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        System.setProperty("sun.net.httpserver.nodelay", "true");
        kept = new byte[Integer.getInteger("kept", 0) * 1024][];
        for (int i = 0; i < kept.length; i++) kept[i] = new byte[1000];
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 64);
        server.createContext("/", Web::answer);
        server.setExecutor(Executors.newFixedThreadPool(Integer.getInteger("pool", 16)));
        server.start();
    }

    static void answer(HttpExchange x) throws IOException {
        String[] words = x.getRequestURI().getPath().substring(1).split("/");
        int amount = words.length > 1 ? Integer.parseInt(words[1]) : 1;
        try {
            switch (words[0]) {
                case "compute":
                    long sum = 0;
                    for (int i = 0; i < amount; i++) sum += sum * 31 ^ i;
                    sink = sum;
                    break;
                case "alloc":
                    for (int i = 0; i < amount; i++) kept[(int) (Math.random() * kept.length)] = new byte[1000];
                    break;
                case "lock":
                    synchronized (held) { Thread.sleep(amount); }
                    break;
                case "sleep":
                    Thread.sleep(amount);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        x.sendResponseHeaders(200, 2);
        x.getResponseBody().write("ok".getBytes());
        x.close();
    }
}
