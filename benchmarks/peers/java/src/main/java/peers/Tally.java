package peers;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The listener's side: how many events were taken, how many matches came, and the sum of one of their fields.
 *
 * <p>Written by one thread at a time; the thread that watches the cap reads. The clock runs from {@link #start} to
 * {@link #stop}; at the cap the process says how far it came and ends.
 */
public final class Tally {
    private final double cap;
    private volatile long started;
    private volatile long stopped;
    private volatile long taken;
    private volatile long matches;
    private volatile long checksum;
    private Thread watch;

    Tally(double cap) {
        this.cap = cap;
    }

    /** The query is ready and the events are in memory. */
    public void start() {
        watch = new Thread(() -> {
            try {
                Thread.sleep((long) (cap * 1000));
            } catch (InterruptedException e) {
                return;
            }
            print(false, cap, peak());
            Runtime.getRuntime().halt(0);
        });
        watch.setDaemon(true);
        watch.start();
        started = System.nanoTime();
    }

    /** Events given to the engine so far. */
    public void taken(long count) {
        taken = count;
    }

    /** Matches delivered, and the sum of their checked field. */
    public void delivered(long count, long sum) {
        matches += count;
        checksum += sum;
    }

    /** The last match has been delivered. */
    public void stop() {
        stopped = System.nanoTime();
        watch.interrupt();
    }

    double seconds() {
        return (stopped - started) / 1e9;
    }

    synchronized void print(boolean finished, double seconds, long memory) {
        String shape = "{'finished': %b, 'events': %d, 'matches': %d, 'checksum': %d, 'seconds': %.6f, 'peak_rss_bytes': %d}";
        System.out.println(String.format(
                Locale.ROOT, shape.replace('\'', '"'), finished, taken, matches, checksum, seconds, memory));
        System.out.flush();
    }

    static long peak() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("VmHWM:")) {
                    return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
                }
            }
        } catch (IOException e) {
            // No such file on this system: 0 stands for unknown.
        }
        return 0;
    }
}
